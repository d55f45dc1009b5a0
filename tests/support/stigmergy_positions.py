"""Positions of stigmergy for its tests: drawn by axial coordinates, or reached by plies. Not a test itself."""

from typing import Any

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
Axial = tuple[int, int]


def cells(side: int) -> list[Axial]:
    """All cells, rows from the top, in a row from the left: the order of board texts."""
    reach = range(1 - side, side)
    return [(q, r) for r in reversed(reach) for q in reach if abs(q + r) < side]


def name(side: int, q: int, r: int) -> str:
    """An axial cell as it is written in moves."""
    return f"{COLUMNS[q + side - 1]}{r + side}"


def set_up(game: Any, side: int, black: list[Axial], white: list[Axial], to_play: str = "black", komi: int = 0) -> Any:
    state = game(size=side, komi=komi)
    state.set_up("".join("X" if at in black else "O" if at in white else "." for at in cells(side)), to_play)
    return state


def played(game: Any, moves: str, **options: Any) -> Any:
    state = game(**options)
    for move in moves.split():
        assert state.play(move.lower()) == move
    return state
