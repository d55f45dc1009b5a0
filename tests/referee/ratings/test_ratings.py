"""Ratings: derivatives, score equations, symmetries, error bars that cover, infinite ratings, anchors."""

import math
import re
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.referee.ratings.bradley_terry import (
    DAVIDSON,
    MODELS,
    Counts,
    CountsError,
    Floats,
    Objective,
    OutcomeModel,
    Priors,
    Row,
    closed_part,
    reached,
)
from ggp.referee.ratings.ratings import rate
from ggp.referee.ratings.scale import ELO
from tests.support.codes import raises

PLAIN = Priors(plain=True)
CELL = st.integers(0, 30)
ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), CELL, CELL, CELL).filter(lambda row: row[0] != row[1]),
    min_size=3,
    max_size=12,
)
# All scored against all others, from both seats: every estimate is finite.
FULL = st.lists(st.integers(1, 40), min_size=36, max_size=36).map(
    lambda n: [
        (one, other, *n[3 * k : 3 * k + 3])
        for k, (one, other) in enumerate((a, b) for a in "abcd" for b in "abcd" if a != b)
    ]
)
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


@EACH
@given(rows=ROWS, seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_derivatives_are_those_of_the_value(model: OutcomeModel, rows: list[Row], seed: int) -> None:
    counts = Counts.of(rows, names="abcd")
    priors = Priors(anchors={"a": 100}, parents={"c": "b"})
    objective = Objective(counts.names, counts.played, model, priors, True, True)
    point = np.random.default_rng(seed).normal(0, 0.7, len(counts.names) + 2)
    _, gradient, hessian = objective.at(point)
    for index in range(len(point)):
        width = np.zeros(len(point))
        width[index] = 1e-5
        slope = (objective.value(point + width) - objective.value(point - width)) / 2e-5
        assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-4)
        bend = -(objective.at(point + width)[1] - objective.at(point - width)[1]) / 2e-5
        assert hessian[index] == pytest.approx(bend, rel=1e-5, abs=1e-4)


@given(FULL)
@settings(max_examples=30, deadline=None)
def test_score_equations_hold_at_the_likeliest_ratings(rows: list[Row]) -> None:
    """Davidson: every bot's points, the first seat's points and the ties are as many as expected."""
    counts = Counts.of(rows)
    ratings = rate(counts, priors=PLAIN)
    played, theta = counts.played, ratings.elo / ELO
    x = theta[played.first] - theta[played.second] + ratings.advantage / ELO
    win, tie, _ = DAVIDSON.probabilities(x, math.log(ratings.tie))
    points = played.games * (win + tie / 2)
    for bot, score in enumerate(counts.scores):
        expected = points[played.first == bot].sum() + (played.games - points)[played.second == bot].sum()
        assert expected == pytest.approx(score, rel=1e-7)
    assert points.sum() == pytest.approx((played.wins + played.ties / 2).sum(), rel=1e-7)
    assert (played.games * tie).sum() == pytest.approx(played.ties.sum(), rel=1e-7)
    assert ratings.elo.mean() == pytest.approx(0, abs=1e-6)


@EACH
@given(rows=FULL)
@settings(max_examples=20, deadline=None)
def test_reversing_the_colours_reverses_the_advantage(model: OutcomeModel, rows: list[Row]) -> None:
    turned = [(second, first, losses, ties, wins) for first, second, wins, ties, losses in rows]
    for priors in (PLAIN, Priors()):
        one = rate(Counts.of(rows, names="abcd"), model, priors)
        other = rate(Counts.of(turned, names="abcd"), model, priors)
        assert other.elo == pytest.approx(one.elo, abs=1e-4)
        assert other.advantage == pytest.approx(-one.advantage, abs=1e-4)
        assert other.tie == pytest.approx(one.tie, rel=1e-6)


