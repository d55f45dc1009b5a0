"""Starts the guard with a list of steps and a program. A failed step becomes an error that names it."""

import contextlib
import errno
import fcntl
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ggp.referee.match.sandbox.levels import SandboxError

_REPORT = 3  # the descriptor on which the guard reports
_LONGEST = 1 << 16  # bytes of a report
# Python ignores these signals, which a child must not inherit.
_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)


class StepFailed(Exception):
    """A failed step of the guard: `step` is its name, `number` the errno."""

    def __init__(self, step: str, word: str, number: int) -> None:
        what = step if word.isdigit() else f"{step} {word}".strip()
        super().__init__(f"{what}: {os.strerror(number)}")
        self.step, self.word, self.number = step, word, number

    @property
    def reason(self) -> str:
        """Return the text of the errno."""
        return os.strerror(self.number)


@dataclass(slots=True)
class Spawned:
    """The started processes: the program, and the one that stays with it (0 if there is none).

    Both are children of this process. On `report` the latter names forbidden system calls; -1 if there is none.
    """

    pid: int
    init: int = 0
    report: int = -1

    def forbidden_calls(self) -> list[str]:
        """Return the names of forbidden system calls since the last time."""
        if self.report < 0:
            return []
        with contextlib.suppress(BlockingIOError):
            return [line[5:] for line in os.read(self.report, _LONGEST).decode().splitlines() if line[:5] == "call "]
        return []

    def end_init(self, reap_strays: Callable[[], object] = lambda: None) -> None:
        """End the rest of the process namespace, after the program was reaped.

        `reap_strays` reaps what else was left to us. A child that the program gave us also belongs to its namespace,
        and the kernel keeps the namespace's first process until that child is reaped.
        """
        if self.init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
        reap_strays()
        if self.init:
            reap(self.init)
            self.init = 0
        if self.report >= 0:
            os.close(self.report)
            self.report = -1


@cache
def guard_program() -> str:
    """Return the path of the guard.

    Raises:
        SandboxError: It is missing or not executable.
    """
    for folder in sys.modules[__package__].__path__:
        if os.access(path := f"{folder}/guard", os.X_OK):
            return path
    remedy = "run `make setup`, or install the package again"
    raise SandboxError(f"the program `guard`, which starts bots, is not in the package: {remedy}", code="no-guard")


def spawn(
    steps: Sequence[str],
    argv: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    group: bool = True,
) -> Spawned:
    """Start the program with these steps; without a program the steps are only tried.

    Args:
        steps: The steps of the guard.
        argv: The command line of the program; empty for none.
        environment: The whole environment of the program.
        streams: Descriptors of its stdin, stdout and stderr.
        group: It leads a new process group.

    Raises:
        StepFailed: A step failed; no process is left.
        SandboxError: The guard is missing or cannot be run.
    """
    words = [guard_program(), "parent", str(os.getpid()), *steps, *(["--", *argv] if argv else [])]
    report, theirs = os.pipe()
    sources = [_above_report(descriptor) for descriptor in (*streams, theirs)]
    pid, spawned = 0, Spawned(0)
    try:
        duplicates = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(sources)]
        try:
            pid = os.posix_spawn(
                words[0],
                words,
                environment,
                file_actions=duplicates,
                setpgroup=0 if group else os.getpgrp(),
                setsigmask=(),
                setsigdef=_DEFAULT_SIGNALS,
            )
        except OSError as error:
            if error.errno in (errno.E2BIG, errno.EAGAIN, errno.ENOMEM):
                raise StepFailed("exec", argv[0] if argv else "", error.errno) from None
            remedy = "run `make setup`, or install the package again"
            raise SandboxError(f"{words[0]} cannot be run: {error.strerror}: {remedy}", code="no-guard") from None
        finally:
            for descriptor in {theirs, *sources} - set(streams):
                os.close(descriptor)
        failure = _read_report(report, spawned)
        if spawned.pid:
            reap(pid)
        else:
            spawned.pid = pid
        if failure is not None:
            raise failure
    except BaseException:
        os.close(report)
        for started in dict.fromkeys((pid, spawned.pid, spawned.init)):
            if started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(started, signal.SIGKILL)
        for started in dict.fromkeys((pid, spawned.pid, spawned.init)):
            if started:
                reap(started)
        raise
    if spawned.init:
        os.set_blocking(report, False)
        spawned.report = report
    else:
        os.close(report)
    return spawned


def try_steps(steps: Sequence[str]) -> None:
    """Run these steps in a process that then exits.

    Raises:
        OSError: The host is short of processes, memory or descriptors, so nothing is known about the steps.
        StepFailed: A step is not possible here.
        SandboxError: The guard is missing.
    """
    with open(os.devnull, "r+b", buffering=0) as null:  # noqa: PTH123 - a descriptor is wanted
        try:
            tried = spawn(steps, (), {}, (null.fileno(),) * 3)
        except StepFailed as error:
            if error.number in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                raise OSError(error.number, os.strerror(error.number)) from None
            raise
    _, status = os.waitpid(tried.pid, 0)
    tried.end_init()
    if status:  # a seccomp filter may kill the process, as in a systemd unit without SystemCallErrorNumber
        raise StepFailed(steps[0], "ended its process", errno.EPERM)


def reap(pid: int) -> None:
    """Wait for a child that is ending. It may have been reaped already."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _read_report(report: int, spawned: Spawned) -> StepFailed | None:
    """Read the guard's report until the program runs or has failed to start."""
    said, failure = b"", None
    while not (b"\nbot " in b"\n" + said and said.endswith(b"\n")):
        if not (more := os.read(report, _LONGEST)):
            break
        said += more
    # File names in the report may be invalid UTF-8.
    for line in said.decode(sys.getfilesystemencoding(), "surrogateescape").split("\n"):
        word, _, rest = line.partition(" ")
        if word == "init":
            spawned.init = int(rest)
        elif word == "bot":
            spawned.pid = int(rest)
        elif word == "failed" and failure is None:
            step, *words = rest.split(" ")
            failure = StepFailed(step, " ".join(words[:-1]), int(words[-1]))
    return failure


def _above_report(descriptor: int) -> int:
    """Return the descriptor, or a copy of it that does not clash with the guard's own."""
    return descriptor if descriptor > _REPORT else fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _REPORT + 1)
