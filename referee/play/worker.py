"""One worker process: a table on one core that plays the chunks it is given. The parent's side is in run.py.

Whatever ends the parent ends the worker, and whatever ends the worker ends its bots.
"""

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


class _Stop(BaseException):
    """The parent asks the worker to drop the match it is in."""


class _State:
    """What a worker process keeps between chunks."""

    setup: Setup
    table: Table | None = None
    live: int | None = None
    playing = False
    stopped = False


def begin(setup: Setup, workers: "SynchronizedArray[int]") -> None:
    """Initialise this process: take a free place in `workers` (pids, 0 is free), and the core that goes with it."""
    end_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGTERM, _on_sigterm)
    # Ctrl-C reaches the whole foreground group; the parent decides what it means. Bots would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    adopt_orphans()
    with workers.get_lock():
        place = list(workers[:]).index(0)
        workers[place] = os.getpid()
    if setup.pin:
        cores = sorted(os.sched_getaffinity(0))
        pin(cores[place % len(cores)])
    if setup.live:
        path = live_path(setup.live, place + 1)
        _State.live = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    _State.setup = setup
    multiprocessing.util.Finalize(None, _close, exitpriority=10)


def play_chunk(numbers: list[int]) -> Chunk:
    """Play these matches of the schedule; stops early when asked to, or when one cannot be played."""
    played: list[Played] = []
    suspended = None
    began, cpu = time.monotonic(), time.process_time()
    _State.playing = True
    try:
        for number in [] if _State.stopped else numbers:
            if _State.table is None:
                _State.table = Table(_State.setup, _State.live)
            run_blocking(_State.table.play(number, played.append))
    except Suspended as error:
        suspended = (error.who, str(error))
    except _Stop:
        _State.playing = False
        _close(kill=True)
        if not _parent_lives():
            os._exit(1)
    finally:
        _State.playing = False
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Chunk(played, suspended, began, time.monotonic(), time.process_time() - cpu, usage.ru_maxrss)


def _close(kill: bool = False) -> None:
    """End every process of this worker, also those that a match was stopped over while it started them."""
    table, _State.table = _State.table, None
    if table is not None:
        run_blocking(table.close(kill))
    kill_strays(())


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    _State.stopped = True
    if _State.playing:
        _State.playing = False
        raise _Stop
    if not _parent_lives():
        _close(kill=True)
        os._exit(1)


def _parent_lives() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and parent.is_alive()
