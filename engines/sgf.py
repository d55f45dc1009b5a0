"""What an SGF record of go means, within bounds: size, komi, stones, moves. It plays nothing (see gtpgo).

How SGF is written is protocol.sgf's part.
"""

from typing import NamedTuple

from protocol.sgf import Node, SgfError, main_lines

__all__ = ["MAX_POINTS", "Record", "SgfError", "read"]

MAX_POINTS = 625
MAX_MOVES = 10_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "Vertices skip I"


class Record(NamedTuple):
    """What we keep: points are GTP's; moves are (`black`|`white`, point or `pass`)."""

    size: int
    komi: float | None
    handicap: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]


def read(data: bytes) -> Record:
    """The main line: the first branch everywhere. Raises SgfError.

    Black stones that are set up before the first move are handicap. Other set-up is refused.
    """
    nodes = next(main_lines(data.decode("latin-1")))  # what we look at is ASCII in every encoding of SGF
    root = nodes[0]
    if root.get("GM", ["1"])[0].strip() != "1":
        raise SgfError(f"not a record of go: GM[{root['GM'][0][:20]}]")
    size = _size(root.get("SZ", ["19"])[0])
    handicap: list[str] = []
    moves: list[tuple[str, str]] = []
    for node in nodes:
        for name, values in node.items():
            if name in ("B", "W"):
                moves.append(("black" if name == "B" else "white", _move(values[0], size)))
            elif name == "AB" and not moves:
                handicap += [point for value in values for point in _points(value, size)]
            elif name in ("AB", "AW", "AE"):
                where = "after a move" if moves else "that is not black stones"
                raise SgfError(f"a set-up {where} cannot be represented: {name}[{values[0][:20]}]")
        if len(moves) > MAX_MOVES or len(handicap) > MAX_POINTS:
            raise SgfError(f"more than {MAX_MOVES} moves or {MAX_POINTS} handicap stones")
    return Record(size, _komi(root), tuple(handicap), tuple(moves))


def _size(text: str) -> int:
    width, _, height = text.strip().partition(":")
    if not width.isdigit() or not width.isascii() or len(width) > 3 or (height and height != width):
        raise SgfError(f"the board is not square: SZ[{text[:20]}]")
    if not 1 <= int(width) <= len(COLUMNS):
        raise SgfError(f"the board is larger than {len(COLUMNS)}x{len(COLUMNS)}: SZ[{text[:20]}]")
    return int(width)


def _komi(root: Node) -> float | None:
    if "KM" not in root or not root["KM"][0].strip():
        return None
    text = root["KM"][0].strip()
    digits = text.lstrip("+-").replace(".", "", 1)
    if not digits.isdigit() or not digits.isascii() or len(text) > 12:
        raise SgfError(f"komi is not a number: KM[{text[:20]}]")
    return float(text)


def _move(value: str, size: int) -> str:
    value = value.strip()
    if not value or (value == "tt" and size <= 19):  # FF[3] passes with tt
        return "pass"
    return _point(value, size)


def _points(value: str, size: int) -> list[str]:
    """One point, or a rectangle `aa:cc`."""
    first, colon, last = value.strip().partition(":")
    if not colon:
        return [_point(first, size)]
    _point(first, size), _point(last, size)
    across = LETTERS[LETTERS.index(first[0]) : LETTERS.index(last[0]) + 1]
    down = LETTERS[LETTERS.index(first[1]) : LETTERS.index(last[1]) + 1]
    return [_point(x + y, size) for x in across for y in down]


def _point(value: str, size: int) -> str:
    """`ab`: column a from the left, row b from the top -> GTP's name."""
    if len(value) != 2 or any(letter not in LETTERS[:size] for letter in value):
        raise SgfError(f"not a point of a {size}x{size} board: [{value[:20]}]")
    return f"{COLUMNS[LETTERS.index(value[0])]}{size - LETTERS.index(value[1])}"
