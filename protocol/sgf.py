"""SGF as text, for any game: reads collections, main lines and trees; writes trees; converts points of Go.

All input is bounded, and no function recurses.
"""

import re
from collections.abc import Iterator, Sequence

MAX_ITEMS = 100_000  # nodes and values of one main line or one tree
MAX_NAME = 64  # letters of a property name
_BLANKS = " \t\r\n\v\f"
_PLAIN = re.compile(r"[^\]\\]*")
_TREE = re.compile(r"[()\[]")
_CHARSET = re.compile(rb"CA\s*\[\s*([A-Za-z0-9_.:-]{1,40})\s*\]")
_CHARSETS = re.compile(
    "ascii|utf-8(-sig)?|gb2312|gbk|gb18030|big5(hkscs)?|cp9(32|36|49|50)|shift_jis|euc_(jp|kr)|iso2022_jp|koi8-[ru]|"
    "cp125[0-8]|tis-620|iso8859-\\d+"
)

Node = dict[str, list[str]]
"""The properties of a node by name, in the order of the file, each with its values."""


class SgfError(ValueError):
    """Invalid SGF; str() says what is wrong and where."""


def decode(data: bytes) -> str:
    """Decode the text by its byte-order mark or its `CA` property, else as UTF-8, else as Latin-1, SGF's default.

    Invalid bytes become U+FFFD. The whole file is decoded before it is parsed, because in Shift_JIS, Big5 and GBK a `]`
    or a backslash may be half of a letter.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    found = _CHARSET.search(data[:65536])
    if found and (name := _known(found[1].decode("ascii"))):
        return data.decode(name, "replace").removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def main_lines(text: str, unclosed: bool = False) -> Iterator[list[Node]]:
    """Yield the main line of every game of a collection, which takes the first branch everywhere.

    Text before a game's `(;` is skipped, as the standard asks of readers.

    Args:
        text: The collection.
        unclosed: Whether the file may end before the last game's `)`.

    Raises:
        SgfError: The text is not valid SGF.
    """
    at, number = _next_game(text, 0), 0
    if at < 0:
        raise SgfError("not an SGF file: it does not begin with (;")
    while at >= 0:
        number += 1
        nodes, _, at, depth = _nodes(text, at, unclosed, whole=False)
        yield nodes
        at = _next_game(text, _after_tree(text, at, depth))


def trees(text: str) -> Iterator[list[tuple[int, Node]]]:
    """Yield the nodes of every game, each with the index of its parent, -1 for the root.

    Raises:
        SgfError: The text is not valid SGF.
    """
    at = _next_game(text, 0)
    if at < 0:
        raise SgfError("not an SGF file: it does not begin with (;")
    while at >= 0:
        nodes, parents, at, _ = _nodes(text, at, unclosed=False, whole=True)
        yield list(zip(parents, nodes, strict=True))
        at = _next_game(text, at)


def written_tree(nodes: Sequence[str], children: Sequence[Sequence[int]]) -> str:
    """Return a game tree as SGF.

    Args:
        nodes: The nodes as SGF; the first one is the root.
        children: The indexes of each node's children.
    """
    out, todo = list[str](), list[str | int]([0, "("])
    while todo:
        step = todo.pop()
        if isinstance(step, str):
            out.append(step)
            continue
        out.append(nodes[step])
        following = children[step]
        for each in reversed(following):
            todo += [")", each, "("] if len(following) > 1 else [each]
    return f"{''.join(out)})"


def written(name: str, *values: str) -> str:
    r"""Return a property with these values as SGF; "only ], \ and : must be escaped", the colon only in pairs."""
    escaped = (re.sub(r"([\]\\])", r"\\\1", value) for value in values)
    return name + "".join(f"[{value}]" for value in escaped)


# -- Go: points as GTP names them. `ab` is column a from the left, row b from the top.


COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # "Vertices skip I"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def board_size(root: Node) -> int:
    """Return the board size of the SZ property.

    Raises:
        SgfError: The board is not square or has no valid size.
    """
    text = root.get("SZ", [""])[0].strip() or "19"
    width, _, height = text.partition(":")
    if not (width.isascii() and width.isdigit() and len(width) < 4) or (height and height != width):
        raise SgfError(f"the board is not square: SZ[{text[:20]}]")
    if not 1 <= int(width) <= len(COLUMNS):
        raise SgfError(f"a Go board has at most {len(COLUMNS)} rows: SZ[{text[:20]}]")
    return int(width)


def read_move(value: str, size: int) -> str:
    """Return the point of a move, or `pass`.

    Raises:
        SgfError: The value is not a point of the board.
    """
    value = value.strip()
    if not value or (value == "tt" and size <= 19):  # FF[3] passes with tt
        return "pass"
    return _read_point(value, size)


def read_points(value: str, size: int) -> list[str]:
    """Return one point, or all points of a rectangle `aa:cc`.

    Raises:
        SgfError: The value is not on the board.
    """
    first, colon, last = value.strip().partition(":")
    if not colon:
        return [_read_point(first, size)]
    _read_point(first, size), _read_point(last, size)
    across, down = (_LETTERS[_LETTERS.index(first[at]) : _LETTERS.index(last[at]) + 1] for at in (0, 1))
    return [_read_point(x + y, size) for x in across for y in down]


def neighbours(point: str, size: int) -> list[str]:
    """Return the adjacent points of a point, as GTP names them."""
    column, row = COLUMNS.index(point[0]), int(point[1:])
    beside = ((column - 1, row), (column + 1, row), (column, row - 1), (column, row + 1))
    return [f"{COLUMNS[c]}{r}" for c, r in beside if 0 <= c < size and 1 <= r <= size]


def written_point(vertex: str, size: int) -> str:
    """Return a point in SGF notation."""
    return _LETTERS[COLUMNS.index(vertex[0])] + _LETTERS[size - int(vertex[1:])]


def _read_point(value: str, size: int) -> str:
    if len(value) != 2 or any(letter not in _LETTERS[:size] for letter in value):
        raise SgfError(f"not a point of a {size}x{size} board: [{value[:20]}]")
    return f"{COLUMNS[_LETTERS.index(value[0])]}{size - _LETTERS.index(value[1])}"


# ----------------------------------------------------------------------------------------------------------


def _known(charset: str) -> str:
    """Return the Python codec of a charset that SGF files use, or "" for others: not every codec is a charset."""
    import codecs

    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return ""
    return name if _CHARSETS.fullmatch(name) else ""


def _next_game(text: str, at: int) -> int:
    found = re.compile(r"\(\s*;").search(text, at)
    return found.start() if found else -1


def _nodes(text: str, at: int, unclosed: bool, whole: bool) -> tuple[list[Node], list[int], int, int]:
    """Return nodes, parents, the index after them, and the number of `(` open there.

    If `whole`, these are all nodes of the tree, otherwise those before the first `)`. Parents are indexes, -1 for the
    root.
    """
    nodes, parents = list[Node](), list[int]()
    branches: list[int] = []  # the node before each open `(`
    name, items, last = "", 0, -1
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == ")" and branches:
            last = branches.pop()
            name = ""
            if not (whole and branches):
                return nodes, parents, at, len(branches)
        elif letter == "(":
            branches.append(last)
        elif letter == ";":
            nodes.append({})
            parents.append(last)
            last = len(nodes) - 1
            name, items = "", items + 1
        elif letter == "[":
            if not name:
                raise SgfError(f"value without a property {_where(text, at - 1)}")
            value, at = _value(text, at)
            items += 1
            nodes[-1].setdefault(name, []).append(value)
        elif letter.isascii() and letter.isalnum():
            # FF[3] allowed lower-case letters in names: "Black" is B.
            begins = not (text[at - 2].isascii() and text[at - 2].isalnum())
            name = ("" if begins else name) + ("" if letter.islower() else letter)
            if len(name) > MAX_NAME:
                raise SgfError(f"not an SGF file: a property name has more than {MAX_NAME} letters")
        elif letter not in _BLANKS:
            raise SgfError(f"not an SGF file: unexpected {letter!r} {_where(text, at - 1)}")
        if items > MAX_ITEMS:
            raise SgfError(f"more than {MAX_ITEMS} nodes and values in one game")
    if not unclosed:
        raise SgfError("the file ends before its last game is complete")
    return nodes, parents, at, 0


def _after_tree(text: str, at: int, depth: int) -> int:
    """Return the index after this many open `(` are closed, or the end of the file."""
    while depth > 0:
        found = _TREE.search(text, at)
        if found is None:
            return len(text)
        at = found.end()
        if found[0] == "[":
            _, at = _value(text, at)
        else:
            depth += 1 if found[0] == "(" else -1
    return at


def _value(text: str, at: int) -> tuple[str, int]:
    """Return the text up to the next unescaped `]`, and the index after it.

    Escaped line breaks are dropped.
    """
    begin, parts = at, list[str]()
    while True:
        plain = _PLAIN.match(text, at)
        assert plain is not None  # it also matches an empty text
        parts.append(plain[0])
        at = plain.end()
        if text[at : at + 1] == "]":
            return "".join(parts), at + 1
        if at + 1 >= len(text):
            raise SgfError(f"the file ends inside the value that begins {_where(text, begin - 1)}")
        protected = text[at + 1 : at + 3] if text[at + 1 : at + 3] in ("\r\n", "\n\r") else text[at + 1]
        parts.append("" if protected[0] in "\r\n" else protected)
        at += 1 + len(protected)


def _where(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"in line {line}, column {at - text.rfind(chr(10), 0, at)}"
