"""Time controls: reading and writing them, the arithmetic of each, what bots are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.play.clock import NO_LIMIT, ByoyomiClock, Control, Kind, PeriodClock, ggp_clock, time_left, time_settings

TEXTS = ["10+0.1", "10", "0.5+0.001", "40/600", "600+5x30", "5x30", "1/move", "0.25/move", "none"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_control_is_written_as_it_is_read(text: str) -> None:
    assert str(Control.parse(text)) == text


@given(st.integers(1, 10**9), st.integers(0, 10**6))
def test_every_fischer_control_comes_back(main: int, increment: int) -> None:
    control = Control(Kind.FISCHER, main=main, increment=increment)
    assert Control.parse(str(control)) == control


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
        Control.parse(text)


def test_fischer_adds_after_each_move_and_forgives_nothing_by_itself() -> None:
    clock = Control.parse("1+0.1").clock()
    assert (clock.spend(400), clock.left) == (0, 700)
    assert (clock.spend(700), clock.left) == (0, 100)  # all of it is in time
    assert (clock.spend(130), clock.left) == (30, 100)


def test_a_period_is_renewed_after_its_moves_and_nothing_is_carried_over() -> None:
    clock = Control.parse("2/10").clock()
    assert isinstance(clock, PeriodClock)
    assert (clock.spend(4000), clock.left, clock.moves) == (0, 6000, 1)
    assert (clock.spend(1000), clock.left, clock.moves) == (0, 10_000, 2)
    assert clock.spend(10_001) == 1


def test_byoyomi_loses_the_periods_that_a_move_outlasts() -> None:
    clock = Control.parse("10+3x5").clock()
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
    clock = Control.parse("2x5").clock()
    assert (clock.left, clock.time_left()) == (10_000, (5_000, 2))


def test_a_time_for_each_move_is_always_whole_again() -> None:
    clock = Control.parse("0.5/move").clock()
    assert (clock.spend(500), clock.left, clock.spend(501), clock.left) == (0, 500, 1, 500)


def test_without_a_clock_a_move_may_take_600_seconds() -> None:
    clock = Control.parse("none").clock()
    assert clock.left == NO_LIMIT == 600_000
    assert clock.spend(600_000) == 0


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 20_000), max_size=60))
def test_a_clock_never_owes_and_overruns_are_what_is_beyond_it(text: str, moves: list[int]) -> None:
    clock = Control.parse(text).clock()
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
        ("600+5x30", "ggp-clock black=600000 white=599500 period=30000 periods=5"),
        ("1/move", "ggp-clock black=1000 white=1000 moves=1"),
        ("none", ""),
    ],
)
def test_a_native_bot_is_told_both_clocks(text: str, line: str) -> None:
    black, white = Control.parse(text).clock(), Control.parse(text).clock()
    if text != "10+0.1":
        white.spend(500)
    else:
        white.spend(600)
    assert ggp_clock(black, white, black) == line


GTP = frozenset({"time_settings"})
KGS = GTP | {"kgs-time_settings"}
KATA = KGS | {"kata-time_settings"}


@pytest.mark.parametrize(
    ("text", "plain", "kgs", "kata"),
    [
        ("10+0.1", "time_settings 10 0 0", "kgs-time_settings absolute 10", "kata-time_settings fischer 10 0.1"),
        ("10.9", "time_settings 10 0 0", "kgs-time_settings absolute 10", "kata-time_settings absolute 10.9"),
        (
            "40/600",
            "time_settings 0 600 40",
            "kgs-time_settings canadian 0 600 40",
            "kata-time_settings canadian 0 600 40",
        ),
        (
            "600+5x30",
            "time_settings 600 30 1",
            "kgs-time_settings byoyomi 600 30 5",
            "kata-time_settings byoyomi 600 30 5",
        ),
        ("1/move", "time_settings 0 1 1", "kgs-time_settings byoyomi 0 1 1", "kata-time_settings byoyomi 0 1 1"),
        ("0.5/move", "time_settings 0 1 1", "kgs-time_settings byoyomi 0 1 1", "kata-time_settings byoyomi 0 1 1"),
        ("none", "time_settings 0 1 0", "kgs-time_settings none", "kata-time_settings none"),
    ],
)
def test_a_plain_bot_is_told_as_much_as_it_understands(text: str, plain: str, kgs: str, kata: str) -> None:
    control = Control.parse(text)
    assert [time_settings(control, known) for known in (GTP, KGS, KATA)] == [plain, kgs, kata]
    assert time_settings(control, frozenset()) == ""


def test_time_left_is_in_whole_seconds_and_names_stones_only_in_a_period() -> None:
    clock = Control.parse("2.9+3x5").clock()
    assert time_left("black", clock) == "time_left black 2 0"
    clock.spend(3000)
    assert time_left("black", clock) == "time_left black 5 3"
    assert time_left("white", Control.parse("40/600").clock()) == "time_left white 600 40"
    assert time_left("white", Control.parse("none").clock()) == ""
