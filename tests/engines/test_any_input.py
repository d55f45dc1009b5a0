"""Whatever a controller says, in whatever order: no internal error, and a failed command changes nothing."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.memory_session import MemorySession

pytestmark = pytest.mark.slow

WORDS = st.sampled_from(
    [
        "black",
        "white",
        "b",
        "w",
        "B",
        "red",
        "pass",
        "button",
        "dead:",
        "dead:A1",
        "dead:A1,A1",
        "dead:B2,A1",
        "resign",
        "swap-sides",
        "bid:3",
        "A1",
        "A2",
        "B1",
        "B2",
        "C3",
        "a3",
        "I1",
        "Z26",
        "A99999999999999999999",
        "0",
        "1",
        "2",
        "3",
        "-1",
        "99",
        "1.5",
        "1e9",
        "nan",
        "size=3",
        "size=0",
        "komi=1",
        "komi=1.5",
        "ko=simple",
        "agreement=on",
        "handicap=2",
        "handicap=2",
        "go",
        "yugo",
        "alive",
        "dead",
        "seki",
        "uniform",
        "rollout",
        "=",
        "=x",
        "x=",
        "é",
    ]
)
COMMANDS = st.sampled_from(
    [
        "ggp-new",
        "ggp-play",
        "ggp-play",
        "ggp-play",
        "play",
        "play",
        "play",
        "ggp-undo",
        "undo",
        "ggp-legal",
        "ggp-options",
        "ggp-rules",
        "ggp-perft",
        "ggp-playouts",
        "boardsize",
        "clear_board",
        "komi",
        "fixed_handicap",
        "set_free_handicap",
        "loadsgf",
        "final_status_list",
        "gogui-play_sequence",
        "final_score",
        "showboard",
        "gogui-rules_legal_moves",
        "gogui-rules_board",
        "gogui-rules_board_gfx",
        "gogui-analyze_commands",
    ]
)
NEW_GAMES = ["go size=3", "yugo size=3", "go size=3 ko=simple agreement=on", "yugo size=2 agreement=on handicap=2"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    game=st.sampled_from(NEW_GAMES),
    gogui=st.booleans(),
    lines=st.lists(
        st.one_of(
            st.tuples(COMMANDS, st.lists(WORDS, max_size=4)),
            st.tuples(st.just("ggp-play"), st.integers(0, 50)),  # a legal move, chosen by its number
        ),
        max_size=25,
    ),
)
def test_any_sequence_of_commands(game: str, gogui: bool, lines: list[tuple[str, list[str] | int]]) -> None:
    session = MemorySession(game, gogui)
    for command, arguments in lines:
        if isinstance(arguments, int):
            moves = session("ggp-legal_moves").split() or ["pass"]
            line = f"ggp-play {session.fields()['to_play']} {moves[arguments % len(moves)]}"
        else:
            line = " ".join([command, *arguments])
            if command == "ggp-perft" and arguments[:1] == ["99"]:
                continue  # right, but it takes seconds to find out that it is too deep
        before = session.picture()
        answer = session.answer(line)
        assert "internal error" not in answer, f"{line}: {answer}"
        if answer.startswith("?"):
            assert session.picture() == before, line
        elif not command.startswith(("ggp-new", "boardsize")):
            assert replayed(session) == session.picture(), line


def replayed(session: MemorySession) -> tuple[str, ...]:
    """The same line, played again from its start."""
    line = session.session.line
    assert line is not None
    again = MemorySession("go")
    again.session.line = line.taken_back(0)
    again.session.options = session.session.options
    return again.picture()
