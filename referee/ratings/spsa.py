"""Tuning of parameters by SPSA (simultaneous perturbation stochastic approximation): numbers in, numbers out.

An iteration is a pair of games between two sets of values, θ + cδ and θ - cδ, with a random sign δ for each parameter.
Gains as in Spall 1998, "Implementation of the simultaneous perturbation algorithm", given by their last values as in
Fishtest: c_k = c (k + 1)^-γ and a_k = a (A + k + 1)^-α, with `step` the last c_k and `rate` the last a_k / c_k².

Several chains of iterations begin from the same values and know nothing of each other. The tuned values are the mean of
where they end, and the error is taken from how far apart they end.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from random import Random

ALPHA, GAMMA, STABILITY = 0.602, 0.101, 0.1
RATE = 40.0  # divided by the iterations of a chain: it then reaches an optimum that is a few steps away
FASTEST = 0.4  # faster, a few games carry it away
Values = tuple[float, ...]  # one for each parameter

# Student's t for 95 %, by degrees of freedom from 1.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
# And for 80 %.
_T80 = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341)
MOST_CHAINS = len(_T95) + 1
_FEWEST_TURNS = 20  # iterations of a chain; before, chance moves it more than the results do


@dataclass(frozen=True, slots=True)
class Parameter:
    """`low` ≤ `start` ≤ `high`; `step` above 0 is how far a value is moved to both sides in the last iteration.

    A `whole` one has whole bounds and is rounded at random to one of its two neighbours.
    """

    name: str
    start: float
    low: float
    high: float
    step: float
    whole: bool = False


@dataclass(frozen=True)
class TunePlan:
    """The plan of a tune: with the seed and the results it decides which values are played.

    Each chain has `length` iterations. Iterations of all chains in turn come in batches of `batch`; those of a batch
    begin from the values after all batches but the last one. `stability` is A as a part of the length.
    """

    parameters: tuple[Parameter, ...]
    length: int
    chains: int
    batch: int
    rate: float
    alpha: float = ALPHA
    gamma: float = GAMMA
    stability: float = STABILITY

    @property
    def iterations(self) -> int:
        """Return the number of iterations of all chains."""
        return self.length * self.chains

    @property
    def start(self) -> Values:
        """Return the values at the start."""
        return tuple(one.start for one in self.parameters)

    @property
    def digest(self) -> str:
        """Return a hash of the plan."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()

    def reach(self, turn: int) -> Values:
        """Return c_k of each parameter; `turn` is k, from 0. Turns beyond the length are as the last one."""
        grown: float = (self.length / (min(turn, self.length - 1) + 1)) ** self.gamma
        return tuple(one.step * grown for one in self.parameters)

    def gain(self, turn: int) -> float:
        """Return a_k / c_k², the same for all parameters. Turns beyond the length are as the last one."""
        turn = min(turn, self.length - 1)
        offset = self.stability * self.length
        shrunk: float = ((offset + self.length) / (offset + turn + 1)) ** self.alpha
        grown: float = ((turn + 1) / self.length) ** (2 * self.gamma)
        return self.rate * shrunk * grown

    def extremes(self) -> list[Values]:
        """Return the values at the start, and with each parameter at each of its bounds."""
        bounds = [(at, bound) for at, one in enumerate(self.parameters) for bound in (one.low, one.high)]
        return [self.start, *((*self.start[:at], bound, *self.start[at + 1 :]) for at, bound in bounds)]

    def playable(self, values: Values) -> Values:
        """Return values as a bot gets them outside of an iteration, whole ones rounded."""
        return tuple(
            float(math.floor(value + 0.5)) if one.whole else value
            for one, value in zip(self.parameters, values, strict=True)
        )

    def words(self, values: Values) -> dict[str, str]:
        """Return values by name as they stand in a command line."""
        return {one.name: written(value) for one, value in zip(self.parameters, values, strict=True)}


