"""`ggp new-bot` and `ggp new-engine`: what they make is built, obeys the protocol and plays; what they refuse."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ggp.referee.cli.new import BOTS, ENGINES, TAKEN
from tests.support import ROOT
from tests.support.cli import Ran, ggp_in_process

NEEDS = {
    "rust": ("rustc",),
    "go": ("go",),
    "java": ("javac", "java"),
    "js": ("node",),
    "perl": ("perl",),
    "lua": ("lua",),
}
EACH = [pytest.param(language, marks=pytest.mark.needs(*NEEDS.get(language, ()))) for language in BOTS]
LINES = 60  # of AGENTS.md
FILES = {"AGENTS.md", "Makefile", "ladder.toml", ".gitignore"}


@pytest.fixture(autouse=True)
def ggp_in_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name, value in {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "", "GOPATH": str(tmp_path / "go")}.items():
        monkeypatch.setenv(name, value)


def make(folder: Path, *words: str, status: int = 0) -> Ran:
    """Runs make there; what it writes goes to files, which no process that is left behind can hold up."""
    out, err = folder.parent / "out", folder.parent / "err"
    with out.open("w", encoding="utf-8") as to, err.open("w", encoding="utf-8") as errors:
        done = subprocess.run(
            ["make", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=to, stderr=errors, timeout=280, check=False
        )
    ran = Ran(done.returncode, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))
    assert ran.status == status, ran
    return ran


def ends_of(record: Path) -> list[str]:
    events = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return [event["termination"] for event in events if event["event"] == "end"]


@pytest.mark.slow
@pytest.mark.parametrize("language", EACH)
def test_a_new_bot_is_built_passes_every_step_and_plays(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "my.bot-1"
    made = ggp_in_process("new-bot", str(folder), "--language", language, "--game", "yugo,size=5")
    assert made.status == 0 and "make play" in made.out, made
    assert {path.name for path in folder.iterdir()} == {*FILES, BOTS[language].source, "change.toml"}
    assert len((folder / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= LINES
    played = make(folder, "play")
    assert re.search(r"^my\.bot-1 +\S+/2 ", played.out, re.MULTILINE), played
    assert ends_of(folder / "games.jsonl") == ["rules"] * 2
    assert re.search(r"GTP 2: (\d+) of \1\nnative GGP: (\d+) of \2\n", make(folder, "check").out)
    assert "no version is kept" in make(folder, "test-a-change", status=2).err
    make(folder, "keep")
    assert "nothing has changed" in make(folder, "test-a-change", status=2).err


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "sh"])
def test_a_change_is_tested_against_the_version_that_was_kept(language: str, tmp_path: Path) -> None:
    """Only its version differs: what the result is does not matter."""
    folder, game = tmp_path / "mine", "yugo,size=3"
    assert ggp_in_process("new-bot", str(folder), "--language", language, "--game", game).status == 0
    make(folder, "keep")
    source = folder / BOTS[language].source
    before = source.read_text(encoding="utf-8")
    change = {"c": ('answer(1, "1")', 'answer(1, "2")'), "sh": ("version) text=1", "version) text=2")}[language]
    source.write_text(before.replace(*change), encoding="utf-8")
    assert source.read_text(encoding="utf-8") != before, "the example has changed: change the test with it"
    os.utime(source, (source.stat().st_mtime + 5,) * 2)
    file = folder / "change.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace("#pairs = 10000", "pairs = 2").replace("10+0.1", "60"),
        encoding="utf-8",
    )
    ran = make(folder, "test-a-change")
    assert re.search(r"^new \S+ - \S+ old", ran.out, re.MULTILINE), ran


@pytest.mark.slow
def test_the_ladder_of_a_new_bot_rates_it(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    assert ggp_in_process("new-bot", str(folder), "--game", "yugo,size=3").status == 0
    standings = make(folder, "ladder", "UNTIL=200s --games 40").out
    assert re.search(r"^\d +mine +", standings, re.MULTILINE), standings
    make(folder, "clean")
    assert "make test-a-change" in make(folder).out


@pytest.mark.slow
@pytest.mark.parametrize("language", ENGINES)
def test_a_new_engine_is_built_passes_every_step_plays_and_takes_new_rules(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    made = ggp_in_process("new-engine", str(folder), "--language", language)
    assert made.status == 0, made
    source = folder / ENGINES[language].source
    assert {path.name for path in folder.iterdir()} == {*FILES, source.name}
    assert len((folder / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= LINES
    assert "no games are kept" in make(folder, "test-a-change", status=2).err
    make(folder, "play")
    assert ends_of(folder / "games.jsonl") == ["rules"] * 4
    found = re.search(r"GTP 2: (\d+) of \1\nnative GGP: (\d+) of \2\n", make(folder, "check").out)
    assert found
    assert "4 as recorded, 0 not" in make(folder, "test-a-change").out
    before = source.read_text(encoding="utf-8")  # now the second row wins
    change = {
        "py": ("in (1, self.size) or not self.moves_of(opponent)", "== 2"),
        "c": ("row == size - 1", "row == 1"),
    }[language]
    source.write_text(before.replace(*change), encoding="utf-8")
    assert source.read_text(encoding="utf-8") != before, "the example has changed: change the test with it"
    os.utime(source, (source.stat().st_mtime + 5,) * 2)
    assert "4 not" in make(folder, "test-a-change", status=2).out


def test_the_examples_are_built_as_their_heads_say() -> None:
    for language in BOTS.values():
        head = (ROOT / "bots" / "examples" / language.example).read_text(encoding="utf-8")[:900]
        assert language.build.split(" && ")[0].split(" ")[0] in head
        assert re.search(
            r"[Ll]egal ?[Bb]ot in " + re.escape(language.title),
            (ROOT / "bots/examples" / language.example).read_text(encoding="utf-8"),
        )


@pytest.mark.slow
@pytest.mark.parametrize("language", BOTS)
def test_nothing_of_the_example_points_elsewhere(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.referee.cli.new._check_tools", lambda language: None)
    folder = tmp_path / "mine"
    assert ggp_in_process("new-bot", str(folder), "--language", language, "--game", "go,size=9,komi=7.5").status == 0
    text = "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())
    assert not re.search(r"examples/|[Ll]egal_?[Bb]ot|Legal bot|\{\{|\{%", text)
    ladder = tomllib.loads((folder / "ladder.toml").read_text(encoding="utf-8"))
    assert ladder["pool"]["main"]["game"] == "go,size=9,komi=7.5"
    assert {*ladder["bot"]} == {"mine", *TAKEN} and ladder["bot"]["mine"]["command"] == BOTS[language].run
    change = tomllib.loads((folder / "change.toml").read_text(encoding="utf-8"))
    assert change["bot"]["old"]["command"] == BOTS[language].run_kept


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["new-bot", "full"], "full is not empty"),
        (["new-bot", "file"], "'file' is a file"),
        (["new-bot", "a b"], "'a b' is no name"),
        (["new-bot", "x" * 41], "is no name"),
        (["new-bot", "./-x"], "'-x' is no name"),
        (["new-bot", "/"], "'' is no name"),
        (["new-bot", "random"], "random is another bot"),
        (["new-bot", "x", "--language", "cobol"], "cobol"),
        (["new-bot", "x", "--game", "a,b"], "'b' is not an option"),
        (["new-bot", "file/x", "--language", "sh"], "file/x"),
        (["new-engine", "full"], "full is not empty"),
        (["new-engine", "x", "--language", "rust"], "rust"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(
    words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ggp.referee.cli.new._check_game", lambda game: game.index("=")) if "/x" in words[1] else None
    Path("full").mkdir()
    Path("full", "mine").touch()
    Path("file").touch()
    ran = ggp_in_process(*words)
    assert ran.status == 2 and ran.out == "" and reason in ran.err and len(ran.err.splitlines()) == 1, ran
    assert {path.name for path in Path.cwd().iterdir()} == {"full", "file"}


@pytest.mark.slow
@pytest.mark.parametrize(("game", "reason"), [("chess", "does not know the game 'chess'"), ("yugo,size=99", "size=99")])
def test_a_game_that_the_engine_does_not_know(game: str, reason: str, tmp_path: Path) -> None:
    ran = ggp_in_process("new-bot", str(tmp_path / "x"), "--game", game)
    assert ran.status == 2 and reason in ran.err and "ladder.toml" not in ran.err, ran
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("language", BOTS)
def test_a_compiler_that_is_missing_is_named_with_its_package(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, package = next(iter(BOTS[language].tools.items()))
    monkeypatch.setattr("shutil.which", lambda name: None if name == tool else f"/usr/bin/{name}")
    ran = ggp_in_process("new-bot", str(tmp_path / "x"), "--language", language)
    assert ran.status == 2 and f"needs {tool}, which is not here: apt-get install {package}" in ran.err
    assert list(tmp_path.iterdir()) == []
