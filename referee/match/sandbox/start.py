"""Starts a program confined as its level says, and says afterwards which limit it met."""

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
MOST_ENTRIES = 1000  # of a folder that is shown by its entries
_SEATS = 128  # users of one process that starts programs
_seats = count()
_UNSAFE = (
    "what may write could change files that are not its own here: this needs namespaces, or root with a Python and a "
    "package that all users can read; ggp doctor says more"
)


@dataclass(slots=True)
class Child:
    """A program that was started, and what it has of its own. `end` must be called after it has ended."""

    spawned: Spawned
    sandbox: Sandbox
    groups: BotGroups | None = None
    scratch: str = ""  # a folder of its own to remove, where it could not get a file system
    _calls: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        return self.spawned.pid

    @property
    def watches_idle(self) -> bool:
        """Return True if its processor time can be read, and it can be stopped."""
        return self.groups is not None and "idle turn" in this_machine().kept

    def why_ended(self) -> str:
        """Return the limit that it met, to follow how it ended; "" for none. Call it before `end`."""
        sandbox, reasons = self.sandbox, list[str]()
        self._calls += tuple(self.spawned.forbidden_calls())
        for call in dict.fromkeys(self._calls):
            reasons.append(f"it made the forbidden system call `{call}`: remove it, or run the bot with sandbox = none")
        if self.groups is not None and self.groups.out_of_memory():
            reasons.append(f"out of memory: it may use {sandbox.memory} MiB (memory)")
        if self.groups is not None and self.groups.refused_processes():
            reasons.append(f"it was refused its {_ordinal(sandbox.processes + 1)} process or thread (processes)")
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
        """End what it left behind, and remove what it had. It was reaped before.

        `known`: the children of this process that are no strays; where orphans are adopted, all others are killed.
        """
        self._calls += tuple(self.spawned.forbidden_calls())
        if self.groups is not None:  # before its last process, which removes them if we are killed meanwhile
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
    """Start the program: `environment` is added to what it keeps of ours; `folder` is where it runs, and it may write
    there if `writable`; `nice` as the kernel counts it; `cores` it may run on, () for ours; `address_space` in MiB;
    `file_size`: bytes of a file, 0 for what its scratch folder holds.

    Raises StepFailed, SandboxError.
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
    """Give a folder and all that is in it to this user. Nothing else changes it meanwhile."""
    for _, folders, files, descriptor in os.fwalk(folder):
        os.chown(descriptor, uid, uid)
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)


def _confinement(
    sandbox: Sandbox, groups: BotGroups | None, uid: int | None, scratch: str, write: str, most: int, spread: bool
) -> list[str]:
    """Return the steps of the guard.

    `scratch`: the folder that stands in for a file system of its own; `write`: another folder; `most`: bytes that a
    file may have.
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
    """Return a user of its own if possible, None for ours. Without a root of its own it must reach its files."""
    if not machine.users:
        return None
    if not machine.namespaces and not all(map(_others_reach, (program, *steps.own_folders(), *sandbox.files))):
        return None
    span = (1 << 29) if machine.users >= 1 << 20 else 10_000  # containers have few
    return machine.users + (os.getpid() * _SEATS + next(_seats) % _SEATS) % span


def _others_reach(path: str) -> bool:
    """Return True if every folder above lets others through, and the file itself can be read."""
    real = Path(os.path.realpath(path))
    try:
        return real.stat().st_mode & 0o004 != 0 and all(folder.stat().st_mode & 0o001 for folder in real.parents)
    except OSError:
        return False


def readable(sandbox: Sandbox) -> list[str]:
    """Return its files. A folder that holds something private is shown by its other entries, as they are now.

    What lies beside something private and is called after it, as `-wal` of a store, is private, too.
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
    """A program that has ended: `how`, "" for well, and the end of its `output` on stdout and stderr."""

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
    """Run a program without input to its end, for at most so many seconds; keep the last `output` bytes that it says.

    Where orphans are adopted, this process has no other child meanwhile. Raises StepFailed, SandboxError.
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
    """Return what is said until the program ends, and True if it had to be ended."""
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
    """Say how a process ended: `exit status 1`, `killed by SIGSEGV`."""
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
