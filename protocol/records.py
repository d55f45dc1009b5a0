"""Records: the events of a match, their hash chain, and their forms as JSON lines and as a GTP script.

Pure functions over bytes; where records are kept is the referee's part. A line of a record is the event's
canonical JSON (keys sorted, no blanks, UTF-8, nothing escaped that need not be) with the chain's link as one more
key at its end, and with invisible characters written `\\uXXXX`, so that a terminal can show it:

    link = SHA-256(previous link, 32 raw bytes + canonical JSON without "link"), in hex on the line

The first "previous link" is SHA-256("ggp-record-1"). So a changed, dropped or reordered line is detected.
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
    """Not a record, or a changed one; str() names the line and the fault."""

    code = "bad-record"


class Party(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot or the engine: how it named itself, and what was started.

    `name` is ours, unique in the match; `program` and `version` are its own words. `hash` is the version of a bot as in
    a ladder: twelve hex digits for the program, the files among its arguments, its options and its environment, "" if
    there are none to read, as over a network. `control`: its own, "" for the match's; `settings`: others of its own
    that decide how it plays, without values of environment variables; `sandbox`: its level, its permissions, and what
    this machine could not enforce, "" for none.
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
    """The start of a match. `bots` by seat; `options` as given to ggp-new; `opening`: plies that no bot chose.

    `control` is that of each bot without its own.
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
    adjudication: Text = ""  # the rules by which the match may end early, and the bot that judges it
    continues: Text = ""  # KEY@PLY of the match that this one goes on from, after plies of it were taken back
    referee: Text = ""
    started: Text = ""  # UTC, ISO 8601

    @property
    def controls(self) -> tuple[str, str]:
        """Return the time control of each seat."""
        first, second = self.bots
        return first.control or self.control, second.control or self.control

    @property
    def time(self) -> str:
        """Return the time control in words: `10+0.1`, or `10+0.1 against 5+0.05` if the seats differ."""
        return " against ".join(dict.fromkeys(self.controls))


