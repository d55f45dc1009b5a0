"""The same bytes over ZeroMQ: a service that binds, and the Transport that connects to it (PROTOCOL §7).

One command (with its LF) or one whole answer (with its empty line) is one message of one frame. A peer
that vanished is noticed as gone, by the socket's monitor or a missed heartbeat, not as slow.
Not the lobby, where bots dial in under keys.
"""

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.errors import PeerTimeout
from protocol.grammar import MAX_ANSWER, MAX_LINE

if TYPE_CHECKING:
    from protocol.responder import Responder

HEARTBEAT_MS, SILENCE_MS = 5_000, 15_000
HIGH_WATER = 100  # messages queued for or from a peer
SESSIONS = 1_000  # the one that was quiet longest gives way to a newcomer
_GONE = zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED


class AddressError(ValueError):
    """An address that cannot be used; str() says what to write instead."""


class Dealer:
    """A Transport to a service that listens at `url`; it is gone as soon as the connection is.

    `patience` is how many seconds the service has to be there at first.
    """

    def __init__(self, url: str, patience: float = 10.0) -> None:
        self.now = time.monotonic
        self._context = zmq.Context()
        self._socket = _socket(self._context, zmq.DEALER, MAX_ANSWER + 4096)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_CONNECTED | _GONE)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        self._connected_by = time.monotonic() + patience
        self._connected = self._gone = self._closed = False
        try:
            self._socket.connect(url)
        except zmq.ZMQError as error:
            self.close()
            raise AddressError(f"cannot connect to {url}: {error}; write tcp://host:port") from None

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """See Transport.write: a peer that is gone is found out by the next read."""
        give_up = time.monotonic() + 10.0 if deadline is None else deadline
        while not (self._connected or self._gone):
            self._wait(min(give_up, self._connected_by), zmq.POLLIN)
        for line in data.splitlines(keepends=True) if data.count(b"\n") > 1 else (data,):
            while not self._gone:
                try:
                    self._socket.send(line, zmq.NOBLOCK)
                    break
                except zmq.Again:
                    self._wait(give_up, zmq.POLLOUT)

    async def read(self, deadline: float) -> bytes:
        """See Transport.read."""
        while True:
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

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=1000)  # a last `quit` may still leave
            self._context.term()

    def _wait(self, deadline: float, what: int) -> None:
        """Wait for the socket or news of the connection. Raises PeerTimeout."""
        wait = deadline - time.monotonic()
        self._poller.modify(self._socket, what)
        ready = dict(self._poller.poll(max(0, int(wait * 1000) + 1)))
        if self._monitor in ready:
            event = recv_monitor_message(self._monitor)["event"]
            if event == zmq.EVENT_CONNECTED:
                self._connected = True
            elif event == zmq.EVENT_DISCONNECTED:
                self._gone = True
        elif not ready and wait <= 0:
            if not self._connected and time.monotonic() >= self._connected_by:
                self._gone = True  # nobody listens there
            else:
                raise PeerTimeout("no whole answer before the deadline")


class Service:
    """Binds a ROUTER at `url` and answers; every peer has a Responder of its own, made by `make`.

    Only loopback and ipc addresses: nothing here asks a stranger who he is.
    """

    def __init__(self, url: str, make: Callable[[], "Responder"], sessions: int = SESSIONS) -> None:
        check_local(url)
        self._make = make
        self._limit = sessions
        self._sessions: OrderedDict[bytes, Responder] = OrderedDict()
        self._context = zmq.Context()
        self._socket = _socket(self._context, zmq.ROUTER, MAX_LINE + 1)
        try:
            self._socket.bind(url)
        except zmq.ZMQError as error:
            self.close()
            raise AddressError(f"cannot listen at {url}: {error}; write tcp://127.0.0.1:PORT") from None
        self.url = bytes(self._socket.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")

    def serve(self) -> None:
        """Answer for ever; KeyboardInterrupt passes through."""
        while True:
            self.serve_one(None)

    def serve_one(self, timeout_ms: int | None) -> bool:
        """Answer one message; False if none came in time (None: wait for ever)."""
        if not self._socket.poll(timeout_ms):
            return False
        peer, *frames = self._socket.recv_multipart()
        if len(frames) == 1:  # else somebody who speaks something else: REQ sends an empty delimiter
            self._answer(bytes(peer), bytes(frames[0]))
        return True

    def close(self) -> None:
        self._socket.close(linger=0)
        self._context.term()

    def _answer(self, peer: bytes, data: bytes) -> None:
        session = self._sessions.pop(peer, None) or self._make()
        self._sessions[peer] = session  # the end of the order is the latest that spoke
        if len(self._sessions) > self._limit:
            self._sessions.popitem(last=False)
        answers: deque[bytes] = deque()
        session.receive(data)
        while (answer := session.next_answer()) is not None:
            answers.append(answer)
        if session.closed:
            del self._sessions[peer]
        for answer in answers:
            try:
                self._socket.send_multipart([peer, answer], zmq.NOBLOCK)
            except zmq.ZMQError:  # full or gone: a peer that does not read loses its session
                self._sessions.pop(peer, None)
                return


def check_local(url: str) -> None:
    """Raise AddressError unless `url` is one that only this machine can reach."""
    parts = urlsplit(url)
    if parts.scheme == "ipc" and parts.netloc + parts.path:
        return
    if parts.scheme != "tcp":
        raise AddressError(f"cannot listen at {url}: write tcp://127.0.0.1:PORT")
    if not _is_loopback(parts.hostname or ""):
        raise AddressError(f"cannot listen at {url}: there are no keys here, so only tcp://127.0.0.1:PORT")


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
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER)
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENCE_MS)
    return socket
