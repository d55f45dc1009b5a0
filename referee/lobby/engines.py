"""The engines of a lobby: a few processes, each with a session for every match that is under way. It plays nothing.

One ROUTER socket connects to an engine's service again and again, each time under another routing id; the service takes
every connection for a peer of its own. So a session costs a connection and no socket, and is used again: `ggp-new`
begins anew. An engine that dies or falls silent is started again, and its matches are void.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.grammar import MAX_ANSWER
from protocol.transports.blocking import run_blocking
from protocol.transports.zmq import UNBOUNDED
from referee.config import Budgets
from referee.lobby.inbox import Inbox
from referee.lobby.journal import Journal
from referee.lobby.reading import Reading
from referee.play.engine import Engine
from referee.play.launch import LaunchError, Peer, Process
from referee.play.outcome import EngineFailed
from referee.play.seating import Start

SESSIONS = 900  # of one process, whose service keeps 1,000
_QUEUE = 1000
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)  # enums are slow to combine
_LOOK = 0.02  # seconds between looks whether a new engine listens
_SWEEP = 1.0  # seconds between looks at what engines say on stderr


class Engines:
    """`processes` for every engine that is a program; `folder` is where their sockets lie."""

    def __init__(self, folder: Path, processes: int, budgets: Budgets, journal: Journal) -> None:
        self._folder, self._processes, self._budgets, self._journal = folder, processes, budgets, journal
        self._desks: dict[Start, list[_Desk]] = {}
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def free(self) -> int:
        """How many more matches any one engine can take, at the least."""
        return min((sum(SESSIONS - desk.leased for desk in desks) for desks in self._desks.values()), default=0)

    async def open(self, starts: set[Start]) -> None:
        """Start them. Raises EngineFailed."""
        for number, start in enumerate(sorted(starts, key=lambda one: one.command)):
            count = self._processes if start.argv else 1
            self._desks[start] = [
                _Desk(start, self._folder / f"engine-{number}-{index}", self._context, self._budgets)
                for index in range(count)
            ]
        await asyncio.gather(*(desk.open() for desks in self._desks.values() for desk in desks))
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(desk.close() for desks in self._desks.values() for desk in desks))
        self._context.term()

    @contextlib.asynccontextmanager
    async def session(self, start: Start) -> AsyncIterator[Engine]:
        """An engine for one match. Raises EngineFailed when none can be had."""
        desk = min(self._desks[start], key=lambda one: one.leased)
        desk.leased += 1
        engine: Engine | None = None
        try:
            if desk.ended:
                self._journal.tell("engine", "restarted", reason=desk.ended)
                await desk.restart()
            engine = await desk.engine()
            yield engine
        finally:
            desk.leased -= 1
            if engine is not None:
                await desk.take_back(engine)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            for desks in self._desks.values():
                for desk in desks:
                    desk.drain()


class _Desk:
    """One engine that serves many. `ended`: why it does not any more."""

    def __init__(self, start: Start, path: Path, context: "zmq.Context[zmq.Socket[bytes]]", budgets: Budgets) -> None:
        self.leased = 0
        self.ended = "not started"
        self._start, self._path, self._context, self._budgets = start, path, context, budgets
        self._idle: list[Engine] = []
        self._sessions: dict[bytes, _Session] = {}
        self._process: Process | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._readings: list[Reading] = []
        self._number = 0
        self._opening = asyncio.Lock()

    @property
    def url(self) -> str:
        return self._start.url or f"ipc://{self._path}"

    async def open(self) -> None:
        """Raises EngineFailed."""
        if self._start.argv:
            await self._launch()
        self._socket = socket = self._context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)  # a session that was lost is not another one
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER + 4096)
        socket.setsockopt(zmq.SNDHWM, _QUEUE)
        socket.setsockopt(zmq.RCVHWM, UNBOUNDED)
        self._monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED)
        self._readings = [Reading(socket, self._take), Reading(self._monitor, self._news)]
        self.ended = ""

    async def close(self) -> None:
        """Of everything; matches that are under way have no engine any more."""
        self.fail("it was ended")
        for reading in self._readings:
            reading.close()
        self._readings = []
        if self._socket is not None and self._monitor is not None:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=0)
        self._socket = self._monitor = None
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(run_blocking, process.stop(kill=True))

    async def restart(self) -> None:
        """Once, whoever asks for it. Raises EngineFailed."""
        async with self._opening:
            if self.ended:
                await self.close()
                await self.open()

    async def engine(self) -> Engine:
        """With a session of its own."""
        if self._idle:
            return self._idle.pop()
        assert self._socket is not None
        self._number += 1
        name = b"session-%d" % self._number
        self._socket.setsockopt(zmq.CONNECT_ROUTING_ID, name)
        self._socket.connect(self.url)
        session = self._sessions[name] = _Session(self, name)
        engine = Engine(session, self._start.command, self._budgets)
        try:
            await engine.start()
        except BaseException:
            await self.take_back(engine)
            raise
        return engine

    async def take_back(self, engine: Engine) -> None:
        """For the next match; not if it owes an answer. An engine that is silent for too long is stuck for all."""
        session = engine.peer
        assert isinstance(session, _Session)
        lives = self._sessions.get(session.name) is session
        if lives and not (session.overdue or session.owed):
            self._idle.append(engine)
            return
        self._sessions.pop(session.name, None)
        if lives and session.overdue:
            self.fail("it does not answer")
            if self._process is not None:
                await asyncio.to_thread(run_blocking, self._process.stop(kill=True))

    def send(self, name: bytes, line: bytes) -> bool:
        if self._socket is None:
            return False
        try:
            self._socket.send(name, _MORE)
            self._socket.send(line, _NOW)
        except zmq.ZMQError:
            return False
        finally:
            self._readings[0].look_again()
        return True

    def fail(self, reason: str) -> None:
        """None of its sessions lives any more."""
        self.ended = self.ended or reason
        sessions, self._sessions, self._idle = self._sessions, {}, []
        for session in sessions.values():
            session.inbox.end()

    def drain(self) -> None:
        """What it says on stderr must not stop it."""
        if self._process is not None:
            self._process.stderr_tail()

    async def _launch(self) -> None:
        self._path.unlink(missing_ok=True)
        start = self._start
        try:
            argv = (*start.argv, "--bind", self.url)
            self._process = Process(argv, PeerRole.ENGINE, self._budgets, environment=start.environment)
        except LaunchError as error:
            raise EngineFailed(str(error)) from None
        deadline = time.monotonic() + self._budgets.start
        while not self._path.exists():
            if (ended := self._process.exited()) or time.monotonic() > deadline:
                said = self._process.stderr_tail().strip().splitlines()
                raise EngineFailed("; ".join([ended or "it does not listen in time", *said[-1:]]))
            await asyncio.sleep(_LOOK)

    def _take(self) -> None:
        assert self._socket is not None
        recv = self._socket.recv
        name, frame = recv(_NOW), recv(_NOW, copy=False)
        while frame.more:  # not our framing: whoever is there breaks its session
            frame = recv(_NOW, copy=False)
        session = self._sessions.get(name)
        if session is not None:
            session.owed -= 1
            session.inbox.put(frame.bytes, more=session.owed > 0)

    def _news(self) -> None:
        assert self._monitor is not None
        recv_monitor_message(self._monitor, zmq.NOBLOCK)
        self.fail(self.exited() or "its connection was lost")

    def exited(self) -> str:
        return self._process.exited() if self._process is not None else ""


class _Session(Peer):
    """One conversation with an engine: a Transport and a Peer."""

    def __init__(self, desk: _Desk, name: bytes) -> None:
        self.now = time.monotonic
        self.desk, self.name = desk, name
        self.inbox = Inbox()
        self.owed = 0  # answers
        self.overdue = False
        self.channel = Channel(self, PeerRole.ENGINE)

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        for line in data.splitlines(keepends=True):
            self.owed += 1
            if not self.desk.send(self.name, line):
                self.inbox.end()

    async def read(self, deadline: float) -> bytes:
        try:
            return await self.inbox.get(deadline)
        except BaseException:
            self.overdue = time.monotonic() >= deadline
            raise

    def close_stdin(self) -> None:
        """There is no half of a session."""

    def close(self) -> None:
        self.inbox.end()

    def exited(self, wait: float = 0) -> str:
        return self.desk.exited()

    def stderr_tail(self) -> str:
        return ""

    def stderr_news(self) -> str:
        return ""

    async def stop(self, kill: bool = False) -> None:
        """Its desk goes on."""
