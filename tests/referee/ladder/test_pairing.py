"""Pairing without rounds: shares, twins, who is drawn, and that ratings come out as they are said to."""

import math
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.referee.ladder.pairing import Field, batch_size, draw_batch, most_pairs, random_for
from ggp.referee.ladder.schedule import Schedule
from ggp.referee.ladder.store.model import Format, Pairing, PoolEntry, PoolPast
from tests.support.schedule_runs import ScheduleStore, TrueStrengths, run, seats_of, strengths


def _field(seats: list[PoolEntry], **known: list[float]) -> Field:
    size = len(seats)
    flat = np.zeros(size)
    return Field(
        seats,
        np.array(known.get("elo", flat), dtype=np.float64),
        np.array(known.get("error", flat + 100), dtype=np.float64),
        np.array(known.get("rated", flat), dtype=np.int64),
        np.array(known.get("issued", flat), dtype=np.int64),
        np.zeros((size, size), dtype=np.int64),
    )


def _games(batch: list[Pairing]) -> Counter[int]:
    return Counter(bot for pairing in batch for bot in (pairing.first, pairing.second))


@given(bots=st.integers(2, 12), size=st.integers(1, 80), share=st.floats(0.05, 1), seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_no_bot_has_more_than_the_share(bots: int, size: int, share: float, seed: int) -> None:
    """To the last pair, also where the cap leaves no freedom; below 2 / bots it is lifted to that."""
    field = _field(seats_of(bots), elo=[400.0] + [0.0] * (bots - 1), error=[900.0] + [1.0] * (bots - 1))
    games = _games(draw_batch(field, size, share, Random(seed)))
    cap = most_pairs(share, size, bots)
    assert sum(games.values()) == 2 * size and max(games.values()) <= cap
    assert cap <= max(share * size, math.ceil(2 * size / bots))


def test_a_share_holds_over_a_whole_run() -> None:
    """A bot that everything speaks for, and yet."""
    store = ScheduleStore(
        Format(share=0.3, batch=40), [replace(seats_of(8)[0], anchor=0.0), *seats_of(8)[1:]], TrueStrengths()
    )
    run(store, 400)
    games = Counter(bot for pair in store.pairs for bot in (pair.first, pair.second))
    assert max(games.values()) <= 0.3 * len(store.pairs) and len(store.pairs) == 400


@given(versions=st.lists(st.sampled_from("abc"), min_size=2, max_size=8), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_no_version_meets_itself(versions: list[str], seed: int) -> None:
    """Also not an anchor its unpinned twin, which is the same version under another name."""
    seats = [replace(seat, version=version) for seat, version in zip(seats_of(len(versions)), versions, strict=True)]
    schedule = Schedule(Format(batch=20, share=0.2), "pool", seed, seats, PoolPast())
    batch = schedule.due()
    if len(set(versions)) < 2:
        assert batch is None
        return
    assert batch is not None and len(batch) == 20
    assert all(versions[one.first - 1] != versions[one.second - 1] for one in batch)


@pytest.mark.parametrize(
    ("known", "drawn"),
    [
        ({"issued": [0.0] + [500.0] * 9, "rated": [0.0] + [500.0] * 9}, "few games"),
        ({"error": [300.0] + [10.0] * 9}, "a large error"),
        ({"elo": [300.0] + [0.0] * 9, "error": [10.0] * 10}, "high upper confidence"),
    ],
    ids=["few", "error", "upper"],
)
def test_who_is_worth_more_games_has_more(known: dict[str, list[float]], drawn: str) -> None:
    games = Counter[int]()
    for seed in range(20):
        games += _games(draw_batch(_field(seats_of(10), **known), 20, 1.0, Random(seed)))
    others = sum(games[bot] for bot in range(2, 11)) / 9
    assert games[1] > 1.3 * others, drawn


def test_anchors_have_their_tenth() -> None:
    seats = seats_of(10)
    plain, anchored = Counter[int](), Counter[int]()
    for seed in range(40):
        plain += _games(draw_batch(_field(seats), 20, 1.0, Random(seed)))
        anchored += _games(draw_batch(_field([replace(seats[0], anchor=0.0), *seats[1:]]), 20, 1.0, Random(seed)))
    assert anchored[1] > 1.2 * plain[1]


def test_opponents_are_near_and_new() -> None:
    field = _field(seats_of(4), elo=[0.0, 0.0, 400.0, 800.0])
    met = Counter(
        frozenset((one.first, one.second)) for seed in range(40) for one in draw_batch(field, 5, 1, Random(seed))
    )
    assert met[frozenset({1, 2})] > 2 * met[frozenset({1, 4})]
    store = ScheduleStore(Format(batch=22), seats_of(12), TrueStrengths(strengths(12, 1)))
    run(store, 330)
    counts = [store.past().met.get(two, 0) for two in ((a, b) for a in range(1, 13) for b in range(a + 1, 13))]
    assert min(counts) >= 1, "in time all bots meet all others"
    assert max(counts) <= 25


def test_a_newcomer_is_measured_quickly() -> None:
    store = ScheduleStore(Format(), seats_of(6), TrueStrengths(strengths(7, 2)))
    schedule = run(store, 600)
    store.enter(seats_of(7))
    schedule.enter(store.seats)
    run(store, 800)
    later = Counter(bot for pair in store.pairs[600:] for bot in (pair.first, pair.second))
    assert later[7] > 1.2 * sum(later[bot] for bot in range(1, 7)) / 6


def test_chance_is_the_same_everywhere() -> None:
    assert [round(random_for(7, "pool", batch).random(), 9) for batch in (0, 1)] == [0.106329675, 0.744131799]


def test_sizes_of_batches() -> None:
    sizes = [batch_size(Format(), issued, 5) for issued in (0, 128, 400, 4095, 10**6)]
    assert sizes == [16, 16, 50, 511, 512]
    assert batch_size(Format(), 0, 30) == 60 and batch_size(Format(), 0, 10**4) == 512
    assert batch_size(Format(batch=3), 10**6, 5) == 3


@pytest.mark.slow
def test_the_ladder_finds_the_strengths() -> None:
    """Twelve bots, 500 pairs: errors are as large as the error bars say, over several seeds."""
    scores, errors = [], []
    for seed in range(8):
        truth = strengths(12, seed)
        store = ScheduleStore(Format(), seats_of(12), TrueStrengths(truth, seed, advantage=40.0))
        ratings = run(store, 500).ratings()
        assert ratings is not None
        for line in ratings.standings():
            scores.append((line.elo - truth[int(line.name)]) / line.se)
            errors.append(line.se)
        assert abs(ratings.advantage - 40) < 4 * ratings.advantage_se
    spread = math.sqrt(sum(score**2 for score in scores) / len(scores))
    assert 0.8 < spread < 1.25, f"root mean square of (rating − truth) / error: {spread:.2f}"
    assert sum(abs(score) < 1.96 for score in scores) / len(scores) > 0.88
    assert max(errors) < 60
