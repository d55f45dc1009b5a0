"""The engines of a lobby: a few processes, each with one session for every running match.

Sessions are reused: `ggp-new` resets one. An engine that ends or stops answering is restarted, and its matches are
void.
"""

import asyncio
import contextlib
import select
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.grammar import MAX_ANSWER
from protocol.transports.blocking import run_blocking
from protocol.transports.unix import CHUNK, SCHEME, path_of
from protocol.transports.zmq import UNBOUNDED
from referee.background import BackgroundTasks
from referee.lobby.log import EventLog
from referee.lobby.zmq_io import Inbox, Reading
from referee.play.bot_spec import BotSpec
from referee.play.engine import Engine
from referee.play.outcome import EngineFailed
from referee.play.process import LaunchError, Peer, Process
from referee.play.setting import Timeouts

# -- links to one engine that serves many sessions --------------------------------------------------------------------


_QUEUE = 1000
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)  # enums are slow to combine
_MOMENT_MS = 1  # that an answer is waited for in place, which is the least that poll can wait
_IN_VAIN, _AGAIN = 3, 64  # after so many waits in vain in a row, only one in so many questions is waited for so
_HELD = 0.01  # seconds of such waits after which others in the loop have their turn
_LINK_LOOK = 0.01  # seconds between looks whether there is room for one more to be let in
Lost = Callable[[], None]


class EngineSession(Peer, ABC):
    """One conversation with an engine: a Transport and a Peer. `overdue`: it was silent for too long."""

    def __init__(self, exited: Callable[[], str]) -> None:
        self.now = time.monotonic
        self.inbox = Inbox()
        self.overdue = False
        self._exited = exited
        self.channel = Channel(self, PeerRole.ENGINE)

    @abstractmethod
    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """See Transport.write."""

    async def read(self, deadline: float) -> bytes:
        try:
            return await self.inbox.get(deadline)
        except BaseException:
            self.overdue = time.monotonic() >= deadline
            raise

    @property
    def usable(self) -> bool:
        """Whether it can serve another match: it owes nothing."""
        return not (self.overdue or self.channel.connection.awaited)

    def close_stdin(self) -> None:
        """There is no half of a session."""

    def close(self) -> None:
        self.inbox.end()

    def exited(self, wait: float = 0) -> str:
        return self._exited()

    def stderr_tail(self) -> str:
        return ""

    def stderr_news(self) -> str:
        return ""

    async def stop(self, kill: bool = False) -> None:
        """Its engine goes on."""


class Link(ABC):
    """`lost` is called when the engine is not there any more; `exited` says how it ended."""

    def __init__(self, lost: Lost, exited: Callable[[], str]) -> None:
        self._lost, self._exited = lost, exited

    @abstractmethod
    def listens(self) -> bool:
        """Whether a session can be opened."""

    @abstractmethod
    async def connect(self, seconds: float) -> EngineSession:
        """Waits so long if too many wait to be let in. A session that could not be has ended, and `lost` was called."""

    @abstractmethod
    def drop(self, session: EngineSession) -> None:
        """It is not used again."""

    @abstractmethod
    def close(self) -> None:
        """All sessions have ended."""