@EACH
@given(rows=FULL, shift=st.floats(-2000, 2000))
@settings(max_examples=20, deadline=None)
def test_anchors_shift_everything_and_no_difference(model: OutcomeModel, rows: list[Row], shift: float) -> None:
    free = rate(Counts.of(rows), model, PLAIN)
    for priors in (Priors(plain=True, anchors={"b": shift}), Priors(anchors={"b": shift})):
        held = rate(Counts.of(rows), model, priors)
        again = rate(Counts.of(rows), model, Priors(plain=priors.plain, anchors={"b": 0}))
        assert held.elo - again.elo == pytest.approx(np.full(4, shift), abs=1e-3)
        assert [line.se for line in held.standings()] == pytest.approx([line.se for line in again.standings()])
    free_gap, held_gap = free.difference("a", "c"), rate(Counts.of(rows), model, PLAIN, start=free).difference("a", "c")
    assert held_gap.elo == pytest.approx(free_gap.elo, abs=1e-6)


@pytest.mark.slow
@EACH
def test_error_bars_cover_the_truth(model: OutcomeModel) -> None:
    """95 % intervals of differences, advantage and ties over 120 simulated pools: as often as they say."""
    inside = dict.fromkeys(("difference", "advantage", "tie"), 0)
    pools = 120
    for seed in range(pools):
        theta, counts = simulated(model, bots=6, games=1500, seed=seed, advantage=40, t=-0.8)
        ratings = rate(counts, model)
        gap = ratings.difference("0", "5")
        inside["difference"] += abs(gap.elo - (theta[0] - theta[5])) < 1.96 * gap.se
        inside["advantage"] += abs(ratings.advantage - 40) < 1.96 * ratings.advantage_se
        tie_se = math.sqrt(ratings.fitted.covariance[-1, -1])
        inside["tie"] += abs(ratings.fitted.t + 0.8) < 1.96 * tie_se
    for what, hits in inside.items():  # 0.95 ± 3 standard errors
        assert 0.89 < hits / pools <= 1, (what, hits / pools)


def test_large_counts_and_wide_gaps() -> None:
    rows: list[Row] = [(str(bot), str(bot + 1), 10**12, 1, 1) for bot in range(30)]
    for priors in (PLAIN, Priors()):
        ratings = rate(Counts.of(rows), priors=priors, advantage=False)
        assert np.all(np.diff(ratings.elo) < 0) and np.isfinite(ratings.fitted.covariance).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b", 5, 0, 0)], "the rating of a is infinite"),
        ([("a", "b", 3, 1, 0), ("b", "a", 0, 0, 4)], "is infinite"),
        ([("a", "b", 1, 0, 1), ("b", "c", 1, 1, 1), ("d", "c", 0, 0, 7)], "the rating of d is minus infinite"),
        ([("a", "b", 1, 0, 1), ("c", "d", 1, 0, 1)], "no chain of games connects a and c"),
        ([("a", "b", 9, 0, 0), ("b", "a", 9, 0, 0)], "the first-seat advantage is infinite"),
        ([("a", "b", 0, 9, 0), ("b", "a", 0, 9, 0)], "every game is a tie: ν is infinite"),
        ([("a", "b", 2, 0, 1), ("c", "d", 1, 0, 1), ("a", "c", 1, 0, 0)], "the rating of a (and of the 1 others"),
        ([("a", "b", 2, 0, 1)], "sitting first cannot be told apart from being stronger"),
    ],
)
def test_infinite_ratings_are_errors(rows: list[Row], message: str) -> None:
    with pytest.raises(CountsError, match=re.escape(message)):
        rate(Counts.of(rows), priors=PLAIN)
    assert np.isfinite(rate(Counts.of(rows)).elo).all(), "with the prior every rating is finite"


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25))
def test_a_closed_part_is_a_component_that_no_edge_leaves(edges: list[tuple[int, int]]) -> None:
    graph, reach = np.zeros((8, 8), dtype=bool), np.eye(8, dtype=bool)
    for one, other in edges:
        graph[one, other] = reach[one, other] = True
    for middle in range(8):
        reach |= np.outer(reach[:, middle], reach[middle])
    part = closed_part(graph)
    assert all(np.flatnonzero(reach[one]).tolist() == part.tolist() for one in part.tolist())
    assert all(reached(graph, one).tolist() == reach[one].tolist() for one in range(8))


