"""A second implementation of Taigo: tiles and cones in a dict over the unbounded lattice."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from functools import lru_cache
from itertools import combinations, product
from typing import Self

from tests.rules.models.hexagon import STEPS, Cell
from tests.rules.models.model import OTHER, Model

AXES = ((1, 0), (0, 1), (1, -1))
MOVE = re.compile(r"(C)/(C)((?:\+[dl]:C)*)".replace("C", r"-?\d{1,9},-?\d{1,9}"))
FIVE = 5


@lru_cache(maxsize=100_000)
def neighbours(cell: Cell) -> list[Cell]:
    return [(cell[0] + q, cell[1] + r) for q, r in STEPS]


class TaigoModel(Model):
    """A position of Taigo; `cells` maps occupied cells to `X O` (tile halves) or `x o` (cones), dark and light."""

    def __init__(self, dark_cones: int = 5, light_cones: int = 5, tiles: int = 40) -> None:
        super().__init__()
        self.options = (dark_cones, light_cones, tiles)
        self.cones = {"d": dark_cones, "l": light_cones}
        self.tiles_left = tiles - 1  # "the first lies at the start"
        self.cells = {(0, 0): "X", (1, 0): "O"}  # "Dark on `0,0`, Light on `1,0`"

    def copy(self) -> Self:
        """See Model.copy."""
        twin = super().copy()
        twin.cells, twin.cones = dict(self.cells), dict(self.cones)
        return twin

    def board(self) -> str:
        """The occupied cells in ascending order."""
        return " ".join(f"{q},{r}={piece}" for (q, r), piece in sorted(self.cells.items()))

    def set_up(self, board: str, side: str = "black") -> None:
        """See Model.set_up; the supply stays as the options say."""
        self.cells = {}
        for word in board.split():
            place, _, piece = word.partition("=")
            q, r = place.split(",")
            self.cells[int(q), int(r)] = piece
        self.to_play, self.found = side, None

    def key(self) -> Hashable:
        """The colours of the cells, options, supply, tiles left, side, phase and result."""
        colours = frozenset((cell, piece.upper()) for cell, piece in self.cells.items())
        left = (self.cones["d"], self.cones["l"], self.tiles_left)
        return ("taigo", self.options, colours, left, self.to_play, self.phase, self.result)

    # --- the turn -------------------------------------------------------------------------------------------------

    def placements(self) -> Iterator[tuple[Cell, Cell]]:
        """ "put a tile on two adjacent empty cells, either way round, at least one of them adjacent to an occupied
        cell"; dark cell, light cell."""
        frontier = {near for cell in self.cells for near in neighbours(cell) if near not in self.cells}
        pairs = {frozenset((one, two)) for one in frontier for two in neighbours(one) if two not in self.cells}
        for pair in pairs:
            one, two = pair
            yield one, two
            yield two, one

    def holes(self, dark: Cell, light: Cell, tight: list[Cell]) -> list[Cell]:
        """ "Holes are the empty cells whose six neighbours are all occupied now and were not all occupied before";
        `tight` are the empty cells that lack so few neighbours that one tile may close them."""

        def occupied(cell: Cell) -> bool:
            return cell in self.cells or cell in (dark, light)

        return [cell for cell in tight if not occupied(cell) and all(map(occupied, neighbours(cell)))]

    def tight(self) -> list[Cell]:
        """Empty cells with one or two empty neighbours, in ascending order."""
        beside = {near for cell in self.cells for near in neighbours(cell) if near not in self.cells}
        return sorted(cell for cell in beside if 4 <= sum(near in self.cells for near in neighbours(cell)) <= 5)

    def fillings(self, holes: list[Cell]) -> Iterator[str]:
        """ "Fill min(number of holes, cones left) of them with cones of either colour from the supply, your choice of
        cells and colours"; the texts of the cones."""
        count = min(len(holes), sum(self.cones.values()))
        for filled in combinations(holes, count):
            for colours in product("dl", repeat=count):
                if all(colours.count(colour) <= self.cones[colour] for colour in "dl"):
                    yield "".join(f"+{c}:{q},{r}" for c, (q, r) in zip(colours, filled, strict=True))

    def allowed(self) -> set[str]:
        """Each placement with each way to fill its holes."""
        tight = self.tight()
        return {
            f"{dark[0]},{dark[1]}/{light[0]},{light[1]}{cones}"
            for dark, light in self.placements()
            for cones in self.fillings(self.holes(dark, light, tight))
        }

    def canonical(self, text: str) -> str:
        """ "cones in ascending (q,r) order", read in any."""
        match = MOVE.fullmatch(text)
        if match is None:
            return text
        cones = [word for word in match[3].split("+") if word]
        cones.sort(key=lambda word: [int(part) for part in word[2:].split(",")])
        return "+".join([f"{match[1]}/{match[2]}", *cones])

    def apply(self, move: str) -> None:
        """See Model.apply; "in this order: the opponent's colour has 5 … the opponent wins; your colour has → you win;
        the last tile was placed → draw"."""
        tile, *cones = move.split("+")
        halves = [read_cell(text) for text in tile.split("/")]
        self.cells[halves[0]], self.cells[halves[1]] = "X", "O"
        self.placed = tile.split("/")
        for cone in cones:
            colour, _, place = cone.partition(":")
            self.cones[colour] -= 1
            self.cells[read_cell(place)] = {"d": "x", "l": "o"}[colour]
            self.placed.append(place)
        self.tiles_left -= 1
        me = self.to_play
        if self.longest(OTHER[me]) >= FIVE:
            self.result = {"black": "B+", "white": "W+"}[OTHER[me]]
        elif self.longest(me) >= FIVE:
            self.result = {"black": "B+", "white": "W+"}[me]
        elif self.tiles_left == 0:
            self.result = "0"
        self.to_play = "none" if self.result else OTHER[me]
        self.phase = "over" if self.result else "play"

    def longest(self, colour: str) -> int:
        """The most "consecutive cells (tile halves and cones) on one of the three axes"."""
        letter = {"black": "X", "white": "O"}[colour]
        own = {cell for cell, piece in self.cells.items() if piece.upper() == letter}
        best = 0
        for q, r in own:
            for a, b in AXES:
                length = 0
                while (q + length * a, r + length * b) in own:
                    length += 1
                best = max(best, length)
        return best

    def score_parts(self) -> dict[str, dict[str, float | list[int] | None]]:
        """There is no total."""
        return {
            colour: {"total": None, "longest_line": self.longest(colour), "cones_left": self.cones[letter]}
            for colour, letter in (("black", "d"), ("white", "l"))
        }


def read_cell(text: str) -> Cell:
    q, r = text.split(",")
    return int(q), int(r)
