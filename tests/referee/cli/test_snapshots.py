"""What each command answers to bad input: tests/snapshots/COMMAND.txt has the commands, their errors and exit statuses.

This is the one place where the wording of errors is pinned; other tests assert codes. `pytest --update-snapshots`
writes the files again.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.cli import ggp_in_process

SNAPSHOTS = ROOT / "tests" / "snapshots"
KEY = "0" * 40
FILES = {
    "empty.toml": "",
    "broken.toml": "[pool",
    "unknown-key.toml": 'colour = "red"\n[pool.a]\ngame = "go"\n',
    "bad-clock.toml": '[pool.a]\ngame = "go"\ncontrol = "soon"\n[bot.x]\ncommand = "random"\n',
    "bad-sandbox.toml": '[sandbox]\nlevel = "high"\n[pool.a]\ngame = "go"\n[bot.x]\ncommand = "random"\n',
    "open-store.toml": '[sandbox]\nallow = ["read:{}"]\n[pool.a]\ngame = "go"\n[bot.x]\ncommand = "random"\n',
    "tune.toml": '[format]\nkind = "tune"\n[pool.a]\ngame = "go"\n[bot.x]\ncommand = "random"\n',
    "no-record.jsonl": "hello\n",
    "no-results.txt": "[Round 1]\nwho knows\n",
    "no-game.sgf": "(;GM[1",
    "no-test.tst": "#? [\n",
    "no-store.db": "this is no database, it is longer than a header of one, which has a hundred bytes" * 3,
    "public.key": f'public = "{KEY}"\n',
    "no.key": "= =",
    "keys.json": "{ }",
    "broken.json": "[",
}
CASES = {
    "ggp": ["", "frob", "mach", "help frob"],
    "match": [
        *("", "yugo", "yugo random", "yugo,size random random", ",size=5 random random"),
        *("yugo,size=5,size=6 random random", "yugo 'a=' random", "yugo tcp://nowhere random"),
        *("yugo random random --games x", "yugo random random --games 0", "yugo random random --time soon"),
        *("yugo random random --time 10+x", "yugo random random --frob", "yugo random random --gmaes 2"),
        *("yugo random random --sprt often", "yugo random random -pgnout x", "yugo random random --gauntlet z"),
        *("yugo random random --sandbox high", "yugo random random --bot 'random-1,sandbox=high'"),
        *(
            "yugo random random --bot 'random-1,allow=network'",
            "yugo x=random random --bot 'x,sandbox=strict,allow=net'",
        ),
        "yugo x=random random --bot 'x,sandbox=default,memory=2'",
        *("yugo random random --jobs 0", "yugo random random --from no-record.jsonl", "yugo '' random"),
    ],
    "new-bot": ["", "'a b'", "folder", "random", "x --language cobol", "empty.toml", "x --frob"],
    "new-engine": ["", "'a b'", "folder", "x --language rust", "x --game go"],
    "ladder": [
        *("frob", "run none.toml", "run broken.toml", "run unknown-key.toml", "run bad-clock.toml"),
        *("run bad-sandbox.toml", "run open-store.toml"),
        *("run empty.toml --until soon", "init empty.toml", "standings none.toml"),
        *("games none.db", "check none.toml", "standings no-store.db"),
    ],
    "openings": [
        "",
        "frob",
        "make",
        "make yugo --count 0",
        "make yugo --within x",
        "make ,size=5",
        "make yugo --time x",
    ],
    "tune": ["", "none.toml", "broken.toml", "tune.toml", "tune.toml --frob"],
    "rate": ["", "none.txt", "no-results.txt", "no-results.txt --prior some", "no-results.txt --frob"],
    "sprt": ["", "--wdl 1,2", "--penta 1,2,3", "--wdl 1,2,x", "--wdl 1,2,3 --penta 1,2,3,4,5", "--wdl 1,2,3 --elo0 x"],
    "serve": ["", "none.toml", "broken.toml", "unknown-key.toml", "--init empty.toml", "--front a empty.toml"],
    "connect": ["", "tcp://127.0.0.1:1", "nowhere --name dot -- ls", "tcp://10.0.0.1:5555 --name dot -- ls"],
    "challenge": ["", "nowhere", "tcp://10.0.0.1:5555 go dot dash"],
    "keys": [
        *("frob", "new public.key", "allow", "allow ann/dot short", f"allow ann {KEY}"),
        *("allow 'a b/dot' " + KEY, "revoke ann --registry none.json", "revoke ann --registry keys.json"),
        *("list --registry broken.json", "limit ann speed=1 --registry keys.json"),
    ],
    "watch": ["--frob", "tcp://10.0.0.1:7712", "tcp://127.0.0.1:99999"],
    "web": ["--frob", "none.toml", "no-store.db", "--listen nowhere"],
    "referee": ["--frob", "none.toml"],
    "console": ["--frob"],
    "check": ["", "frob", "ls --only 99.99"],
    "doctor": ["--frob", "frob"],
    "tap": ["", "--frob", "--show none.log", "--show no-record.jsonl"],
    "regress": ["", "none.tst", "none.tst -- ls", "no-test.tst -- ls", "--frob"],
    "show": ["", "none.jsonl", "no-record.jsonl", "no-record.jsonl@2"],
    "verify": ["", "none.jsonl", "no-record.jsonl"],
    "export": ["", "--frob", "--format none none.jsonl", "--table --transcript none.jsonl"],
    "import": ["", "none.sgf", "--frob"],
    "engine": ["--frob", "frob"],
    "bot": ["frob", "random speed=1", "mcts playouts=x", "random frob", "llm", "llm --key sk-1", "mcp", "uci"],
    "completion": ["", "frob"],
}


@pytest.mark.parametrize("command", CASES)
def test_bad_input(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text.replace("{}", str(tmp_path)), encoding="utf-8")
    Path("public.key").chmod(0o600)
    Path("folder").mkdir()
    Path("folder", "file").touch()
    prefix = "" if command == "ggp" else f"{command} "
    found = "\n".join(transcript(shlex.split(prefix + words)) for words in CASES[command])
    found = found.replace(str(tmp_path), "FOLDER")
    file = SNAPSHOTS / f"{command}.txt"
    if pytestconfig.getoption("update_snapshots"):
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


def transcript(words: list[str]) -> str:
    """The command line, what it writes to stderr, and its exit status."""
    ran = ggp_in_process(*words)
    assert ran.status != 0, words
    return f"$ {shlex.join(['ggp', *words])}\n{ran.err}[{ran.status}]\n"


def test_every_command_has_a_snapshot() -> None:
    readme = ggp_in_process("--help").out
    listed = set(re.findall(r"^  ([a-z-]+) ", readme, re.MULTILINE))
    assert listed <= CASES.keys()
    assert {file.stem for file in SNAPSHOTS.iterdir()} == CASES.keys()
