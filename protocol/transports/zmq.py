"""Transport over ZeroMQ: a service that binds, and the Transport that connects to it (PROTOCOL §7).

One command (with its LF) or one whole answer (with its empty line) is one message of one frame. A peer that has
vanished, as the socket's monitor or a missed heartbeat shows, counts as gone, not as slow. The lobby, where bots dial
in with keys, is elsewhere.
"""

import contextlib
import ipaddress
import math
import re
import select
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import zmq
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.errors import AddressError, PeerTimeout, Problem
from ggp.protocol.grammar import MAX_ANSWER, MAX_LINE
from ggp.protocol.responder import Responder
from ggp.protocol.safe_files import owner_only
from ggp.protocol.transports._router import received
from ggp.protocol.transports.descriptors import cut, resident, waiting
from ggp.protocol.transports.keys import KeyPair
from ggp.protocol.transports.signal_fd import Stopping
from ggp.protocol.transports.turns import Turns
from ggp.protocol.transports.unix import SocketFile

HEARTBEAT_MS, SILENCE_MS = 5_000, 15_000
LONGEST_COMMAND = 2 * MAX_LINE  # bytes of a message; a longer one loses the connection instead of getting an error
HIGH_WATER = 100  # messages queued for a peer
UNBOUNDED = 0
"""RCVHWM, the queue limit for messages from a peer: no limit.

libzmq 4.3.5 aborts if a connection whose input has stopped at this limit is reset while a heartbeat is due or buffered.
So the reader limits the input instead."""
WRITE_PATIENCE = 10.0  # seconds
SESSIONS = 1_000  # one more session replaces the one that has been silent longest
MOST_KEPT = 4 * LONGEST_COMMAND  # bytes of commands that may wait while a session is busy
_END_SIZE = 1024  # bytes that an empty message counts towards MOST_KEPT
MOST_UNREAD = 2 * 1024 * 1024  # bytes of incomplete or unread messages of one connection
MOST_UNREAD_IN_ALL = 2 * MOST_UNREAD  # an empty frame counts 2 bytes but takes 36 bytes of memory
_OVERHEAD = 160  # the most bytes that a frame takes on the wire beyond its content
_PER_GUESS = 8  # bytes of memory growth per byte that counts as unread, as there may be other causes
_BEATS = 64  # bytes of heartbeats a second, which are not messages
_GROWN = 4 * 1024 * 1024  # change of our memory in bytes after which all connections are checked
_LOOK, _LOOK_ANYHOW = 0.02, 1.0  # seconds between checks of our memory, and between checks of all connections
_DAY = 86_400.0  # seconds: the longest single wait
_EVENTS, _IN = int(zmq.EVENTS), int(zmq.POLLIN)  # enums are slow to combine
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)
_THERE = zmq.EVENT_HANDSHAKE_SUCCEEDED
_GONE = (
    zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
_NO_HANDSHAKE = (zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
_OTHER_MECHANISM = 0x11000002  # ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, which pyzmq does not name
_TCP = re.compile(r"tcp://([^:/@;]+|\[[0-9a-fA-F:.]+\]):0*(\d{1,5}|\*)")
_FILE = re.compile(r"ipc://([^@].*)")


class AccessRefused(Problem):
    """A refusal that dialling again cannot change; str() says why and what to do."""

    code = "access-refused"


class Handshakes:
    """A count of handshakes with one server, to tell wrong keys from a server in trouble.

    With a wrong server key, the server ends the connection during the handshake, but so does an overloaded server. A
    key is therefore called wrong only after several failures without a success.

    Args:
        url: The server's address.
        keys: Whether this side has keys.
        options: The options to suggest if the server asks for keys.
    """

    MOST = 5

    def __init__(self, url: str, keys: bool, options: str) -> None:
        self._url, self._keys, self._options = url, keys, options
        self._failed: int | None = 0

    def succeeded(self) -> None:
        """Note a successful handshake; later failures then do not mean wrong keys."""
        self._failed = None

    def failed(self, event: int, value: int) -> None:
        """Count a failure.

        Args:
            event: The event of the socket's monitor.
            value: The value of that event.

        Raises:
            AccessRefused: The keys must be wrong, or missing, or not wanted.
        """
        if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value == _OTHER_MECHANISM:
            raise AccessRefused(
                f"{self._url}: the server does not use keys: leave out {self._options}"
                if self._keys
                else f"{self._url}: the server asks for keys, but none were given: add {self._options}",
                code="no-keys-asked" if self._keys else "keys-needed",
            )
        if event not in _NO_HANDSHAKE or self._failed is None:
            return
        self._failed += 1
        if self._failed >= self.MOST:
            trouble = f"{self._url}: the handshake failed {self.MOST} times in a row: "
            raise AccessRefused(
                f"{trouble}the key in --server-key is probably not this server's, or the server does not use keys. Ask "
                "its operator for its public key; if you have the right one, the server is overloaded: try again later"
                if self._keys
                else f"{trouble}the server probably asks for keys: add {self._options}. If it does not, another "
                "program is listening at this address, or the server is overloaded: try again later",
                code="wrong-server-key" if self._keys else "keys-needed",
            )


class Dealer:
    """A Transport to a service that listens at `url`. The stream ends as soon as the connection does.

    The service may take `patience` seconds to appear at first.
    """

    def __init__(self, url: str, patience: float = 10.0) -> None:
        if url.startswith("tcp://") and not _split_tcp(url)[1]:
            raise AddressError(f"cannot connect to {url}: write tcp://host:port, with a port of 1..65535")
        self.now = time.monotonic
        self._context = zmq.Context()
        self._socket = new_socket(self._context, zmq.DEALER, MAX_ANSWER + 4096, url)
        self._monitor = self._socket.get_monitor_socket(_THERE | _GONE)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        self._connected_by = time.monotonic() + patience
        self._partial = b""  # an incomplete line
        self._connected = self._gone = self._closed = False
        self.absent = False  # True if there was no connection in time
        try:
            self._socket.connect(url)
        except (zmq.ZMQError, UnicodeError) as error:
            self.close()
            raise AddressError(f"cannot connect to {url}: {_reason(error)}; write tcp://host:port") from None

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Write whole lines as Transport.write does. Only the next read notices that a peer is gone."""
        give_up = time.monotonic() + WRITE_PATIENCE if deadline is None else deadline
        while not (self._connected or self._gone):
            self._wait(min(give_up, self._connected_by), zmq.POLLIN)
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            while not self._gone:
                try:
                    self._socket.send(line + b"\n", zmq.NOBLOCK)
                    break
                except zmq.Again:
                    self._wait(give_up, zmq.POLLOUT)

    async def read(self, deadline: float) -> bytes:
        """Read as Transport.read does; after close() the stream has ended."""
        while not self._closed:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                if self._gone:
                    return b""
                self._wait(deadline if self._connected else min(deadline, self._connected_by), zmq.POLLIN)
                continue
            if len(frames) == 1 and frames[0]:
                return bytes(frames[0])
            self._gone = True  # the peer uses another framing
        return b""

    def close_stdin(self) -> None:
        """Close both directions, because a connection cannot be closed by half."""
        self.close()

    def close(self) -> None:
        """Disconnect (idempotent). A last `quit` has one more second to be sent if the peer is connected."""
        if not self._closed:
            self._closed = True
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=1000 if self._connected and not self._gone else 0)
            self._context.term()
            self._gone = True

    def _wait(self, deadline: float, what: int) -> None:
        """Wait for the socket or an event of the connection.

        Raises:
            PeerTimeout: Nothing came before the deadline.
        """
        wait = deadline - time.monotonic()
        self._poller.modify(self._socket, what)
        ready = dict(self._poller.poll(max(0, int(min(wait, _DAY) * 1000) + 1)))
        if self._monitor in ready:
            if recv_monitor_message(self._monitor)["event"] == _THERE:
                self._connected = True
            else:
                self._gone = True
        elif not ready and wait <= 0:
            if not self._connected and time.monotonic() >= self._connected_by:
                self._gone = self.absent = True
            else:
                raise PeerTimeout("no complete answer before the deadline")


class Service:
    """A service that binds a ROUTER at `url`. Every peer has its own Responder, made by `make`.

    Sessions take turns (ggp.protocol.transports.turns). Only loopback and ipc addresses are allowed, because there are
    no keys.
    """

    def __init__(
        self,
        url: str,
        make: Callable[[], Responder],
        sessions: int = SESSIONS,
        slow: frozenset[str] = frozenset(),
    ) -> None:
        """Listen at `url`.

        Args:
            url: A loopback or ipc address.
            make: Makes the Responder of a session.
            sessions: The most sessions; one more replaces the one that has been silent longest.
            slow: Names of commands that take long and change nothing.

        Raises:
            AddressError: It cannot listen there.
        """
        self._make, self._slow = make, slow
        self._limit = sessions
        self.sessions: OrderedDict[bytes, _ZmqSession] = OrderedDict()
        self._context = zmq.Context()
        try:
            self._socket, self.url = bind_router(self._context, url)
        except AddressError:
            self._context.term()
            raise
        file = _FILE.fullmatch(self.url)
        self._file = SocketFile(Path(file[1]) if file else None)
        self._peers: dict[int, bytes] = {}  # by the descriptor of the connection
        self.turns = Turns()
        self._poll = select.epoll()
        self._readable = _descriptor(self._socket)
        self._poll.register(self._readable, select.EPOLLIN)
        self._poll.register(self.turns.descriptor, select.EPOLLIN)
        self.unread = Unread(self._socket, self._poll, self._lose)
        self._others = {self.turns.descriptor}  # descriptors other than the socket that end a wait

    def serve(self, stopping: Stopping) -> NoReturn:
        """Answer until a signal comes, then raise Stopped."""
        self._poll.register(stopping.descriptor, select.EPOLLIN)
        self._others.add(stopping.descriptor)
        while True:
            came = self._wait(math.inf)
            with stopping.raising():  # a signal interrupts even a long answer
                self._go_on(came)

    def serve_one(self, timeout_ms: int) -> bool:
        """Take one message and answer one session for a moment. Return False if there was nothing to do in time."""
        until = time.monotonic() + timeout_ms / 1000
        while not self._go_on(self._wait(until - time.monotonic())):  # wake-ups may be spurious
            if time.monotonic() >= until:
                return False
        return True

    def _go_on(self, came: bool) -> bool:
        took = came and self._take()
        self.turns.collect()
        worked = self.turns.ready
        if worked:
            self.turns.step()
        return took or worked

    @property
    def idle(self) -> bool:
        """Return True if every command received is answered."""
        return self.turns.idle

    def close(self, linger_ms: int = 0) -> None:
        """Close it. Remove the socket file of an ipc address unless another service has taken over the address.

        Args:
            linger_ms: Milliseconds that the last answers have to be sent.
        """
        self.turns.close()
        self.unread.close()
        self._poll.close()
        self._socket.close(linger=linger_ms)
        self._context.term()
        self._file.remove()

    def _wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for something to do. Return True if it is probably a message."""
        until = time.monotonic() + seconds
        while True:
            self.unread.look()
            if _readable(self._socket):  # checked before each wait, because the descriptor only signals changes
                return True
            left = min(self.turns.wait, until - time.monotonic())
            ready = {descriptor for descriptor, _ in self._poll.poll(max(0.0, min(left, self.unread.wait, _DAY)))}
            if self.unread.news in ready:
                self.unread.hear_news()
            if self._readable in ready:
                return True
            if left <= 0 or not self._others.isdisjoint(ready):
                return False

    def _take(self) -> bool:
        """Take one message. Return False if there is none."""
        try:
            peer = self._socket.recv(_NOW)
        except zmq.Again:
            return False
        frame = self._socket.recv(copy=False)
        data, size = frame.bytes, len(frame.bytes)
        strange = frame.more  # another framing, such as the empty delimiter of a REQ socket
        while frame.more:
            frame = self._socket.recv(copy=False)
            size += len(frame) + _OVERHEAD
        descriptor = int(frame.get(zmq.SRCFD))
        if self._peers.get(descriptor) != peer:  # a new connection, perhaps with the descriptor number of an old one
            self.unread.hear_news()
            self._peers[descriptor] = peer
        self.unread.heard(descriptor, size + _OVERHEAD)
        if not strange:
            self._receive(peer, data)
        if not self.unread.holds(descriptor):  # the connection ended before its message was read
            self._lose(descriptor)
        return True

    def _receive(self, peer: bytes, data: bytes) -> None:
        session = self.sessions.pop(peer, None)
        if session is None:
            responder = self._make()
            responder.slow = self._slow
            session = _ZmqSession(self._socket, peer, responder, self.turns, self._receive, self._end)
        self.sessions[peer] = session  # the last in the order is the latest that sent something
        if len(self.sessions) > self._limit:
            self._end(next(iter(self.sessions)))
        if not session.take(data):
            self._end(peer)

    def _lose(self, descriptor: int) -> None:
        """Forget a connection that has ended. Nobody needs the answer to its peer's slow command."""
        peer = self._peers.pop(descriptor, b"")
        if (session := self.sessions.get(peer)) and self.turns.busy(session):
            self._end(peer)

    def _end(self, peer: bytes) -> None:
        self.turns.forget(self.sessions.pop(peer))


class _ZmqSession:
    """A peer of a Service."""

    def __init__(
        self,
        socket: "zmq.Socket[bytes]",
        peer: bytes,
        responder: Responder,
        turns: Turns,
        receive: Callable[[bytes, bytes], None],
        end: Callable[[bytes], None],
    ) -> None:
        self.responder = responder
        self._socket, self._peer, self._turns, self._receive, self._end = socket, peer, turns, receive, end
        self._kept: list[bytearray] = []  # messages that came while it was busy; an empty one ends the session
        self._size = 0  # bytes of these messages

    def take(self, data: bytes) -> bool:
        """Process a message once everything before it is answered.

        Return False if the session must end: the message is empty, or too many are waiting.
        """
        if self._turns.busy(self):
            if data and self._kept and self._kept[-1]:
                self._kept[-1] += data
            else:
                self._kept.append(bytearray(data))
            self._size += len(data) or _END_SIZE
            return self._size <= MOST_KEPT
        if data:
            self.responder.receive(data)
            self._turns.add(self)
        return bool(data)

    def send(self, answer: bytes) -> bool:
        """Send an answer; see turns.ServiceSession. A peer that is gone or does not read loses its session."""
        try:
            self._socket.send(self._peer, _MORE)
            self._socket.send(answer, _NOW)
        except zmq.ZMQError:
            self.responder.closed = True
        if self.responder.closed:
            self._end(self._peer)
        return not self.responder.closed

    def all_answered(self) -> None:
        """Process the waiting messages; see turns.ServiceSession."""
        kept, self._kept, self._size = self._kept, [], 0
        for data in kept:
            self._receive(self._peer, bytes(data))


@dataclass(slots=True)
class UnreadBytes:
    """A count of the bytes that one connection sent and nobody has read.

    Attributes:
        heard: Bytes of its messages so far.
        guessed: If the system does not count bytes: how much this process has grown since the connection's last
            complete message, while it sent something.
    """

    heard: int = 0
    guessed: int = 0

    def size(self, descriptor: int, grown: int, beats: int) -> int:
        """Return the number of unread bytes.

        Args:
            descriptor: Descriptor of the connection.
            grown: Bytes by which this process has grown since the last call.
            beats: The most bytes of heartbeats that can have come since the last call.
        """
        came = received(descriptor)
        if came:
            count = came - self.heard
            self.heard = min(self.heard + beats, came)  # an overestimate must not be carried over
            return max(0, count)
        if waiting(descriptor):
            self.guessed += grown
        return self.guessed // _PER_GUESS


class Unread:
    """A limit on incomplete and unread messages of a ROUTER's connections.

    ZeroMQ keeps all frames of a message until the last one, and limits neither these nor the messages of a connection.
    So connections that send too much are cut. The system reports when bytes arrive (`_arrivals`); until then nothing
    runs.
    """

    def __init__(self, router: "zmq.Socket[bytes]", poll: select.epoll, lost: Callable[[int], None]) -> None:
        """Watch the connections of a router.

        Args:
            router: The socket.
            poll: What the owner waits with, for at most `wait` seconds, before it calls `look`.
            lost: Called with the descriptor of each connection that ends.
        """
        self._router, self._poll, self._lost = router, poll, lost
        self._monitor = router.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self.news = _descriptor(self._monitor)  # when it is readable, the owner calls `hear_news`
        poll.register(self.news, select.EPOLLIN)
        self._arrivals = select.epoll()
        poll.register(self._arrivals, select.EPOLLIN)
        self._quiet = True  # nothing has arrived since the last look
        self._connections: dict[int, UnreadBytes] = {}  # by descriptor
        self._next, self._size, self._looked = 0.0, resident(), 0.0
        self.hear_news()  # a ZeroMQ socket's descriptor signals nothing until its events were read once

    @property
    def wait(self) -> float:
        """Return the seconds until the next look, if nothing arrives earlier."""
        return math.inf if self._quiet else max(0.0, self._next - time.monotonic())

    @property
    def connections(self) -> int:
        """Return the number of connections."""
        return len(self._connections)

    def holds(self, descriptor: int) -> bool:
        """Return True if this connection is known and has not ended."""
        return descriptor in self._connections

    def heard(self, descriptor: int, size: int) -> None:
        """Count a message of `size` bytes on this connection."""
        if connection := self._connections.get(descriptor):
            connection.heard += size
            connection.guessed = 0

    def look(self) -> None:
        """Cut the connections that sent too much, checking only from time to time."""
        now = time.monotonic()
        if now < self._next:
            return
        if not self._quiet:  # otherwise there was no news when the owner last waited, or it calls hear_news itself
            self.hear_news()
        came = bool(self._arrivals.poll(0))
        if self._quiet and not came:
            return
        self._next, size = now + _LOOK, resident()
        if self._quiet:
            self._set_quiet(False)
        elif not came or abs(size - self._size) >= _GROWN or now - self._looked >= _LOOK_ANYHOW:
            self._cut(now, size)
            if not came:
                self._set_quiet(True)

    def _set_quiet(self, quiet: bool) -> None:
        self._quiet = quiet
        self._poll.modify(self._arrivals, select.EPOLLIN if quiet else 0)
        if quiet:
            self._next = 0.0  # check as soon as something arrives

    def _cut(self, now: float, size: int) -> None:
        """Cut the connections that sent too much. `size` is the memory of this process in bytes."""
        grown, beats = max(0, size - self._size), int(_BEATS * (now - self._looked))
        self._size, self._looked = size, now
        unread = sorted(((one.size(fd, grown, beats), fd) for fd, one in self._connections.items()), reverse=True)
        together = sum(count for count, _ in unread)
        for count, descriptor in unread:
            if count <= MOST_UNREAD and together <= MOST_UNREAD_IN_ALL:
                return
            together -= count
            cut(descriptor)

    def hear_news(self) -> None:
        """Process the monitor's events: connections that began and ended."""
        while _readable(self._monitor):
            event = recv_monitor_message(self._monitor)
            if self._connections.pop(event["value"], None):
                self._lost(event["value"])
            if event["event"] == zmq.EVENT_ACCEPTED:
                self._connections[event["value"]] = UnreadBytes()
                with contextlib.suppress(OSError):  # it has ended already
                    self._arrivals.register(event["value"], select.EPOLLIN | select.EPOLLET)
                self._set_quiet(False)  # ZeroMQ may already have read its first bytes, so no arrival would be reported

    def close(self) -> None:
        """Close the monitor. Call it before closing the socket."""
        self._router.disable_monitor()
        self._monitor.close(linger=0)
        self._arrivals.close()


def check_url(url: str) -> None:
    """Raise AddressError unless a program can connect to `url`: tcp://HOST:PORT."""
    if _split_tcp(url)[1] in ("", "*", "0"):
        raise AddressError(f"cannot connect to {url}: write tcp://host:port")


def check_listen(url: str) -> None:
    """Raise AddressError unless a program can listen at `url`: tcp://ADDRESS:PORT, with `*` for a free port."""
    if not _split_tcp(url)[1]:
        raise AddressError(f"cannot listen at {url}: write tcp://ADDRESS:PORT")


def is_wildcard(url: str) -> bool:
    """Return True if `url` means every address of this machine, which no bot can dial.

    The URL must have passed check_listen.
    """
    host = _split_tcp(url)[0]
    return host == "*" or _is_ip(host, "is_unspecified")


def is_loopback(url: str) -> bool:
    """Return True if `url`, which must have passed check_url, is on this machine."""
    host = _split_tcp(url)[0]
    return host == "localhost" or _is_ip(host, "is_loopback")


def _readable(socket: "zmq.Socket[bytes]") -> bool:
    return bool(int(socket.getsockopt(_EVENTS)) & _IN)


def _descriptor(socket: "zmq.Socket[bytes]") -> int:
    return int(socket.getsockopt(zmq.FD))


def bind_router(context: "zmq.Context[zmq.Socket[bytes]]", url: str) -> "tuple[zmq.Socket[bytes], str]":
    """Return a ROUTER that listens at `url`, and its actual address. An ipc file is for this user alone.

    Raises:
        AddressError: It cannot listen there, or `url` is neither loopback nor ipc.
    """
    check_local(url)
    router = new_socket(context, zmq.ROUTER, LONGEST_COMMAND, url)
    router.setsockopt(zmq.ROUTER_MANDATORY, 1)  # report an answer that cannot leave
    try:
        with owner_only():
            router.bind(url)
    except (zmq.ZMQError, UnicodeError) as error:
        router.close(linger=0)
        raise AddressError(
            f"cannot listen at {url}: {_reason(error)}; write tcp://127.0.0.1:PORT", code="cannot-listen"
        ) from None
    return router, bytes(router.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")


def check_local(url: str) -> None:
    """Raise AddressError unless only this machine can reach `url`."""
    if url.startswith("ipc://") and url != "ipc://":
        return
    if not _split_tcp(url)[1]:
        raise AddressError(f"cannot listen at {url}: write tcp://127.0.0.1:PORT")
    if not is_loopback(url):
        raise AddressError(f"cannot listen at {url}: without keys only tcp://127.0.0.1:PORT is allowed")


def _reason(error: zmq.ZMQError | UnicodeError) -> str:
    return zmq.strerror(error.errno or 0) if isinstance(error, zmq.ZMQError) else str(error)


def _split_tcp(url: str) -> tuple[str, str]:
    """Return the host, without brackets, and the port of tcp://HOST:PORT; two empty strings for any other address.

    ZeroMQ's own grammar allows more (`;` before the actual address) and takes a port modulo 65536, so only plain
    addresses are accepted.
    """
    parts = _TCP.fullmatch(url)
    if parts is None or (parts[2] != "*" and int(parts[2]) > 65535):
        return "", ""
    return parts[1].strip("[]"), parts[2]


def _is_ip(host: str, what: str) -> bool:
    try:
        return bool(getattr(ipaddress.ip_address(host), what))
    except ValueError:
        return False


def new_socket(context: "zmq.Context[zmq.Socket[bytes]]", kind: int, largest: int, url: str) -> "zmq.Socket[bytes]":
    """Return a socket with all limits set.

    Args:
        context: The ZeroMQ context.
        kind: The socket type.
        largest: The most bytes of a message from the peer.
        url: The address it will use, which decides about IPv6.
    """
    socket = context.socket(kind)
    options = {
        zmq.LINGER: 0,
        zmq.MAXMSGSIZE: largest,
        zmq.SNDHWM: HIGH_WATER,
        zmq.RCVHWM: UNBOUNDED,
        zmq.HEARTBEAT_IVL: HEARTBEAT_MS,
        zmq.HEARTBEAT_TIMEOUT: SILENCE_MS,
        zmq.IPV6: int("[" in url),  # only if asked for: with it localhost may mean ::1
    }
    for option, value in options.items():
        socket.setsockopt(option, value)
    return socket


def use_keys(socket: "zmq.Socket[bytes]", pair: KeyPair, server_key: str) -> None:
    """Encrypt a connection with CURVE, as a client with this key pair."""
    socket.setsockopt(zmq.CURVE_SERVERKEY, server_key.encode())
    socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
