"""The hexagon of laido and stigmergy: names and neighbours of its cells in axial coordinates; not a game."""

from functools import lru_cache

from tests.rules.models.model import COLUMNS

Cell = tuple[int, int]  # q and r
STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))  # "Neighbours of (q,r): (±1,0), (0,±1), (+1,−1), (−1,+1)"


def within(cell: Cell, side: int) -> bool:
    """ "max(|q|,|r|,|q+r|) ≤ s−1"."""
    q, r = cell
    return max(abs(q), abs(r), abs(q + r)) <= side - 1


@lru_cache
def cells(side: int) -> tuple[Cell, ...]:
    """All cells in the order of pictures: rows from the top, in a row by column."""
    reach = range(1 - side, side)
    return tuple((q, r) for r in reversed(reach) for q in reach if within((q, r), side))


@lru_cache
def near(side: int) -> dict[Cell, tuple[Cell, ...]]:
    """The neighbours on the board."""
    return {(q, r): tuple(c for a, b in STEPS if within(c := (q + a, r + b), side)) for q, r in cells(side)}


@lru_cache
def rays(side: int) -> dict[Cell, list[list[Cell]]]:
    """The six lines of cells from a cell to the edge, itself not in them."""
    return {cell: [_ray(cell, step, side) for step in STEPS] for cell in cells(side)}


def _ray(cell: Cell, step: Cell, side: int) -> list[Cell]:
    found = []
    while within(cell := (cell[0] + step[0], cell[1] + step[1]), side):
        found.append(cell)
    return found


@lru_cache
def names(side: int) -> dict[str, Cell]:
    """ "the column letter is number q+s−1 (0 = A) in the alphabet without I, the row number is r+s"."""
    return {name(cell, side): cell for cell in cells(side)}


def name(cell: Cell, side: int) -> str:
    return f"{COLUMNS[cell[0] + side - 1]}{cell[1] + side}"
