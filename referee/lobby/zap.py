"""The authenticator of the lobby's sockets (ZAP, RFC 27): only keys of the registry get through to the bots' one.

It fails closed: without it running, with a registry that cannot be read, or when something raises, nobody gets in.
Not what a connection may do afterwards: that is the sessions' part.
"""

import contextlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import zmq
from zmq.utils import z85

from protocol.dialling import printable
from protocol.transports.keys import KeyPair
from referee.lobby.keys import Refusal, Registry

ENDPOINT = "inproc://zeromq.zap.01"
DOMAIN = "ggp-lobby"
RATE, BURST = 2.0, 200  # handshakes a second of one key; at once twice as many as an owner may have bots by default
SILENCE = 60.0  # seconds between two lines about the same key at the same address
MOST_REMEMBERED = 10_000
_VERSION = b"1.0"
_ADDRESS = re.compile(rb"[0-9A-Fa-f.:%a-z]{0,80}")


def require_keys(socket: "zmq.Socket[bytes]", pair: KeyPair) -> None:
    """Before bind: the socket speaks CURVE only, and asks for every handshake; with nobody to ask it refuses."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
    socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
    socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


@dataclass(frozen=True, slots=True)
class Refused:
    """A line for the log: who was refused and why, and how often since the last line about him."""

    address: str
    key: str
    reason: str
    times: int


class Keeper:
    """Answers ZAP requests; who is let in is the part of those who inherit. `counts` is by outcome.

    User-Id in the answer is the public key.
    """

    def __init__(self, on_refusal: Callable[[Refused], object] = lambda refused: None) -> None:
        self.counts: dict[str, int] = {}
        self._tell = on_refusal
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> handshakes left, at what time
        self._told: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()  # when last, how often since

    def answer(self, frames: list[bytes], now: float) -> list[bytes] | None:
        """The reply to a request, None if it does not even say what to reply to. `now` in seconds, monotonic.

        Never raises: what goes wrong here is a 500, which lets nobody in.
        """
        if len(frames) < 2 or len(frames[1]) > 255:
            self._count("malformed")
            return None
        try:
            status, text, user = self._judge(frames, now)
        except Exception as error:
            status, text, user = b"500", b"Internal error", b""
            self._refuse("", "", f"internal error: {type(error).__name__}: {printable(str(error), 200)}", now)
        return [_VERSION, frames[1], status, text, user, b""]

    def _judge(self, frames: list[bytes], now: float) -> tuple[bytes, bytes, bytes]:
        """Status, text and user of the answer."""
        version, _, domain, address, _, mechanism = [*frames, *[b""] * 6][:6]
        where = address.decode() if _ADDRESS.fullmatch(address) else "?"
        credentials = frames[6:]
        if version != _VERSION or mechanism != b"CURVE" or len(credentials) != 1 or len(credentials[0]) != 32:
            return self._refuse(where, "", "no handshake with a key", now)
        if domain != DOMAIN.encode():
            return self._refuse(where, "", "another domain", now)
        key = z85.encode(credentials[0]).decode()
        if refusal := self._refusal(key):
            return self._refuse(where, key, refusal, now)
        if not self._has_room(key, now):
            self._refuse(where, key, "too many handshakes", now)
            return b"500", b"Too many handshakes", b""  # 300 leaves the connection open for its time
        self._count("let in")
        return b"200", b"OK", key.encode()

    def _refusal(self, key: str) -> str:
        """Why it is not let in; "" if it is."""
        return "nobody is let in"

    def _refuse(self, address: str, key: str, reason: str, now: float) -> tuple[bytes, bytes, bytes]:
        """Count it, and tell of it once a minute for each key at an address."""
        self._count(reason.partition(":")[0])
        who = (address, key)
        last, times = self._told.pop(who, (-SILENCE, 0))
        times += 1
        if now - last >= SILENCE:
            last, told, times = now, times, 0
            try:
                self._tell(Refused(address, key, reason, told))
            except Exception:
                self._count("log failed")
        self._told[who] = last, times
        if len(self._told) > MOST_REMEMBERED:
            self._told.popitem(last=False)
        return b"400", b"No access", b""

    def _has_room(self, key: str, now: float) -> bool:
        """A bucket of handshakes for each key, so that a loop of reconnects is not the I/O thread's whole day."""
        left, at = self._buckets.pop(key, (float(BURST), now))
        left = min(BURST, left + max(0.0, now - at) * RATE)
        taken = left >= 1
        self._buckets[key] = left - taken, now
        if len(self._buckets) > MOST_REMEMBERED:
            self._buckets.popitem(last=False)
        return taken

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


class Gatekeeper(Keeper):
    """Lets in the keys of a Registry; pure but for the registry's file.

    By its key Registry.find knows a connection's owner and bots: a message's sender is `frame.get("User-Id")`, whatever
    his hello says.
    """

    def __init__(self, registry: Registry, on_refusal: Callable[[Refused], object] = lambda refused: None) -> None:
        super().__init__(on_refusal)
        self._registry = registry

    def _refusal(self, key: str) -> str:
        self._registry.refresh()
        found = self._registry.find(key)
        return found.value if isinstance(found, Refusal) else ""


class Zap:
    """The socket that libzmq asks: poll `socket` for input and call handle_waiting, in any one thread.

    Start it before the sockets of the context are bound: they refuse everybody as long as there is none.
    """

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", keeper: Keeper) -> None:
        self._keeper = keeper
        # A ROUTER, not the REP of the RFC's example: one request that cannot be answered holds up no other.
        self.socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER, socket_class=zmq.Socket)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(ENDPOINT)

    def handle_waiting(self, most: int = 100) -> bool:
        """Answer what waits, up to so many; True if there may be more (then call it again soon: the descriptor of a
        ZeroMQ socket is edge-triggered). Never raises for what was sent."""
        return all(self.handle_one() for _ in range(most))

    def handle_one(self) -> bool:
        """Answer one request; False if none waits."""
        try:
            frames = self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.ZMQError:  # nothing there, or closed
            return False
        peer, *rest = frames
        delimiter, request = rest[:1], rest[1:]
        reply = self._keeper.answer(request, time.monotonic()) if delimiter == [b""] else None
        if reply is not None:
            with contextlib.suppress(zmq.ZMQError):  # whoever does not hear it is refused
                self.socket.send_multipart([peer, b"", *reply], zmq.NOBLOCK)
        return True

    def close(self) -> None:
        """From now on nobody gets in."""
        self.socket.close()
