"""Time controls: reading and writing them, the arithmetic of each, what bots are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.referee.match.clock import NO_LIMIT, ByoyomiClock, ControlKind, PeriodClock, TimeControl, ggp_clock

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


def test_fischer_adds_after_each_move_and_forgives_nothing_by_itself() -> None:
    clock = TimeControl.parse("1+0.1").clock()
    assert (clock.spend(400), clock.left) == (0, 700)
    assert (clock.spend(700), clock.left) == (0, 100)  # all of it is in time
    assert (clock.spend(130), clock.left) == (30, 100)


def test_a_period_is_renewed_after_its_moves_and_nothing_is_carried_over() -> None:
    clock = TimeControl.parse("2/10").clock()
    assert isinstance(clock, PeriodClock)
    assert (clock.spend(4000), clock.left, clock.moves) == (0, 6000, 1)
    assert (clock.spend(1000), clock.left, clock.moves) == (0, 10_000, 2)
    assert clock.spend(10_001) == 1


def test_canadian_byoyomi_begins_in_the_move_in_which_main_time_ends() -> None:
    clock = TimeControl.parse("10+2/5").clock()
    assert isinstance(clock, PeriodClock)
    assert (clock.left, clock.time_left()) == (15_000, (10_000, 0))
    assert (clock.spend(9_000), clock.time_left(), clock.left) == (0, (1_000, 0), 6_000)
    assert (clock.spend(3_000), clock.time_left(), clock.left) == (0, (3_000, 1), 3_000)
    assert (clock.spend(3_000), clock.time_left()) == (0, (5_000, 2))  # the second stone, and a new period
    assert (clock.spend(0), clock.time_left()) == (0, (5_000, 1))
    assert (clock.spend(5_001), clock.time_left()) == (1, (5_000, 2))


def test_main_time_that_is_used_to_the_last_has_cost_no_stone_of_a_period() -> None:
    clock = TimeControl.parse("10+2/5").clock()
    assert (clock.spend(10_000), clock.time_left()) == (0, (5_000, 2))


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


def test_byoyomi_loses_the_periods_that_a_move_outlasts() -> None:
    clock = TimeControl.parse("10+3x5").clock()
    assert isinstance(clock, ByoyomiClock)
    assert clock.left == 25_000
    assert (clock.spend(9_000), clock.main, clock.periods) == (0, 1_000, 3)
    assert (clock.spend(6_000), clock.main, clock.periods) == (0, 0, 3)  # 1 s of main time and one whole period
    assert (clock.spend(4_999), clock.periods) == (0, 3)
    assert (clock.spend(5_001), clock.periods) == (0, 2)
    assert (clock.spend(10_000), clock.periods) == (0, 1)
    assert clock.left == 5_000
    assert clock.spend(5_002) == 2


def test_byoyomi_without_main_time_begins_in_its_periods() -> None:
    clock = TimeControl.parse("2x5").clock()
    assert (clock.left, clock.time_left()) == (10_000, (5_000, 2))


def test_a_time_for_each_move_is_always_whole_again() -> None:
    clock = TimeControl.parse("0.5/move").clock()
    assert (clock.spend(500), clock.left, clock.spend(501), clock.left) == (0, 500, 1, 500)


def test_without_a_clock_a_move_may_take_600_seconds() -> None:
    clock = TimeControl.parse("none").clock()
    assert clock.left == NO_LIMIT == 600_000
    assert clock.spend(600_000) == 0


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
