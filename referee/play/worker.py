"""One worker process: a table on one core that plays the chunks it is given. The parent's side is in run.py.

Whatever ends the parent ends the worker, and whatever ends the worker ends its bots. SIGTERM asks a worker to drop the
match it is in and to begin no other; DROP, to drop it if it is among those that are called off, and to go on with the
next; ABANDON, at the parent's death or when the pool is broken, to end there and then.
"""

import contextlib
import errno
import hashlib
import multiprocessing.util
import os
import resource
import signal
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing.sharedctypes import SynchronizedArray
from types import FrameType

from protocol.transports.blocking import run_blocking
from referee.play.reaper import adopt_orphans, end_with_parent, kill_strays, pin
from referee.play.recorder import APPEND, open_live
from referee.play.series import Played, Setup
from referee.play.table import MOST_BOTS, Suspended, Table


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker works: on a core of its own or not, with a record file that it appends to or without ("").

    `live`: what the names of the side files begin with that its plies are written to, "" for the record's.
    """

    pin: bool = True
    record: str = ""
    bots: int = MOST_BOTS  # that are kept alive at a time
    live: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Matches of one setup, by number; `tried`: how many void attempts of each were kept before, none by default."""

    setup: Setup
    numbers: tuple[int, ...]
    tried: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A series whose next match could not be played: its name in keys, who is to blame ("engine" too), why.

    REFEREE is to blame for one that was called off.
    """

    series: str
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a worker played: whole matches only. Times are CLOCK_MONOTONIC seconds, the same in all processes.

    `given`: the series it had work for. `records` of what was played, in the same order, compressed (zlib), if the
    worker has no record file to append them to.
    """

    given: list[str]
    played: list[Played]
    records: list[bytes]
    refused: list[Refused]
    began: float
    ended: float
    cpu: float  # seconds of this process alone
    rss: int  # KiB, the most so far
    number: int = 0  # of the first match that it had work for


class Stop(BaseException):
    """Raised in a worker that is to drop the match it is in."""


class Dropped(BaseException):
    """Raised in a worker whose match was called off."""


# Not SIGTERM: at its signal the parent may still look alive, and a worker that waits for work would wait for ever.
ABANDON = signal.SIGUSR1
DROP = signal.SIGUSR2
REFEREE, ABORTED = "referee", "aborted"
CALLED_OFF = 64  # the newest matches that were called off are remembered
_CLOSED = -1  # in `workers`: the series was stopped before this place was taken


class _State:
    """What a worker process keeps between chunks."""

    place: Place = Place()
    table: Table | None = None
    live: int | None = None
    record: int | None = None
    played: list[Played]
    records: list[bytes]
    playing = False  # whether SIGTERM may raise Stop, and DROP Dropped
    stopped = False
    at = 0  # the match that is played, as `mark` has it
    called_off: "SynchronizedArray[int] | None" = None


state = _State()


def begin(place: Place, workers: "SynchronizedArray[int]", called_off: "SynchronizedArray[int] | None" = None) -> None:
    """Initialise this process: take a free place in `workers` (pids, 0 is free), and the core that goes with it.

    `called_off` holds the marks of matches that are not to be played.
    """
    signal.signal(ABANDON, _abandon)
    state.called_off = called_off
    signal.signal(DROP, _on_drop)
    end_with_parent(ABANDON)
    if not _parent_lives():  # it ended before we asked
        _abandon()
    signal.signal(signal.SIGTERM, _on_sigterm)
    # Ctrl-C reaches the whole foreground group; the parent decides what it means. Bots would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    adopt_orphans()
    with workers.get_lock():
        number = [pid > 0 for pid in workers[:]].index(False)
        state.stopped = workers[number] == _CLOSED
        workers[number] = os.getpid()
    if place.pin:
        cores = sorted(os.sched_getaffinity(0))
        pin(cores[number % len(cores)])
    if place.record:
        state.record = os.open(place.record, APPEND, 0o644)
    if place.live or place.record:
        with contextlib.suppress(OSError):  # nobody can look on then
            state.live = open_live(place.live or place.record, number + 1)
    state.place = place
    multiprocessing.util.Finalize(None, close_table, exitpriority=10)


