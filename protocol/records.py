r"""Records: the events of a match, their hash chain, and their forms as JSON lines and as a GTP script.

All functions here are pure; the referee decides where records are kept. A line of a record is the event's canonical
JSON (sorted keys, no blanks, UTF-8, no needless escapes) plus one last key, the link of the chain. Invisible characters
are written as `\uXXXX` so that a terminal can show the line safely:

    link = SHA-256(previous link, 32 raw bytes + canonical JSON without "link"), in hex on the line

The first "previous link" is SHA-256("ggp-record-1"). The chain reveals every changed, dropped or reordered line.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from ggp.protocol._chain import check_plies, make_line
from ggp.protocol.errors import CodedError, in_words
from ggp.protocol.grammar import BOM
from ggp.protocol.printed import escaped

MAX_RECORD_LINE = 1024 * 1024  # bytes
FIRST_LINK = sha256(b"ggp-record-1").digest()
_FIRST = b'{"bots":[{"'  # how the line of a start event begins

Text = Annotated[str, Meta(max_length=4096)]
Long = Annotated[str, Meta(max_length=256 * 1024)]
Count = Annotated[int, Meta(ge=0, lt=2**53)]
Seat = Annotated[int, Meta(ge=0, le=2)]


class RecordError(CodedError, ValueError):
    """An invalid record, or one that was changed after it was written; str() names the line and the fault."""

    code = "bad-record"


class Party(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot or the engine: what it calls itself, and what was started.

    Attributes:
        name: The name that the referee gave it, unique in the match.
        program: The name that the program reports.
        version: The version that the program reports.
        command: The command line that started it.
        hash: The bot's version in a ladder: twelve hex digits over the program, the files among its arguments, its
            options and its environment; "" if no files can be read, as over a network.
        control: Its own time control; "" for the match's.
        settings: Other settings of this bot that affect its play, without the values of environment variables.
        sandbox: Its sandbox level, its permissions, and what this machine could not enforce; "" for no sandbox.
    """

    name: Text
    program: Text = ""
    version: Text = ""
    command: Text = ""
    hash: Text = ""
    control: Text = ""
    settings: Text = ""
    sandbox: Text = ""


class MatchStarted(msgspec.Struct, frozen=True, tag_field="event", tag="start", kw_only=True, omit_defaults=True):
    """The start of a match.

    Attributes:
        options: The game's options, as given to ggp-new.
        bots: The bots by seat.
        control: The time control of each bot that has none of its own.
        margin: Milliseconds that a bot may exceed its time.
        opening: The plies that were played before the bots' first move.
    """

    seq: Count = 0
    match: Text
    game: Text
    options: dict[Text, Text]
    bots: tuple[Party, Party]
    engine: Party
    control: Text
    margin: Count = 50
    max_plies: Count = 0
    seed: int = 0
    opening: tuple[Text, ...] = ()
    book: Text = ""  # the file and the line of the opening, and the file's hash
    adjudication: Text = ""  # the rules that may end the match early, and the bot that judges it
    continues: Text = ""  # KEY@PLY of the match that this one continues after some plies were taken back
    referee: Text = ""
    started: Text = ""  # UTC, ISO 8601

    @property
    def controls(self) -> tuple[str, str]:
        """Return the time control of each seat."""
        first, second = self.bots
        return first.control or self.control, second.control or self.control

    @property
    def time(self) -> str:
        """Return the time control as text: `10+0.1`, or `10+0.1 against 5+0.05` if the seats differ."""
        return " against ".join(dict.fromkeys(self.controls))


class MovePlayed(msgspec.Struct, frozen=True, tag_field="event", tag="ply", omit_defaults=True, gc=False):
    """A ply: the seat, the colour that it held before the ply, and the canonical move.

    Attributes:
        ply: Number of the ply, from 1.
        ms: Milliseconds used; 0 for a ply of the opening.
        left: Milliseconds left, or None if the time control has no limit.
    """

    seq: Count
    match: Text
    ply: Count
    seat: Seat
    colour: Text
    move: Text
    ms: Count
    left: int | None = None
    analysis: Long = ""


