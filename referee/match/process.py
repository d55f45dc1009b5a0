"""The processes of bots and engines: each is started in its own process group with its limits, watched, and ended.

Player and Engine talk to them. Only processes that were started here are ever signalled.
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
PLIES, ALL = "plies", "all"  # values of ProcessLimits.verbose
LAST_WORDS = 0.5  # seconds; a process exits shortly after its output ends


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of every process of a series, and what is shown and kept of its output.

    Attributes:
        memory: MiB of address space; 0 for no limit.
        verbose: What is shown on stderr: PLIES, ALL, "" for nothing, or the name of one process to show.
        stderr_folder: Folder that keeps the stderr of bots; "" for none.
        dialogue_folder: Folder that keeps the dialogue of every process; "" for none.
        sandbox: Sandbox of bots without their own. Engines do not use it.
    """

    memory: int = 0
    verbose: str = ""
    stderr_folder: str = ""
    dialogue_folder: str = ""
    sandbox: Sandbox = NO_SANDBOX

    @property
    def shows_plies(self) -> bool:
        """Return True if each ply is shown when it is played."""
        return self.verbose in (PLIES, ALL)

    def shows(self, name: str) -> bool:
        """Return True if the dialogue and stderr of this process are shown."""
        return self.verbose == ALL or (self.verbose == name != PLIES)


NO_LIMITS = ProcessLimits()


class Peer(Protocol):
    """The program at the other end of a channel. The default methods suit a peer without a process."""

    channel: Channel
    look: float = 1.0  # seconds between checks whether a silent program has exited
    idle: IdleWatch | None = None  # for a bot in a sandbox that shares its core with its opponent
    turn_watch: TurnWatch | None = None  # for a bot in a sandbox that runs on the referee's core alone

    def exited(self, wait: float = 0) -> str:
        """Wait up to `wait` seconds for the program to exit. Return how it exited; "" if it runs or this is unknown."""
        return ""

    def stderr_tail(self) -> str:
        """Return the last 64 KiB of stderr since `end_game`, as text."""
        return ""

    def begin_game(self, key: str) -> None:
        """Begin the match of this key. Kept stderr gets a heading for it."""
        return

    def end_game(self) -> None:
        """End the match. Later output to stderr belongs to the next game."""
        return

    def stderr_news(self) -> str:
        """Return what was written to stderr since the last call, at most 64 KiB."""
        return ""

    async def stop(self, kill: bool = False) -> None:
        """End the program and wait for it. `kill` ends it at once, without `quit`."""
        self.channel.close()

    def waited(self) -> float:
        """Return the total seconds by which the referee was late for answers. Only differences are meaningful."""
        return run_delay()

    slow_input: tuple[int, float] = 0, 0.0  # slow writes to the peer in this game, and the seconds charged for them

    def reader_cost(self) -> float:
        """Return the seconds that writes took since the last call because the peer reads slowly; usually 0."""
        return 0.0

    def credit(self) -> float:
        """Return the seconds of the last answer that are not charged, because the peer did not cause them."""
        return 0.0

    def credit_because(self) -> str:
        """Return the reason for the credit, or ""."""
        return ""

    def lost(self) -> str:
        """Return why and since when the peer is unreachable; "" if it is reachable or has exited."""
        return ""

    def late_because(self, overrun: int) -> str:
        """Return why the last answer came `overrun` ms late; "" if only the peer can be at fault."""
        return ""


