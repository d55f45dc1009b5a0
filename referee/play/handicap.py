"""The points of GTP's fixed handicap in go, which an engine's option `handicap` names by their number only."""

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # vertices skip I


def fixed_handicap(size: int, stones: int) -> list[str]:
    """The vertices of GTP's `fixed_handicap` (draft 2, 4.1.1): corners, then middles of sides, the centre last."""
    low, middle = (4 if size > 11 else 3), (size + 1) // 2
    high = size + 1 - low
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    points = [(low, low), (high, high), (low, high), (high, low)][: min(stones, 4)]
    points += sides[: (stones - 4) // 2 * 2] if stones > 5 else []
    if stones in (5, 7, 9):
        points.append((middle, middle))
    return [f"{LETTERS[column - 1]}{row}" for column, row in points]