class Diagnostics(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Evidence of a fault: the last lines of dialogue, the tail of stderr and a description of the exit status."""

    dialogue: tuple[Long, ...] = ()
    stderr: Long = ""
    exit: Text = ""


class MatchEnded(msgspec.Struct, frozen=True, tag_field="event", tag="end", kw_only=True, omit_defaults=True):
    """The end of a match; `result` as in the rules of the game, "" if the match is void.

    Attributes:
        winner: The winner's seat, 0 for none.
        culprit: Who caused the end: seat1, seat2, engine, referee, network or "".
        ms: Milliseconds used in the last turn, if it ended the match without a ply (a fault or a resignation).
        stolen: By seat, milliseconds of its turns that interrupts took; they were not charged.
        slow_input: By seat, milliseconds that the referee spent on writing to a bot that reads slowly; they were
            charged.
        stderr: By seat, the tail of what each bot wrote to stderr in this match; () if nothing.
    """

    seq: Count
    match: Text
    result: Text
    winner: Seat
    termination: Text
    culprit: Text = ""
    detail: Long = ""
    analysis: Long = ""  # the bot's analysis of a resignation or refusal that ended the match
    plies: Count = 0
    ms: Count = 0
    hash: Text = ""
    suspect: bool = False
    score: Long = ""  # the engine's ggp-score
    warnings: tuple[Text, ...] = ()
    stolen: tuple[Count, ...] = ()
    slow_input: tuple[Count, ...] = ()
    diagnostics: Diagnostics | None = None
    stderr: tuple[Long, ...] = ()
    ended: Text = ""  # UTC, ISO 8601


Event = MatchStarted | MovePlayed | MatchEnded

_LINK = re.compile(rb',"link":"[0-9a-f]{64}"}')
_LINK_AT = -len(',"link":""}') - 64  # where it begins in a line

_encode = msgspec.json.Encoder(order="sorted").encode
_decode: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Chain:
    """A writer that turns the events of one match, in order, into the lines of its record."""

    def __init__(self) -> None:
        self._link = FIRST_LINK

    def line(self, event: Event) -> bytes:
        """Return the record line of the next event, with its LF.

        Raises:
            RecordError: The line could not be read back; the chain is then unchanged.
        """
        try:
            canonical = _encode(event)
        except UnicodeEncodeError as error:
            raise RecordError(
                f"{_name(event)} event {event.seq} holds text that is not Unicode: {error}", code="not-unicode"
            ) from None
        if (made := make_line(canonical, self._link)) is not None:
            line, self._link = made
            return line
        link = sha256(self._link + canonical).digest()
        line = b'%b,"link":"%b"}' % (canonical[:-1], link.hex().encode())
        if not canonical.isascii() or 0x7F in canonical:
            line = escaped_line(line)
        if len(line) > MAX_RECORD_LINE:
            raise RecordError(
                f"{_name(event)} event {event.seq} has {len(line)} bytes, too many for a line: shorten its texts",
                code="too-long",
            )
        self._link = link
        return line + b"\n"


class Record(msgspec.Struct, frozen=True):
    """The recorded part of a match. A record that stops early has no `end`."""

    start: MatchStarted
    plies: tuple[MovePlayed, ...]
    end: MatchEnded | None

    def lines(self) -> bytes:
        """Return the record as JSON lines, with a newly computed chain."""
        chain = Chain()
        events: tuple[Event, ...] = (self.start, *self.plies, *([self.end] if self.end else []))
        return b"".join(chain.line(event) for event in events)


class RecordReader:
    """A reader of the lines of one match that checks their hash chain."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._link = FIRST_LINK

    @property
    def record(self) -> Record:
        """Return the match so far; at least the start event must have been read."""
        start, end = self.events[0], self.events[-1]
        assert isinstance(start, MatchStarted)
        plies = tuple(event for event in self.events if isinstance(event, MovePlayed))
        return Record(start, plies, end if isinstance(end, MatchEnded) else None)

    def read(self, line: bytes) -> None:
        """Read the next line, given without its LF.

        Raises:
            RecordError: The line does not continue the match; it is then ignored.
        """
        number = len(self.events) + 1
        self._add(*_read_line(line, number), number)

    def _add(self, event: Event, canonical: bytes, claimed: str, number: int) -> None:
        begins = isinstance(event, MatchStarted) and event.seq == 0
        if begins != (not self.events) or (
            self.events and (event.seq != len(self.events) or event.match != self.events[0].match)
        ):
            raise RecordError(
                f"line {number}: {_name(event)} event {event.seq} does not belong here", code="out-of-order"
            )
        link = sha256(self._link + canonical).digest()
        if link.hex() != claimed:
            raise RecordError(
                f"line {number}: was changed after it was written, or lines before it are missing", code="changed"
            )
        self._link = link
        self.events.append(event)


def read_records(
    lines: Iterable[bytes],
    torn: Callable[[str], None] | None = None,
    damaged: Callable[[str], None] | None = None,
) -> Iterator[Record]:
    """Yield the matches of a file of records, checking every hash chain.

    A match that is not followed by its end event was cut off, and is yielded without an `end`. A writer that was killed
    may leave half a line. Such a line may be followed only by a start event (on the same or the next line) or by the
    end of the file.

    Args:
        lines: The lines of the file.
        torn: Called with a message for each half line; its match counts as cut off.
        damaged: Called with the error message of a damaged match; the match is dropped, and reading resumes at the next
            start event.

    Raises:
        RecordError: A line is unreadable, out of order or changed, and `damaged` is None.
    """
    match = RecordReader()
    half = ""  # the message about the line before this one, if that was half a line
    dropping = False  # inside the rest of a damaged match
    for number, raw in enumerate(lines, 1):
        line = (raw.removeprefix(BOM) if number == 1 else raw).rstrip(b"\n")
        if not line.strip() or (dropping and not line.startswith(_FIRST)):
            continue
        dropping = False
        try:
            if half and not line.startswith(_FIRST[: len(line)]):
                raise RecordError(f"{half}, and no new match follows it: the record was changed", code="changed")
            half = ""
            begins = line.rfind(_FIRST)  # it cannot occur inside a text, where its quotes would be escaped
            if torn and begins > 0 and _is_half(line[:begins], bool(match.events), joined=True):
                torn(_half(number, begins))
                line = line[begins:]
            if torn and _is_half(line, bool(match.events), joined=False):
                half = _half(number, len(line))
                torn(half)
                continue
            event, canonical, claimed = _read_line(line, number)
            if isinstance(event, MatchStarted) and event.seq == 0:
                if match.events:
                    yield match.record
                match = RecordReader()
            match._add(event, canonical, claimed, number)
        except RecordError as error:
            if damaged is None:
                raise
            damaged(str(error))
            match, half, dropping = RecordReader(), "", True
            continue
        if isinstance(event, MatchEnded):
            yield match.record
            match = RecordReader()
    if match.events:
        yield match.record


class MatchSummary(NamedTuple):
    """A summary of a complete match: its start, its end, and the milliseconds that seats 1 and 2 used."""

    start: MatchStarted
    end: MatchEnded
    ms: tuple[int, int]


def read_summary(lines: bytes) -> MatchSummary:
    """Return the summary of the one match in these lines, and check its hash chain as read_records does.

    Raises:
        RecordError: The record is invalid, or is not exactly one complete match.
    """
    if (summary := _plain_summary(lines)) is not None:
        return summary
    found = list(read_records(lines.splitlines(keepends=True)))
    if len(found) != 1 or found[0].end is None:
        raise RecordError(f"the record holds {len(found)} matches, not exactly one complete match")
    first, second = (sum(ply.ms for ply in found[0].plies if ply.seat == seat) for seat in (1, 2))
    return MatchSummary(found[0].start, found[0].end, (first, second))


_MOVE = re.compile(rb'"event":"ply".*?"move":"((?:[^"\\]|\\.)*)"')  # keys are sorted; quotes in texts are escaped


def moves_of(lines: bytes) -> list[str]:
    """Return all moves in the lines of a match, the opening included, without checking the record.

    Raises:
        RecordError: A move is not valid text.
    """
    found = _MOVE.findall(lines)
    try:
        return [move.decode() if b"\\" not in move else msgspec.json.decode(b'"%b"' % move, type=str) for move in found]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RecordError(f"a move is not valid text: {error}") from None


def _plain_summary(lines: bytes) -> MatchSummary | None:
    """Return the summary of a record of one start, plain plies and one end. Return None for any other shape."""
    plies = lines.find(b"\n") + 1
    try:
        start, canonical, claimed = _read_line(lines[: plies - 1], 1)
        link = sha256(FIRST_LINK + canonical).digest()
        if not isinstance(start, MatchStarted) or start.seq or link.hex() != claimed:
            return None
        at, number, first, second, link = check_plies(lines, plies, _encode(start.match), link)
        last = lines[at:-1]
        if b"\n" in last or b"\r" in last or lines[-1:] != b"\n":
            return None
        end, canonical, claimed = _read_line(last, number + 2)
    except RecordError:
        return None
    if not isinstance(end, MatchEnded) or end.seq != number + 1 or end.match != start.match:
        return None
    return MatchSummary(start, end, (first, second)) if sha256(link + canonical).hexdigest() == claimed else None


def escaped_line(line: bytes) -> bytes:
    """Return a line with its invisible characters escaped; its values and its chain do not change."""
    return line if line.isascii() and 0x7F not in line else escaped(line.decode()).encode()


def gtp_script(record: Record) -> str:
    """Return the record as commands that any engine of the game can run.

    A script of go is plain GTP, for any Go program. GTP has no commands for Go's `agreement` and `ko` options or for
    lists of dead stones, so a record with dead lists becomes a GGP script.
    """
    options = record.start.options
    dead_lists = any(ply.move.startswith("dead:") for ply in record.plies)
    if record.start.game == "go" and not dead_lists:
        lines = [f"boardsize {options.get('size', '19')}", "clear_board", f"komi {options.get('komi', '7.5')}"]
        if options.get("handicap", "0") != "0":
            lines.append(f"fixed_handicap {options['handicap']}")
        lines += [f"play {ply.colour} {ply.move}" for ply in record.plies]
        return "\n".join([*lines, "final_score", ""])
    lines = [" ".join(["ggp-new", record.start.game, *(f"{name}={value}" for name, value in options.items())])]
    lines += [f"ggp-play {ply.colour} {ply.move}" for ply in record.plies]
    return "\n".join([*lines, "ggp-status", ""])


def _half(number: int, size: int) -> str:
    return f"line {number}: only the first {size} bytes of an event were written"


def _is_half(line: bytes, begun: bool, joined: bool) -> bool:
    """Return True if the line is the first part of a start event, or of any event if the match has begun.

    If another line is `joined` to it, the line is incomplete: at least its LF is missing.
    """
    if len(line) > MAX_RECORD_LINE or not line.startswith(b"{" if begun else _FIRST[: len(line)]):
        return False
    if joined:
        return True
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # a half line may even end inside a character
        return True
    return False


def _read_line(line: bytes, number: int) -> tuple[Event, bytes, str]:
    """Return an event, its canonical bytes and the link that the line claims."""
    if len(line) > MAX_RECORD_LINE:
        raise RecordError(f"line {number}: longer than {MAX_RECORD_LINE} bytes", code="too-long")
    try:
        if (plain := _read_plain(line)) is not None:
            return plain
        fields: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        claimed = fields.pop("link", None)
        if not isinstance(claimed, str):
            raise RecordError(f'line {number}: has no "link", so it is not a record line', code="not-a-record")
        canonical = _encode(fields)
        whole = _with_link(canonical, claimed)
        if line != whole and line != escaped_line(whole):
            raise RecordError(
                f"line {number}: is not canonical JSON with its link at the end: it was changed", code="not-canonical"
            )
        return _decode.decode(line), canonical, claimed
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RecordError(f"line {number}: not a record line: {in_words(error)}", code="not-a-record") from None


def _read_plain(line: bytes) -> tuple[Event, bytes, str] | None:
    """Read a line that is exactly what the writer makes of its event. Return None for any other line."""
    canonical, link = line[:_LINK_AT] + b"}", line[_LINK_AT:]
    if not _LINK.fullmatch(link):
        return None
    try:
        event = _decode.decode(canonical)
        return (event, canonical, link[9:-2].decode()) if _encode(event) == canonical else None
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):  # _read_line reports the error
        return None


def _with_link(canonical: bytes, link: str) -> bytes:
    return b'%b,"link":%b}' % (canonical[:-1], _encode(link))


def _name(event: Event) -> str:
    return {MatchStarted: "start", MovePlayed: "ply", MatchEnded: "end"}[type(event)]
