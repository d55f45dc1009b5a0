"""Positions of taugo for its tests: set up by the points of the stones, or reached by plies. Not a test itself."""

from typing import Any

from engines import _core

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def names(size: int) -> list[str]:
    """All points, rows from the top, as the core's board has them."""
    return [f"{COLUMNS[x]}{y}" for y in range(size, 0, -1) for x in range(size)]


def set_up(
    black: str = "", white: str = "", side: str = "black", size: int = 8, taugo: Any = _core.Taugo, **options: Any
) -> Any:
    """A game that begins with those stones, and that side to move."""
    corners = {f"{column}{row}" for column in (COLUMNS[0], COLUMNS[size - 1]) for row in (1, size)}
    marks = {
        **dict.fromkeys(corners, "?"),
        **dict.fromkeys(black.split(), "X"),
        **dict.fromkeys(white.split(), "O"),
    }
    state = taugo(size=size, **options)
    state.set_up("".join(marks.get(name, ".") for name in names(size)), side)
    return state


def played(moves: str, **options: Any) -> Any:
    """A game in which those moves have been played."""
    state = _core.Taugo(**options)
    for move in moves.split():
        assert state.play(move.lower()) == move
    return state


def stones(state: Any, letter: str) -> set[str]:
    return {name for name, mark in zip(names(state.size), state.board(), strict=True) if mark == letter}


def runs(state: Any, start: str = "") -> list[str]:
    """The legal moves of several points that begin with that point."""
    return [move for move in state.legal_moves() if "+" in move and move.split("+")[0].startswith(start)]


def totals(state: Any) -> tuple[float, float]:
    parts = state.score_parts()
    return parts["black"]["total"], parts["white"]["total"]
