"""Bytes through pipes: the asking end of a child process, and the answering loop on stdin and stdout.

Starting and ending the process is the launcher's part; this file has the descriptors only.
Reads and writes block inside and never suspend, because a round trip costs 5 µs that way.
"""

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ggp.protocol.errors import PeerTimeout
from ggp.protocol.standard_streams import OutputError
from ggp.protocol.transports._exchange import exchange as native_exchange

if TYPE_CHECKING:
    from ggp.protocol.channel import Exchanged
    from ggp.protocol.responder import Responder

CHUNK = 64 * 1024
STDERR_TAIL = 64 * 1024
PENDING = 4 * 1024 * 1024  # bytes held of a peer that talks while it does not listen
WRITE_PATIENCE = 10.0  # seconds
SLOW_WRITE = 0.01  # seconds; a write to a pipe takes some µs
_WATCHED_WRITES = 8  # after a slow one
_SLICE = 100_000.0  # seconds: longer than a day, less than what poll can wait
_FULL_PIPE = 1024 * 1024  # bytes: the most that Linux lets a pipe hold without privileges


class Pipe:
    """A child's stdin, stdout and stderr as a Transport, which owns the descriptors and closes them.

    `stderr_tail` keeps the last 64 KiB of the child's stderr, `stderr_size` counts all of its bytes; it is drained
    whenever we wait. `on_stderr` gets all of it, in pieces as they are read.
    """

    def __init__(
        self,
        stdin: int,
        stdout: int,
        stderr: int | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self.on_stderr = on_stderr
        self.stderr_tail = bytearray()
        self.stderr_size = 0
        self.now = time.monotonic
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._pending = bytearray()
        self._broken = False  # the child no longer reads; what it said is still read
        self._watched_writes = 0  # how many of the next writes are measured
        self._reader_cost = 0.0  # seconds of our writes, and reads of stderr, that the child made slow
        self._poll = select.poll()
        self._poll.register(stdout, select.POLLIN)
        os.set_blocking(stdin, False)
        os.set_blocking(stdout, False)
        if stderr is not None:
            os.set_blocking(stderr, False)
            self._poll.register(stderr, select.POLLIN)

    @property
    def descriptors(self) -> tuple[int, int, int | None]:
        """Return stdin, stdout and stderr, non-blocking, for a loop that waits for several children.

        The pipe still owns them.
        """
        return self._stdin, self._stdout, self._stderr

    def exchange(self, lines: tuple[str, ...], number: int, seconds: float) -> "Exchanged | None":
        """Exchange commands and answers natively; see channel.Exchanged."""
        if self._pending or self._broken or self._watched_writes:
            return None
        stderr = -1 if self._stderr is None else self._stderr
        exchanged = native_exchange(self._stdin, self._stdout, stderr, lines, number, seconds)
        if exchanged is not None:
            if exchanged[5]:
                self._drain_stderr()
            if exchanged[6] > SLOW_WRITE:
                self._watched_writes = _WATCHED_WRITES
        return exchanged

    def take_reader_cost(self) -> float:
        """Return the seconds that the child made our writes last since the last call."""
        cost, self._reader_cost = self._reader_cost, 0.0
        return cost

    def wait_for_output(self, ms: int) -> bool | None:
        """Wait at most so long for output, or its end. Return whether there is some; None after a read of stderr."""
        if self._pending or self._stdout < 0:
            return True
        found: bool | None = False
        for descriptor, _ in self._poll.poll(ms):
            if descriptor == self._stdout:
                return True
            self._drain_stderr()
            found = None
        return found

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Write as Transport.write does; None is 10 s. Reads meanwhile, so that two full pipes cannot lock up."""
        if self._broken:
            return
        try:
            sent = self._write_in_two(data) if self._watched_writes else self._write_at_once(data)
        except BlockingIOError:
            sent = 0
        except BrokenPipeError:
            self._broken = True
            return
        if sent < len(data):
            # The pipe is full, so we wait for the child to read. That is its time, or it could think for free.
            began = time.monotonic()
            self._write_rest(data[sent:], began + WRITE_PATIENCE if deadline is None else deadline)
            if (waited := time.monotonic() - began) > SLOW_WRITE:
                self._reader_cost += waited

    def _write_at_once(self, data: bytes) -> int:
        began = time.monotonic()
        sent = os.write(self._stdin, data)
        if time.monotonic() - began > SLOW_WRITE:
            self._watched_writes = _WATCHED_WRITES
        return sent

    def _write_in_two(self, data: bytes) -> int:
        """Write all but the last byte, then that, and measure the processor time of both.

        A child that watches its input in hundreds of thousands of places (epoll, on copies of the descriptor) makes
        each write wake all of them, inside our call. A write can also be slow because this process lost its core, which
        is no processor time, or because of an interrupt, which the child has no part in: that hits one of two writes.
        So twice the shorter one is what the child costs.
        """
        began = time.thread_time()
        sent = os.write(self._stdin, data[:-1])
        between = time.thread_time()
        if sent == len(data) - 1:
            sent += self._write_some(data[-1:])
        cost = 2 * min(between - began, time.thread_time() - between)
        if cost > SLOW_WRITE:
            self._reader_cost += cost
            self._watched_writes = _WATCHED_WRITES
        else:
            self._watched_writes -= 1
        return sent

    async def read(self, deadline: float) -> bytes:
        """Read as Transport.read does; after close() the stream has ended."""
        if self._pending:
            data = bytes(self._pending)
            self._pending.clear()
            return data
        stdout = self._stdout
        if stdout < 0:
            return b""
        while True:
            wait = deadline - time.monotonic()
            for descriptor, _ in self._poll.poll((wait if wait < _SLICE else _SLICE) * 1000 if wait > 0 else 0):
                if descriptor == stdout:
                    try:
                        return os.read(stdout, CHUNK)
                    except BlockingIOError:  # a spurious wake-up
                        continue
                self._drain_stderr()
            if wait <= 0:  # also for a peer that floods stderr
                raise PeerTimeout("no whole answer before the deadline")

    def drain_stderr(self) -> bytes:
        """Read what stderr holds now, a bounded amount, and return the tail."""
        drained = 0
        while self._stderr is not None and drained < _FULL_PIPE and (size := self._drain_stderr()):
            drained += size
        return bytes(self.stderr_tail)

    def close(self) -> None:
        """Close the descriptors (once); the child reads end of file. The tail of stderr stays."""
        self.close_stdin()
        if self._stdout >= 0:
            os.close(self._stdout)
            self._stdout = -1
        if self._stderr is not None:
            os.close(self._stderr)
            self._stderr = None

    def close_stdin(self) -> None:
        """Tell the child that nothing more will come, and still read what it says."""
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin, self._broken = -1, True

    def _drain_stderr(self) -> int:
        """Read stderr once into the tail and return how many bytes came. `on_stderr` gets b"" at the end, too."""
        assert self._stderr is not None
        try:
            data = os.read(self._stderr, CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self._poll.unregister(self._stderr)
            os.close(self._stderr)
            self._stderr = None
        self.stderr_tail += data
        self.stderr_size += len(data)
        del self.stderr_tail[:-STDERR_TAIL]
        if self.on_stderr is not None:
            self.on_stderr(data)
        return len(data)

    def _write_rest(self, data: bytes, deadline: float) -> None:
        """Write what a slow child takes, and keep reading its output."""
        self._poll.register(self._stdin, select.POLLOUT)
        try:
            while data and not self._broken:
                wait = deadline - time.monotonic()
                if wait <= 0:
                    self._broken = True  # another command would be glued to half of this one
                    raise PeerTimeout("the peer does not read what it is sent", code="does-not-read")
                for descriptor, _ in self._poll.poll(min(wait, _SLICE) * 1000):
                    if descriptor == self._stdin:
                        data = data[self._write_some(data) :]
                    elif descriptor == self._stderr:
                        self._drain_stderr()
                    else:
                        self._stash_stdout()
        finally:
            self._poll.unregister(self._stdin)

    def _write_some(self, data: bytes) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            self._broken = True
            return 0

    def _stash_stdout(self) -> None:
        try:
            data = os.read(self._stdout, CHUNK)
        except BlockingIOError:
            return
        self._pending += data
        if not data or len(self._pending) > PENDING:
            self._broken = True  # it ended, or talks without end: the reader will find out which


def serve_stdio(responder: "Responder", stdin: int = 0, stdout: int = 1) -> None:
    """Answer stdin on stdout (descriptors that block) until `quit` or the end of input.

    Each answer is written before the next is worked out.
    """
    receive, next_answer, fast_path = responder.receive, responder.next_answer, responder.fast_path
    while not responder.closed:
        if fast_path is not None and responder.idle:
            receive(fast_path(stdin, stdout, sys.maxsize)[0] or b"")
        else:
            receive(os.read(stdin, CHUNK))
        while (answer := next_answer()) is not None:
            try:
                sent = os.write(stdout, answer)
                while sent < len(answer):
                    sent += os.write(stdout, answer[sent:])
            except BrokenPipeError:  # the controller left: as at the end of input
                return
            except OSError as error:
                raise OutputError(error.errno, error.strerror) from None


def report_on_stderr(error: Exception) -> None:
    """Print the traceback of a handler on stderr, if there is one and it has a reader."""
    import traceback  # not needed while all is well, and an engine is to start quickly

    if sys.stderr is not None:  # without it the traceback would be printed on stdout
        with contextlib.suppress(OSError):
            traceback.print_exception(error, file=sys.stderr)
