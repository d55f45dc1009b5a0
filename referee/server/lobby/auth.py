"""Authentication of the lobby's sockets by ZAP (RFC 27), and admission: which bot or owner a connection may act for.

It fails closed: without it, with a registry that is unreadable, or after an exception, every key is refused.
"""

import contextlib
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.utils import z85

from ggp.protocol.errors import CodedError
from ggp.protocol.lobby_wire import REFUSED, Hello, printable
from ggp.protocol.transports.keys import KeyPair, read_pair
from ggp.referee.server.lobby.keys import KeyEntry, KeyRegistry, Refusal
from ggp.referee.server.lobby.limits import KeyedBuckets
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.remote_bot import Identity
from ggp.referee.server.lobby.zmq_io import Reading

ENDPOINT = "inproc://zeromq.zap.01"
DOMAIN = "ggp-lobby"
RATE, BURST = 2.0, 200  # handshakes a second of one key; at once twice as many as an owner may have bots by default
MOST_REMEMBERED = 10_000
_VERSION = b"1.0"
_ADDRESS = re.compile(rb"[0-9A-Fa-f.:%a-z]{0,80}")


def require_keys(socket: "zmq.Socket[bytes]", pair: KeyPair) -> None:
    """Make a socket accept only CURVE and ask ZAP for every handshake. Call it before bind."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
    socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
    socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


class Authenticator:
    """The ZAP handler: it accepts the keys of a registry.

    The User-Id in an answer is the public key, so `frame.get("User-Id")` says who sent a message, whatever its hello
    claims.
    """

    def __init__(
        self, registry: KeyRegistry, on_refusal: Callable[[str, str, str], object] = lambda address, key, reason: None
    ) -> None:
        """Answer nothing before `open`.

        Args:
            on_refusal: Called with the address, key and reason of every refusal.
        """
        self._registry = registry
        self._on_refusal = on_refusal
        self._buckets = KeyedBuckets(RATE, BURST, MOST_REMEMBERED)  # handshakes, by key
        self._socket: zmq.Socket[bytes] | None = None

    def open(self, context: "zmq.Context[zmq.Socket[bytes]]") -> "zmq.Socket[bytes]":
        """Return the socket that libzmq asks. When it can be read, call handle_one until it returns False.

        Open it before the sockets of the context are bound: they refuse every key without it.
        """
        # A ROUTER, not the REP of the RFC's example: a request that cannot be answered holds up no other.
        self._socket = context.socket(zmq.ROUTER, socket_class=zmq.Socket)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(ENDPOINT)
        return self._socket

    def close(self) -> None:
        """Refuse every key from now on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def handle_one(self) -> bool:
        """Answer one request. Return False if none waits."""
        if self._socket is None:
            return False
        try:
            frames = self._socket.recv_multipart(zmq.NOBLOCK)
        except zmq.ZMQError:
            return False
        peer, *rest = frames
        delimiter, request = rest[:1], rest[1:]
        reply = self.answer(request, time.monotonic()) if delimiter == [b""] else None
        if reply is not None:
            with contextlib.suppress(zmq.ZMQError):  # without an answer the key is refused
                self._socket.send_multipart([peer, b"", *reply], zmq.NOBLOCK)
        return True

    def answer(self, frames: list[bytes], now: float) -> list[bytes] | None:
        """Return the reply to a request, or None if the request does not say what to reply to.

        A failure is answered with a refusal. `now` is in seconds, monotonic.
        """
        if len(frames) < 2 or len(frames[1]) > 255:
            return None
        try:
            status, text, user = self._judge(frames, now)
        except Exception as error:
            status, text, user = b"500", b"Internal error", b""
            self._refuse("", "", f"internal error: {type(error).__name__}: {printable(str(error), 200)}")
        return [_VERSION, frames[1], status, text, user, b""]

    def _judge(self, frames: list[bytes], now: float) -> tuple[bytes, bytes, bytes]:
        """Return the status, text and user of the answer."""
        version, _, domain, address, _, mechanism = [*frames, *[b""] * 6][:6]
        where = address.decode() if _ADDRESS.fullmatch(address) else "?"
        credentials = frames[6:]
        if version != _VERSION or mechanism != b"CURVE" or len(credentials) != 1 or len(credentials[0]) != 32:
            return self._refuse(where, "", "no handshake with a key")
        if domain != DOMAIN.encode():
            return self._refuse(where, "", "another domain")
        key = z85.encode(credentials[0]).decode()
        self._registry.refresh()
        found = self._registry.find(key)
        if isinstance(found, Refusal):
            refused = self._refuse(where, key, found)
            # Expiry is judged by this machine's clock, which may be wrong, so the refusal says to try again later.
            return (b"500", b"Key expired", b"") if found is Refusal.EXPIRED else refused
        if not self._buckets.try_consume(key, now):  # a loop of reconnects must not occupy the I/O thread
            self._refuse(where, key, "too many handshakes")
            return b"500", b"Too many handshakes", b""  # 300 leaves the connection open for its time
        return b"200", b"OK", key.encode()

    def _refuse(self, address: str, key: str, reason: str) -> tuple[bytes, bytes, bytes]:
        with contextlib.suppress(Exception):  # a log that fails lets no key in, and stops no other handshake
            self._on_refusal(address, key, reason)
        return b"400", b"No access", b""