class MovePlayed(msgspec.Struct, frozen=True, tag_field="event", tag="ply", omit_defaults=True, gc=False):
    """A ply: the colour that the seat held before it, the canonical move, whole ms used and left.

    `ply` counts from 1. `left` is None if the control has no limit; a ply of the opening took 0 ms.
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
    """The traces of a fault: the last lines of dialogue, the tail of stderr, the exit status in words."""

    dialogue: tuple[Long, ...] = ()
    stderr: Long = ""
    exit: Text = ""


class MatchEnded(msgspec.Struct, frozen=True, tag_field="event", tag="end", kw_only=True, omit_defaults=True):
    """The end of a match. `result` as in RULES ("" for void); `winner` and `culprit` are seats, 0 for none."""

    seq: Count
    match: Text
    result: Text
    winner: Seat
    termination: Text
    culprit: Text = ""  # seat1, seat2, engine, referee, network or ""
    detail: Long = ""
    analysis: Long = ""  # of an answer that is no ply: the resignation or the refusal that ended it
    plies: Count = 0
    ms: Count = 0  # used of its time by the seat at fault, or that resigned, in the turn that ended it and is no ply
    hash: Text = ""
    suspect: bool = False
    score: Long = ""  # the engine's ggp-score
    warnings: tuple[Text, ...] = ()
    stolen: tuple[Count, ...] = ()  # by seat, the ms of its turns that interrupts took and that were not charged
    slow_input: tuple[Count, ...] = ()  # by seat, the ms that writes to it took because of how it reads, charged
    diagnostics: Diagnostics | None = None
    stderr: tuple[Long, ...] = ()  # by seat, the tail of what each bot wrote there in this match; () if nothing
    ended: Text = ""  # UTC, ISO 8601


Event = MatchStarted | MovePlayed | MatchEnded

_LINK = re.compile(rb',"link":"[0-9a-f]{64}"}')
_LINK_AT = -len(',"link":""}') - 64  # where it begins in a line

_encode = msgspec.json.Encoder(order="sorted").encode
_decode: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Chain:
    """A writer of the events of one match, in order, as lines of its record."""

    def __init__(self) -> None:
        self._link = FIRST_LINK

    def line(self, event: Event) -> bytes:
        """Return the next line, with its LF. Raises RecordError, and adds no link, if it could not be read back."""
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
                f"{_name(event)} event {event.seq} is {len(line)} bytes: shorten its texts", code="too-long"
            )
        self._link = link
        return line + b"\n"


class Record(msgspec.Struct, frozen=True):
    """A match as far as it was recorded; `end` is None if it was cut off."""

    start: MatchStarted
    plies: tuple[MovePlayed, ...]
    end: MatchEnded | None

    def lines(self) -> bytes:
        """Return the record as JSON lines, with the chain computed again."""
        chain = Chain()
        events: tuple[Event, ...] = (self.start, *self.plies, *([self.end] if self.end else []))
        return b"".join(chain.line(event) for event in events)


class RecordReader:
    """A reader of the lines of one match that checks its chain."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._link = FIRST_LINK

    @property
    def record(self) -> Record:
        """Return the match so far. There must be a start event."""
        start, end = self.events[0], self.events[-1]
        assert isinstance(start, MatchStarted)
        plies = tuple(event for event in self.events if isinstance(event, MovePlayed))
        return Record(start, plies, end if isinstance(end, MatchEnded) else None)

    def read(self, line: bytes) -> None:
        """Read the next line, without its LF.

        Raises RecordError, and keeps nothing, if it does not continue the match.
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
                f"line {number}: was changed since it was written, or lines before it are missing", code="changed"
            )
        self._link = link
        self.events.append(event)


def read_records(
    lines: Iterable[bytes],
    torn: Callable[[str], None] | None = None,
    damaged: Callable[[str], None] | None = None,
) -> Iterator[Record]:
    """Yield the matches of a file of records, with every chain checked.

    A match that was cut off, with no end event before the next start or the end of the file, has `end` None. A writer
    that is killed may leave half a line, which only a start event, in the same or the next line, or the end of the file
    can follow.

    Args:
        lines: The lines of the file.
        torn: Gets a line of text about half a line; its match is cut off.
        damaged: Gets the text of an error; the match is dropped, and reading continues at the next start event.

    Raises:
        RecordError: A line is unreadable, out of order, or was changed, and `damaged` is None.
    """
    match = RecordReader()
    half = ""  # what to say of the line before this one, if it was half a line
    dropping = False  # the rest of a damaged match
    for number, raw in enumerate(lines, 1):
        line = (raw.removeprefix(BOM) if number == 1 else raw).rstrip(b"\n")
        if not line.strip() or (dropping and not line.startswith(_FIRST)):
            continue
        dropping = False
        try:
            if half and not line.startswith(_FIRST[: len(line)]):
                raise RecordError(f"{half}, and what follows is no new match: was changed", code="changed")
            half = ""
            begins = line.rfind(_FIRST)  # in no text of a line, where its quotes would be escaped
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
    """A match that was played to its end: start, end, and the ms that seats 1 and 2 used in its plies."""

    start: MatchStarted
    end: MatchEnded
    ms: tuple[int, int]


def read_summary(lines: bytes) -> MatchSummary:
    """Return the summary of the one match in these lines, with its chain checked as by read_records.

    Raises RecordError, even if the record is valid but not one match that was played to its end.
    """
    if (summary := _plain_summary(lines)) is not None:
        return summary
    found = list(read_records(lines.splitlines(keepends=True)))
    if len(found) != 1 or found[0].end is None:
        raise RecordError(f"it holds {len(found)} matches, not one that was played to its end")
    first, second = (sum(ply.ms for ply in found[0].plies if ply.seat == seat) for seat in (1, 2))
    return MatchSummary(found[0].start, found[0].end, (first, second))


_MOVE = re.compile(rb'"event":"ply".*?"move":"((?:[^"\\]|\\.)*)"')  # keys are sorted; quotes in texts are escaped


def moves_of(lines: bytes) -> list[str]:
    """Return the moves of the lines of a match, the opening among them. `read_summary` says whether they are whole."""
    found = _MOVE.findall(lines)
    try:
        return [move.decode() if b"\\" not in move else msgspec.json.decode(b'"%b"' % move, type=str) for move in found]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RecordError(f"a move is not text: {error}") from None


def _plain_summary(lines: bytes) -> MatchSummary | None:
    """Fast path of read_summary for a record of one start, plain plies and one end. Return None for any other shape."""
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
    """Return a line with its invisible characters escaped; the values, and so the chain, stay as they are."""
    return line if line.isascii() and 0x7F not in line else escaped(line.decode()).encode()


def gtp_script(record: Record) -> str:
    """Return the record as commands that any engine of the game can run; plain GTP for go, so that any Go program can.

    Go's `agreement` and `ko` have no GTP command, and no GTP command sets lists of dead stones: there the script uses
    GGP.
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
    """Return True for the first part of a line: of a start event, or of any event if the match has begun.

    If another line is `joined` to it, it lacks at least its LF.
    """
    if len(line) > MAX_RECORD_LINE or not line.startswith(b"{" if begun else _FIRST[: len(line)]):
        return False
    if joined:
        return True
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # also one that ends within a character
        return True
    return False


def _read_line(line: bytes, number: int) -> tuple[Event, bytes, str]:
    """Return an event, its canonical bytes and the link it claims."""
    if len(line) > MAX_RECORD_LINE:
        raise RecordError(f"line {number}: longer than {MAX_RECORD_LINE} bytes", code="too-long")
    try:
        if (plain := _read_plain(line)) is not None:
            return plain
        fields: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        claimed = fields.pop("link", None)
        if not isinstance(claimed, str):
            raise RecordError(f'line {number}: has no "link": not a line of a record', code="not-a-record")
        canonical = _encode(fields)
        whole = _with_link(canonical, claimed)
        if line != whole and line != escaped_line(whole):
            raise RecordError(
                f"line {number}: is not canonical JSON with its link at the end: was changed", code="not-canonical"
            )
        return _decode.decode(line), canonical, claimed
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RecordError(f"line {number}: not a line of a record: {in_words(error)}", code="not-a-record") from None


def _read_plain(line: bytes) -> tuple[Event, bytes, str] | None:
    """Read a line that is, byte for byte, what the writer makes of its event. Return None for any other line."""
    canonical, link = line[:_LINK_AT] + b"}", line[_LINK_AT:]
    if not _LINK.fullmatch(link):
        return None
    try:
        event = _decode.decode(canonical)
        return (event, canonical, link[9:-2].decode()) if _encode(event) == canonical else None
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):  # the long way says what it is
        return None


def _with_link(canonical: bytes, link: str) -> bytes:
    return b'%b,"link":%b}' % (canonical[:-1], _encode(link))


def _name(event: Event) -> str:
    return {MatchStarted: "start", MovePlayed: "ply", MatchEnded: "end"}[type(event)]