class StreamLink(Link):
    """To the engine that listens at `unix:///PATH`. In the running loop."""

    def __init__(self, url: str, lost: Lost, exited: Callable[[], str]) -> None:
        super().__init__(lost, exited)
        self._path = path_of(url)
        self._sessions: set[_Stream] = set()
        self._in_vain = self._skipped = 0
        self._held = 0.0  # seconds that were waited in place since others had their turn

    def listens(self) -> bool:
        try:
            self._connected().close()
        except OSError:
            return False
        return True

    async def connect(self, seconds: float) -> EngineSession:
        theirs, until = None, time.monotonic() + seconds
        try:
            while theirs is None:
                try:
                    theirs = self._connected()
                except BlockingIOError:  # a busy engine accepts no connection meanwhile
                    if time.monotonic() >= until:
                        raise
                    await asyncio.sleep(_LINK_LOOK)
        except OSError:
            self._lost()
        session = _Stream(self, theirs, self._exited)
        self._sessions.add(session)
        return session

    def drop(self, session: EngineSession) -> None:
        assert isinstance(session, _Stream)
        self._sessions.discard(session)
        session.close()

    def close(self) -> None:
        for session in list(self._sessions):
            self.drop(session)

    def lost(self) -> None:
        self._lost()

    def answers_at_once(self, poll: select.poll) -> bool:
        """Whether what was just asked is answered within a moment, if that is worth being waited for in place. An
        engine that thinks is not, but may change."""
        self._skipped += 1
        if self._held >= _HELD:
            self._held = 0.0
            return False
        if self._in_vain >= _IN_VAIN and self._skipped < _AGAIN:
            return False
        began, self._skipped = time.monotonic(), 0
        came = bool(poll.poll(_MOMENT_MS))
        self._held += time.monotonic() - began
        self._in_vain = 0 if came else self._in_vain + 1
        return came

    def _connected(self) -> socket.socket:
        """Raises OSError, also where others wait to be let in, so that this would block."""
        theirs = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            theirs.connect(self._path)
        except BaseException:
            theirs.close()
            raise
        return theirs


class _Stream(EngineSession):
    def __init__(self, link: StreamLink, theirs: socket.socket | None, exited: Callable[[], str]) -> None:
        super().__init__(exited)
        self._link, self._socket = link, theirs
        self._asked = False  # and nothing was read since
        self._poll = select.poll()
        if theirs is None:
            self.inbox.end()
        else:
            self._poll.register(theirs, select.POLLIN)

    @property
    def usable(self) -> bool:
        """See EngineSession; nor has it said anything unasked, or ended."""
        return super().usable and self._socket is not None and not self._poll.poll(0)

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """What does not fit is for an engine that has stopped reading: there is room for many commands."""
        self._asked = True
        try:
            if self._socket is not None and self._socket.send(data) < len(data):
                self._end()
        except OSError:
            self._end()

    async def read(self, deadline: float) -> bytes:
        theirs, link = self._socket, self._link
        if theirs is None:
            return b""
        asked, self._asked = self._asked, False
        if asked and link.answers_at_once(self._poll):
            return self._receive()
        loop = asyncio.get_running_loop()
        loop.add_reader(theirs, self._came)
        try:
            return await super().read(deadline)
        finally:
            if self._socket is theirs:
                loop.remove_reader(theirs)

    def close(self) -> None:
        theirs, self._socket = self._socket, None
        if theirs is not None:
            asyncio.get_running_loop().remove_reader(theirs)
            theirs.close()
        super().close()

    def _came(self) -> None:
        if data := self._receive():
            self.inbox.put(data)

    def _receive(self) -> bytes:
        """b"": it has ended."""
        assert self._socket is not None
        try:
            data = self._socket.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            self._end()
        return data

    def _end(self) -> None:
        self.close()
        self._link.lost()


