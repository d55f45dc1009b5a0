"""Reads results of games from CSV, PGN and SGF text, and from our records; every size is bounded.

CSV: the columns `first,second,result[,count]` by their header, or in that order without one; `result` is 1, 0.5 or 0
for the first. PGN: the tags White (the first), Black and Result of every game. SGF: PB (the first), PW and RE. Records:
the start and the end of each match; seat 1 is the first. Games without a result are counted, and left out.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO, NamedTuple

import msgspec

from ggp.protocol.errors import Problem
from ggp.protocol.records import MatchStarted, RecordError, moves_of, read_summary
from ggp.protocol.sgf import SgfError, decode, main_lines
from ggp.referee.ratings.repeats import Observations, line_digest

LONGEST_LINE = 1 << 20  # bytes; a whole game of PGN may stand in one line
_LONGEST_EVENT = 1 << 24  # bytes of a line of a record
_LONGEST_SGF = 1 << 26  # bytes of a file
_SGF_RESULTS = {"B": 0, "W": 2, "0": 1, "DRAW": 1, "JIGO": 1}
LONGEST_NAME = 200
_COMMAND = 60  # characters of a command in a label
_LONGEST_MATCH = 1 << 26  # bytes of its lines
MOST_BOTS = 5_000  # their covariance takes 200 MB
MOST_GAMES = 10**12  # of one line

_POINTS = {"1": 0, "1.0": 0, "1-0": 0, "0.5": 1, ".5": 1, "1/2": 1, "1/2-1/2": 1, "0": 2, "0.0": 2, "0-1": 2}
_COLUMNS = ("first", "second", "result", "count")
_MOST_PGN_LINES = 10_000  # of the moves of a game
_PGN_COMMENT = re.compile(r"\{[^}]*\}|\d+\.+")  # and the numbers of moves
_PGN_MOVE = re.compile(r"[A-Za-z]")
_TAG = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*$')


class ResultsError(Problem, ValueError):
    """Invalid results: the message names file and line, and the right form."""

    code = "bad-results"


class RatedBot(NamedTuple):
    """The identity of a bot. A CSV file has only its name, and the other fields are "".

    `game` is the game with its options, `command` and `hash` those of a record, `control` the match's time control.
    """

    name: str
    game: str = ""
    control: str = ""
    command: str = ""
    hash: str = ""


class Line(NamedTuple):
    """Digests of the opening and the moves of a game: see repeats."""

    opening: int
    moves: int


@dataclass(slots=True)
class Results:
    """Wins, ties and losses of the first bot for each ordered pair of bots, in the order they are read.

    Bots go by labels: their names, with what tells them apart where several bots have one name. Of two bots, matches
    2k + 1 and 2k + 2 of a series are a pair; its points are those of the first bot, which has seat 1 in the first game.
    """

    bots: dict[RatedBot, None] = field(default_factory=dict)
    unfinished: int = 0  # games without a result, void ones among them
    damaged: int = 0  # lines of records that cannot be read
    changed: int = 0  # matches that are not as they were written
    nameless: int = 0  # SGF without PB or PW
    self_play: int = 0  # games of a bot against itself, which say nothing about its rating
    lines: Observations = field(default_factory=Observations)  # the games, each repeated one counted once
    penta: list[int] = field(default_factory=lambda: [0] * 5)  # complete pairs by their points, 0 to 2 in halves
    pair_lines: Observations = field(default_factory=Observations)  # the pairs, each repeated one counted once
    _cells: dict[tuple[RatedBot, RatedBot], list[float]] = field(default_factory=dict)
    _halves: dict[tuple[str, int], tuple[int, int, Line | None]] = field(default_factory=dict)
    _swapped: bool = False

    @property
    def labels(self) -> dict[RatedBot, str]:
        """Return the label of each bot, in the order read."""
        named = dict[str, list[RatedBot]]()
        for bot in self.bots:
            named.setdefault(bot.name, []).append(bot)
        apart = {bot: label for bots in named.values() for bot, label in _told_apart(bots).items()}
        return {bot: apart[bot] for bot in self.bots}

    @property
    def names(self) -> list[str]:
        """Return the labels in the order read. Of two bots, the first one comes first."""
        return list(self.labels.values())[:: -1 if self._swapped else 1]

    @property
    def several(self) -> dict[str, list[str]]:
        """Return the names that several bots have, with the labels of these bots."""
        found = dict[str, list[str]]()
        for bot, label in self.labels.items():
            found.setdefault(bot.name, []).append(label)
        return {name: labels for name, labels in found.items() if len(labels) > 1}

    @property
    def cells(self) -> dict[tuple[str, str], list[float]]:
        """Return all games, by the labels of first and second."""
        labels = self.labels
        return {(labels[first], labels[second]): cell for (first, second), cell in self._cells.items()}

    def rows(self) -> Iterator[tuple[str, str, float, float, float]]:
        """Yield what ratings are computed from: the games without those that repeat others."""
        labels = self.labels
        for first, second in self._cells:
            wins, ties, losses = (float(self.lines.counts[first, second, outcome]) for outcome in range(3))
            yield labels[first], labels[second], wins, ties, losses

    def totals(self) -> dict[str, tuple[int, float]]:
        """Return games and points of every bot, by label; games that repeat others are among them."""
        found = dict.fromkeys(self.names, (0, 0.0))
        for (first, second), (wins, ties, losses) in self.cells.items():
            games = int(wins + ties + losses)
            for name, points in ((first, wins + ties / 2), (second, losses + ties / 2)):
                found[name] = found[name][0] + games, found[name][1] + points
        return found

    def add(
        self, first: RatedBot, second: RatedBot, outcome: int, count: int = 1, match: str = "", line: Line | None = None
    ) -> None:
        """Count games.

        Args:
            first: The bot with seat 1.
            second: The bot with seat 2.
            outcome: 0, 1 or 2: the first bot won, tied or lost.
            count: How many games.
            match: The key of a single game.
            line: The moves of a single game.

        Raises:
            ResultsError: A name is invalid, or there are too many bots.
        """
        if first.name == second.name:
            self.self_play += count
            return
        series, _, number = match.partition(".")[0].rpartition("-")
        begins = not number.isdigit() or int(number) % 2 == 1
        if (first, second) not in self._cells:
            for bot in (first, second) if begins or self.bots else (second, first):
                _check_name(bot.name)
                self.bots[bot] = None
            if len(self.bots) > MOST_BOTS:
                raise ResultsError(f"there are more than {MOST_BOTS} bots", code="too-many-bots")
            self._cells[first, second] = [0.0, 0.0, 0.0]
        self._cells[first, second][outcome] += count
        if line is None:
            self.lines.add_plain((first, second, outcome), count)
        else:
            self.lines.add((first, second, line.opening), line.moves, (first, second, outcome))
        if number.isdigit() and len(self.bots) == 2:
            seat = int(first != next(iter(self.bots)))
            points = outcome if seat else 2 - outcome
            pair = series, (int(number) - 1) // 2
            other = self._halves.pop(pair, None)
            if other is None:
                self._halves[pair] = seat, points, line
            else:
                self.add_pair(other[1] + points, line, *((other[2], line) if seat else (line, other[2])))

    def leave_out(self, first: RatedBot, second: RatedBot, outcome: int, count: int) -> None:
        """Treat games that were added as repeats of others, which ratings leave out."""
        self.lines.counts[first, second, outcome] -= count
        self.lines.distinct -= count

    def add_pair(self, points: int, opening: Line | None, one: Line | None, other: Line | None) -> None:
        """Count a pair: halves of points of the first bot, the game in which it had seat 1 and the other one."""
        self.penta[points] += 1
        if opening is None or one is None or other is None:
            self.pair_lines.add_plain(points, 1)
        else:
            self.pair_lines.add(opening.opening, (one.moves, other.moves), points)

    def swap(self) -> None:
        """Make the other one of two bots the first."""
        self._swapped = not self._swapped
        self.penta.reverse()

    @property
    def single(self) -> int:
        """Return the number of games of two bots outside complete pairs."""
        return int(sum(map(sum, self._cells.values()))) - 2 * sum(self.penta)

    @property
    def games(self) -> list[int]:
        """Return losses, ties and wins of the first of two bots."""
        return self._summed(lambda first, second: self._cells.get((first, second), [0.0] * 3))

    @property
    def games_observed(self) -> list[int]:
        """Return `games` without those that repeat others."""
        counts = self.lines.counts
        return self._summed(lambda first, second: [counts[first, second, outcome] for outcome in range(3)])

    @property
    def penta_observed(self) -> list[int]:
        """Return `penta` without pairs that repeat others."""
        found = [self.pair_lines.counts[points] for points in range(5)]
        return found[::-1] if self._swapped else found

    def _summed(self, cell: Callable[[RatedBot, RatedBot], Sequence[float]]) -> list[int]:
        one, other = reversed(self.bots) if self._swapped else self.bots
        wins, ties, losses = cell(one, other)
        lost, tied, won = cell(other, one)
        return [int(losses + lost), int(ties + tied), int(wins + won)]


_FIELDS: tuple[tuple[int, Callable[[str], str]], ...] = (
    (RatedBot._fields.index("game"), lambda text: text or "unknown game"),
    (RatedBot._fields.index("control"), lambda text: f"time {text}" if text else "unknown time"),
    (RatedBot._fields.index("command"), lambda text: _shortened(text) if text else "unknown command"),
    (RatedBot._fields.index("hash"), lambda text: f"version {text[:12]}" if text else "unknown version"),
)


def _told_apart(bots: Sequence[RatedBot]) -> dict[RatedBot, str]:
    """Return the labels of bots of one name: `NAME [what differs]`."""
    if len(bots) == 1:
        return {bots[0]: bots[0].name}
    found = dict[RatedBot, str]()
    for bot in bots:
        told = [say(bot[at]) for at, say in _FIELDS if len({other[at] for other in bots}) > 1]
        label = f"{bot.name} [{', '.join(told)}]"
        found[bot] = label if label not in found.values() else f"{label} {len(found) + 1}"
    return found


def _shortened(text: str) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _COMMAND else f"…{text[1 - _COMMAND :]}"


def read_results(file: BinaryIO, source: str, into: Results) -> None:
    """Add all results of a file. Raises ResultsError for an empty file or an invalid line."""
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
        """Yield the lines that follow as they are."""
        while raw := self._file.readline(_LONGEST_EVENT + 1):
            self.number += 1
            if len(raw) > _LONGEST_EVENT:
                raise ResultsError(f"the line is longer than {_LONGEST_EVENT} bytes")
            yield raw

    def __next__(self) -> str:
        self.last = raw = self._file.readline(LONGEST_LINE + 1)
        if self.number == 0 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16: SGF alone is written so
            return raw.decode("utf-16", "ignore")
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
    """Add one line of CSV. `width` is how many cells the header has; 0 means there is no header."""
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
    into.add(RatedBot(cells[order[0]]), RatedBot(cells[order[1]]), outcome, count)


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True, skipinitialspace=True))]
    except csv.Error as error:
        raise ResultsError(f"the quotes cannot be read: {error}") from None


def _read_pgn(start: str, lines: _ResultLines, into: Results) -> None:
    """Add the games of a PGN file. A game's tags precede its moves; tags inside comments do not count."""
    tags: dict[str, str] = {}
    text = list[str]()
    moves = comment = False
    for line in chain([start], lines):
        tags, moves, comment = _pgn_line(line, tags, text, moves, comment, into)
    _add_game(tags, text, into)


