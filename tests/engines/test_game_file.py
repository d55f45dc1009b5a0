"""`ggp engine FILE.py`: a game in one file is played without an installation, and what is wrong in it is one line."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ggp.engines.command import main
from ggp.engines.game_file import LARGEST, load_file
from ggp.engines.registry import GameError, Registry
from ggp.protocol.commands import Who
from tests.support import ROOT
from tests.support.checked_peer import failed_checks
from tests.support.codes import raises
from tests.support.memory_session import MemorySession
from tests.support.raw_peer import RawPeer

EXAMPLE = ROOT / "engines" / "examples" / "hexapawn.py"
TOO_DEEP = "x = " + "(" * 300 + ")" * 300
GAME = """
from dataclasses import dataclass
from beside import NAME
from ggp.engines.game import Game
from tests.third_party.tictactoe import TicTacToe


@dataclass
class Mine(TicTacToe):
    size: "int" = 3


Mine.name = NAME
one = two = Mine()
"""


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("ggp.engines.command._own_stdout", lambda: 1)  # no engine answers in this process
    modules = {*sys.modules}
    yield
    for name in {*sys.modules} - modules:
        del sys.modules[name]


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "game.py"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_the_file_is_the_only_game_and_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'mine'\n", encoding="utf-8")
    game = load_file(written(tmp_path, GAME))
    registry = Registry(game)
    assert registry.names() == ["mine"] and registry.load("mine") is game
    with raises(GameError, "unknown-game", "known games: mine"):
        registry.load("go")


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("x = (", "no-python", "line 1: invalid Python"),
        ("\0", "no-python", "invalid Python"),
        (b"\xff\xfe", "no-python", "invalid Python"),
        (TOO_DEEP, "no-python", "invalid Python"),
        ("a" + ".b" * 200_000, "no-python", "invalid Python"),
        ("#" * (LARGEST + 1), "no-file", "it has more than"),
        ("", "no-game", "it contains no game"),
        ("from ggp.engines.game import Game", "no-game", "it contains no game"),
        (
            "from ggp.engines.games.go import GAME as a\nfrom ggp.engines.games.yugo import GAME as b",
            "two-games",
            "it contains 2 games",
        ),
        ("import sys\nsys.exit(0)", "file-exits", "sys.exit(0)"),
        ("exit('done')", "file-exits", "sys.exit('done')"),
    ],
)
def test_a_file_without_a_game_gets_a_line_and_no_traceback(
    text: str | bytes, code: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, text)
    with raises(GameError, code, reason):
        load_file(path)
    assert main([path]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(f"ggp engine: {path}") and len(told.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["none.py", "folder.py", "a\0b.py"])
def test_what_is_no_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.py").mkdir()
    assert main([name]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_error_of_the_author_keeps_its_traceback_above_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "def broken():\n    return 1 / 0\n\n\nbroken()\n")
    assert main([path, "mine"]) == 2
    *above, line = capsys.readouterr().err.splitlines()
    assert above[0].startswith("Traceback") and above[-1] == "ZeroDivisionError: division by zero"
    assert f'  File "{path}", line 2, in broken' in above and "game_file" not in "".join(above)
    assert line.startswith(f"ggp engine: {path}: ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("change", "code"),
    [("GAME.name = 'a b'", "bad-name"), ("GAME.name = 'go.py'", "bad-name"), ("GAME.rules = None", "no-rules")],
)
def test_a_game_says_what_every_game_says(change: str, code: str, tmp_path: Path) -> None:
    with raises(GameError, code):
        load_file(written(tmp_path, f"{EXAMPLE.read_text(encoding='utf-8')}{change}\n"))


@pytest.mark.slow
def test_the_example_passes_every_check_and_rules_as_the_engine_in_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ggp.engines", str(EXAMPLE)]
    assert failed_checks(command, Who.ENGINE, "hexapawn") == []
    program = tmp_path / "hexapawn"
    subprocess.run(["cc", "-O2", "-o", str(program), str(EXAMPLE.with_suffix(".c"))], check=True)
    random, session = Random(1), MemorySession(registry=Registry(load_file(str(EXAMPLE))))
    with RawPeer([str(program)]) as other:
        for size in (3, 4, 5, 8) * 5:
            assert session(f"ggp-new hexapawn size={size}") == other.ask(f"ggp-new hexapawn size={size}")
            while moves := session("ggp-legal_moves").split():
                assert moves == other.ask("ggp-legal_moves").split()
                line = f"ggp-play {session.session.need().state.to_play} {random.choice(moves)}"
                assert session(line) == other.ask(line)
            assert other.ask("ggp-legal_moves") == ""


@pytest.mark.slow
def test_a_game_that_exits_later_ends_the_engine_with_a_line(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace(
        "        colour, source", "        raise SystemExit(0)\n        colour, source"
    )
    command = [sys.executable, "-m", "ggp.engines", written(tmp_path, text)]
    asked = b"ggp-new hexapawn\nggp-play b a1a2\nggp-status\n"
    done = subprocess.run(command, input=asked, capture_output=True, timeout=120)
    assert done.returncode == 1 and b"sys.exit(0)" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.slow
def test_what_the_file_prints_goes_to_stderr(tmp_path: Path) -> None:
    text = (
        EXAMPLE.read_text(encoding="utf-8").replace(
            "        colour, source", "        print('moved')\n        colour, source"
        )
        + "print(1)\n"
    )
    command = [sys.executable, "-m", "ggp.engines", written(tmp_path, text), "hexapawn"]
    done = subprocess.run(command, input=b"ggp-play b a1a2\nquit\n", capture_output=True, timeout=120)
    assert done.stdout == b"= move=A1A2 phase=play to_play=white seat=2 ply=1\n\n=\n\n" and done.returncode == 0
    assert done.stderr == b"1\nmoved\n"
