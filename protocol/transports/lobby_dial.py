"""The way of a bot that dials out: one connection after another to a lobby, with back-off (PROTOCOL §7).

A lobby may have several addresses. A bot begins at one of them by chance. A connection that was lost is made again at
the same address first, because a match may go on there; where that fails the next address is dialled.
It is dialled again as long as time may help, and not where the author has to change something (AccessRefused).
A new connection is a new socket, so that no message of the last one arrives late. The messages are the
caller's part (`ggp connect`, the SDK); admission is the lobby's.
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

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before the next try; doubled each time, and up to half of it at random
SETTLED = 30.0  # seconds that a connection stands before the waits are short again
PATIENCE_MS = 10_000  # for the connection, and again for its handshake
SEND_MS = 10_000  # for an answer to leave, when those before it have not yet
LAST_GAME = 120.0  # seconds without a connection after which a bot that is leaving waits for its game no longer
_UP = zmq.EVENT_HANDSHAKE_SUCCEEDED
_REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH
NO_HANDSHAKE = "the handshake failed"
_ENDS: dict[int, str] = {
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: "the lobby does not let this key in",
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: NO_HANDSHAKE,
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: NO_HANDSHAKE,
    zmq.EVENT_CLOSED: "no program listens there",
    zmq.EVENT_DISCONNECTED: "the connection was lost",
}
_MOVES = 3  # goodbyes in a row that name another address, which are followed at once
_BUSY = 500  # of a ZAP answer; libzmq does not report 300, the proper one, to the client
_DAY = 86400.0  # seconds; as long as one wait may be
_MOVING = (b"play", b"genmove", b"ggp-genmove_analyze", b"ggp-play")  # commands of a running game


class Replaced(Exception):
    """A goodbye because a newer connection of the same bot took over; str() is what the lobby said."""


class LeftLobby(Exception):
    """The end of a bot that left after its game, as announced."""


@dataclass(frozen=True, slots=True)
class LobbyLink:
    """The addresses of a lobby, separated by commas, and the keys of both sides, not needed on this machine.

    `inside`: its socket for bots that it started itself, ipc://PATH, which asks for no keys.
    """

    url: str
    pair: KeyPair | None = None
    server_key: str = ""
    inside: bool = False

    def __post_init__(self) -> None:
        """Check addresses and keys. Raises AddressError."""
        if self.inside:
            return
        for url in self.urls:
            check_url(url)
        if bool(self.pair) != bool(self.server_key):
            raise AddressError(
                f"for {self.url} both keys are needed, yours and the lobby's: --key and --server-key",
                code="keys-needed",
            )
        elsewhere = [url for url in self.urls if not is_loopback(url)]
        if not self.pair and elsewhere:
            raise AddressError(
                f"{elsewhere[0]} is another machine: --key FILE and --server-key are needed (ggp keys new)",
                code="keys-needed",
            )

    @property
    def urls(self) -> tuple[str, ...]:
        """Return the addresses, each once."""
        return (self.url,) if self.inside else tuple(dict.fromkeys(self.url.split(",")))


class Dial:
    """The client side of a lobby connection: call `poll`, take what it received, and send while it is `up`.

    Raises AccessRefused if dialling again cannot help. `number` counts the connections: a command of one is not
    answered on the next. `tell(what, why)` reports `up`, `lost`, `bye` and `wait`. It waits for the caller's
    descriptors, too (`watch`). A client that is not a bot sends no `hello`.
    """

    def __init__(
        self, lobby: LobbyLink, hello: Hello | None, tell: Callable[[str, str], object], chance: Random
    ) -> None:
        self._urls = lobby.urls
        self.hello = self._says(hello)
        self.number = 0
        self.up = False
        self._lobby, self._tell, self._chance = lobby, tell, chance
        self._at = chance.randrange(len(self._urls)) if len(self._urls) > 1 else 0  # the address that is dialled
        self._failures = 0  # since the last wait was doubled
        self._moves = 0  # in a row
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._poller = zmq.Poller()
        self._wait = FIRST_WAIT
        self._next = 0.0  # when the state changes by itself: the next try, or giving up on this one
        self._since = 0.0  # when it came up
        options = "--key FILE and --server-key KEY"
        self._handshakes = [Handshakes(url, lobby.pair is not None, options) for url in self._urls]
        self.playing = False  # as far as can be told from what the bot is asked
        self._leaving: Bye | None = None
        self._lost = math.inf  # since when there is no connection for a bot that is leaving

    def watch(self, descriptor: int, for_writing: bool = False) -> None:
        self._poller.register(descriptor, zmq.POLLOUT if for_writing else zmq.POLLIN)

    def forget(self, descriptor: int) -> None:
        self._poller.unregister(descriptor)

    def redial(self, hello: Hello) -> None:
        """Leave this connection, if there is one, and say this hello on a new one at once."""
        self.hello = self._says(hello)
        self._drop(0)
        self._next = 0.0

    def hang_up(self, reason: str) -> None:
        """Say goodbye and do not dial until redial."""
        self.send(Bye(reason))
        self._drop(1000 if self.up else 0)
        self._next = math.inf

    def leave(self, reason: str) -> None:
        """Finish the current game and take no other.

        `poll` or `receive` raises LeftLobby once the lobby has said goodbye, or there is nothing to wait for.
        """
        if self._leaving is None:
            self._leaving = Bye(printable(f"{LEAVING}: {reason}"))
            self._lost = time.monotonic()
            if self.up:
                self.send(self._leaving)

    def poll(self, seconds: float | None) -> list[int]:
        """Wait for something to do, at most this long (None: a day); the caller's descriptors that are ready.

        Raises Replaced, LeftLobby, AccessRefused.
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
            self._fail("no answer")
        descriptors = []
        for who, _ in ready:
            if isinstance(who, int):
                descriptors.append(who)
            elif who is self._monitor:
                self._take_news()
        return descriptors

    def receive(self) -> Message | None:
        """Return the next message, None if there is none. A lobby that breaks the protocol is left, and dialled again.

        Raises Replaced, LeftLobby, AccessRefused.
        """
        if not self.up:
            return None
        assert self._socket is not None
        try:
            message = decode(self._socket.recv_multipart(zmq.NOBLOCK))
        except zmq.Again:
            return None
        except FrameError as error:
            self._fail(f"the lobby sent what is no message: {error}")
            return None
        if isinstance(message, Bye):
            self._dismissed(message.reason)
        elif isinstance(message, LobbyAsk):
            self._moves = 0
            words = message.data.lstrip(b"0123456789 ").split(None, 1)
            self.playing = bool(words) and words[0] != b"ggp-result" and (words[0] in _MOVING or self.playing)
        return message

    def send(self, message: Message) -> None:
        """Send a message. A line of stderr that cannot leave now is dropped; a lobby that takes no answer is left."""
        if self.up:
            assert self._socket is not None
            try:
                self._socket.send_multipart(encode(message), zmq.NOBLOCK if isinstance(message, Stderr) else 0)
            except zmq.Again:
                if not isinstance(message, Stderr):
                    self._fail("the lobby does not read what it is sent")

    def close(self, reason: str = "") -> None:
        """Say goodbye if there is a connection and a reason, and close (once)."""
        if reason:
            self.send(Bye(reason))
        self._drop(1000 if self.up else 0)
        self._context.term()

    @property
    def url(self) -> str:
        """Return the address that is dialled, or was last."""
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
                "the lobby does not let this key in now: it has trouble, or the key comes too often or has expired"
            )
        else:
            self._last_words()
            if event["event"] == _REFUSED and (pair := self._lobby.pair):
                self._refuse(
                    f"the lobby does not let this key in: ask its operator whether {pair.public} is allowed, was "
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
        """Process what was read and not yet taken: a lobby says why before it cuts the connection."""
        while self.up and self.receive() is not None:
            pass

    def _dismissed(self, reason: str) -> None:
        """Handle a goodbye of the lobby."""
        kind, _, why = reason.partition(":")
        if kind == REFUSED:
            self._refuse(f"the lobby refuses this: {why.strip()}")
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
        """Dial the address that the lobby named next, if it is one of ours."""
        if not where or where[0] not in self._urls or self._moves == _MOVES:
            return False
        self._moves += 1
        self._drop(0)
        self._at, self._next = self._urls.index(where[0]), 0.0
        return True

    def _fail(self, reason: str, onward: bool = False) -> None:
        """Drop a connection that failed or was lost, and retry after a wait.

        The wait grows with each round of all addresses. Continue at the next one if `onward`, or without a connection.
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
