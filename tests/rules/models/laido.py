"""A second implementation of Laido: groups and their shortest chains are found anew each time."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations, zip_longest
from typing import Self

from tests.rules.models.hexagon import Cell, cells, name, names, near
from tests.rules.models.model import LETTER, PieModel, result


class LaidoModel(PieModel):
    """A position of Laido; `stones_at` maps the occupied points to colours."""

    def __init__(self, size: int = 9, pie: bool = True, half_point: str = "final") -> None:
        super().__init__(pie)
        self.size = size
        self.half_point = half_point
        self.stones_at: dict[Cell, str] = {}
        self.first_passer = ""  # of the whole game

    def copy(self) -> Self:
        """See Model.copy."""
        twin = super().copy()
        twin.stones_at = dict(self.stones_at)
        return twin

    def board(self) -> str:
        """Rows from the top."""
        return "".join(LETTER[self.stones_at[p]] if p in self.stones_at else "." for p in cells(self.size))

    def set_up(self, board: str, side: str = "black") -> None:
        """See Model.set_up; after the opening."""
        colours = {"X": "black", "O": "white"}
        self.stones_at = {p: colours[one] for p, one in zip(cells(self.size), board, strict=True) if one in colours}
        self.to_play, self.stage, self.found = side, "done", None

    def key(self) -> Hashable:
        """Board, options, side, phase, seats, passes, stage of the opening, who passed first."""
        stones = frozenset(self.stones_at.items())
        return ("laido", self.size, self.pie, self.half_point, stones, self.state(), self.holder())

    def stones(self) -> set[str]:
        """ "a stone on any empty point"."""
        return {name(p, self.size) for p in cells(self.size) if p not in self.stones_at}

    def place(self, move: str) -> None:
        """See PieModel.place."""
        self.stones_at[names(self.size)[move]] = self.to_play
        self.placed = [move]

    def apply(self, move: str) -> None:
        """See Model.apply; remembers who passed first."""
        if move == "pass" and not self.first_passer:
            self.first_passer = self.to_play
        super().apply(move)

    def holder(self) -> str:
        """ "½ for the player who made the first of the two final passes (`half_point=first`: of the first pass of the
        whole game)"; "" for neither yet."""
        if self.half_point == "first":
            return self.first_passer
        return self.passers[0] if self.passers else ""

    # --- the values -----------------------------------------------------------------------------------------------

    def groups(self, colour: str) -> list[set[Cell]]:
        """ "A group is a maximal connected set of one colour"."""
        left = {p for p, owner in self.stones_at.items() if owner == colour}
        found = []
        while left:
            group, ends = set(), [left.pop()]
            while ends:
                p = ends.pop()
                group.add(p)
                for q in near(self.size)[p]:
                    if q in left:
                        left.remove(q)
                        ends.append(q)
            found.append(group)
        return found

    def value(self, group: set[Cell]) -> int:
        """ "Value = p − (g − p) = 2p − g"; p is "the smallest number of stones on a chain inside the group joining two
        different edge stones of it (0 if it has fewer than two)"."""
        edge = [p for p in group if len(near(self.size)[p]) < 6]
        chains = [self.chain(group, one, two) for one, two in combinations(edge, 2)]
        return 2 * min(chains, default=0) - len(group)

    def chain(self, group: set[Cell], one: Cell, two: Cell) -> int:
        """How many stones the shortest chain from one to the other has, both of them included."""
        reached, stones = {one}, 1
        while two not in reached:
            reached |= {q for p in reached for q in near(self.size)[p] if q in group}
            stones += 1
        return stones

    def values(self, colour: str) -> list[int]:
        """ "Sort each side's values in descending order"."""
        return sorted((self.value(group) for group in self.groups(colour)), reverse=True)

    def standing(self) -> str:
        """ "pad the shorter list with zeros at its end, compare pair by pair. At the first difference the higher value
        wins: `B+d`, d = the difference. All equal: ½"."""
        for black, white in zip_longest(self.values("black"), self.values("white"), fillvalue=0):
            if black != white:
                return result(black, white)
        return {"black": "B+0.5", "white": "W+0.5", "": "0"}[self.holder()]

    def score_parts(self) -> dict[str, dict[str, float | list[int] | None]]:
        """Total null; the lists, and who holds the half point."""
        return {
            colour: {
                "total": None,
                "groups": self.values(colour),
                "half_point": 0.5 if self.holder() == colour else 0,
            }
            for colour in ("black", "white")
        }
