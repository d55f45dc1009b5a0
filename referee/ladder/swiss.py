"""Pair a round of a Swiss tournament: bots with equal points meet, and no two meet again while that can be avoided.

Within a group of equal points the upper half meets the lower half, in an order drawn by lot; a bot without an opponent
there floats to the nearest group. With an odd number the lowest bot that had no bye gets one.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from ggp.referee.ratings.bradley_terry import Floats, Ints

Flags = NDArray[np.bool_]
NO_PARTNER = -1
_POINT = 1e3  # what a point of difference costs beside a place, squared
_BYE = 1e4  # what the bye of a higher one costs beside a worse pair
_AGAIN = 1e15  # what a second meeting costs beside all else
_SWEEPS = 20


@dataclass(frozen=True, slots=True)
class SwissTable:
    """The state before a round, as arrays by player. Equal `versions` never meet; `met` counts meetings of any two."""

    points: Floats
    byes: Ints
    versions: Ints
    met: Ints


def pair_round(table: SwissTable, chance: Random) -> list[tuple[int, int]]:
    """Return the pairs, the highest first. A bot in none of them has a bye."""
    size = len(table.points)
    lot = [chance.random() for _ in range(size)]
    ranked = sorted(range(size), key=lambda player: (-table.points[player], lot[player]))
    odd = size % 2 == 1
    again, allowed = _meetings(table, ranked, odd)
    cost = _cost(table.points[ranked], odd) + _AGAIN * again
    partner = _improved(_any_pairs(cost, again, allowed, odd), np.where(allowed, cost, np.inf))
    pairs = [(one, other) for one, other in enumerate(partner) if one < other < size]
    return [(ranked[one], ranked[other]) for one, other in pairs]


def _meetings(table: SwissTable, ranked: Sequence[int], odd: bool) -> tuple[Ints, Flags]:
    """Return by rank how often two have met, and whether they may; the bye is one more player that all may meet."""
    size = len(ranked) + odd
    again, allowed = np.zeros((size, size), dtype=np.int64), np.ones((size, size), dtype=bool)
    order, versions = np.ix_(ranked, ranked), table.versions[list(ranked)]
    again[: len(ranked), : len(ranked)] = table.met[order]
    allowed[: len(ranked), : len(ranked)] = versions[:, None] != versions[None, :]
    if odd:
        again[-1, :-1] = again[:-1, -1] = table.byes[list(ranked)] - table.byes.min()
    np.fill_diagonal(allowed, False)
    return again, allowed


def _cost(points: Floats, odd: bool) -> Floats:
    """Return by rank what a pair costs: its distance in points, then its distance from half a group."""
    size = len(points)
    places = np.arange(size)
    apart = np.abs(places[:, None] - places[None, :])
    gap = points[:, None] - points[None, :]
    group = (gap == 0).sum(axis=1)
    cost = _POINT * gap**2 + np.where(gap == 0, np.abs(apart - group[:, None] / 2), apart)
    if not odd:
        return np.asarray(cost, dtype=np.float64)
    bye = _BYE * (_POINT * (points - points[-1]) ** 2 + size - places)
    whole = np.zeros((size + 1, size + 1))
    whole[:size, :size] = cost
    whole[-1, :-1] = whole[:-1, -1] = bye
    return whole


def _any_pairs(cost: Floats, again: Ints, allowed: Flags, odd: bool) -> list[int]:
    """Match as many players as possible without a second meeting, then as many with one, and so on; nearest first."""
    size = len(cost)
    partner = [NO_PARTNER] * size
    for most in np.unique(again).tolist():
        alone = [player for player in range(size) if partner[player] == NO_PARTNER]
        if not alone:
            break
        edges = (allowed & (again <= most))[np.ix_(alone, alone)]
        order = np.argsort(cost[np.ix_(alone, alone)], axis=1, kind="stable")
        neighbours = [row[edges[player, row]].tolist() for player, row in enumerate(order)]
        for player, other in enumerate(matched(neighbours, _greedy(neighbours, odd and not most))):
            if other != NO_PARTNER:
                partner[alone[player]] = alone[other]
    return partner


def _greedy(neighbours: Sequence[Sequence[int]], odd: bool) -> list[int]:
    """Match each player with the nearest free one, from the top, but first the bye, which is the last, if any."""
    last = len(neighbours) - 1
    partner = [NO_PARTNER] * len(neighbours)
    for player in [last, *range(last)] if odd else range(last + 1):
        if partner[player] == NO_PARTNER:
            other = next((one for one in neighbours[player] if partner[one] == NO_PARTNER), NO_PARTNER)
            if other != NO_PARTNER:
                partner[player], partner[other] = other, player
    return partner


def _improved(partner: list[int], cost: Floats) -> list[int]:
    """Let two pairs exchange partners wherever that lowers the cost, until it never does."""
    pairs = np.array([(one, other) for one, other in enumerate(partner) if one < other], dtype=np.int64).reshape(-1, 2)
    for _ in range(_SWEEPS):
        changed = False
        for index in range(len(pairs)):
            one, other = pairs[index]
            left, right = pairs[:, 0], pairs[:, 1]
            now = cost[one, other] + cost[left, right]
            straight = cost[one, left] + cost[other, right] - now
            crossed = cost[one, right] + cost[other, left] - now
            straight[index] = crossed[index] = 0
            best = int(np.argmin(np.minimum(straight, crossed)))
            if min(straight[best], crossed[best]) >= -1e-6:
                continue
            third, fourth = pairs[best]
            new = (
                ((one, third), (other, fourth)) if straight[best] <= crossed[best] else ((one, fourth), (other, third))
            )
            pairs[index], pairs[best] = sorted(new[0]), sorted(new[1])
            changed = True
        if not changed:
            break
    result = [NO_PARTNER] * len(partner)
    for one, other in pairs.tolist():
        result[one], result[other] = other, one
    return result


# -- Maximum matching in a graph (Edmonds, "Paths, trees, and flowers", 1965).


def matched(neighbours: Sequence[Sequence[int]], start: Sequence[int]) -> list[int]:
    """Return a maximum matching: the partner of every vertex, or -1.

    A vertex with a partner in the matching `start` will have one. Edges go both ways.
    """
    search = _Search(neighbours, list(start))
    for vertex in range(len(neighbours)):
        if search.partner[vertex] == NO_PARTNER:
            search.augment(vertex)
    return search.partner


class _Search:
    """Alternating trees that grow breadth first; odd circles (blossoms) are shrunk into their base."""

    def __init__(self, neighbours: Sequence[Sequence[int]], partner: list[int]) -> None:
        self._neighbours, self.partner = neighbours, partner
        self._size = len(neighbours)

    def augment(self, root: int) -> bool:
        """Find an augmenting path from `root` and exchange the pairs along it. Return False if there is none."""
        self._parent, self._base = [NO_PARTNER] * self._size, list(range(self._size))
        self._even = [False] * self._size
        self._even[root], self._queue = True, deque([root])
        while self._queue:
            vertex = self._queue.popleft()
            for other in self._neighbours[vertex]:
                if self._base[vertex] == self._base[other] or self.partner[vertex] == other:
                    continue
                mate = self.partner[other]
                if other == root or (mate != NO_PARTNER and self._parent[mate] != NO_PARTNER):
                    self._shrink(vertex, other)
                elif self._parent[other] == NO_PARTNER:
                    self._parent[other] = vertex
                    if mate == NO_PARTNER:
                        self._exchange(other)
                        return True
                    self._even[mate] = True
                    self._queue.append(mate)
        return False

    def _exchange(self, end: int) -> None:
        while end != NO_PARTNER:
            before = self._parent[end]
            after = self.partner[before]
            self.partner[end], self.partner[before] = before, end
            end = after

    def _shrink(self, one: int, other: int) -> None:
        """Shrink the circle that the edge between these two closes into one even vertex."""
        base = self._common_base(one, other)
        inside = [False] * self._size
        self._mark(one, base, other, inside)
        self._mark(other, base, one, inside)
        for vertex in range(self._size):
            if inside[self._base[vertex]]:
                self._base[vertex] = base
                if not self._even[vertex]:
                    self._even[vertex] = True
                    self._queue.append(vertex)

    def _common_base(self, one: int, other: int) -> int:
        seen = [False] * self._size
        while True:
            one = self._base[one]
            seen[one] = True
            if self.partner[one] == NO_PARTNER:
                break
            one = self._parent[self.partner[one]]
        while not seen[self._base[other]]:
            other = self._parent[self.partner[self._base[other]]]
        return self._base[other]

    def _mark(self, vertex: int, base: int, child: int, inside: list[bool]) -> None:
        while self._base[vertex] != base:
            mate = self.partner[vertex]
            inside[self._base[vertex]] = inside[self._base[mate]] = True
            self._parent[vertex] = child
            child = mate
            vertex = self._parent[mate]
