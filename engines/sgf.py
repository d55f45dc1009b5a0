"""What an SGF record of go means, within bounds: size, komi, set-ups, moves. It plays nothing (see gtpgo).

How SGF is written is protocol.sgf's part.
"""

from typing import NamedTuple

from protocol.sgf import Node, SgfError, main_lines

__all__ = ["MAX_POINTS", "Move", "SgfError", "SgfRecord", "Stones", "Turn", "read"]

MAX_POINTS = 625
MAX_STEPS = 10_000
_STONES = {"AB": "black", "AW": "white", "AE": "empty"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "Vertices skip I"


class Move(NamedTuple):
    """A move by `black` or `white`; `at` is GTP's point, or `pass`."""

    colour: str
    at: str


class Stones(NamedTuple):
    """Points that get stones of a colour, or lose theirs (`empty`), whatever stood there: AB, AW, AE."""

    colour: str
    points: tuple[str, ...]


class Turn(NamedTuple):
    """Whose turn it is, from PL."""

    colour: str


class SgfRecord(NamedTuple):
    """What we keep of a game; `handicap` is the number in HA, and `steps` come in the order of the file."""

    size: int
    komi: float | None
    handicap: int
    steps: tuple[Move | Stones | Turn, ...]


def read(data: bytes) -> SgfRecord:
    """The main line: the first branch everywhere. Raises SgfError."""
    nodes = next(main_lines(data.decode("latin-1"), unclosed=True))  # what we look at is ASCII in every encoding of SGF
    root = nodes[0]
    if root.get("GM", ["1"])[0].strip() != "1":
        raise SgfError(f"not a record of go: GM[{root['GM'][0][:20]}]")
    size = _size(root.get("SZ", ["19"])[0])
    steps: list[Move | Stones | Turn] = []
    for node in nodes:
        for name, values in node.items():
            if name in ("B", "W"):
                steps.append(Move("black" if name == "B" else "white", _move(values[0], size)))
            elif name in _STONES:
                points = [point for value in values for point in _points(value, size)]
                steps.append(Stones(_STONES[name], tuple(dict.fromkeys(points))))
            elif name == "PL" and values[0].strip():
                steps.append(Turn("white" if values[0].strip()[0] in "wW2" else "black"))
        if len(steps) > MAX_STEPS:
            raise SgfError(f"more than {MAX_STEPS} moves and set-ups")
    return SgfRecord(size, _komi(root), _handicap(root), tuple(steps))


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


def _handicap(root: Node) -> int:
    """0 where the number cannot be read: stones that are set up speak for themselves."""
    text = root.get("HA", [""])[0].strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


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
