"""The messages a lobby publishes about its matches, and how spectators catch up on missed events (PROTOCOL §7).

A message has two frames: a topic and a msgpack map. `match/ID` carries the events of a record, with the fields of its
lines; `ladder/NAME` carries the matches that begin and end. A slow or late spectator misses messages. It notices this
by their numbers and sends a request: it subscribes to a unique topic, `catch-up/match/ID/N/NONCE`, where the answer is
published. This module does no I/O; the sockets are in transports.spectator.
"""

import re
from typing import Any, NamedTuple

import msgspec

from ggp.protocol.errors import RemoteProtocolError
from ggp.protocol.lobby_wire import printable
from ggp.protocol.records import Count, Event, MatchEnded, MatchStarted, MovePlayed, Seat, Text

PAGE = 500  # the most events in one answer; more need another request
MAX_TOPIC = 200  # bytes
MAX_PUBLISHED = 4 * 1024 * 1024  # the most bytes in a message
LISTED = 1000  # the newest matches, which a SpectatorState lists
MATCH, LADDER = "match", "ladder"
DROPPED = "dropped"  # the termination of a match that was abandoned
_EARLY = 2000  # the most events kept until earlier ones arrive
_ID = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,79}"
_MATCH_ID = re.compile(_ID)
_REQUEST = re.compile(rf"catch-up/(?:(match)/({_ID})|(ladder)/({_ID}|))/(\d{{1,9}})/[0-9A-Za-z]{{1,32}}".encode())


class SpectatingError(RemoteProtocolError):
    """An invalid message; str() says on one line what is wrong."""


class Request(NamedTuple):
    """A request for everything from `number` on, made by subscribing to `topic`."""

    topic: bytes
    kind: str  # MATCH or LADDER
    name: str  # "" means the lobby's only ladder
    number: int


class MatchHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A running match in a list, with the number of its plies so far."""

    match: Text
    game: Text
    options: dict[Text, Text] = {}
    bots: tuple[Text, Text]  # by seat
    control: Text = ""
    started: Text = ""  # UTC, ISO 8601
    plies: Count = 0


class Begun(msgspec.Struct, frozen=True, tag_field="event", tag="begun", kw_only=True):
    """A message on `ladder/NAME`: a match began. `run` changes whenever the numbers restart."""

    seq: Count
    run: Text
    head: MatchHead


class Over(msgspec.Struct, frozen=True, tag_field="event", tag="over", kw_only=True):
    """A message on `ladder/NAME`: a match was stored, void or `dropped`."""

    seq: Count
    run: Text
    head: MatchHead
    result: Text = ""
    winner: Seat = 0
    termination: Text = ""


class SpectatorState(msgspec.Struct, frozen=True, tag_field="event", tag="state", kw_only=True):
    """The end of an answer about a ladder: its (newest 1,000) running matches and the number of its next news."""

    seq: Count
    run: Text
    ladder: Text
    matches: tuple[MatchHead, ...]


class CaughtUp(msgspec.Struct, frozen=True, tag_field="event", tag="caught-up"):
    """The end of an answer.

    Attributes:
        seq: The number of the match's events: a spectator with fewer sends another request. For a ladder, the number of
            its next news, sent to a spectator that is up to date.
    """

    seq: Count


class Unknown(msgspec.Struct, frozen=True, tag_field="event", tag="unknown"):
    """The answer about an unknown match or ladder."""

    name: Text


News = Begun | Over | SpectatorState
Published = MatchStarted | MovePlayed | MatchEnded | Begun | Over | SpectatorState | CaughtUp | Unknown
_read: msgspec.msgpack.Decoder[Published] = msgspec.msgpack.Decoder(Published)
_line: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class _Link(msgspec.Struct):
    link: str = ""


_read_link = msgspec.msgpack.Decoder(_Link)


def is_match_id(text: str) -> bool:
    """Return True if the text is a valid match id."""
    return _MATCH_ID.fullmatch(text) is not None


def topic_of(kind: str, name: str) -> bytes:
    """Return `match/ID` or `ladder/NAME`. Subscribers also get longer topics with this prefix."""
    return f"{kind}/{name}".encode()


def request_topic(kind: str, name: str, number: int, nonce: str) -> bytes:
    """Return the topic of a request for everything from this number on. Unsubscribe after the answer.

    Args:
        kind: MATCH or LADDER.
        name: The match or the ladder.
        number: Number of the first event or news to send.
        nonce: Unique letters and digits, at most 32, always of the same length.
    """
    return f"catch-up/{kind}/{name}/{number}/{nonce}".encode()


def read_request(topic: bytes) -> Request | None:
    """Return the request that a subscription to this topic makes, or None if it is not a request."""
    found = _REQUEST.fullmatch(topic)
    if found is None:
        return None
    match, key, ladder, name, number = found.groups()
    kind, who = (match, key) if match else (ladder, name)
    return Request(topic, kind.decode(), who.decode(), int(number))


def publish_line(line: bytes) -> bytes:
    """Return the payload for a record line: the same keys and values, including the link."""
    return msgspec.msgpack.encode(_line.decode(line))


def publish(what: Published) -> bytes:
    """Return the payload of any message other than a record line."""
    return msgspec.msgpack.encode(what)


def read_published(payload: bytes) -> tuple[Published, str]:
    """Return a message and, if it is a record event, its link.

    Raises:
        SpectatingError: The message is invalid; no other exception is raised.
    """
    if len(payload) > MAX_PUBLISHED:
        raise SpectatingError(f"message of {len(payload)} bytes: at most {MAX_PUBLISHED} are allowed")
    try:
        return _read.decode(payload), _read_link.decode(payload).link
    except Exception as error:  # any failure of a decoder: nesting, UTF-8, numbers
        raise SpectatingError(f"invalid message from the spectator server: {printable(str(error), 200)}") from None


class Rewritten(Exception):
    """A restart of the match: its events so far no longer count."""


class EventSequence:
    """The events of one match in order, each once, even if some are lost, early or repeated.

    An event's link stands for all events up to it. A repeated event with another link therefore means that the match
    was resumed from an earlier ply (after a power failure, or with another version of the referee).
    """

    def __init__(self) -> None:
        self._forget()

    @property
    def next(self) -> int:
        """Return the number of the next event to return."""
        return len(self._links)

    @property
    def ask_from(self) -> int:
        """Return the first number to request.

        This is the last known event, because its link shows whether all events before it are still valid.
        """
        return max(0, self.next - 1)

    @property
    def missing(self) -> bool:
        """Return True if events are waiting for earlier ones."""
        return bool(self._early)

    def take(self, event: Event, link: str) -> list[Event]:
        """Return the events that are due now.

        Raises:
            Rewritten: The match was restarted; pass the same event again.
        """
        if event.seq < self.next:
            if link == self._links[event.seq]:
                return []
            self._forget()
            raise Rewritten
        if len(self._early) < _EARLY or event.seq == self.next:
            self._early[event.seq] = event, link
        found: list[Event] = []
        while self.next in self._early:
            event, link = self._early.pop(self.next)
            self._links.append(link)
            found.append(event)
            self.ended = isinstance(event, MatchEnded)
        return found

    def _forget(self) -> None:
        self.ended = False
        self._links: list[str] = []
        self._early: dict[int, tuple[Event, str]] = {}


class Roll:
    """The running matches of a ladder, built from its news even if some are lost or repeated."""

    def __init__(self) -> None:
        self.ladder = ""
        self.matches: dict[str, MatchHead] = {}
        self.next = 0
        self.missing = True  # until the first state
        self._run = ""

    def take(self, news: News) -> News | None:
        """Return the news if it is new, else None. News before the first SpectatorState is ignored."""
        if isinstance(news, SpectatorState):
            if (news.run, news.seq) == (self._run, self.next) and not self.missing:
                return None
            if news.run == self._run and news.seq < self.next:
                return None  # an old answer
            self.ladder, self._run, self.next, self.missing = news.ladder, news.run, news.seq, False
            self.matches = {head.match: head for head in news.matches}
            return news
        if news.run != self._run or news.seq > self.next:
            self.missing = True
            return None
        if news.seq < self.next:
            return None
        self.next += 1
        if isinstance(news, Begun):
            self.matches[news.head.match] = news.head
        else:
            self.matches.pop(news.head.match, None)
        return news