class Process(Peer):
    """A child process and the channel to it, in a process group of its own.

    The kernel kills it if this process, or the thread that started it, ends.
    """

    _running: ClassVar[set[int]] = set()  # pids of this process's children that are not strays
    # No thread may look for strays while another starts a child. Reentrant, because a signal handler may.
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
            argv: The command line.
            role: Bot or engine.
            budgets: The time-outs.
            memory: MiB of address space; 0 for no limit.
            environment: Variables added to the environment.
            spread: Let it run on every core, not only on the referee's.
            nice: Niceness, relative to the referee's.
            core: The core that it runs on; None for the referee's.
            sink: Receives the whole dialogue.
            folder: The working directory; None for the current one.
            stderr: Receives its stderr.
            recording: The recording that is closed with the process.
            sandbox: The sandbox that confines it.

        Raises:
            LaunchError: The program cannot be started.
            HostBusy: This machine cannot start a process at the moment.
        """
        if sandbox.level != NONE:
            argv = beside(folder or Path.cwd(), argv)
            sandbox = replace(sandbox, files=(*sandbox.files, *readable_files(argv, folder)))
        words = [find_program(argv[0]), *argv[1:]]
        self._budgets = budgets
        self._exit = ""
        self._stderr_told = 0  # bytes of stderr that stderr_news has returned
        self._stderr_before = 0  # bytes of stderr that belong to earlier games
        self._stderr, self._recording = stderr, recording
        with self._family:
            cores = sorted(_cores) if spread and core is None else [] if core is None else [core]
            self._child, stdin, stdout, errors = _start(words, dict(environment), folder, nice, cores, memory, sandbox)
            self._running.update((self._child.pid, self._child.spawned.init))
        # Use of other cores takes nothing from its opponent. A strict bot is stopped on all cores nevertheless.
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
        """Return the process ID."""
        return self._child.pid

    @property
    def descriptors(self) -> tuple[int, int, int | None]:
        """Return the descriptors of the pipes; see Pipe.descriptors."""
        return self._pipe.descriptors

    def exited(self, wait: float = 0) -> str:
        """Return how the process exited; see Peer.exited. It is not reaped, so its pid is not reused before `stop`."""
        if not self._exit and self._ended(wait):
            ended = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)
            assert ended is not None  # _ended has waited for it
            self._exit = "; ".join(filter(None, [in_words(ended), self._child.why_ended()]))
        return self._exit

    def reader_cost(self) -> float:
        """Return the seconds that writes took because the bot reads slowly, and add them to its total."""
        cost = self._pipe.take_reader_cost()
        if cost:
            self.slow_input = self.slow_input[0] + 1, self.slow_input[1] + cost
        return cost

    def drain_stderr(self) -> None:
        """Read the process's stderr, so that it does not block on a full pipe."""
        self._pipe.drain_stderr()

    def stderr_tail(self) -> str:
        """Return the last 64 KiB of stderr since `end_game`. Invalid UTF-8 may take up to 20 ms to decode."""
        return self._stderr_since(self._stderr_before)

    def begin_game(self, key: str) -> None:
        """Begin the match of this key, and reset what is counted for each game."""
        if self._stderr is not None:
            self._stderr.begin_game(key)
        self.slow_input = 0, 0.0
        self._pipe.take_reader_cost()
        if self.idle is not None:
            self.idle.begin_game()

    def end_game(self) -> None:
        """End the match. Later output to stderr belongs to the next game."""
        self._pipe.drain_stderr()
        self._stderr_before = self._pipe.stderr_size

    def stderr_news(self) -> str:
        """Return what was written to stderr since the last call, at most 64 KiB."""
        news = self._stderr_since(self._stderr_told)
        self._stderr_told = self._pipe.stderr_size
        return news

    def _stderr_since(self, size: int) -> str:
        """Return what was written to stderr after the first `size` bytes, at most 64 KiB."""
        tail = self._pipe.drain_stderr()
        came = self._pipe.stderr_size - size
        return tail[max(0, len(tail) - came) :].decode("utf-8", "backslashreplace")

    async def stop(self, kill: bool = False) -> None:
        """Send `quit`, then SIGTERM and SIGKILL to the group, each after a grace period; then kill its strays.

        Waits for the process to exit, but not for the end of its output, which a grandchild may keep open.
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
        self._signal(signal.SIGKILL)  # the rest of the group; its id is not reused while the leader is not reaped
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
        """Wait up to `seconds` (None: without limit) for the process to exit. Return True if it did."""
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
        """Return that no program listens at the address, if so."""
        return f"no program listens at {self._url}" if self._dealer.absent else ""

    async def stop(self, kill: bool = False) -> None:
        """Send `quit`, and close the connection."""
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
    """Start a program, or connect to one that listens.

    Args:
        spec: The bot or engine.
        role: Which of the two it is.
        budgets: The time-outs.
        limits: The limits of its process.
        core: The core that it runs on; None for the referee's.

    Raises:
        HostBusy: This machine cannot start a process at the moment.
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
    """Return the program's own sandbox; for bots without one that of the series.

    It hides the log folders, so no bot can read the logs of its opponent.
    """
    sandbox = spec.sandbox or (limits.sandbox if role is PeerRole.BOT else NO_SANDBOX)
    logs = [str(Path(folder).absolute()) for folder in (limits.stderr_folder, limits.dialogue_folder) if folder]
    return replace(sandbox, private=(*sandbox.private, *logs)) if logs else sandbox


