"""Maximum matching in a graph (Edmonds, "Paths, trees, and flowers", 1965): as many pairs as can be. It weighs nothing.

Which of several maximum matchings it finds follows from where it starts and from the order of neighbours.
"""

from collections import deque
from collections.abc import Sequence

_NOBODY = -1


def matched(neighbours: Sequence[Sequence[int]], start: Sequence[int]) -> list[int]:
    """The partner of every vertex, -1 if it has none, with as many partners as can be.

    `start` is a matching to begin from: whoever has a partner there will have one. Edges go both ways.
    """
    search = _Search(neighbours, list(start))
    for vertex in range(len(neighbours)):
        if search.partner[vertex] == _NOBODY:
            search.augment(vertex)
    return search.partner


class _Search:
    """Alternating trees that grow breadth first; odd circles (blossoms) are shrunk into their base."""

    def __init__(self, neighbours: Sequence[Sequence[int]], partner: list[int]) -> None:
        self._neighbours, self.partner = neighbours, partner
        self._size = len(neighbours)

    def augment(self, root: int) -> bool:
        """Find a way from `root` to somebody alone and exchange the pairs along it; whether there is one."""
        self._parent, self._base = [_NOBODY] * self._size, list(range(self._size))
        self._even = [False] * self._size
        self._even[root], self._queue = True, deque([root])
        while self._queue:
            vertex = self._queue.popleft()
            for other in self._neighbours[vertex]:
                if self._base[vertex] == self._base[other] or self.partner[vertex] == other:
                    continue
                mate = self.partner[other]
                if other == root or (mate != _NOBODY and self._parent[mate] != _NOBODY):
                    self._shrink(vertex, other)
                elif self._parent[other] == _NOBODY:
                    self._parent[other] = vertex
                    if mate == _NOBODY:
                        self._exchange(other)
                        return True
                    self._even[mate] = True
                    self._queue.append(mate)
        return False

    def _exchange(self, end: int) -> None:
        while end != _NOBODY:
            before = self._parent[end]
            after = self.partner[before]
            self.partner[end], self.partner[before] = before, end
            end = after

    def _shrink(self, one: int, other: int) -> None:
        """The circle that the edge between these two closes becomes one vertex, and all of it is even."""
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
            if self.partner[one] == _NOBODY:
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
