"""The sequential test: published numbers, symmetries, records at the edge, error rates, unbiased estimates."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.referee.ratings.sprt import (
    MODELS,
    PRESETS,
    Corridor,
    Effect,
    Hypotheses,
    Model,
    ScoreSample,
    SprtError,
    Verdict,
    effect,
    hoeffding,
    judge,
    log_likelihood_ratio,
    moments,
    score_of,
    tilt_to_mean,
    tilt_to_t,
)
from tests.support.codes import raises


def logistic(elo: float) -> float:
    return 1 / (1 + 10 ** (-elo / 400))


PENTA = st.lists(st.integers(0, 400), min_size=5, max_size=5).filter(any)
WDL = st.lists(st.integers(0, 400), min_size=3, max_size=3).filter(any)
GATE = PRESETS["gate"]

# Counts (worst first), hypotheses, the published LLR, and the same with 40 digits of working precision.
PUBLISHED = [
    ([365, 16618, 36229, 16974, 390], Hypotheses(0, 2), 2.250367703549, 2.2503677035469757),
    ([223, 9863, 21279, 10037, 246], Hypotheses(0.5, 2.5, model="logistic"), -3.074126439589, -3.0741264395891714),
    ([36027, 68692, 36433], Hypotheses(0, 2), 0.923293450946, 0.92329345094952647),
    ([57030, 106593, 57433], Hypotheses(0, 2, model="logistic"), -2.593024163516, -2.5930241635240584),
]


@pytest.mark.parametrize(("counts", "hypotheses", "published", "exact"), PUBLISHED)
def test_published_ratios(counts: list[int], hypotheses: Hypotheses, published: float, exact: float) -> None:
    """To 11 decimals of what was published in double precision, and to 12 of the truth."""
    llr = log_likelihood_ratio(counts, hypotheses)
    assert llr == pytest.approx(published, abs=1e-11)
    assert llr == pytest.approx(exact, abs=1e-12)


def test_published_bayes_ratio() -> None:
    llr = log_likelihood_ratio([21484, 41111, 21629], Hypotheses(0.5, 2.5, model="bayes"))
    assert llr == pytest.approx(-1.130643310666, abs=2e-11)


def test_published_ratio_of_wins_alone() -> None:
    llr = log_likelihood_ratio([0, 0, 0, 0, 5550], Hypotheses(0, 5))
    assert f"{llr:.4f}" == "111.7976" and llr == pytest.approx(111.79755508671416, abs=1e-10)


def test_published_elo() -> None:
    pairs, games = judge([34, 54, 63, 64, 75], GATE), judge([96, 111, 136], GATE)
    assert f"{pairs.elo:.5f} {pairs.elo_error:.5f}" == "55.57978 27.65343"
    assert f"{games.elo:.2f} {games.elo_error:.2f} {games.nelo:.2f} {games.nelo_error:.2f}" == "40.70 30.43 49.77 36.77"
    assert f"{games.los:.2%}" == "99.60%"
    assert (pairs.games, games.games) == (580, 343)


def test_presets_and_bounds() -> None:
    assert {name: (h.elo0, h.elo1, h.model) for name, h in PRESETS.items()} == {
        "gate": (0, 20, "normalized"),
        "simplify": (-15, 5, "normalized"),
        "big": (0, 50, "normalized"),
    }
    assert GATE.upper == pytest.approx(math.log(19)) == -GATE.lower
    lopsided = Hypotheses(0, 5, alpha=0.01, beta=0.1)
    assert (lopsided.lower, lopsided.upper) == pytest.approx((math.log(0.1 / 0.99), math.log(0.9 / 0.01)))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["normalized", "logistic"])
@given(counts=st.one_of(PENTA, WDL), elo0=st.floats(-60, 60), width=st.floats(1, 60))
@settings(max_examples=60, deadline=None)
def test_swapping_the_sides_turns_the_sign(model: Model, counts: list[int], elo0: float, width: float) -> None:
    hypotheses, turned = Hypotheses(elo0, elo0 + width, model=model), Hypotheses(-elo0 - width, -elo0, model=model)
    one, other = judge(counts, hypotheses), judge(counts[::-1], turned)
    assert one.llr == pytest.approx(-other.llr, rel=1e-7, abs=1e-9)
    assert (one.elo_low is None, one.elo_high is None) == (other.elo_high is None, other.elo_low is None)
    turns = ((one.elo, other.elo), (one.elo_low, other.elo_high), (one.elo_high, other.elo_low), (one.nelo, other.nelo))
    for mine, theirs in turns:
        assert mine == (theirs if theirs is None else pytest.approx(-theirs, rel=1e-6, abs=1e-6))
    assert one.los == (other.los if other.los is None else pytest.approx(1 - other.los, rel=1e-6, abs=1e-9))
    assert {one.state, other.state} in ({"continue"}, {"H0", "H1"})
    if one.estimate is not None and one.estimate.elo is not None:
        assert other.estimate is not None
        assert one.estimate.elo == pytest.approx(-(other.estimate.elo or 0), rel=1e-4, abs=1e-3)


@given(counts=PENTA, cell=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_a_better_pair_never_lowers_the_logistic_ratio(counts: list[int], cell: int) -> None:
    """Logistic: a higher mean score is more evidence for the higher mean."""
    better = [*counts]
    better[cell] += 1
    worse = [*better]
    better[cell], better[cell + 1] = better[cell] - 1, better[cell + 1] + 1
    hypotheses = Hypotheses(0, 20, model="logistic")
    full = [count + 1 for count in worse], [count + 1 for count in better]  # no cell is regularised
    assert log_likelihood_ratio(full[1], hypotheses) >= log_likelihood_ratio(full[0], hypotheses) - 1e-9


@given(counts=PENTA)
@settings(max_examples=40, deadline=None)
def test_a_higher_bar_is_less_likely_met(counts: list[int]) -> None:
    """Among hypotheses above the record's own effect, the higher the less likely."""
    nelo = judge(counts, GATE).nelo
    if nelo is not None and abs(nelo) < 200:
        ratios = [log_likelihood_ratio(counts, Hypotheses(nelo, nelo + width)) for width in (2, 20, 50)]
        assert 0 >= ratios[0] >= ratios[1] >= ratios[2]