class RouterLink(Link):
    """To the engine that bound a ROUTER at a ZeroMQ URL. In the running loop."""

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", url: str, lost: Lost, exited: Callable[[], str]
    ) -> None:
        super().__init__(lost, exited)
        self._url = url
        self._sessions: dict[bytes, _Routed] = {}
        self._number = 0
        self._socket = socket = context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)  # a session that was lost is not another one
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER + 4096)
        socket.setsockopt(zmq.SNDHWM, _QUEUE)
        socket.setsockopt(zmq.RCVHWM, UNBOUNDED)
        self._monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED)
        self._readings = [Reading(socket, self._receive), Reading(self._monitor, self._on_disconnect)]

    def listens(self) -> bool:
        """Connecting is the connection's matter, but a file has to be there."""
        return not self._url.startswith("ipc://") or Path(self._url.removeprefix("ipc://")).exists()

    async def connect(self, seconds: float) -> EngineSession:
        self._number += 1
        name = b"session-%d" % self._number
        self._socket.setsockopt(zmq.CONNECT_ROUTING_ID, name)
        self._socket.connect(self._url)
        session = self._sessions[name] = _Routed(self, name, self._exited)
        return session

    def drop(self, session: EngineSession) -> None:
        assert isinstance(session, _Routed)
        self._sessions.pop(session.name, None)
        session.close()

    def close(self) -> None:
        for session in list(self._sessions.values()):
            self.drop(session)
        for reading in self._readings:
            reading.close()
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)

    def send(self, name: bytes, line: bytes) -> bool:
        if self._socket.closed:
            return False
        try:
            self._socket.send(name, _MORE)
            self._socket.send(line, _NOW)
        except zmq.ZMQError:
            return False
        finally:
            self._readings[0].poll_again()
        return True

    def _receive(self) -> None:
        recv = self._socket.recv
        name, frame = recv(_NOW), recv(_NOW, copy=False)
        while frame.more:  # not our framing: the engine breaks its session
            frame = recv(_NOW, copy=False)
        session = self._sessions.get(name)
        if session is not None:
            session.inbox.put(frame.bytes)

    def _on_disconnect(self) -> None:
        recv_monitor_message(self._monitor, zmq.NOBLOCK)
        self._lost()


class _Routed(EngineSession):
    def __init__(self, link: RouterLink, name: bytes, exited: Callable[[], str]) -> None:
        super().__init__(exited)
        self.name = name
        self._link = link

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        for line in data.splitlines(keepends=True):
            if not self._link.send(self.name, line):
                self.inbox.end()


SESSIONS = 900  # of one process, whose service keeps 1,000
_LOOK = 0.02  # seconds between looks whether a new engine listens
_ZEROMQ = "ipc://"
_SWEEP = 1.0  # seconds between looks at what engines say on stderr


