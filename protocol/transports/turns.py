"""Turns for the sessions of a service: each answers for a moment, and slow commands run in separate processes.

A session thus delays the others by at most one short command. A slow command must change nothing, because a copy of
this process answers it.
"""

import contextlib
import math
import os
import resource
import select
import signal
import time
from collections import deque
from typing import NoReturn, Protocol

from ggp.protocol.responder import Responder
from ggp.protocol.transports.subreaper import end_with_parent

MOMENT = 0.005  # seconds of answers until it is the next session's turn
PROCESSES = 4  # slow commands at a time
SECONDS = 330  # processor time of one slow command; engines refuse commands that they expect to take 300
_RETRY = 0.02  # seconds between two checks for pending answers
_NICE = 10  # priority of slow commands, so that short ones come first
_CHUNK = 64 * 1024


class ServiceSession(Protocol):
    """A session of one controller with a service."""

    responder: Responder

    def send(self, answer: bytes) -> bool:
        """Send an answer. Return True if the session can take another one now.

        Otherwise it calls `Turns.add` once it can, or `Turns.forget` if it has ended.
        """

    def all_answered(self) -> None:
        """Note that everything received so far is answered."""


class Turns:
    """The queues of a service's sessions.

    `add` a session that has received something, `step` while `ready`, and `collect` when `descriptor` is readable.
    """

    def __init__(self) -> None:
        self._ready: deque[ServiceSession] = deque()
        self._waiting: deque[ServiceSession] = deque()  # those with a slow command that has not started
        self._unanswered: list[ServiceSession] = []  # those whose answer is not ready
        self._next = 0.0  # when to check these again
        self._running: dict[int, _Child] = {}  # by the descriptor of the answer
        self._busy: set[int] = set()  # the id() of every session in the above
        self._poll = select.epoll()
        self.descriptor = self._poll.fileno()

    @property
    def ready(self) -> bool:
        """Return True if a session has something to answer now."""
        return bool(self._ready)

    @property
    def wait(self) -> float:
        """Return the seconds until there is something to do, if nothing arrives earlier."""
        if self._ready:
            return 0.0
        return max(0.0, self._next - time.monotonic()) if self._unanswered else math.inf

    @property
    def running(self) -> int:
        """Return the number of slow commands that are running."""
        return len(self._running)

    @property
    def idle(self) -> bool:
        """Return True if everything received is answered."""
        return not self._busy

    def busy(self, session: ServiceSession) -> bool:
        """Return True if a session has unanswered commands and should get no more input."""
        return id(session) in self._busy

    def add(self, session: ServiceSession) -> None:
        """Queue a session that may have something to answer."""
        if id(session) not in self._busy:
            self._busy.add(id(session))
            self._ready.append(session)

    def forget(self, session: ServiceSession) -> None:
        """Remove a session that has ended, and kill its slow command."""
        if id(session) in self._busy:
            self._busy.discard(id(session))
            for queue in (self._ready, self._waiting, self._unanswered):
                with contextlib.suppress(ValueError):
                    queue.remove(session)
            for descriptor, child in list(self._running.items()):
                if child.session is session:
                    self._end(descriptor, kill=True)
            self._start()

    def step(self) -> None:
        """Give the next session its turn."""
        session = self._ready.popleft()
        self._busy.discard(id(session))
        responder, until = session.responder, time.monotonic() + MOMENT
        while (answer := responder.next_answer()) is not None:
            if not session.send(answer):
                return
            if time.monotonic() > until:
                self.add(session)
                return
        if responder.held:
            self._busy.add(id(session))
            self._waiting.append(session)
            self._start()
        elif responder.waiting:
            self._busy.add(id(session))
            self._unanswered.append(session)
        else:
            session.all_answered()

    def collect(self) -> None:
        """Send the answers of finished slow commands, and requeue sessions that wait for an answer."""
        if self._unanswered and time.monotonic() >= self._next:
            self._next = time.monotonic() + _RETRY
            self._ready += self._unanswered
            self._unanswered.clear()
        if not self._running:
            return
        for descriptor, _ in self._poll.poll(0):
            child = self._running[descriptor]
            data = os.read(descriptor, _CHUNK)
            child.answer += data
            if data:
                continue
            self._end(descriptor)
            session, whole = child.session, child.answer.endswith(b"\n\n")
            refusal = session.responder.drop_held(
                f"this took more than {SECONDS} s of processor time, or too much memory"
            )
            self._busy.discard(id(session))
            if session.send(bytes(child.answer) if whole else refusal):
                self.add(session)
        self._start()

    def close(self) -> None:
        """Kill all slow commands."""
        for descriptor in list(self._running):
            self._end(descriptor, kill=True)
        self._poll.close()

    def _start(self) -> None:
        while self._waiting and len(self._running) < PROCESSES:
            session = self._waiting.popleft()
            try:
                child = _Child(session)
            except OSError as error:
                self._busy.discard(id(session))
                refusal = session.responder.drop_held(f"cannot start a process for this command: {error.strerror}")
                if session.send(refusal):
                    self.add(session)
                continue
            self._running[child.descriptor] = child
            self._poll.register(child.descriptor, select.EPOLLIN)

    def _end(self, descriptor: int, kill: bool = False) -> None:
        child = self._running.pop(descriptor)
        self._poll.unregister(descriptor)
        child.end(kill)


class _Child:
    """A copy of this process that answers one command and exits."""

    def __init__(self, session: ServiceSession) -> None:
        """Start the process.

        Raises:
            OSError: The process cannot be started.
        """
        self.session, self.answer = session, bytearray()
        self.descriptor, write = os.pipe2(os.O_CLOEXEC)
        try:
            self._pid = os.fork() or answer_and_exit(session.responder, write)
        except OSError:
            os.close(self.descriptor)
            os.close(write)
            raise
        os.close(write)

    def end(self, kill: bool) -> None:
        os.close(self.descriptor)
        if kill:
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def answer_and_exit(responder: Responder, write: int) -> NoReturn:
    """Answer the slow command in a child process.

    It must not use or close anything of the parent's: no socket and no buffer.
    """
    try:
        end_with_parent(signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.nice(_NICE)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        answer = responder.answer_held()
        while answer:
            answer = answer[os.write(write, answer) :]
    finally:
        os._exit(0)