# -- admission --------------------------------------------------------------------------------------------------------


Context = zmq.Context["zmq.Socket[bytes]"]

_STRANGERS = 20  # unknown keys that are logged singly in a minute; further ones by address
_MINUTE = 60.0  # seconds
INSIDE = "process "  # prefix of the key of a local process; its number follows
OWNER = "the lobby"  # of local bots; with a blank, as no other owner's name has one
SEAT = "web-"  # and a number, from 1: the names of seats for people
_FOR_LOCAL = "this socket is for bots that the lobby started itself"


class NotAdmitted(CodedError):
    """The refusal of a connection. str() says why and what to do, `bye` is what the other end reads.

    A refusal is `lasting` if trying again later will not help.
    """

    def __init__(self, code: str, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason, code=code)
        self.lasting = lasting
        self.bye = f"{REFUSED}: {reason}" if lasting else reason


@dataclass(frozen=True, slots=True)
class Author:
    """The author of commands: an owner, and the bots that the owner may act for."""

    owner: str  # "" without keys
    bots: tuple[str, ...] | None = None  # None: any

    def speaks_for(self, bot: str) -> bool:
        return self.bots is None or bot in self.bots


@dataclass(frozen=True, slots=True)
class LocalIdentities:
    """The processes that may dial the inside socket."""

    names: frozenset[str] = frozenset()  # of all local bots
    processes: dict[int, Identity] = field(default_factory=dict)  # of local bots
    web: set[int] = field(default_factory=set)  # of `ggp web`, which speaks for people
    seats: frozenset[str] = frozenset()  # names that only `ggp web` uses


class Admission:
    """Admission without keys, for loopback addresses: every bot is its own owner, under the name that it gives.

    The key of a local bot's connection is INSIDE and the number of its process, as the kernel reports it.
    """

    authenticated = False  # connections from outside have a key, which every message is checked for

    def __init__(self, local: LocalIdentities = LocalIdentities()) -> None:
        self._local = local

    def identify(self, key: str, hello: Hello) -> Identity:
        """Return who a connection speaks for, as its key proves: a hello proves nothing. Raises NotAdmitted."""
        if key.startswith(INSIDE) and not self.is_web(key):
            identity = self._local.processes.get(int(key.removeprefix(INSIDE)))
            if identity is None:
                raise NotAdmitted("stranger", _FOR_LOCAL)
            return identity
        if hello.name in self._local.names or (hello.name in self._local.seats and not self.is_web(key)):
            raise NotAdmitted("taken", f"{hello.name} is a bot of the lobby's own: choose another name", lasting=True)
        return Identity(hello.name, hello.name)

    def author(self, key: str) -> Author:
        """Return the author that a connection gives commands for. Raises NotAdmitted, even for a local bot."""
        if key.startswith(INSIDE) and not self.is_web(key):
            raise NotAdmitted("stranger", _FOR_LOCAL)
        return Author("")

    def limits(self, owner: str, defaults: Mapping[str, int]) -> Mapping[str, int]:
        """Return the limits of an owner: connections, matches, messages and bytes a second. Local bots have none."""
        return dict.fromkeys(defaults, sys.maxsize) if owner.startswith(OWNER) else defaults

    def prepare(self, context: Context, socket: "zmq.Socket[bytes]") -> None:
        """Prepare a socket that is about to be bound."""

    def open(self) -> None:
        """Answer handshakes in the running loop."""

    def close(self) -> None:
        """Refuse every handshake. Call it once, before the context is closed."""

    def changed(self) -> bool:
        """Return whether the admitted keys may have changed since the last call."""
        return False

    def is_web(self, key: str) -> bool:
        """Return whether the connection belongs to a process of `ggp web` that the lobby started."""
        return key.startswith(INSIDE) and int(key.removeprefix(INSIDE)) in self._local.web


