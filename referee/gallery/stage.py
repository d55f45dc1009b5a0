"""The gallery's one XPUB socket: who is connected, how much he may ask, and what is published. It knows no match.

Every subscription is handed out with the connection that it came on, so a stranger is bounded like a guest: by the
subscriptions that he has, by how fast they come, and by the bytes that he sends. How many bytes reach the socket at
all, and how many connections, is the turnstile's part.
"""

import asyncio
import contextlib
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.errors import AddressError
from protocol.spectating import MAX_TOPIC
from protocol.transports.descriptors import duplicate
from protocol.transports.keys import KeyPair
from protocol.transports.zmq import HEARTBEAT_MS, UNBOUNDED
from referee.background import BackgroundTasks, Report
from referee.gallery.turnstile import Turnstile, Visitor
from referee.lobby.allowance import Allowance
from referee.lobby.door import BACKLOG
from referee.lobby.reading import Reading

TOPICS = 64  # that one connection may be subscribed to
TOPIC_OCTETS = 4096  # bytes of all these topics
RATE = 10.0  # subscriptions a second of one connection; five times as many at once
UNSUBSCRIBED = 30.0  # seconds until a connection must have subscribed to something
QUEUE = 1000  # messages for one connection; what is more he misses, and may ask for
_SWEEP = 1.0
_LARGEST = 512  # bytes of a frame: the longest of a handshake with keys is under 300, a topic with keys under 240
_STUFFED = 8 * 1024  # bytes that came and are no subscription
_BREATH = 64.0  # bytes a second of heartbeats,
_LONGEST = 3600.0  # seconds for which these are borne with: nobody can tell them from frames without an end
_OVERHEAD = 40  # bytes that a subscription takes on the wire beyond its own
_GREETING_MS = 10_000
_SILENCE_MS = 180_000  # longer than those who left together wait for their turn to end
_EVENTS, _IN = int(zmq.EVENTS), int(zmq.POLLIN)
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)


class Audience(Protocol):
    """Who is told what spectators want."""

    def subscribed(self, connection: int, topic: bytes) -> None: ...

    def unsubscribed(self, connection: int, topic: bytes) -> None: ...

    def left(self, connection: int) -> None: ...


@dataclass(slots=True)
class _Spectator:
    visitor: Visitor
    allowance: Allowance
    topics: Counter[bytes] = field(default_factory=Counter)
    heard: int = 0  # bytes of subscriptions


class Stage:
    """At `url`, with keys unless `pair` is None; at most so many connections. Raises AddressError.

    `refuse(word, address, reason)` is called for each connection that is ended. `report`: see BackgroundTasks.
    """

    def __init__(
        self,
        url: str,
        pair: KeyPair | None,
        connections: int,
        audience: Audience,
        refuse: Callable[[str, str, str], None],
        report: Report,
    ) -> None:
        self._audience, self._refuse = audience, refuse
        self._spectators: dict[int, _Spectator] = {}  # by ZeroMQ's descriptor
        self._newcomers: list[int] = []  # likewise: accepted, and not let in yet
        self._readings: list[Reading] = []
        self._tasks = BackgroundTasks(report)
        self._turnstile = Turnstile(url, connections, refuse, report)
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
        if pair is not None:  # every key is let in, so nobody is asked
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
        """At a Unix socket whose name is gone when this returns a descriptor of it: nobody else finds it, and nothing
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
        self._readings = [Reading(self._monitor, self._hear_news), Reading(self._socket, self._take)]
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
        """To everybody who is subscribed and whose queue has room."""
        with contextlib.suppress(zmq.ZMQError):
            self._socket.send(topic, _MORE)
            self._socket.send(payload, _NOW)
        if self._readings:
            self._readings[1].look_again()

    # -- who comes and goes ------------------------------------------------------------------------------------------

    def _hear_news(self) -> None:
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
                self._readings[1].look_again()  # the question took the edge
            else:
                self._let_in()

    def _let_in(self) -> None:
        """Nothing is unread of whoever had the newcomers' descriptors before them, and they were not let speak yet."""
        newcomers, self._newcomers = self._newcomers, []
        for descriptor in newcomers:
            theirs = duplicate(descriptor)
            if theirs is None:
                continue
            with theirs, contextlib.suppress(OSError):
                visitor = self._turnstile.find(theirs.getpeername())
                if visitor is not None and not visitor.known.is_set():
                    allowance = Allowance(RATE, math.inf, time.monotonic())
                    self._spectators[descriptor] = _Spectator(visitor, allowance)
                    visitor.known.set()

    def _lose(self, descriptor: int) -> _Spectator | None:
        spectator = self._spectators.pop(descriptor, None)
        if spectator is not None:
            self._audience.left(descriptor)
        return spectator

    def _send_away(self, descriptor: int, word: str, reason: str) -> None:
        if spectator := self._lose(descriptor):
            self._refuse(word, spectator.visitor.address, reason)
            self._turnstile.cut(spectator.visitor)

    # -- what they want ----------------------------------------------------------------------------------------------

    def _take(self) -> None:
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
            self._send_away(descriptor, "garbage", "what it sent is no subscription")
        elif not spectator.allowance.take(len(topic), time.monotonic()):
            self._send_away(descriptor, "flood", "too many subscriptions a second")
        elif data[:1] == b"\0":
            spectator.topics[topic] -= 1
            if spectator.topics[topic] <= 0:
                del spectator.topics[topic]
            self._audience.unsubscribed(descriptor, topic)
        else:
            spectator.topics[topic] += 1
            if spectator.topics.total() > TOPICS:
                self._send_away(descriptor, "topics", f"more than {TOPICS} subscriptions")
            elif sum(map(len, spectator.topics)) > TOPIC_OCTETS:
                self._send_away(descriptor, "topics", f"subscriptions of more than {TOPIC_OCTETS} bytes")
            else:
                self._audience.subscribed(descriptor, topic)

    async def _check_connections(self) -> None:
        """Whoever stuffs the socket with what never becomes a subscription, or wants nothing."""
        while True:
            await asyncio.sleep(_SWEEP)
            now = time.monotonic()
            for descriptor, one in list(self._spectators.items()):
                age = now - one.visitor.since
                if one.visitor.came - one.heard > _STUFFED + _BREATH * min(age, _LONGEST):
                    self._send_away(descriptor, "stuffed", "bytes that are no subscription")
                elif not one.topics and age > UNSUBSCRIBED:
                    self._send_away(descriptor, "silent", "it subscribed to nothing")
