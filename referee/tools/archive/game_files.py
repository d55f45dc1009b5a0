"""Games in SGF files and GTP scripts, read before an engine plays them."""

import re
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import click

from ggp.protocol.input_files import open_input
from ggp.protocol.safe_files import without_mark
from ggp.protocol.sgf import Node, SgfError, board_size, decode, main_lines, neighbours, read_move, read_points, trees
from ggp.referee.match.player import fixed_handicap
from ggp.referee.match.record_forms import PROGRAM
from ggp.referee.terminal import escape_unprintable

MAX_FILE = 64 * 1024 * 1024
MAX_MOVES = 10_000


class CannotImport(Exception):
    """A game that a record cannot hold, or a file without games. str() is printable."""

    def __init__(self, reason: str) -> None:
        super().__init__(escape_unprintable(reason))


class FoundMove(NamedTuple):
    """A move and its colour. `left` is the ms left on that side's clock; None if the file does not say."""

    colour: str
    move: str
    left: int | None = None


class ImportedGame(NamedTuple):
    """A game, with the moves as the file has them.

    Attributes:
        players: The names by their last colour, black first.
        result: The result as engines write it; "" for none.
        source: The program and the rules that the file names.
        problem: Why a record cannot hold what follows the moves.
        set_up: How many of the moves only build the initial position.
    """

    game: str
    options: dict[str, str]
    moves: tuple[FoundMove, ...]
    players: tuple[str, str] = ("", "")
    key: str = ""
    control: str = ""
    result: str = ""
    termination: str = ""
    date: str = ""
    source: str = ""
    problem: str = ""
    set_up: int = 0


# -- A file of either kind.


