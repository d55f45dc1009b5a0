"""The games of an SGF file: go as all programs write it, and every game as `ggp export` does. Variations are left out.

Whether the moves are legal, the engine says (see imported); how SGF is written, protocol.sgf.
"""

import re
from collections.abc import Iterator

from protocol.sgf import Node, SgfError, decode, main_lines
from referee.archive.found import MAX_MOVES, CannotImport, Found, FoundMove
from referee.archive.sgf import PROGRAM
from referee.play.handicap import fixed_handicap

_COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # of GTP, which skips I
_POINTS = "abcdefghijklmnopqrstuvwxyz"
_COLOURS = {"B": "black", "W": "white", "XB": "black", "XW": "white"}
_SIZES = range(2, len(_COLUMNS) + 1)
_NUMBER = re.compile(r"[+-]?(\d{1,9}(?:[.,]\d{0,6})?|[.,]\d{1,6})", re.ASCII)
_RESULT = re.compile(r"([BW])(?:lack|hite)?\+(R(?:es.*)?|T(?:ime)?|F(?:orf.*)?|[\d.,]*)", re.IGNORECASE | re.ASCII)
_BYOYOMI = re.compile(r"(\d{1,3})\s*[xX]\s*(\d{1,5}).*")
_CANADIAN = re.compile(r"(\d{1,4})\s*/\s*(\d{1,5}) *canadian", re.IGNORECASE)
_SUPERKO = {"nz": "situational", "aga": "situational", "new zealand": "situational", "tromp-taylor": "positional"}


def sgf_games(data: bytes, fill: bool = False) -> Iterator[Found | CannotImport]:
    """Every game of the file in its order, or why it cannot be held. Raises CannotImport when the file is no SGF.

    `fill`: black stones that are no fixed handicap become moves, between which White passes.
    """
    try:
        for nodes in main_lines(decode(data)):
            try:
                yield _private_game(nodes) if "XG" in nodes[0] else _game_of_go(nodes, fill)
            except CannotImport as problem:
                yield problem
    except SgfError as error:
        raise CannotImport(str(error)) from None


def _private_game(nodes: list[Node]) -> Found:
    return _found(nodes, _first(nodes[0], "XG"), _options(nodes[0]), tuple(_moves(nodes, 0)))


def _game_of_go(nodes: list[Node], fill: bool) -> Found:
    root = nodes[0]
    if _first(root, "GM", "1") != "1":
        raise CannotImport(f"GM[{_first(root, 'GM')[:20]}] is not go (GM[1]), and no XG names the game")
    size = _size(_first(root, "SZ", "19") or "19")
    stones, problem, last = _set_up(nodes, size)
    moves = tuple(_moves(nodes[:last], size))
    ours = _first(root, "AP").startswith(PROGRAM) and "XO" in root
    options = _options(root) if ours else _options_of_go(root, size)
    given = _handicap(root, stones, size, moves)
    if given:
        options["handicap"] = str(given)
    elif stones and fill:
        filled = [FoundMove(colour, move) for stone in stones for colour, move in (("black", stone), ("white", "pass"))]
        moves = (*filled[:-1], *moves)
    elif stones:
        raise CannotImport(
            f"{len(stones)} black stones are set up that are no fixed handicap, and a record holds moves only: "
            "with --fill they are Black's first moves, and White passes between"
        )
    return _found(nodes, "go", options, moves, problem)


def _found(
    nodes: list[Node], game: str, options: dict[str, str], moves: tuple[FoundMove, ...], problem: str = ""
) -> Found:
    root = nodes[0]
    ours = _first(root, "AP").startswith(PROGRAM)
    if len(moves) > MAX_MOVES:
        raise CannotImport(f"it has more than {MAX_MOVES} moves")
    said = [f"{name}[{value}]" for name in ("AP", "RU", "RE") if (value := _first(root, name)) and not ours]
    return Found(
        game,
        options,
        moves,
        (_first(root, "PB") or _first(root, "BT"), _first(root, "PW") or _first(root, "WT")),
        _first(root, "GN") if ours else "",
        _first(root, "OT") if ours else _control(_first(root, "TM"), _first(root, "OT")),
        _result(_first(root, "RE")),
        _first(root, "XT"),
        _first(root, "DT"),
        " ".join(said),
        problem,
    )


def _first(node: Node, name: str, otherwise: str = "") -> str:
    """The property's first value in one line."""
    return " ".join(node[name][0].split())[:1000] if name in node else otherwise


def _options(root: Node) -> dict[str, str]:
    """What `ggp export` wrote of them."""
    words = [word.partition("=") for word in _first(root, "XO").split()]
    return {name: value for name, _, value in words}


def _options_of_go(root: Node, size: int) -> dict[str, str]:
    """Size, komi and ko: the simple one unless the rules are known to have another, because it allows most."""
    komi = _first(root, "KM", "0").replace(",", ".") or "0"
    if not _NUMBER.fullmatch(komi):
        raise CannotImport(f"KM[{komi[:20]}]: komi is no number")
    ko = _SUPERKO.get(_first(root, "RU").lower(), "simple")
    return {"size": str(size), "komi": _shortest(komi), "ko": ko}


