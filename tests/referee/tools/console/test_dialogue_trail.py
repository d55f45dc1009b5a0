"""The commands that `:restart` sends again, and the display of long lines."""

import pytest

from ggp.protocol.commands import TABLE
from ggp.protocol.messages import Reply
from ggp.referee.terminal import wrapped
from ggp.referee.tools.console.dialogue import CHANGING, ReplayTrail, streams


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("name|version|showboard", ""),
        ("ggp-new yugo|ggp-play black C3|ggp-legal_moves", "ggp-new yugo|ggp-play black C3"),
        ("7 ggp-new yugo|8 play b C3", "ggp-new yugo|play b C3"),
        ("boardsize 9|clear_board|komi 7|play b C3", "boardsize 9|clear_board|komi 7|play b C3"),
        ("ggp-new yugo|play b C3|ggp-new go size=5|play b A1", "ggp-new go size=5|play b A1"),
        (
            "time_settings 9 0 0|ggp-new yugo|time_left b 5 0|time_left b 4 0",
            "time_settings 9 0 0|ggp-new yugo|time_left b 4 0",
        ),
        ("boardsize 9|play b C3|clear_board|play b D4", "boardsize 9|clear_board|play b D4"),
        ("ggp-new yugo|play b C3|play w D4|undo", "ggp-new yugo|play b C3"),
        ("ggp-new yugo|ggp-play b C3|ggp-play w D4|ggp-undo 2", "ggp-new yugo"),
        ("fixed_handicap 2|play w D4|undo|undo", "fixed_handicap 2|undo"),
        ("loadsgf a.sgf|undo", "loadsgf a.sgf|undo"),
        ("genmove b=D4", "play b D4"),
        ("9 genmove white=swap-sides", "play white swap-sides"),
        ("genmove b=resign", ""),
        ("genmove b=", ""),
        ("ggp-genmove_analyze b=D4\n{}", "play b D4"),
        ("kata-genmove_analyze b 50=info move C3 visits 5\nplay C3", "play b C3"),
        ("reg_genmove b=D4", ""),
        (
            "set_random_seed 5|kata-set-param a 1|kata-set-param b 2|kata-set-param a 3",
            "set_random_seed 5|kata-set-param b 2|kata-set-param a 3",
        ),
    ],
)
def test_the_commands_that_led_to_the_position(said: str, again: str) -> None:
    trail = ReplayTrail()
    for line in said.split("|"):
        sent, _, text = line.partition("=") if "genmove" in line else (line, "", "")
        trail.note(sent, Reply(True, text))
    assert trail.lines == [line for line in again.split("|") if line] and trail.whole


def test_failed_commands_are_dropped_and_the_trail_is_bounded() -> None:
    trail = ReplayTrail()
    trail.note("play b C3", Reply(False, "illegal move"))
    trail.note("", Reply(True, ""))
    assert trail.lines == []
    for _ in range(20_001):
        trail.note("play b C3", Reply(True, ""))
    assert not trail.whole
    trail.note("ggp-new yugo", Reply(True, ""))
    assert (trail.lines, trail.whole) == (["ggp-new yugo"], True)


def test_the_commands_that_change_a_position_are_commands() -> None:
    assert {name for name in CHANGING if not name.startswith(("lz-", "kata-"))} <= set(TABLE)


def test_every_command_of_gtp_2_is_classified() -> None:
    """`:help` called reg_genmove, of GTP's regression subset, not of the protocol."""
    draft = (
        "protocol_version name version known_command list_commands quit boardsize clear_board komi fixed_handicap "
        "place_free_handicap set_free_handicap play genmove undo time_settings time_left final_score final_status_list "
        "loadsgf reg_genmove showboard"
    )
    assert {*draft.split()} <= set(TABLE)


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        ("kata-analyze b 50", True),
        ("7 lz-analyze", True),
        ("analyze", True),
        ("lz-genmove_analyze b 50", False),
        ("kata-search_analyze b", False),
        ("gogui-analyze_commands", False),
        ("name", False),
        ("", False),
    ],
)
def test_the_commands_whose_answers_stream(line: str, goes_on: bool) -> None:
    assert streams(line) is goes_on


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("= A1 A2 A3 A4 A5 A6 A7 A8 A9 B1", "= A1 A2 A3 A4 A5 A6\nA7 A8 A9 B1"),
        ("  A1 A2 A3 A4 A5 A6 A7 A8 A9", "  A1 A2 A3 A4 A5 A6 A7\n  A8 A9"),
        ("x" * 30, "x" * 30),
        (
            "  :save FILE    what passed here as a transcript",
            "  :save FILE    what passed here as\n" + 16 * " " + "a transcript",
        ),
        ("5  . . X  . . .  . . .  . . . .", "5  . . X  . . .  . . .  . . . ."),
        ("a b\n\nc", "a b\n\nc"),
    ],
)
def test_long_lines_of_words_are_continued_at_blanks(text: str, shown: str) -> None:
    assert wrapped(text, 20) == shown
