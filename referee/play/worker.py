"""One worker process: a table on one core that plays the chunks it is given. The parent's side is in run.py.

Whatever ends the parent ends the worker, and whatever ends the worker ends its bots. SIGTERM asks a worker to drop the
match it is in and to go on answering; ABANDON, at the parent's death or when the pool is broken, to end there and then.
"""

import contextlib
import errno
import multiprocessing.util
import os
import resource
import signal
import time
from dataclasses import dataclass
from multiprocessing.sharedctypes import SynchronizedArray
from types import FrameType

from protocol.transports.blocking import run_blocking
from referee.play.reaper import adopt_orphans, end_with_parent, kill_strays, pin
from referee.play.recorder import live_path
from referee.play.series import Played, Setup
from referee.play.table import Suspended, Table


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a worker played: whole matches only. Times are CLOCK_MONOTONIC seconds, the same in all processes."""

    played: list[Played]
    suspended: tuple[str, str] | None  # who, why
    began: float
    ended: float
    cpu: float  # seconds of this process alone
    rss: int  # KiB, the most so far


_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class _Stop(BaseException):
    """The parent asks the worker to drop the match it is in."""


# Not SIGTERM: at its signal the parent may still look alive, and a worker that waits for work would wait for ever.
ABANDON = signal.SIGUSR1
_CLOSED = -1  # in `workers`: the series was stopped before this place was taken


class _State:
    """What a worker process keeps between chunks."""

    setup: Setup
    table: Table | None = None
    live: int | None = None
    record: int | None = None
    played: list[Played]
    playing = False  # whether SIGTERM may raise _Stop
    stopped = False


state = _State()


def begin(setup: Setup, workers: "SynchronizedArray[int]") -> None:
    """Initialise this process: take a free place in `workers` (pids, 0 is free), and the core that goes with it."""
    signal.signal(ABANDON, _abandon)
    end_with_parent(ABANDON)
    if not _parent_lives():  # it ended before we asked
        _abandon()
    signal.signal(signal.SIGTERM, _on_sigterm)
    # Ctrl-C reaches the whole foreground group; the parent decides what it means. Bots would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    adopt_orphans()
    with workers.get_lock():
        place = [pid > 0 for pid in workers[:]].index(False)
        state.stopped = workers[place] == _CLOSED
        workers[place] = os.getpid()
    if setup.pin:
        cores = sorted(os.sched_getaffinity(0))
        pin(cores[place % len(cores)])
    if setup.record:
        state.record = os.open(setup.record, _APPEND, 0o644)
        state.live = os.open(live_path(setup.record, place + 1), _APPEND, 0o644)
    state.setup = setup
    multiprocessing.util.Finalize(None, _close, exitpriority=10)


def play_chunk(numbers: list[int]) -> Chunk:
    """Play these matches of the schedule and record them; stops early when asked to, or when one cannot be played."""
    state.played = []
    suspended = None
    began, cpu = time.monotonic(), time.process_time()
    try:
        state.playing = True
        for number in [] if state.stopped else numbers:
            if state.table is None:
                state.table = Table(state.setup, _keep, state.live)
            run_blocking(state.table.play(number))
    except Suspended as error:
        suspended = (error.who, str(error))
    except _Stop:
        _close(kill=True)
    finally:
        state.playing = False
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Chunk(state.played, suspended, began, time.monotonic(), time.process_time() - cpu, usage.ru_maxrss)


def _keep(record: bytes, facts: Played) -> None:
    """One write for a whole match, so those of several workers do not mix; it outlives us. The parent syncs.

    Whoever is killed in the middle of it leaves half a line, and the next match begins behind that: see read_records.
    """
    state.playing = False  # not to be stopped between the record and the count
    if state.record is not None and os.write(state.record, record) < len(record):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), state.setup.record)
    state.played.append(facts)
    state.playing = True
    if state.stopped:
        state.playing = False
        raise _Stop


def _close(kill: bool = False) -> None:
    """End every process of this worker, also those that a match was stopped over while it started them."""
    table, state.table = state.table, None
    if table is not None:
        run_blocking(table.close(kill))
    kill_strays(())


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    state.stopped = True
    if state.playing:
        state.playing = False
        raise _Stop


def _abandon(number: int = 0, frame: FrameType | None = None) -> None:
    """End every process of this worker, and the worker; what was finished is in the record."""
    try:
        _close(kill=True)
    finally:
        os._exit(1)


def stop_workers(workers: "SynchronizedArray[int]", number: signal.Signals) -> None:
    """The parent's: signal every worker; one that has yet to begin will find that it has been stopped."""
    with workers.get_lock():
        for place, pid in enumerate(workers[:]):
            if pid > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            else:
                workers[place] = _CLOSED


def _parent_lives() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and parent.is_alive()
