"""The gallery's one XPUB socket: who is connected, how much he may ask, and what is published. It knows no match.

Every subscription is handed out with the connection that it came on, so a stranger is bounded like a guest: by the
subscriptions that he has, by how fast they come, by the bytes that he sends, and by how many connections there are.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.errors import AddressError
from protocol.spectating import MAX_TOPIC
from protocol.transports.keys import KeyPair
from protocol.transports.zmq import HEARTBEAT_MS, SILENCE_MS, UNBOUNDED
from referee.lobby.allowance import Allowance
from referee.lobby.descriptors import received, shut
from referee.lobby.door import BACKLOG
from referee.lobby.reading import Reading
from referee.lobby.zap import Anyone, Refused, Zap, require_keys

TOPICS = 64  # that one connection may be subscribed to
RATE = 10.0  # subscriptions a second of one connection; five times as many at once
SHARE = 4  # of all connections, one address has at most a quarter; this machine's own may have them all
UNSUBSCRIBED = 30.0  # seconds until a connection must have subscribed to something
QUEUE = 1000  # messages for one connection; what is more he misses, and may ask for
_SWEEP = 1.0
_LARGEST = 1024  # bytes of a frame: a handshake with keys is longer than a topic
_BUFFERS = 128 * 1024  # bytes that the kernel keeps for a connection that does not read
_STUFFED = 64 * 1024  # bytes that came and are no subscription
_BREATH = 200.0  # bytes a second of heartbeats
_GREETING_MS = 10_000
_HANDSHAKE = 2_000  # bytes, more than it takes
_LOOK = 0.05
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)


class Audience(Protocol):
    """Who is told what spectators want."""

    def subscribed(self, connection: int, topic: bytes) -> None: ...

    def unsubscribed(self, connection: int, topic: bytes) -> None: ...

    def left(self, connection: int) -> None: ...


@dataclass(slots=True)
class _Spectator:
    address: str
    since: float
    allowance: Allowance
    topics: Counter[bytes] = field(default_factory=Counter)
    heard: int = 0  # bytes of subscriptions


class Stage:
    """Binds `url`, with keys unless `pair` is None; at most so many connections. Raises AddressError.

    `refuse(word, address, reason)` is told of everybody who is sent away.
    """

    def __init__(
        self,
        url: str,
        pair: KeyPair | None,
        connections: int,
        audience: Audience,
        refuse: Callable[[str, str, str], None],
    ) -> None:
        self._audience, self._most, self._refuse = audience, connections, refuse
        self._spectators: dict[int, _Spectator] = {}  # by descriptor
        self._readings: list[Reading] = []
        self._next_look = 0.0
        self._unwanted: deque[tuple[int, _Spectator, str, str]] = deque()  # who has just come
        self._sweeper: asyncio.Task[None] | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        options = {
            zmq.XPUB_VERBOSER: 1,  # every subscription counts, also one that another has
            zmq.LINGER: 0,
            zmq.MAXMSGSIZE: _LARGEST,
            zmq.SNDHWM: QUEUE,
            zmq.RCVHWM: UNBOUNDED,
            zmq.SNDBUF: _BUFFERS,
            zmq.RCVBUF: _BUFFERS,
            zmq.HEARTBEAT_IVL: HEARTBEAT_MS,
            zmq.HEARTBEAT_TIMEOUT: SILENCE_MS,
            zmq.HANDSHAKE_IVL: _GREETING_MS,
            zmq.BACKLOG: BACKLOG,
            zmq.IPV6: int("[" in url),
        }
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        self._zap: Zap | None = None
        if pair is not None:
            self._zap = Zap(self._context, Anyone(self._turned_away))
            require_keys(self._socket, pair)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        try:
            self._socket.bind(url)
        except (zmq.ZMQError, UnicodeError) as error:
            self.close()
            reason = zmq.strerror(error.errno or 0) if isinstance(error, zmq.ZMQError) else str(error)
            raise AddressError(f"cannot listen at {url}: {reason}") from None
        self.url = bytes(self._socket.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")

    @property
    def connections(self) -> int:
        return len(self._spectators)

    def open(self) -> None:
        """In the running loop."""
        self._readings = [Reading(self._monitor, self._hear_news), Reading(self._socket, self._take)]
        if self._zap is not None:
            self._readings.append(Reading(self._zap.socket, self._answer))
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    def close(self, linger: int = 0) -> None:
        """Once. `linger`: ms for what is still to leave."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for reading in self._readings:
            reading.close()
        self._readings = []
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=linger)
        if self._zap is not None:
            self._zap.close()
        self._context.term()

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
        self._news()
        self._turn_away()

    def _turn_away(self) -> None:
        """Whoever came and may not, if it is still he."""
        while self._unwanted:
            descriptor, one, word, reason = self._unwanted.popleft()
            if self._spectators.get(descriptor) is one:
                self._send_away(descriptor, word, reason)

    def _news(self) -> None:
        event = recv_monitor_message(self._monitor, zmq.NOBLOCK)
        descriptor, now = int(event["value"]), time.monotonic()
        self._lose(descriptor)
        if event["event"] == zmq.EVENT_DISCONNECTED:
            return
        address = _address(descriptor)
        theirs = 1 + sum(one.address == address for one in self._spectators.values())
        one = self._spectators[descriptor] = _Spectator(address, now, Allowance(RATE, RATE * MAX_TOPIC, now))
        if len(self._spectators) > self._most:
            self._unwanted.append((descriptor, one, "full", "there are as many spectators as may be"))
        elif theirs > max(1, self._most // SHARE) and not _is_local(address):
            self._unwanted.append((descriptor, one, "address", "too many connections from one address"))

    def _lose(self, descriptor: int) -> None:
        if self._spectators.pop(descriptor, None) is not None:
            self._audience.left(descriptor)

    def _send_away(self, descriptor: int, word: str, reason: str) -> None:
        """Cut the connection, unless it has ended, and its number is perhaps another's: hold it first, then look."""
        spectator = self._spectators.get(descriptor)
        if spectator is None:
            return
        try:
            held = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            self._lose(descriptor)
            return
        with held:
            self._hear_all()
            if self._spectators.get(descriptor) is spectator:
                self._lose(descriptor)
                self._refuse(word, spectator.address, reason)
                shut(held)

    def _hear_all(self) -> None:
        with contextlib.suppress(zmq.Again):
            while True:
                self._news()

    # -- what they want ----------------------------------------------------------------------------------------------

    def _take(self) -> None:
        frame = self._socket.recv(_NOW, copy=False)
        data = frame.bytes
        try:
            descriptor = int(frame.get(zmq.SRCFD))
        except zmq.ZMQError:
            if data[:1] != b"\0":  # else it is what a connection that is gone was subscribed to
                self._look_for_old()
            return
        if descriptor not in self._spectators:  # its arrival is told elsewhere
            self._hear_all()
        spectator = self._spectators.get(descriptor)
        if spectator is None:
            return
        spectator.heard += len(data)
        now, topic = time.monotonic(), data[1:]
        if data[:1] not in (b"\0", b"\1") or frame.more or len(topic) > MAX_TOPIC:
            self._send_away(descriptor, "garbage", "what it sent is no subscription")
        elif not spectator.allowance.take(len(topic), now):
            self._send_away(descriptor, "flood", "too many subscriptions a second")
        elif data[:1] == b"\0":
            spectator.topics[topic] -= 1
            if spectator.topics[topic] <= 0:
                del spectator.topics[topic]
            self._audience.unsubscribed(descriptor, topic)
        else:
            spectator.topics[topic] += 1
            if sum(spectator.topics.values()) > TOPICS:
                self._send_away(descriptor, "topics", f"more than {TOPICS} subscriptions")
            else:
                self._audience.subscribed(descriptor, topic)

    def _look_for_old(self) -> None:
        """Somebody speaks a ZMTP of before 3.0, whose messages do not say on what connection they came, so nobody could
        count them: whoever has sent more than a handshake and is not known to have subscribed is cut."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK
        for descriptor, one in list(self._spectators.items()):
            if self._spectators.get(descriptor) is one and not one.heard and received(descriptor) > _HANDSHAKE:
                self._send_away(descriptor, "old", "it speaks a ZMTP of before 3.0")

    async def _sweep(self) -> None:
        """Whoever stuffs the socket with what never becomes a subscription, or wants nothing."""
        while True:
            await asyncio.sleep(_SWEEP)
            self._turn_away()  # whose news were heard while something else was looked at
            now = time.monotonic()
            for descriptor, one in list(self._spectators.items()):
                if self._spectators.get(descriptor) is not one:
                    continue
                age = now - one.since
                if received(descriptor) - 2 * one.heard > _STUFFED + _BREATH * age:
                    self._send_away(descriptor, "stuffed", "bytes that are no subscription")
                elif not one.topics and age > UNSUBSCRIBED:
                    self._send_away(descriptor, "silent", "it subscribed to nothing")

    # -- keys --------------------------------------------------------------------------------------------------------

    def _answer(self) -> None:
        if self._zap is None or not self._zap.handle_one():
            raise zmq.Again

    def _turned_away(self, refused: Refused) -> None:
        self._refuse("handshake", refused.address, refused.reason)


def _address(descriptor: int) -> str:
    """Who is at the other end, "" if he is gone already."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as theirs:
            name = theirs.getpeername()
            return str(name[0]) if isinstance(name, tuple) else ""
    except OSError:
        return ""


def _is_local(address: str) -> bool:
    return address in ("", "::1") or address.startswith(("127.", "::ffff:127."))
