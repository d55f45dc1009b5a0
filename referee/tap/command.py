"""`ggp tap [-o FILE] [--] COMMAND…`: run a program and record its dialogue with the caller."""

import contextlib
import ctypes
import json
import os
import select
import shlex
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from referee.cli import HELP, run_command
from referee.play.bot_spec import read_bot
from referee.play.process import LaunchError, find_program, with_death_signal
from referee.tap.recording import Recording, default_path

EPILOG = """\b
Exit status: the program's own; 128 + n if signal n ended it; 2 for bad usage."""


def main(argv: list[str]) -> int:
    """The program's exit status, or how the showing went."""

    return run_command(tap, "ggp tap", argv)


@click.command("tap", context_settings={**HELP, "allow_interspersed_args": False}, epilog=EPILOG)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND…")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="Where to record.  [default: tap-DATE-TIME-PID.log here]")  # fmt: skip
@click.option("--show", is_flag=True, help="Print the records that are named instead of COMMAND.")
@click.option("--tst", is_flag=True, help="Print them as a regression transcript that expects these answers.")
@click.option("--json", "as_json", is_flag=True, help="With --show: as JSON.")
def tap(words: tuple[str, ...], output: Path | None, show: bool, tst: bool, as_json: bool) -> int:
    """Run COMMAND and record the dialogue, without changing, holding back or reordering a byte of it.

    It stands wherever a program does, as in `ggp match go "ggp tap -o x.log -- ./bot" random` or in GoGui. A record
    that is there is continued; any other file is refused. If FILE cannot be written, one line on stderr says so and
    the dialogue goes on. COMMAND is a built-in bot or a command line.
    """
    if show or tst or as_json:
        return _print(words, tst, as_json)
    if not words:
        raise click.UsageError("name the program: [-o FILE] [--] COMMAND…")
    start = read_bot(words[0] if len(words) == 1 else shlex.join(words))
    if start.url:
        raise click.UsageError(f"{start.url} is no program: name the one that connects there")
    return run_tapped(start.argv, output or default_path())


def _print(words: tuple[str, ...], tst: bool, as_json: bool) -> int:
    from protocol.regression import write
    from referee.tap.recording import answered, read_sessions
    from referee.tap.show import facts, show

    if not words:
        raise click.UsageError("name the record: --show FILE")
    try:
        sessions = [session for word in words for session in read_sessions(Path(word))]
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}") from None
    if tst:
        click.echo(write(answered(sessions)), nl=False)
    elif as_json:
        click.echo(json.dumps(facts(sessions), indent=1))
    else:
        show(sessions)
    return 0


# -- Starts the program behind a tap and stays until it ends; how bytes pass is in pump, what is kept in


def run_tapped(argv: Sequence[str], path: Path) -> int:
    """The program's exit status. It is killed if we are. Raises LaunchError, NotARecord."""
    own_descriptors()
    program = find_program(argv[0])
    recording = Recording(path, argv, _warn)
    try:
        popen, stdin, stdout, stderr = _start([*with_death_signal(os.getpid()), program, *argv[1:]])
    except OSError as error:
        raise LaunchError(f"{program} cannot be started: {error.strerror}") from None

    def seen(mark: str, seconds: float, data: bytes) -> None:
        if data or mark == "<":
            recording.chunk(mark, seconds, data)
        elif mark == ">":
            recording.note("end of input")

    to_child = Flow(">", 0, stdin, "sink", seen)
    from_child = [Flow("<", stdout, 1, "source", seen), Flow("!", stderr, 2, "source", seen)]
    pidfd = os.pidfd_open(popen.pid)
    pump(popen.pid, pidfd, to_child, from_child)
    status = exit_status(popen.wait())
    recording.note(f"exit status {status}")
    recording.close()
    return status


def _start(argv: list[str]) -> tuple["subprocess.Popen[bytes]", int, int, int]:
    """The process, in our group, and our ends of its stdin, stdout and stderr."""
    (stdin, ours_in), (ours_out, stdout), (ours_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    try:
        popen = subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr)
    finally:
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
    return popen, ours_in, ours_out, ours_err


