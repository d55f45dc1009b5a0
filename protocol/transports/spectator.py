"""Follows the matches of a lobby through a SUB socket that requests the events it missed (PROTOCOL §7).

    with Spectator("tcp://127.0.0.1:7712") as there:
        for event in there.match("5feceb66-6b86b273-1-1"):   # from the first event to the last, each once
            print(event)

It sends only subscriptions, and reconnects as long as that may help. The caller decides what an event means.
"""

import secrets
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import zmq
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.errors import AddressError, CodedError
from ggp.protocol.records import Event, MatchEnded, MatchStarted, MovePlayed
from ggp.protocol.spectator_wire import (
    LADDER,
    MATCH,
    MAX_PUBLISHED,
    Begun,
    CaughtUp,
    EventSequence,
    News,
    Over,
    Published,
    Rewritten,
    Roll,
    SpectatingError,
    SpectatorState,
    is_match_id,
    read_published,
    request_topic,
    topic_of,
)
from ggp.protocol.transports.keys import new_pair
from ggp.protocol.transports.zmq import Handshakes, check_url, is_loopback, new_socket, use_keys

PATIENCE = 3.0  # seconds until an unanswered request is repeated
QUIET = 10.0  # seconds of silence after which a request checks whether the last message was lost
_AGAIN = 0.2  # the shortest time in seconds between requests for one match
_RECONNECT_MS, _LONGEST_MS = 250, 5_000
_HANDSHAKE_MS = 10_000
_UP = zmq.EVENT_HANDSHAKE_SUCCEEDED
_DOWN: dict[int, str] = {
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: "the lobby accepts no more spectators for now",
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "the handshake failed",
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "the handshake failed",
    zmq.EVENT_CLOSED: "nothing is listening at this address",
    zmq.EVENT_DISCONNECTED: "the connection was lost",
}


class MatchUnavailable(CodedError, LookupError):
    """A match that cannot be followed to its end."""

    code = "unknown-match"


class MatchEvent(NamedTuple):
    """The next event of a followed match."""

    match: str
    event: Event


class MatchRestarted(NamedTuple):
    """A restart of the match: discard its events, they are sent again from the first."""

    match: str


class EventsMissing(NamedTuple):
    """A gap: events from this number on were lost and are requested again."""

    match: str
    number: int


class MatchUnknown(NamedTuple):
    """A match that the lobby does not know; it is no longer followed."""

    match: str


class LadderNews(NamedTuple):
    """News of the followed ladder; `roll` has the running matches."""

    news: News


class Connected(NamedTuple):
    """A new connection to the lobby."""


class Disconnected(NamedTuple):
    """A lost connection, with the reason; it is restored automatically."""

    reason: str


SpectatorUpdate = MatchEvent | MatchRestarted | EventsMissing | MatchUnknown | LadderNews | Connected | Disconnected


class _Followed:
    """A followed match or ladder: its topic and its open request."""

    def __init__(self, kind: str, name: str, now: float) -> None:
        self.kind, self.name = kind, name
        self.topic = topic_of(kind, name)
        self.sequence = EventSequence()
        self.question = b""  # topic of the open request, or b""
        self.asked = 0  # the first number that was requested
        self.ask_at = now  # when the next request is due
        self.behind = True  # until it is up to date for the first time, and after each gap