def read_file(file: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`.

    Raises:
        ClickException: The file cannot be read, or is too large.
    """
    path = Path(file)
    try:
        with sys.stdin.buffer if file == "-" else open_input(path) as source:
            data = source.read(MAX_FILE + 1)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{file} is larger than {MAX_FILE >> 20} MiB: split it")
    return without_mark(data)


def games_in(file: str, data: bytes) -> Iterator[ImportedGame | CannotImport]:
    """Yield the games of a file, which is SGF according to its name or its first bytes, else a script."""
    named = Path(file).suffix.lower()
    is_sgf = named in (".sgf", ".sgfs") or (b"(;" in data[:4096] or data.lstrip()[:1] == b"(")
    try:
        if data.startswith(b'{"') and not is_sgf:
            raise CannotImport("this is already a record: use it with ggp verify, ggp show or ggp export")
        yield from sgf_games(data) if is_sgf and named not in (".gtp", ".tst") else script_games(data)
    except CannotImport as problem:
        yield problem


def file_games(file: str) -> Iterator[ImportedGame | CannotImport]:
    """Yield the games of an SGF file or a script.

    Raises:
        ClickException: The file cannot be read.
    """
    return games_in(file, read_file(file))


# -- SGF: go from any program, every game from `ggp export`.

_COLOURS = {"B": "black", "W": "white", "XB": "black", "XW": "white"}
_NUMBER = re.compile(r"[+-]?(\d{1,9}(?:[.,]\d{0,6})?|[.,]\d{1,6})", re.ASCII)
_RESULT = re.compile(r"([BW])(?:lack|hite)?\+(R(?:es.*)?|T(?:ime)?|F(?:orf.*)?|[\d.,]*)", re.IGNORECASE | re.ASCII)
_BYOYOMI = re.compile(r"(\d{1,3})\s*[xX]\s*(\d{1,5}).*")
_CANADIAN = re.compile(r"(\d{1,4})\s*/\s*(\d{1,5}) *canadian", re.IGNORECASE)
_SUPERKO = {"nz": "situational", "aga": "situational", "new zealand": "situational", "tromp-taylor": "positional"}


def sgf_games(data: bytes) -> Iterator[ImportedGame | CannotImport]:
    """Yield every game of an SGF file in order, or why a record cannot hold it.

    Raises:
        CannotImport: The data is not SGF.
    """
    try:
        for nodes in main_lines(decode(data)):
            try:
                if game := _first(nodes[0], "XG"):
                    yield _found(nodes, game, _options(nodes[0]), tuple(_moves(nodes, 0)))
                else:
                    yield _game_of_go(nodes)
            except (CannotImport, SgfError) as problem:
                yield CannotImport(str(problem))
    except SgfError as error:
        raise CannotImport(str(error)) from None


class ImportedTree(NamedTuple):
    """A game of an SGF file with its variations.

    Attributes:
        found: The game without its moves.
        nodes: All nodes, the root first, each as the index of its parent (-1 for the root), its move or None, and its
            properties.
    """

    found: ImportedGame
    nodes: tuple[tuple[int, FoundMove | None, Node], ...]


def sgf_trees(data: bytes) -> Iterator[ImportedTree | CannotImport]:
    """Yield every game of an SGF file with all variations, or why a record cannot hold it.

    Raises:
        CannotImport: The data is not SGF.
    """
    try:
        for nodes in trees(decode(data)):
            try:
                yield _tree(nodes)
            except (CannotImport, SgfError) as problem:
                yield CannotImport(str(problem))
    except SgfError as error:
        raise CannotImport(str(error)) from None


def _tree(nodes: list[tuple[int, Node]]) -> ImportedTree:
    root = nodes[0][1]
    if game := _first(root, "XG"):
        found, size = _found([root], game, _options(root), ()), 0
    else:
        found, size = _game_of_go([root]), board_size(root)
        if found.set_up:
            raise CannotImport("it begins with placed stones: `ggp import` makes a record of its main line")
    steps = list[tuple[int, FoundMove | None, Node]]()
    for number, (parent, node) in enumerate(nodes):
        moves = [*_moves([node], size)]
        if len(moves) > 1 or (number and any(node.get(name) for name in ("AB", "AW", "AE"))):
            raise CannotImport(f"node {number + 1} has several moves or places stones: a tree has one move per node")
        steps.append((parent, moves[0] if moves else None, node))
    return ImportedTree(found, tuple(steps))


def _game_of_go(nodes: list[Node]) -> ImportedGame:
    root = nodes[0]
    if _first(root, "GM", "1") != "1":
        raise CannotImport(f"GM[{_first(root, 'GM')[:20]}] is not go (GM[1]), and there is no XG that names the game")
    size = board_size(root)
    black, white, problem, last = _set_up(nodes, size)
    moves = tuple(_moves(nodes[:last], size))
    ours = _first(root, "AP").startswith(PROGRAM) and "XO" in root
    options = _options(root) if ours else _options_of_go(root, size)
    before: list[FoundMove] = []
    if given := 0 if white else _handicap(root, black, size, moves):
        options["handicap"] = str(given)
    elif black or white or _turn(nodes) == "white":
        first = moves[0].colour if moves else "white" if _first(root, "HA", "0") > "1" else "black"
        before = _placed(black, white, _turn(nodes) or first)
    return _found(nodes, "go", options, (*before, *moves), problem)._replace(set_up=len(before))


def _placed(black: list[str], white: list[str], to_play: str) -> list[FoundMove]:
    """Return plies that build a position on the empty board and leave `to_play` to move.

    Seats alternate in a record, so the colour with fewer stones passes. It passes first, so that its last ply is a
    stone, because two passes in a row would end the game. No order of the stones captures anything: an incomplete group
    has a liberty where its next stone will be.
    """
    length = max(2 * len(black) - 1, 2 * len(white))
    length += length % 2 != (to_play == "white")
    turns = {"black": (length + 1) // 2, "white": length // 2}
    stones = {"black": black, "white": white}
    plies = {colour: ["pass"] * (turns[colour] - len(stones[colour])) + stones[colour] for colour in stones}
    return [
        FoundMove(colour, plies[colour][number // 2])
        for number, colour in zip(range(length), cycle(("black", "white")), strict=False)
    ]


def _turn(nodes: list[Node]) -> str:
    """Return the colour that PL names for the first move; "" for none."""
    for node in nodes:
        if turn := _first(node, "PL"):
            return "white" if turn[0] in "wW2" else "black"
        if "B" in node or "W" in node:
            break
    return ""


def _found(
    nodes: list[Node], game: str, options: dict[str, str], moves: tuple[FoundMove, ...], problem: str = ""
) -> ImportedGame:
    root = nodes[0]
    ours = _first(root, "AP").startswith(PROGRAM)
    if len(moves) > MAX_MOVES:
        raise CannotImport(f"it has more than {MAX_MOVES} moves")
    said = [f"{name}[{value}]" for name in ("AP", "RU", "RE") if (value := _first(root, name)) and not ours]
    return ImportedGame(
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
    """Return the first value of a property as one line."""
    return " ".join(node[name][0].split())[:1000] if name in node else otherwise


def _options(root: Node) -> dict[str, str]:
    """Return the options that `ggp export` wrote."""
    words = [word.partition("=") for word in _first(root, "XO").split()]
    return {name: value for name, _, value in words}


def _options_of_go(root: Node, size: int) -> dict[str, str]:
    """Return size, komi and ko rule.

    The ko rule is simple unless the file names another one, because simple allows the most moves.
    """
    komi = _first(root, "KM", "0").replace(",", ".") or "0"
    if not _NUMBER.fullmatch(komi):
        raise CannotImport(f"KM[{komi[:20]}]: komi is not a number")
    ko = _SUPERKO.get(_first(root, "RU").lower(), "simple")
    return {"size": str(size), "komi": _shortest(komi), "ko": ko}


def _shortest(text: str) -> str:
    """Return the shortest decimal: 6.5 for 6.50, and 0 for -0."""
    return f"{float(text.replace(',', '.')) + 0.0:.6f}".rstrip("0").rstrip(".")


def _set_up(nodes: list[Node], size: int) -> tuple[list[str], list[str], str, int]:
    """Return the black and the white stones before the first move, and where a record must stop.

    A record cannot hold stones that are placed after a move. The third value describes such stones, the fourth is the
    index of their node. Without any these are "" and the number of nodes.

    Raises:
        CannotImport: No moves can build the position.
    """
    colours = {"AB": "black", "AW": "white", "AE": ""}
    board: dict[str, str] = {}
    moved, last, problem = False, len(nodes), ""
    for number, node in enumerate(nodes):
        for name, colour in colours.items():
            values = [value.strip() for value in node.get(name, ()) if value.strip()]
            if values and moved:
                problem, last = (
                    f"{name}[{values[0][:10]}] places stones after a move, which a record cannot hold",
                    number,
                )
                break
            board |= {point: colour for value in values for point in read_points(value, size)}
        if problem:
            break
        moved = moved or "B" in node or "W" in node
    board = {point: colour for point, colour in board.items() if colour}
    if point := _without_liberty(board, size):
        raise CannotImport(f"the initial position is impossible: {point} has no liberty")
    black, white = ([point for point, of in board.items() if of == colour] for colour in ("black", "white"))
    return black, white, problem, last


def _without_liberty(board: dict[str, str], size: int) -> str:
    """Return a stone of the first group without a liberty; "" if every group has one."""
    seen: set[str] = set()
    for stone, colour in board.items():
        if stone in seen:
            continue
        group, edge, free = {stone}, [stone], False
        while edge:
            for near in neighbours(edge.pop(), size):
                free = free or near not in board
                if board.get(near) == colour and near not in group:
                    group.add(near)
                    edge.append(near)
        if not free:
            return stone
        seen |= group
    return ""


def _handicap(root: Node, stones: list[str], size: int, moves: tuple[FoundMove, ...]) -> int:
    """Return the number of stones of GTP's fixed handicap; 0 for none.

    Old files have HA without the stones.
    """
    said = _first(root, "HA", "0")
    number = len(stones)
    if not stones and said.isascii() and said.isdigit() and len(said) == 1 and moves and moves[0].colour == "white":
        number = int(said)
    if not 2 <= number <= 9:
        return 0
    fixed = fixed_handicap(size, number)
    return number if not stones or set(stones) == set(fixed) else 0


def _moves(nodes: list[Node], size: int) -> Iterator[FoundMove]:
    """Yield B and W as moves on a board of this size; XB and XW unchanged."""
    number = 0
    for node in nodes:
        for name, values in node.items():
            if name in _COLOURS and (size or name.startswith("X")):
                number += 1
                if number > MAX_MOVES:
                    raise CannotImport(f"it has more than {MAX_MOVES} moves")
                text = values[0].strip()
                try:
                    move = text if name.startswith("X") else read_move(text, size)
                except SgfError as problem:
                    raise CannotImport(f"move {number}: {problem}") from None
                yield FoundMove(_COLOURS[name], move, _left(node, name[-1]))


def _left(node: Node, colour: str) -> int | None:
    text = _first(node, f"{colour}L")
    return round(float(text.replace(",", ".")) * 1000) if _NUMBER.fullmatch(text) else None


def _result(text: str) -> str:
    """Return RE as engines write results; "" for a game without a result."""
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
    """Return TM and OT in our form of time controls if possible, else as the file has them."""
    seconds = _shortest(main) if _NUMBER.fullmatch(main) else ""
    head = f"{seconds}+" if seconds not in ("", "0") else ""
    if byoyomi := _BYOYOMI.fullmatch(overtime):
        return f"{head}{byoyomi[1]}x{byoyomi[2]}"
    if canadian := _CANADIAN.fullmatch(overtime):
        return f"{head}{canadian[1]}/{canadian[2]}"
    return " ".join(filter(None, [seconds, overtime])) or "none"


# -- The games of a GTP script or transcript: `boardsize`, `komi`, `play …`, or `ggp-new`, `ggp-play …`.


_GTP_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}
_BEGINS = ("clear_board", "ggp-new")
_NOT_HELD = ("set_free_handicap", "place_free_handicap", "loadsgf")
_MOVES = ("play", "ggp-play", "genmove", "ggp-genmove_analyze", "kgs-genmove_cleanup")
_KNOWN = (*_BEGINS, *_MOVES, "boardsize", "komi", "fixed_handicap")


def script_games(data: bytes) -> Iterator[ImportedGame | CannotImport]:
    """Yield every game of a GTP script in order.

    Raises:
        CannotImport: The data is not a GTP script.
    """
    reader, seen = _ScriptReader(), False
    for number, (name, words, answer) in enumerate(_commands(data.decode("utf-8", "replace")), 1):
        seen = seen or name in _KNOWN
        if not seen and number > 1000:
            break
        if answer.startswith("?"):
            continue
        if name in _BEGINS and (found := reader.game()):
            yield found
        reader.take(name, words, answer)
    if not seen:
        raise CannotImport("neither SGF (which begins with `(;`) nor a GTP script (with boardsize, play, ggp-new …)")
    if found := reader.game():
        yield found


class _ScriptReader:
    """A reader of commands that collects the moves of the current game."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._begin("go", {})

    def _begin(self, game: str, options: dict[str, str]) -> None:
        self._game, self._options = game, options
        self._moves: list[FoundMove] = []
        self._problem = ""

    def take(self, name: str, words: list[str], answer: str) -> None:
        """Read a command and its answer."""
        if name == "clear_board":
            self._begin("go", {key: value for key, value in self._options.items() if key in ("size", "komi")})
        elif name == "ggp-new" and words:
            self._begin(words[0], dict(word.split("=", 1) for word in words[1:] if "=" in word))
        elif name in ("boardsize", "komi", "fixed_handicap") and words:
            self._options[{"boardsize": "size", "fixed_handicap": "handicap"}.get(name, name)] = words[0]
        elif name in _NOT_HELD:
            self._problem = self._problem or f"`{name}` sets up a position, but a record holds only moves"
        elif name in ("undo", "ggp-undo"):
            count = int(words[0]) if words and words[0].isdigit() and len(words[0]) < 6 else 1
            del self._moves[max(0, len(self._moves) - count) :]
        elif name in _MOVES and words and not self._problem:
            self._move(name, words, answer)

    def _move(self, name: str, words: list[str], answer: str) -> None:
        colour = _GTP_COLOURS.get(words[0].lower())
        move = (
            words[1] if name.endswith("play") and len(words) > 1 else (re.sub(r"^=\d*", "", answer).split() or [""])[0]
        )
        if colour is None or not move:
            self._problem = f"`{' '.join([name, *words])[:60]}` has no valid {'move' if colour else 'colour'}"
        elif len(self._moves) >= MAX_MOVES:
            self._problem = f"it has more than {MAX_MOVES} moves"
        elif move.lower() != "resign":
            self._moves.append(FoundMove(colour, move))

    def game(self) -> ImportedGame | CannotImport | None:
        """Return the current game, or why a record cannot hold it; None if nothing was played."""
        if self._problem and not self._moves:
            return CannotImport(self._problem)
        if not self._moves:
            return None
        return ImportedGame(self._game, dict(self._options), tuple(self._moves), problem=self._problem)


def _commands(text: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield the name, the arguments and the first line of the answer ("" for none) of each command."""
    command: list[str] = []
    answer = ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if line[0] in "=?":
            answer = answer or line
            continue
        if command:
            yield command[0], command[1:], answer
        command, answer = words[1:] if words[0].isdigit() else words, ""
    if command:
        yield command[0], command[1:], answer
