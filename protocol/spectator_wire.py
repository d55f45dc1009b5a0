"""What a lobby publishes of its matches, and how spectators catch up on missed events (PROTOCOL §7). Pure.

A message is two frames, a topic and a map of msgpack. `match/ID` carries the events of a record, with the fields of
their lines; `ladder/NAME` the matches that begin and end. A slow or late spectator misses messages. It notices by their
numbers and sends a request: it subscribes to a unique topic, `catch-up/match/ID/N/NONCE`, where the answer is
published. Sockets are in transports.spectator.
"""

import re
from typing import Any, NamedTuple

import msgspec

from ggp.protocol.errors import RemoteProtocolError
from ggp.protocol.lobby_wire import printable
from ggp.protocol.records import Count, Event, MatchEnded, MatchStarted, MovePlayed, Seat, Text

PAGE = 500  # events of one answer, at most; further ones need another request
MAX_TOPIC = 200  # bytes
MAX_PUBLISHED = 4 * 1024 * 1024  # bytes of a message
LISTED = 1000  # matches of a SpectatorState, the newest
MATCH, LADDER = "match", "ladder"
DROPPED = "dropped"  # the termination of a match that will have no end
_EARLY = 2000  # events that are kept until those before them are there
_ID = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,79}"
_MATCH_ID = re.compile(_ID)
_REQUEST = re.compile(rf"catch-up/(?:(match)/({_ID})|(ladder)/({_ID}|))/(\d{{1,9}})/[0-9A-Za-z]{{1,32}}".encode())


class SpectatingError(RemoteProtocolError):
    """An invalid message; str() says what is wrong, on one line."""


class Request(NamedTuple):
    """A request, made by subscribing to `topic`, for everything from `number` on."""

    topic: bytes
    kind: str  # MATCH or LADDER
    name: str  # "" is the lobby's ladder
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
    """News on `ladder/NAME` that a match began. `run` changes whenever the numbers restart."""

    seq: Count
    run: Text
    head: MatchHead


class Over(msgspec.Struct, frozen=True, tag_field="event", tag="over", kw_only=True):
    """News on `ladder/NAME` that a match is stored, void or `dropped`."""

    seq: Count
    run: Text
    head: MatchHead
    result: Text = ""
    winner: Seat = 0
    termination: Text = ""


class SpectatorState(msgspec.Struct, frozen=True, tag_field="event", tag="state", kw_only=True):
    """The end of an answer about a ladder: the running matches (the newest 1,000), and the number of the next news."""

    seq: Count
    run: Text
    ladder: Text
    matches: tuple[MatchHead, ...]


class CaughtUp(msgspec.Struct, frozen=True, tag_field="event", tag="caught-up"):
    """The end of an answer: the number of the match's events, so a spectator with fewer requests more; or the number of
    the ladder's next news, if the spectator has them all."""

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
    """Return True for a valid name of a match."""
    return _MATCH_ID.fullmatch(text) is not None


def topic_of(kind: str, name: str) -> bytes:
    """Return `match/ID` or `ladder/NAME`. Subscribers also get longer topics with this prefix."""
    return f"{kind}/{name}".encode()


def request_topic(kind: str, name: str, number: int, nonce: str) -> bytes:
    """Return the topic of a request for everything from this number on. Unsubscribe after the answer.

    `nonce`: unique letters and digits, all of one length, at most 32.
    """
    return f"catch-up/{kind}/{name}/{number}/{nonce}".encode()


def read_request(topic: bytes) -> Request | None:
    """Return the request that a subscription makes, or None."""
    found = _REQUEST.fullmatch(topic)
    if found is None:
        return None
    match, key, ladder, name, number = found.groups()
    kind, who = (match, key) if match else (ladder, name)
    return Request(topic, kind.decode(), who.decode(), int(number))


def publish_line(line: bytes) -> bytes:
    """Return the payload for a line of a record, with the same keys and values, the link included."""
    return msgspec.msgpack.encode(_line.decode(line))


def publish(what: Published) -> bytes:
    """Return the payload of any other message."""
    return msgspec.msgpack.encode(what)


def read_published(payload: bytes) -> tuple[Published, str]:
    """Return a message, and the link of an event of a record. Raises SpectatingError only."""
    if len(payload) > MAX_PUBLISHED:
        raise SpectatingError(f"a message is at most {MAX_PUBLISHED} bytes, not {len(payload)}")
    try:
        return _read.decode(payload), _read_link.decode(payload).link
    except Exception as error:  # any failure of a decoder: nesting, UTF-8, numbers
        raise SpectatingError(f"invalid message of a spectator server: {printable(str(error), 200)}") from None


class Rewritten(Exception):
    """A restart of the match: the events so far no longer count."""


class EventSequence:
    """The events of one match in order, each once, whatever was lost, early or repeated.

    An event's link stands for all events up to it, so a repeated event with another link means that the match was
    resumed from an earlier ply (the power failed, or the referee is another version).
    """

    def __init__(self) -> None:
        self._forget()

    @property
    def next(self) -> int:
        """Return the number of the next event to return."""
        return len(self._links)

    @property
    def ask_from(self) -> int:
        """Return the first number to request: the last event again, whose link shows if all before it still holds."""
        return max(0, self.next - 1)

    @property
    def missing(self) -> bool:
        """Return True if events wait for earlier ones."""
        return bool(self._early)

    def take(self, event: Event, link: str) -> list[Event]:
        """Return the events that are due now. Raises Rewritten after a restart: then take the same event again."""
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
    """The running matches of a ladder, from its news, whatever was lost or repeated."""

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
