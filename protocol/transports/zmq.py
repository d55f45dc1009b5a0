"""The same bytes over ZeroMQ: a service that binds, and the Transport that connects to it (PROTOCOL §7).

One command (with its LF) or one whole answer (with its empty line) is one message of one frame. A peer
that vanished is noticed as gone, by the socket's monitor or a missed heartbeat, not as slow.
Not the lobby, where bots dial in under keys.
"""

import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.errors import AddressError, PeerTimeout
from protocol.grammar import MAX_ANSWER, MAX_LINE
from protocol.safe_files import owner_only

if TYPE_CHECKING:
    from protocol.responder import Responder
    from protocol.transports.stopping import Stopping

HEARTBEAT_MS, SILENCE_MS = 5_000, 15_000
LONGEST_COMMAND = 2 * MAX_LINE  # bytes of a message: a little over the bound is answered, more loses the connection
HIGH_WATER = 100  # messages queued for a peer
UNBOUNDED = 0
"""Of messages from a peer, RCVHWM: libzmq (4.3.5) aborts where a connection whose input stands still at such a bound is
reset, and a heartbeat is due or lies in its buffer. So nobody may have one; what comes is bounded by who reads it."""
WRITE_PATIENCE = 10.0  # seconds
SESSIONS = 1_000  # the one that was quiet longest gives way to a newcomer
_SLICE_MS = 100_000_000  # longer than a day, less than what poll can wait
_THERE = zmq.EVENT_HANDSHAKE_SUCCEEDED
_GONE = (
    zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
_NO_HANDSHAKE = (zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
_OTHER_MECHANISM = 0x11000002  # ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, which pyzmq does not name
_LISTEN = re.compile(r"tcp://([^:/@;]+|\[[0-9a-fA-F:.]+\]):(\d+|\*)")
_FILE = re.compile(r"ipc://([^@].*)")
_PORT = re.compile(r"tcp://.*:0*(\d+)")


class AccessRefused(Exception):
    """The server does not let us in, and will not until somebody changes something; str() says why and what to do."""


class Handshakes:
    """Those with one server: tells keys that do not fit, which time does not change, from a server in trouble.

    A wrong server key shows as a connection that the server ends during the handshake, as a server that is overloaded
    ends it; so it is believed only where none has succeeded, and a few have failed. `keys`: whether we have any;
    `options`: what to add where they are asked for.
    """

    MOST = 5

    def __init__(self, url: str, keys: bool, options: str) -> None:
        self._url, self._keys, self._options = url, keys, options
        self._failed: int | None = 0

    def succeeded(self) -> None:
        self._failed = None

    def failed(self, event: int, value: int) -> None:
        """With this event of the socket's monitor. Raises AccessRefused."""
        if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value == _OTHER_MECHANISM:
            raise AccessRefused(
                f"{self._url}: the server asks for no keys: leave out {self._options}"
                if self._keys
                else f"{self._url}: the server asks for keys, and none were given: add {self._options}"
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
                "program listens at this address, or the server is overloaded: try again later"
            )


class Dealer:
    """A Transport to a service that listens at `url`; it is gone as soon as the connection is.

    `patience` is how many seconds the service has to be there at first.
    """

    def __init__(self, url: str, patience: float = 10.0) -> None:
        if not _is_port(url):
            raise AddressError(f"cannot connect to {url}: a port is 1..65535; write tcp://host:port")
        self.now = time.monotonic
        self._context = zmq.Context()
        self._socket = _socket(self._context, zmq.DEALER, MAX_ANSWER + 4096)
        self._socket.setsockopt(zmq.IPV6, "[" in url)  # only if asked for: with it localhost may mean ::1
        self._monitor = self._socket.get_monitor_socket(_THERE | _GONE)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        self._connected_by = time.monotonic() + patience
        self._partial = b""  # of a line that is not whole yet
        self._connected = self._gone = self._closed = False
        self.absent = False  # nobody was there in time
        try:
            self._socket.connect(url)
        except (zmq.ZMQError, UnicodeError) as error:
            self.close()
            raise AddressError(f"cannot connect to {url}: {_reason(error)}; write tcp://host:port") from None

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """See Transport.write: a peer that is gone is found out by the next read. Only whole lines travel."""
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
        """See Transport.read; after close() the stream has ended."""
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
            self._gone = True  # not our framing: whoever is there speaks something else
        return b""

    def close_stdin(self) -> None:
        """There is no half of a connection: nothing more is sent and nothing more is read."""
        self.close()

    def close(self) -> None:
        """Disconnect (once). A last `quit` may still leave, for a second, if somebody is there to take it."""
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
        ready = dict(self._poller.poll(max(0, min(int(wait * 1000) + 1, _SLICE_MS))))
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
    """Binds a ROUTER at `url` and answers; every peer has a Responder of its own, made by `make`.

    Only loopback and ipc addresses: nothing here asks a stranger who he is.
    """

    def __init__(self, url: str, make: Callable[[], "Responder"], sessions: int = SESSIONS) -> None:
        self._make = make
        self._limit = sessions
        self._sessions: OrderedDict[bytes, Responder] = OrderedDict()
        self._context = zmq.Context()
        try:
            self._socket, self.url = bind_router(self._context, url)
        except AddressError:
            self._context.term()
            raise
        self._file = SocketFile(self.url)

    def serve(self, stopping: "Stopping") -> NoReturn:
        """Answer until a signal comes: raises Stopped."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(stopping.descriptor, zmq.POLLIN)
        while True:
            poller.poll()
            with stopping.raising():  # also out of an answer that takes long
                self.serve_one(0)

    def serve_one(self, timeout_ms: int) -> bool:
        """Answer one message; False if none came in time."""
        if not self._socket.poll(timeout_ms):
            return False
        peer, *frames = self._socket.recv_multipart()
        if len(frames) == 1:  # else somebody who speaks something else: REQ sends an empty delimiter
            self._answer(bytes(peer), bytes(frames[0]))
        return True

    def close(self) -> None:
        """Also remove the socket file of an ipc address, unless another service has taken the address over."""
        self._socket.close(linger=0)
        self._context.term()
        self._file.remove()

    def _answer(self, peer: bytes, data: bytes) -> None:
        session = self._sessions.pop(peer, None) or self._make()
        self._sessions[peer] = session  # the end of the order is the latest that spoke
        if len(self._sessions) > self._limit:
            self._sessions.popitem(last=False)
        session.receive(data)
        try:
            while (answer := session.next_answer()) is not None:
                self._socket.send_multipart([peer, answer], zmq.NOBLOCK)
        except zmq.ZMQError:  # full or gone: a peer that does not read loses its session
            session.closed = True
        if session.closed:
            self._sessions.pop(peer, None)


class SocketFile:
    """The file that somebody listens at, if it is an ipc address: ZeroMQ leaves it there."""

    def __init__(self, url: str) -> None:
        """Once it is bound."""
        file = _FILE.fullmatch(url)
        self._path = Path(file[1]) if file else None
        self._which = self._look()

    def remove(self) -> None:
        """Unless another service has taken the address over."""
        if self._path and self._which and self._which == self._look():
            self._path.unlink()

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat() if self._path else None
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found else None


def check_url(url: str) -> None:
    """Raise AddressError unless `url` is one to connect to: tcp, a host, a port."""
    if not _LISTEN.fullmatch(url) or url.endswith(("*", ":0")) or not _is_port(url):
        raise AddressError(f"cannot connect to {url}: write tcp://host:port")


def check_listen(url: str) -> None:
    """Raise AddressError unless `url` is one to listen at: tcp, an address, a port or `*` for a free one."""
    if not _LISTEN.fullmatch(url) or not _is_port(url):
        raise AddressError(f"cannot listen at {url}: write tcp://ADDRESS:PORT")


def is_loopback(url: str) -> bool:
    """Whether `url`, one that check_url takes, is on this machine."""
    parts = _LISTEN.fullmatch(url)
    return parts is not None and _is_loopback(parts[1].strip("[]"))


def bind_router(context: "zmq.Context[zmq.Socket[bytes]]", url: str) -> "tuple[zmq.Socket[bytes], str]":
    """A ROUTER that listens at `url`, loopback or ipc, and the address it has; an ipc file is for this user alone.

    Raises AddressError.
    """
    check_local(url)
    router = _socket(context, zmq.ROUTER, LONGEST_COMMAND)
    router.setsockopt(zmq.ROUTER_MANDATORY, 1)  # say so when an answer cannot leave
    router.setsockopt(zmq.IPV6, "[" in url)
    try:
        with owner_only():
            router.bind(url)
    except (zmq.ZMQError, UnicodeError) as error:
        router.close(linger=0)
        raise AddressError(f"cannot listen at {url}: {_reason(error)}; write tcp://127.0.0.1:PORT") from None
    return router, bytes(router.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")


def check_local(url: str) -> None:
    """Raise AddressError unless `url` is one that only this machine can reach."""
    if url.startswith("ipc://") and url != "ipc://":
        return
    # ZeroMQ's own grammar knows more (`;` before the address that counts), so only what is plain is let through.
    parts = _LISTEN.fullmatch(url)
    if parts is None or not _is_port(url):
        raise AddressError(f"cannot listen at {url}: write tcp://127.0.0.1:PORT")
    if not _is_loopback(parts[1].strip("[]")):
        raise AddressError(f"cannot listen at {url}: there are no keys here, so only tcp://127.0.0.1:PORT")


def _reason(error: zmq.ZMQError | UnicodeError) -> str:
    return zmq.strerror(error.errno or 0) if isinstance(error, zmq.ZMQError) else str(error)


def _is_port(url: str) -> bool:
    """False for a port that ZeroMQ would take for another one, less by a multiple of 65536."""
    port = _PORT.fullmatch(url)
    return port is None or (len(port[1]) <= 5 and int(port[1]) <= 65535)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _socket(context: "zmq.Context[zmq.Socket[bytes]]", kind: int, largest: int) -> "zmq.Socket[bytes]":
    """A socket with every bound set: frame size, queues, heartbeats."""
    socket = context.socket(kind)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, largest)
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, UNBOUNDED)
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENCE_MS)
    return socket