def test_invalid_counts() -> None:
    for rows, code in (
        ([("a", "a", 1, 0, 0)], "self-play"),
        ([("a", "b", -1, 0, 0)], "bad-count"),
        ([("a", "b", math.inf, 0, 0)], "bad-count"),
    ):
        with raises(CountsError, code):
            Counts.of(rows)
    with raises(CountsError, "too-few-bots"):
        rate(Counts.of([]))
    with raises(CountsError, "too-few-bots"):
        rate(Counts.of([], names="a"))
    with raises(CountsError, "anchor-without-games"):
        rate(pool_of("ab"), priors=Priors(anchors={"z": 1}))
    with raises(CountsError, "parent-cycle"):
        rate(pool_of("ab"), priors=Priors(parents={"a": "b", "b": "a"}))


def test_the_priors() -> None:
    """A bot without games stands where the prior puts it, with the prior's spread."""
    counts = Counts.of(pool_of("ab", games=10**7).played_rows(), names="abcd")
    ratings = rate(counts, priors=Priors(anchors={"a": 1000}, parents={"c": "b"}))
    assert ratings.difference("c", "b").elo == pytest.approx(0, abs=1e-6)
    assert ratings.difference("c", "b").se == pytest.approx(125, rel=1e-4)
    # d is of the pool, whose mean is free and known from a and b only: 350² (1 + 1/2).
    middle = (ratings.elo[0] + ratings.elo[1]) / 2
    assert ratings.elo[3] == pytest.approx(middle, abs=1e-3)
    assert ratings.difference("d", "a").se == pytest.approx(350 * math.sqrt(1.5), rel=1e-2)
    alone = rate(Counts.of([], names="ab"))
    assert alone.elo.tolist() == [0, 0] and alone.advantage == 0
    assert alone.tie == pytest.approx(math.exp(-1))
    assert alone.difference("a", "b").se == pytest.approx(350 * math.sqrt(2))
    assert alone.advantage_se == pytest.approx(200)
    assert math.sqrt(alone.fitted.covariance[-1, -1]) == pytest.approx(1.5)


def test_a_twin_that_leaves_its_anchor_is_an_alarm() -> None:
    """The twin is the same program, unpinned; it meets the others, never its anchor."""
    rows: list[Row] = []
    for bot in ("anchor", "same", "worse"):
        share = 0.25 if bot == "worse" else 0.6
        for other in ("x", "y"):
            wins = round(400 * share)
            rows += [(bot, other, wins, 0, 400 - wins), (other, bot, 400 - wins, 0, wins)]
    ratings = rate(Counts.of(rows), priors=Priors(anchors={"anchor": 1500}))
    assert not ratings.drift("same", "anchor")
    assert ratings.drift("worse", "anchor")
    gap = ratings.difference("worse", "anchor")
    assert gap.elo < -150 and gap.los < 1e-6


def test_standings_and_misfits() -> None:
    counts = Counts.of([("a", "b", 6, 2, 2), ("b", "a", 5, 2, 3), ("a", "c", 1, 1, 8), ("c", "b", 2, 0, 8)])
    ratings = rate(counts)
    lines = ratings.standings()
    assert [line.elo for line in lines] == sorted((line.elo for line in lines), reverse=True)
    assert {line.name: (line.games, line.points) for line in lines} == {"a": (30, 12.5), "b": (30, 17), "c": (20, 10.5)}
    for line, lower in pairwise(lines):
        assert line.next is not None
        assert line.next.elo == pytest.approx(line.elo - lower.elo) and 0.5 <= line.next.los <= 1
    assert lines[-1].next is None
    misfits = ratings.misfits()
    assert [pair.deviance for pair in misfits] == sorted((pair.deviance for pair in misfits), reverse=True)
    for most in range(6):
        assert ratings.misfits(most) == misfits[:most]
    assert ratings.deviance() == pytest.approx(sum(pair.deviance for pair in misfits))
    (pair,) = [pair for pair in misfits if (pair.first, pair.second) == ("c", "b")]
    theta = dict(zip(counts.names, ratings.elo / ELO, strict=True))
    odds = math.exp((theta["c"] - theta["b"] + ratings.advantage / ELO) / 2)
    total = odds + ratings.tie + 1 / odds
    win, loss = odds / total, 1 / odds / total
    assert pair.deviance == pytest.approx(2 * (2 * math.log(0.2 / win) + 8 * math.log(0.8 / loss)))
    assert pair.score == 2
    assert pair.expected == pytest.approx(10 * (win + ratings.tie / total / 2))
    assert ratings.degrees_of_freedom() == 2 * 4 - (2 + 1 + 1)


