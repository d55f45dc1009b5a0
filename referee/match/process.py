"""Starts, watches and ends the processes of bots and engines, each in its own process group, with its limits.

The dialogue is the part of Player and Engine. Only processes that were started here are signalled.
"""

import contextlib
import errno
import fcntl
import os
import re
import select
import shlex
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Protocol

from ggp.protocol.channel import PEER_FAULTS, Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.lobby_wire import printable
from ggp.protocol.standard_streams import write_stderr
from ggp.protocol.transports.pipe import Pipe
from ggp.protocol.transports.recording import Recording
from ggp.protocol.transports.transcript import Sink, Transcript
from ggp.referee.match.bot_spec import SHORTAGES, BotSpec, HostBusy, LaunchError, beside, find_program, readable_files
from ggp.referee.match.idle_turn import IdleWatch, watch_of
from ggp.referee.match.sandbox.levels import NONE, STRICT, Sandbox, SandboxError
from ggp.referee.match.sandbox.spawn import StepFailed, reap
from ggp.referee.match.sandbox.start import Child, in_words, start
from ggp.referee.match.setting import Timeouts
from ggp.referee.match.stolen_time import TurnWatch, run_delay_ns

NO_SANDBOX = Sandbox()
PLIES, ALL = "plies", "all"  # of what is shown live
LAST_WORDS = 0.5  # seconds: a process's output ends a little before it does


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of every process of a series. `memory`: MiB of address space, 0 for no limit.

    `sandbox`: of bots that have none of their own; engines are ours, or foreign ones with a sandbox of their own.
    `verbose`: what is shown on our stderr as it happens: PLIES, ALL, "" for nothing, or else the name of the one
    process whose dialogue and stderr are shown.
    """

    memory: int = 0
    verbose: str = ""
    stderr_folder: str = ""  # keeps what bots write to stderr, "" for none
    dialogue_folder: str = ""  # keeps the dialogue of every process, "" for none
    sandbox: Sandbox = NO_SANDBOX

    @property
    def shows_plies(self) -> bool:
        """Return True if each ply is shown as it is played."""
        return self.verbose in (PLIES, ALL)

    def shows(self, name: str) -> bool:
        """Return True if the dialogue and the stderr of the process of this name are shown."""
        return self.verbose == ALL or (self.verbose == name != PLIES)


NO_LIMITS = ProcessLimits()


class Peer(Protocol):
    """The program at the other end of a channel. The default methods suit a peer without a process of ours."""

    channel: Channel
    look: float = 1.0  # seconds between looks at whether it has ended while it is silent
    idle: IdleWatch | None = None  # of a bot that shares its core with its opponent, in a sandbox
    turn_watch: TurnWatch | None = None  # of a bot in a sandbox that runs on the referee's core alone

    def exited(self, wait: float = 0) -> str:
        """Wait at most `wait` seconds for its end. Return how it ended, "" while it runs or if that is unknown."""
        return ""

    def stderr_tail(self) -> str:
        """Return the last 64 KiB that it wrote to stderr since `end_game`, as text."""
        return ""

    def begin_game(self, key: str) -> None:
        """Begin the match of this key; kept stderr gets a heading for it."""
        return

    def end_game(self) -> None:
        """End the match: what it writes to stderr from here on belongs to its next game."""
        return

    def stderr_news(self) -> str:
        """Return what it wrote to stderr since the last call, at most the tail."""
        return ""

    async def stop(self, kill: bool = False) -> None:
        """End it; `kill`: without `quit`. Returns when it has ended."""
        self.channel.close()

    def waited(self) -> float:
        """Return the seconds by which we were late for its answers so far; only differences mean something."""
        return run_delay()

    slow_input: tuple[int, float] = 0, 0.0  # writes of this game that it made slow, and the seconds charged for them

    def reader_cost(self) -> float:
        """Return the seconds that our writes took since the last call because of how the peer reads; usually 0."""
        return 0.0

    def credit(self) -> float:
        """Return the seconds of its last answer's time that are not its own, and not charged."""
        return 0.0

    def credit_because(self) -> str:
        """Say what that credit is for, or return ""."""
        return ""

    def lost(self) -> str:
        """Say why and since when it is unreachable; return "" if it is reachable or has ended."""
        return ""

    def late_because(self, overrun: int) -> str:
        """Say why its last answer came `overrun` ms too late; return "" if only the peer can be at fault."""
        return ""


