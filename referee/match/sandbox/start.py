"""Starts a program in a sandbox, and reports which limit it met."""

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ggp.protocol.transports.subreaper import kill_strays
from ggp.referee.match.sandbox import steps
from ggp.referee.match.sandbox.cgroups import BotGroups
from ggp.referee.match.sandbox.folders import new_scratch, remove_folder
from ggp.referee.match.sandbox.levels import NONE, Sandbox, SandboxError
from ggp.referee.match.sandbox.machine import Machine, check_level, this_machine
from ggp.referee.match.sandbox.spawn import Spawned, reap, spawn

_KEPT_VARIABLES = ("PATH", "LANG")
MOST_ENTRIES = 1000  # entries of a folder that is replaced by its entries
_SEATS = 128  # user IDs for the programs of one process
_seats = count()
_UNSAFE = (
    "a build could change other files here: use a machine with namespaces, or run as root with a Python and a package "
    "that all users can read; `ggp doctor` shows more"
)


@dataclass(slots=True)
class Child:
    """A started program, with its groups and scratch folder. Call `end` after the program has ended."""

    spawned: Spawned
    sandbox: Sandbox
    groups: BotGroups | None = None
    scratch: str = ""  # a scratch folder to remove, if the program has no file system of its own
    _calls: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        """Return the process ID of the program."""
        return self.spawned.pid

    @property
    def watches_idle(self) -> bool:
        """Return True if its processor time can be measured, and it can be suspended."""
        return self.groups is not None and "idle turn" in this_machine().kept

    def why_ended(self) -> str:
        """Return the limits that the program met, as a reason for its end; "" for none. Call it before `end`."""
        sandbox, reasons = self.sandbox, list[str]()
        self._calls += tuple(self.spawned.forbidden_calls())
        for call in dict.fromkeys(self._calls):
            reasons.append(f"it made the forbidden system call `{call}`: remove it, or run the bot with sandbox = none")
        if self.groups is not None and self.groups.out_of_memory():
            reasons.append(f"it ran out of memory: its limit is {sandbox.memory} MiB (memory)")
        if self.groups is not None and self.groups.refused_processes():
            reasons.append(f"it tried to start a {_ordinal(sandbox.processes + 1)} process or thread (processes)")
        if self._scratch_is_full():
            reasons.append(f"its scratch folder of {sandbox.scratch} MiB is full (scratch)")
        return "; ".join(reasons)

    def _scratch_is_full(self) -> bool:
        folder = self.scratch or (f"/proc/{self.spawned.init}/root{steps.SCRATCH}" if self.spawned.init else "")
        try:
            about = os.statvfs(folder) if folder and not self.scratch else None
        except OSError:
            return False
        if about is None:
            return False
        return about.f_bavail == 0 or about.f_favail == 0 or about.f_bavail * about.f_frsize < 4096

    def end(self, known: Iterable[int]) -> None:
        """End what the program left behind, and remove its groups and scratch folder. It must have been reaped.

        Args:
            known: Children of this process that are not strays. If orphans are adopted, all others are killed.
        """
        self._calls += tuple(self.spawned.forbidden_calls())
        if self.groups is not None:  # before its last process is ended: that one removes them if we are killed
            self.groups.remove()
        kept = {*known, self.spawned.init}
        self.spawned.end_init(lambda: kill_strays(kept))
        if self.scratch:
            remove_folder(Path(self.scratch))


