"""Pairing without rounds: choose the pairs of bots whose games give the most information.

The first bot is drawn from a mixture (few games, large error, high upper confidence bound, anchors), its opponent with
weight p(1 − p) / (1 + n), where n counts the pairs of the two so far. The same arguments give the same batch.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, floor
from random import Random

import numpy as np

from ggp.referee.ladder.store.model import Format, FormatKind, Pairing, PoolEntry
from ggp.referee.ratings.bradley_terry import Floats, Ints
from ggp.referee.ratings.scale import ELO

FEW_GAMES, LARGE_ERROR, UPPER_CONFIDENCE, ANCHORS = 0.4, 0.3, 0.2, 0.1
_SIGMAS = 2.0  # of the upper confidence
_REACH = 100.0  # Elo by which it may be lower and still draws 1/e as much


@dataclass(frozen=True, slots=True)
class Field:
    """Who may be paired, and what is known of them; arrays in the order of `seats`.

    `elo` and `error` as rated; `rated`: pairs that the rating knows; `issued`: all pairs, pending ones too; `met`:
    the same between any two.
    """

    seats: Sequence[PoolEntry]
    elo: Floats
    error: Floats
    rated: Ints
    issued: Ints
    met: Ints


def version_numbers(seats: Sequence[PoolEntry]) -> Ints:
    """Return a number for each seat; those of one program, with equal versions, have the same."""
    return np.unique([seat.version for seat in seats], return_inverse=True)[1].reshape(-1)


def random_for(seed: int, name: str, batch: int) -> Random:
    """Return the random numbers of a batch: the same on any machine and version of Python."""
    digest = hashlib.sha256(f"{seed} {name} {batch}".encode()).digest()
    return Random(int.from_bytes(digest[:8]))


def most_pairs(share: float, size: int, bots: int) -> int:
    """Return in how many of a batch's pairs a bot may play: `share` of them, or 2/bots if that is more."""
    return min(size, max(floor(share * size), ceil(2 * size / bots)))


def draw_batch(field: Field, size: int, share: float, chance: Random) -> list[Pairing]:
    """Draw `size` pairs, in the order in which to play them. At least two of the seats must differ in version."""
    draw = _Draw(field, most_pairs(share, size, len(field.seats)))
    return [draw.pair(size - done, chance) for done in range(size)]


class _Draw:
    """A batch in the making: weights follow every pair that is drawn; `left` is what each bot may still play."""

    def __init__(self, field: Field, quota: int) -> None:
        self._ids = [seat.id for seat in field.seats]
        versions = version_numbers(field.seats)
        self._versions, self._alone = versions, np.bincount(versions)[versions] == len(versions)
        self._elo, self._error = field.elo, field.error
        self._issued, self._met = field.issued.astype(np.float64), field.met.copy()
        self._left = np.full(len(self._ids), quota, dtype=np.int64)
        self._known = 1.0 + field.rated
        anchors = np.array([seat.anchor is not None for seat in field.seats], dtype=np.float64)
        upper = field.elo + _SIGMAS * field.error
        self._fixed = UPPER_CONFIDENCE * _shares(np.exp((upper - upper.max()) / _REACH)) + ANCHORS * _shares(anchors)

    def pair(self, to_draw: int, chance: Random) -> Pairing:
        """Draw the next pair; `to_draw` pairs are missing, this one included."""
        while True:
            must, free = self._demands(to_draw)
            weights = self._weights() * (self._left > 0)
            found = self._try(weights, must, free, chance)
            if found is not None:
                break
            self._left += 1  # versions of one hash do not meet: some bot has to play more than the cap says
        one, other = found
        for bot in found:
            self._left[bot] -= 1
            self._issued[bot] += 1
        self._met[one, other] += 1
        self._met[other, one] += 1
        first, second = found if chance.random() < 0.5 else (other, one)
        return Pairing(self._ids[first], self._ids[second])

    def _try(self, weights: Floats, must: Ints, free: int, chance: Random) -> tuple[int, int] | None:
        """Draw a bot and its opponent, at most `free` of them not in `must`; None if no bot has an opponent."""
        while True:
            allowed = _only(weights, must) if free < 1 else weights
            if not allowed.any():
                return None
            one = _pick(allowed, chance)
            others = self._opponents(one)
            needed = _only(others, must) if free - (one not in must) < 1 else others
            if needed.any():
                return one, _pick(needed, chance)
            weights[one] = 0

    def _demands(self, to_draw: int) -> tuple[Ints, int]:
        """Return bots of which this pair must have some, so that the batch can be completed, and how many others.

        `to_draw` pairs can be drawn from what is left if Σ min(left, to_draw) ≥ 2 · to_draw. One pair fewer lowers
        that sum by one for each bot that has `to_draw` or more left, and for each other bot that is drawn.
        """
        full = np.flatnonzero(self._left >= to_draw)
        spare = int(np.minimum(self._left, to_draw).sum()) - 2 * to_draw
        return full, max(0, min(2, 2 + spare - len(full)))

    def _weights(self) -> Floats:
        """Return the weights of the mixture. Pairs that are issued count as if they had made errors smaller already."""
        few = 1 / (1 + self._issued)
        error = self._error * np.sqrt(np.minimum(1.0, self._known / (1 + self._issued)))
        weights = FEW_GAMES * _shares(few) + LARGE_ERROR * _shares(error) + self._fixed
        weights[self._alone] = 0
        return weights

    def _opponents(self, bot: int) -> Floats:
        odds = np.exp((self._elo - self._elo[bot]) / ELO)
        weights: Floats = odds / (1 + odds) ** 2 / (1 + self._met[bot])
        weights[(self._versions == self._versions[bot]) | (self._left <= 0)] = 0
        return weights


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else weights