def _record(spec: BotSpec, limits: ProcessLimits) -> Recording:
    """Record the dialogue in FOLDER/NAME.log, or NAME.2.log if a process of the same name runs at the same time."""
    path = Path(limits.dialogue_folder) / f"{safe_name(spec.name)}.log"
    return Recording(path, spec.argv or [spec.url], lambda why: write_stderr(f"{why}\n"), LOG_SIZE)


def _all(sinks: list[Sink]) -> Sink:
    def tell(mark: str, seconds: float, data: bytes) -> None:
        for sink in sinks:
            sink(mark, seconds, data)

    return tell


def dialogue_sink(name: str) -> Sink:
    """Return a sink that writes each line of the dialogue to stderr."""

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
    """Start the process. Return it with our ends of its stdin, stdout and stderr.

    Raises:
        HostBusy: This machine is short of processes, memory, descriptors or space.
        LaunchError: The program cannot be started.
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
    """Return what the failed step of a start means, and the remedy."""
    if failed.step == "folder":
        return f"its working directory {folder} does not exist: create it, or correct cwd"
    if failed.step == "nice":
        return f"a niceness of {nice} requires root: write 0 to 19"
    words = f"{shlex.join(argv)} cannot be started: {failed.reason}"
    if sandbox.level == NONE:
        return words if failed.step == "exec" else f"{words} ({failed.step})"
    if failed.step != "exec":
        return f"{words} (sandbox: {failed.step} {failed.word}): `ggp doctor` shows what this machine supports"
    if failed.number == errno.E2BIG:
        return f"{words}: shorten the command line, or move the program to a folder with fewer files"
    remedy = 'a program in a sandbox must be readable by others: chmod o+rX, or allow = ["read:/its/folder"]'
    return f"{words}: {remedy}"


# -- stderr of bots, shown or kept in files --------------------------------------------------------------------------


LOG_SIZE = 10 * 1024 * 1024  # bytes of a stderr file; each bot has up to two
LOG_LINE = 2000  # bytes
_DIALOGUE_LINE = 1 << 20  # bytes of a line of dialogue that are shown


class BotStderr:
    """The stderr of a bot, shown line by line with its name and the time, or kept in FOLDER/NAME.log.

    A file that would grow above LOG_SIZE is renamed to NAME.log.1, replacing the previous one. Several workers write
    the same file. It is opened for each write, so a file that was removed is created again. Output that cannot be
    written is lost; a line on stderr reports this once.
    """

    def __init__(self, name: str, limits: ProcessLimits, recording: Recording | None = None) -> None:
        self._name, self._verbose, self._recording = name, limits.shows(name), recording
        self._path = Path(limits.stderr_folder) / f"{safe_name(name)}.log" if limits.stderr_folder else None
        self._partial = b""
        self._heading = ""  # heading of the current match, until it is written
        self._failed = False  # a failed write was reported

    def take(self, data: bytes) -> None:
        """Take the next bytes; b"" at the end. Lines that are too long are split."""
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
        """Append to the file, and create its folder if it is missing. Output that a full disk rejects is lost."""
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
                write_stderr(f"{self._path}: {error.strerror}: some stderr output of {self._name} is lost\n")


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
    """Turn the name of a bot into a file name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:100] or "bot"


# -- cores, and the time in the queue for one ----------------------------------------------------------------------


_cores: set[int] = set()  # cores that this process could run on before it was pinned


def pin(core: int) -> None:
    """Pin this process and its children to one core. They take turns, so they share its caches."""
    _cores.update(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})


def available_cores() -> list[int]:
    """Return the cores that this process may run on, in order."""
    return sorted(os.sched_getaffinity(0))


def run_delay() -> float:
    """Return how long this thread was runnable but waited for a core, in seconds; 0 if the kernel does not count it."""
    return run_delay_ns() / 1e9
