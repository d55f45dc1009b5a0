"""Ways from a lobby to one engine that serves many: a session for every match. What is said in one is not their part.

A program of this machine listens at a Unix stream socket, if it can: its answers mostly come sooner than the event loop
turns, so a session waits a moment for them in place. Otherwise, and for an engine that somebody else started, it is one
ROUTER socket that connects again and again, each time under another routing id.
"""

import asyncio
import select
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import zmq
from zmq.utils.monitor import recv_monitor_message

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.grammar import MAX_ANSWER
from protocol.transports.stream import CHUNK, path_of
from protocol.transports.zmq import UNBOUNDED
from referee.lobby.inbox import Inbox
from referee.lobby.reading import Reading
from referee.play.launch import Peer

_QUEUE = 1000
_NOW, _MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)  # enums are slow to combine
_MOMENT_MS = 1  # that an answer is waited for in place, which is the least that poll can wait
_IN_VAIN, _AGAIN = 3, 64  # after so many waits in vain in a row, only one in so many questions is waited for so
_HELD = 0.01  # seconds of such waits after which others in the loop have their turn
_LOOK = 0.01  # seconds between looks whether there is room for one more to be let in
Lost = Callable[[], None]


class Session(Peer, ABC):
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
        """Whether somebody can be connected to."""

    @abstractmethod
    async def connect(self, seconds: float) -> Session:
        """Waits so long if too many wait to be let in. A session that could not be has ended, and `lost` was called."""

    @abstractmethod
    def drop(self, session: Session) -> None:
        """It is not used again."""

    @abstractmethod
    def close(self) -> None:
        """All sessions have ended."""


class StreamLink(Link):
    """To whoever listens at `unix:///PATH`. In the running loop."""

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

    async def connect(self, seconds: float) -> Session:
        theirs, until = None, time.monotonic() + seconds
        try:
            while theirs is None:
                try:
                    theirs = self._connected()
                except BlockingIOError:  # an engine that has work to do lets nobody in meanwhile
                    if time.monotonic() >= until:
                        raise
                    await asyncio.sleep(_LOOK)
        except OSError:
            self._lost()
        session = _Stream(self, theirs, self._exited)
        self._sessions.add(session)
        return session

    def drop(self, session: Session) -> None:
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


class _Stream(Session):
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
        """See Session; nor has it said anything unasked, or ended."""
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
    """To whoever has bound a ROUTER at a url of ZeroMQ's. In the running loop."""

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
        self._readings = [Reading(socket, self._take), Reading(self._monitor, self._news)]

    def listens(self) -> bool:
        """Connecting is the connection's matter, but a file has to be there."""
        return not self._url.startswith("ipc://") or Path(self._url.removeprefix("ipc://")).exists()

    async def connect(self, seconds: float) -> Session:
        self._number += 1
        name = b"session-%d" % self._number
        self._socket.setsockopt(zmq.CONNECT_ROUTING_ID, name)
        self._socket.connect(self._url)
        session = self._sessions[name] = _Routed(self, name, self._exited)
        return session

    def drop(self, session: Session) -> None:
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
            self._readings[0].look_again()
        return True

    def _take(self) -> None:
        recv = self._socket.recv
        name, frame = recv(_NOW), recv(_NOW, copy=False)
        while frame.more:  # not our framing: whoever is there breaks its session
            frame = recv(_NOW, copy=False)
        session = self._sessions.get(name)
        if session is not None:
            session.inbox.put(frame.bytes)

    def _news(self) -> None:
        recv_monitor_message(self._monitor, zmq.NOBLOCK)
        self._lost()


class _Routed(Session):
    def __init__(self, link: RouterLink, name: bytes, exited: Callable[[], str]) -> None:
        super().__init__(exited)
        self.name = name
        self._link = link

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        for line in data.splitlines(keepends=True):
            if not self._link.send(self.name, line):
                self.inbox.end()
