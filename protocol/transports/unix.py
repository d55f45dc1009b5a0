"""A service on a Unix stream socket, where every connection is a session (PROTOCOL §7).

It is for programs on this machine that ask often: a round trip takes a quarter of the time of ZeroMQ, which has a
thread at each end. Every process that may write to the socket's file may connect.
"""

import contextlib
import re
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ggp.protocol.errors import AddressError
from ggp.protocol.responder import Responder
from ggp.protocol.safe_files import owner_only
from ggp.protocol.transports.pipe import report_on_stderr
from ggp.protocol.transports.signal_fd import Stopping
from ggp.protocol.transports.turns import Turns

SCHEME = "unix://"
SESSIONS = 1_000
CHUNK = 64 * 1024  # bytes of one read
_BACKLOG = 1_000
_URL = re.compile(r"unix://(/[^\0]*)")


def path_of(url: str) -> str:
    """Return the file of `unix:///PATH`.

    Raises:
        AddressError: The URL has another form.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise AddressError(f"cannot use {url[:200]}: write unix:///PATH, with the full path of the socket file")
    return found[1]


class UnixService:
    """A service that listens at `url`. Every connection has its own Responder, made by `make`.

    While a peer does not read its answers, its next command waits. Sessions take turns (ggp.protocol.transports.turns).
    """

    def __init__(
        self,
        url: str,
        make: Callable[[], Responder],
        sessions: int = SESSIONS,
        slow: frozenset[str] = frozenset(),
    ) -> None:
        """Listen at `url`.

        Args:
            url: `unix:///PATH` of a new file.
            make: Makes the Responder of a session.
            sessions: The most sessions; further connections are closed.
            slow: Names of commands that take long and change nothing.

        Raises:
            AddressError: It cannot listen there.
        """
        self.url = url
        self._make, self._most, self._slow = make, sessions, slow
        path = Path(path_of(url))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            with owner_only():
                self._listener.bind(str(path))
            self._listener.listen(_BACKLOG)
        except (OSError, UnicodeError) as error:
            self._listener.close()
            reason = (error.strerror or error) if isinstance(error, OSError) else error
            raise AddressError(
                f"cannot listen at {url[:200]}: {reason}; write unix:///PATH of a new file", code="cannot-listen"
            ) from None
        self._file = SocketFile(path)
        self.sessions: dict[int, _StreamSession] = {}
        self._ended: list[_StreamSession] = []
        self._full = False  # no more connections are accepted
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self.turns = Turns()
        self._poll.register(self.turns.descriptor, select.EPOLLIN)

    def serve(self, stopping: Stopping) -> NoReturn:
        """Answer until a signal comes, then raise Stopped."""
        self._poll.register(stopping.descriptor, select.EPOLLIN)
        while True:
            events = self._poll.poll(0) if self.turns.ready else self._poll.poll()
            with stopping.raising(again=True):  # a second signal interrupts even a long answer
                if stopping.number or any(descriptor == stopping.descriptor for descriptor, _ in events):
                    stopping.check()
                self._serve(events)

    def serve_some(self, seconds: float) -> bool:
        """Answer what has arrived, each session for a moment. Return False if nothing came in time."""
        events = self._poll.poll(0 if self.turns.ready else seconds)
        worked = bool(events) or self.turns.ready
        self._serve(events)
        return worked

    def close(self) -> None:
        """End all sessions. Remove the socket file unless another service has taken over the address."""
        for session in list(self.sessions.values()):
            self._end(session)
        self.turns.close()
        self._poll.close()
        self._listener.close()
        self._file.remove()

    def _serve(self, events: list[tuple[int, int]]) -> None:
        listener, sessions, turns = self._listener.fileno(), self.sessions, self.turns
        for descriptor, mask in events:
            if descriptor == listener:
                self._accept()
            elif descriptor == turns.descriptor:
                turns.collect()
            elif (session := sessions.get(descriptor)) is not None:
                session.go_on(mask)
            if (
                turns.ready
            ):  # after each event, because sessions on the fast path take no turns and must not delay the others
                turns.step()
        if turns.ready and not events:
            turns.step()
        while self._ended:
            self._end(self._ended.pop())

    def _accept(self) -> None:
        try:
            peer, _ = self._listener.accept()
        except OSError:  # out of descriptors: accept no more until a connection ends
            if self.sessions:
                self._poll.unregister(self._listener)
                self._full = True
            return
        if len(self.sessions) >= self._most:
            peer.close()
            return
        peer.setblocking(False)
        responder = self._make()
        responder.slow = self._slow
        self.sessions[peer.fileno()] = _StreamSession(peer, responder, self._poll, self.turns, self._ended)

    def _end(self, session: "_StreamSession") -> None:
        if self.sessions.pop(session.peer.fileno(), None) is None:
            return
        self.turns.forget(session)
        # Closing is not enough: the process of another session's slow command has a copy of the descriptor.
        self._poll.unregister(session.peer)
        with contextlib.suppress(OSError):
            session.peer.shutdown(socket.SHUT_RDWR)
        session.peer.close()
        if self._full:
            self._poll.register(self._listener, select.EPOLLIN)
            self._full = False


class SocketFile:
    """The file of a listening socket. Closing the socket does not delete it, so this does."""

    def __init__(self, path: Path | None) -> None:
        """Note the file's identity; call it once the socket is bound.

        Args:
            path: The file, or None if the socket has none.
        """
        self._path = path
        self._which = self._look()

    def remove(self) -> None:
        """Delete the file unless another service has taken over the address."""
        if self._path and self._which and self._which == self._look():
            self._path.unlink()

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.lstat() if self._path else None
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found else None


class _StreamSession:
    """A connection, which is read only once everything before is answered and the answers are sent."""

    __slots__ = ("_ended", "_poll", "_turns", "_unsent", "_wanted", "peer", "responder")

    def __init__(
        self,
        peer: socket.socket,
        responder: Responder,
        poll: select.epoll,
        turns: Turns,
        ended: list["_StreamSession"],
    ) -> None:
        """Start the session. At the end of the connection it appends itself to `ended`."""
        self.peer, self.responder = peer, responder
        self._poll, self._turns, self._ended = poll, turns, ended
        self._unsent = b""
        self._wanted = select.EPOLLIN
        poll.register(peer, select.EPOLLIN)

    def go_on(self, mask: int) -> None:
        """Handle an epoll event: read or write what is possible, and let the turns answer the rest."""
        try:
            if self._unsent:
                if not self.send(self._unsent):
                    return
            elif not self._turns.busy(self):
                if not self._read():
                    return
            elif mask & (select.EPOLLHUP | select.EPOLLERR):  # the peer has gone
                self._ended.append(self)
                return
            else:
                self._want(0)  # data that arrives while it is busy waits in the kernel
                return
        except BlockingIOError:  # a spurious wake-up
            return
        except OSError:
            self._ended.append(self)
            return
        except Exception as error:  # a bug of the fast path must not end other sessions
            report_on_stderr(error)
            self._ended.append(self)
            return
        if self.responder.closed:
            self._ended.append(self)
        else:
            self._turns.add(self)

    def _read(self) -> bool:
        """Read once. Return True if the responder got input that the fast path has not answered."""
        responder, peer = self.responder, self.peer
        if responder.closed:
            return False
        if responder.fast_path is None or not responder.idle:
            responder.receive(peer.recv(CHUNK))
            return True
        descriptor = peer.fileno()
        data, self._unsent = responder.fast_path(descriptor, descriptor, 1)  # one command, then the other sessions
        if self._unsent:
            self._want(select.EPOLLOUT)
        if data is not None:
            responder.receive(data)
        return data is not None

    def send(self, answer: bytes) -> bool:
        """Send an answer; see turns.ServiceSession."""
        try:
            sent = self.peer.send(answer)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._ended.append(self)
            return False
        self._unsent = answer[sent:]
        if self._unsent:
            self._want(select.EPOLLOUT)
        elif self.responder.closed:
            self._ended.append(self)
        return not self._unsent

    def all_answered(self) -> None:
        """Read on; see turns.ServiceSession."""
        self._want(select.EPOLLIN)

    def _want(self, events: int) -> None:
        if events != self._wanted:
            self._wanted = events
            self._poll.modify(self.peer, events)
