"""A reader for the main line of an SGF record of go, within bounds. It plays nothing (see gtpgo) and writes nothing."""

from typing import NamedTuple

MAX_POINTS = 625
MAX_MOVES = 10_000
MAX_PROPERTIES = 100_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "Vertices skip I"


class SgfError(ValueError):
    """A file that is no record, or one that cannot be represented here; str() says what is in the way."""


class Record(NamedTuple):
    """What we keep: points are GTP's; moves are (`black`|`white`, point or `pass`)."""

    size: int
    komi: float | None
    handicap: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]


Node = list[tuple[str, list[str]]]


def read(data: bytes) -> Record:
    """The main line: the first branch everywhere. Raises SgfError.

    Black stones that are set up before the first move are handicap. Other set-up is refused.
    """
    nodes = _main_line(data.decode("latin-1"))  # what we look at is ASCII in every encoding of SGF
    root = dict(nodes[0])
    if root.get("GM", ["1"])[0].strip() != "1":
        raise SgfError(f"not a record of go: GM[{root['GM'][0][:20]}]")
    size = _size(root.get("SZ", ["19"])[0])
    handicap: list[str] = []
    moves: list[tuple[str, str]] = []
    for node in nodes:
        for name, values in node:
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


def _main_line(text: str) -> list[Node]:
    """The nodes before the first `)`. That is the main line, since the first branch comes first everywhere."""
    at = text.find("(")
    if at < 0 or text[at + 1 :].lstrip()[:1] != ";":
        raise SgfError("not an SGF file: it does not begin with (;")
    nodes: list[Node] = []
    name, count = "", 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == ")":
            return nodes
        if letter == ";":
            nodes.append([])
            name = ""
        elif letter == "[":
            value, at = _value(text, at)
            count += 1
            if count > MAX_PROPERTIES:
                raise SgfError(f"more than {MAX_PROPERTIES} values")
            _add(nodes[-1], name, value)
        elif letter.isalpha():
            # FF[3] allowed lower-case letters in names: "Black" is B.
            previous = text[at - 2]
            name = ("" if not previous.isalpha() else name) + (letter if letter.isupper() else "")
        elif letter not in "( \t\r\n\v\f":
            raise SgfError(f"not an SGF file: unexpected {letter!r} at byte {at}")
    raise SgfError("the file ends before its game does")


def _value(text: str, at: int) -> tuple[str, int]:
    """The text up to the `]` that no backslash protects, and the place after it."""
    parts = []
    while True:
        end = text.find("]", at)
        if end < 0:
            raise SgfError("the file ends inside a value")
        escape = text.find("\\", at, end)
        if escape < 0:
            parts.append(text[at:end])
            return "".join(parts), end + 1
        parts.append(text[at:escape] + text[escape + 1 : escape + 2])
        at = escape + 2


def _add(node: Node, name: str, value: str) -> None:
    if not name:
        raise SgfError("a value without a property")
    if node and node[-1][0] == name:
        node[-1][1].append(value)
    else:
        node.append((name, [value]))


def _size(text: str) -> int:
    width, _, height = text.strip().partition(":")
    if not width.isdigit() or not width.isascii() or len(width) > 3 or (height and height != width):
        raise SgfError(f"the board is not square: SZ[{text[:20]}]")
    if not 1 <= int(width) <= len(COLUMNS):
        raise SgfError(f"the board is larger than {len(COLUMNS)}x{len(COLUMNS)}: SZ[{text[:20]}]")
    return int(width)


def _komi(root: dict[str, list[str]]) -> float | None:
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
