"""The same bytes over ZeroMQ: a service that binds, and the Transport that connects to it (PROTOCOL §7).

One command (with its LF) or one whole answer (with its empty line) is one message of one frame. A peer
that vanished counts as gone, by the socket's monitor or a missed heartbeat, not as slow.
Not the lobby, where bots dial in under keys.
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
LONGEST_COMMAND = 2 * MAX_LINE  # bytes of a message: a little over the bound is answered, more loses the connection
HIGH_WATER = 100  # messages queued for a peer
UNBOUNDED = 0
"""Of messages from a peer, RCVHWM: libzmq (4.3.5) aborts where a connection whose input stands still at such a bound is
reset, and a heartbeat is due or lies in its buffer. So no socket has one; the reader bounds what comes."""
WRITE_PATIENCE = 10.0  # seconds
SESSIONS = 1_000  # a new one replaces the one that was silent longest
MOST_KEPT = 4 * LONGEST_COMMAND  # bytes of commands that wait while a session is busy
_END_SIZE = 1024  # bytes that an empty message counts there
MOST_UNREAD = 2 * 1024 * 1024  # bytes of a connection that came and are no message yet, or were not read
MOST_UNREAD_IN_ALL = 2 * MOST_UNREAD  # an empty frame takes 2 bytes of these, and 36 of memory
_OVERHEAD = 160  # bytes that a frame may take on the wire beyond its own
_PER_GUESS = 8  # bytes that we may grow for each that counts as unread: others may have made us grow
_BEATS = 64  # bytes of heartbeats a second that come and are no message
_GROWN = 4 * 1024 * 1024  # bytes of memory more, or less, after which all connections are looked at
_LOOK, _LOOK_ANYHOW = 0.02, 1.0  # seconds between looks at our memory; until all are looked at all the same
_DAY = 86_400.0  # seconds, which poll can wait for
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
    """A count of handshakes with one server that tells wrong keys, which stay wrong, from a server in trouble.

    With a wrong server key the server ends the connection during the handshake, and so does an overloaded one; so it
    counts only after a few failures and no success. `keys`: this side has keys; `options`: what to add if the server
    asks for them.
    """

    MOST = 5

    def __init__(self, url: str, keys: bool, options: str) -> None:
        self._url, self._keys, self._options = url, keys, options
        self._failed: int | None = 0

    def succeeded(self) -> None:
        self._failed = None

    def failed(self, event: int, value: int) -> None:
        """Count a failure, by an event of the socket's monitor. Raises AccessRefused."""
        if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value == _OTHER_MECHANISM:
            raise AccessRefused(
                f"{self._url}: the server asks for no keys: leave out {self._options}"
                if self._keys
                else f"{self._url}: the server asks for keys, and none were given: add {self._options}",
                code="no-keys-asked" if self._keys else "keys-needed",
            )
        if event not in _NO_HANDSHAKE or self._failed is None:
            return
        self._failed += 1
        if self._failed >= self.MOST:
            trouble = f"{self._url}: the handshake failed {self.MOST} times in a row: "
            raise AccessRefused(
                f"{trouble}the key in --server-key is probably not this server's, or the server asks for no keys. Ask "
                "its operator for its public key; if you have the right one, the server is overloaded: try again later"
                if self._keys
                else f"{trouble}the server probably asks for keys: add {self._options}. If it asks for none, another "
                "program listens at this address, or the server is overloaded: try again later",
                code="wrong-server-key" if self._keys else "keys-needed",
            )