class Engines:
    """`processes` for every engine that is a program; `folder` is where their sockets lie."""

    def __init__(self, folder: Path, processes: int, budgets: Timeouts, journal: EventLog) -> None:
        self._folder, self._processes, self._budgets, self._journal = folder, processes, budgets, journal
        self._desks: dict[BotSpec, list[_EngineShare]] = {}
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._tasks = BackgroundTasks(journal.fault)

    @property
    def free(self) -> int:
        """How many more matches any one engine can take, at the least."""
        return min((sum(SESSIONS - desk.leased for desk in desks) for desks in self._desks.values()), default=0)

    async def open(self, starts: set[BotSpec]) -> None:
        """Start them. Raises EngineFailed."""
        for number, start in enumerate(sorted(starts, key=lambda one: one.command)):
            count = self._processes if start.argv else 1
            self._desks[start] = [
                _EngineShare(start, self._folder / f"engine-{number}-{index}", self._context, self._budgets)
                for index in range(count)
            ]
        await asyncio.gather(*(desk.open() for desks in self._desks.values() for desk in desks))
        self._tasks.keep("engines", self._check_all)

    async def close(self) -> None:
        await self._tasks.close()
        await asyncio.gather(*(desk.close() for desks in self._desks.values() for desk in desks))
        self._context.term()

    @contextlib.asynccontextmanager
    async def session(self, start: BotSpec) -> AsyncIterator[Engine]:
        """An engine for one match. Raises EngineFailed when none can be had."""
        desk = min(self._desks[start], key=lambda one: one.leased)
        desk.leased += 1
        engine: Engine | None = None
        try:
            desk.check()
            if desk.ended:
                self._journal.log("engine", "restarted", reason=desk.ended)
                await desk.restart()
            engine = await desk.engine()
            yield engine
        finally:
            desk.leased -= 1
            if engine is not None:
                await desk.release(engine)

    async def _check_all(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            for desks in self._desks.values():
                for desk in desks:
                    desk.check()


class _EngineShare:
    """One engine that serves many. `ended`: why it does not any more."""

    def __init__(
        self, start: BotSpec, path: Path, context: "zmq.Context[zmq.Socket[bytes]]", budgets: Timeouts
    ) -> None:
        self.leased = 0
        self.ended = "not started"
        self._start, self._path, self._context, self._budgets = start, path, context, budgets
        self._idle: list[Engine] = []
        self._sessions: set[EngineSession] = set()  # that live
        self._process: Process | None = None
        self._link: Link | None = None
        self._scheme = SCHEME
        self._opening = asyncio.Lock()  # the process is started or ended, by one at a time

    async def open(self) -> None:
        """A program listens as it best can. Raises EngineFailed."""
        if not self._start.argv:
            self._link = self._reach(self._start.url)
        else:
            try:
                await self._launch()
            except EngineFailed:  # a stranger's may know ZeroMQ alone
                if self._scheme == _ZEROMQ:
                    raise
                await self._end()
                self._scheme = _ZEROMQ  # from now on: one that did not end there was waited for until the deadline
                await self._launch()
        self.ended = ""

    async def close(self) -> None:
        """Of everything; matches that are under way have no engine any more."""
        self.fail("it was ended")
        await self._end()

    async def restart(self) -> None:
        """Restart the engine once for all callers. Raises EngineFailed."""
        async with self._opening:
            if self.ended:
                await self.close()
                await self.open()

    async def engine(self) -> Engine:
        """With a session of its own."""
        if self._idle:
            return self._idle.pop()
        assert self._link is not None
        session = await self._link.connect(self._budgets.start)
        self._sessions.add(session)
        engine = Engine(session, self._start.command, self._budgets)
        try:
            await engine.start()
        except BaseException:
            await self.release(engine)
            raise
        return engine

    async def release(self, engine: Engine) -> None:
        """For the next match; not if it owes an answer. An engine that is silent for too long is stuck for all."""
        session = engine.peer
        assert isinstance(session, EngineSession)
        lives = session in self._sessions
        if lives and session.usable:
            self._idle.append(engine)
            return
        self._sessions.discard(session)
        if lives and self._link is not None:
            self._link.drop(session)
        if lives and session.overdue:
            self.fail("it does not answer")
            link = self._link
            async with self._opening:
                if link is self._link:  # else it was ended meanwhile, and may have been started again
                    await self._end()

    def check(self) -> None:
        """Notice an unnoticed end, and drain stderr so that a full pipe does not block the engine."""
        if self._process is None or self.ended:  # one that is being ended is another thread's
            return
        self._process.drain_stderr()
        if ended := self.exited():
            self.fail(ended)

    def fail(self, reason: str) -> None:
        """None of its sessions lives any more."""
        self.ended = self.ended or reason
        sessions, self._sessions, self._idle = self._sessions, set(), []
        for session in sessions:
            session.close()

    def exited(self) -> str:
        return self._process.exited() if self._process is not None else ""

    async def _end(self) -> None:
        """Of the process, and of the way to it."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(run_blocking, process.stop(kill=True))
            self._path.unlink(missing_ok=True)

    def _reach(self, url: str) -> Link:
        lost: Callable[[], None] = lambda: self.fail(self.exited() or "its connection was lost")  # noqa: E731
        if url.startswith(SCHEME):
            return StreamLink(url, lost, self.exited)
        return RouterLink(self._context, url, lost, self.exited)

    async def _launch(self) -> None:
        """Raises EngineFailed."""
        url = f"{self._scheme}{self._path}"
        self._path.unlink(missing_ok=True)
        start = self._start
        try:
            argv = (*start.argv, "--bind", url)
            self._process = Process(argv, PeerRole.ENGINE, self._budgets, environment=start.environment)
        except LaunchError as error:
            raise EngineFailed(str(error)) from None
        self._link = self._reach(url)
        deadline = time.monotonic() + self._budgets.start
        while not self._link.listens():
            if (ended := self._process.exited()) or time.monotonic() > deadline:
                said = self._process.stderr_tail().strip().splitlines()
                raise EngineFailed("; ".join([ended or "it does not listen in time", *said[-1:]]))
            self._process.drain_stderr()
            await asyncio.sleep(_LOOK)