class KeyAuth(Admission):
    """Admission of those whose key is in the registry."""

    authenticated = True

    def __init__(
        self,
        pair: Path,
        registry: Path,
        event_log: EventLog,
        needed: bool = True,
        local: LocalIdentities = LocalIdentities(),
    ) -> None:
        """Read the server's pair and the registry.

        Args:
            needed: Whether the registry must exist. Otherwise no key is accepted until it does.

        Raises:
            KeyFileError, RegistryError: A file cannot be used.
        """
        super().__init__(local)
        self.pair: KeyPair = read_pair(pair)
        self._registry = KeyRegistry(registry)
        if error := self._registry.error:
            if needed or registry.exists():
                raise error
            event_log.log("keys", "problem", reason=f"all keys are refused: {self._registry.problem}")
        self._event_log = event_log
        self._authenticator = Authenticator(self._registry, self.log_refusal)
        self._strangers: deque[float] = deque(maxlen=_STRANGERS)  # when unknown keys were logged one by one
        self._zap: zmq.Socket[bytes] | None = None
        self._reading: Reading | None = None

    def identify(self, key: str, hello: Hello) -> Identity:
        identity = super().identify(key, hello)
        if identity.local or self.is_web(key):
            return identity
        entry = self._entry(key)
        if hello.name not in entry.bots:
            name = printable(hello.name, 60)
            bots = ", ".join(entry.bots[:5])
            raise NotAdmitted("forged", f"this key speaks for {bots}, not for {name!r}: use such a name", lasting=True)
        return Identity(entry.owner, hello.name)

    def author(self, key: str) -> Author:
        author = super().author(key)
        if self.is_web(key):
            return author
        entry = self._entry(key)
        return Author(entry.owner, entry.bots)

    def limits(self, owner: str, defaults: Mapping[str, int]) -> Mapping[str, int]:
        return self._registry.limits(owner).over(super().limits(owner, defaults))

    def _entry(self, key: str) -> KeyEntry:
        entry = self._registry.find(key)
        if isinstance(entry, Refusal):
            # The clock of this machine may be wrong, and be set right: a bot with an expired key may come again.
            lasting = entry is not Refusal.EXPIRED
            raise NotAdmitted("key", f"{entry}: ask the operator of this lobby", lasting=lasting)
        return entry

    def prepare(self, context: Context, socket: "zmq.Socket[bytes]") -> None:
        self._zap = self._authenticator.open(context)
        require_keys(socket, self.pair)

    def open(self) -> None:
        assert self._zap is not None
        self._reading = Reading(self._zap, self._answer)

    def close(self) -> None:
        if self._reading is not None:
            self._reading.close()
        self._authenticator.close()
        self._reading = self._zap = None

    def changed(self) -> bool:
        if self._registry.unsaid():  # a bot that dialled in may have been the first to notice
            self._event_log.log("keys", "problem" if self._registry.problem else "read", reason=self._registry.problem)
        return self._registry.changed()

    def _answer(self) -> None:
        if not self._authenticator.handle_one():
            raise zmq.Again

    def log_refusal(self, address: str, key: str, reason: str) -> None:
        """Log a refusal: a line a minute for each key, or for each address where too many keys are unknown."""
        now, source = time.monotonic(), f"{address} {key}".strip()
        if reason == Refusal.UNKNOWN:  # such keys cost nothing to make
            if len(self._strangers) == _STRANGERS and now - self._strangers[0] < _MINUTE:
                source = address
            else:
                self._strangers.append(now)
        self._event_log.log_limited(now, "refused", "handshake", source, key=key, reason=reason)
