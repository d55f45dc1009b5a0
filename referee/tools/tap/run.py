"""A program behind a tap: its stdin, stdout and stderr are passed on as they arrive, and recorded."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ggp.protocol.standard_streams import write_stderr
from ggp.protocol.transports.recording import Recording
from ggp.referee.match.bot_spec import LaunchError, find_program
from ggp.referee.match.sandbox.levels import SandboxError
from ggp.referee.match.sandbox.spawn import StepFailed, spawn


def default_path() -> Path:
    """Return a new file name in the current folder."""
    return Path(f"tap-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.log")


def run_tapped(argv: Sequence[str], path: Path) -> int:
    """Run the program to its end, and return its exit status. It is killed if this process is.

    Args:
        argv: The command line.
        path: The file of the recording.

    Raises:
        LaunchError: The program cannot be started.
        NotARecord: The file at `path` is not a recording.
    """
    own_descriptors()
    program = find_program(argv[0])
    recording = Recording(path, argv, _warn)
    try:
        pid, stdin, stdout, stderr = _start([program, *argv[1:]])
    except StepFailed as error:
        raise LaunchError(f"{program} cannot be started: {error.reason}") from None
    except SandboxError as error:
        raise LaunchError(str(error)) from None

    def seen(mark: str, seconds: float, data: bytes) -> None:
        if data or mark == "<":
            recording.chunk(mark, seconds, data)
        elif mark == ">":
            recording.note("end of input")

    to_child = Flow(">", 0, stdin, "sink", seen)
    from_child = [Flow("<", stdout, 1, "source", seen), Flow("!", stderr, 2, "source", seen)]
    pidfd = os.pidfd_open(pid)
    pass_on_signals(pidfd)
    pump(pidfd, [to_child, *from_child])
    status = exit_status(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    recording.note(f"exit status {status}")
    recording.close()
    return status


def _start(argv: list[str]) -> tuple[int, int, int, int]:
    """Start the process in our group. Return its ID, and our ends of its stdin, stdout and stderr."""
    (stdin, ours_in), (ours_out, stdout), (ours_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    try:
        spawned = spawn((), argv, os.environ, (stdin, stdout, stderr), group=False)
    finally:
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
    return spawned.pid, ours_in, ours_out, ours_err


def _warn(text: str) -> None:
    with suppress(OSError):  # stderr may be closed
        write_stderr(f"ggp tap: {text}\n")


# -- The bytes, and the ends of the streams.

CHUNK = 64 * 1024
# A shared pipe may block, but never for this many bytes after poll reports that it is writable.
_SURE = select.PIPE_BUF

Seen = Callable[[str, float, bytes], None]


class Flow:
    """One direction of the dialogue.

    Args:
        mark: The mark of this direction in the recording.
        source: The descriptor to read from.
        sink: The descriptor to write to.
        ours: "source" or "sink", the end that we created. It does not block; the other end is shared with our parent.
        seen: Called with each chunk after it was passed on; b"" means the end.
    """

    def __init__(self, mark: str, source: int, sink: int, ours: str, seen: Seen) -> None:
        self.mark, self.source, self.sink = mark, source, sink
        self.rest = b""  # read, and not yet written
        self._seen = seen
        self._sink_is_ours = ours == "sink"
        self._room = select.poll()
        self._room.register(sink, select.POLLOUT)
        os.set_blocking(sink if self._sink_is_ours else source, False)

    @property
    def open(self) -> bool:
        """Return True until the flow is closed."""
        return self.source >= 0

    def pass_on(self) -> bool:
        """Read once, and write what can be written. Return True if anything was read, even the end."""
        try:
            data = os.read(self.source, CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal that is gone (EIO)
            data = b""
        seconds = time.monotonic()
        if data:
            self.rest = data
            self.write()
        else:
            self.close()
        self._seen(self.mark, seconds, data)
        return True

    def write(self) -> None:
        """Write as much as possible without waiting. A sink without a reader ends the flow."""
        try:
            while self.rest:
                if self._sink_is_ours:
                    size = os.write(self.sink, self.rest)
                elif self._room.poll(0):
                    size = os.write(self.sink, self.rest[:_SURE])
                else:
                    return
                self.rest = self.rest[size:]
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def close(self) -> None:
        """Close both ends, so that the writer and the reader notice."""
        if self.open:
            os.close(self.source)
            os.close(self.sink)
            self.source = self.sink = -1
            self.rest = b""


def pump(pidfd: int, flows: list[Flow]) -> None:
    """Pass on all data until the child has exited and all its output has been passed on.

    Args:
        pidfd: A descriptor of the child.
        flows: The flows; `flows[0]` leads to the child.
    """
    ended, shape, poll = False, None, select.poll()
    while not ended or any(_drained(flow) for flow in flows[1:]):
        # Usually nothing waits to be written and both sides are open, so the poll object can be reused.
        now = ended, *((flow.source, not flow.rest) for flow in flows)
        if now != shape:
            shape, poll = now, _poll(-1 if ended else pidfd, flows)
        ready = dict(poll.poll())
        for flow in flows:
            if flow.sink in ready and ready[flow.sink] & ~select.POLLOUT:
                flow.close()  # its reader is gone
            elif flow.sink in ready:
                flow.write()
            elif flow.source in ready:
                flow.pass_on()
        ended = ended or pidfd in ready


def _poll(pidfd: int, flows: list[Flow]) -> "select.poll":
    """Return a poll for input of idle flows, for room of flows with data to write, and for errors of every sink."""
    poll = select.poll()
    if pidfd >= 0:
        poll.register(pidfd, select.POLLIN)
    for flow in flows:
        if flow.open:
            poll.register(flow.sink, select.POLLOUT if flow.rest else 0)
            if not flow.rest:
                poll.register(flow.source, select.POLLIN)
    return poll


def _drained(flow: Flow) -> bool:
    """Pass on the rest after the child has exited. Return True if some data still waits for a reader."""
    while flow.open and not flow.rest and flow.pass_on():
        pass
    return flow.open and bool(flow.rest)


def exit_status(code: int) -> int:
    """Return the exit status as a shell does: 128 + n for signal n."""
    return 128 - code if code < 0 else code


def own_descriptors() -> None:
    """Make sure that descriptors 0, 1 and 2 are open, so that no pipe gets one of these numbers."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


# -- signals ----------------------------------------------------------------------------------------------------------


PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_SI_KERNEL = 0x80  # a key of the terminal, sent to the whole group and therefore already to the child


def pass_on_signals(pidfd: int) -> None:
    """Pass signals in PASSED_ON to the child, if they were sent only to this process.

    Call it after the child was started, because a child inherits blocked signals.
    """
    kept = {number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN}  # as under nohup
    signal.pthread_sigmask(signal.SIG_BLOCK, kept)
    threading.Thread(target=_pass_on, args=(pidfd, kept), daemon=True).start()


def _pass_on(pidfd: int, numbers: set[signal.Signals]) -> None:
    while True:
        info = signal.sigwaitinfo(numbers)
        if info.si_code != _SI_KERNEL:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, info.si_signo)
