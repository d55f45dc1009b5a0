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
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import zmq
from zmq.utils.monitor import recv_monitor_message

from ggp.protocol.channel import Channel, Exchanged
from ggp.protocol.connection import PeerRole
from ggp.protocol.grammar import MAX_ANSWER
from ggp.protocol.transports._exchange import exchange as native_exchange
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.unix import CHUNK, SCHEME, path_of
from ggp.protocol.transports.zmq import UNBOUNDED
from ggp.referee.match.bot_spec import BotSpec, LaunchError
from ggp.referee.match.engine import Engine
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.process import Peer, Process
from ggp.referee.match.setting import Timeouts
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.zmq_io import TURN, Inbox, Reading

# -- sessions of one engine -------------------------------------------------------------------------------------------


_QUEUE = 1000
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)  # enums are slow to combine
_MOMENT_MS = 1  # of blocking for an answer, the least that poll can wait
_MOMENT = 0.0005  # seconds, which `exchange` rounds up to the same
_IN_VAIN, _AGAIN = 3, 64  # after so many such waits in vain in a row, only one in so many commands is waited for so
_ACCEPT = 0.01  # seconds between attempts to connect to an engine that accepts no connection now


class EngineLink(ABC):
    """The connection to one engine, in the running loop, for the sessions of many matches."""

    def __init__(self, lost: Callable[[], None], exited: Callable[[], str]) -> None:
        """`lost` is called when the engine is gone; `exited` returns how it ended, or ""."""
        self.lost, self.exited = lost, exited
        self.sessions: set[EngineSession] = set()

    @abstractmethod
    async def connect(self, seconds: float) -> "EngineSession":
        """Open a session, within `seconds` if the engine is busy.

        After a failure the session has ended, and `lost` was called.
        """

    def close(self) -> None:
        for session in list(self.sessions):
            session.close()


class EngineSession(Peer, ABC):
    """One conversation with an engine."""

    def __init__(self, link: EngineLink) -> None:
        self.now = time.monotonic
        self.inbox = Inbox()
        self.overdue = False  # it was silent for too long
        self._link = link
        link.sessions.add(self)
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
        """True if it can serve another match: it lives and owes no answer."""
        return self in self._link.sessions and not (self.overdue or self.channel.connection.awaited)

    def close_stdin(self) -> None:
        """Do nothing: a session cannot be closed by half."""

    def close(self) -> None:
        self._link.sessions.discard(self)
        self.inbox.end()

    def exited(self, wait: float = 0) -> str:
        return self._link.exited()

    async def stop(self, kill: bool = False) -> None:
        """Do nothing: the engine serves others."""


class StreamLink(EngineLink):
    """The link to an engine at `unix:///PATH`: each session is a connection.

    A match that is alone blocks for its answer, which saves a turn of the loop. Matches that run in the same turn all
    send their questions first, and their answers are read together.
    """

    def __init__(self, url: str, lost: Callable[[], None], exited: Callable[[], str]) -> None:
        super().__init__(lost, exited)
        self._path = path_of(url)
        self._in_vain = self._skipped = 0
        self._held = 0.0  # seconds of blocking since others had their turn
        self._asked: deque[_EngineStream] = deque()  # sessions whose answers are read together

    def listens(self) -> bool:
        """Return True if a session can be opened."""
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
                    await asyncio.sleep(_ACCEPT)
        except OSError:
            self.lost()
        return _EngineStream(self, theirs)

    def may_block(self) -> bool:
        """Return True if a session should block for its answer for a moment. Call `blocked` afterwards."""
        if Inbox.woken or self._asked or self._held >= TURN:
            self._held = 0.0
            return False
        return self._worth_waiting()

    def blocked(self, seconds: float, came: bool) -> None:
        """Record how long a session blocked, and whether its answer came."""
        self._held += seconds
        self._in_vain = 0 if came else self._in_vain + 1

    def read_soon(self, session: "_EngineStream") -> None:
        """Read the answer of this session in the next turn of the loop."""
        if not self._asked:
            asyncio.get_running_loop().call_soon(self._read_asked)
        self._asked.append(session)

    def _read_asked(self) -> None:
        """Wait for the first answer for a moment, and read those that have come."""
        asked = self._asked
        try:
            came = asked[0].has_come(_MOMENT_MS if self._worth_waiting() else 0)
            self.blocked(0.0, came)
            if not came:
                asked.popleft().listen()
            while asked and asked[0].receive():
                asked.popleft()
        finally:
            if asked:
                asyncio.get_running_loop().call_soon(self._read_asked)

    def _worth_waiting(self) -> bool:
        """Return False if the last few waits were all in vain, except from time to time."""
        self._skipped += 1
        if self._in_vain >= _IN_VAIN and self._skipped < _AGAIN:
            return False
        self._skipped = 0
        return True

    def _connected(self) -> socket.socket:
        """Connect a socket. Raises OSError, which is BlockingIOError if the engine accepts no connection now."""
        theirs = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            theirs.connect(self._path)
        except BaseException:
            theirs.close()
            raise
        return theirs


