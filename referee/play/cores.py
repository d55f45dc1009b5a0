"""Keeping a process on one core, letting another off it, and the time spent in the queue for one. Linux only."""

import contextlib
import os
from pathlib import Path

_cores: set[int] = set()  # that this process might run on before it was pinned


def pin(core: int) -> None:
    """Keep this process, and all that it starts, on one core: they take turns, so they share its caches."""
    _cores.update(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})


def unpin(pid: int) -> None:
    """Let a process that was just started run on every core that we might have run on before we were pinned."""
    if _cores:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(pid, _cores)


def run_delay() -> float:
    """Seconds this thread has stood ready in the queue for a core; 0 where the kernel does not count it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
