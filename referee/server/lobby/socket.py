"""The lobby's one ROUTER socket: connections, their limits, and messages."""

import asyncio
import contextlib
import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import zmq
from cachetools import LRUCache
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.errors import AddressError
from ggp.protocol.lobby_wire import FRAMES, MAX_FRAME
from ggp.protocol.transports._router import received
from ggp.protocol.transports.descriptors import address_of, duplicate, resident_again, shut
from ggp.referee.server.lobby.auth import INSIDE, Admission
from ggp.referee.server.lobby.limits import BURST, KeyedBuckets, network
from ggp.referee.server.lobby.zmq_io import Reading, RoutedMessage, RouterMessages, bind, new_context, public_socket

if TYPE_CHECKING:
    from ggp.referee.server.lobby.sessions import Sessions

QUEUE = 100  # messages for or from a bot
BACKLOG = 1024  # connections that wait to be accepted
_BATCH = 16  # messages that are read in one call
_OVERHEAD = 160  # bytes a frame may take on the wire beyond its own
_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group
_NO_HANDSHAKE = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
_LONGEST_ROUTE = 32  # bytes of a routing id, which comes with every message
_BEATS = 64  # bytes of heartbeats a second, which are no messages
_SKIPPED = 500  # frames at a time of a message that has too many
_FLOOD_CHECK = 0.05  # seconds between checks for a flood
_MEMORY_CHECK = 0.005  # seconds between checks of our memory
TURN = 0.0003  # seconds of a check of all connections, until others in the loop have their turn
_AUTOMATIC, _ROUTE = b"\0", 5  # a routing id that ZeroMQ chose: this and a number of four bytes, each one more
_REMEMBERED = 10_000  # closed routes


class Cut(Enum):
    """Why a connection was ended before its hello: the word for logs and metrics, and the reason."""

    FULL = "full", "too many connections: the longest silent ones were ended"
    ADDRESS = "address", "too many connections a second from one address (lobby.arrivals)"
    SILENT = "silent", "no message in time"
    GREETING = "greeting", "no handshake: no key, the key of another server, another protocol, or an end before it"
    STUFFED = "stuffed", "a message without an end"
    ROUTING_ID = "routing id", "set by the client, not by ZeroMQ"

    def __init__(self, word: str, reason: str) -> None:
        self.word, self.reason = word, reason


@dataclass(slots=True, eq=False)
class RouterConnection:
    """A connection that has sent a message.

    ZeroMQ asks for the key once, before the first message, and a connection that is made again has another route.
    """

    descriptor: int  # ZeroMQ's
    user: str  # of its key, or of a local process; "" for neither
    heard: int = 0  # bytes of its messages so far