class _EngineStream(EngineSession):
    _link: StreamLink

    def __init__(self, link: StreamLink, theirs: socket.socket | None) -> None:
        super().__init__(link)
        self._socket = theirs
        self._slow = False  # we blocked for its answer in vain
        self._waits = False  # for an answer
        self._reader = False  # the loop looks at the socket
        self._poll = select.poll()
        if theirs is None:
            self.close()
        else:
            self._poll.register(theirs, select.POLLIN)

    @property
    def usable(self) -> bool:
        """True if it lives, owes no answer and has sent nothing unasked."""
        return super().usable and not self._poll.poll(0)

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """An engine that does not take all of it has stopped reading: there is room for many commands."""
        self._slow = False
        try:
            if self._socket is not None and self._socket.send(data) < len(data):
                self._end()
        except OSError:
            self._end()

    def exchange(self, lines: tuple[str, ...], number: int, seconds: float) -> Exchanged | None:
        """Ask as channel.Exchanged says, and block for a moment at most: what comes later is read in the loop."""
        theirs = self._socket
        if theirs is None:
            return None
        block, descriptor = self._link.may_block(), theirs.fileno()
        exchanged = native_exchange(descriptor, descriptor, -1, lines, number, min(seconds, _MOMENT) if block else 0.0)
        if exchanged is not None:
            _, _, said, sent, answered, _, _ = exchanged
            self._slow = block and said is None
            if block:
                self._link.blocked(answered - sent, said is not None)
            if said == b"":
                self._end()
        return exchanged

    async def read(self, deadline: float) -> bytes:
        if self._socket is None:
            return b""
        self._waits = True
        if self._slow:
            self.listen()
        else:
            self._link.read_soon(self)
        try:
            return await super().read(deadline)
        finally:
            self._waits = False

    def has_come(self, milliseconds: int) -> bool:
        """Return True if something can be read within this time, or if the match no longer waits."""
        return not self._waits or bool(self._poll.poll(milliseconds))

    def receive(self) -> bool:
        """Read what has come, if the match waits for it. Return False if nothing has come."""
        theirs = self._socket
        if theirs is None or not self._waits:
            return True
        try:
            data = theirs.recv(CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._waits = False
        if data:
            self.inbox.put(data)
        else:
            self._end()
        return True

    def listen(self) -> None:
        """Have the loop read the answer, when it comes."""
        if self._socket is not None and not self._reader:
            asyncio.get_running_loop().add_reader(self._socket.fileno(), self._came)
            self._reader = True  # it stays for the next slow answer

    def close(self) -> None:
        theirs, self._socket = self._socket, None
        if theirs is not None:
            self._read_no_more(theirs)
            theirs.close()
        super().close()

    def _came(self) -> None:
        theirs = self._socket
        if theirs is not None and not self._waits:  # it was read already, or is unasked: then its engine has to wait
            self._read_no_more(theirs)
        else:
            self.receive()

    def _read_no_more(self, theirs: socket.socket) -> None:
        if self._reader:
            asyncio.get_running_loop().remove_reader(theirs.fileno())
            self._reader = False

    def _end(self) -> None:
        self.close()
        self._link.lost()


class RouterLink(EngineLink):
    """The link to an engine at a ZeroMQ address: each session is a named connection of one ROUTER socket."""

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        url: str,
        lost: Callable[[], None],
        exited: Callable[[], str],
    ) -> None:
        super().__init__(lost, exited)
        self._url = url
        self._number = 0
        self._socket = socket = context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)  # a session that was lost is not another one
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER + 4096)
        socket.setsockopt(zmq.SNDHWM, _QUEUE)
        socket.setsockopt(zmq.RCVHWM, UNBOUNDED)
        self.by_name: dict[bytes, EngineSession] = {}
        self._monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED)
        self._readings = [Reading(socket, self._receive), Reading(self._monitor, self._on_disconnect)]

    async def connect(self, seconds: float) -> EngineSession:
        self._number += 1
        name = b"session-%d" % self._number
        self._socket.setsockopt(zmq.CONNECT_ROUTING_ID, name)
        self._socket.connect(self._url)
        session = self.by_name[name] = _EngineRoute(self, name)
        return session

    def close(self) -> None:
        super().close()
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
        if session := self.by_name.get(name):
            session.inbox.put(frame.bytes)

    def _on_disconnect(self) -> None:
        recv_monitor_message(self._monitor, zmq.NOBLOCK)
        self.lost()


