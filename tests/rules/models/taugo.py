"""A second implementation of Taugo: every move is found by walking over the board, point by point."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Self

from tests.rules.models.model import COLUMNS, LETTER, OTHER, PieModel, result

Point = tuple[int, int]  # column and row, from 0
STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


@lru_cache
def points(size: int) -> tuple[Point, ...]:
    """ "n×n array of points including the edge, four corners missing"; in the order of pictures."""
    ends = (0, size - 1)
    return tuple((x, y) for y in reversed(range(size)) for x in range(size) if not (x in ends and y in ends))


@lru_cache
def names(size: int) -> dict[str, Point]:
    """Canonical name -> point."""
    return {f"{COLUMNS[x]}{y + 1}": (x, y) for x, y in points(size)}


def name(p: Point) -> str:
    return f"{COLUMNS[p[0]]}{p[1] + 1}"


def is_edge(p: Point, size: int) -> bool:
    """ "Edge points: first/last row or column"."""
    return p[0] in (0, size - 1) or p[1] in (0, size - 1)


@lru_cache
def adjacent(size: int) -> dict[Point, frozenset[Point]]:
    """ "The edge lines do not exist: two edge points are never adjacent"."""
    on_board = set(points(size))
    return {
        (x, y): frozenset(
            q
            for dx, dy in STEPS
            if (q := (x + dx, y + dy)) in on_board and not (is_edge((x, y), size) and is_edge(q, size))
        )
        for x, y in on_board
    }


def triangle(k: int) -> int:
    """T(k) = k(k+1)/2."""
    return k * (k + 1) // 2


class TaugoModel(PieModel):
    """A position of Taugo; `stones_at` maps the occupied points to colours."""

    def __init__(self, size: int = 16, cut_from: str = "lateral", pie: bool = True) -> None:
        super().__init__(pie)
        self.size = size
        self.cut_from = cut_from
        self.stones_at: dict[Point, str] = {}

    def copy(self) -> Self:
        """See Model.copy."""
        twin = super().copy()
        twin.stones_at = dict(self.stones_at)
        return twin

    def board(self) -> str:
        """Rows from the top, `?` where the corners are missing."""
        known = set(points(self.size))
        return "".join(
            LETTER[self.stones_at[x, y]] if (x, y) in self.stones_at else "." if (x, y) in known else "?"
            for y in reversed(range(self.size))
            for x in range(self.size)
        )

    def set_up(self, board: str, side: str = "black") -> None:
        """See Model.set_up; after the opening."""
        square = [(x, y) for y in reversed(range(self.size)) for x in range(self.size)]
        colours = {"X": "black", "O": "white"}
        self.stones_at = {p: colours[letter] for p, letter in zip(square, board, strict=True) if letter in colours}
        self.to_play, self.stage, self.found = side, "done", None

    def key(self) -> Hashable:
        """Board, options, side, phase, seats, passes, stage of the opening."""
        return ("taugo", self.size, self.cut_from, self.pie, frozenset(self.stones_at.items()), self.state())

    # --- the turn -------------------------------------------------------------------------------------------------

    def stones(self) -> set[str]:
        """Every new stone and every run, as texts."""
        me = self.to_play
        inner_empty = [p for p in points(self.size) if p not in self.stones_at and not is_edge(p, self.size)]
        if self.stage == "first stone":
            return {name(p) for p in inner_empty}  # "the first black stone goes on any inner point"
        found = set()
        for p in inner_empty:
            # "new: one stone on an empty inner point with no adjacent friendly stone"
            if self.degree(p, me, self.stones_at) == 0 and not self.knots({**self.stones_at, p: me}, me):
                found.add(name(p))
        for f, colour in self.stones_at.items():
            if colour == me:
                for step in STEPS:
                    for run in self.runs(f, step):
                        after = self.stones_at | dict.fromkeys(run, me)
                        if not self.knots(after, me):  # "a turn that makes one is illegal"
                            found.add("+".join(map(name, run)))
        return found

    def runs(self, f: Point, step: Point) -> Iterator[list[Point]]:
        """ "grow: from a friendly stone f in an orthogonal direction, fill the successive points p1, p2, …, pk"; every
        place where one may stop."""
        me, enemy = self.to_play, OTHER[self.to_play]
        now = dict(self.stones_at)
        run: list[Point] = []
        behind = f
        while True:
            p = self.beyond(behind, step)
            block: list[Point] = []
            while p is not None and now.get(p) == enemy:
                block.append(p)
                p = self.beyond(p, step)
            if p is None or now.get(p) == me:
                return  # "a friendly stone ends the run (it is never passed)", and so does the end of the board
            if block:
                # "(i) the friendly stone right behind the block has degree exactly 1 at that moment"
                if self.cut_from == "lateral" and self.degree(behind, me, now) != 1:
                    return
                # "(ii) every stone of the block is central in the position before the turn"
                if any(self.degree(stone, enemy, self.stones_at) < 2 for stone in block):
                    return
                # "(iii) the point right after the block, the cut point, is empty": it is, see above
            elif is_edge(p, self.size):
                return  # "an empty edge point may not be filled except as a cut point"
            for filled in (*block, p):
                now[filled] = me
                run.append(filled)
            yield list(run)
            behind = p

    def beyond(self, p: Point, step: Point) -> Point | None:
        """The next adjacent point in a direction."""
        q = (p[0] + step[0], p[1] + step[1])
        return q if q in adjacent(self.size)[p] else None

    def degree(self, p: Point, colour: str, stones: dict[Point, str]) -> int:
        """ "The degree of a stone is the number of adjacent stones of its own colour"."""
        return sum(stones.get(q) == colour for q in adjacent(self.size)[p])

    def knots(self, stones: dict[Point, str], colour: str) -> bool:
        """ "A knot is a 2×2 square of points of the board in one colour, edge points included"."""
        mine = {p for p, owner in stones.items() if owner == colour}
        return any({(x + 1, y), (x, y + 1), (x + 1, y + 1)} <= mine for x, y in mine)

    def place(self, move: str) -> None:
        """See PieModel.place."""
        for word in move.split("+"):
            p = names(self.size)[word]
            if p in self.stones_at:
                self.taken[self.stones_at[p]] += 1
            self.stones_at[p] = self.to_play
            self.placed.append(word)

    # --- the score ------------------------------------------------------------------------------------------------

    def strings(self, colour: str) -> list[set[Point]]:
        """ "A string is a maximal connected set of one colour"."""
        left = {p for p, owner in self.stones_at.items() if owner == colour}
        found = []
        while left:
            string, ends = set(), [left.pop()]
            while ends:
                p = ends.pop()
                string.add(p)
                near = adjacent(self.size)[p] & left
                left -= near
                ends += near
            found.append(string)
        return found

    def score_parts(self) -> dict[str, dict[str, float | list[int] | None]]:
        """ "Σ over own strings of T(number of its perimeter stones) + T(number of own edge stones, all strings pooled)
        + ½ for strictly fewer strings than the opponent"."""
        found: dict[str, dict[str, float | list[int] | None]] = {}
        for colour in ("black", "white"):
            strings = self.strings(colour)
            values = [triangle(sum(self.is_perimeter(p) for p in string)) for string in strings]
            edge = triangle(sum(is_edge(p, self.size) for string in strings for p in string))
            half = 0.5 if len(strings) < len(self.strings(OTHER[colour])) else 0
            found[colour] = {
                "total": sum(values) + edge + half,
                "string_points": sum(values),
                "edge_points": edge,
                "fewer_strings": half,
                "string_values": sorted(values, reverse=True),
            }
        return found

    def is_perimeter(self, p: Point) -> bool:
        """ "Perimeter points: inner points next to the edge"."""
        return not is_edge(p, self.size) and any(is_edge(q, self.size) for q in adjacent(self.size)[p])

    def standing(self) -> str:
        """ "Equal totals: draw `0`"."""
        parts = self.score_parts()
        black, white = parts["black"]["total"], parts["white"]["total"]
        assert isinstance(black, int | float) and isinstance(white, int | float)
        return result(black, white)
