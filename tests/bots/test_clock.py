"""What a bot reads about time, and how long it allows itself to think."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.bots.clock import BotClock, parse_clock, parse_time_left, parse_time_settings

MS = st.integers(0, 10**7)


def test_ggp_clock_is_read() -> None:
    words = ["black=61000", "white=500", "increment=100", "moves=3", "period=5000", "periods=2"]
    assert parse_clock(words) == BotClock(61000, 500, 100, 3, 5000, 2)
    assert parse_clock(["black=7", "white=-3", "unheard_of=9"]) == BotClock(7, 0)
    assert parse_clock(["white=7"]).left("white") == 7 and parse_clock(["white=7"]).left("black") is None


@pytest.mark.parametrize("word", ["black", "black=", "black=x", "black=1.5", "black=1e3", "black=" + "9" * 16])
def test_a_bad_ggp_clock_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="MILLISECONDS"):
        parse_clock(["white=1", word])


def test_time_settings_are_read() -> None:
    assert parse_time_settings(["600", "0", "0"]) == BotClock(600_000, 600_000)
    assert parse_time_settings(["0", "30", "5"]) == BotClock(30_000, 30_000, moves=5)
    assert parse_time_settings(["0", "1", "0"]) == BotClock()  # "no time limits"
    assert parse_time_settings(["0", "0", "0"]).budget("black") == 1


def test_the_overtime_that_follows_the_main_time_may_be_used() -> None:
    clock = parse_time_settings(["600", "300", "25"])  # 12 s for each of 25 stones
    assert clock.budget("black") == 20_000
    assert parse_time_left(["b", "1", "0"], clock).budget("black") == 9_600
    assert parse_time_left(["b", "250", "20"], clock).budget("black") == 10_000
    assert parse_time_left(["b", "0", "0"], parse_time_settings(["595", "5", "1"])).budget("black") == 4_000


def test_time_left_changes_one_colour() -> None:
    clock = BotClock(1000, 2000)
    assert parse_time_left(["B", "5", "0"], clock) == BotClock(5000, 2000)
    assert parse_time_left(["white", "-1", "3"], clock) == BotClock(1000, 0, moves=3)


@pytest.mark.parametrize("words", [[], ["1", "2"], ["a", "b", "c"], ["1", "2", "inf"], ["1", "2", "9" * 400]])
def test_bad_gtp_times_are_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_time_settings(words)
    with pytest.raises(ValueError, match="expected"):
        parse_time_left(words, BotClock())


def test_without_a_clock_there_is_no_budget() -> None:
    assert BotClock().budget("black") is None
    assert BotClock(white=1000).budget("black") is None


def test_budgets_of_the_usual_controls() -> None:
    assert 300 <= (BotClock(10_000, 10_000, increment=100).budget("black") or 0) <= 600  # 10+0.1
    assert 10_000 <= (BotClock(600_000, 600_000, moves=40).budget("black") or 0) <= 14_000  # 40/600
    assert 700 <= (BotClock(1000, 1000, moves=1).budget("white") or 0) <= 900  # 1/move
    assert 15_000 <= (BotClock(0, 0, period=30_000, periods=5).budget("black") or 0) <= 27_000  # in byo-yomi


@given(left=MS, increment=MS, moves=st.integers(0, 100), period=MS, periods=st.integers(0, 9))
def test_a_budget_is_never_more_than_there_is(left: int, increment: int, moves: int, period: int, periods: int) -> None:
    clock = BotClock(left, left, increment, moves, period, periods)
    budget = clock.budget("black")
    assert budget is not None and budget >= 1
    assert budget <= max(1, left + (period if periods else 0)) or moves
