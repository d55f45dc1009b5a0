"""Every command of `ggp` with streams as they come: encodings without our signs, closed, full, without a reader.

No command may show a traceback, and none may succeed where its output is lost. One process imports all commands once;
each run is a fork of it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.protocol.entry_points import entry_points
from tests.support.cli import ggp_in_process

pytestmark = pytest.mark.slow

ENCODINGS = ("ascii", "iso8859-1")
LOST = ("stdout closed", "stdout full", "stdout without reader")
STATES = (*ENCODINGS, *LOST, "stdin closed", "stderr closed")
TALKERS = ("engine", "bot", "console")
DATA = ("import", "export", "ladder export")  # what they write is UTF-8 anywhere
# Runs of each command that print more than its help and start little; {folder} has a ladder, records and keys.
RUNS = {
    "match": ["yugo,size=3", "random", "random", "--games", "2", "--time", "none", "--jobs", "1", "--no-pin"],
    "openings": ["make", "yugo,size=3", "--plies", "1", "--count", "2"],
    "engine": ["yugo", "size=3"],
    "bot": ["random"],
    "ladder": [],
    "rate": ["{folder}/games.jsonl"],
    "sprt": ["{folder}/games.jsonl", "--elo0", "0", "--elo1", "5"],
    "show": ["{folder}/games.jsonl"],
    "verify": ["{folder}/games.jsonl"],
    "export": ["{folder}/games.jsonl"],
    "import": ["{folder}/game.sgf"],
    "doctor": [],
    "console": ["yugo", "size=3"],
    "keys": ["list", "--registry", "{folder}/keys.toml"],
    "completion": ["bash"],
    "ladder standings": ["{folder}/ladder.toml"],
    "ladder crosstable": ["{folder}/ladder.toml"],
    "ladder games": ["{folder}/ladder.toml"],
    "ladder pair": ["{folder}/ladder.toml", "greedy-5", "random"],
    "ladder bot": ["{folder}/ladder.toml", "random"],
    "ladder export": ["{folder}/ladder.toml"],
    "ladder events": ["{folder}/ladder.toml"],
    "ladder check": ["{folder}/ladder.toml"],
    "ladder run": ["{folder}/ladder.toml", "--games", "1"],
}
FORK = r"""
import io, json, os, sys, traceback
from importlib.metadata import entry_points
from ggp.referee.cli.main import main
for group in ("ggp.commands", "ggp.ladder"):
    for point in entry_points(group=group):
        point.load()
import rich.console, rich.progress, rich.live, rich.table

def streams(state, out, err):
    os.dup2(os.open("typed", os.O_RDONLY), 0)
    os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    encoding = state if state in ("ascii", "iso8859-1") else "utf-8"
    for name, descriptor, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        errors = "backslashreplace" if name == "stderr" else "strict"
        stream = open(descriptor, mode, encoding=encoding, errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if state == "stdout full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    if state == "stdout without reader":
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 1)
    for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if state == f"{name} closed":
            os.close(descriptor)
            setattr(sys, name, None)
            setattr(sys, f"__{name}__", None)
    os.closerange(3, 1000)

for line in sys.stdin:
    state, words, out, err = json.loads(line)
    if not os.fork():
        status = 70
        try:
            streams(state, out, err)
            sys.argv = ["ggp", *words]
            status = main()
            if sys.stdout is not None:
                sys.stdout.flush()
        except SystemExit as end:
            status = 71
        except BaseException:
            with open(err, "a", encoding="utf-8") as said:
                traceback.print_exc(file=said)
        os._exit(status)
    _, ended = os.wait()
    print(os.waitstatus_to_exitcode(ended), flush=True)
"""


class Forks:
    """Runs commands, each in a fork of a process that has imported all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, encoding="utf-8"
        )

    def run(self, state: str, words: list[str]) -> tuple[int, bytes, bytes]:
        out, err = self.folder / "out", self.folder / "err"
        assert self._process.stdin and self._process.stdout
        said = [word.format(folder=self.folder) for word in words]
        self._process.stdin.write(json.dumps([state, said, str(out), str(err)]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()), out.read_bytes(), err.read_bytes()

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "game.sgf").write_text("(;GM[1]SZ[9]PB[José]PW[ν];B[cc];W[dd];B[];W[])", encoding="utf-8")
    (folder / "typed").write_text("name\nquit\n", encoding="ascii")
    here, registry = str(folder / "ladder.toml"), str(folder / "keys.toml")
    key = str(folder / "anna.key")
    assert ggp_in_process("keys", "new", key).status == 0
    assert ggp_in_process("keys", "allow", "anna/bot", key, "--registry", registry).status == 0
    assert ggp_in_process("ladder", "init", here, "--quiet").status == 0
    assert ggp_in_process("ladder", "run", here, "--games", "4", "--quiet").status == 0
    record = ("--record", str(folder / "games.jsonl"), "--quiet")
    assert (
        ggp_in_process("match", "yugo,size=5", "a=random", "b=greedy:playouts=2", "--games", "4", *record).status == 0
    )
    made = Forks(folder)
    yield made
    made.close()


def _commands() -> list[str]:
    return sorted(
        [point.name for point in entry_points("ggp.commands")]
        + [f"ladder {point.name}" for point in entry_points("ggp.ladder")]
    )


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("command", _commands())
def test_a_command_with_such_streams(command: str, state: str, forks: Forks) -> None:
    for words in (["--help"], RUNS.get(command)):
        if words is None:
            continue
        status, out, err = forks.run(state, [*command.split(), *words])
        seen = f"{words} {status}\n{out.decode('utf-8', 'replace')}\n{err.decode('utf-8', 'replace')}"
        assert b"Traceback" not in out + err and b"Exception ignored" not in err and status not in (70, 71), seen
        if state in LOST:
            left = {0, 141} if command in TALKERS else {141}  # who asked has left, which ends a conversation well
            assert status in (left if state == "stdout without reader" else {1}), seen
            assert state == "stdout without reader" or err.count(b"cannot write the output") == 1, seen
        else:
            assert words != ["--help"] or status == 0, seen
        if state in ENCODINGS and state == "ascii" and command not in DATA:
            assert (out + err).isascii(), seen
