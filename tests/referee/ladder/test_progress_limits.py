"""When a run of a ladder ends: what --games and --until mean."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ggp.referee.ladder.progress import GameQuota, LimitError, PoolTurns, read_limits
from ggp.referee.store.model import LostReason, Pair, PairResult, PairScore, PoolGames
from tests.support.codes import raises

NOW = datetime(2026, 11, 21, 17, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("18:00", timedelta(minutes=30)),
        ("17:30", timedelta(days=1)),  # it is that time now: the next one is meant
        ("9:05", timedelta(hours=15, minutes=35)),
        ("90s", timedelta(seconds=90)),
        ("1.5h", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        ("99999d", timedelta(days=99999)),
        ("2026-11-22T17:30", timedelta(days=1)),
        ("2026-11-21T18:30+01:00", timedelta(0)),
        ("2026-11-21T18:31+01:00", timedelta(minutes=1)),
    ],
)
def test_a_moment(text: str, after: timedelta) -> None:
    if not after:
        with raises(LimitError, "time-passed"):
            read_limits(None, text, NOW)
        return
    assert read_limits(None, text, NOW).at == (NOW + after).timestamp()


def test_no_limit_and_games() -> None:
    limits = read_limits(None, None, NOW)
    assert (limits.games, limits.at, limits.se) == (None, None, None)
    both = read_limits(100, "90s", NOW)
    assert both.games == 100 and both.at == NOW.timestamp() + 90


def test_a_standard_error() -> None:
    assert read_limits(7, "se=12.5", NOW).se == 12.5


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "12:60", "90", "90y", "-5m", "2026-13-01T00:00", "99999999h", "9999999d"]
)
def test_what_is_no_moment_names_the_forms(text: str) -> None:
    with raises(LimitError, "bad-limit"):
        read_limits(None, text, NOW)


@pytest.mark.parametrize("text", ["se=", "se=0", "se=-3", "se=nan", "se=inf", "se=2000", "se=ten"])
def test_what_is_no_standard_error(text: str) -> None:
    with raises(LimitError, "bad-limit"):
        read_limits(None, text, NOW)


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