def start(
    argv: Sequence[str],
    streams: tuple[int, int, int],
    *,
    environment: Mapping[str, str],
    sandbox: Sandbox,
    folder: str = "",
    writable: bool = False,
    nice: int | None = None,
    cores: Sequence[int] = (),
    address_space: int = 0,
    file_size: int = 0,
) -> Child:
    """Start a program in a sandbox.

    Args:
        argv: The command line.
        streams: Descriptors of its stdin, stdout and stderr.
        environment: Variables added to its environment.
        sandbox: The sandbox.
        folder: Its working directory; "" for the default.
        writable: It may write in `folder`.
        nice: Its niceness as the kernel counts it; None for ours.
        cores: The cores that it may run on; () for ours.
        address_space: MiB; 0 for no limit.
        file_size: Most bytes of a file; 0 for the size of its scratch folder.

    Raises:
        StepFailed: A step of the guard failed.
        SandboxError: This machine does not support the sandbox.
    """
    first = [*(["nice", str(nice)] if nice is not None else []), *(["cpus", _words(cores)] if cores else [])]
    first += steps.plain_limits(address_space)
    if sandbox.level == NONE:
        first += ["folder", folder] if folder else []
        return Child(spawn(first, argv, {**os.environ, **environment}, streams), sandbox)
    check_level(sandbox.level)
    machine = this_machine()
    groups = BotGroups(machine.places) if machine.places else None
    uid = _user(machine, argv[0], sandbox)
    if writable and uid is None and not machine.namespaces:
        raise SandboxError(_UNSAFE, code="unsafe-build")
    scratch = "" if machine.namespaces else new_scratch()
    try:
        for own in [scratch, folder if writable else ""]:
            if own and uid is not None:
                _give(own, uid)
        write, most = folder if writable else "", file_size or sandbox.scratch << 20
        words = [*first, *_confinement(sandbox, groups, uid, scratch, write, most, len(cores) > 1)]
        home = scratch or steps.SCRATCH
        variables = [*_KEPT_VARIABLES, *(name for name in os.environ if name.startswith("LC_")), *sandbox.variables]
        kept = {name: os.environ[name] for name in variables if name in os.environ}
        kept |= {"HOME": home, "TMPDIR": home, **environment}
        where = words.index("keep")
        words[where:where] = ["folder", folder or home]
        return Child(spawn(words, argv, kept, streams), sandbox, groups, scratch)
    except BaseException:
        if groups is not None:
            groups.remove()
        if scratch:
            remove_folder(Path(scratch))
        raise


def _give(folder: str, uid: int) -> None:
    """Give a folder and its content to this user. Nothing else may change it meanwhile."""
    for _, folders, files, descriptor in os.fwalk(folder):
        os.chown(descriptor, uid, uid)
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)


def _confinement(
    sandbox: Sandbox, groups: BotGroups | None, uid: int | None, scratch: str, write: str, most: int, spread: bool
) -> list[str]:
    """Return the guard's steps for a sandbox.

    Args:
        sandbox: The sandbox.
        groups: The program's control groups.
        uid: The user that it becomes; None for ours.
        scratch: The folder that it gets if it cannot have its own file system.
        write: Another folder that it may write in; "" for none.
        most: Most bytes of a file.
        spread: It may run on several cores.
    """
    machine = this_machine()
    size, network, gpu = sandbox.scratch << 20, "network" in sandbox.allow, "gpu" in sandbox.allow
    read = [*steps.own_folders(), *readable(sandbox), *sandbox.readable]
    if network:
        read.append(os.path.realpath("/etc/resolv.conf"))
    words = [word for path in groups.paths for word in ("group", path)] if groups else []
    if machine.namespaces:
        words += steps.namespaces(machine.namespaces == "user", machine.own_network and not network)
    words += ["init"]
    if groups:
        words.append("make")
        for index, place in enumerate(groups.places):
            words += place.limits(index, sandbox.memory << 20, sandbox.processes)
        words.append("join")
    if machine.namespaces:
        words += steps.new_root(read, write, size, uid, gpu, settings=uid is not None or os.geteuid() != 0)
    counted = "process limit" in machine.kept.get("process count", ()) and (uid is not None or not machine.users)
    words += steps.limits(most, sandbox.processes if counted else 0)
    if uid is not None:
        words += steps.other_user(uid)
    words += steps.no_rights()
    if machine.landlock:
        paths = steps.root_paths(write) if machine.namespaces else steps.old_root_paths(read, scratch, write, gpu)
        words += steps.landlock(network, paths)
    if machine.seccomp:
        words += steps.seccomp(network, spread, not machine.namespaces and uid is None, not machine.namespaces)
    return words


def _user(machine: Machine, program: str, sandbox: Sandbox) -> int | None:
    """Return a separate user ID for the program, or None for ours.

    Without its own root, the other user must be able to reach the program's files.
    """
    if not machine.users:
        return None
    if not machine.namespaces and not all(map(_others_reach, (program, *steps.own_folders(), *sandbox.files))):
        return None
    span = (1 << 29) if machine.users >= 1 << 20 else 10_000  # containers map few user IDs
    return machine.users + (os.getpid() * _SEATS + next(_seats) % _SEATS) % span


