"""The lobby's one ROUTER socket: connections, their limits, and messages."""

import asyncio
import contextlib
import socket
import struct
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Protocol

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.errors import AddressError
from protocol.lobby_wire import FRAMES, MAX_FRAME
from protocol.transports.descriptors import address_of, duplicate, received, resident, shut
from protocol.transports.zmq import UNBOUNDED
from referee.lobby.auth import INSIDE, Admission
from referee.lobby.limits import Arrivals
from referee.lobby.zmq_io import Reading

BACKLOG = 1024  # connections that wait to be accepted
_GREETING_MS = 10_000  # for the handshake of a connection
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)  # enums are slow to combine
_OVERHEAD = 160  # bytes a frame may take on the wire beyond its own
_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group
_NO_HANDSHAKE = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
_LONGEST_ROUTE = 32  # bytes of a routing id, which comes with every message; of one that ZeroMQ chose 5
_BEATS = 64  # bytes of heartbeats a second that come and are no message
_SKIPPED = 500  # frames at a time of a message that has too many
_GLANCE = 0.05  # seconds between looks whether there is a flood
_BLINK = 0.005  # seconds between looks at our memory, which take 10 µs each
_TURN = 0.001  # seconds of a look at all connections, until others in the loop have their turn
_AUTOMATIC, _ROUTE = b"\0", 5  # a routing id that ZeroMQ chose: this and a number of four bytes, each one more
_REMEMBERED = 10_000  # of these


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


class ConnectionListener(Protocol):
    """Receives the events of the socket; Sessions implements it."""

    def on_message(self, route: bytes, user: str, frames: Sequence[bytes], now: float) -> None:
        """A message of at most three frames, without its routing id; of one that had more the rest is dropped."""

    def on_connect(self, route: bytes, descriptor: int, address: str) -> None:
        """The first message of this connection follows."""

    def on_disconnect(self, route: bytes) -> None:
        """The connection is gone."""