class Process(Peer):
    """A child process and the channel to it. `Process(argv, …)` raises LaunchError.

    A process of its own group; killed by the kernel if this process dies, or the thread that started it.
    """

    _running: ClassVar[set[int]] = set()  # pids of this process's children that are not strays
    # No thread looks for strays while another starts a child; what handles a signal meanwhile may.
    _family: ClassVar = threading.RLock()

    def __init__(
        self,
        argv: tuple[str, ...],
        role: PeerRole,
        budgets: Timeouts,
        *,
        memory: int = 0,
        environment: Iterable[tuple[str, str]] = (),
        spread: bool = False,
        nice: int = 0,
        core: int | None = None,
        sink: Sink | None = None,
        folder: Path | None = None,
        stderr: "BotStderr | None" = None,
        recording: Recording | None = None,
        sandbox: Sandbox = NO_SANDBOX,
    ) -> None:
        """Start the program.

        Args:
            memory: MiB of address space, 0 for no limit.
            environment: Added to ours.
            spread: It may run on every core, not only on ours.
            nice: Relative to ours.
            core: It runs on this one.
            sink: Receives the whole dialogue.
            folder: Where it runs, None for here.
            stderr: Receives what it writes there.
            recording: Closed with it.
            sandbox: Confines it.
        """
        if sandbox.level != NONE:
            argv = beside(folder or Path.cwd(), argv)
            sandbox = replace(sandbox, files=(*sandbox.files, *readable_files(argv, folder)))
        words = [find_program(argv[0]), *argv[1:]]
        self._budgets = budgets
        self._exit = ""
        self._stderr_told = 0  # bytes of stderr that stderr_news has given out
        self._stderr_before = 0  # bytes of stderr that belong to earlier games
        self._stderr, self._recording = stderr, recording
        with self._family:
            cores = sorted(_cores) if spread and core is None else [] if core is None else [core]
            self._child, stdin, stdout, errors = _start(words, dict(environment), folder, nice, cores, memory, sandbox)
            self._running.update((self._child.pid, self._child.spawned.init))
        # What it uses on other cores is not its opponent's; a strict one is stopped there, too.
        can_watch = self._child.watches_idle and (not spread or sandbox.level == STRICT)
        self.idle = watch_of(self._child.groups, sandbox, can_watch)
        self._pidfd = os.pidfd_open(self._child.pid)
        self._end = select.poll()
        self._end.register(self._pidfd, select.POLLIN)
        self._pipe = Pipe(stdin, stdout, errors, None if stderr is None else stderr.take)
        self.channel = Channel(Transcript(self._pipe, sink) if sink else self._pipe, role)
        if sandbox.level != NONE and not spread and core is None and len(available_cores()) == 1:
            self.turn_watch = TurnWatch(self._pipe.wait_for_output)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def descriptors(self) -> tuple[int, int, int | None]:
        """See Pipe.descriptors."""
        return self._pipe.descriptors

    def exited(self, wait: float = 0) -> str:
        """See Peer.exited. Does not reap, so the pid is not reused before `stop`."""
        if not self._exit and self._ended(wait):
            ended = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)
            assert ended is not None  # it was awaited first
            self._exit = "; ".join(filter(None, [in_words(ended), self._child.why_ended()]))
        return self._exit

    def reader_cost(self) -> float:
        cost = self._pipe.take_reader_cost()
        if cost:
            self.slow_input = self.slow_input[0] + 1, self.slow_input[1] + cost
        return cost

    def drain_stderr(self) -> None:
        """Read what it wrote to stderr, so that it does not block on a full pipe."""
        self._pipe.drain_stderr()

    def stderr_tail(self) -> str:
        """See Peer.stderr_tail. Takes up to 20 ms for bytes that are no text."""
        return self._stderr_since(self._stderr_before)

    def begin_game(self, key: str) -> None:
        if self._stderr is not None:
            self._stderr.begin_game(key)
        self.slow_input = 0, 0.0
        self._pipe.take_reader_cost()
        if self.idle is not None:
            self.idle.begin_game()

    def end_game(self) -> None:
        self._pipe.drain_stderr()
        self._stderr_before = self._pipe.stderr_size

    def stderr_news(self) -> str:
        news = self._stderr_since(self._stderr_told)
        self._stderr_told = self._pipe.stderr_size
        return news

    def _stderr_since(self, size: int) -> str:
        """Return what came after so many bytes, at most the tail."""
        tail = self._pipe.drain_stderr()
        came = self._pipe.stderr_size - size
        return tail[max(0, len(tail) - came) :].decode("utf-8", "backslashreplace")

    async def stop(self, kill: bool = False) -> None:
        """Send `quit`, then after a grace each SIGTERM and SIGKILL to the group; then kill its strays.

        Waits for the process, not for the end of its output, which a grandchild may keep open.
        """
        if self._pidfd < 0:
            return
        if self.idle is not None:
            self.idle.wake()
        if not kill and not self.exited():
            await self._say_quit()
        if kill or not (self._ended(self._budgets.grace) or self._terminated()):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)  # it may have left its group
        self._ended(None)
        self.exited()
        self._signal(signal.SIGKILL)  # the rest of the group; the leader's pid is still taken, so it is the right one
        reap(self._child.pid)
        with self._family:
            self._running.difference_update((self._child.pid, self._child.spawned.init))
            self._child.end(self._running)
        self._pipe.drain_stderr()
        os.close(self._pidfd)
        self._pidfd = -1
        self.channel.close()
        if self._recording is not None:
            self._recording.note(self._exit)
            self._recording.close()

    async def _say_quit(self) -> None:
        with contextlib.suppress(*PEER_FAULTS):
            await self.channel.ask("quit", self.channel.now() + self._budgets.quit)
        self._pipe.close_stdin()

    def _terminated(self) -> bool:
        self._signal(signal.SIGTERM)
        return self._ended(self._budgets.grace)

    def _ended(self, seconds: float | None) -> bool:
        """Wait at most `seconds` (None: without limit) for the process to end; whether it did."""
        if self._exit or self._pidfd < 0:
            return True
        return bool(self._end.poll(None if seconds is None else seconds * 1000))

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)


