"""The rules of framing that only a program with a game can keep, by their number, on a real engine process.

What each game and each command owes is tested in test_engine_*; here is one example for every clause.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.support.raw_peer import RawPeer

pytestmark = pytest.mark.slow


@pytest.fixture(params=["go", "yugo"])
def engine(request: pytest.FixtureRequest) -> Iterator[RawPeer]:
    """The engine with a game of size 5 on the board."""
    with RawPeer([sys.executable, "-m", "ggp.engines", request.param, "size=5"]) as started:
        yield started


def everything(engine: RawPeer) -> list[str]:
    views = ("ggp-status", "ggp-history", "ggp-hash", "ggp-legal_moves", "ggp-options", "showboard", "ggp-score")
    return [engine.ask(view) for view in views]


def test_rule_2_4_the_exact_texts(engine: RawPeer) -> None:
    assert engine.ask("no-such-command") == "? unknown command"
    assert engine.ask("boardsize 1000") == "? unacceptable size"
    assert engine.ask("undo") == "? cannot undo"
    assert engine.ask("play black Z99").startswith("? illegal move")


def test_rule_2_5_a_failed_command_changes_nothing(engine: RawPeer) -> None:
    engine.ask("ggp-play black C3")
    before = everything(engine)
    for line in (
        "play white C3",
        "ggp-play white C3",
        "ggp-play black A1",
        "ggp-new chess",
        "ggp-new go size=1000",
        "ggp-new yugo colour=blue",
        "boardsize 1000",
        "ggp-undo 2",
        "komi x",
        "gogui-play_sequence white A1 black A1",
        "no-such-command",
        "play",
    ):
        assert engine.ask(line).startswith("? "), line
        assert everything(engine) == before, line


def test_rule_2_6_names_have_a_case_but_colours_vertices_and_moves_have_none(engine: RawPeer) -> None:
    assert engine.ask("PLAY black A1") == "? unknown command"
    word = "pass" if engine.ask("gogui-rules_game_id") == "Go" else "button"
    for colour, move in (("B", "a1"), ("WhItE", "E5"), ("b", word.title())):
        assert engine.ask(f"play {colour} {move}") == ""
    assert engine.ask("ggp-history") == f"1 black A1\n2 white E5\n1 black {word}"


def test_rule_2_6_vertices_skip_i_and_resign_is_never_a_play() -> None:
    with RawPeer([sys.executable, "-m", "ggp.engines", "go", "size=9"]) as engine:
        assert engine.ask("play black I1").startswith("? illegal move")
        assert engine.ask("play black J1") == ""
        assert engine.ask("play white resign").startswith("? illegal move")


def test_rule_2_7_boardsize_and_clear_board_are_a_new_game_with_the_current_options() -> None:
    with RawPeer([sys.executable, "-m", "ggp.engines", "go", "size=9", "komi=0.5", "handicap=2"]) as engine:
        for line in ("boardsize 7", "clear_board"):
            engine.ask("ggp-play white C4")
            assert engine.ask(line) == ""
            assert engine.ask("ggp-history") == ""
            assert engine.ask("ggp-status") == "phase=play to_play=white seat=2 ply=0"
            assert engine.ask("ggp-hash") == fresh(engine, "size=7", "komi=0.5", "handicap=2")


def test_rule_2_7_komi_of_a_number_always_succeeds(engine: RawPeer) -> None:
    for komi in ("0", "-3.5", "7.25", "1e3", "1000000"):
        assert engine.ask(f"komi {komi}") == ""


def fresh(engine: RawPeer, *options: str) -> str:
    """The hash of a new game of go with these options, in an engine of its own."""
    with RawPeer([sys.executable, "-m", "ggp.engines", "go", *options]) as other:
        return other.ask("ggp-hash")