def written(value: float) -> str:
    """Write a value with six significant digits, never with an exponent."""
    digits = 5 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:z.{min(max(digits, 0), 20)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")  # where the value of a parameter stands in a command


def is_filled(text: str, template: str) -> bool:
    """Return whether a text may be the template with numbers in place of its fields."""
    fixed = FIELD.sub("{}", template).split("{}")
    return re.fullmatch(r"-?[0-9.]+".join(map(re.escape, fixed)), text) is not None


# -- One iteration.


@dataclass(frozen=True, slots=True)
class Probe:
    """An iteration: two sets of values, and the sign of each parameter in the first."""

    signs: tuple[int, ...]
    plus: Values
    minus: Values


def probe(plan: TunePlan, iteration: int, centre: Values, seed: str) -> Probe:
    """Return the two sets around `centre`. Chance follows from the seed and the number of the iteration alone.

    Both sets are rounded by the same draw, so that neither is rounded against the other.
    """
    digest = hashlib.sha256(f"{seed} spsa {iteration}".encode()).digest()
    chance = Random(int.from_bytes(digest[:8]))
    signs, plus, minus = list[int](), list[float](), list[float]()
    reaches = plan.reach(iteration // plan.chains)
    for one, value, reach in zip(plan.parameters, centre, reaches, strict=True):
        sign, fraction = (1 if chance.random() < 0.5 else -1), chance.random()
        signs.append(sign)
        for side, values in ((sign, plus), (-sign, minus)):
            shifted = min(one.high, max(one.low, value + side * reach))
            values.append(float(math.floor(shifted + fraction)) if one.whole else shifted)
    return Probe(tuple(signs), tuple(plus), tuple(minus))


def moved(plan: TunePlan, iteration: int, centre: Values, signs: Sequence[int], result: float) -> Values:
    """Return the values after an iteration whose first set won `result` games more than it lost, -2 to 2."""
    turn = iteration // plan.chains
    gain = plan.gain(turn) * result
    return tuple(
        min(one.high, max(one.low, value + gain * reach * sign))
        for one, value, reach, sign in zip(plan.parameters, centre, plan.reach(turn), signs, strict=True)
    )


# -- A tune as it is played.


@dataclass(frozen=True, slots=True)
class TunedValue:
    """The mean of a parameter over the chains, and half of its 95 % interval, which is None with a single chain."""

    value: float
    half: float | None


class Tuning:
    """Iterations by the numbers of their pairs, which rise; results may come in any order.

    Values are a function of plan, seed and results, so a tune that is read again from what is stored goes on with the
    same ones.
    """

    def __init__(self, plan: TunePlan, seed: str) -> None:
        self.plan, self._seed = plan, seed
        self._centres = [plan.start] * plan.chains  # after the first `_folded` iterations
        self._folded = 0
        self._numbers: list[int] = []  # of the pairs, by iteration
        self._places: dict[int, int] = {}
        self._probes: list[Probe] = []
        self._results: dict[int, float | None] = {}  # by the number of the pair
        self._lost: set[int] = set()  # numbers of pairs in whose place others are played
        self.history: list[tuple[int, Values]] = [(0, plan.start)]  # iterations, and the mean of the chains after them
        self._trail: list[tuple[int, list[Values]]] = [(0, self._centres)]  # iterations, and the chains after them

    def offer(self, number: int, result: float | None) -> None:
        """Take the result of a pair: games won less games lost by its first set, None if it says nothing."""
        self._results[number] = result
        self._lost.discard(number)

    def lose(self, number: int) -> None:
        """Have another iteration played in place of this pair, which was withdrawn."""
        if number not in self._results:
            self._results[number] = None
            self._lost.add(number)

    def add(self, numbers: Iterable[int]) -> None:
        """Append pairs that were issued, in order. All results before the last batch must have been offered."""
        for number in numbers:
            iteration = len(self._numbers)
            if iteration % self.plan.batch == 0:
                self._fold(iteration - self.plan.batch)
            centre = self._centres[iteration % self.plan.chains]
            self._numbers.append(number)
            self._places[number] = iteration
            self._probes.append(probe(self.plan, iteration, centre, self._seed))

    def probe_of(self, number: int) -> Probe:
        """Return what that pair plays."""
        return self._probes[self._places[number]]

    def next_size(self) -> int:
        """Return how many pairs the next batch has; 0 if all were issued."""
        issued, wanted = len(self._numbers), self.plan.iterations + len(self._lost)
        return min(wanted - issued, self.plan.batch - issued % self.plan.batch)

    @property
    def issued(self) -> int:
        """Return the number of iterations that were issued."""
        return len(self._numbers)

    @property
    def known(self) -> int:
        """Return the number of iterations whose result is known."""
        return len(self._results) - len(self._lost)

    @property
    def silent(self) -> int:
        """Return the number of iterations without a result, which moved nothing."""
        return sum(result is None for result in self._results.values()) - len(self._lost)

    @property
    def finished(self) -> bool:
        """Return whether all iterations are played."""
        return self.known >= self.plan.iterations

    def estimates(self) -> tuple[TunedValue, ...]:
        """Return the values after all iterations before which no result is missing."""
        return estimates(self._after(self._whole))

    @property
    def settled(self) -> bool:
        """Return whether the chains have stopped moving, so that their spread is the error of the values."""
        played = self._whole
        half = max((one for one in self._trail if one[0] <= played // 2), key=lambda one: one[0])
        enough = played >= max(_FEWEST_TURNS * self.plan.chains, self.plan.iterations // 4)
        return enough and have_settled(half[1], self._after(played))

    @property
    def _whole(self) -> int:
        """Return the number of iterations before which no result is missing."""
        missing = (at for at in range(self._folded, self.issued) if self._numbers[at] not in self._results)
        return next(missing, self.issued)

    @property
    def tuned(self) -> Values:
        """Return the estimates as a bot gets them."""
        return self.plan.playable(tuple(one.value for one in self.estimates()))

    def _fold(self, upto: int) -> None:
        """Apply the results of the iterations below this one to the chains."""
        if upto > self._folded:
            self._centres, self._folded = self._after(upto), upto
            self.history.append((upto, tuple(one.value for one in estimates(self._centres))))
            self._trail.append((upto, self._centres))

    def _after(self, upto: int) -> list[Values]:
        """Return where the chains are after so many iterations."""
        centres = list(self._centres)
        for iteration in range(self._folded, upto):
            result = self._results[self._numbers[iteration]]
            if result is not None:
                chain, signs = iteration % self.plan.chains, self._probes[iteration].signs
                centres[chain] = moved(self.plan, iteration, centres[chain], signs, result)
        return centres


def have_settled(before: Sequence[Values], now: Sequence[Values]) -> bool:
    """Return whether chains have stopped moving together since half of their iterations, when they were at `before`.

    Chains that still climb go the same way, so the mean of their movements is far from 0 for its standard error. The
    test is Student's t at 20 %, because it is worse to overlook a movement than to wait. A movement that no error hides
    but that is larger than the interval of the values is one, too. A single chain never tells.
    """
    if len(now) < 2:
        return False
    for place, found in enumerate(estimates(now)):
        moved_by = [end[place] - start[place] for start, end in zip(before, now, strict=True)]
        mean = math.fsum(moved_by) / len(now)
        variance = math.fsum((one - mean) ** 2 for one in moved_by) / (len(now) - 1)
        if abs(mean) > _T80[len(now) - 2] * math.sqrt(variance / len(now)) or abs(mean) > (found.half or 0.0):
            return False
    return True


def estimates(ends: Sequence[Values]) -> tuple[TunedValue, ...]:
    """Return the mean of the places where chains are, with the interval of Student's t."""
    number = len(ends)
    found = []
    for values in zip(*ends, strict=True):
        mean = math.fsum(values) / number
        if number == 1:
            found.append(TunedValue(mean, None))
            continue
        variance = math.fsum((value - mean) ** 2 for value in values) / (number - 1)
        found.append(TunedValue(mean, _T95[number - 2] * math.sqrt(variance / number)))
    return tuple(found)
