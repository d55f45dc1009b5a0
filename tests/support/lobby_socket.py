"""A scripted lobby, for tests of clients that dial in: a ROUTER socket, and no referee."""

import time
from typing import Self

import zmq

from ggp.protocol.lobby_wire import Bye, Hello, LobbyAnswer, LobbyAsk, Message, Stderr, decode, encode
from ggp.protocol.transports.keys import KeyPair
from tests.support.cli import free_port

PATIENCE = 120.0  # seconds


class ListeningSocket:
    """Listens on loopback; with `keys` as a CURVE server that admits every key. The caller is its only thread."""

    def __init__(self, kind: int, option: int, keys: KeyPair | None, url: str) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(option, 1)
        if keys is not None:
            self.socket.setsockopt(zmq.CURVE_SERVER, 1)
            self.socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret.encode())
        self.socket.bind(url or f"tcp://127.0.0.1:{free_port()}")
        self.url = bytes(self.socket.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.context.destroy(linger=0)


class SmallLobby(ListeningSocket):
    """A ROUTER with the frames of a lobby."""

    def __init__(self, keys: KeyPair | None = None, url: str = "") -> None:
        super().__init__(zmq.ROUTER, zmq.ROUTER_MANDATORY, keys, url)
        self.routes: list[bytes] = []  # of every hello and order, in order
        self.stderr: list[str] = []
        self.byes: list[str] = []

    def hello(self) -> Hello:
        """Wait for the next hello."""
        message = self._next(Hello)
        assert isinstance(message, Hello)
        return message

    def bye(self) -> str:
        message = self._next(Bye)
        assert isinstance(message, Bye)
        return message.reason

    def ask(self, line: str) -> str:
        """Ask the last one that dialled in; its answer without frame."""
        self.say(line)
        return self.answer()

    def say(self, line: str) -> None:
        self.send(LobbyAsk(f"{line}\n".encode()))

    def ordered(self) -> bytes:
        """Wait for a command, and answer on its connection from now on."""
        message = self._next(LobbyAsk)
        assert isinstance(message, LobbyAsk)
        return message.data

    def answer(self) -> str:
        message = self._next(LobbyAnswer)
        assert isinstance(message, LobbyAnswer)
        return message.data.decode().strip()

    def send(self, message: Message) -> None:
        self.socket.send_multipart([self.routes[-1], *encode(message)])

    def send_raw(self, *frames: bytes) -> None:
        self.socket.send_multipart([self.routes[-1], *frames])

    def message(self, seconds: float) -> Message | None:
        """The next message of any kind, None if there is none in time."""
        if not self.socket.poll(int(seconds * 1000)):
            return None
        route, *frames = self.socket.recv_multipart()
        said = decode(frames)
        if isinstance(said, Hello | LobbyAsk):
            self.routes.append(route)
        elif isinstance(said, Stderr):
            self.stderr.append(said.text)
        elif isinstance(said, Bye):
            self.byes.append(said.reason)
        return said

    def _next(self, kind: type[Message]) -> Message:
        """The next of that kind; lines of stderr and byes may come before it."""
        until = time.monotonic() + PATIENCE
        while (left := until - time.monotonic()) > 0:
            said = self.message(left)
            if isinstance(said, kind):
                return said
            assert said is None or isinstance(said, Stderr | Bye), f"waited for {kind}, got {said}"
        raise AssertionError(f"no {kind.__name__} in time")