class Dealer:
    """A Transport to a service that listens at `url`; it is gone as soon as the connection is.

    The service has `patience` seconds to appear at first.
    """

    def __init__(self, url: str, patience: float = 10.0) -> None:
        if url.startswith("tcp://") and not _split_tcp(url)[1]:
            raise AddressError(f"cannot connect to {url}: a port is 1..65535; write tcp://host:port")
        self.now = time.monotonic
        self._context = zmq.Context()
        self._socket = new_socket(self._context, zmq.DEALER, MAX_ANSWER + 4096, url)
        self._monitor = self._socket.get_monitor_socket(_THERE | _GONE)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        self._connected_by = time.monotonic() + patience
        self._partial = b""  # of a line that is not whole yet
        self._connected = self._gone = self._closed = False
        self.absent = False  # no connection in time
        try:
            self._socket.connect(url)
        except (zmq.ZMQError, UnicodeError) as error:
            self.close()
            raise AddressError(f"cannot connect to {url}: {_reason(error)}; write tcp://host:port") from None

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Write whole lines as Transport.write does. The next read finds out that a peer is gone."""
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
            self._gone = True  # not our framing: the peer speaks something else
        return b""

    def close_stdin(self) -> None:
        """Close both directions: a connection has no halves."""
        self.close()

    def close(self) -> None:
        """Disconnect (once). A last `quit` may still leave, for a second, if the peer is there to receive it."""
        if not self._closed:
            self._closed = True
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=1000 if self._connected and not self._gone else 0)
            self._context.term()
            self._gone = True

    def _wait(self, deadline: float, what: int) -> None:
        """Wait for the socket or news of the connection. Raises PeerTimeout."""
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
                raise PeerTimeout("no whole answer before the deadline")


class Service:
    """A service that binds a ROUTER at `url`; every peer has its own Responder, made by `make`.

    Sessions take turns (ggp.protocol.transports.turns). Only loopback and ipc addresses: no keys are asked for here.
    """

    def __init__(
        self,
        url: str,
        make: Callable[[], Responder],
        sessions: int = SESSIONS,
        slow: frozenset[str] = frozenset(),
    ) -> None:
        """Listen at `url`. Commands named in `slow` take long and change nothing. Raises AddressError."""
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
        self._peers: dict[int, bytes] = {}  # by the descriptor of their connection
        self.turns = Turns()
        self._poll = select.epoll()
        self._readable = _descriptor(self._socket)
        self._poll.register(self._readable, select.EPOLLIN)
        self._poll.register(self.turns.descriptor, select.EPOLLIN)
        self.unread = Unread(self._socket, self._poll, self._lose)
        self._others = {self.turns.descriptor}  # what ends a wait besides a message

    def serve(self, stopping: Stopping) -> NoReturn:
        """Answer until a signal comes: raises Stopped."""
        self._poll.register(stopping.descriptor, select.EPOLLIN)
        self._others.add(stopping.descriptor)
        while True:
            came = self._wait(math.inf)
            with stopping.raising():  # also out of an answer that takes long
                self._go_on(came)

    def serve_one(self, timeout_ms: int) -> bool:
        """Take one message, and answer one session for a moment; False if there was nothing to do in time."""
        until = time.monotonic() + timeout_ms / 1000
        while not self._go_on(self._wait(until - time.monotonic())):  # it may wake up for nothing
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
        """Return True if every command that was taken is answered."""
        return self.turns.idle

    def close(self, linger_ms: int = 0) -> None:
        """Close it, and remove the socket file of an ipc address unless another service has taken the address over.

        The last answers have `linger_ms` to leave.
        """
        self.turns.close()
        self.unread.close()
        self._poll.close()
        self._socket.close(linger=linger_ms)
        self._context.term()
        self._file.remove()

    def _wait(self, seconds: float) -> bool:
        """Wait for something to do, at most this long; whether it is a message, most likely."""
        until = time.monotonic() + seconds
        while True:
            self.unread.look()
            if _readable(self._socket):  # asked before each wait, because the descriptor tells only of changes
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
        strange = frame.more  # from a peer that speaks something else: REQ sends an empty delimiter
        while frame.more:
            frame = self._socket.recv(copy=False)
            size += len(frame) + _OVERHEAD
        descriptor = int(frame.get(zmq.SRCFD))
        if self._peers.get(descriptor) != peer:  # a new connection, perhaps with the number of one that has ended
            self.unread.hear_news()
            self._peers[descriptor] = peer
        self.unread.heard(descriptor, size + _OVERHEAD)
        if not strange:
            self._receive(peer, data)
        if not self.unread.holds(descriptor):  # its end was heard before its message was read
            self._lose(descriptor)
        return True

    def _receive(self, peer: bytes, data: bytes) -> None:
        session = self.sessions.pop(peer, None)
        if session is None:
            responder = self._make()
            responder.slow = self._slow
            session = _ZmqSession(self._socket, peer, responder, self.turns, self._receive, self._end)
        self.sessions[peer] = session  # the end of the order is the latest that spoke
        if len(self.sessions) > self._limit:
            self._end(next(iter(self.sessions)))
        if not session.take(data):
            self._end(peer)

    def _lose(self, descriptor: int) -> None:
        """Forget a connection that has ended: the slow command of its peer is useless."""
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
        self._kept: list[bytearray] = []  # came while it was busy; an empty one ends the session
        self._size = 0  # of what is kept

    def take(self, data: bytes) -> bool:
        """Answer a message once everything before it is answered.

        Return False to end the session: the message is empty, or too much waits.
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
        """See turns.ServiceSession. A peer that is gone or does not read loses its session."""
        try:
            self._socket.send(self._peer, _MORE)
            self._socket.send(answer, _NOW)
        except zmq.ZMQError:
            self.responder.closed = True
        if self.responder.closed:
            self._end(self._peer)
        return not self.responder.closed

    def all_answered(self) -> None:
        """See turns.ServiceSession."""
        kept, self._kept, self._size = self._kept, [], 0
        for data in kept:
            self._receive(self._peer, bytes(data))