class _EngineRoute(EngineSession):
    _link: RouterLink

    def __init__(self, link: RouterLink, name: bytes) -> None:
        super().__init__(link)
        self._name = name

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        for line in data.splitlines(keepends=True):
            if not self._link.send(self._name, line):
                self.inbox.end()

    def close(self) -> None:
        self._link.by_name.pop(self._name, None)
        super().close()


# -- the engines ------------------------------------------------------------------------------------------------------


SESSIONS = 900  # of one process, whose service keeps 1,000
_LOOK = 0.02  # seconds between checks whether a new engine listens
_SWEEP = 1.0  # seconds between checks of the processes and their stderr


class Engines:
    """The engines of all pools."""

    def __init__(self, folder: Path, processes: int, budgets: Timeouts, event_log: EventLog) -> None:
        """Start nothing before `open`.

        Args:
            folder: Where the sockets of the engines lie.
            processes: How many to start of each engine that is a program.
        """
        self._folder, self._processes, self._budgets, self._event_log = folder, processes, budgets, event_log
        self._shares: dict[BotSpec, list[_EngineShare]] = {}
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._tasks = BackgroundTasks(event_log.fault)

    @property
    def free(self) -> int:
        """The number of matches that every engine can still take."""
        return min((sum(SESSIONS - share.leased for share in shares) for shares in self._shares.values()), default=0)

    async def open(self, starts: set[BotSpec]) -> None:
        """Start these engines. Raises EngineFailed."""
        for number, start in enumerate(sorted(starts, key=lambda one: one.command)):
            count = self._processes if start.argv else 1
            self._shares[start] = [
                _EngineShare(start, self._folder / f"engine-{number}-{index}", self._context, self._budgets)
                for index in range(count)
            ]
        await asyncio.gather(*(share.open() for shares in self._shares.values() for share in shares))
        self._tasks.keep("engines", self._check_all)

    async def close(self) -> None:
        await self._tasks.close()
        await asyncio.gather(*(share.close() for shares in self._shares.values() for share in shares))
        self._context.term()

    @contextlib.asynccontextmanager
    async def session(self, start: BotSpec) -> AsyncIterator[Engine]:
        """Provide an engine for one match. Raises EngineFailed if it does not start."""
        share = min(self._shares[start], key=lambda one: one.leased)
        share.leased += 1
        engine: Engine | None = None
        try:
            share.check()
            if share.ended:
                self._event_log.log("engine", "restarted", reason=share.ended)
                await share.restart()
            engine = await share.engine()
            yield engine
        finally:
            share.leased -= 1
            if engine is not None:
                await share.release(engine)

    async def _check_all(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            for shares in self._shares.values():
                for share in shares:
                    share.check()


class _EngineShare:
    """One engine that plays many matches."""

    def __init__(
        self, start: BotSpec, path: Path, context: "zmq.Context[zmq.Socket[bytes]]", budgets: Timeouts
    ) -> None:
        self.leased = 0
        self.ended = "not started"  # why it stopped, "" while it runs
        self._start, self._path, self._context, self._budgets = start, path, context, budgets
        self._idle: list[Engine] = []
        self._process: Process | None = None
        self._link: EngineLink | None = None
        self._opening = asyncio.Lock()  # the process is started or ended, by one task at a time

    async def open(self) -> None:
        """Raises EngineFailed."""
        if self._start.argv:
            await self._launch()
        elif self._start.url.startswith(SCHEME):
            self._link = StreamLink(self._start.url, self._lost, self.exited)
        else:
            self._link = RouterLink(self._context, self._start.url, self._lost, self.exited)
        self.ended = ""

    async def close(self) -> None:
        """End the engine, and with it the sessions of its running matches."""
        self.fail("it was ended")
        await self._end()

    async def restart(self) -> None:
        """Restart the engine once for all callers. Raises EngineFailed."""
        async with self._opening:
            if self.ended:
                await self.close()
                await self.open()

    async def engine(self) -> Engine:
        """Return an engine with a session of its own."""
        if self._idle:
            return self._idle.pop()
        assert self._link is not None
        engine = Engine(await self._link.connect(self._budgets.start), self._start.command, self._budgets)
        try:
            await engine.start()
        except BaseException:
            await self.release(engine)
            raise
        return engine

    async def release(self, engine: Engine) -> None:
        """Keep an engine's session for the next match unless it owes an answer.

        An engine that was silent for too long is stuck for all matches, and is ended.
        """
        session, link = engine.peer, self._link
        assert isinstance(session, EngineSession)
        if session.usable:
            self._idle.append(engine)
        elif link is not None and session in link.sessions:
            session.close()
            if session.overdue:
                self.fail("it does not answer")
                async with self._opening:
                    if link is self._link:  # else it was ended meanwhile, and may have been started again
                        await self._end()

    def check(self) -> None:
        """Notice if the engine has ended, and drain stderr so that a full pipe does not block it."""
        if self._process is None or self.ended:  # a process that is being ended belongs to another thread
            return
        self._process.drain_stderr()
        if ended := self.exited():
            self.fail(ended)

    def fail(self, reason: str) -> None:
        """End all its sessions."""
        self.ended, self._idle = self.ended or reason, []
        for session in list(self._link.sessions) if self._link else ():
            session.close()

    def exited(self) -> str:
        return self._process.exited() if self._process is not None else ""

    def _lost(self) -> None:
        self.fail(self.exited() or "its connection was lost")

    async def _end(self) -> None:
        """End the link and the process."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(run_blocking, process.stop(kill=True))
            self._path.unlink(missing_ok=True)

    async def _launch(self) -> None:
        """Start the program, and wait until it listens. Raises EngineFailed."""
        self._path.unlink(missing_ok=True)
        url, start = f"{SCHEME}{self._path}", self._start
        try:
            argv = (*start.argv, "--bind", url)
            self._process = Process(argv, PeerRole.ENGINE, self._budgets, environment=start.environment)
        except LaunchError as error:
            raise EngineFailed(str(error)) from None
        self._link = link = StreamLink(url, self._lost, self.exited)
        deadline = time.monotonic() + self._budgets.start
        while not link.listens():
            if (ended := self._process.exited()) or time.monotonic() > deadline:
                said = self._process.stderr_tail().strip().splitlines()
                raise EngineFailed("; ".join([ended or "it does not listen in time", *said[-1:]]))
            self._process.drain_stderr()
            await asyncio.sleep(_LOOK)
