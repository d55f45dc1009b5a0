"""Games from other distributions, by the entry point `ggp.games`; the game itself is tests/third_party/tictactoe.py."""

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.engines.game import IllegalMove, Playouts
from ggp.engines.registry import GROUP, GameError, Registry
from ggp.protocol.entry_points import entry_points, version
from tests.support import TESTS
from tests.support.codes import raises
from tests.support.memory_session import MemorySession
from tests.third_party import tictactoe

THIRD_PARTY = TESTS / "third_party"


def distribute(folder: Path, name: str, points: str, source: str = "") -> Path:
    """What an installer leaves behind of a distribution with entry points."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    (folder / f"{name}_module.py").write_text(source, encoding="utf-8")
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path for distributions; modules from it are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for module in set(sys.modules) - before:
        if module.endswith("_module"):
            del sys.modules[module]


def engine(arguments: list[str], lines: str, path: Path) -> str:
    command = [str(Path(sys.executable).with_name("ggp")), "engine", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", env=environment, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_game_of_another_distribution_is_played_by_ggp_engine(tmp_path: Path) -> None:
    source = (THIRD_PARTY / "tictactoe.py").read_text(encoding="utf-8")
    distribute(tmp_path, "tictactoe", f"[{GROUP}]\ntictactoe = tictactoe_module:GAME\n", source)
    games = "ggp-play b b2\nggp-play w A1\nggp-play b A2\nggp-play w B1\nggp-play b C2\nggp-history\nggp-undo 2\n"
    out = engine(["tictactoe", "wild=on"], f"ggp-games\nggp-options\n{games}showboard\nfinal_score\nquit\n", tmp_path)
    assert out.split("\n\n")[:-1] == [
        "= " + "\n".join(sorted([*Registry().names(), "tictactoe"])),
        "= wild enum off on,off",
        "= move=B2 phase=play to_play=white seat=2 ply=1",
        "= move=A1 phase=play to_play=black seat=1 ply=2",
        "= move=A2 phase=play to_play=white seat=2 ply=3",
        "= move=B1 phase=play to_play=black seat=1 ply=4",
        "= move=C2 phase=over to_play=none seat=0 ply=5 result=W+ winner=2",
        "= 1 black B2\n2 white A1\n1 black A2\n2 white B1\n1 black C2",
        "= phase=play to_play=white seat=2 ply=3",
        "= \n  A B C\n3 . . . 3\n2(X)X . 2\n1 O . . 1\n  A B C\nX black stone, O white stone\nWhite to move (seat 2)",
        "? cannot score",
        "=",
    ]


class OneGame(Registry):
    """The third-party game without a distribution."""

    def load(self, name: str) -> tictactoe.TicTacToe:
        return tictactoe.GAME


def test_defaults_for_a_game_in_pure_python() -> None:
    session = MemorySession("tictactoe", registry=OneGame())
    assert session("ggp-perft 3") == str(9 * 8 * 7)
    assert session("ggp-score") == '{"black": {"total": null}, "white": {"total": null}, "final": false}'
    assert session("ggp-legal b2") == "true"
    session.play("B2 A1")
    assert session("ggp-legal A1") == "false A1 is not possible here"
    assert session.fails("ggp-play black A1") == "illegal move: A1 is not possible here"
    assert session("final_status_list alive").split("\n") == ["B2", "A1"]
    assert session("gogui-rules_board") == "...\n.X.\nO.."
    assert session("gogui-rules_captured_count") == "0 0"
    assert session.fails("boardsize 3") == "unacceptable size"
    assert session("komi 5") == ""
    session.play("A3 C1 B3 B1")
    assert session.fields() == {
        "phase": "over",
        "to_play": "none",
        "seat": "0",
        "ply": "6",
        "result": "W+",
        "winner": "2",
    }
    assert session("ggp-legal B1") == "false the game is over"
    assert session("final_score") == "W+"
    session("ggp-undo 6")
    assert session.fields()["ply"] == "0"


def test_the_perft_of_tic_tac_toe_is_the_known_number_of_games() -> None:
    state = tictactoe.TicTacToeState(misere=False)
    assert [state.perft(depth) for depth in (0, 1, 5, 6)] == [1, 9, 15120, 54720]


def test_pure_python_hashes_are_equal_for_equal_positions_only() -> None:
    def reached(moves: str) -> int:
        state = tictactoe.TicTacToeState(misere=False)
        for move in moves.split():
            state.play(move)
        return state.hash()

    assert reached("A1 B2 C3") == reached("C3 B2 A1") != reached("A1 C3 B2")
    assert len({reached(moves) for moves in ("", "A1", "A1 B2", "A1 B2 C3")}) == 4
    # The number itself, because it must be the same in every process.
    assert reached("A1 B2 C3") == 0xBD52B3831822D701


def test_pure_python_playouts_are_whole_games() -> None:
    state = tictactoe.TicTacToeState(misere=False)
    outcome = state.playouts(200, 5, "uniform")
    assert outcome == state.playouts(200, 5, "rollout") != state.playouts(200, 6, "uniform")
    plies, black, white, draws = outcome
    assert black + white + draws == 200 and black > white > 0 < draws and 200 * 5 <= plies <= 200 * 9
    assert state.ply == 0
    for move in ["B2", "A1", "A2", "B1", "C2"]:
        state.play(move)
    assert state.playouts(3, 0, "uniform") == Playouts(0, 3, 0, 0)
    with pytest.raises(IllegalMove, match="over"):
        state.play("C3")


def test_what_we_read_is_what_the_standard_library_reads(site: Path) -> None:
    distribute(site, "one", f"[other]\nx = y:z\n[{GROUP}]\n# comment\n\nalpha = one_module:A.b [extra]\n")
    distribute(site, "Two.Words_here", "[console_scripts]\nggp2 = a:b\n")
    for group in (GROUP, "ggp.commands", "console_scripts", "other", "nothing"):
        ours = {(point.name, f"{point.module}:{point.attribute}") for point in entry_points(group)}
        theirs = {
            (point.name, f"{point.module}:{point.attr}") for point in importlib.metadata.entry_points(group=group)
        }
        assert ours == theirs
    for name in ("general-game-protocol", "pytest", "Two_words.HERE"):
        assert version(name) == importlib.metadata.version(name)
    assert version("no-such-distribution") == "unknown"


def test_the_first_of_two_versions_on_the_path_counts(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribute(site / "old", "twice", f"[{GROUP}]\nalpha = twice_module:OLD\n")
    distribute(site / "new", "twice", f"[{GROUP}]\nalpha = twice_module:NEW\n")
    for name in ("old", "new", "not there"):
        monkeypatch.syspath_prepend(str(site / name))
    assert [point.attribute for point in entry_points(GROUP) if point.name == "alpha"] == ["NEW"]


@pytest.mark.parametrize(
    ("target", "source", "reason"),
    [
        ("bad_module:GAME", "1 / 0", "cannot load game bad from bad_module: ZeroDivisionError: division by zero ("),
        (
            "bad_module:GAME",
            "",
            "cannot load game bad from bad_module: AttributeError: module 'bad_module' has no attribute 'GAME'",
        ),
        (
            "no_such_module:GAME",
            "",
            "cannot load game bad from no_such_module: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("bad_module:GAME", "GAME = 1", "cannot load game bad: bad_module:GAME is not a ggp.engines.game.Game"),
        (
            "bad_module:GAME",
            "from ggp.engines.games.go import GAME",
            "cannot load game bad: bad_module:GAME is not a ggp.engines.game.Game of that name",
        ),
    ],
)
def test_a_game_that_cannot_be_loaded_is_refused(
    site: Path, target: str, source: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    distribute(site, "bad", f"[{GROUP}]\nbad = {target}\n", source)
    session = MemorySession("yugo size=5")
    assert "bad" in session("ggp-games").split()
    assert session.fails("ggp-new bad").startswith(reason)
    assert capsys.readouterr().out == ""


def test_two_distributions_with_a_game_of_one_name_are_refused(site: Path) -> None:
    for name in ("first", "second"):
        distribute(site, name, f"[{GROUP}]\nbad = {name}_module:GAME\n")
    assert Registry().names().count("bad") == 1
    with raises(GameError, "two-games") as refused:
        Registry().load("bad")
    assert "first and second" in str(refused.value)
