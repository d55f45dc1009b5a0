"""The client side of a lobby connection: dials, and dials again with growing waits (PROTOCOL §7).

A lobby may have several addresses; a bot begins with a random one. After a lost connection, the same address is dialled
first, because a match may continue there; if that fails, the next one is dialled. Dialling is repeated as long as it
may help, but not if the author has to change something (AccessRefused). Each connection is a new socket, so that no
message of the last one arrives late. The caller (`ggp connect`, the SDK) handles the messages; the lobby decides whom
it admits.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import msgspec
import zmq
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.errors import AddressError
from ggp.protocol.grammar import MAX_ANSWER
from ggp.protocol.lobby_wire import (
    LEAVING,
    LEFT,
    MAX_COMMAND,
    MAX_TEXT,
    MOVED,
    REFUSED,
    REPLACED,
    Bye,
    FrameError,
    Hello,
    LobbyAsk,
    Message,
    Stderr,
    decode,
    encode,
    printable,
)
from ggp.protocol.transports.keys import KeyPair
from ggp.protocol.transports.zmq import AccessRefused, Handshakes, check_url, is_loopback, new_socket, use_keys

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before the next try; doubled each time, then shortened by up to half
SETTLED = 30.0  # seconds that a connection must last before the waits are short again
PATIENCE_MS = 10_000  # time limit of the connection, and another one of its handshake
SEND_MS = 10_000  # time limit for sending an answer while the queue is full
LAST_GAME = 120.0  # seconds without a connection after which a leaving bot stops waiting for its game
_UP = zmq.EVENT_HANDSHAKE_SUCCEEDED
_REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH
NO_HANDSHAKE = "the handshake failed"
_ENDS: dict[int, str] = {
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: "the lobby does not accept this key",
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: NO_HANDSHAKE,
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: NO_HANDSHAKE,
    zmq.EVENT_CLOSED: "nothing is listening at this address",
    zmq.EVENT_DISCONNECTED: "the connection was lost",
}
_MOVES = 3  # the most redirections to another address that are followed in a row without a wait
_BUSY = 500  # status of a ZAP answer; libzmq does not report 300, the proper one, to the client
_DAY = 86400.0  # seconds: the longest single wait
_MOVING = (b"play", b"genmove", b"ggp-genmove_analyze", b"ggp-play")  # commands that occur only during a game


class Replaced(Exception):
    """A goodbye because a newer connection of the same bot took over; str() is the lobby's message."""


class LeftLobby(Exception):
    """The end of a bot that left after its game, as announced."""


@dataclass(frozen=True, slots=True)
class LobbyLink:
    """The addresses of a lobby, separated by commas, and the keys of both sides.

    On this machine no keys are needed. If `inside`, the address is ipc://PATH, the lobby's socket for bots that it
    started itself, which asks for no keys.
    """

    url: str
    pair: KeyPair | None = None
    server_key: str = ""
    inside: bool = False

    def __post_init__(self) -> None:
        """Check addresses and keys.

        Raises:
            AddressError: An address is invalid, or a key is missing.
        """
        if self.inside:
            return
        for url in self.urls:
            check_url(url)
        if bool(self.pair) != bool(self.server_key):
            raise AddressError(
                f"{self.url} needs both keys, yours and the lobby's: give --key and --server-key",
                code="keys-needed",
            )
        elsewhere = [url for url in self.urls if not is_loopback(url)]
        if not self.pair and elsewhere:
            raise AddressError(
                f"{elsewhere[0]} is another machine: give --key FILE and --server-key (see ggp keys new)",
                code="keys-needed",
            )

    @property
    def urls(self) -> tuple[str, ...]:
        """Return the addresses, without duplicates."""
        return (self.url,) if self.inside else tuple(dict.fromkeys(self.url.split(",")))


