"""Positions of laido for its tests: drawn by axial coordinates, or reached by plies. Not a test itself."""

from typing import Any

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
Point = tuple[int, int]


def name(q: int, r: int, side: int) -> str:
    """An axial point as it is written in moves."""
    return f"{COLUMNS[q + side - 1]}{r + side}"


def points(side: int) -> list[Point]:
    """All points, rows from the top, in a row from the left: the order of board texts."""
    reach = range(1 - side, side)
    return [(q, r) for r in reversed(reach) for q in reach if abs(q + r) < side]


def text(side: int, black: str = "", white: str = "") -> str:
    """A board with stones at blank-separated axial `q,r`."""
    colour = {at: letter for letter, stones in (("X", black), ("O", white)) for at in read(stones)}
    return "".join(colour.get(at, ".") for at in points(side))


def read(stones: str) -> list[Point]:
    return [(int(q), int(r)) for q, r in (stone.split(",") for stone in stones.split())]


def set_up(laido: Any, side: int, black: str = "", white: str = "", to_play: str = "black", **options: Any) -> Any:
    state = laido(size=side, **options)
    state.set_up(text(side, black, white), to_play)
    return state


def played(laido: Any, moves: str, **options: Any) -> Any:
    state = laido(**options)
    for move in moves.split():
        assert state.play(move.lower()) == move
    return state


def values(state: Any, colour: str = "black") -> list[int]:
    """The values of that side's groups, in descending order."""
    return list(state.score_parts()[colour]["groups"])


def turn(state: Any) -> tuple[str, str, int, int]:
    return state.phase, state.to_play, state.seat, state.ply