class RouterSocket:
    """Binds `url` with the authentication of `admission`; and `inside`, an ipc:// address or "", for local processes,
    which the kernel names. Raises AddressError."""

    def __init__(
        self,
        url: str,
        listener: ConnectionListener,
        admission: Admission,
        *,
        queue: int,
        connections: int,
        heartbeat: tuple[int, int],
        inside: str = "",
        arrivals: float = 0,
    ) -> None:
        """`queue` messages for a connection, `connections` at most; `heartbeat`: ms between and in all;
        `arrivals`: connections a second from one address, 0 for any number."""
        self._listener = listener
        self._most = connections
        self._admission = admission
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._monitor: zmq.Socket[bytes] | None = None
        self._inside = inside.removeprefix("ipc://")
        self._processes: dict[bytes, str] = {}  # local processes
        self._routes: dict[bytes, int] = {}  # connections that have spoken, with their descriptors
        self._by_descriptor: dict[int, bytes] = {}
        self._heard: dict[bytes, int] = {}  # bytes of whole messages, by connection
        self._silent: dict[int, float] = {}  # accepted, and has not said anything yet: since when
        self._newcomers: deque[int] = deque()  # whose addresses were not looked at yet
        self._ended: OrderedDict[bytes, None] = OrderedDict()  # closed routes, whose late messages are dropped
        self._too_many = False  # frames of the message at hand, of which some are still to be read
        self._arrivals = Arrivals(arrivals)
        self._readings: list[Reading] = []
        self.refused: Counter[Cut] = Counter()  # connections that were cut here, by why
        options = {
            zmq.ROUTER_MANDATORY: 1,  # say so when a message cannot leave
            zmq.LINGER: 0,
            zmq.MAXMSGSIZE: MAX_FRAME + 4096,
            zmq.SNDHWM: queue,
            zmq.RCVHWM: UNBOUNDED,  # cut_stuffed is the bound
            zmq.HEARTBEAT_IVL: heartbeat[0],
            zmq.HEARTBEAT_TIMEOUT: heartbeat[1],
            zmq.HANDSHAKE_IVL: _GREETING_MS,
            zmq.BACKLOG: BACKLOG,
            zmq.IPV6: int("[" in url),
        }
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | _NO_HANDSHAKE)
        try:
            if inside:
                self._socket.bind(inside)  # options hold for what is bound after them: here no keys are asked for
            admission.prepare(self._context, self._socket)
            self._socket.bind(url)
        except (zmq.ZMQError, UnicodeError) as error:
            self.close()
            reason = zmq.strerror(error.errno or 0) if isinstance(error, zmq.ZMQError) else str(error)
            raise AddressError(
                f"cannot listen at {url}: {reason}; write tcp://127.0.0.1:PORT", code="cannot-listen"
            ) from None
        self.url = bytes(self._socket.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")

    @property
    def connections(self) -> int:
        return len(self._routes) + len(self._silent)

    def open(self) -> None:
        """Read from now on, in the running loop."""
        assert self._monitor is not None
        self._admission.open()
        self._readings = [Reading(self._socket, self._receive), Reading(self._monitor, self._on_monitor_event)]

    def close(self, linger: int = 0) -> None:
        """Once. `linger`: ms for what is still to leave."""
        for reading in self._readings:
            reading.close()
        self._readings = []
        if self._monitor is not None:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._monitor = None
        self._socket.close(linger=linger)
        self._admission.close()
        self._context.term()

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        """Whether all could leave. False: the connection is gone, or does not take what it is sent."""
        send = self._socket.send
        try:
            for payload in payloads:
                send(route, _MORE)
                send(kind, _MORE)
                send(payload, _NOW)
        except zmq.ZMQError:
            return False
        finally:
            if self._readings:
                self._readings[0].poll_again()
        return True

    def cut(self, route: bytes) -> bool:
        """End a connection at once; False if it had ended already."""
        descriptor = self._routes.get(route)
        if descriptor is None or not self._readings:
            return False
        with self._duplicated(descriptor) as theirs:
            if self._routes.get(route) != descriptor:
                return False
            del self._by_descriptor[descriptor]
            self._forget(route)
            shut(theirs)
        return True

    async def sleep(self, seconds: float, grown: int) -> None:
        """Sleep, but wake early if more arrives than one turn of the loop reads, or the process grows by `grown` bytes:
        a message is delivered only with its last frame."""
        began, full, size = time.monotonic(), self._full(), resident()
        while abs(resident() - size) < grown:
            await asyncio.sleep(_BLINK)
            waited = time.monotonic() - began
            if waited >= seconds or (waited >= _GLANCE and self._full() != full):
                return

    def _full(self) -> int:
        return sum(reading.full for reading in self._readings)

    def cut_silent(self, seconds: float) -> None:
        """End connections that have been silent for so long."""
        before = time.monotonic() - seconds
        for one in [one for one in self._silent.items() if one[1] < before]:
            self._cut_silent(*one, Cut.SILENT)

    async def cut_stuffed(self, most: int, in_all: int, seconds: float) -> None:
        """End connections that have sent `most` bytes more than came of them as messages, but for heartbeats, and the
        worst of the others while all together have sent more than `in_all` so; to be called `seconds` after the last
        time.

        ZeroMQ keeps the frames of a message until its last one, however many there are, and has no bound for them.
        """
        beats, turn = int(_BEATS * seconds), time.monotonic() + _TURN
        rest: list[tuple[int, bytes, int]] = []
        for route, descriptor in [*self._routes.items(), *((b"", one) for one in self._silent)]:
            if time.monotonic() > turn:
                await asyncio.sleep(0)
                turn = time.monotonic() + _TURN
            came, heard = received(descriptor), self._heard.get(route, 0)
            if came - heard > most:
                self._cut_stuffed(route, descriptor)
                continue
            rest.append((came - heard, route, descriptor))
            if route in self._heard:  # what was counted too much is not saved up
                self._heard[route] = min(heard + beats, came)
        together = sum(max(0, waiting) for waiting, _, _ in rest)
        if together > in_all:
            for waiting, route, descriptor in sorted(rest, reverse=True):
                if together <= in_all:
                    break
                self._cut_stuffed(route, descriptor)
                together -= waiting

    def _cut_stuffed(self, route: bytes, descriptor: int) -> None:
        if not route:
            if since := self._silent.get(descriptor):
                self._cut_silent(descriptor, since, Cut.STUFFED)
        elif self._routes.get(route) == descriptor and self.cut(route):
            self.refused[Cut.STUFFED] += 1
            self._listener.on_disconnect(route)

    # -- reading -----------------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        recv = self._socket.recv
        if self._too_many:
            self._skip()
            return
        route = recv(_NOW)
        frame = recv(_NOW, copy=False)
        frames = [frame.bytes]
        while frame.more and len(frames) <= FRAMES:
            frame = recv(_NOW, copy=False)
            frames.append(frame.bytes)
        self._too_many = frame.more
        if route not in self._routes and (route in self._ended or not self._arrive(route, frame)):
            return
        self._heard[route] += sum(map(len, frames)) + _OVERHEAD * len(frames)
        user = self._processes.get(route) or (_metadata(frame, "User-Id") if self._admission.authenticated else "")
        self._listener.on_message(route, user, frames, time.monotonic())

    def _skip(self) -> None:
        """Some of the frames that a message had too many; others in the loop have their turn between."""
        for _ in range(_SKIPPED):
            if not self._socket.recv(_NOW, copy=False).more:
                self._too_many = False
                return

    def _arrive(self, route: bytes, frame: zmq.Frame) -> bool:
        """The first words of a connection, which the monitor told of.

        False: it is none of ours. One that speaks a ZMTP of before 3.0, which does not say on what connection, counts
        for silent, and ends so.
        """
        self._drain_monitor()
        try:
            descriptor = int(frame.get(zmq.SRCFD))
        except zmq.ZMQError:
            return False
        before = self._by_descriptor.get(descriptor, b"")
        if before and _is_later(route, before):
            self._lose(before)
        elif descriptor not in self._silent:  # late words of one that has ended; its descriptor may be another's
            return False
        if len(route) > _LONGEST_ROUTE:
            self._cut_silent(descriptor, self._silent.get(descriptor, 0.0), Cut.ROUTING_ID)
            return False
        if not route.startswith(_AUTOMATIC) or len(route) != _ROUTE:  # it stays silent, and ends so
            self.refused[Cut.ROUTING_ID] += 1
            self.send(route, b"B", [b"refused: set no routing id (ZMQ_ROUTING_ID, ZMQ_IDENTITY): ZeroMQ chooses one"])
            return False
        self._silent.pop(descriptor, None)
        self._routes[route] = descriptor
        self._heard[route] = 0
        self._by_descriptor[descriptor] = route
        if process := self._process(descriptor):
            self._processes[route] = f"{INSIDE}{process}"
        self._listener.on_connect(route, descriptor, _metadata(frame, "Peer-Address"))
        return True

    def _on_monitor_event(self) -> None:
        """A connection came or went. Where there are too many, the one that has been silent for longest goes."""
        self._read_monitor_event()
        self._check_arrivals()
        while self.connections > self._most:
            oldest = next((one for one in self._silent.items() if not self._process(one[0])), None)
            if oldest is None:
                return
            self._cut_silent(*oldest, Cut.FULL)

    def _drain_monitor(self) -> None:
        """All news that there are."""
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
        """Of too many from one address the rest is cut before its handshake costs anything, or soon after it began."""
        while self._newcomers:
            descriptor = self._newcomers.popleft()
            if since := self._silent.get(descriptor):
                address = address_of(descriptor)
                if address and not self._arrivals.allow(address, since):
                    self._cut_silent(descriptor, since, Cut.ADDRESS)

    def _process(self, descriptor: int) -> int:
        """The process at the other end of the ipc socket; 0 for other connections."""
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
        self._by_descriptor.pop(self._routes[route], None)
        self._forget(route)
        self._listener.on_disconnect(route)

    def _forget(self, route: bytes) -> None:
        del self._routes[route], self._heard[route]
        self._processes.pop(route, None)
        self._ended[route] = None
        if len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)

    # -- cutting -----------------------------------------------------------------------------------------------------

    def _cut_silent(self, descriptor: int, since: float, why: Cut) -> None:
        """Unless it has ended, or spoken."""
        with self._duplicated(descriptor) as theirs:
            if self._silent.get(descriptor) == since:
                del self._silent[descriptor]
                self.refused[why] += 1
                shut(theirs)

    @contextlib.contextmanager
    def _duplicated(self, descriptor: int) -> Iterator[socket.socket | None]:
        """The socket of a connection, whose number cannot become another's meanwhile; all news were heard since.

        ZeroMQ tells that a connection has ended before it closes its descriptor: if nothing was told, it is the one.
        """
        with contextlib.ExitStack() as stack:
            theirs = duplicate(descriptor)
            if theirs is not None:
                stack.enter_context(theirs)
            self._drain_monitor()
            yield theirs


def _is_later(route: bytes, other: bytes) -> bool:
    """Of two routing ids that ZeroMQ chose, by number, which begins again after the greatest."""
    ahead = int.from_bytes(route[1:]) - int.from_bytes(other[1:])
    return 0 < ahead % 2**32 < 2**31


def _metadata(frame: zmq.Frame, name: str) -> str:
    """ "" where there is none."""
    try:
        return str(frame.get(name))
    except zmq.ZMQError:
        return ""