def _pgn_line(
    line: str, tags: dict[str, str], text: list[str], moves: bool, comment: bool, into: Results
) -> tuple[dict[str, str], bool, bool]:
    """Return the state after a line: the tags of the game, whether its moves began, whether a comment is open.

    The lines of its moves are added to `text`.
    """
    tag = None if comment else _TAG.match(line)
    if tag is None:
        opened, closed = line.rfind("{"), line.rfind("}")
        comment = opened > closed or (comment and closed < 0)
        if len(text) < _MOST_PGN_LINES and not line.startswith("%"):
            text.append(line.partition(";")[0] if not comment else line)
        return tags, moves or not (line.isspace() or not line or line[0] in "%;"), comment
    if moves or tag[1] in tags:  # the latter: a game without moves
        _add_game(tags, text, into)
        tags = {}
    tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2])
    return tags, False, False


def _add_game(tags: dict[str, str], text: list[str], into: Results) -> None:
    """Add the game of these tags and lines of moves, which are then removed. Raises ResultsError."""
    moves = [word for word in _PGN_COMMENT.sub(" ", "\n".join(text)).split() if _PGN_MOVE.match(word)]
    text.clear()
    if missing := [name for name in ("White", "Black", "Result") if name not in tags]:
        raise ResultsError(f"the game that ends here has no tag {missing[0]}")
    result = tags["Result"]
    if result == "*":
        into.unfinished += 1
    elif result in ("1-0", "1/2-1/2", "0-1"):
        game, control = (tags.get(name, "")[:LONGEST_NAME] for name in ("Variant", "TimeControl"))
        one, other = (RatedBot(tags[name].strip(), game, control) for name in ("White", "Black"))
        line = Line(line_digest([tags.get("FEN", "")]), line_digest(moves, result)) if moves else None
        into.add(one, other, _POINTS[result], 1, line=line)
    else:
        raise ResultsError(f"the result {_short(result)} is not 1-0, 1/2-1/2, 0-1 or *")