class Spectator:
    """A client that follows matches: a context manager, for one thread.

    Args:
        url: The lobby's address for spectators.
        server_key: The lobby's public key; "" on this machine.

    Raises:
        AddressError: The address is invalid, or is another machine's and there is no key.
    """

    def __init__(self, url: str, server_key: str = "") -> None:
        check_url(url)
        if not server_key and not is_loopback(url):
            raise AddressError(f"{url} is another machine: give its public key (--server-key)", code="keys-needed")
        self.url = url
        self.up = False
        self.roll = Roll()
        self._threads: dict[bytes, _Followed] = {}
        self._questions: dict[bytes, _Followed] = {}
        self._updates: deque[SpectatorUpdate] = deque()
        self._why = ""  # the last reported reason why the connection is down
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = new_socket(self._context, zmq.SUB, MAX_PUBLISHED, url)
        options = {
            zmq.HANDSHAKE_IVL: _HANDSHAKE_MS,
            zmq.CONNECT_TIMEOUT: _HANDSHAKE_MS,
            zmq.RECONNECT_IVL: _RECONNECT_MS,
            zmq.RECONNECT_IVL_MAX: _LONGEST_MS,
        }
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        if server_key:
            use_keys(self._socket, new_pair(), server_key)  # the lobby accepts every client key
        self._handshakes = Handshakes(url, bool(server_key), "--server-key KEY")
        self._monitor = self._socket.get_monitor_socket(_UP | sum(_DOWN))
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        try:
            self._socket.connect(url)
        except zmq.ZMQError as error:
            self.close()
            raise AddressError(f"cannot connect to {url}: {zmq.strerror(error.errno or 0)}") from None

    def __enter__(self) -> "Spectator":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it. Call this once."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)
        self._context.term()

    def match(self, match: str) -> Iterator[Event]:
        """Yield every event of a match, in order, until its end.

        Raises:
            MatchUnavailable: The match is unknown, or was dropped or restarted (see Rewritten).
        """
        self.follow(match)
        while True:
            update = self.read(QUIET)
            if isinstance(update, MatchUnknown):
                raise MatchUnavailable(f"there is no match {match} at {self.url}, or it is no longer kept")
            if isinstance(update, MatchRestarted):
                raise MatchUnavailable(
                    f"the match {match} was resumed from an earlier ply: start again", code="match-restarted"
                )
            if isinstance(update, MatchEvent):
                yield update.event
                if isinstance(update.event, MatchEnded):
                    return

    def follow(self, match: str) -> None:
        """Follow a match from its first event on.

        Raises:
            ValueError: The match id is invalid.
        """
        if not is_match_id(match):
            raise ValueError(f"{match!r} is not a valid match id")
        self._begin(MATCH, match)

    def leave(self, match: str) -> None:
        """Stop following a match."""
        if thread := self._threads.get(topic_of(MATCH, match)):
            self._end(thread)

    def follow_ladder(self, name: str = "") -> None:
        """Follow the beginnings and ends of a ladder's matches; without a name, the lobby's only ladder."""
        self._begin(LADDER, name)

    def read(self, seconds: float) -> SpectatorUpdate | None:
        """Return the next update, or None if none arrives in time.

        Raises:
            AccessRefused: The lobby does not accept the keys.
        """
        until = time.monotonic() + seconds
        while not self._updates:
            now = time.monotonic()
            self._ask(now)
            due = min([until, *(thread.ask_at for thread in self._threads.values() if self.up)])
            ready = dict(self._poller.poll(max(0, int((due - now) * 1000) + 1)))
            if self._monitor in ready:
                self._take_news()
            if self._socket in ready:
                self._take_message()
            elif not ready and time.monotonic() >= until:
                return None
        return self._updates.popleft()

    # -- what is followed --------------------------------------------------------------------------------------------

    def _begin(self, kind: str, name: str) -> None:
        thread = _Followed(kind, name, time.monotonic())
        if thread.topic not in self._threads:
            self._threads[thread.topic] = thread
            self._socket.subscribe(thread.topic)

    def _end(self, thread: _Followed) -> None:
        self._answered(thread)
        del self._threads[thread.topic]
        self._socket.unsubscribe(thread.topic)

    # -- questions ---------------------------------------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        """Send the requests that are due, if connected."""
        for thread in self._threads.values() if self.up else ():
            if now >= thread.ask_at:
                self._answered(thread)
                thread.asked = self.roll.next if thread.kind == LADDER else thread.sequence.ask_from
                thread.question = request_topic(thread.kind, thread.name, thread.asked, secrets.token_hex(8))
                thread.ask_at = now + PATIENCE
                self._questions[thread.question] = thread
                self._socket.subscribe(thread.question)

    def _answered(self, thread: _Followed) -> None:
        """Close the open request."""
        if self._questions.pop(thread.question, None):
            self._socket.unsubscribe(thread.question)
        thread.question = b""

    def _ask_soon(self, thread: _Followed) -> None:
        """Request missing events soon, unless an answer is due anyway."""
        if not thread.question:
            thread.ask_at = min(thread.ask_at, time.monotonic() + _AGAIN)

    # -- what comes --------------------------------------------------------------------------------------------------

    def _take_news(self) -> None:
        news = recv_monitor_message(self._monitor)
        event = news["event"]
        for thread in self._threads.values():  # events may have been lost meanwhile
            self._answered(thread)
            thread.ask_at = 0.0
        if event == _UP:
            self.up, self._why = True, ""
            self._handshakes.succeeded()
            self._updates.append(Connected())
        else:
            self.up = False
            self._handshakes.failed(event, news["value"])
            if self._why != _DOWN[event]:
                self._why = _DOWN[event]
                self._updates.append(Disconnected(self._why))

    def _take_message(self) -> None:
        topic, *payload = self._socket.recv_multipart()
        thread = self._questions.get(topic) or self._threads.get(topic)
        if thread is None and topic.startswith(b"ladder/"):
            thread = self._threads.get(b"ladder/")
        if thread is None or len(payload) != 1:  # another topic with this prefix, or a late answer
            return
        try:
            said, link = read_published(payload[0])
        except SpectatingError:
            return  # from a later version; a missed event is noticed by its number and requested again
        if not thread.question:
            thread.ask_at = time.monotonic() + QUIET
        self._hear(thread, said, link)

    def _hear(self, thread: _Followed, said: Published, link: str) -> None:
        match said:
            case MatchStarted() | MovePlayed() | MatchEnded():
                if thread.kind == MATCH and said.match == thread.name:
                    self._hear_event(thread, said, link)
            case Begun() | Over() | SpectatorState():
                if thread.kind == LADDER:
                    self._hear_of_ladder(thread, said)
            case CaughtUp(seq):
                self._caught_up(thread, seq)
            case _:
                self._unknown(thread)

    def _hear_event(self, thread: _Followed, event: Event, link: str) -> None:
        sequence = thread.sequence
        try:
            found = sequence.take(event, link)
        except Rewritten:
            self._updates.append(MatchRestarted(thread.name))
            found = sequence.take(event, link)
        self._updates.extend(MatchEvent(thread.name, one) for one in found)
        if sequence.ended:
            self._end(thread)
        elif sequence.missing:
            if not thread.behind:
                thread.behind = True
                self._updates.append(EventsMissing(thread.name, sequence.next))
            self._ask_soon(thread)

    def _hear_of_ladder(self, thread: _Followed, news: News) -> None:
        if isinstance(news, SpectatorState):
            self._answered(thread)
            thread.ask_at = time.monotonic() + QUIET
        if self.roll.take(news) is not None:
            self._updates.append(LadderNews(news))
        if self.roll.missing:
            self._ask_soon(thread)

    def _caught_up(self, thread: _Followed, count: int) -> None:
        """Close the answered request. If it was one page of several, request the next."""
        self._answered(thread)
        sequence = thread.sequence
        thread.behind = thread.kind == MATCH and (sequence.missing or sequence.next < count)
        came = sequence.ask_from > thread.asked
        thread.ask_at = time.monotonic() + (QUIET if not thread.behind else 0.0 if came else _AGAIN)

    def _unknown(self, thread: _Followed) -> None:
        self._answered(thread)
        if thread.kind == MATCH:
            self._updates.append(MatchUnknown(thread.name))
            self._end(thread)
        else:
            thread.ask_at = time.monotonic() + QUIET
