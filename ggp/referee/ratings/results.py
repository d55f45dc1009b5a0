"""Reads results of games from CSV, PGN and SGF text, and from our records; every size is bounded.

CSV: the columns `first,second,result[,count]` by their header, or in that order without one; `result` is 1, 0.5 or 0
for the first. PGN: the tags White (the first), Black and Result of every game. SGF: PB (the first), PW and RE. Records:
the start and the end of each match; seat 1 is the first. Games without a result are counted, and left out.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

import msgspec

from ggp.protocol.errors import Problem
from ggp.protocol.sgf import SgfError, decode, main_lines

LONGEST_LINE = 1 << 20  # bytes; a whole game of PGN may stand in one line
_LONGEST_EVENT = 1 << 24  # bytes of a line of a record
_LONGEST_SGF = 1 << 26  # bytes of a file
_SGF_RESULTS = {"B": 0, "W": 2, "0": 1, "DRAW": 1, "JIGO": 1}
LONGEST_NAME = 200
MOST_BOTS = 5_000  # their covariance takes 200 MB
MOST_GAMES = 10**12  # of one line

_POINTS = {"1": 0, "1.0": 0, "1-0": 0, "0.5": 1, ".5": 1, "1/2": 1, "1/2-1/2": 1, "0": 2, "0.0": 2, "0-1": 2}
_COLUMNS = ("first", "second", "result", "count")
_TAG = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*$')


class ResultsError(Problem, ValueError):
    """Invalid results: the message names file and line, and the right form."""

    code = "bad-results"


@dataclass(slots=True)
class Results:
    """Wins, ties and losses of the first per ordered pair, in the order read; and games that had no result yet."""

    cells: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    unfinished: int = 0  # void ones, too
    damaged: int = 0  # lines of records that cannot be read

    def rows(self) -> Iterator[tuple[str, str, float, float, float]]:
        for (first, second), (wins, ties, losses) in self.cells.items():
            yield first, second, wins, ties, losses

    def add(self, first: str, second: str, outcome: int, count: int, match: str = "") -> None:
        """`outcome` 0, 1, 2: the first won, tied, lost; `match`: its key, if it has one. ResultsError for bad names."""
        cell = self.cells.get((first, second))
        if cell is None:
            for name in (first, second):
                _check_name(name)
                self.names[name] = None
            if first == second:
                raise ResultsError(f"{first} plays against itself")
            if len(self.names) > MOST_BOTS:
                raise ResultsError(f"there are more than {MOST_BOTS} bots", code="too-many-bots")
            cell = self.cells[first, second] = [0.0, 0.0, 0.0]
        cell[outcome] += count


@dataclass(slots=True)
class PairedResults(Results):
    """Results of two bots, with their pairs: matches 2k + 1 and 2k + 2 of a series are one.

    `penta`: complete pairs by the points of the first bot in them, 0 to 2 in halves. The first bot is the one that has
    seat 1 in the first game of a pair. `single`: games that belong to no complete pair.
    """

    penta: list[int] = field(default_factory=lambda: [0] * 5)
    _halves: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def single(self) -> int:
        return int(sum(map(sum, self.cells.values()))) - 2 * sum(self.penta)

    def add(self, first: str, second: str, outcome: int, count: int, match: str = "") -> None:
        series, _, number = match.partition(".")[0].rpartition("-")
        begins = not number.isdigit() or int(number) % 2 == 1
        self.names = self.names or dict.fromkeys((first, second) if begins else (second, first))
        Results.add(self, first, second, outcome, count, match)
        if len(self.names) > 2 or not number.isdigit():
            return
        points = (2 - outcome) if first == next(iter(self.names)) else outcome
        pair = series, (int(number) - 1) // 2
        other = self._halves.pop(pair, None)
        if other is None:
            self._halves[pair] = points
        else:
            self.penta[points + other] += 1

    def swap(self) -> None:
        """Make the other bot the first."""
        self.names = dict.fromkeys(reversed(list(self.names)))
        self.penta.reverse()

    @property
    def games(self) -> list[int]:
        """Losses, ties and wins of the first bot."""
        one, other = self.names
        wins, ties, losses = self.cells.get((one, other), [0.0] * 3)
        lost, tied, won = self.cells.get((other, one), [0.0] * 3)
        return [int(losses + lost), int(ties + tied), int(wins + won)]


def read_results(file: BinaryIO, source: str, into: Results) -> None:
    """Add all results of a file. ResultsError for the first invalid line, or for an empty file."""
    lines = _ResultLines(file)
    try:
        start = next((line for line in lines if line.strip()), "")
        if not start:
            raise ResultsError("there is no result: write lines first,second,result, or games in PGN")
        if start.startswith("{"):
            _read_records(lines, into)
        elif start.lstrip().startswith("("):
            _read_sgf(lines.last, file, into)
        elif start.lstrip().startswith(("[", "%", ";")):
            lines.pgn = True
            _read_pgn(start, lines, into)
        else:
            _read_csv(start, lines, into)
    except ResultsError as error:
        raise ResultsError(f"{source}, line {lines.number}: {error}", code=error.code) from None


class _ResultLines:
    """The lines of a file without their ends; `number` is that of the last one given, `last` its bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.number, self.pgn = file, 0, False
        self.last = b""

    def __iter__(self) -> "_ResultLines":
        return self

    def raw(self) -> Iterator[bytes]:
        """The lines that follow as they are."""
        while raw := self._file.readline(_LONGEST_EVENT + 1):
            self.number += 1
            if len(raw) > _LONGEST_EVENT:
                raise ResultsError(f"the line is longer than {_LONGEST_EVENT} bytes")
            yield raw

    def __next__(self) -> str:
        self.last = raw = self._file.readline(LONGEST_LINE + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) > LONGEST_LINE:
            raise ResultsError(f"the line is longer than {LONGEST_LINE} bytes")
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            if self.pgn or raw.startswith((b"[", b"(")):  # what the standard of PGN says, and older programs write
                return raw.decode("latin-1").rstrip("\r\n")
            raise ResultsError("the line is not UTF-8 text") from None