class Remote(Peer):
    """A running peer at tcp://host:port or ipc://path."""

    def __init__(
        self,
        url: str,
        role: PeerRole,
        budgets: Timeouts,
        *,
        sink: Sink | None = None,
        recording: Recording | None = None,
    ) -> None:
        from ggp.protocol.errors import AddressError
        from ggp.protocol.transports.zmq import Dealer  # slow to import: only for peers that listen

        try:
            transport = Dealer(url, budgets.command)
        except AddressError as error:
            raise LaunchError(str(error)) from None
        self._budgets = budgets
        self._stopped, self._recording = False, recording
        self._url, self._dealer = url, transport
        self.channel = Channel(Transcript(transport, sink) if sink else transport, role)

    def exited(self, wait: float = 0) -> str:
        return f"no program listens at {self._url}" if self._dealer.absent else ""

    async def stop(self, kill: bool = False) -> None:
        if self._stopped:
            return
        self._stopped = True
        if not kill:
            with contextlib.suppress(*PEER_FAULTS):
                await self.channel.ask("quit", self.channel.now() + self._budgets.quit)
        self.channel.close()
        if self._recording is not None:
            self._recording.close()


def launch(spec: BotSpec, role: PeerRole, budgets: Timeouts, limits: ProcessLimits, core: int | None = None) -> Peer:
    """Start the program, on this core if one is given, or connect to the one that listens.

    Raises:
        HostBusy: The host cannot start a process now.
        LaunchError: The program cannot be started.
    """
    recording = _record(spec, limits) if limits.dialogue_folder else None
    sinks = [dialogue_sink(spec.name)] if limits.shows(spec.name) else []
    sinks += [recording.chunk] if recording else []
    sink = _all(sinks) if sinks else None
    if spec.url:
        return Remote(spec.url, role, budgets, sink=sink, recording=recording)
    kept = limits.shows(spec.name) or limits.stderr_folder or recording
    try:
        return Process(
            spec.argv,
            role,
            budgets,
            memory=spec.memory or limits.memory,
            environment=spec.environment,
            spread=spec.cores > 1,
            nice=spec.nice or 0,
            core=core,
            sink=sink,
            folder=Path(spec.cwd) if spec.cwd else None,
            sandbox=sandbox_of(spec, role, limits),
            stderr=BotStderr(spec.name, limits, recording) if kept else None,
            recording=recording,
        )
    except LaunchError:
        if recording is not None:
            recording.close()
        raise