def _bots_of(start: MatchStarted) -> tuple[RatedBot, RatedBot]:
    """Return the bots of a match by seat. Own settings make another bot: `NAME time=5+0.05 nodes=100`."""
    game = " ".join([start.game, *(f"{name}={value}" for name, value in sorted(start.options.items()))])
    found = []
    for bot in start.bots:
        words = [bot.name, f"time={bot.control}" if bot.control else "", bot.settings]
        called = " ".join(filter(None, words))[:LONGEST_NAME]
        found.append(RatedBot(called, game, start.control, bot.command, bot.hash))
    return found[0], found[1]


class _End(msgspec.Struct):
    """What a rating needs of the last line of a match: `result` is "" for a void match, `winner` 0 for a tie."""

    match: str
    result: str = ""
    winner: int = 0


_read_start = msgspec.json.Decoder(MatchStarted).decode
_read_end = msgspec.json.Decoder(_End).decode
_PLY, _START, _FINISH = b'"event":"ply"', b'"event":"start"', b'"event":"end"'  # their quotes are escaped in strings


def _read_records(lines: _ResultLines, into: Results) -> None:
    """Add the matches of a record, one after the other; half a match of a killed process is left out."""
    begun: MatchStarted | None = None
    held, size = list[bytes](), 0
    for line in chain([lines.last], lines.raw()):
        size += len(line)
        if _PLY in line:
            if begun is not None and size <= _LONGEST_MATCH:
                held.append(line)
            continue
        try:
            if _START in line:
                begun = _read_start(line)
                held, size = [line], len(line)
            elif _FINISH in line:
                end = _read_end(line)
                if begun is None or begun.match != end.match or size > _LONGEST_MATCH:
                    into.damaged += 1
                else:
                    _add_match(begun, end, held, line, into)
                begun = None
            elif not line.isspace():
                into.damaged += 1
        except (msgspec.DecodeError, IndexError):
            into.damaged += 1
            begun = None


