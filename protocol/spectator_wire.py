"""What a lobby publishes of its matches, and how spectators catch up on missed events (PROTOCOL §7). No I/O.

A message is two frames, a topic and a map of msgpack. `match/ID` carries the events of a record, each as its line has
it; `ladder/NAME` who begins and what came of it. Messages get lost on the way to a slow or late spectator. It
sees that by the numbers and asks: to ask is to subscribe to a topic of its own, `catch-up/match/ID/N/NONCE`,
and what is published there is the answer. Sockets are in transports.spectator.
"""

import re
from typing import Any, NamedTuple

import msgspec

from protocol.errors import RemoteProtocolError
from protocol.lobby_wire import printable
from protocol.records import Count, Event, MatchEnded, MatchStarted, MovePlayed, Seat, Text

PAGE = 500  # events of one answer, at most; who misses more asks again
MAX_TOPIC = 200  # bytes
MAX_PUBLISHED = 4 * 1024 * 1024  # bytes of a message
LISTED = 1000  # matches of a SpectatorState, the newest
MATCH, LADDER = "match", "ladder"
DROPPED = "dropped"  # the termination of a match that was begun and will have no end
_EARLY = 2000  # events that are kept until those before them are there
_ID = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,79}"
_MATCH_ID = re.compile(_ID)
_REQUEST = re.compile(rf"catch-up/(?:(match)/({_ID})|(ladder)/({_ID}|))/(\d{{1,9}})/[0-9A-Za-z]{{1,32}}".encode())


class SpectatingError(RemoteProtocolError):
    """A message that is none; str() says what is wrong, on one line."""


class Request(NamedTuple):
    """A request, by subscribing to `topic`, for events from `number` on."""

    topic: bytes
    kind: str  # MATCH or LADDER
    name: str  # "" is whichever ladder it is
    number: int


class MatchHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match under way, in a list; `plies` as many as there were."""

    match: Text
    game: Text
    options: dict[Text, Text] = {}
    bots: tuple[Text, Text]  # by seat
    control: Text = ""
    started: Text = ""  # UTC, ISO 8601
    plies: Count = 0


class Begun(msgspec.Struct, frozen=True, tag_field="event", tag="begun", kw_only=True):
    """On `ladder/NAME`: a match began. `run` changes each time that the numbers start again."""

    seq: Count
    run: Text
    head: MatchHead


class Over(msgspec.Struct, frozen=True, tag_field="event", tag="over", kw_only=True):
    """On `ladder/NAME`: a match is in the store, or void, or given up (`dropped`)."""

    seq: Count
    run: Text
    head: MatchHead
    result: Text = ""
    winner: Seat = 0
    termination: Text = ""


class SpectatorState(msgspec.Struct, frozen=True, tag_field="event", tag="state", kw_only=True):
    """The end of an answer about a ladder: what is under way (the newest 1,000), and the number of what comes next."""

    seq: Count
    run: Text
    ladder: Text
    matches: tuple[MatchHead, ...]


class CaughtUp(msgspec.Struct, frozen=True, tag_field="event", tag="caught-up"):
    """The end of an answer: the number of events of the match, so a spectator with fewer asks again; or the number of
    the ladder's next news, all of which the spectator has."""

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
    """Whether a match may be called so."""
    return _MATCH_ID.fullmatch(text) is not None


def topic_of(kind: str, name: str) -> bytes:
    """`match/ID`, `ladder/NAME`. As ZeroMQ goes, subscribers also get the topics that begin so."""
    return f"{kind}/{name}".encode()


def request_topic(kind: str, name: str, number: int, nonce: str) -> bytes:
    """What to subscribe to in order to be sent what has that number or more; `nonce`: letters and digits of one's
    own, of one length, at most 32. It is unsubscribed when it was answered."""
    return f"catch-up/{kind}/{name}/{number}/{nonce}".encode()


def read_request(topic: bytes) -> Request | None:
    """What a subscription asks for, None if it is no request."""
    found = _REQUEST.fullmatch(topic)
    if found is None:
        return None
    match, key, ladder, name, number = found.groups()
    kind, who = (match, key) if match else (ladder, name)
    return Request(topic, kind.decode(), who.decode(), int(number))


def publish_line(line: bytes) -> bytes:
    """A line of a record as it is published: the same keys and values, its link, too."""
    return msgspec.msgpack.encode(_line.decode(line))


def publish(what: Published) -> bytes:
    """Whatever is no line of a record."""
    return msgspec.msgpack.encode(what)


def read_published(payload: bytes) -> tuple[Published, str]:
    """What was published, and of an event of a record its link. Raises SpectatingError and nothing else."""
    if len(payload) > MAX_PUBLISHED:
        raise SpectatingError(f"a message is at most {MAX_PUBLISHED} bytes, not {len(payload)}")
    try:
        return _read.decode(payload), _read_link.decode(payload).link
    except Exception as error:  # whatever a decoder says of what was sent: nesting, UTF-8, numbers
        raise SpectatingError(f"what was published is no map as it should be: {printable(str(error), 200)}") from None


class Rewritten(Exception):
    """The match is another one than was told so far: what was given out counts no more."""


class EventSequence:
    """The events of one match in their order, each once, whatever was lost or came early or twice.

    An event's link stands for all events up to it, so an event that comes again with another link means that the
    match was taken up from an earlier ply than was told (the power failed, the referee is another version).
    """

    def __init__(self) -> None:
        self._forget()

    @property
    def next(self) -> int:
        """The number of the event that is given out next."""
        return len(self._links)

    @property
    def ask_from(self) -> int:
        """What to ask for: the last event once more, whose link says whether all before it is still so."""
        return max(0, self.next - 1)

    @property
    def missing(self) -> bool:
        """Whether there are events that cannot be given out yet."""
        return bool(self._early)

    def take(self, event: Event, link: str) -> list[Event]:
        """What can be given out now. Raises Rewritten: start again and pass the event once more."""
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
    """What is under way in a ladder, from the news of it, whatever was lost or came twice."""

    def __init__(self) -> None:
        self.ladder = ""
        self.matches: dict[str, MatchHead] = {}
        self.next = 0
        self.missing = True  # until the first state
        self._run = ""

    def take(self, news: News) -> News | None:
        """The same news if it is new, else None. Other news is dropped before the first SpectatorState."""
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
