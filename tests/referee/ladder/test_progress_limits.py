"""When a run of a ladder ends: what --games and --until mean."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ggp.protocol.local_time import LOCAL
from ggp.referee.ladder.progress import GameQuota, LimitError, PoolTurns, StopConditions, read_limits
from ggp.referee.ladder.store.model import LostReason, Pair, PairResult, PairScore, PoolGames
from tests.support.codes import raises

NOW = datetime(2026, 11, 21, 17, 30, tzinfo=UTC)
CLOCK = 5000.0  # of CLOCK_MONOTONIC


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("18:00", timedelta(minutes=30)),
        ("17:30", timedelta(days=1)),  # it is that time now: the next one is meant
        ("9:05", timedelta(hours=15, minutes=35)),
        ("2026-11-22T17:30", timedelta(days=1)),
        ("2026-11-21T18:30+01:00", timedelta(0)),
        ("2026-11-21T18:31+01:00", timedelta(minutes=1)),
    ],
)
def test_a_moment(text: str, after: timedelta) -> None:
    if not after:
        with raises(LimitError, "time-passed"):
            read_limits(None, text, NOW, CLOCK)
        return
    assert read_limits(None, text, NOW, CLOCK).at == (NOW + after).timestamp()


def test_no_limit_and_games() -> None:
    limits = read_limits(None, None, NOW, CLOCK)
    assert (limits.games, limits.at, limits.se) == (None, None, None)
    both = read_limits(100, "90s", NOW, CLOCK)
    assert both.games == 100 and both.deadline == CLOCK + 90


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1.5h", 5400), ("2d", 2 * 86400), ("99999d", 99999 * 86400), ("0s", 0)]
)
def test_a_duration_is_measured_by_the_monotonic_clock(text: str, seconds: float) -> None:
    """A wall clock that jumps by a day, or back, changes nothing."""
    limits = read_limits(None, text, NOW, CLOCK)
    assert limits.at is None
    for wall in (NOW.timestamp() + 86400, 0.0):
        assert limits.seconds_left(wall, CLOCK + 1) == seconds - 1


def test_a_time_of_day_is_measured_by_the_wall_clock() -> None:
    limits = read_limits(None, "18:00", NOW, CLOCK)
    assert limits.seconds_left(NOW.timestamp() + 60, CLOCK) == 1740
    assert StopConditions(5).seconds_left(0, 0) is None


@pytest.mark.parametrize(
    ("evening", "until", "hours"),
    [
        ("2026-10-24T22:00", "06:00", 9),  # the night has an hour more
        ("2026-10-24T22:00", "2026-10-25T06:00", 9),
        ("2026-03-28T22:00", "06:00", 7),  # the night has an hour less
        ("2026-03-28T22:00", "2026-03-29T06:00", 7),
        ("2026-03-27T22:00", "06:00", 8),
        ("2026-10-24T22:00", "2026-10-25T06:00+02:00", 8),  # a zone that is written is meant
    ],
)
@pytest.mark.usefixtures("berlin")
def test_a_time_without_a_zone_is_local_also_in_a_night_of_daylight_saving(
    evening: str, until: str, hours: int
) -> None:
    now = datetime.fromtimestamp(datetime.fromisoformat(evening).timestamp(), LOCAL)
    assert f"{now:%Y-%m-%dT%H:%M}" == evening
    limits = read_limits(None, until, now, CLOCK)
    assert limits.seconds_left(now.timestamp(), CLOCK) == hours * 3600


@pytest.mark.usefixtures("berlin")
def test_an_hour_that_comes_twice_is_the_next_one() -> None:
    second = datetime.fromtimestamp(1792890000, UTC)  # 2026-10-25 01:00 UTC, the second 02:00 in Berlin
    assert second.astimezone(LOCAL).strftime("%H:%M %Z") == "02:00 CET"
    limits = read_limits(None, "02:30", second.astimezone(LOCAL), CLOCK)
    assert limits.seconds_left(second.timestamp(), CLOCK) == 1800


def test_a_standard_error() -> None:
    assert read_limits(7, "se=12.5", NOW, CLOCK).se == 12.5


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "12:60", "90", "90y", "-5m", "2026-13-01T00:00", "99999999h", "9999999d"]
)
def test_what_is_no_moment_names_the_forms(text: str) -> None:
    with raises(LimitError, "bad-limit"):
        read_limits(None, text, NOW, CLOCK)


@pytest.mark.parametrize("text", ["se=", "se=0", "se=-3", "se=nan", "se=inf", "se=2000", "se=ten"])
def test_what_is_no_standard_error(text: str) -> None:
    with raises(LimitError, "bad-limit"):
        read_limits(None, text, NOW, CLOCK)


# -- how many games a run may begin ----------------------------------------------------------------------------------


def _pair(number: int, played: tuple[int, ...] = ()) -> Pair:
    return Pair(number, 1, number, 0, 1, 2, played)


def _result(number: int, *games: PairScore, lost: LostReason | None = None) -> PairResult:
    return PairResult(number, 0, 1, 2, None, games, 1, lost)


WIN, VOID = PairScore(1, 2, wins=1), PairScore(1, 2, void=1)


def test_pairs_under_way_count_until_they_are_lost() -> None:
    quota = GameQuota(6)
    quota.begin([], [])
    for number in range(3):
        assert quota.pairs == 3 - number
        quota.take(_pair(number))
    assert quota.pairs == 0
    quota.fix(_result(0, lost=LostReason.SUSPENDED))
    assert quota.pairs == 1 and quota.reached == "", "another one is played in its place"
    quota.take(_pair(3))
    for number in (1, 2, 3):
        quota.fix(_result(number, WIN, WIN))
    assert quota.reached == "6 games were to be played, and are"


def test_a_pair_of_which_one_game_is_stored_is_one_game_more() -> None:
    quota = GameQuota(4)
    quota.begin([PoolGames(counted=1)], [])
    assert quota.pairs == 2
    quota.take(_pair(0, played=(0,)))
    assert quota.pairs == 1
    quota.fix(_result(0, WIN, WIN))
    assert (quota.counted, quota.pairs) == (2, 1)


def test_void_games_are_replaced_but_not_for_ever() -> None:
    quota = GameQuota(4)
    quota.begin([PoolGames(counted=2)], [])
    quota.take(_pair(0))
    quota.fix(_result(0, VOID, VOID))
    assert quota.pairs == 1
    quota.take(_pair(1))
    quota.fix(_result(1))  # the engine could not play it
    assert quota.pairs == 0 and quota.reached.startswith("4 games were to be played: 2 count, and 4 are void")


def test_without_a_number_of_games_there_is_no_end() -> None:
    quota = GameQuota(None)
    quota.begin([PoolGames(10**6, 10**6)], [])
    assert quota.pairs == math.inf and quota.reached == ""


# -- turns of several pools ------------------------------------------------------------------------------------------


def _shares(turns: PoolTurns, able: Callable[[int, int], bool], pairs: int, rows: int) -> list[int]:
    """How many of so many pairs each pool gets; `able`: whether a pool can play at that pair."""
    got = [0] * rows
    for number in range(pairs):
        row = next(row for row in turns.order() if able(row, number))
        turns.add(row)
        got[row] += 1
    return got


def test_two_thousand_pairs_are_shared_by_weight() -> None:
    weights = dict(enumerate([1.0, 1.0, 2.0, 0.5, 3.5]))
    assert _shares(PoolTurns(weights, {}), lambda row, number: True, 2000, 5) == [250, 250, 500, 125, 875]
    assert _shares(PoolTurns(dict.fromkeys(range(10), 1.0), {}), lambda row, number: True, 2000, 10) == [200] * 10


def test_a_pool_that_could_not_play_catches_up_and_does_not_keep_the_others_away() -> None:
    equal = dict.fromkeys(range(2), 1.0)
    assert _shares(PoolTurns(equal, {}), lambda row, number: row == 0 or number >= 40, 200, 2) == [100, 100]
    late = _shares(PoolTurns(equal, {}), lambda row, number: row == 0 or number >= 1000, 1200, 2)
    assert late == [1075, 125], "50 pairs first, then every other one"
    new = _shares(PoolTurns(equal, {0: 10_000.0}), lambda row, number: True, 200, 2)
    assert new == [75, 125]
