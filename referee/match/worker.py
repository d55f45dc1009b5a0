"""One worker process: it plays batches of matches on one core. The parent's side is in pool.

A worker ends with its parent, and its bots end with it. Signals: SIGTERM drops the match that is played and starts no
other; DROP drops it if it is called off, and goes on with the next; ABANDON, sent when the parent has died or the pool
is broken, ends the worker at once.
"""

import contextlib
import errno
import hashlib
import multiprocessing.util
import os
import resource
import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from multiprocessing.context import SpawnContext
from pathlib import Path
from struct import Struct
from types import FrameType

from ggp.protocol.records import Record
from ggp.protocol.safe_files import open_to_append
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopt_orphans, kill_strays
from ggp.referee.match.analysis import show_plies
from ggp.referee.match.match_runner import MOST_BOTS, MatchRunner, Suspended
from ggp.referee.match.openings import Opening
from ggp.referee.match.process import available_cores, pin
from ggp.referee.match.resume import SideFile, done_path
from ggp.referee.match.sandbox.cgroups import remove_own
from ggp.referee.match.series import GameResult, SeriesConfig
from ggp.referee.records import pack

# -- the workers of a pool, in memory that they share with their parent -----------------------------------------------


_LONGEST_NOTICE = 2048  # bytes
CALLED_OFF = 64  # the newest matches that were called off are remembered
# ABANDON is not SIGTERM, which an executor sends to workers as well.
ABANDON = signal.SIGUSR1
DROP = signal.SIGUSR2
_PLACE = Struct("i")
_TEXT = 300  # bytes of why a worker waits


class WorkerRegistry:
    """At most `size` workers. The parent makes it and passes it to each worker that it starts."""

    def __init__(self, context: SpawnContext, size: int) -> None:
        self._places, free = context.Pipe(duplex=False)
        with free:  # it fits into the pipe; each read takes one whole number
            os.write(free.fileno(), b"".join(map(_PLACE.pack, range(size))))
        self._pids = context.RawArray("i", size)  # 0: the place is free
        self._told = context.RawValue("i", 0)  # the signal that all were sent, 0 before
        self._called_off = context.RawArray("Q", CALLED_OFF)
        self._next = 0  # among these
        self._matches = context.RawArray("Q", size)  # what each place plays now, 0: nothing
        self._since = context.RawArray("d", size)  # from when on, seconds of CLOCK_MONOTONIC
        self._waits = context.RawArray("c", size * _TEXT)  # why each place waits for the host, UTF-8 up to a NUL
        self._notices, self._told_notices = context.Pipe(duplex=False)
        for end in (self._notices, self._told_notices):
            os.set_blocking(end.fileno(), False)

    # -- the parent's ------------------------------------------------------------------------------------------------

    def tell(self, number: signal.Signals) -> None:
        """Signal every worker; one that starts later finds the signal recorded."""
        self._told.value = number
        self._signal(number)

    def call_off(self, keys: Iterable[str]) -> None:
        """Cancel these matches, also where they are being played. The oldest marks are forgotten."""
        for key in keys:
            self._called_off[self._next] = mark(key)
            self._next = (self._next + 1) % CALLED_OFF
        self._signal(DROP)

    def playing(self) -> dict[int, float]:
        """Return the marks of the matches that are being played, and since when (CLOCK_MONOTONIC)."""
        return {match: since for match, since in zip(self._matches[:], self._since[:], strict=True) if match}

    def trouble(self) -> str:
        """Return why a worker waits for the host before it can play, or "" if none does."""
        texts = self._waits.raw
        found = (texts[at : at + _TEXT].partition(b"\0")[0] for at in range(0, len(texts), _TEXT))
        return next((text.decode("utf-8", "replace") for text in found if text), "")

    def notices(self) -> list[str]:
        """Return what workers have said with `notify` since the last call."""
        try:
            data = os.read(self._notices.fileno(), 16 * _LONGEST_NOTICE)
        except BlockingIOError:
            return []
        return [text.decode("utf-8", "replace") for text in data.split(b"\0") if text]

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._pids[:]:
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    # -- a worker's --------------------------------------------------------------------------------------------------

    def join(self) -> int:
        """Register this process; its number, from 0. Signals sent to all before are delivered now, perhaps again."""
        with self._places as free:
            (place,) = _PLACE.unpack(os.read(free.fileno(), _PLACE.size))
        self._pids[place] = os.getpid()
        if self._told.value:
            os.kill(os.getpid(), self._told.value)
        return int(place)

    def plays(self, place: int, match: int, now: float) -> None:
        """Note that the worker starts the match with this mark; 0: it plays none."""
        if match:
            self._since[place] = now
        self._matches[place] = match

    def waits(self, place: int, why: str) -> None:
        """Note that the worker waits for the host, which cannot start a process; "": it no longer does."""
        text = why.encode()[: _TEXT - 1]
        self._waits[place * _TEXT : (place + 1) * _TEXT] = text.ljust(_TEXT, b"\0")

    def notify(self, text: str) -> None:
        """Have the parent show these lines. They are dropped if it does not read."""
        data = text.encode("utf-8", "replace").replace(b"\0", b"")[: _LONGEST_NOTICE - 1]
        with contextlib.suppress(OSError):
            os.write(self._told_notices.fileno(), data + b"\0")  # not longer than PIPE_BUF, so in one piece

    def is_called_off(self, match: int) -> bool:
        """Return True if the match with this mark is called off."""
        return match in self._called_off[:]


