"""The XPUB socket for spectators and the TCP proxy in front of it: connections, subscriptions, and their limits.

ZeroMQ names the connection of every subscription. PubSocket limits the number, the rate and the bytes of a connection's
subscriptions; TcpProxy limits connections and the bytes that reach the socket.
"""

import asyncio
import contextlib
import os
import socket
import tempfile
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.errors import AddressError
from protocol.spectator_wire import MAX_TOPIC, Request, read_request
from protocol.token_bucket import TokenBucket
from protocol.transports.descriptors import duplicate, shut
from protocol.transports.keys import KeyPair
from protocol.transports.zmq import HEARTBEAT_MS, UNBOUNDED
from referee.background import BackgroundTasks, Report
from referee.lobby.limits import BURST, Arrivals, network
from referee.lobby.socket import BACKLOG
from referee.lobby.zmq_io import Reading

# -- the TCP proxy ----------------------------------------------------------------------------------------------------


OCTETS = 1600.0  # bytes a second from one connection, handshake and heartbeats among them; five times as many at once
ARRIVALS = 6.0  # connections a second from one address; five times as many at once. This machine's own as they like
SHARE = 4  # of all connections, one address has at most a quarter; this machine's own may have them all
_GREETING = 10.0  # seconds for the first bytes, and to be known
_GLANCE = 0.005  # seconds between two who come in, and two who go; and
_COURTESY = 1  # times as long as the loop was busy meanwhile
_SIGNATURE = 10  # bytes with which every connection begins
_READ = 4096
_LEAST = 64  # bytes that a read counts for, because each takes its time
_CARRIED = 64 * 1024
_RECEIVED = 16 * 1024  # bytes that the kernel buffers unread
_SENT = 128 * 1024  # and for a connection that does not read
_PAUSE = 0.5  # seconds, where there are no descriptors left


class SpectatorConnection:
    """A connection: `came` so many bytes. `known` lets them pass. `address` is the network in IPv6."""

    def __init__(self, outer: socket.socket, address: str, now: float) -> None:
        self.address, self.since, self.came = address, now, 0
        self.known = asyncio.Event()
        self.outer = outer
        self.greeting = b""
        self.octets = TokenBucket(OCTETS, OCTETS * BURST, now)
        self.task: asyncio.Task[None] | None = None


