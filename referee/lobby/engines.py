"""The engines of a lobby: a few processes, each with a session for every match that is under way. It plays nothing.

A session is used again: `ggp-new` begins anew. An engine that dies or falls silent is started again, and its matches
are void.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import zmq

from protocol.connection import PeerRole
from protocol.transports.blocking import run_blocking
from protocol.transports.stream import SCHEME
from referee.background import BackgroundTasks
from referee.config import Budgets
from referee.lobby.journal import Journal
from referee.lobby.links import Link, RouterLink, Session, StreamLink
from referee.play.engine import Engine
from referee.play.launch import LaunchError, Process
from referee.play.outcome import EngineFailed
from referee.play.seating import Start

SESSIONS = 900  # of one process, whose service keeps 1,000
_LOOK = 0.02  # seconds between looks whether a new engine listens
_ZEROMQ = "ipc://"
_SWEEP = 1.0  # seconds between looks at what engines say on stderr


class Engines:
    """`processes` for every engine that is a program; `folder` is where their sockets lie."""

    def __init__(self, folder: Path, processes: int, budgets: Budgets, journal: Journal) -> None:
        self._folder, self._processes, self._budgets, self._journal = folder, processes, budgets, journal
        self._desks: dict[Start, list[_Desk]] = {}
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._tasks = BackgroundTasks(journal.fault)

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
        self._tasks.keep("engines", self._look_at_all)

    async def close(self) -> None:
        await self._tasks.close()
        await asyncio.gather(*(desk.close() for desks in self._desks.values() for desk in desks))
        self._context.term()

    @contextlib.asynccontextmanager
    async def session(self, start: Start) -> AsyncIterator[Engine]:
        """An engine for one match. Raises EngineFailed when none can be had."""
        desk = min(self._desks[start], key=lambda one: one.leased)
        desk.leased += 1
        engine: Engine | None = None
        try:
            desk.look()
            if desk.ended:
                self._journal.tell("engine", "restarted", reason=desk.ended)
                await desk.restart()
            engine = await desk.engine()
            yield engine
        finally:
            desk.leased -= 1
            if engine is not None:
                await desk.take_back(engine)

    async def _look_at_all(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            for desks in self._desks.values():
                for desk in desks:
                    desk.look()


class _Desk:
    """One engine that serves many. `ended`: why it does not any more."""

    def __init__(self, start: Start, path: Path, context: "zmq.Context[zmq.Socket[bytes]]", budgets: Budgets) -> None:
        self.leased = 0
        self.ended = "not started"
        self._start, self._path, self._context, self._budgets = start, path, context, budgets
        self._idle: list[Engine] = []
        self._sessions: set[Session] = set()  # that live
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
        """Once, whoever asks for it. Raises EngineFailed."""
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
            await self.take_back(engine)
            raise
        return engine

    async def take_back(self, engine: Engine) -> None:
        """For the next match; not if it owes an answer. An engine that is silent for too long is stuck for all."""
        session = engine.peer
        assert isinstance(session, Session)
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

    def look(self) -> None:
        """Whether it has ended, which nobody may have noticed. What it says on stderr must not stop it."""
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