@dataclass(slots=True)
class UnreadBytes:
    """A count of what one connection sent and was not read.

    heard: bytes of its messages. guessed: if the system counts no bytes, how much this process has grown since its last
    whole message, while it sent something.
    """

    heard: int = 0
    guessed: int = 0

    def size(self, descriptor: int, grown: int, beats: int) -> int:
        """Return how many bytes are unread.

        Since the last call this process has grown by `grown` bytes, and at most `beats` bytes of heartbeats came.
        """
        came = received(descriptor)
        if came:
            count = came - self.heard
            self.heard = min(self.heard + beats, came)  # what was counted too much is not saved up
            return max(0, count)
        if waiting(descriptor):
            self.guessed += grown
        return self.guessed // _PER_GUESS


class Unread:
    """A bound on what arrived on the connections of a ROUTER and is not a message yet, or was not read.

    ZeroMQ keeps all frames of a message until the last one and bounds neither them nor the messages of a connection, so
    connections that send too much are cut. The system reports when bytes arrive (`_arrivals`); until then nothing runs.
    """

    def __init__(self, router: "zmq.Socket[bytes]", poll: select.epoll, lost: Callable[[int], None]) -> None:
        """Watch the connections of a router. `lost` gets the descriptor of each connection that ends.

        The owner waits with `poll`, at most `wait` seconds, and then calls `look`.
        """
        self._router, self._poll, self._lost = router, poll, lost
        self._monitor = router.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self.news = _descriptor(self._monitor)  # when it is readable, the owner calls `hear_news`
        poll.register(self.news, select.EPOLLIN)
        self._arrivals = select.epoll()
        poll.register(self._arrivals, select.EPOLLIN)
        self._quiet = True  # nothing has come since the last look
        self._connections: dict[int, UnreadBytes] = {}  # by descriptor
        self._next, self._size, self._looked = 0.0, resident(), 0.0
        self.hear_news()  # until it was asked once, a ZeroMQ socket's descriptor tells of nothing

    @property
    def wait(self) -> float:
        """Return the seconds until the next look, if nothing arrives before."""
        return math.inf if self._quiet else max(0.0, self._next - time.monotonic())

    @property
    def connections(self) -> int:
        """Return how many connections there are."""
        return len(self._connections)

    def holds(self, descriptor: int) -> bool:
        """Return True if `hear_news` knows that this connection began and has not ended."""
        return descriptor in self._connections

    def heard(self, descriptor: int, size: int) -> None:
        """Count a message of this many bytes on this connection."""
        if connection := self._connections.get(descriptor):
            connection.heard += size
            connection.guessed = 0

    def look(self) -> None:
        """Cut the connections that sent too much: now and then when this process has grown, and in the end."""
        now = time.monotonic()
        if now < self._next:
            return
        if not self._quiet:  # else nothing was there when the owner last waited, or it calls hear_news
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
            self._next = 0.0  # what comes is looked at as soon as it does

    def _cut(self, now: float, size: int) -> None:
        """Cut those that sent too much. size: of this process's memory."""
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
        """Take the news of connections that began and ended."""
        while _readable(self._monitor):
            event = recv_monitor_message(self._monitor)
            if self._connections.pop(event["value"], None):
                self._lost(event["value"])
            if event["event"] == zmq.EVENT_ACCEPTED:
                self._connections[event["value"]] = UnreadBytes()
                with contextlib.suppress(OSError):  # it has ended already
                    self._arrivals.register(event["value"], select.EPOLLIN | select.EPOLLET)
                self._set_quiet(False)  # what it sent before this, ZeroMQ may have read: no arrival will be reported

    def close(self) -> None:
        self._router.disable_monitor()
        self._monitor.close(linger=0)
        self._arrivals.close()