def _only(weights: Floats, chosen: Ints) -> Floats:
    kept = np.zeros_like(weights)
    kept[chosen] = weights[chosen]
    return kept


def _pick(weights: Floats, chance: Random) -> int:
    """Draw an index by its weight. At least one weight must be above 0."""
    sums = np.cumsum(weights)
    found = int(np.searchsorted(sums, chance.random() * sums[-1], side="right"))
    return min(found, int(np.flatnonzero(weights)[-1]))  # rounding may point behind the last


# -- The formats that are known beforehand: round-robin, gauntlet and test.


LEAST, MOST = 16, 512  # pairs in a batch


def batch_size(format: Format, issued: int, bots: int) -> int:
    """Return the pairs of the next batch: as the format says, or an eighth of those so far and at least two a bot."""
    return format.batch or min(MOST, max(LEAST, 2 * bots, issued // 8))


def cycles(format: Format, seats: Sequence[PoolEntry], met: Ints, size: int) -> list[Pairing]:
    """Return up to `size` pairs of a round-robin or gauntlet: all that are due once come before any that is due again.

    So a bot that joins late catches up. Who plays the first game in seat 1 alternates from cycle to cycle. Versions
    of one program never meet. `met` is how often any two were paired.
    """
    one, other = _candidates(format, seats)
    times = met[one, other]
    order = np.lexsort((one, _circle(one, other, len(seats))))
    batch: list[Pairing] = []
    for cycle in range(int(times.min(initial=format.pairs)), format.pairs):
        due = order[times[order] <= cycle][: size - len(batch)]
        for i, j in zip(one[due].tolist(), other[due].tolist(), strict=True):
            first, second = (i, j) if (i + j + cycle) % 2 else (j, i)
            batch.append(Pairing(seats[first].id, seats[second].id))
        if len(batch) >= size:
            break
    return batch


def _candidates(format: Format, seats: Sequence[PoolEntry]) -> tuple[Ints, Ints]:
    """Return any two that are to meet, as places among the seats, the lower first."""
    one, other = np.triu_indices(len(seats), 1)
    versions = version_numbers(seats)
    meet = versions[one] != versions[other]
    if format.kind is FormatKind.GAUNTLET:
        named = np.array([seat.name in format.bots for seat in seats], dtype=bool)
        meet &= named[one] != named[other]
    return one[meet], other[meet]


def _circle(one: Ints, other: Ints, bots: int) -> Ints:
    """Return the round in which two meet by the circle method: no bot plays twice in a round."""
    rounds = bots - 1 + bots % 2
    return np.where(other == rounds, 2 * one, one + other) % max(1, rounds)


# -- How often two bots were paired, open pairs included.


class PairCounts:
    """Counts of pairs: between any two versions, and of each."""

    def __init__(self, met: Mapping[tuple[int, int], int]) -> None:
        self._met = dict(met)
        self._ids: list[int] = []
        self._table, self._each = self._tabled()

    def add(self, one: int, other: int, times: int = 1) -> None:
        """Count more pairs of these two."""
        two = (one, other) if one < other else (other, one)
        self._met[two] = self._met.get(two, 0) + times
        places = [self._places.get(id) for id in two]
        for place in places:
            if place is not None:
                self._each[place] += times
        low, high = places
        if low is not None and high is not None:
            self._table[low, high] += times
            self._table[high, low] += times

    def table(self, ids: Sequence[int]) -> tuple[Ints, Ints]:
        """Return the pairs between any two of the versions with these rising ids (symmetric), and all pairs of each.

        The latter count pairs with others too. A caller that keeps the arrays copies them: later pairs change them.
        """
        if list(ids) != self._ids:
            self._ids = list(ids)
            self._table, self._each = self._tabled()
        return self._table, self._each

    def _tabled(self) -> tuple[Ints, Ints]:
        self._places = {id: place for place, id in enumerate(self._ids)}
        count, size = len(self._met), len(self._ids)
        pairs = np.fromiter(chain.from_iterable(self._met), np.int64, 2 * count).reshape(-1, 2)
        times = np.fromiter(self._met.values(), np.int64, count)
        table, each = np.zeros((size, size), dtype=np.int64), np.zeros(size, dtype=np.int64)
        if not size:
            return table, each
        chosen = np.array(self._ids, dtype=np.int64)
        places = np.minimum(np.searchsorted(chosen, pairs), size - 1)
        here = chosen[places] == pairs
        for side in (0, 1):
            np.add.at(each, places[here[:, side], side], times[here[:, side]])
        low, high = places[here.all(axis=1)].T
        table[low, high] = table[high, low] = times[here.all(axis=1)]
        return table, each
