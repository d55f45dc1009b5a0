"""The sequential test between two versions: hypotheses, the log-likelihood ratio, the verdict and the estimates.

A generalised sequential probability ratio test (GSPRT) over pairs of games (same opening, seats exchanged), or over
single games where pairs are unknown. A caller that stops by the verdict must ask after complete pairs only, in the
order of the schedule. Effects are in Elo: logistic (score s = 1 / (1 + 10^(−Elo/400))), normalised
(nElo = (μ − ½) / σ of a game · 800 / ln 10), or, for `bayes`, BayesElo with the ties of the sample.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from ggp.protocol.errors import Problem

# -- The likelihood of a record of a sequential test under a fixed score or a fixed t value.


NELO_PER_T = 800 / math.log(10)  # normalised Elo for a t value of 1 in one game
EMPTY_CELL = 1e-3  # what stands for a count of 0: every likelihood stays finite
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class ScoreSample:
    """Counts of games (loss, tie, win) or of pairs (scores 0, ¼, ½, ¾, 1), worst first, as a distribution of scores.

    `total` games or pairs; `games` is the games in one of them; `scores` and `shares` per cell, no share being 0;
    `mean` and `variance` of one score. ValueError if there are not 3 or 5 counts, or one is negative.
    """

    counts: tuple[float, ...]
    total: float
    games: int
    scores: tuple[float, ...]
    shares: tuple[float, ...]
    mean: float
    variance: float

    @classmethod
    def of(cls, counts: Sequence[float]) -> "ScoreSample":
        """Return the distribution of 3 counts of games or 5 counts of pairs. Raises ValueError for others."""
        if len(counts) not in (3, 5) or min(counts) < 0:
            raise ValueError("a record is 3 counts of games or 5 of pairs, none negative")
        filled = [count or EMPTY_CELL for count in counts]
        total = math.fsum(filled)
        shares = tuple(count / total for count in filled)
        scores = tuple(cell / (len(counts) - 1) for cell in range(len(counts)))
        mean, variance = moments(scores, shares)
        return cls(tuple(counts), total, 1 if len(counts) == 3 else 2, scores, shares, mean, variance)

    @property
    def t_per_nelo(self) -> float:
        """Return the t value of one score for a normalised Elo of 1 (σ of a pair's mean is σ of a game / √2)."""
        return math.sqrt(self.games) / NELO_PER_T


def moments(values: Sequence[float], shares: Sequence[float]) -> tuple[float, float]:
    """Return mean and variance of a distribution."""
    mean = math.fsum(value * share for value, share in zip(values, shares, strict=True))
    return mean, math.fsum(share * (value - mean) ** 2 for value, share in zip(values, shares, strict=True))


def tilt_to_mean(sample: ScoreSample, mean: float) -> list[float] | None:
    """Return ln(share / likeliest share) of every cell if the mean score is fixed (proposition 1.1), or None."""
    return _tilt([score - mean for score in sample.scores], sample.shares)


def tilt_to_t(sample: ScoreSample, t: float) -> list[float] | None:
    """Return the same if (mean − ½) / σ is fixed, by the iteration of section 4.1; None if it finds none."""
    scores, likeliest = sample.scores, [1 / len(sample.scores)] * len(sample.scores)
    change = math.inf
    for _ in range(_ROUNDS):
        mean, variance = moments(scores, likeliest)
        if variance <= 0:
            return None
        sigma = math.sqrt(variance)
        tilt = _tilt([s - 0.5 - t * sigma * (1 + ((mean - s) / sigma) ** 2) / 2 for s in scores], sample.shares)
        if tilt is None:
            return None
        before, likeliest = likeliest, [p * math.exp(-e) for p, e in zip(sample.shares, tilt, strict=True)]
        last, change = change, max(abs(new - old) for new, old in zip(likeliest, before, strict=True))
        if last < 1e-6 and change >= last:  # as near as rounding lets it
            return tilt
    return None


def _tilt(values: Sequence[float], shares: Sequence[float]) -> list[float] | None:
    """Return ln(1 + xv) of every value v, x being the root of the secular equation Σ p·v / (1 + xv) = 0.

    None if all values have one sign: there is no root. Where the root is close to a pole −1/v the factors are taken
    from that pole, x = −1/v + d: a cell that hardly occurred keeps its digits.
    """
    least, most = min(values), max(values)
    if not least < 0 < most:
        return None
    upward = math.fsum(p * v for p, v in zip(shares, values, strict=True)) > 0  # the root is positive
    pole = least if upward else most
    rest = [(pole - value) / pole for value in values]

    def secular(d: float) -> tuple[float, float]:
        parts = [(p, v / (r + d * v)) for p, v, r in zip(shares, values, rest, strict=True)]
        return math.fsum(p * part for p, part in parts), -math.fsum(p * part * part for p, part in parts)

    d = _falling_root(secular, *((1 / least, 0.0) if upward else (0.0, 1 / most)))
    x = d - 1 / pole
    return [
        math.log1p(x * value) if abs(x * value) < 0.5 else math.log(kept + d * value)
        for value, kept in zip(values, rest, strict=True)
    ]


def _falling_root(function: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Return the root between `low` and `high`, one of them 0 and a pole, of a function that falls.

    `function` gives value and slope. Newton steps that stay inside the bracket; else halving, by magnitude where
    the root may be close to 0.
    """
    x = (low + high) / 2
    for _ in range(200):
        value, slope = function(x)
        if value == 0:
            break
        low, high = (x, high) if value > 0 else (low, x)
        step = x - value / slope
        if not low < step < high:
            step = (low + high) / 2 if low and high else (low + high) / 1024
        if abs(step - x) <= 1e-16 * abs(step) or not low < step < high:
            break
        x = step
    return x


Model = Literal["normalized", "logistic", "bayes"]
State = Literal["continue", "H0", "H1", "inconclusive"]
MODELS: tuple[Model, ...] = get_args(Model)
FARTHEST = 2000.0  # Elo
FEWEST_GAMES = 20  # with fewer, an Elo says more about the method than about the bots
Z95 = 1.959963984540054  # Φ(Z95) = 0.975


class SprtError(Problem, ValueError):
    """An invalid test: the message says what to change."""

    code = "bad-test"


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """H0: the effect is `elo0`; H1: it is `elo1`. `alpha` is the risk of taking H1 under H0, `beta` the reverse."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "normalized"

    def __post_init__(self) -> None:
        if not -FARTHEST <= self.elo0 < self.elo1 <= FARTHEST:
            raise SprtError(f"elo0 {self.elo0:g} must be less than elo1 {self.elo1:g}, both within ±{FARTHEST:g}")
        if not (min(self.alpha, self.beta) >= 1e-9 and self.alpha + self.beta < 1):
            raise SprtError(f"alpha {self.alpha:g} and beta {self.beta:g} must be above 0 and together below 1")
        if self.model not in MODELS:
            raise SprtError(f"model {self.model!r} is none of {', '.join(MODELS)}")

    @property
    def lower(self) -> float:
        """Return the LLR at or below which H0 is accepted (Wald)."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """Return the LLR at or above which H1 is accepted (Wald)."""
        return math.log((1 - self.beta) / self.alpha)


PRESETS = {
    "gate": Hypotheses(0, 20),  # is it better? the usual question to a change
    "simplify": Hypotheses(-15, 5),  # is it at least no worse? for code that goes away
    "big": Hypotheses(0, 50),  # a quick answer where much is expected
}


_NUMBER = r"[-+]?(?:[0-9.][-+.0-9e]*|nan|inf)?$"
TEST_WORD = re.compile(rf"(elo0|elo1|alpha|beta)={_NUMBER}|model=[a-z]+$")


def read_hypotheses(text: str) -> Hypotheses:
    """Read `elo0=0,elo1=5[,alpha=…,beta=…,model=…]`, with commas or blanks, or the name of a preset.

    Raises SprtError.
    """
    if text in PRESETS:
        return PRESETS[text]
    said = dict[str, str]()
    for word in re.split(r"[\s,]+", text.strip()):
        name, _, value = word.partition("=")
        if not TEST_WORD.match(word) or name in said:
            raise SprtError(
                f"cannot read {text[:80]!r}: write elo0=0 elo1=5, then alpha=0.05 beta=0.05 model={MODELS[0]} "
                f"if they differ, or one of {', '.join(PRESETS)}"
            )
        said[name] = value
    if "elo0" not in said or "elo1" not in said:
        raise SprtError("give both hypotheses, as in --sprt elo0=0 elo1=5")
    model = next((known for known in MODELS if known == said.get("model", MODELS[0])), None)
    if model is None:
        raise SprtError(f"model {said['model']!r} is none of {', '.join(MODELS)}")
    try:
        numbers = {name: float(value) for name, value in said.items() if name != "model"}
    except ValueError as error:
        raise SprtError(str(error)) from None
    return Hypotheses(**numbers, model=model)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Logistic Elo after a test with a stopping rule: the median-unbiased value and the ends of its 95 % interval.

    None where the record leaves an end open.
    """

    elo: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """The plain estimates of a record, as if it had been of fixed size. What the record does not tell is None.

    Elo is logistic. `elo_low` and `elo_high` are the ends of its 95 % interval; if everything was won or lost there is
    one end only, a one-sided 95 % bound, and no `elo`. Where the interval comes from the sample's variance
    `elo_error` is half of it, and only there are `nelo`, `nelo_error` and `los` known (see `_plain`).

    `enough`: whether the numbers are worth printing, which takes ten pairs, or twenty games, that did not all end
    alike.
    """

    elo: float | None = None
    elo_error: float | None = None
    elo_low: float | None = None
    elo_high: float | None = None
    nelo: float | None = None
    nelo_error: float | None = None
    los: float | None = None
    enough: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Effect):
    """The judgement of a record about the hypotheses, besides its plain estimates.

    `expected_left` and `worst_case` are games: what is still to be played on average at the measured strength (None:
    nothing is measured), and the mean length of the test halfway between the hypotheses. `estimate` is None if the
    record goes on far beyond the bound: then it was not stopped by this test; or if it has one outcome only.
    `repeated` games are not among the `games`, because they repeat others (see repeats).
    """

    llr: float
    lower: float
    upper: float
    state: State
    games: int
    expected_left: float | None
    worst_case: float | None
    estimate: Estimate | None
    repeated: int = 0


def judge(counts: Sequence[int], hypotheses: Hypotheses, cap: int | None = None) -> Verdict:
    """Judge counts of pairs (scores 0, ¼, ½, ¾, 1) or of games (loss, tie, win), worst first.

    `cap` is how many pairs or games are played at the most: an open test is then inconclusive. ValueError for
    counts that are no record, SprtError for pairs under `bayes`, which is a model of single games.
    """
    sample = ScoreSample.of(counts)
    played = sum(counts)
    steps, plain = _increments(sample, hypotheses), _plain(sample)
    llr = sample.total * steps.mean if played else 0.0
    state: State = "H1" if llr >= hypotheses.upper else "H0" if llr <= hypotheses.lower else "continue"
    left: float | None = 0.0
    varied = sum(map(bool, counts)) > 1
    if state == "continue" and cap is not None and played >= cap:
        state = "inconclusive"
    elif state == "continue":
        left = _time_left(steps, hypotheses, llr) if varied else None
    estimate = _estimate(sample, steps, hypotheses, llr) if varied and steps.stops_at(llr, hypotheses) else None
    if estimate is not None and plain.elo_error is None:  # the normal distribution's ends are too narrow
        estimate = Estimate(estimate.elo, plain.elo_low, plain.elo_high)
    return Verdict(
        llr=llr,
        lower=hypotheses.lower,
        upper=hypotheses.upper,
        state=state,
        **asdict(plain),
        games=played * sample.games,
        expected_left=None if left is None else left * sample.games,
        worst_case=_worst_case(sample, hypotheses) if varied else None,
        estimate=estimate,
    )


def effect(counts: Sequence[int]) -> Effect:
    """Return the plain estimates of a record, counted as for `judge`, where nothing is tested."""
    return _plain(ScoreSample.of(counts))


def log_likelihood_ratio(counts: Sequence[float], hypotheses: Hypotheses) -> float:
    """Return the LLR of H1 against H0, in natural units; cells of 0 count as 10⁻³."""
    sample = ScoreSample.of(counts)
    return sample.total * _increments(sample, hypotheses).mean


def score_of(nelo_or_elo: float, sample: ScoreSample, model: Model) -> float:
    """Return the mean score that an effect stands for, with the sample's spread or ties where the model needs them."""
    if model == "normalized":
        return 0.5 + nelo_or_elo * sample.t_per_nelo * math.sqrt(sample.variance)
    if model == "logistic":
        return 1 / (1 + 10 ** (-nelo_or_elo / 400))
    a, b, tie = _bayes_odds(sample, nelo_or_elo)
    return (1 / (1 + a)) + tie / ((1 + a) * (1 + b)) / 2


@dataclass(frozen=True, slots=True)
class _Increments:
    """The steps of the LLR per game or pair: mean, variance, rise with a better score, and the largest step."""

    mean: float
    variance: float
    slope: float
    largest: float

    def stops_at(self, llr: float, hypotheses: Hypotheses) -> bool:
        """Return whether a test that looks after every few scores can stand at `llr`: at less than twice its bound."""
        return 2 * hypotheses.lower - self.largest < llr < 2 * hypotheses.upper + self.largest


def _increments(sample: ScoreSample, hypotheses: Hypotheses) -> _Increments:
    if hypotheses.model == "bayes":
        steps: list[float] | None = _bayes_steps(sample, hypotheses)
    else:
        steps = _steps(sample, hypotheses)
    if steps is None:
        return _closed_form(sample, hypotheses)
    mean = math.fsum(p * step for p, step in zip(sample.shares, steps, strict=True))
    variance = math.fsum(p * (step - mean) ** 2 for p, step in zip(sample.shares, steps, strict=True))
    shift = zip(sample.shares, sample.scores, steps, strict=True)
    covariance = math.fsum(p * (score - sample.mean) * (step - mean) for p, score, step in shift)
    return _Increments(mean, variance, covariance / sample.variance, max(abs(step) for step in steps))


def _steps(sample: ScoreSample, hypotheses: Hypotheses) -> list[float] | None:
    """Return ln(likelihood under H1 / under H0) of each cell, by maximum likelihood under either, or None."""
    tilts = []
    for elo in (hypotheses.elo0, hypotheses.elo1):
        if hypotheses.model == "normalized":
            tilt = tilt_to_t(sample, elo * sample.t_per_nelo)
        else:
            tilt = tilt_to_mean(sample, score_of(elo, sample, "logistic"))
        if tilt is None:
            return None
        tilts.append(tilt)
    return [zero - one for zero, one in zip(*tilts, strict=True)]


def _bayes_steps(sample: ScoreSample, hypotheses: Hypotheses) -> list[float]:
    """Return the same for P(win) = 1 / (1 + a), P(loss) = 1 / (1 + b), P(tie) = (ab − 1) / ((1 + a)(1 + b)).

    ab depends on the sample's ties alone, so it cancels between the hypotheses.
    """
    (a0, b0, _), (a1, b1, _) = (_bayes_odds(sample, elo) for elo in (hypotheses.elo0, hypotheses.elo1))
    win, loss = math.log1p(a0) - math.log1p(a1), math.log1p(b0) - math.log1p(b1)
    return [loss, win + loss, win]


def _bayes_odds(sample: ScoreSample, elo: float) -> tuple[float, float, float]:
    """Return a = 10^((D − e)/400), b = 10^((D + e)/400), ab − 1; D = 200·log10[(1 − l)(1 − w) / (l·w)]."""
    if len(sample.shares) != 3:
        raise SprtError("the model bayes counts games, not pairs: give wins, ties and losses", code="bayes-pairs")
    loss, tie, win = sample.shares
    root = math.sqrt((tie + win) * (tie + loss) / (loss * win))
    return root * 10 ** (-elo / 400), root * 10 ** (elo / 400), tie / (loss * win)


def _closed_form(sample: ScoreSample, hypotheses: Hypotheses) -> _Increments:
    """Approximate the LLR of a score: ½·ln[(1 + (t − t0)²) / (1 + (t − t1)²)] ("Normalized Elo", section 4.2)."""
    sigma = math.sqrt(sample.variance)
    t = (sample.mean - 0.5) / sigma
    t0, t1 = ((score_of(e, sample, hypotheses.model) - 0.5) / sigma for e in (hypotheses.elo0, hypotheses.elo1))
    mean = math.log((1 + (t - t0) ** 2) / (1 + (t - t1) ** 2)) / 2
    return _Increments(mean, (t1 - t0) ** 2, (t1 - t0) / sigma, max(abs(mean), t1 - t0))


def _time_left(steps: _Increments, hypotheses: Hypotheses, llr: float) -> float | None:
    if steps.variance <= 0:
        return None
    return Corridor(hypotheses.lower, hypotheses.upper, steps.mean, steps.variance).time_left(llr)


def _worst_case(sample: ScoreSample, hypotheses: Hypotheses) -> float | None:
    """Return −lower·upper·Var / (s1 − s0)², in games: 8.67·Var / (s1 − s0)² pairs at 5 % and 5 %."""
    scores = [score_of(elo, sample, hypotheses.model) for elo in (hypotheses.elo0, hypotheses.elo1)]
    width = scores[1] - scores[0]
    if width <= 0:  # beyond what a score can say
        return None
    return -hypotheses.lower * hypotheses.upper * sample.variance / width**2 * sample.games


def _estimate(sample: ScoreSample, steps: _Increments, hypotheses: Hypotheses, llr: float) -> Estimate:
    """Return the effects under which an outcome no better than this has the probabilities ½, 97.5 % and 2.5 %.

    The LLR is taken as a Brownian motion whose drift depends on the effect and whose variance is the sample's. A
    test that overshot its bound counts as stopped where the straight way to the record crosses the bound.
    """
    place = min(max(llr, hypotheses.lower), hypotheses.upper)
    time = sample.total * (place / llr if llr else 1)
    if steps.variance <= 0 or steps.slope <= 0:
        return Estimate(_elo(sample.mean), None, None)

    def effect(probability: float) -> float | None:
        """Bisect: a higher drift makes an outcome no better than this less probable."""
        reach = 40 * (math.sqrt(steps.variance / time) + abs(steps.mean))
        low, high = steps.mean - reach, steps.mean + reach
        for _ in range(60):
            drift = (low + high) / 2
            corridor = Corridor(hypotheses.lower, hypotheses.upper, drift, steps.variance)
            low, high = (drift, high) if corridor.worse(time, place) > probability else (low, drift)
        return _elo(sample.mean + ((low + high) / 2 - steps.mean) / steps.slope)

    return Estimate(effect(0.5), effect(0.975), effect(0.025))


def _elo(score: float) -> float | None:
    """Return logistic Elo; None if it is not finite."""
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def _plain(sample: ScoreSample) -> Effect:
    """Estimate by the normal distribution, or by bounds that always hold where that is impossible.

    A record that has one outcome only tells no variance. If its N pairs (or games) all ended with the score s, the
    share of such pairs is at least α^(1/N) (binomial), so the mean score is at least α^(1/N)·s and at most that plus
    1 − α^(1/N): if everything was won, the one-sided bound α^(1/N) with α = 5 %. It also holds for a sequential test,
    for a clean sweep is the best of all outcomes. Where the normal interval is not inside 0 to 1 the ends are those
    of Hoeffding's inequality.
    """
    cells = [score for score, count in zip(sample.scores, sample.counts, strict=True) if count]
    if not cells:
        return Effect()
    played, mean = math.fsum(sample.counts), sample.mean
    enough = played * sample.games >= FEWEST_GAMES and len(cells) > 1
    if len(cells) == 1:
        (mean,) = cells
        share = (0.05 if mean in (0, 1) else 0.025) ** (1 / played)
        return Effect(_elo(mean), elo_low=_elo(share * mean), elo_high=_elo(1 - share * (1 - mean)))
    error = Z95 * math.sqrt(sample.variance / sample.total)
    low, high = _elo(mean - error), _elo(mean + error)
    if low is None or high is None:
        low, high = (_elo(end) for end in hoeffding(mean, played))
        return Effect(_elo(mean), elo_low=low, elo_high=high, enough=enough)
    return Effect(
        elo=_elo(mean),
        elo_error=(high - low) / 2,
        elo_low=low,
        elo_high=high,
        nelo=(mean - 0.5) / sample.variance**0.5 / sample.t_per_nelo,
        nelo_error=Z95 / math.sqrt(sample.total) / sample.t_per_nelo,
        los=phi((mean - 0.5) / math.sqrt(sample.variance / sample.total)),
        enough=enough,
    )


def hoeffding(mean: float, count: float, alpha: float = 0.025) -> tuple[float, float]:
    """Return the ends of an interval for the mean of `count` independent values within 0 to 1, α on either side.

    W. Hoeffding (1963), theorem 1: a sample mean as far off as `mean` has at most the probability e^(−count·D), D
    being the relative entropy of `mean` to the true mean. So the ends are where D = −ln α / count.
    """

    def entropy(true: float) -> float:
        parts = ((mean, true), (1 - mean, 1 - true))
        return math.fsum(p * math.log(p / q) for p, q in parts if p)

    def end(far: float) -> float:
        near = mean
        for _ in range(60):
            middle = (near + far) / 2
            near, far = (middle, far) if count * entropy(middle) < -math.log(alpha) else (near, middle)
        return (near + far) / 2

    return end(0.0), end(1.0)


# -- A Brownian motion between two barriers: the probability, place and time of its stop.


_SPREAD = 4.0  # widths of the corridor; e^(−π²·16/2) of the paths are then still inside


@dataclass(frozen=True, slots=True)
class Corridor:
    """Starts at 0, stops at `low` < 0 or `high` > 0; `drift` and `variance` > 0 for a unit of time."""

    low: float
    high: float
    drift: float
    variance: float

    def worse(self, time: float, place: float) -> float:
        """Return the probability of an outcome no better than being at `place` at `time`.

        Worst is stopping low early, then stopping low late, being lower or higher at `time`, stopping high late,
        and best stopping high early. With `place` = `high` the path has just stopped there, likewise `low`.
        """
        if self.variance * time > (_SPREAD * (self.high - self.low)) ** 2:
            return 1 - self.ends_high()
        return min(1.0, max(0.0, self._stopped_low(time) + self._inside(time, place)))

    def ends_high(self, start: float = 0.0) -> float:
        """Return the probability of stopping high in the end, from `start`."""
        rate = 2 * self.drift / self.variance
        up, width = start - self.low, self.high - self.low
        if abs(rate) * width < 1e-9:
            return up / width
        if rate > 0:
            return math.expm1(-rate * up) / math.expm1(-rate * width)
        return math.exp(rate * (width - up)) * math.expm1(rate * up) / math.expm1(rate * width)

    def time_left(self, start: float = 0.0) -> float:
        """Return the expected time until it stops, from `start`."""
        if abs(self.drift) * (self.high - self.low) < 1e-6 * self.variance:
            return (self.high - start) * (start - self.low) / self.variance
        return (self.low + (self.high - self.low) * self.ends_high(start) - start) / self.drift

    def _stopped_low(self, time: float) -> float:
        """Return the probability of having stopped low by `time`: the inverse Gaussian law of every image."""
        sigma, drift = math.sqrt(self.variance * time), abs(self.drift)
        gamma = self.drift / self.variance
        total = []
        for image in self._images(sigma):
            distance = 2 * image * (self.high - self.low) - self.low
            way = abs(distance)
            rate = abs(gamma) * way
            near = gamma * self.low - rate + _log_phi((drift * time - way) / sigma)
            far = gamma * self.low + rate + _log_phi((-drift * time - way) / sigma)
            total.append(math.copysign(math.exp(near) + math.exp(far), distance))
        return math.fsum(total)

    def _inside(self, time: float, place: float) -> float:
        """Return the probability of not having stopped by `time` and being no higher than `place`."""
        sigma, shift = math.sqrt(self.variance * time), self.drift * time
        gamma = self.drift / self.variance
        total = []
        for image in self._images(sigma):
            for sign, origin in ((1, 0.0), (-1, 2 * self.low)):
                source = origin + 2 * image * (self.high - self.low)
                ends = [(end - source - shift) / sigma for end in (self.low, place)]
                if ends[0] > 0:  # take the smaller tails: the difference keeps its digits
                    ends = [-ends[1], -ends[0]]
                upper, lower = (math.exp(gamma * source + _log_phi(end)) for end in reversed(ends))
                total.append(sign * (upper - lower))
        return math.fsum(total)

    def _images(self, sigma: float) -> range:
        """Return the images within nine standard deviations after all reflections."""
        far = math.ceil(4.5 * sigma / (self.high - self.low)) + 2
        return range(-far, far + 1)


def phi(x: float) -> float:
    """Return the normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _log_phi(x: float) -> float:
    """Return ln Φ(x), even if Φ is too small for a float (Mills' ratio)."""
    if x > -30:
        return math.log(phi(x))
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(-1 / (x * x) + 3 / x**4)