class RouterSocket:
    """The socket that bots and authors dial. It reports connections and messages to the sessions."""

    def __init__(
        self,
        url: str,
        sessions: "Sessions",
        admission: Admission,
        connections: int,
        arrivals: float = 0,
        inside: str = "",
    ) -> None:
        """Bind the addresses.

        Args:
            url: Where everybody dials, with the authentication of `admission`.
            connections: The most that are open at a time.
            arrivals: Connections a second from one address, 0 for any number.
            inside: An ipc:// address for local processes, which the kernel identifies; "" for none.

        Raises:
            AddressError: An address cannot be bound.
        """
        self._sessions = sessions
        self._most = connections
        self._admission = admission
        self._context = new_context()
        self._socket = public_socket(
            self._context,
            zmq.ROUTER,
            url,
            {
                zmq.ROUTER_MANDATORY: 1,  # say so when a message cannot leave
                zmq.MAXMSGSIZE: MAX_FRAME + 4096,
                zmq.SNDHWM: QUEUE,
                zmq.BACKLOG: BACKLOG,
            },
        )
        self._messages = RouterMessages(self._socket)
        self._batch: deque[RoutedMessage] = deque()  # messages that were read, and not looked at yet
        self._monitor: zmq.Socket[bytes] | None = None
        self._inside = inside.removeprefix("ipc://")
        self.by_route: dict[bytes, RouterConnection] = {}  # connections that have sent a message
        self._by_descriptor: dict[int, bytes] = {}  # their routes
        self._silent: dict[int, float] = {}  # descriptors of connections without a message, and since when
        self._newcomers: deque[int] = deque()  # descriptors whose addresses are still to be checked
        self._ended: LRUCache[bytes, None] = LRUCache(_REMEMBERED)  # closed routes, whose late messages are dropped
        self.skipping = False  # the rest of a message with too many frames is being dropped
        self._arrivals = KeyedBuckets(arrivals, arrivals * BURST) if arrivals else None  # by network
        self._readings: list[Reading] = []
        self.refused: Counter[Cut] = Counter()  # connections that were ended here
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | _NO_HANDSHAKE)
        try:
            if inside:
                bind(self._socket, inside)  # before `prepare`, so that no keys are asked for here
            admission.prepare(self._context, self._socket)
            self.url = bind(self._socket, url, "; write tcp://127.0.0.1:PORT")
        except AddressError:
            self.close()
            raise

    @property
    def connections(self) -> int:
        return len(self.by_route) + len(self._silent)

    def open(self) -> None:
        """Read from now on, in the running loop."""
        assert self._monitor is not None
        self._admission.open()
        self._readings = [Reading(self._socket, self._receive), Reading(self._monitor, self._on_monitor_event)]

    def close(self, linger: int = 0) -> None:
        """Close once. `linger`: milliseconds for messages that are still to leave."""
        for reading in self._readings:
            reading.close()
        self._readings = []
        if self._monitor is not None:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._monitor = None
        self._messages.close()
        self._socket.close(linger=linger)
        self._admission.close()
        self._context.term()

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        """Send messages of two frames. Return False if the connection is gone or its queue is full."""
        sent = self._messages.send(route, kind, payloads)
        if self._readings:
            self._readings[0].poll_again()
        return sent

    def cut(self, route: bytes) -> bool:
        """End a connection at once. Return False if it had ended already."""
        connection = self.by_route.get(route)
        if connection is None or not self._readings:
            return False
        with self._duplicated(connection.descriptor) as theirs:
            if self.by_route.get(route) is not connection:
                return False
            self._forget(route)
            shut(theirs)
        return True

    async def sleep(self, seconds: float, grown: int) -> None:
        """Sleep, but wake early in a flood.

        A flood brings more than one turn of the loop reads, or lets the process grow by `grown` bytes, because ZeroMQ
        delivers a message only with its last frame.
        """
        loop, began, full = asyncio.get_running_loop(), time.monotonic(), self._full()
        woken: asyncio.Future[None] = loop.create_future()

        def check() -> None:
            if woken.done():
                return
            waited = time.monotonic() - began
            try:
                due = waited >= seconds or (waited >= _FLOOD_CHECK and self._full() != full)
                due = due or abs(size() - before) >= grown
            except Exception as error:
                woken.set_exception(error)
                return
            if due:
                woken.set_result(None)
            else:  # a task would cost several times as much as the check
                timers[0] = loop.call_later(_MEMORY_CHECK, check)

        with resident_again() as size:
            before, timers = size(), [loop.call_later(_MEMORY_CHECK, check)]
            try:
                await woken
            finally:
                timers[0].cancel()

    def _full(self) -> int:
        return sum(reading.full for reading in self._readings)

    def cut_silent(self, seconds: float) -> None:
        """End connections that have been silent for so many seconds."""
        before = time.monotonic() - seconds
        for one in [one for one in self._silent.items() if one[1] < before]:
            self._cut_silent(*one, Cut.SILENT)

    async def cut_stuffed(self, most: int, in_all: int, seconds: float) -> None:
        """End connections that stuff the process with messages without an end.

        ZeroMQ keeps the frames of a message until its last one, however many there are.

        Args:
            most: Bytes, beyond heartbeats, that a connection may have sent and that are no message yet.
            in_all: The same of all together. Above it the worst ones are ended.
            seconds: The time since the last call.
        """
        beats, turn = int(_BEATS * seconds), time.monotonic() + TURN
        rest: list[tuple[int, int, bytes]] = []
        for descriptor, route in [*self._by_descriptor.items(), *((silent, b"") for silent in self._silent)]:
            if time.monotonic() > turn:
                await asyncio.sleep(0)
                turn = time.monotonic() + TURN
            came, connection = received(descriptor), self.by_route.get(route)
            waiting = came - (connection.heard if connection else 0)
            if waiting > most:
                self._cut_stuffed(descriptor, route)
                continue
            rest.append((waiting, descriptor, route))
            if connection:  # what was counted too much is not saved up
                connection.heard = min(connection.heard + beats, came)
        together = sum(max(0, waiting) for waiting, _, _ in rest)
        for waiting, descriptor, route in sorted(rest, reverse=True) if together > in_all else ():
            if together <= in_all:
                break
            self._cut_stuffed(descriptor, route)
            together -= waiting

    def _cut_stuffed(self, descriptor: int, route: bytes) -> None:
        if not route:
            if since := self._silent.get(descriptor):
                self._cut_silent(descriptor, since, Cut.STUFFED)
        elif self._by_descriptor.get(descriptor) == route and self.cut(route):
            self.refused[Cut.STUFFED] += 1
            self._sessions.on_disconnect(route)

    # -- reading -----------------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        """Handle one message. Raises zmq.Again if there is none."""
        batch = self._batch
        if not batch:
            if self.skipping:  # others in the loop have their turn between two calls
                self.skipping = self._messages.skip(_SKIPPED)
                return
            batch.extend(self._messages.receive(self.by_route, _BATCH, FRAMES + 1))
            if not batch:
                raise zmq.Again
        route, frames, more, source = batch.popleft()
        self.skipping = more
        connection = self.by_route.get(route)
        if connection is None:
            if source is None or route in self._ended:  # it was known when it came, and has ended
                return
            connection = self._arrive(route, *source)
            if connection is None:
                return
        connection.heard += sum(map(len, frames)) + _OVERHEAD * len(frames)
        self._sessions.on_message(route, connection.user, frames, time.monotonic())

    def _arrive(self, route: bytes, descriptor: int, user: str, address: str) -> RouterConnection | None:
        """Add the connection of a first message, which the monitor has reported.

        Return None for a message to drop. A client that speaks a ZMTP before 3.0, which does not name the connection,
        counts as silent and is ended later.
        """
        self._drain_monitor()
        before = self._by_descriptor.get(descriptor, b"")
        if before and _is_later(route, before):
            self._lose(before)
        elif descriptor not in self._silent:  # a late message of one that has ended; its descriptor may be another's
            return None
        if len(route) > _LONGEST_ROUTE:
            self._cut_silent(descriptor, self._silent.get(descriptor, 0.0), Cut.ROUTING_ID)
            return None
        if not route.startswith(_AUTOMATIC) or len(route) != _ROUTE:  # it counts as silent, and is ended later
            self.refused[Cut.ROUTING_ID] += 1
            self.send(route, b"B", [b"refused: set no routing id (ZMQ_ROUTING_ID, ZMQ_IDENTITY): ZeroMQ chooses one"])
            return None
        self._silent.pop(descriptor, None)
        process = self._process(descriptor)
        key = user if self._admission.authenticated else ""
        connection = RouterConnection(descriptor, f"{INSIDE}{process}" if process else key)
        self.by_route[route], self._by_descriptor[descriptor] = connection, route
        self._sessions.on_connect(route, address)
        return connection

    def _on_monitor_event(self) -> None:
        """Handle a connection that came or went. Above the limit, end the one that has been silent for longest."""
        self._read_monitor_event()
        self._check_arrivals()
        while self.connections > self._most:
            oldest = next((one for one in self._silent.items() if not self._process(one[0])), None)
            if oldest is None:
                return
            self._cut_silent(*oldest, Cut.FULL)

    def _drain_monitor(self) -> None:
        """Process every event that has come."""
        with contextlib.suppress(zmq.Again):
            while True:
                self._read_monitor_event()

    def _read_monitor_event(self) -> None:
        assert self._monitor is not None
        event = recv_monitor_message(self._monitor, zmq.NOBLOCK)
        if event["event"] & _NO_HANDSHAKE:
            self.refused[Cut.GREETING] += 1
            return
        descriptor = event["value"]
        self._silent.pop(descriptor, None)
        if route := self._by_descriptor.get(descriptor):
            self._lose(route)
        if event["event"] == zmq.EVENT_ACCEPTED:
            self._silent[descriptor] = time.monotonic()
            self._newcomers.append(descriptor)

    def _check_arrivals(self) -> None:
        """End the connections of an address above its limit, before their handshakes cost anything, or soon after."""
        while self._newcomers:
            descriptor = self._newcomers.popleft()
            if since := self._silent.get(descriptor):
                address = address_of(descriptor)
                if address and self._arrivals is not None and not self._arrivals.try_consume(network(address), since):
                    self._cut_silent(descriptor, since, Cut.ADDRESS)

    def _process(self, descriptor: int) -> int:
        """Return the id of the process at the other end of the ipc socket, 0 for other connections."""
        if not self._inside:
            return 0
        theirs = duplicate(descriptor)
        if theirs is None:
            return 0
        with contextlib.suppress(OSError), theirs:
            if theirs.family == socket.AF_UNIX and theirs.getsockname() == self._inside:
                told = theirs.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
                return int(_CREDENTIALS.unpack(told)[0])
        return 0

    def _lose(self, route: bytes) -> None:
        self._forget(route)
        self._sessions.on_disconnect(route)

    def _forget(self, route: bytes) -> None:
        del self._by_descriptor[self.by_route.pop(route).descriptor]
        self._ended[route] = None

    # -- cutting -----------------------------------------------------------------------------------------------------

    def _cut_silent(self, descriptor: int, since: float, why: Cut) -> None:
        """End the connection unless it has ended, or sent a message."""
        with self._duplicated(descriptor) as theirs:
            if self._silent.get(descriptor) == since:
                del self._silent[descriptor]
                self.refused[why] += 1
                shut(theirs)

    @contextlib.contextmanager
    def _duplicated(self, descriptor: int) -> Iterator[socket.socket | None]:
        """Duplicate the descriptor of a connection, so that it cannot become another connection's meanwhile.

        Then process every event. ZeroMQ reports the end of a connection before it closes its descriptor, so without
        such a report the duplicate is the right one.
        """
        with contextlib.ExitStack() as stack:
            theirs = duplicate(descriptor)
            if theirs is not None:
                stack.enter_context(theirs)
            self._drain_monitor()
            yield theirs


def _is_later(route: bytes, other: bytes) -> bool:
    """Return True if ZeroMQ chose this routing id after the other. Its numbers wrap around."""
    ahead = int.from_bytes(route[1:]) - int.from_bytes(other[1:])
    return 0 < ahead % 2**32 < 2**31
