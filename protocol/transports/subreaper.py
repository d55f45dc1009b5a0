"""Kernel services for programs that start processes: adopted orphans, and a signal when the parent ends.

They exist only on Linux.
"""

import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Container, Iterator
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_adopting: list[bool] = []
_spared: set[int] = set()  # children that this process had before it adopted orphans
_ROUNDS = 50  # a killed stray may leave children, which then become ours
_PATIENCE = 1.0  # seconds for all of them to end; a frozen process dies only when it is thawed


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant, so that it can be ended.

    Only for a process that from now on knows every child it starts, because kill_strays kills all others.
    """
    _adopting.append(True)
    _spared.update(_children())
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Adopt orphans in this context and kill those left at its end. Do nothing if orphans are adopted already.

    Children started in this context must not outlive it.
    """
    if _adopting:
        yield
        return
    adopt_orphans()
    try:
        yield
    finally:
        kill_strays(())
        _adopting.clear()
        _spared.clear()
        _prctl(_PR_SET_CHILD_SUBREAPER, 0)


def end_with_parent(number: signal.Signals) -> None:
    """Request this signal for when the process that started us ends, however it ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def kill_strays(known: Container[int]) -> None:
    """Kill and reap every child of this process that is not `known`: what other children left when they ended.

    Do nothing in a process that did not call adopt_orphans.
    """
    until = time.monotonic() + _PATIENCE
    for _ in range(_ROUNDS if _adopting else 0):
        strays = [pid for pid in _children() if pid not in known and pid not in _spared]
        if not strays or time.monotonic() > until:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # The first process of a process namespace ends last, and was started first.
        for pid in reversed(strays):
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                _reap(pid, until)


def _reap(pid: int, until: float) -> None:
    """Wait until `until` for a child to end, and reap it.

    Raises:
        ProcessLookupError: There is no such process.
        ChildProcessError: It is not a child of this process.
    """
    descriptor = os.pidfd_open(pid)
    try:
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        end.poll(max(0.0, until - time.monotonic()) * 1000)
        os.waitpid(pid, os.WNOHANG)
    finally:
        os.close(descriptor)


def _children() -> list[int]:
    """Return the children of every thread.

    The kernel keeps one list per thread and may reparent an orphan to any of them.
    """
    words: list[bytes] = []
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            words += (thread / "children").read_bytes().split()
    return [int(word) for word in words]


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