@given(counts=PENTA, t=st.floats(-0.4, 0.4))
@settings(max_examples=60, deadline=None)
def test_the_likeliest_distribution_keeps_the_constraint(counts: list[int], t: float) -> None:
    sample = ScoreSample.of(counts)
    tilt = tilt_to_t(sample, t)
    assert tilt is not None
    shares = [p * math.exp(-e) for p, e in zip(sample.shares, tilt, strict=True)]
    mean, variance = moments(sample.scores, shares)
    assert sum(shares) == pytest.approx(1, abs=1e-7)
    assert (mean - 0.5) / math.sqrt(variance) == pytest.approx(t, abs=1e-6)
    tilt = tilt_to_mean(sample, 0.5 + t)
    assert tilt is not None
    shares = [p * math.exp(-e) for p, e in zip(sample.shares, tilt, strict=True)]
    assert moments(sample.scores, shares)[0] == pytest.approx(0.5 + t, abs=1e-8)


@pytest.mark.parametrize("size", [5, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", [1, 7, 5550, 10**12])
def test_records_at_the_edge_end(size: int, model: Model, count: int) -> None:
    """Nothing but losses, ties or wins: a finite ratio of the right sign, and a verdict."""
    if model == "bayes" and size == 5:
        with raises(SprtError, "bayes-pairs"):
            judge([1] * size, Hypotheses(0, 20, model=model))
        return
    for cell, sign in ((0, -1), (size - 1, 1)):
        counts = [0] * size
        counts[cell] = count
        verdict = judge(counts, Hypotheses(0, 20, model=model))
        assert math.isfinite(verdict.llr) and verdict.llr * sign > 0
        assert count < 5550 or verdict.state == ("H1" if sign > 0 else "H0")
    counts = [0] * size
    counts[size // 2] = count
    assert judge(counts, Hypotheses(0, 20, model=model)).llr <= 0


def test_far_hypotheses_fall_back_to_the_closed_form() -> None:
    """Where the iteration finds no constrained distribution, the ratio is the approximation and not an error."""
    counts, hypotheses = [52, 0, 50, 14, 48], Hypotheses(0, 2000)
    sample = ScoreSample.of(counts)
    assert tilt_to_t(sample, hypotheses.elo1 * sample.t_per_nelo) is None
    t, (t0, t1) = (sample.mean - 0.5) / sample.variance**0.5, (e * sample.t_per_nelo for e in (0, 2000))
    expected = sample.total / 2 * math.log((1 + (t - t0) ** 2) / (1 + (t - t1) ** 2))
    assert judge(counts, hypotheses).llr == pytest.approx(expected)
    assert tilt_to_mean(ScoreSample.of([1, 2, 3]), 1.5) is None


def test_a_record_without_games_has_no_estimate() -> None:
    verdict = judge([0] * 5, GATE, cap=10)
    assert (verdict.llr, verdict.state, verdict.games) == (0, "continue", 0)
    assert effect([0] * 5) == Effect()
    assert {verdict.elo, verdict.los, verdict.worst_case, verdict.estimate, verdict.expected_left} == {None}


@pytest.mark.parametrize("pairs", [1, 2, 20, 500])
def test_a_clean_sweep_has_a_bound_and_nothing_else(pairs: int) -> None:
    """Clopper and Pearson: under the strength of the bound so many pairs are won with probability 5 %."""
    won, lost = judge([0, 0, 0, 0, pairs], GATE), judge([pairs, 0, 0, 0, 0], GATE)
    assert won.elo_low is not None and logistic(won.elo_low) ** pairs == pytest.approx(0.05)
    assert lost.elo_high == pytest.approx(-won.elo_low) and lost.elo_low is None
    for verdict in (won, lost):
        assert {verdict.elo, verdict.elo_error, verdict.nelo, verdict.nelo_error, verdict.los} == {None}
        assert {verdict.estimate, verdict.worst_case, verdict.expected_left} <= {None, 0.0}


@pytest.mark.parametrize(("pairs", "elo"), [(1, 759), (20, 59), (1000, 1.3)])
def test_pairs_that_are_all_even_bound_both_ways(pairs: int, elo: float) -> None:
    """Bots that repeat their games: no variance was seen, which does not mean that there is none."""
    even = effect([0, 0, pairs, 0, 0])
    assert (even.elo, even.nelo, even.los) == (0, None, None)
    assert even.elo_high == pytest.approx(elo, rel=0.02) and even.elo_low == pytest.approx(-elo, rel=0.02)


def test_intervals_hold_the_truth_where_the_normal_one_does_not_exist() -> None:
    """Almost clean sweeps, by their exact probabilities: at least 95 % at every strength and length."""
    for pairs in (3, 8, 30):
        for share in (0.5, 0.8, 0.9, 0.97, 0.995):
            truth, held = (1 + share) / 2, 0.0  # a pair is won twice, or once
            for won in range(pairs + 1):
                found = effect([0, 0, pairs - won, 0, won])
                low = logistic(-9999 if found.elo_low is None else found.elo_low)
                high = logistic(9999 if found.elo_high is None else found.elo_high)
                if found.elo_error is not None:
                    continue  # the normal distribution's business
                held += math.comb(pairs, won) * share**won * (1 - share) ** (pairs - won) * (not low <= truth <= high)
            assert held <= 0.05, (pairs, share, held)


def test_hoeffding_is_exact_for_a_clean_sweep() -> None:
    assert hoeffding(1.0, 20, 0.05)[0] == pytest.approx(0.05 ** (1 / 20))
    low, high = hoeffding(0.9, 50)
    assert low == pytest.approx(1 - hoeffding(0.1, 50)[1]) and 0.7 < low < 0.9 < high < 1


def test_the_cap_makes_it_inconclusive() -> None:
    counts = [10, 20, 40, 22, 12]
    assert judge(counts, GATE).state == "continue"
    verdict = judge(counts, GATE, cap=104)
    assert (verdict.state, verdict.expected_left) == ("inconclusive", 0)
    assert verdict.estimate is not None and verdict.estimate.elo is not None
    assert judge([34, 54, 63, 64, 75], GATE, cap=10).state == "H1", "what is decided is decided"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hypotheses(5, 5),
        lambda: Hypotheses(0, math.nan),
        lambda: Hypotheses(0, 5000),
        lambda: Hypotheses(0, 5, alpha=0),
        lambda: Hypotheses(0, 5, alpha=0.5, beta=0.5),
        lambda: Hypotheses(0, 5, alpha=math.nan),
        lambda: Hypotheses(0, 5, model="chess"),  # type: ignore[arg-type]
        lambda: ScoreSample.of([1, 2, 3, 4]),
        lambda: ScoreSample.of([1, 2, -3]),
    ],
)
def test_invalid_tests(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_scores_of_effects() -> None:
    sample = ScoreSample.of([96, 111, 136])
    assert score_of(0, sample, "logistic") == 0.5 and score_of(400, sample, "logistic") == pytest.approx(10 / 11)
    assert score_of(judge(sample.counts, GATE).nelo, sample, "normalized") == pytest.approx(sample.mean)  # type: ignore[arg-type]
    loss, _, win = sample.shares
    bayes = 200 * math.log10(win * (1 - loss) / (loss * (1 - win)))  # the sample's own BayesElo
    assert score_of(bayes, sample, "bayes") == pytest.approx(sample.mean)


def test_worst_case_is_that_of_the_formula() -> None:
    counts = [10, 200, 400, 220, 12]
    verdict, sample = judge(counts, Hypotheses(0, 5, model="logistic")), ScoreSample.of(counts)
    width = 1 / (1 + 10 ** (-5 / 400)) - 0.5
    assert verdict.worst_case == pytest.approx(2 * 8.67 * sample.variance / width**2, rel=1e-3)


# --- Brownian motion ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drift", [-30.0, -1.0, -1e-12, 0.0, 0.3, 2.0, 30.0])
def test_a_corridor_in_the_limits(drift: float) -> None:
    corridor = Corridor(-1, 1.5, drift, 0.8)
    assert corridor.worse(1e-9, 1.5) == pytest.approx(1, abs=1e-9), "nothing has stopped yet"
    assert corridor.worse(1e-9, -1) == pytest.approx(0, abs=1e-9)
    for time in (0.02, 0.2, 1, 5, 300):
        values = [corridor.worse(time, place) for place in (-1, -0.5, 0, 0.7, 1.5)]
        assert values == sorted(values) and values[0] >= 0 and values[-1] <= 1
        assert 1 - values[-1] <= corridor.ends_high() + 1e-9
    assert corridor.worse(300, 0) == pytest.approx(1 - corridor.ends_high(), abs=1e-9)
    assert corridor.worse(1e6, 0) == pytest.approx(1 - corridor.ends_high(), abs=1e-12)


def test_a_corridor_against_a_random_walk() -> None:
    """A fine walk (step √dt) is stopped low, stopped high and inside as often as the formulas say."""
    chance, corridor, steps = random.Random(5), Corridor(-1, 1.2, 0.25, 1.0), 900
    step, up = 1 / 30, (1 + 0.25 / 30) / 2  # 900 steps a unit of time
    runs, worse, high, times = 1200, 0, 0, 0.0
    for _ in range(runs):
        place, now, seen = 0, 0, None
        while -30 < place < 36:
            place += 1 if chance.random() < up else -1
            now += 1
            if now == steps:
                seen = place * step
        worse += (place <= -30) if seen is None or now <= steps else seen <= 0.1
        high += place >= 36
        times += now / steps
    spread = 3.5 * math.sqrt(0.25 / runs)
    assert worse / runs == pytest.approx(corridor.worse(1, 0.1), abs=spread + 0.02)
    assert high / runs == pytest.approx(corridor.ends_high(), abs=spread)
    assert times / runs == pytest.approx(corridor.time_left(), rel=0.1)


# --- simulations ---------------------------------------------------------------------------------------------------


def _simulate(shares: list[float], hypotheses: Hypotheses, chance: random.Random, every: int) -> Verdict:
    """Pairs until the test stops; it is asked after each `every` pairs, to be quick."""
    counts = [0] * 5
    while True:
        for cell in chance.choices(range(5), shares, k=every):
            counts[cell] += 1
        if hypotheses.lower < log_likelihood_ratio(counts, hypotheses) < hypotheses.upper:
            continue
        return judge(counts, hypotheses)


def _shares_at(nelo: float) -> list[float]:
    """A typical pentanomial distribution of this normalised Elo."""
    sample = ScoreSample.of([30, 180, 380, 180, 30])
    tilt = tilt_to_t(sample, nelo * sample.t_per_nelo)
    assert tilt is not None
    return [p * math.exp(-e) for p, e in zip(sample.shares, tilt, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize(("nelo", "wrong"), [(0, "H1"), (50, "H0")])
def test_error_rates(nelo: float, wrong: str) -> None:
    """Under either hypothesis of `big` the wrong one is accepted at most 5 % of the time (400 tests, +3 σ)."""
    chance, big = random.Random(7), PRESETS["big"]
    states = [_simulate(_shares_at(nelo), big, chance, every=4).state for _ in range(400)]
    assert states.count(wrong) / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("nelo", [0, 30, 60])
def test_the_estimate_after_a_stop_is_median_unbiased(nelo: float) -> None:
    """It is too high as often as too low; the plain one is too high much more often where H1 tends to be accepted."""
    chance, shares, big = random.Random(11), _shares_at(nelo), PRESETS["big"]
    truth = moments(ScoreSample.of([1] * 5).scores, shares)[0]
    elo, high, covered = 400 * math.log10(truth / (1 - truth)), 0, 0
    for _ in range(300):
        estimate = _simulate(shares, big, chance, every=1).estimate
        assert estimate is not None and estimate.elo is not None
        high += estimate.elo > elo
        covered += (estimate.low or -math.inf) < elo < (estimate.high or math.inf)
    assert high / 300 == pytest.approx(0.5, abs=0.1)
    assert covered / 300 > 0.91