def _add_match(start: MatchStarted, end: _End, lines: Sequence[bytes], last: bytes, into: Results) -> None:
    """Add a match, unless it has no result or is not as it was written. Raises IndexError, ResultsError."""
    whole = b"".join([*lines, last if last.endswith(b"\n") else last + b"\n"])
    try:
        read_summary(whole)
        moves = moves_of(whole)
    except RecordError:
        into.changed += 1
        return
    if not end.result:
        into.unfinished += 1
        return
    one, other = _bots_of(start)
    line = Line(line_digest(start.opening), line_digest(moves, end.result))
    into.add(one, other, (1, 0, 2)[end.winner], 1, end.match, line)


def _read_sgf(start: bytes, file: BinaryIO, into: Results) -> None:
    """Add the games of a collection. Raises ResultsError."""
    data = start + file.read(_LONGEST_SGF + 1)
    if len(data) > _LONGEST_SGF:
        raise ResultsError(f"a file of SGF is at most {_LONGEST_SGF >> 20} MiB: rate several files")
    try:
        for nodes in main_lines(decode(data), unclosed=True):
            root = {name: values[0].strip() for name, values in nodes[0].items() if values}
            black, white = root.get("PB", ""), root.get("PW", "")
            if not (black and white):
                into.nameless += 1
                continue
            result = root.get("RE", "").upper()
            if (outcome := _SGF_RESULTS.get(result.partition("+")[0])) is None:
                into.unfinished += 1
            else:
                game = f"GM={root.get('GM') or '1'} size={root.get('SZ') or '19'}"  # the standard's defaults
                moves = [f"{name}{values}" for node in nodes for name, values in node.items() if name in ("B", "W")]
                setup = [f"{name}{values}" for name, values in nodes[0].items() if name in ("AB", "AW", "PL", "KM")]
                line = Line(line_digest(setup), line_digest(moves, result)) if moves else None
                one, other = (RatedBot(name, game[:LONGEST_NAME]) for name in (black, white))
                into.add(one, other, outcome, 1, line=line)
    except SgfError as error:
        raise ResultsError(f"not SGF: {error}") from None


def _check_name(name: str) -> None:
    if not name:
        raise ResultsError("a name is empty")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ResultsError(f"the name {_short(name)} is longer than {LONGEST_NAME} characters or not printable")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