def play_chunk(chunk: list[Work]) -> Chunk:
    """Play these matches and record them; stops early when asked to.

    Where a match cannot be played, the rest of its setup is left and the next setup begun.
    """
    state.played, state.records = [], []
    refused: list[Refused] = []
    began, cpu = time.monotonic(), time.process_time()
    try:
        for work in chunk:
            try:
                _play(work)
            except Suspended as error:
                refused.append(Refused(work.setup.series, error.who, str(error)))
            except Dropped:
                refused.append(Refused(work.setup.series, REFEREE, ABORTED))
                close_table(kill=True)
    except Stop:
        close_table(kill=True)
    finally:
        state.playing = False
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended, cpu = time.monotonic(), time.process_time() - cpu
    given, number = [work.setup.series for work in chunk], chunk[0].numbers[0]
    return Chunk(given, state.played, state.records, refused, began, ended, cpu, rss, number)


def _play(work: Work) -> None:
    """Raises Suspended; Stop and Dropped, also where nothing was begun."""
    state.playing = True
    if state.stopped:
        raise Stop
    if state.table is None:
        state.table = Table(_keep, state.live, state.place.bots)
    try:
        for number, tried in zip_longest(work.numbers, work.tried, fillvalue=0):
            state.at = mark(work.setup.key(number))
            _look_whether_called_off()
            run_blocking(state.table.play(work.setup, number, tried))
    finally:
        state.at = 0  # nothing is dropped outside of here


def _keep(record: bytes, facts: Played) -> None:
    """One write for a whole match, so those of several workers do not mix; it outlives us. The parent syncs.

    Whoever is killed in the middle of it leaves half a line, and the next match begins behind that: see read_records.
    Without a file the record goes to the parent, small enough to be stored as it is.
    """
    state.playing = False  # not to be stopped between the record and the count
    if state.record is None:
        state.records.append(zlib.compress(record, 1))
    elif os.write(state.record, record) < len(record):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), state.place.record)
    state.played.append(facts)
    if not facts.replayed:
        state.at = 0  # too late to call it off
    state.playing = True
    if state.stopped:
        state.playing = False
        raise Stop
    _look_whether_called_off()


def close_table(kill: bool = False) -> None:
    """End every process of this worker, also those that a match was stopped over while it started them."""
    table, state.table = state.table, None
    if table is not None:
        run_blocking(table.close(kill))
    kill_strays(())


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    state.stopped = True
    if state.playing:
        state.playing = False
        raise Stop


def _on_drop(number: int, frame: FrameType | None) -> None:
    if state.playing:
        _look_whether_called_off()


def _look_whether_called_off() -> None:
    if state.at and state.called_off is not None and state.at in state.called_off[:]:
        state.playing, state.at = False, 0
        raise Dropped


def _abandon(number: int = 0, frame: FrameType | None = None) -> None:
    """End every process of this worker, and the worker; what was finished is in the record."""
    try:
        close_table(kill=True)
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


def call_off(workers: "SynchronizedArray[int]", called_off: "SynchronizedArray[int]", keys: Iterable[str]) -> None:
    """The parent's: none of these matches is begun, and whoever is in one drops it. The oldest marks are forgotten."""
    marks = [mark(key) for key in keys][-CALLED_OFF:]
    with called_off.get_lock():
        called_off[:] = [*called_off[:], *marks][-CALLED_OFF:]
    with workers.get_lock():
        for pid in workers[:]:
            if pid > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, DROP)


def mark(key: str) -> int:
    """A match in so many bits that no two are taken for each other; never 0."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) >> 1 or 1


def _parent_lives() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and parent.is_alive()