class TcpProxy:
    """Listens at `url`; at most so many come in. Raises AddressError.

    `refuse(word, address, reason)` is called for each connection that is ended here. `report`: see BackgroundTasks.
    """

    def __init__(self, url: str, connections: int, refuse: Callable[[str, str, str], None], report: Report) -> None:
        self._most, self._refuse, self._report = connections, refuse, report
        self._listening = _listen(url)
        host, port = self._listening.getsockname()[:2]
        self.url = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
        self._arrivals = Arrivals(ARRIVALS)
        self._visitors: set[SpectatorConnection] = set()
        self._by_name: dict[object, SpectatorConnection] = {}
        self._coming, self._going = asyncio.Lock(), asyncio.Lock()
        self._inside = ""
        self._accepting: BackgroundTasks | None = None

    def open(self, inside: str) -> None:
        """In the running loop. `inside`: the path of the Unix socket that they come through to."""
        self._inside = inside
        self._accepting = BackgroundTasks(self._report)
        self._accepting.keep("accept", self._accept)

    def find(self, name: object) -> SpectatorConnection | None:
        """Who comes through by the connection whose end is called so."""
        return self._by_name.get(name)

    def cut(self, visitor: SpectatorConnection) -> None:
        """End the connection at once; nothing if it has ended."""
        shut(visitor.outer)

    def stop(self) -> None:
        """Accept no more connections."""
        if self._accepting is None:
            self._listening.close()
        else:
            self._accepting.cancel()

    async def close(self, seconds: float) -> None:
        """Once the stage's socket is closed: what it still sent has so long to leave."""
        self.stop()
        if self._accepting is not None:
            await self._accepting.close()
            self._listening.close()
        tasks = [one.task for one in self._visitors if one.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- who comes ---------------------------------------------------------------------------------------------------

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                outer, address = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(_PAUSE)
                continue
            self._arrived(outer, network(str(address[0])))
            await asyncio.sleep(0)  # others have their turn, however many come

    def _arrived(self, outer: socket.socket, address: str) -> None:
        loop = asyncio.get_running_loop()
        visitor = SpectatorConnection(outer, address, loop.time())
        theirs = 1 + sum(one.address == address for one in self._visitors)
        if len(self._visitors) >= self._most:
            self._turn_away(visitor, "full", f"connection limit: {self._most} spectators")
        elif not _is_local(address) and theirs > max(1, self._most // SHARE):
            self._turn_away(visitor, "address", "too many connections from one address")
        elif not _is_local(address) and not self._arrivals.allow(address, visitor.since):
            self._turn_away(visitor, "arrivals", "too many connections a second from one address")
        else:
            self._visitors.add(visitor)
            visitor.task = loop.create_task(self._serve(visitor))

    def _turn_away(self, visitor: SpectatorConnection, word: str, reason: str) -> None:
        self._refuse(word, visitor.address, reason)
        shut(visitor.outer)
        visitor.outer.close()

    async def _serve(self, visitor: SpectatorConnection) -> None:
        """Serve one connection from its first byte to its end."""
        try:
            with contextlib.suppress(OSError), visitor.outer, socket.socket(socket.AF_UNIX) as inner:
                visitor.outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with contextlib.suppress(OSError, TimeoutError, _Ended):
                    await self._lead_in(visitor, inner)
                visitor.outer.close()
                if visitor.known.is_set():
                    await _turn(self._going)
        except Exception as error:
            self._report("spectator", error)
        finally:
            self._visitors.discard(visitor)

    async def _lead_in(self, visitor: SpectatorConnection, inner: socket.socket) -> None:
        """Raises OSError, TimeoutError and _Ended at the end."""
        async with asyncio.timeout(_GREETING):
            first = b""
            while len(first) < _SIGNATURE:
                first += await self._read(visitor)
            await _turn(self._coming)
            inner.setblocking(False)
            inner.bind("")  # Linux gives it a name that nothing else has
            name = inner.getsockname()
            inner.connect(self._inside)
            self._by_name[name] = visitor
            try:
                await visitor.known.wait()
            finally:
                del self._by_name[name]
        loop = asyncio.get_running_loop()
        outward = loop.create_task(self._carry_out(visitor, inner))
        try:
            while True:
                await loop.sock_sendall(inner, first)
                first = await self._read(visitor)
        finally:
            outward.cancel()
            await asyncio.wait([outward])  # before the sockets are closed

    async def _read(self, visitor: SpectatorConnection) -> bytes:
        """Bytes from the client, at least one. Raises _Ended, OSError."""
        loop = asyncio.get_running_loop()
        data = await loop.sock_recv(visitor.outer, _READ)
        if not data:
            raise _Ended
        visitor.came += len(data)
        visitor.greeting += data[: _SIGNATURE + 1 - len(visitor.greeting)]
        if not _is_greeting(visitor.greeting):
            self._refuse("garbage", visitor.address, "it does not speak ZMTP 3")
        elif not visitor.octets.consume(max(len(data), _LEAST), loop.time()):
            self._refuse("flood", visitor.address, f"more than {OCTETS:.0f} bytes a second for {BURST:.0f} seconds")
        else:
            return data
        shut(visitor.outer)
        raise _Ended

    async def _carry_out(self, visitor: SpectatorConnection, inner: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await loop.sock_recv(inner, _CARRIED):
                await loop.sock_sendall(visitor.outer, data)
            visitor.outer.shutdown(socket.SHUT_RDWR)  # after what is still to leave; the other way ends with it


async def _turn(queue: asyncio.Lock) -> None:
    """One after another. ZeroMQ walks through its whole tree for every connection that ends; where
    that takes long they come and go more slowly, and those who stay have their share of the time."""
    loop = asyncio.get_running_loop()
    async with queue:
        due = loop.time() + _GLANCE
        await asyncio.sleep(_GLANCE)
        await asyncio.sleep(_COURTESY * max(0.0, loop.time() - due))


class _Ended(Exception):
    """There comes no more, or it may not."""


def _listen(url: str) -> socket.socket:
    host, _, port = url.removeprefix("tcp://").rpartition(":")
    host = host.strip("[]")
    six = ":" in host
    try:
        found = socket.create_server(
            ("" if host == "*" else host, 0 if port == "*" else int(port)),
            family=socket.AF_INET6 if six else socket.AF_INET,
            backlog=BACKLOG,
            dualstack_ipv6=six and socket.has_dualstack_ipv6(),
        )
    except (OSError, UnicodeError) as error:
        code = getattr(error, "errno", None) or 0
        raise AddressError(f"cannot listen at {url}: {os.strerror(code) if code > 0 else error}") from None
    found.setblocking(False)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)  # those that are accepted have the same
    found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT)
    return found


def _is_greeting(data: bytes) -> bool:
    """Whether a greeting may begin so: an older ZMTP than 3.0 does not say what message came on which connection."""
    return data[:1] == b"\xff" and data[9:10] in (b"", b"\x7f") and data[10:11] not in (b"\0", b"\1", b"\2")


def _is_local(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


TOPICS = 64  # that one connection may be subscribed to
TOPIC_OCTETS = 4096  # bytes of all these topics
RATE = 10.0  # subscriptions a second of one connection; five times as many at once
UNSUBSCRIBED = 30.0  # seconds until a connection must have subscribed to something
QUEUE = 1000  # messages for one connection; it may request those beyond that it missed
_SWEEP = 1.0
_LARGEST = 512  # bytes of a frame: the longest of a handshake with keys is under 300, a topic with keys under 240
_STUFFED = 8 * 1024  # bytes that came and are no subscription
_BREATH = 64.0  # bytes a second of heartbeats,
_LONGEST = 3600.0  # seconds for which these are tolerated: they look like a message without an end
_OVERHEAD = 40  # bytes that a subscription takes on the wire beyond its own
_GREETING_MS = 10_000
PENDING = 4  # requests of one connection that wait
_SILENCE_MS = 180_000  # longer than those who left together wait for their turn to end
_EVENTS, _IN = int(zmq.EVENTS), int(zmq.POLLIN)
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)


class RequestQueue:
    """Requests of spectators for missed events. Connections are served in turn; a few requests of each may wait."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[int, deque[Request]] = OrderedDict()  # by connection, the next one first
        self._some = asyncio.Event()

    def subscribed(self, connection: int, topic: bytes) -> None:
        """A subscription whose topic is a request is queued, unless too many of this connection wait."""
        request = read_request(topic)
        if request is not None:
            waiting = self._waiting.setdefault(connection, deque())
            if len(waiting) < PENDING:
                waiting.append(request)
                self._some.set()

    def unsubscribed(self, connection: int, topic: bytes) -> None:
        """The request is withdrawn; the connection keeps its turn, because many ask again before it comes."""
        if waiting := self._waiting.get(connection):
            self._waiting[connection] = deque(one for one in waiting if one.topic != topic)

    def left(self, connection: int) -> None:
        self._waiting.pop(connection, None)

    async def get(self) -> Request:
        """The next request, as soon as there is one."""
        while True:
            while not self._waiting:
                self._some.clear()
                await self._some.wait()
            connection, waiting = self._waiting.popitem(last=False)
            if waiting:
                request = waiting.popleft()
                if waiting:
                    self._waiting[connection] = waiting
                return request


@dataclass(slots=True)
class _Spectator:
    visitor: SpectatorConnection
    requests: TokenBucket
    topics: Counter[bytes] = field(default_factory=Counter)
    heard: int = 0  # bytes of subscriptions


class PubSocket:
    """At `url`, with keys unless `pair` is None; at most so many connections. Raises AddressError.

    `refuse(word, address, reason)` is called for each connection that is ended. `report`: see BackgroundTasks.
    """

    def __init__(
        self,
        url: str,
        pair: KeyPair | None,
        connections: int,
        requests: RequestQueue,
        refuse: Callable[[str, str, str], None],
        report: Report,
    ) -> None:
        self._requests, self._refuse = requests, refuse
        self._spectators: dict[int, _Spectator] = {}  # by ZeroMQ's descriptor
        self._newcomers: list[int] = []  # likewise: accepted, and not let in yet
        self._readings: list[Reading] = []
        self._tasks = BackgroundTasks(report)
        self._turnstile = TcpProxy(url, connections, refuse, report)
        self.url = self._turnstile.url
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        options = {
            zmq.XPUB_VERBOSER: 1,  # every subscription counts, also one that another has
            zmq.LINGER: 0,
            zmq.MAXMSGSIZE: _LARGEST,
            zmq.SNDHWM: QUEUE,
            zmq.RCVHWM: UNBOUNDED,
            zmq.HEARTBEAT_IVL: HEARTBEAT_MS,
            zmq.HEARTBEAT_TIMEOUT: _SILENCE_MS,
            zmq.HANDSHAKE_IVL: _GREETING_MS,
            zmq.BACKLOG: BACKLOG,
        }
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        if pair is not None:  # every key is accepted, so no ZAP handler is needed
            self._socket.setsockopt(zmq.CURVE_SERVER, 1)
            self._socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
            self._socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        try:
            self._inside = self._bind()
        except (zmq.ZMQError, OSError) as error:
            self._turnstile.stop()
            self._context.destroy(linger=0)
            raise AddressError(f"cannot listen at {url}: no Unix socket can be had: {error}") from None

    def _bind(self) -> int:
        """Bind a Unix socket and return its descriptor; its name is deleted, so no other process finds it, and nothing
        is left behind. Raises OSError, ZMQError."""
        with tempfile.TemporaryDirectory(prefix="ggp-") as folder:
            path = os.path.join(folder, "stage")  # noqa: PTH118
            self._socket.bind(f"ipc://{path}")
            return os.open(path, os.O_PATH | os.O_CLOEXEC)

    @property
    def connections(self) -> int:
        return len(self._spectators)

    def open(self) -> None:
        """In the running loop."""
        self._readings = [Reading(self._monitor, self._on_monitor_event), Reading(self._socket, self._receive)]
        self._tasks.keep("connections", self._check_connections)
        self._turnstile.open(f"/proc/self/fd/{self._inside}")

    async def close(self, linger: float = 0.0) -> None:
        """Once. `linger`: seconds for what is still to leave."""
        self._turnstile.stop()
        await self._tasks.close()
        for reading in self._readings:
            reading.close()
        self._readings = []
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=int(linger * 1000))
        await asyncio.to_thread(self._context.term)  # what it waits for leaves through the turnstile
        await self._turnstile.close(linger)
        os.close(self._inside)

    def publish(self, topic: bytes, payload: bytes) -> None:
        """Send to all subscribers whose queue has room."""
        with contextlib.suppress(zmq.ZMQError):
            self._socket.send(topic, _MORE)
            self._socket.send(payload, _NOW)
        if self._readings:
            self._readings[1].poll_again()

    # -- who comes and goes ------------------------------------------------------------------------------------------

    def _on_monitor_event(self) -> None:
        """Raises zmq.Again when there are none."""
        event = recv_monitor_message(self._monitor, zmq.NOBLOCK)
        descriptor = int(event["value"])
        if spectator := self._lose(descriptor):
            self._turnstile.cut(spectator.visitor)
        if event["event"] == zmq.EVENT_DISCONNECTED:
            self._newcomers = [one for one in self._newcomers if one != descriptor]
        else:
            self._newcomers.append(descriptor)
            if int(self._socket.getsockopt(_EVENTS)) & _IN:
                self._readings[1].poll_again()  # the question took the edge
            else:
                self._let_in()

    def _let_in(self) -> None:
        """Admit new connections. Everything from earlier owners of their descriptors has been read."""
        newcomers, self._newcomers = self._newcomers, []
        for descriptor in newcomers:
            theirs = duplicate(descriptor)
            if theirs is None:
                continue
            with theirs, contextlib.suppress(OSError):
                visitor = self._turnstile.find(theirs.getpeername())
                if visitor is not None and not visitor.known.is_set():
                    requests = TokenBucket(RATE, RATE * BURST, time.monotonic())
                    self._spectators[descriptor] = _Spectator(visitor, requests)
                    visitor.known.set()

    def _lose(self, descriptor: int) -> _Spectator | None:
        spectator = self._spectators.pop(descriptor, None)
        if spectator is not None:
            self._requests.left(descriptor)
        return spectator

    def _disconnect(self, descriptor: int, word: str, reason: str) -> None:
        if spectator := self._lose(descriptor):
            self._refuse(word, spectator.visitor.address, reason)
            self._turnstile.cut(spectator.visitor)

    # -- what they want ----------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        """Raises zmq.Again when there is nothing."""
        try:
            frame = self._socket.recv(_NOW, copy=False)
        except zmq.Again:
            self._let_in()
            raise
        try:
            descriptor = int(frame.get(zmq.SRCFD))
        except zmq.ZMQError:  # what a connection that is gone was subscribed to
            return
        spectator = self._spectators.get(descriptor)
        if spectator is None:
            return
        data = frame.bytes
        spectator.heard += len(data) + _OVERHEAD
        topic = data[1:]
        if data[:1] not in (b"\0", b"\1") or frame.more or len(topic) > MAX_TOPIC:
            self._disconnect(descriptor, "garbage", "what it sent is no subscription")
        elif not spectator.requests.consume(1, time.monotonic()):
            self._disconnect(descriptor, "flood", "too many subscriptions a second")
        elif data[:1] == b"\0":
            spectator.topics[topic] -= 1
            if spectator.topics[topic] <= 0:
                del spectator.topics[topic]
            self._requests.unsubscribed(descriptor, topic)
        else:
            spectator.topics[topic] += 1
            if spectator.topics.total() > TOPICS:
                self._disconnect(descriptor, "topics", f"more than {TOPICS} subscriptions")
            elif sum(map(len, spectator.topics)) > TOPIC_OCTETS:
                self._disconnect(descriptor, "topics", f"subscriptions of more than {TOPIC_OCTETS} bytes")
            else:
                self._requests.subscribed(descriptor, topic)

    async def _check_connections(self) -> None:
        """End connections that send bytes without subscriptions, or that subscribe to nothing."""
        while True:
            await asyncio.sleep(_SWEEP)
            now = time.monotonic()
            for descriptor, one in list(self._spectators.items()):
                age = now - one.visitor.since
                if one.visitor.came - one.heard > _STUFFED + _BREATH * min(age, _LONGEST):
                    self._disconnect(descriptor, "stuffed", "bytes that are no subscription")
                elif not one.topics and age > UNSUBSCRIBED:
                    self._disconnect(descriptor, "silent", "it subscribed to nothing")