def _read_csv(start: str, lines: _ResultLines, into: Results) -> None:
    head = [cell.lower() for cell in _cells(start)]
    if "result" in head:
        if unknown := [name for name in head if name not in _COLUMNS]:
            raise ResultsError(f"there is no column {unknown[0]!r}: the columns are {','.join(_COLUMNS)}")
        if missing := [name for name in _COLUMNS[:3] if head.count(name) != 1]:
            raise ResultsError(f"the column {missing[0]!r} must be there once")
        order = [head.index(name) if name in head else -1 for name in _COLUMNS]
    else:
        order = [0, 1, 2, 3]
        _add_line(start, order, 0, into)
    for line in lines:
        if line and not line.isspace():
            _add_line(line, order, len(head) if "result" in head else 0, into)


def _add_line(line: str, order: list[int], width: int, into: Results) -> None:
    """One line of CSV; `width` is how many cells the header has, 0: there is none."""
    cells = _cells(line)
    if len(cells) != width and not (width == 0 and len(cells) in (3, 4)):
        raise ResultsError(f"there are {len(cells)} cells, not {width or '3 or 4'}: first,second,result[,count]")
    result, place = cells[order[2]], order[3]
    outcome = _POINTS.get(result)
    if outcome is None:
        raise ResultsError(f"the result {_short(result)} is not 1, 0.5 or 0 (points of the first)")
    count = 1
    if 0 <= place < len(cells):
        count = int(cells[place]) if re.fullmatch(r"[0-9]{1,13}", cells[place]) else -1
        if not 0 <= count <= MOST_GAMES:
            raise ResultsError(f"the count {_short(cells[place])} is not a whole number up to {MOST_GAMES}")
    into.add(cells[order[0]], cells[order[1]], outcome, count)


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True, skipinitialspace=True))]
    except csv.Error as error:
        raise ResultsError(f"the quotes cannot be read: {error}") from None


def _read_pgn(start: str, lines: _ResultLines, into: Results) -> None:
    """A game's tags precede its moves; tags inside comments do not count."""
    tags: dict[str, str] = {}
    moves = comment = False
    for line in chain([start], lines):
        tags, moves, comment = _pgn_line(line, tags, moves, comment, into)
    _add_game(tags, into)


