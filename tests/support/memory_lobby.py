"""A lobby's sessions and socket, and scripted connections, in one loop. No matches."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgpack
import zmq

from ggp.protocol.transports.keys import KeyPair
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.lobby.auth import Admission
from ggp.referee.server.lobby.config import LobbyTable
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.remote_bot import Lateness
from ggp.referee.server.lobby.sessions import Sessions
from ggp.referee.server.lobby.socket import RouterSocket

BUDGETS = Timeouts(start=20.0)
ANSWERS = {"protocol_version": "2", "name": "tester", "version": "1", "list_commands": "play genmove ggp-new quit"}


class MemoryCaller:
    """A scripted connection."""

    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self.socket = socket
        self.byes: list[str] = []

    def say(self, *frames: bytes) -> None:
        self.socket.send_multipart(list(frames))

    def hello(self, name: str, **more: object) -> None:
        self.say(b"H", msgpack.packb({"ggp": 1, "name": name, "games": [], **more}))

    def listen(self) -> None:
        """Answer what was asked."""
        try:
            while True:
                kind, payload = self.socket.recv_multipart(zmq.NOBLOCK)
                if kind == b"B":
                    self.byes.append(payload.decode())
                else:
                    number, _, line = payload.decode().strip().rpartition(" ")
                    self.say(b"R", f"={number} {ANSWERS.get(line, '')}\n\n".encode())
        except zmq.Again:
            return

    async def bye(self) -> str:
        await until(lambda: bool(self.byes), self)
        return self.byes[0]


async def until(done: Callable[[], bool], *callers: MemoryCaller) -> None:
    """Let these connections answer until this holds."""
    for _ in range(6000):
        for caller in callers:
            caller.listen()
        if done():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the condition did not hold in time")


class MemoryLobby:
    """The sessions and the socket of a lobby."""

    def __init__(
        self, table: LobbyTable, admission: Admission, connections: int, inside: str = "", arrivals: float = 0
    ) -> None:
        self.event_log = EventLog(quiet=True, write=lambda line: None)
        self.sessions = Sessions(table, BUDGETS, ["yugo", "go"], admission, self.event_log, Lateness())
        self.router = self.sessions.router = RouterSocket(
            "tcp://127.0.0.1:*", self.sessions, admission, connections, arrivals, inside
        )
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def call(self, pair: KeyPair | None = None, server: KeyPair | None = None, url: str = "") -> MemoryCaller:
        socket = self.context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)
        if pair and server:
            socket.setsockopt(zmq.CURVE_SERVERKEY, server.public.encode())
            socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
            socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
        socket.connect(url or self.router.url)
        return MemoryCaller(socket)

    async def seat(self, name: str, *more: MemoryCaller) -> MemoryCaller:
        """A bot that is admitted and ready."""
        caller = self.call()
        caller.hello(name)
        await until(lambda: any(one.name == name for one in self.sessions.ready()), caller, *more)
        return caller


@asynccontextmanager
async def open_lobby(
    table: LobbyTable | None = None,
    admission: Admission | None = None,
    connections: int = 100,
    inside: str = "",
    arrivals: float = 0,
) -> AsyncIterator[MemoryLobby]:
    opened = MemoryLobby(table or LobbyTable(), admission or Admission(), connections, inside, arrivals)
    opened.router.open()
    opened.sessions.open()
    try:
        yield opened
    finally:
        await opened.sessions.close("the test is over")
        opened.router.close()
        opened.context.destroy(linger=0)
