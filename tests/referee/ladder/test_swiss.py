"""Swiss rounds: no pair twice while that can be avoided, equals against equals, byes, bots that come and go."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.referee.ladder.schedule import Schedule
from ggp.referee.ladder.store.model import Format, FormatKind, PoolPast
from ggp.referee.ladder.swiss import SwissTable, matched, pair_round
from tests.support.schedule_runs import Disturbance, ScheduleStore, TrueStrengths, run, seats_of, strengths

EDGES = st.integers(2, 9).flatmap(
    lambda size: st.tuples(st.just(size), st.sets(st.sampled_from(list(combinations(range(size), 2)))))
)


def _largest(edges: frozenset[tuple[int, int]]) -> int:
    """The most pairs that can be, by trying all: the first edge is taken or not."""
    if not edges:
        return 0
    first = min(edges)
    rest = frozenset(edge for edge in edges if not set(edge) & set(first))
    return max(1 + _largest(rest), _largest(edges - {first}))


@given(graph=EDGES, seed=st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
@pytest.mark.slow
def test_matchings_are_the_largest(graph: tuple[int, set[tuple[int, int]]], seed: int) -> None:
    size, edges = graph
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    for row in neighbours:
        Random(seed).shuffle(row)
    partner = matched(neighbours, [-1] * size)
    for vertex, other in enumerate(partner):
        assert other == -1 or (partner[other] == vertex and other in neighbours[vertex])
    assert sum(other != -1 for other in partner) == 2 * _largest(frozenset(edges))


def _tournament(bots: int, rounds: int, seed: int) -> None:
    """Rounds of random results: checks every one."""
    chance = Random(seed)
    points, sat_out, met = np.zeros(bots), np.zeros(bots, dtype=np.int64), np.zeros((bots, bots), dtype=np.int64)
    for number in range(rounds):
        pairs = pair_round(SwissTable(points, sat_out, np.arange(bots), met), Random(f"{seed} {number}"))
        assert len({bot for pair in pairs for bot in pair}) == 2 * len(pairs) == bots - bots % 2
        for pair in pairs:
            met[pair] += 1
            met[pair[::-1]] += 1
            draw = chance.choice([0.0, 0.5, 1.0, 1.5, 2.0])
            points[list(pair)] += [draw, 2 - draw]
        for bot in set(range(bots)) - {bot for pair in pairs for bot in pair}:
            assert sat_out[bot] == sat_out.min()
            sat_out[bot] += 1
            points[bot] += 2
        assert met.max() == 1 and sat_out.max() <= 1, f"round {number}: a pair meets again"


@given(bots=st.integers(2, 40), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_no_pair_meets_again_in_the_first_half_of_all_rounds(bots: int, seed: int) -> None:
    """A graph in which each vertex has at least half of the others as neighbours has a perfect matching (Dirac)."""
    _tournament(bots, max(1, (bots + bots % 2) // 2), seed)


@pytest.mark.slow
def test_no_pair_meets_again_among_a_thousand() -> None:
    _tournament(1000, 11, 1)
    _tournament(101, 40, 1)


@pytest.mark.parametrize("bots", [4, 6])
def test_when_all_have_met_they_meet_again(bots: int) -> None:
    met = np.zeros((bots, bots), dtype=np.int64)
    points, byes = np.zeros(bots), np.zeros(bots, dtype=np.int64)
    for number in range(3 * (bots - 1)):
        for one, other in pair_round(SwissTable(points, byes, np.arange(bots), met), Random(number)):
            met[one, other] += 1
            met[other, one] += 1
            points[min(one, other)] += 2
    played = met[np.triu_indices(bots, 1)]
    assert played.sum() == 3 * (bots - 1) * bots // 2 and played.min() >= 1
    assert played.max() - played.min() <= 3


def test_a_second_meeting_is_taken_only_if_it_must_be() -> None:
    """0 has met all but 3, and 3 is the nearest of 2: only one way pairs all anew."""
    met = np.zeros((4, 4), dtype=np.int64)
    for one, other in ((0, 1), (0, 2)):
        met[one, other] = met[other, one] = 1
    table = SwissTable(np.array([6.0, 6.0, 0.0, 0.0]), np.zeros(4, dtype=np.int64), np.arange(4), met)
    assert {frozenset(pair) for pair in pair_round(table, Random(1))} == {frozenset({0, 3}), frozenset({1, 2})}


def test_score_groups_meet_among_themselves() -> None:
    points = np.array([4.0] * 4 + [2.0] * 6 + [0.0] * 4)
    nothing = np.zeros((14, 14), dtype=np.int64)
    pairs = pair_round(SwissTable(points, nothing[0], np.arange(14), nothing), Random(1))
    assert all(points[one] == points[other] for one, other in pairs)
    points[3] = 3.0  # alone: one of the first group floats down to it
    pairs = pair_round(SwissTable(points, nothing[0], np.arange(14), nothing), Random(1))
    assert sorted(abs(points[one] - points[other]) for one, other in pairs) == [0.0] * 6 + [1.0]


def test_the_bye_is_for_the_lowest_without_one() -> None:
    nothing = np.zeros((5, 5), dtype=np.int64)
    points = np.array([8.0, 6.0, 4.0, 2.0, 0.0])
    for byes, expected in (([0, 0, 0, 0, 0], 4), ([0, 0, 0, 0, 1], 3), ([1, 1, 0, 1, 1], 2), ([1, 1, 1, 1, 1], 4)):
        pairs = pair_round(SwissTable(points, np.array(byes), np.arange(5), nothing), Random(1))
        assert set(range(5)) - {bot for pair in pairs for bot in pair} == {expected}


def test_twins_never_meet() -> None:
    nothing = np.zeros((4, 4), dtype=np.int64)
    versions = np.array([0, 0, 1, 1])
    for seed in range(20):
        pairs = pair_round(SwissTable(np.zeros(4), nothing[0], versions, nothing), Random(seed))
        assert len(pairs) == 2 and all(versions[one] != versions[other] for one, other in pairs)
    assert pair_round(SwissTable(np.zeros(2), nothing[0, :2], versions[:2], nothing[:2, :2]), Random(1)) == []


def test_a_swiss_tournament() -> None:
    """Nine bots, seven rounds of two pairs: all have nearly as many games, the best come out above the worst."""
    truth = strengths(9, 5, 300.0)
    store = ScheduleStore(Format(kind=FormatKind.SWISS, rounds=7, pairs=2), seats_of(9), TrueStrengths(truth))
    schedule = run(store, 10_000, Disturbance(workers=5))
    assert schedule.finished == "all 7 rounds are played" and schedule.batches == 7 and len(store.pairs) == 7 * 8
    assert set(store.past().met.values()) == {2}, "two pairs each time, no two bots meet again"
    games = Counter(bot for pair in store.pairs for bot in (pair.first, pair.second))
    assert set(games.values()) <= {12, 14}, "one bye at the most"
    for number in range(7):
        ordered = Counter((pair.first, pair.second) for pair in store.pairs if pair.batch == number)
        assert all(ordered[two, one] == 1 for one, two in ordered), "either begins once"
    ratings = schedule.ratings()
    assert ratings is not None
    ranked = [int(line.name) for line in ratings.standings()]
    best, worst = max(truth, key=truth.__getitem__), min(truth, key=truth.__getitem__)
    assert ranked.index(best) < 3 and ranked.index(worst) > 5


def test_a_round_waits_for_the_whole_of_the_last() -> None:
    store = ScheduleStore(Format(kind=FormatKind.SWISS, rounds=3, pairs=1), seats_of(4), TrueStrengths())
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    one, two = iter(schedule.issue, None)
    schedule.fix(store.bots.play(one))
    assert schedule.due() is None
    schedule.fix(store.bots.play(two))
    assert schedule.due() is not None


@given(
    workers=st.integers(1, 9),
    kill=st.sampled_from([0.0, 0.05, 0.3]),
    seed=st.integers(0, 10**6),
    bots=st.integers(2, 7),
)
@settings(max_examples=40, deadline=None)
def test_a_disturbed_tournament_is_the_undisturbed_one(workers: int, kill: float, seed: int, bots: int) -> None:
    format = Format(kind=FormatKind.SWISS, rounds=5, pairs=2)
    calm, disturbed = (
        ScheduleStore(format, seats_of(bots), TrueStrengths(strengths(bots, 3), void=0.1)) for _ in range(2)
    )
    one, other = run(calm, 1000), run(disturbed, 1000, Disturbance(workers, kill, seed))
    assert calm.played() == disturbed.played() and calm.results == disturbed.results
    assert one.finished == other.finished == "all 5 rounds are played"


def test_who_comes_and_goes_between_rounds() -> None:
    store = ScheduleStore(Format(kind=FormatKind.SWISS, rounds=6, pairs=1), seats_of(6), TrueStrengths())
    schedule = run(store, 9)
    assert schedule.batches == 3
    gone = [replace(seat, active=False, entered=False) if seat.id == 1 else seat for seat in seats_of(8)]
    store.enter(gone)
    schedule = run(store, 1000)
    assert schedule.finished and {pair.batch for pair in store.pairs} == set(range(6))
    later = Counter(bot for pair in store.pairs if pair.batch >= 3 for bot in (pair.first, pair.second))
    assert set(later) == set(range(2, 9)) and sum(later.values()) == 3 * 6
    assert later[7] >= 2 and later[8] >= 2, "who joined late sat out already: others have the byes"


def test_a_thousand_bots_have_their_round() -> None:
    schedule = Schedule(Format(kind=FormatKind.SWISS, rounds=9, pairs=1), "pool", 1, seats_of(1000), PoolPast())
    assert len(schedule.due() or []) == 500
