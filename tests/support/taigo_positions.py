"""Positions of Taigo for its tests: boards that are set up, moves that are looked for, which classes play."""

from typing import Any

import pytest

from engines import _core

IMPLEMENTATIONS = pytest.mark.parametrize("taigo", [_core.Taigo], ids=["core"])

Cell = tuple[int, int]
STEPS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
TWO = {(-1, 0), (0, 0), (1, 0), (2, 0)}
"""The tile on 0,0 and 1,0 leaves a hole on either side."""
FOUR = [{(0, 1), (-1, 0), (1, -1), (2, 0)}, {(-1, 1), (0, -1), (1, 1), (2, -1)}]
"""Both ways in which the tile on 0,0 and 1,0 leaves four holes."""
RING = "1,0=X -1,1=X 0,1=O -1,0=O"
"""Example (b): the tile on 0,-1 and 1,-1 closes the ring round 0,0."""
EIGHT = {(-1, 0), (-1, 1), (0, 1), (1, 1), (2, 0), (2, -1), (1, -1), (0, -1)}
"""The cells round 0,0 and 1,0."""


def at(cell: Cell) -> str:
    return f"{cell[0]},{cell[1]}"


def near(cell: Cell) -> list[Cell]:
    return [(cell[0] + q, cell[1] + r) for q, r in STEPS]


def set_up(taigo: Any, board: str, side: str = "black", **options: Any) -> Any:
    """A game that begins with that board, and that side to move."""
    state = taigo(**options)
    state.set_up(board, side)
    return state


def walls(empty: set[Cell], radius: int) -> str:
    """A hexagon of cells round 0,0, all occupied but these. No line in it is longer than two."""
    cells = {(q, r) for q in range(-radius, radius + 1) for r in range(-radius, radius + 1) if abs(q + r) <= radius}
    return " ".join(f"{at((q, r))}={'XXOO'[(q + 2 * (r % 2)) % 4]}" for q, r in sorted(cells - empty))


def on(state: Any, *cells: str) -> list[str]:
    """The legal moves whose tile lies on those two cells."""
    return [move for move in state.legal_moves() if sorted(move.split("+")[0].split("/")) == sorted(cells)]


def played(taigo: Any, moves: str, **options: Any) -> Any:
    state = taigo(**options)
    for move in moves.split():
        assert state.play(move) == move
    return state


def cells_of(state: Any) -> dict[str, str]:
    return dict(entry.split("=") for entry in state.board().split())
