"""Time controls: reading and writing them, the arithmetic of each, what bots are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.referee.match.clock import NO_LIMIT, ControlKind, TimeControl, ggp_clock

TEXTS = [
    "10+0.1",
    "10",
    "0.5+0.001",
    "40/600",
    "600+25/300",
    "1.5+2/10",
    "600+5x30",
    "5x30",
    "1/move",
    "0.25/move",
    "none",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_control_is_written_as_it_is_read(text: str) -> None:
    assert str(TimeControl.parse(text)) == text


@given(st.integers(1, 10**9), st.integers(0, 10**6))
def test_every_fischer_control_comes_back(main: int, increment: int) -> None:
    control = TimeControl(ControlKind.FISCHER, main=main, increment=increment)
    assert TimeControl.parse(str(control)) == control


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "10+",
        "+1",
        "0",
        "0/600",
        "40/0",
        "600+40/0",
        "600+0/40",
        "600+40/",
        "+40/600",
        "0x30",
        "5x0",
        "0/move",
        "-1",
        "1.2345",
        "1e3",
        "10+0.1 ",
        "99999999",
    ],
)
def test_what_is_no_control_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match="time control"):
        TimeControl.parse(text)


# Of each control: the moves that are made by its clock, each as ms used, ms of overrun, and then left and time_left.
SPENT = {
    "1+0.1": [(400, 0, 700, (700, 0)), (700, 0, 100, (100, 0)), (130, 30, 100, (100, 0))],  # forgives nothing by itself
    "2/10": [(4000, 0, 6000, (6000, 1)), (1000, 0, 10_000, (10_000, 2)), (10_001, 1, 0, (0, 1))],
    "10+2/5": [  # Canadian byo-yomi begins in the move in which main time ends
        (9000, 0, 6000, (1000, 0)),
        (3000, 0, 3000, (3000, 1)),
        (3000, 0, 5000, (5000, 2)),  # the second stone, and a new period
        (0, 0, 5000, (5000, 1)),
        (5001, 1, 5000, (5000, 2)),
    ],
    "10+3/5": [(10_000, 0, 5000, (5000, 3))],  # main time that is used to the last costs no stone of a period
    "10+3x5": [  # Japanese byo-yomi loses the periods that a move outlasts
        (9000, 0, 16_000, (1000, 0)),
        (6000, 0, 15_000, (5000, 3)),  # 1 s of main time and one whole period
        (4999, 0, 15_000, (5000, 3)),
        (5001, 0, 10_000, (5000, 2)),
        (10_000, 0, 5000, (5000, 1)),
        (5002, 2, 5000, (5000, 1)),
    ],
    "2x5": [(0, 0, 10_000, (5000, 2))],  # without main time it begins in its periods
    "0.5/move": [(500, 0, 500, (500, 1)), (501, 1, 500, (500, 1))],
    "none": [(600_000, 0, NO_LIMIT, (NO_LIMIT, 1))],
}


@pytest.mark.parametrize("text", SPENT)
def test_what_a_clock_charges_and_leaves(text: str) -> None:
    clock = TimeControl.parse(text).clock()
    for used, *expected in SPENT[text]:
        assert [clock.spend(used), clock.left, clock.time_left()] == expected


def test_without_a_clock_a_move_may_take_600_seconds() -> None:
    assert TimeControl.parse("none").clock().left == NO_LIMIT == 600_000


@given(st.integers(1, 40), st.lists(st.integers(0, 40_000), max_size=60))
def test_a_period_gives_its_moves_their_time_and_no_more(stones: int, moves: list[int]) -> None:
    """By the book: main time, then the moves in bunches, each of which takes a period at most."""
    clock = TimeControl(ControlKind.PERIOD, main=60_000, moves=stones, period=100_000).clock()
    main, bunch = 60_000, [0]
    for used in moves:
        if main and used <= main:
            main -= used
            allowed = main + used + 100_000
        else:
            if len(bunch) > stones:
                bunch = [0]
            allowed = main + 100_000 - sum(bunch)
            bunch.append(used - main)
            main = 0
        overrun = clock.spend(used)
        assert overrun == max(0, used - allowed)
        if overrun:
            return


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 20_000), max_size=60))
def test_a_clock_never_owes_and_overruns_are_what_is_beyond_it(text: str, moves: list[int]) -> None:
    clock = TimeControl.parse(text).clock()
    for used in moves:
        left = clock.left
        assert clock.spend(used) == max(0, used - left)
        assert clock.left >= 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("10+0.1", "ggp-clock black=10000 white=9500 increment=100"),
        ("10", "ggp-clock black=10000 white=9500"),
        ("40/600", "ggp-clock black=600000 white=599500 moves=40"),
        ("600+25/300", "ggp-clock black=600000 white=599500 period=12000 periods=1"),
        ("600+5x30", "ggp-clock black=600000 white=599500 period=30000 periods=5"),
        ("1/move", "ggp-clock black=1000 white=1000 moves=1"),
        ("none", ""),
    ],
)
def test_a_native_bot_gets_both_clocks(text: str, line: str) -> None:
    black, white = TimeControl.parse(text).clock(), TimeControl.parse(text).clock()
    if text != "10+0.1":
        white.spend(500)
    else:
        white.spend(600)
    assert ggp_clock(black, white, black) == line