def check_url(url: str) -> None:
    """Raise AddressError unless a program can connect to `url`: tcp, a host, a port."""
    if _split_tcp(url)[1] in ("", "*", "0"):
        raise AddressError(f"cannot connect to {url}: write tcp://host:port")


def check_listen(url: str) -> None:
    """Raise AddressError unless a program can listen at `url`: tcp, an address, a port or `*` for a free one."""
    if not _split_tcp(url)[1]:
        raise AddressError(f"cannot listen at {url}: write tcp://ADDRESS:PORT")


def is_wildcard(url: str) -> bool:
    """Return True if `url`, which check_listen accepts, means every address of this machine: no bot can dial it."""
    host = _split_tcp(url)[0]
    return host == "*" or _is_ip(host, "is_unspecified")


def is_loopback(url: str) -> bool:
    """Return True if `url`, which check_url accepts, is on this machine."""
    host = _split_tcp(url)[0]
    return host == "localhost" or _is_ip(host, "is_loopback")


def _readable(socket: "zmq.Socket[bytes]") -> bool:
    return bool(int(socket.getsockopt(_EVENTS)) & _IN)


def _descriptor(socket: "zmq.Socket[bytes]") -> int:
    return int(socket.getsockopt(zmq.FD))


def bind_router(context: "zmq.Context[zmq.Socket[bytes]]", url: str) -> "tuple[zmq.Socket[bytes], str]":
    """Return a ROUTER that listens at `url`, loopback or ipc, and its address. An ipc file is for this user alone.

    Raises AddressError.
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
        raise AddressError(f"cannot listen at {url}: there are no keys here, so only tcp://127.0.0.1:PORT")


def _reason(error: zmq.ZMQError | UnicodeError) -> str:
    return zmq.strerror(error.errno or 0) if isinstance(error, zmq.ZMQError) else str(error)


def _split_tcp(url: str) -> tuple[str, str]:
    """Return the host, without brackets, and the port of tcp://HOST:PORT; two empty strings for any other address.

    ZeroMQ's own grammar has more (`;` before the address that counts) and takes a port modulo 65536, so only plain
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
    """Return a socket with every bound set: bytes of a message from the peer, queues, heartbeats."""
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
    """Encrypt a connection by CURVE, as a client with this key pair."""
    socket.setsockopt(zmq.CURVE_SERVERKEY, server_key.encode())
    socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
