"""Transport over pipes: the asking side of a child process, and the answering loop on stdin and stdout.

The launcher starts and ends the process; this module only handles the descriptors. Reads and writes block and never
suspend, because a round trip then takes only 5 µs.
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
PENDING = 4 * 1024 * 1024  # bytes kept of a peer that writes but does not read
WRITE_PATIENCE = 10.0  # seconds
SLOW_WRITE = 0.01  # seconds; a write to a pipe takes some µs
_WATCHED_WRITES = 8  # writes measured after a slow one
_SLICE = 100_000.0  # seconds: longer than a day, shorter than the longest wait of poll
_FULL_PIPE = 1024 * 1024  # bytes: the most that Linux lets a pipe hold without privileges


class Pipe:
    """A Transport over a child's stdin, stdout and stderr. It owns the descriptors and closes them.

    Attributes:
        stderr_tail: The last 64 KiB of the child's stderr, which is drained whenever we wait.
        stderr_size: The number of all bytes of its stderr.
        on_stderr: Called with each piece of stderr as it is read, and with b"" at its end.
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
        self._broken = False  # the child no longer reads; its output is still read
        self._watched_writes = 0  # number of the next writes to measure
        self._reader_cost = 0.0  # seconds by which the child slowed down our writes
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
        """Return the seconds by which the child slowed down our writes since the last call."""
        cost, self._reader_cost = self._reader_cost, 0.0
        return cost

    def wait_for_output(self, ms: int) -> bool | None:
        """Wait up to `ms` milliseconds for output or its end.

        Returns:
            True if there is output to read, False if none came in time, None if stderr was read instead.
        """
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
        """Write as Transport.write does; the default time limit is 10 s.

        It reads output meanwhile, so that two full pipes cannot cause a deadlock.
        """
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
            # The pipe is full, so we wait for the child to read. The child is charged, or it could think for free.
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
        """Write all but the last byte, then that byte, and measure the processor time of both writes.

        A child may watch its input in hundreds of thousands of places (epoll on duplicated descriptors). Each write
        then wakes all of them, inside our call. A write can also be slow for reasons outside the child: this process
        lost its core, which is not processor time, or an interrupt came, which hits only one of the two writes. Twice
        the shorter write is therefore the child's cost.
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
            if wait <= 0:  # checked after each poll, because a peer may flood stderr
                raise PeerTimeout("no complete answer before the deadline")

    def drain_stderr(self) -> bytes:
        """Read the current content of stderr, up to a limit, and return the tail."""
        drained = 0
        while self._stderr is not None and drained < _FULL_PIPE and (size := self._drain_stderr()):
            drained += size
        return bytes(self.stderr_tail)

    def close(self) -> None:
        """Close the descriptors (idempotent). The child reads end of file; `stderr_tail` stays."""
        self.close_stdin()
        if self._stdout >= 0:
            os.close(self._stdout)
            self._stdout = -1
        if self._stderr is not None:
            os.close(self._stderr)
            self._stderr = None

    def close_stdin(self) -> None:
        """Close the child's stdin. Its remaining output can still be read."""
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin, self._broken = -1, True

    def _drain_stderr(self) -> int:
        """Read stderr once into the tail and return the number of bytes. At the end, `on_stderr` gets b""."""
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
        """Write the rest as fast as a slow child reads it, and keep reading its output."""
        self._poll.register(self._stdin, select.POLLOUT)
        try:
            while data and not self._broken:
                wait = deadline - time.monotonic()
                if wait <= 0:
                    self._broken = True  # the next command would be joined to half of this one
                    raise PeerTimeout("the peer does not read its input", code="does-not-read")
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
            self._broken = True  # it ended, or it writes without end; a later read will show which


def serve_stdio(responder: "Responder", stdin: int = 0, stdout: int = 1) -> None:
    """Answer stdin on stdout (blocking descriptors) until `quit` or the end of input.

    Each answer is written before the next is computed.
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
            except BrokenPipeError:  # the controller has gone, as at the end of input
                return
            except OSError as error:
                raise OutputError(error.errno, error.strerror) from None


def report_on_stderr(error: Exception) -> None:
    """Print the traceback of an exception on stderr, if stderr is open."""
    import traceback  # rarely needed, and it would slow down the start of an engine

    if sys.stderr is not None:  # without it the traceback would be printed on stdout
        with contextlib.suppress(OSError):
            traceback.print_exception(error, file=sys.stderr)