def _warn(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr is closed: there is no reader
        os.write(2, f"ggp tap: {text}\n".encode())


# -- Passes a child's stdin, stdout and stderr on as they come, and its end; not a byte is changed, reord


CHUNK = 64 * 1024
# "poll says that it can be written" holds for so many bytes of a pipe that others use, too, and that may block.
_SURE = select.PIPE_BUF

Seen = Callable[[str, float, bytes], None]


class Flow:
    """One direction. `seen(mark, seconds, data)` is called with each chunk after it was passed on; b"" is its end.

    The end that we made (`ours`: "source" or "sink") does not block; the other is shared with our parent.
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
        return self.source >= 0

    def pass_on(self) -> bool:
        """Read once and write what can be written; whether anything came, be it the end."""
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
        """As much of the rest as goes without waiting. A sink without a reader ends the flow."""
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
        """Close both ends, so that writer and reader notice."""
        if self.open:
            os.close(self.source)
            os.close(self.sink)
            self.source = self.sink = -1
            self.rest = b""


def pump(pid: int, pidfd: int, to_child: Flow, from_child: list[Flow]) -> None:
    """Until the child has ended and all that it said has been passed on. Signals to us go to the child."""
    loop = _Loop(pid, pidfd, [to_child, *from_child])
    while not loop.ended:
        loop.turn()
    while [flow for flow in from_child if _drained(flow)]:
        loop.turn()


def _drained(flow: Flow) -> bool:
    """After the child's end: pass on what is left; whether some of it still waits for a reader."""
    while flow.open and not flow.rest and flow.pass_on():
        pass
    return flow.open and bool(flow.rest)


class _Loop:
    """The poll, and what each descriptor in it means."""

    def __init__(self, pid: int, pidfd: int, flows: list[Flow]) -> None:
        self.ended = False
        self._pid, self._pidfd, self._flows = pid, pidfd, flows
        self._signals = open_signals()
        self._watched: dict[int, int] = {}
        self._shape: list[tuple[int, bool]] = []
        self._poll = select.poll()
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(self._signals, select.POLLIN)
        self._watch()

    def turn(self) -> None:
        """Wait, and see to what has come."""
        ready = dict(self._poll.poll())
        for flow in self._flows:
            if flow.sink in ready and ready[flow.sink] & ~select.POLLOUT:
                flow.close()  # its reader is gone
            elif flow.sink in ready:
                flow.write()
            elif flow.source in ready:
                flow.pass_on()
        if self._signals in ready:
            for number in read_signals(self._signals):
                with suppress(ProcessLookupError):
                    os.kill(self._pid, number)
        if self._pidfd in ready:
            self.ended = True
            self._poll.unregister(self._pidfd)
            self._pidfd = -1
        # Mostly nothing waits to be written and both sides are there: then the poll stays as it is.
        shape = [(flow.source, not flow.rest) for flow in self._flows]
        if shape != self._shape:
            self._shape = shape
            self._watch()

    def _watch(self) -> None:
        """Read where nothing waits to be written, write where something does; of every sink, whether it breaks."""
        wanted: dict[int, int] = {}
        for flow in self._flows:
            if flow.open:
                wanted[flow.sink] = select.POLLOUT if flow.rest else 0
                if not flow.rest:
                    wanted[flow.source] = select.POLLIN
        if wanted == self._watched:
            return
        for descriptor in self._watched.keys() - wanted.keys():
            with suppress(KeyError):
                self._poll.unregister(descriptor)
        for descriptor, events in wanted.items():
            self._poll.register(descriptor, events)
        self._watched = wanted


def exit_status(code: int) -> int:
    """What a shell would say: 128 + n for signal n."""
    return 128 - code if code < 0 else code


def own_descriptors() -> None:
    """See to it that 0, 1 and 2 are open: a pipe of ours in their place would be taken for them."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


# -- Signals as something to poll, with who sent them, by Linux's signalfd; nothing runs in a handler.


PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_SIZE = 128  # bytes of a struct signalfd_siginfo; signo, errno and code come first
_HEAD = struct.Struct("Iii")
_SI_KERNEL = 0x80
_NONBLOCK = 0o4000


def open_signals() -> int:
    """A descriptor that becomes readable when one of PASSED_ON comes; from now on they do nothing else.

    To be called after a child was started, which would not get them otherwise.
    """
    kept = [number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    signal.pthread_sigmask(signal.SIG_BLOCK, kept)
    words = [0] * (1024 // 64)
    for number in kept:
        words[0] |= 1 << (number - 1)
    mask = (ctypes.c_uint64 * len(words))(*words)
    descriptor = ctypes.CDLL(None, use_errno=True).signalfd(-1, mask, _NONBLOCK)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    os.set_inheritable(descriptor, False)
    return int(descriptor)


def read_signals(descriptor: int) -> Iterator[signal.Signals]:
    """Those that were sent to this process alone.

    What a terminal's key sends goes to the whole group, so a child in it has it already.
    """
    while True:
        try:
            data = os.read(descriptor, _SIZE)
        except BlockingIOError:
            return
        number, _, code = _HEAD.unpack_from(data)
        if code != _SI_KERNEL:
            yield signal.Signals(number)
