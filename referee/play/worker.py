"""One worker process: a table on one core that plays the chunks it is given. The parent's side is in run.py.

Whatever ends the parent ends the worker, and whatever ends the worker ends its bots. SIGTERM asks a worker to drop the
match it is in and to begin no other; DROP, to drop it if it is among those that are called off, and to go on with the
next; ABANDON, at the parent's death or when the pool is broken, to end there and then.
"""

import contextlib
import errno
import multiprocessing.util
import os
import resource
import signal
import threading
import time
import zlib
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import FrameType

from protocol.orphans import adopt_orphans, kill_strays
from protocol.records import Record
from protocol.safe_files import open_to_append
from protocol.transports.blocking import run_blocking
from referee.play.cores import pin
from referee.play.crew import ABANDON, DROP, Crew, mark
from referee.play.recorder import SideFile, done_path
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
    """Matches of one setup, by number; `tried`: how many void attempts of each were kept before, none by default.

    `begun`: what a worker that was killed left of them. It is kept if it was finished, else the match goes on.
    """

    setup: Setup
    numbers: tuple[int, ...]
    tried: tuple[int, ...] = ()
    begun: tuple[Record, ...] = ()


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


REFEREE, ABORTED = "referee", "aborted"
_AGAIN = 0.1  # seconds


class _State:
    """What a worker process keeps between chunks."""

    place: Place = Place()
    table: Table | None = None
    live: SideFile | None = None
    record: int | None = None
    done: int | None = None  # where matches are kept until their chunk is handed over
    played: list[Played]
    records: list[bytes]
    playing = False  # whether SIGTERM may raise Stop, and DROP Dropped
    stopped = False
    at = 0  # the match that is played, as `mark` has it
    crew: Crew | None = None
    slot = 0  # its place in the crew


state = _State()


def begin(place: Place, crew: Crew) -> None:
    """Initialise this process: take a place in the crew, and the core that goes with it."""
    state.place, state.crew = place, crew
    signal.signal(ABANDON, _abandon)
    signal.signal(DROP, _on_drop)
    signal.signal(signal.SIGTERM, _on_sigterm)
    # Ctrl-C reaches the whole foreground group; the parent decides what it means. Bots would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    adopt_orphans()
    number = state.slot = crew.join()
    if place.pin:
        cores = sorted(os.sched_getaffinity(0))
        pin(cores[number % len(cores)])
    if place.record:
        state.record = open_to_append(Path(place.record))
    if place.live or place.record:
        state.live = SideFile(place.live or place.record, number + 1)
    if place.live and not place.record:
        with contextlib.suppress(OSError):
            state.done = open_to_append(Path(done_path(place.live, number + 1)))
    multiprocessing.util.Finalize(None, close_table, exitpriority=10)


def play_chunk(chunk: list[Work]) -> Chunk:
    """Play these matches and record them; stops early when asked to.

    Where a match cannot be played, the rest of its setup is left and the next setup begun.
    """
    state.played, state.records = [], []
    if state.done is not None:
        os.ftruncate(state.done, 0)  # the chunk before has been handed over
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
            _say_what_is_played(state.at)
            _look_whether_called_off()
            run_blocking(state.table.play(work.setup, number, tried, {one.start.match: one for one in work.begun}))
    finally:
        state.at = 0  # nothing is dropped outside of here
        _say_what_is_played(0)


def _say_what_is_played(match: int) -> None:
    if state.crew is not None:
        state.crew.plays(state.slot, match, time.monotonic())


def _keep(record: bytes, facts: Played) -> None:
    """One write for a whole match, so those of several workers do not mix; it outlives us. The parent syncs.

    Whoever is killed in the middle of it leaves half a line, and the next match begins behind that: see read_records.
    Without a file the record goes to the parent, small enough to be stored as it is.
    """
    state.playing = False  # not to be stopped between the record and the count
    if state.record is None:
        state.records.append(zlib.compress(record, 1))
        if state.done is not None:
            with contextlib.suppress(OSError):  # without room for it the match counts all the same
                os.write(state.done, record)  # a bot that kills its worker must not undo what it has lost
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
    if state.at and state.crew is not None and state.crew.is_called_off(state.at):
        state.playing, state.at = False, 0
        raise Dropped


def _abandon(number: int, frame: FrameType | None) -> None:
    """End every process of this worker, and the worker; what was finished is in the record."""
    try:
        close_table(kill=True)
    finally:
        os._exit(1)


def _end_with_parent() -> None:
    """A thread: what comes right before Python waits is noticed after that wait only, so this comes again and again."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    try:
        parent.join()
    finally:  # a worker that cannot watch its parent ends too: the parent starts another one
        while True:
            os.kill(os.getpid(), ABANDON)
            time.sleep(_AGAIN)