def _shortest(text: str) -> str:
    """The shortest decimal: 6.50 is 6.5, and -0 is 0."""
    return f"{float(text.replace(',', '.')) + 0.0:.6f}".rstrip("0").rstrip(".")


def _size(text: str) -> int:
    width, _, height = text.partition(":")
    if not (width.isascii() and width.isdigit() and len(width) < 4) or (height and height != width):
        raise CannotImport(f"SZ[{text[:20]}]: the board is not square")
    if int(width) not in _SIZES:
        raise CannotImport(f"SZ[{text[:20]}]: boards of go have {_SIZES[0]} to {_SIZES[-1]} rows")
    return int(width)


def _set_up(nodes: list[Node], size: int) -> tuple[list[str], str, int]:
    """Black stones that stand before the first move; the set-up that no record can hold, and in which node it is."""
    stones: list[str] = []
    moved = False
    for number, node in enumerate(nodes):
        for name in ("AB", "AW", "AE"):
            values = [value.strip() for value in node.get(name, ()) if value.strip()]
            if values and (moved or name != "AB"):
                what = f"{name}[{values[0][:10]}] sets up stones, and a record holds moves only"
                if not moved:
                    raise CannotImport(f"{what}: it can begin with black handicap stones, not from a position")
                return stones, what, number
            stones += [point for value in values for point in _area(value, size)]
        moved = moved or "B" in node or "W" in node
    return list(dict.fromkeys(stones)), "", len(nodes)


def _handicap(root: Node, stones: list[str], size: int, moves: tuple[FoundMove, ...]) -> int:
    """How many stones of GTP's fixed handicap stand there; old files say HA and leave the stones to the reader."""
    said = _first(root, "HA", "0")
    number = len(stones)
    if not stones and said.isascii() and said.isdigit() and len(said) == 1 and moves and moves[0].colour == "white":
        number = int(said)
    if not 2 <= number <= 9:
        return 0
    fixed = fixed_handicap(size, number)
    return number if not stones or set(stones) == set(fixed) else 0


def _moves(nodes: list[Node], size: int) -> Iterator[FoundMove]:
    """B and W on a board of this size, XB and XW as they are."""
    number = 0
    for node in nodes:
        for name, values in node.items():
            if name in _COLOURS and (size or name.startswith("X")):
                number += 1
                if number > MAX_MOVES:
                    raise CannotImport(f"it has more than {MAX_MOVES} moves")
                text = values[0].strip()
                try:
                    move = text if name.startswith("X") else _vertex(text, size)
                except CannotImport as problem:
                    raise CannotImport(f"move {number}: {problem}") from None
                yield FoundMove(_COLOURS[name], move, _left(node, name[-1]))


def _left(node: Node, colour: str) -> int | None:
    text = _first(node, f"{colour}L")
    return round(float(text.replace(",", ".")) * 1000) if _NUMBER.fullmatch(text) else None


def _vertex(text: str, size: int) -> str:
    if not text or (text == "tt" and size <= 19):  # FF[3] passes with tt
        return "pass"
    return _point(text, size)


def _area(text: str, size: int) -> list[str]:
    """One point, or all of a rectangle `aa:cc`."""
    first, colon, last = text.partition(":")
    if not colon:
        return [_point(first, size)]
    _point(first, size), _point(last, size)
    columns, rows = ((_POINTS.index(first[at]), _POINTS.index(last[at]) + 1) for at in (0, 1))
    return [_point(_POINTS[x] + _POINTS[y], size) for x in range(*columns) for y in range(*rows)]


def _point(text: str, size: int) -> str:
    """`ab`, column a from the left, row b from the top -> GTP's name."""
    if len(text) != 2 or any(letter not in _POINTS[:size] for letter in text):
        raise CannotImport(f"[{text[:20]}] is no point of a board of {size} rows")
    return f"{_COLUMNS[_POINTS.index(text[0])]}{size - _POINTS.index(text[1])}"


def _result(text: str) -> str:
    """RE in the words of RULES; "" for a game without a result."""
    if text.lower() in ("0", "draw", "jigo"):
        return "0"
    found = _RESULT.fullmatch(text)
    if found is None:
        return ""
    how = found[2].replace(",", ".")
    if how[:1].isalpha():
        return f"{found[1].upper()}+{how[0].upper()}"
    return f"{found[1].upper()}+{_shortest(how) if _NUMBER.fullmatch(how) else ''}"


def _control(main: str, overtime: str) -> str:
    """TM and OT as a control where we have its like, else as the file says it."""
    seconds = _shortest(main) if _NUMBER.fullmatch(main) else ""
    head = f"{seconds}+" if seconds not in ("", "0") else ""
    if byoyomi := _BYOYOMI.fullmatch(overtime):
        return f"{head}{byoyomi[1]}x{byoyomi[2]}"
    if canadian := _CANADIAN.fullmatch(overtime):
        return f"{head}{canadian[1]}/{canadian[2]}"
    return " ".join(filter(None, [seconds, overtime])) or "none"