def _pgn_line(
    line: str, tags: dict[str, str], moves: bool, comment: bool, into: Results
) -> tuple[dict[str, str], bool, bool]:
    """The state after a line: the tags of the game, whether its moves began, whether a comment is open."""
    tag = None if comment else _TAG.match(line)
    if tag is None:
        opened, closed = line.rfind("{"), line.rfind("}")
        comment = opened > closed or (comment and closed < 0)
        return tags, moves or not (line.isspace() or not line or line[0] in "%;"), comment
    if moves:
        _add_game(tags, into)
        tags = {}
    if tag[1] in tags:  # a game without moves: the next one's tags begin
        _add_game(tags, into)
        tags = {}
    tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2])
    return tags, False, False


def _add_game(tags: dict[str, str], into: Results) -> None:
    if missing := [name for name in ("White", "Black", "Result") if name not in tags]:
        raise ResultsError(f"the game that ends here has no tag {missing[0]}")
    result = tags["Result"]
    if result == "*":
        into.unfinished += 1
    elif result in ("1-0", "1/2-1/2", "0-1"):
        into.add(tags["White"].strip(), tags["Black"].strip(), _POINTS[result], 1)
    else:
        raise ResultsError(f"the result {_short(result)} is not 1-0, 1/2-1/2, 0-1 or *")


class _Named(msgspec.Struct):
    name: str
    control: str = ""
    settings: str = ""


def _called(bot: _Named) -> str:
    """A bot with settings of its own is another one than without them: `NAME time=5+0.05 nodes=100`."""
    if not (bot.control or bot.settings):
        return bot.name
    words = [bot.name, f"time={bot.control}" if bot.control else "", bot.settings]
    return " ".join(filter(None, words))[:LONGEST_NAME]


class _Start(msgspec.Struct):
    """What a rating needs of the first line of a match."""

    match: str
    bots: tuple[_Named, _Named]


class _End(msgspec.Struct):
    """And of the last one: `result` is "" for a void match, `winner` 0 for a tie, else the seat."""

    match: str
    result: str = ""
    winner: int = 0


_read_start = msgspec.json.Decoder(_Start).decode
_read_end = msgspec.json.Decoder(_End).decode
_PLY, _START, _FINISH = b'"event":"ply"', b'"event":"start"', b'"event":"end"'  # their quotes are escaped in strings


def _read_records(lines: _ResultLines, into: Results) -> None:
    """Matches of a record, which stand one after the other; half a match of a killed process is left out."""
    begun: _Start | None = None
    for line in chain([lines.last], lines.raw()):
        if _PLY in line:
            continue
        try:
            if _START in line:
                begun = _read_start(line)
            elif _FINISH in line:
                end = _read_end(line)
                if begun is None or begun.match != end.match:
                    into.damaged += 1
                elif not end.result:
                    into.unfinished += 1
                else:
                    one, other = begun.bots
                    into.add(_called(one), _called(other), (1, 0, 2)[end.winner], 1, end.match)
                begun = None
            elif not line.isspace():
                into.damaged += 1
        except (msgspec.DecodeError, IndexError):
            into.damaged += 1
            begun = None


def _read_sgf(start: bytes, file: BinaryIO, into: Results) -> None:
    """The games of a collection. Raises ResultsError."""
    data = start + file.read(_LONGEST_SGF + 1)
    if len(data) > _LONGEST_SGF:
        raise ResultsError(f"a file of SGF is at most {_LONGEST_SGF >> 20} MiB: rate several files")
    try:
        for nodes in main_lines(decode(data), unclosed=True):
            black, white = (nodes[0].get(name, [""])[0].strip() for name in ("PB", "PW"))
            if not (black and white):
                raise ResultsError("a game lacks PB or PW, the names of its players")
            result = nodes[0].get("RE", [""])[0].strip().upper()
            if (outcome := _SGF_RESULTS.get(result.partition("+")[0])) is None:
                into.unfinished += 1
            else:
                into.add(black, white, outcome, 1)
    except SgfError as error:
        raise ResultsError(f"not SGF: {error}") from None


def _check_name(name: str) -> None:
    if not name:
        raise ResultsError("a name is empty")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ResultsError(f"the name {_short(name)} is longer than {LONGEST_NAME} characters or not printable")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