def _others_reach(path: str) -> bool:
    """Return True if others may enter every parent folder and read the file."""
    real = Path(os.path.realpath(path))
    try:
        return real.stat().st_mode & 0o004 != 0 and all(folder.stat().st_mode & 0o001 for folder in real.parents)
    except OSError:
        return False


def readable(sandbox: Sandbox) -> list[str]:
    """Return the paths that a sandbox may read. A folder with private content is replaced by its other entries.

    Files beside a private one whose names extend its name, such as `-wal` of a store, are private, too.
    """
    private = [os.path.realpath(path) for path in sandbox.private]
    return [part for path in sandbox.files for part in _parts(path, private)]


def _parts(path: str, private: Sequence[str]) -> list[str]:
    real = os.path.realpath(path)
    if real in private:
        return []
    if not any(own.startswith(f"{real.rstrip('/')}/") for own in private):
        return [path]
    try:
        entries = sorted(os.listdir(path))  # noqa: PTH208
    except OSError:
        return []
    if len(entries) > MOST_ENTRIES:
        return []
    after = tuple(f"{own}{mark}" for own in private for mark in "-.")
    shown = [entry for entry in entries if not f"{real.rstrip('/')}/{entry}".startswith(after)]
    return [part for entry in shown for part in _parts(f"{path.rstrip('/')}/{entry}", private)]


# -- a program that runs to its end ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended: `how` (empty if successful), and the end of its `output` on stdout and stderr."""

    how: str
    output: bytes


def run_confined(
    argv: Sequence[str],
    *,
    folder: Path,
    writable: bool,
    sandbox: Sandbox,
    seconds: float,
    output: int,
    file_size: int = 0,
) -> Finished:
    """Run a program to its end, without input.

    If orphans are adopted, this process must have no other children meanwhile.

    Args:
        argv: The command line.
        folder: Its working directory.
        writable: It may write in `folder`.
        sandbox: The sandbox.
        seconds: The time limit, after which it is killed.
        output: How many bytes of its output are kept, from the end.
        file_size: Most bytes of a file; 0 for the size of its scratch folder.

    Raises:
        StepFailed: A step of the guard failed.
        SandboxError: This machine does not support the sandbox.
    """
    read, write = os.pipe()
    try:
        with open(os.devnull, "rb", buffering=0) as nothing:  # noqa: PTH123 - a descriptor is wanted
            child = start(
                argv,
                (nothing.fileno(), write, write),
                environment={},
                sandbox=sandbox,
                folder=str(folder),
                writable=writable,
                file_size=file_size,
            )
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
    said, late = b"", False
    try:
        said, late = _listen(child.pid, read, seconds, output)
    finally:
        os.close(read)
        os.kill(child.pid, signal.SIGKILL)  # it may have left its group
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        how = "" if ended is None else in_words(ended)
        why = child.why_ended()
        reap(child.pid)
        child.end(())
    if late:
        how = f"it took more than {seconds:g} s"
    elif how == "exit status 0":
        how = ""
    return Finished("; ".join(filter(None, [how, why if how else ""])), said)


def _listen(pid: int, read: int, seconds: float, output: int) -> tuple[bytes, bool]:
    """Return the output until the program ends, and True if the time ran out."""
    import select
    import time

    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(read, select.POLLIN)
    said, until, ended = b"", time.monotonic() + seconds, False
    os.set_blocking(read, False)
    try:
        while True:
            left = 0.0 if ended else until - time.monotonic()
            if left < 0:
                return said, True
            ready = dict(poll.poll(left * 1000))
            if read in ready:
                try:
                    more = os.read(read, 1 << 16)
                except BlockingIOError:
                    more = b""
                if not more:
                    poll.unregister(read)
                said = (said + more)[-output:]
            elif ended:
                return said, False
            ended = ended or pidfd in ready
    finally:
        os.close(pidfd)


def in_words(ended: os.waitid_result) -> str:
    """Describe how a process ended: `exit status 1`, `killed by SIGSEGV`."""
    if ended.si_code == os.CLD_EXITED:
        return f"exit status {ended.si_status}"
    try:
        return f"killed by {signal.Signals(ended.si_status).name}"
    except ValueError:  # a real-time signal has no name
        return f"killed by signal {ended.si_status}"


def _words(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