def mark(key: str) -> int:
    """Return 63 bits of a hash of the key, never 0: two matches do not have the same mark."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) >> 1 or 1


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The place of a worker: `pin` on a core of its own; `record`, the file that it appends to, "" for none.

    `live`: the prefix of the names of side files, "" for that of the record. `cores`: how many a match has; those
    beyond the first are for bots that ponder.
    """

    pin: bool = True
    record: str = ""
    bots: int = MOST_BOTS  # that are kept alive at a time
    live: str = ""
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """The matches of one series, by number; `tried`: how many void attempts of each are stored, 0 by default.

    `begun`: the records of a killed worker: a finished match is kept, another goes on from there.
    """

    setup: SeriesConfig
    numbers: tuple[int, ...]
    tried: tuple[int, ...] = ()
    begun: tuple[Record, ...] = ()
    openings: tuple[Opening, ...] = ()  # of a book, one for each number


@dataclass(frozen=True, slots=True)
class SeriesRefused:
    """A series whose next match could not be played: its name in keys, the bot (or "engine") at fault, and why.

    `who` is REFEREE for a match that was called off.
    """

    series: str
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The whole matches that a worker played. Times are CLOCK_MONOTONIC seconds, the same in all processes.

    `given`: the series it had work for. What was played has its records if the worker has no record file to append
    them to.
    """

    given: list[str]
    played: list[GameResult]
    refused: list[SeriesRefused]
    began: float
    ended: float
    cpu: float  # seconds of this process alone
    rss: int  # KiB, the most so far
    number: int = 0  # of the first match that it had work for


class StopMatch(BaseException):
    """A stop of the worker, which drops its match."""


class MatchDropped(BaseException):
    """An order to drop the match, which was called off."""


REFEREE, ABORTED = "referee", "aborted"
_AGAIN = 0.1  # seconds


class _State:
    """The state that a worker process keeps between chunks."""

    place: WorkerConfig = WorkerConfig()
    table: MatchRunner | None = None
    live: SideFile | None = None
    record: int | None = None
    done: int | None = None  # keeps the matches of a batch until its result is returned
    played: list[GameResult]
    playing = False  # whether SIGTERM may raise StopMatch, and DROP Dropped
    stopped = False
    at = 0  # the match that is played, as `mark` has it
    registry: WorkerRegistry
    slot = 0  # its place in the registry
    spare: list[int]  # cores for bots that ponder


state = _State()
state.spare = []


def begin(place: WorkerConfig, registry: WorkerRegistry) -> None:
    """Initialise this process: take a place in the registry, and the core that goes with it."""
    state.place, state.registry = place, registry
    signal.signal(ABANDON, _abandon)
    signal.signal(DROP, _on_drop)
    signal.signal(signal.SIGTERM, _on_sigterm)
    # Ctrl-C reaches the whole foreground group; the parent decides what it means. Bots would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    while True:
        try:
            threading.Thread(target=_end_with_parent, daemon=True).start()
            break
        except RuntimeError:  # the host has no thread to spare now; without it this worker would outlive its parent
            time.sleep(_AGAIN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    adopt_orphans()
    number = state.slot = registry.join()
    if place.pin:
        cores = available_cores()
        first, *state.spare = [cores[(number * place.cores + more) % len(cores)] for more in range(place.cores)]
        pin(first)
    if place.record:
        state.record = open_to_append(Path(place.record))
    if place.live or place.record:
        state.live = SideFile(place.live or place.record, number + 1)
    if place.live and not place.record:
        with contextlib.suppress(OSError):
            state.done = open_to_append(Path(done_path(place.live, number + 1)))
    multiprocessing.util.Finalize(None, close_table, exitpriority=10)


def play_batch(chunk: list[Batch]) -> BatchResult:
    """Play these matches and record them; stops early when asked to.

    Where a match cannot be played, skip the rest of its series and go on with the next series.
    """
    state.played = []
    if state.done is not None:
        os.ftruncate(state.done, 0)  # the result of the batch before was returned
    refused: list[SeriesRefused] = []
    began, cpu = time.monotonic(), time.process_time()
    try:
        for work in chunk:
            try:
                _play(work)
            except Suspended as error:
                refused.append(SeriesRefused(work.setup.series, error.who, str(error)))
            except MatchDropped:
                refused.append(SeriesRefused(work.setup.series, REFEREE, ABORTED))
                close_table(kill=True)
    except StopMatch:
        close_table(kill=True)
    finally:
        state.playing = False
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended, cpu = time.monotonic(), time.process_time() - cpu
    given, number = [work.setup.series for work in chunk], chunk[0].numbers[0]
    return BatchResult(given, state.played, refused, began, ended, cpu, rss, number)


def _play(work: Batch) -> None:
    """Play the matches of a batch. Raises Suspended, StopMatch, MatchDropped, even if nothing was begun."""
    state.playing = True
    if state.stopped:
        raise StopMatch
    if state.table is None:
        seen = show_plies() if work.setup.extras.shows_plies else None
        registry, waits = state.registry, partial(state.registry.waits, state.slot)
        state.table = MatchRunner(
            _keep, state.live, state.place.bots, seen, spare=state.spare, waits=waits, notify=registry.notify
        )
    try:
        for place, (number, tried) in enumerate(zip_longest(work.numbers, work.tried, fillvalue=0)):
            state.at = mark(work.setup.key(number))
            state.registry.plays(state.slot, state.at, time.monotonic())
            _look_whether_called_off()
            begun = {one.start.match: one for one in work.begun}
            opening = work.openings[place] if work.openings else None
            run_blocking(state.table.play(work.setup, number, tried, begun, opening))
    finally:
        state.at = 0  # nothing is dropped outside of here
        state.registry.plays(state.slot, 0, time.monotonic())


def _keep(record: bytes, result: GameResult) -> None:
    """Append a whole match in one write, so that those of several workers do not mix. The parent syncs.

    A worker killed in the middle leaves half a line, and the next match begins behind that: see read_records.
    Without a file the record goes to the parent, small enough to be stored as it is.
    """
    state.playing = False  # not to be stopped between the record and the count
    if state.record is None:
        result = replace(result, record=pack(record))
        if state.done is not None:
            with contextlib.suppress(OSError):  # without room for it the match counts all the same
                os.write(state.done, record)  # a bot that kills its worker must not undo what it has lost
    elif os.write(state.record, record) < len(record):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), state.place.record)
    state.played.append(result)
    if not result.replayed:
        state.at = 0  # too late to call it off
    state.playing = True
    if state.stopped:
        state.playing = False
        raise StopMatch
    _look_whether_called_off()


def close_table(kill: bool = False) -> None:
    """End every process of this worker, also one that was starting when its match was dropped."""
    table, state.table = state.table, None
    if table is not None:
        run_blocking(table.close(kill))
    kill_strays(())
    remove_own()


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    state.stopped = True
    if state.playing:
        state.playing = False
        raise StopMatch


def _on_drop(number: int, frame: FrameType | None) -> None:
    if state.playing:
        _look_whether_called_off()


def _look_whether_called_off() -> None:
    if state.at and state.registry.is_called_off(state.at):
        state.playing, state.at = False, 0
        raise MatchDropped


def _abandon(number: int, frame: FrameType | None) -> None:
    """End every process of this worker, and the worker; what was finished is in the record."""
    try:
        close_table(kill=True)
    finally:
        os._exit(1)


def _end_with_parent() -> None:
    """End this process with its parent. Runs in a thread.

    It repeats ABANDON: Python handles a signal that comes just before a wait only after that wait.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    try:
        parent.join()
    finally:  # a worker that cannot watch its parent ends too: the parent starts another one
        while True:
            os.kill(os.getpid(), ABANDON)
            time.sleep(_AGAIN)