class Dial:
    """The client side of a lobby connection: call `poll`, then `receive`, and `send` while it is `up`.

    `number` counts the connections, because a command of one connection must not be answered on the next. `tell(what,
    why)` reports `up`, `lost`, `bye` and `wait`. `poll` also waits for the caller's descriptors (`watch`). A client
    that is not a bot passes None as its `hello`. `poll` and `receive` raise AccessRefused if dialling again cannot
    help.
    """

    def __init__(
        self, lobby: LobbyLink, hello: Hello | None, tell: Callable[[str, str], object], chance: Random
    ) -> None:
        self._urls = lobby.urls
        self.hello = self._says(hello)
        self.number = 0
        self.up = False
        self._lobby, self._tell, self._chance = lobby, tell, chance
        self._at = chance.randrange(len(self._urls)) if len(self._urls) > 1 else 0  # index of the current address
        self._failures = 0  # failures since the wait was last doubled
        self._moves = 0  # redirections in a row
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._poller = zmq.Poller()
        self._wait = FIRST_WAIT
        self._next = 0.0  # when to make the next try, or to give up this one
        self._since = 0.0  # when the connection came up
        options = "--key FILE and --server-key KEY"
        self._handshakes = [Handshakes(url, lobby.pair is not None, options) for url in self._urls]
        self.playing = False  # a guess from the commands that the bot gets
        self._leaving: Bye | None = None
        self._lost = math.inf  # when a leaving bot lost its connection

    def watch(self, descriptor: int, for_writing: bool = False) -> None:
        """Let `poll` also wait for this descriptor to become readable, or writable if `for_writing`."""
        self._poller.register(descriptor, zmq.POLLOUT if for_writing else zmq.POLLIN)

    def forget(self, descriptor: int) -> None:
        """Stop waiting for a descriptor."""
        self._poller.unregister(descriptor)

    def redial(self, hello: Hello) -> None:
        """Leave the current connection, if any, and open a new one at once with this hello."""
        self.hello = self._says(hello)
        self._drop(0)
        self._next = 0.0

    def hang_up(self, reason: str) -> None:
        """Say goodbye and do not dial again until redial."""
        self.send(Bye(reason))
        self._drop(1000 if self.up else 0)
        self._next = math.inf

    def leave(self, reason: str) -> None:
        """Finish the current game and take no other.

        `poll` or `receive` raises LeftLobby once the lobby has said goodbye, or when there is nothing to wait for.
        """
        if self._leaving is None:
            self._leaving = Bye(printable(f"{LEAVING}: {reason}"))
            self._lost = time.monotonic()
            if self.up:
                self.send(self._leaving)

    def poll(self, seconds: float | None) -> list[int]:
        """Wait for something to do and return the caller's descriptors that are ready.

        Args:
            seconds: The longest wait; None for a day.

        Raises:
            Replaced: A newer connection of the same bot took over.
            LeftLobby: The bot has left, as announced.
            AccessRefused: Dialling again cannot help.
        """
        now = time.monotonic()
        if self._leaving and not self.up and (not self.playing or now - self._lost > LAST_GAME):
            self._drop(0)
            raise LeftLobby
        if self._socket is None and now >= self._next:
            self._connect(now)
        wait = min(_DAY if seconds is None else seconds, _DAY if self.up else self._next - now)
        ready = self._poller.poll(int(wait * 1000) + 1 if wait > 0 else 0)
        if not self.up and self._socket is not None and time.monotonic() >= self._next:
            self._fail("no response")
        descriptors = []
        for who, _ in ready:
            if isinstance(who, int):
                descriptors.append(who)
            elif who is self._monitor:
                self._take_news()
        return descriptors

    def receive(self) -> Message | None:
        """Return the next message, or None if none has arrived.

        A lobby that breaks the protocol is disconnected and dialled again.

        Raises:
            Replaced: A newer connection of the same bot took over.
            LeftLobby: The bot has left, as announced.
            AccessRefused: Dialling again cannot help.
        """
        if not self.up:
            return None
        assert self._socket is not None
        try:
            message = decode(self._socket.recv_multipart(zmq.NOBLOCK))
        except zmq.Again:
            return None
        except FrameError as error:
            self._fail(f"the lobby sent an invalid message: {error}")
            return None
        if isinstance(message, Bye):
            self._dismissed(message.reason)
        elif isinstance(message, LobbyAsk):
            self._moves = 0
            words = message.data.lstrip(b"0123456789 ").split(None, 1)
            self.playing = bool(words) and words[0] != b"ggp-result" and (words[0] in _MOVING or self.playing)
        return message

    def send(self, message: Message) -> None:
        """Send a message.

        A line of stderr that cannot be sent now is dropped. A lobby that reads no answers is disconnected.
        """
        if self.up:
            assert self._socket is not None
            try:
                self._socket.send_multipart(encode(message), zmq.NOBLOCK if isinstance(message, Stderr) else 0)
            except zmq.Again:
                if not isinstance(message, Stderr):
                    self._fail("the lobby does not read its input")

    def close(self, reason: str = "") -> None:
        """Close it (once), after a goodbye if there is a connection and a reason."""
        if reason:
            self.send(Bye(reason))
        self._drop(1000 if self.up else 0)
        self._context.term()

    @property
    def url(self) -> str:
        """Return the address that is dialled now, or was dialled last."""
        return self._urls[self._at]

    def _says(self, hello: Hello | None) -> Hello | None:
        return hello if hello is None or len(self._urls) == 1 else msgspec.structs.replace(hello, moves=True)

    # -- the connection ----------------------------------------------------------------------------------------------

    def _connect(self, now: float) -> None:
        largest = MAX_ANSWER if self.hello is None else max(MAX_COMMAND, MAX_TEXT)
        socket = new_socket(self._context, zmq.DEALER, largest, self.url)
        options = {
            zmq.SNDTIMEO: SEND_MS,
            zmq.CONNECT_TIMEOUT: PATIENCE_MS,
            zmq.HANDSHAKE_IVL: PATIENCE_MS,
            zmq.RECONNECT_IVL: -1,
        }
        for option, value in options.items():
            socket.setsockopt(option, value)
        if self._lobby.pair is not None:
            use_keys(socket, self._lobby.pair, self._lobby.server_key)
        self._socket, self._monitor = socket, socket.get_monitor_socket(_UP | sum(_ENDS))
        self._poller.register(socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        self._next = now + 2 * PATIENCE_MS / 1000
        try:
            socket.connect(self.url)
        except zmq.ZMQError as error:
            self._fail(f"cannot connect to {self.url}: {zmq.strerror(error.errno or 0)}")

    def _take_news(self) -> None:
        assert self._monitor is not None
        event = recv_monitor_message(self._monitor)
        if event["event"] == _UP:
            self.number += 1
            self._handshakes[self._at].succeeded()
            self.up, self._since = True, time.monotonic()
            self._tell("up", self.url if len(self._urls) > 1 else "")
            if self.hello is not None:
                self.send(self.hello)
            if self._leaving:
                self.send(self._leaving)
        elif event["event"] == _REFUSED and event["value"] == _BUSY:
            self._fail(
                "the lobby does not accept this key now: it has trouble, or the key comes too often or has expired"
            )
        else:
            self._last_words()
            if event["event"] == _REFUSED and (pair := self._lobby.pair):
                self._refuse(
                    f"the lobby does not accept this key: ask its operator whether {pair.public} is allowed, was "
                    "revoked or was replaced"
                )
            try:
                self._handshakes[self._at].failed(event["event"], event["value"])
            except AccessRefused:
                self._drop(0)
                raise
            self._fail(_ENDS[event["event"]])

    def _refuse(self, reason: str) -> None:
        self._drop(0)
        raise AccessRefused(f"{self.url}: {reason}")

    def _last_words(self) -> None:
        """Process all received messages: a lobby gives its reason before it cuts the connection."""
        while self.up and self.receive() is not None:
            pass

    def _dismissed(self, reason: str) -> None:
        """Handle a goodbye of the lobby."""
        kind, _, why = reason.partition(":")
        if kind == REFUSED:
            self._refuse(f"refused by the lobby: {why.strip()}")
        self._tell("bye", reason)
        if kind == REPLACED:
            self._drop(0)
            raise Replaced(reason)
        if self._leaving and kind == LEFT:
            self._drop(0)
            raise LeftLobby
        if kind == MOVED and self._follow(why.split()[:1]):
            return
        self._fail("", onward=True)  # a restarted lobby continues the game

    def _follow(self, where: Sequence[str]) -> bool:
        """Dial the address that the lobby named, if it is one of ours. Return False if it is not followed."""
        if not where or where[0] not in self._urls or self._moves == _MOVES:
            return False
        self._moves += 1
        self._drop(0)
        self._at, self._next = self._urls.index(where[0]), 0.0
        return True

    def _fail(self, reason: str, onward: bool = False) -> None:
        """Drop a connection that failed or was lost, and retry after a wait.

        The wait grows with each round of all addresses. The next address is dialled if `onward`, or if there was no
        connection.
        """
        if self._socket is None:
            return
        now = time.monotonic()
        if self.up and now - self._since > SETTLED:
            self._wait, self._failures = FIRST_WAIT, 0
        if onward or not self.up:
            self._at = (self._at + 1) % len(self._urls)
        self._drop(0)
        if reason:
            self._tell("lost", reason)
        seconds = self._wait * self._chance.uniform(0.5, 1.0)
        self._failures += 1
        if self._failures >= len(self._urls):
            self._wait, self._failures = min(2 * self._wait, LONGEST_WAIT), 0
        self._next = now + seconds
        self._tell("wait", f"{seconds:.1f}")

    def _drop(self, linger: int) -> None:
        if self._socket is not None and self._monitor is not None:
            self._poller.unregister(self._socket)
            self._poller.unregister(self._monitor)
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=linger)
        if self.up:
            self._lost = time.monotonic()
        self._socket = self._monitor = None
        self.up = False