def sandbox_of(spec: BotSpec, role: PeerRole, limits: ProcessLimits) -> Sandbox:
    """Return its own sandbox, or that of the bots of the series; no bot reads the logs of its opponent."""
    sandbox = spec.sandbox or (limits.sandbox if role is PeerRole.BOT else NO_SANDBOX)
    logs = [str(Path(folder).absolute()) for folder in (limits.stderr_folder, limits.dialogue_folder) if folder]
    return replace(sandbox, private=(*sandbox.private, *logs)) if logs else sandbox


def _record(spec: BotSpec, limits: ProcessLimits) -> Recording:
    """Record the dialogue in FOLDER/NAME.log; of another process of this name at the same time in NAME.2.log."""
    path = Path(limits.dialogue_folder) / f"{safe_name(spec.name)}.log"
    return Recording(path, spec.argv or [spec.url], lambda why: write_stderr(f"{why}\n"), LOG_SIZE)


def _all(sinks: list[Sink]) -> Sink:
    def tell(mark: str, seconds: float, data: bytes) -> None:
        for sink in sinks:
            sink(mark, seconds, data)

    return tell


def dialogue_sink(name: str) -> Sink:
    """Return a sink that writes the dialogue to stderr, one line each."""

    def show(mark: str, seconds: float, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace") or "(end of stream)"
        lines = [f"{name} {mark} {printable(line, _DIALOGUE_LINE)}\n" for line in text.split("\n") if line.strip()]
        write_stderr("".join(lines))

    return show


def _start(
    argv: list[str],
    environment: dict[str, str],
    folder: Path | None,
    nice: int,
    cores: Sequence[int],
    memory: int,
    sandbox: Sandbox,
) -> tuple[Child, int, int, int]:
    """Start the process; return it with our ends of its stdin, stdout and stderr.

    Raises:
        HostBusy: The host has no process, memory, descriptor or room for it now.
        LaunchError: It cannot be started.
    """
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for direction in (1, 0, 0):
            pair = os.pipe()
            ours.append(pair[direction])
            theirs.append(pair[1 - direction])
        child = start(
            argv,
            (theirs[0], theirs[1], theirs[2]),
            environment=environment,
            sandbox=sandbox,
            folder=str(folder.absolute()) if folder else "",
            nice=min(19, max(-20, os.getpriority(os.PRIO_PROCESS, 0) + nice)) if nice else None,
            cores=cores,
            address_space=memory,
        )
    except BaseException as error:
        for descriptor in ours:
            os.close(descriptor)
        if isinstance(error, StepFailed):
            if error.number in SHORTAGES and not (memory and error.number == errno.ENOMEM):  # the limit may be too low
                raise HostBusy.of(f"{argv[0]}: {error.step}", error.number) from None
            raise LaunchError(_in_one_line(error, argv, folder, nice, sandbox)) from None
        if isinstance(error, OSError) and error.errno in SHORTAGES:
            raise HostBusy.of(argv[0], error.errno) from None
        if isinstance(error, SandboxError):
            raise LaunchError(str(error)) from None
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return child, ours[0], ours[1], ours[2]


def _in_one_line(failed: StepFailed, argv: list[str], folder: Path | None, nice: int, sandbox: Sandbox) -> str:
    """Say what the failed step of a start means, with the remedy."""
    if failed.step == "folder":
        return f"its working folder {folder} is gone: create it, or correct cwd"
    if failed.step == "nice":
        return f"a niceness of {nice} needs the rights of root: write 0 to 19"
    words = f"{shlex.join(argv)} cannot be started: {failed.reason}"
    if sandbox.level == NONE:
        return words if failed.step == "exec" else f"{words} ({failed.step})"
    if failed.step != "exec":
        return f"{words} (sandbox: {failed.step} {failed.word}): ggp doctor says what this machine offers"
    if failed.number == errno.E2BIG:
        return f"{words}: shorten it, or give it a folder of its own with fewer files"
    remedy = 'in its sandbox it must be readable to others: chmod o+rX, or allow = ["read:/its/folder"]'
    return f"{words}: {remedy}"


# -- what bots write to stderr, shown or kept in files ---------------------------------------------------------------


LOG_SIZE = 10 * 1024 * 1024  # bytes of a file of stderr; there are two for each bot
LOG_LINE = 2000  # bytes
_DIALOGUE_LINE = 1 << 20  # bytes of a line of dialogue that are shown


class BotStderr:
    """The stderr of a bot, shown line by line with its name and the time, or kept in FOLDER/NAME.log.

    A file that would grow above LOG_SIZE becomes NAME.log.1, in place of the one before; workers write the same file.
    It is opened for each write, so one that was removed or replaced is there again. What it does not take is lost, and
    a line on our stderr says so once.
    """

    def __init__(self, name: str, limits: ProcessLimits, recording: Recording | None = None) -> None:
        self._name, self._verbose, self._recording = name, limits.shows(name), recording
        self._path = Path(limits.stderr_folder) / f"{safe_name(name)}.log" if limits.stderr_folder else None
        self._partial = b""
        self._heading = ""  # of the match at hand, until something is written in it
        self._failed = False  # it was said that the file does not take all

    def take(self, data: bytes) -> None:
        """Take the next bytes, b"" at the end. A line that is too long is cut into several."""
        if self._recording is not None and data:
            self._recording.chunk("!", time.monotonic(), data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > LOG_LINE or (self._partial and not data):
            lines.append(self._partial)
            self._partial = b""
        if not lines:
            return
        at = _now()
        texts = [printable(line[start : start + LOG_LINE], LOG_LINE) for line in lines for start in _pieces(line)]
        if self._verbose:
            write_stderr("".join(f"{self._name} ! {at[11:23]} {text}\n" for text in texts))
        self._keep("".join(f"{at} {text}\n" for text in texts))

    def begin_game(self, key: str) -> None:
        """Begin the match of this key."""
        self._heading = f"{_now()} -- match {key}\n"

    def _keep(self, text: str) -> None:
        """Append to the file, with its folder if that is gone; what a full disk does not take is lost."""
        if self._path is None:
            return
        data = f"{self._heading}{text}".encode()
        self._heading = ""
        try:
            try:
                _append(self._path, data)
            except FileNotFoundError:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                _append(self._path, data)
        except OSError as error:
            if not self._failed:
                self._failed = True
                write_stderr(f"{self._path}: {error.strerror}: not all that {self._name} writes to stderr is kept\n")


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        here = os.fstat(file.fileno())
        if here.st_size + len(data) <= LOG_SIZE or not here.st_size:
            if os.write(file.fileno(), data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return
        if path.stat().st_ino == here.st_ino:  # no other worker has renamed it meanwhile
            path.replace(f"{path}.1")
        with path.open("ab") as fresh:
            fresh.write(data)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def _pieces(line: bytes) -> range:
    return range(0, max(1, len(line)), LOG_LINE)


def safe_name(name: str) -> str:
    """Turn a bot's name into the name of a file in a folder."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:100] or "bot"


# -- cores, and the time in the queue for one ----------------------------------------------------------------------


_cores: set[int] = set()  # that this process might run on before it was pinned


def pin(core: int) -> None:
    """Pin this process and its children to one core: they take turns, so they share its caches."""
    _cores.update(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})


def available_cores() -> list[int]:
    """Return the cores that this process may run on, in order."""
    return sorted(os.sched_getaffinity(0))


def run_delay() -> float:
    """Return the seconds that this thread was runnable and waited for a core; 0 if the kernel does not count it."""
    return run_delay_ns() / 1e9
