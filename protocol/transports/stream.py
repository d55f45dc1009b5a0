"""The same bytes over a Unix stream socket: a service whose every connection is a session (PROTOCOL §7).

For a program of this machine that asks often: a round trip takes a quarter of ZeroMQ's, which has a thread at each end.
Whoever may reach the socket's file and write to it may connect; nothing here asks who he is.
"""

import re
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from protocol.errors import AddressError
from protocol.safe_files import owner_only

if TYPE_CHECKING:
    from protocol.responder import Responder
    from protocol.transports.stopping import Stopping

SCHEME = "unix://"
SESSIONS = 1_000
CHUNK = 64 * 1024  # bytes of one read
_BACKLOG = 1_000
_URL = re.compile(r"unix://(/[^\0]*)")


def path_of(url: str) -> str:
    """The file of `unix:///PATH`. Raises AddressError."""
    found = _URL.fullmatch(url)
    if found is None:
        raise AddressError(f"cannot use {url[:200]}: write unix:///PATH, with the whole path of the socket's file")
    return found[1]


class StreamService:
    """Listens at `url` and answers; every connection has a Responder of its own, made by `make`.

    Who does not read is not answered on: his next command waits until what he was told has left.
    """

    def __init__(self, url: str, make: Callable[[], "Responder"], sessions: int = SESSIONS) -> None:
        """Raises AddressError."""
        self.url = url
        self._make, self._most = make, sessions
        self._path = Path(path_of(url))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            with owner_only():
                self._listener.bind(str(self._path))
            self._listener.listen(_BACKLOG)
            self._file = self._which()
        except (OSError, UnicodeError) as error:
            self._listener.close()
            reason = (error.strerror or error) if isinstance(error, OSError) else error
            raise AddressError(f"cannot listen at {url[:200]}: {reason}; write unix:///PATH of a new file") from None
        self._sessions: dict[int, _Session] = {}
        self._full = False  # nobody is let in
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)

    def serve(self, stopping: "Stopping") -> NoReturn:
        """Answer until a signal comes: raises Stopped."""
        self._poll.register(stopping.descriptor, select.EPOLLIN)
        while True:
            events = self._poll.poll()
            with stopping.raising(again=True):  # also out of an answer that takes long
                if stopping.number or any(descriptor == stopping.descriptor for descriptor, _ in events):
                    stopping.check()
                self._serve(events)

    def serve_some(self, seconds: float) -> bool:
        """Whoever has something to say now is answered; False if nobody had in time."""
        events = self._poll.poll(seconds)
        self._serve(events)
        return bool(events)

    def close(self) -> None:
        """Also remove the socket's file, unless another service has taken the address over."""
        for session in list(self._sessions.values()):
            self._end(session)
        self._poll.close()
        self._listener.close()
        if self._file == self._which():
            self._path.unlink()

    def _serve(self, events: list[tuple[int, int]]) -> None:
        listener, sessions = self._listener.fileno(), self._sessions
        for descriptor, _ in events:
            if descriptor == listener:
                self._accept()
            elif (session := sessions.get(descriptor)) is not None and not session.step():
                self._end(session)

    def _accept(self) -> None:
        try:
            peer, _ = self._listener.accept()
        except OSError:  # there are no descriptors: he waits until somebody leaves
            if self._sessions:
                self._poll.unregister(self._listener)
                self._full = True
            return
        if len(self._sessions) >= self._most:
            peer.close()
            return
        peer.setblocking(False)
        self._sessions[peer.fileno()] = _Session(peer, self._make(), self._poll)

    def _end(self, session: "_Session") -> None:
        del self._sessions[session.peer.fileno()]
        session.peer.close()  # which takes it out of the poll, too
        if self._full:
            self._poll.register(self._listener, select.EPOLLIN)
            self._full = False

    def _which(self) -> tuple[int, int] | None:
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class _Session:
    """One connection."""

    __slots__ = ("_poll", "_responder", "_unsent", "peer")

    def __init__(self, peer: socket.socket, responder: "Responder", poll: select.epoll) -> None:
        self.peer = peer
        self._responder, self._poll = responder, poll
        self._unsent = b""
        poll.register(peer, select.EPOLLIN)

    def step(self) -> bool:
        """Read and answer, or write on; False: the connection has ended."""
        try:
            if self._unsent:
                self._write(self._unsent)
            else:
                self._responder.receive(self.peer.recv(CHUNK))
            while not self._unsent and (answer := self._responder.next_answer()) is not None:
                self._write(answer)
        except BlockingIOError:  # a wake-up for nothing
            return True
        except OSError:
            return False
        return bool(self._unsent) or not self._responder.closed

    def _write(self, data: bytes) -> None:
        try:
            sent = self.peer.send(data)
        except BlockingIOError:
            sent = 0
        was, self._unsent = self._unsent, data[sent:]
        if bool(was) != bool(self._unsent):
            self._poll.modify(self.peer, select.EPOLLOUT if self._unsent else select.EPOLLIN)