def test_equal_misfits_keep_their_order() -> None:
    bots = [f"bot{number}" for number in range(8)]
    games = [(one, other, 1, 0, 1) for one in bots for other in bots if one != other]
    ratings = rate(Counts.of(games))
    for most in (1, 3, 55, 56, 57):
        assert ratings.misfits(most) == ratings.misfits()[:most]


def test_the_next_among_some_of_the_standings() -> None:
    ratings = rate(Counts.of([("a", "b", 6, 2, 2), ("b", "c", 5, 2, 3), ("a", "c", 8, 1, 1), ("c", "d", 7, 0, 2)]))
    assert [line.name for line in ratings.standings()] == ["a", "b", "c", "d"]
    best, *rest = ratings.standings({"a", "c"})
    assert best.next == ratings.difference("a", "c")
    assert [line.next for line in rest] == [ratings.difference("b", "c"), None, None]


def test_a_refit_starts_from_the_last_fit() -> None:
    _, counts = simulated(DAVIDSON, bots=30, games=5000, seed=1, advantage=10, t=-1)
    cold = rate(counts)
    warm = rate(counts, start=cold)
    assert warm.elo == pytest.approx(cold.elo, abs=1e-6)
    assert warm.fitted.steps < cold.fitted.steps
    kept = cold.table()
    assert rate(counts, start=kept).fitted.steps < cold.fitted.steps


def test_ratings_by_another_model_are_no_start() -> None:
    """Their parameter of ties means something else."""
    _, counts = simulated(DAVIDSON, bots=30, games=5000, seed=1, advantage=10, t=-1)
    cold, other = rate(counts), rate(counts, MODELS["rao-kupper"]).table()
    found = rate(counts, start=other)
    assert found.fitted.steps == cold.fitted.steps and found.elo.tolist() == cold.elo.tolist()


# --- pools of results: even ones, and simulated ones whose truth is known ---


class RatingPool(Counts):
    """Counts that give their rows again."""

    def played_rows(self) -> list[Row]:
        cells = (self.played.first, self.played.second, self.played.wins, self.played.ties, self.played.losses)
        return [
            (self.names[first], self.names[second], wins, ties, losses)
            for first, second, wins, ties, losses in zip(*(cell.tolist() for cell in cells), strict=True)
        ]


def pool_of(names: str, games: int = 10) -> RatingPool:
    """All against all from both seats, all even: `games` wins, ties and losses each."""
    even = Counts.of([(one, other, games, games, games) for one, other in permutations(names, 2)])
    return RatingPool(even.names, even.played)


def simulated(
    model: OutcomeModel, bots: int, games: int, seed: int, advantage: float, t: float
) -> tuple[Floats, Counts]:
    """True ratings (Elo, sd 150) and so many random games of random ordered pairs under `model`."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(0, 150, bots)
    first = chance.integers(0, bots, games)
    second = (first + chance.integers(1, bots, games)) % bots
    win, tie, _ = model.probabilities((truth[first] - truth[second] + advantage) / ELO, t)
    draw = chance.random(games)
    rows: list[Row] = [
        (str(one), str(other), float(u < w), float(w <= u < w + d), float(u >= w + d))
        for one, other, u, w, d in zip(first.tolist(), second.tolist(), draw, win, tie, strict=True)
    ]
    return truth, Counts.of(rows, names=map(str, range(bots)))
