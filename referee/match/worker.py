"""A worker process, which plays batches of matches on one core. `pool` is the parent's side.

A worker ends with its parent, and its bots end with it. Signals: SIGTERM drops the match in progress and starts no
other. DROP drops the match if it was called off, and continues with the next. ABANDON, sent when the parent has died or
the pool is broken, ends the worker at once.
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
CALLED_OFF = 64  # matches; older ones that were called off are forgotten
# ABANDON is not SIGTERM, which an executor sends to workers as well.
ABANDON = signal.SIGUSR1
DROP = signal.SIGUSR2
_PLACE = Struct("i")
_TEXT = 300  # bytes of the reason why a worker waits


class WorkerRegistry:
    """Shared memory of the parent and up to `size` workers. The parent passes it to each worker that it starts."""

    def __init__(self, context: SpawnContext, size: int) -> None:
        self._places, free = context.Pipe(duplex=False)
        with free:  # all numbers fit into the pipe, and each read takes one
            os.write(free.fileno(), b"".join(map(_PLACE.pack, range(size))))
        self._pids = context.RawArray("i", size)  # 0: the place is free
        self._told = context.RawValue("i", 0)  # the signal sent to all workers, 0 before
        self._called_off = context.RawArray("Q", CALLED_OFF)
        self._next = 0  # index of the next entry in _called_off
        self._matches = context.RawArray("Q", size)  # mark of the match of each worker, 0 for none
        self._since = context.RawArray("d", size)  # its starting time, in seconds of CLOCK_MONOTONIC
        self._waits = context.RawArray("c", size * _TEXT)  # why each worker waits for the host, UTF-8 up to a NUL
        self._notices, self._told_notices = context.Pipe(duplex=False)
        for end in (self._notices, self._told_notices):
            os.set_blocking(end.fileno(), False)

    # -- for the parent ---------------------------------------------------------------------------------------------

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to every worker, including those that start later."""
        self._told.value = number
        self._signal(number)

    def call_off(self, keys: Iterable[str]) -> None:
        """Cancel these matches, even if they are being played. Only the newest CALLED_OFF of them are remembered."""
        for key in keys:
            self._called_off[self._next] = mark(key)
            self._next = (self._next + 1) % CALLED_OFF
        self._signal(DROP)

    def playing(self) -> dict[int, float]:
        """Return the marks of the matches in progress, and their starting times (CLOCK_MONOTONIC)."""
        return {match: since for match, since in zip(self._matches[:], self._since[:], strict=True) if match}

    def trouble(self) -> str:
        """Return why a worker waits for the host before it can play; "" if none does."""
        texts = self._waits.raw
        found = (texts[at : at + _TEXT].partition(b"\0")[0] for at in range(0, len(texts), _TEXT))
        return next((text.decode("utf-8", "replace") for text in found if text), "")

    def notices(self) -> list[str]:
        """Return the lines that workers sent with `notify` since the last call."""
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

    # -- for a worker ------------------------------------------------------------------------------------------------

    def join(self) -> int:
        """Register this process, and return its number, from 0.

        A signal sent to all workers before is delivered now, perhaps for the second time.
        """
        with self._places as free:
            (place,) = _PLACE.unpack(os.read(free.fileno(), _PLACE.size))
        self._pids[place] = os.getpid()
        if self._told.value:
            os.kill(os.getpid(), self._told.value)
        return int(place)

    def plays(self, place: int, match: int, now: float) -> None:
        """Note that the worker starts the match with this mark; 0 means that it plays none."""
        if match:
            self._since[place] = now
        self._matches[place] = match

    def waits(self, place: int, why: str) -> None:
        """Note why the worker waits for the host to start a process; "" means that it no longer waits."""
        text = why.encode()[: _TEXT - 1]
        self._waits[place * _TEXT : (place + 1) * _TEXT] = text.ljust(_TEXT, b"\0")

    def notify(self, text: str) -> None:
        """Send lines for the screen to the parent. They are dropped if it does not read them."""
        data = text.encode("utf-8", "replace").replace(b"\0", b"")[: _LONGEST_NOTICE - 1]
        with contextlib.suppress(OSError):
            os.write(self._told_notices.fileno(), data + b"\0")  # at most PIPE_BUF bytes, so the write is atomic

    def is_called_off(self, match: int) -> bool:
        """Return True if the match with this mark was called off."""
        return match in self._called_off[:]


def mark(key: str) -> int:
    """Return 63 bits of a hash of the key, never 0."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) >> 1 or 1


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The configuration of a worker.

    `pin` gives it a core for itself. `record` is the file that it appends to, "" for none. `live` is the prefix of the
    names of side files, "" for that of the record. `cores` is the number of cores for a match; those after the first
    are for bots that ponder.
    """

    pin: bool = True
    record: str = ""
    bots: int = MOST_BOTS  # bots kept alive at a time
    live: str = ""
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Matches of one series, by number.

    `tried` is how many void attempts of each are stored, 0 by default. `begun` holds records of a killed worker:
    finished matches are kept, others are continued.
    """

    setup: SeriesConfig
    numbers: tuple[int, ...]
    tried: tuple[int, ...] = ()
    begun: tuple[Record, ...] = ()
    openings: tuple[Opening, ...] = ()  # openings from a book, one for each number


@dataclass(frozen=True, slots=True)
class SeriesRefused:
    """A series whose next match could not be played: its name in keys, the bot (or "engine") at fault, and the reason.

    `who` is REFEREE if the match was called off.
    """

    series: str
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The matches that a worker has played. Times are CLOCK_MONOTONIC seconds, the same in all processes.

    `given` names the series in the batch. Results include records if the worker has no record file to append them to.
    """

    given: list[str]
    played: list[GameResult]
    refused: list[SeriesRefused]
    began: float
    ended: float
    cpu: float  # seconds of this process alone
    rss: int  # KiB, the most so far
    number: int = 0  # the number of the first match in the batch


class StopMatch(BaseException):
    """An exception that stops the worker and drops its match."""


class MatchDropped(BaseException):
    """An exception that drops a match that was called off."""


REFEREE, ABORTED = "referee", "aborted"
_AGAIN = 0.1  # seconds


class _State:
    """The state of a worker process between batches."""

    place: WorkerConfig = WorkerConfig()
    runner: MatchRunner | None = None
    live: SideFile | None = None
    record: int | None = None
    done: int | None = None  # keeps the matches of a batch until its result is returned
    played: list[GameResult]
    playing = False  # SIGTERM may raise StopMatch, and DROP may raise MatchDropped
    stopped = False
    at = 0  # the mark of the match in progress
    registry: WorkerRegistry
    slot = 0  # its place in the registry
    spare: list[int]  # cores for bots that ponder


state = _State()
state.spare = []


def begin(place: WorkerConfig, registry: WorkerRegistry) -> None:
    """Set up this process: register it, and pin it to its core."""
    state.place, state.registry = place, registry
    signal.signal(ABANDON, _abandon)
    signal.signal(DROP, _on_drop)
    signal.signal(signal.SIGTERM, _on_sigterm)
    # Ctrl-C reaches the whole foreground group, but the parent decides what to do. SIG_IGN would be inherited by bots.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    while True:
        try:
            threading.Thread(target=_end_with_parent, daemon=True).start()
            break
        except RuntimeError:  # the host is short of threads, but without this one the worker would outlive its parent
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
    multiprocessing.util.Finalize(None, close_runner, exitpriority=10)


def play_batch(chunk: list[Batch]) -> BatchResult:
    """Play and record these matches, until the worker is asked to stop.

    If a match cannot be played, skip the rest of its series and continue with the next series.
    """
    state.played = []
    if state.done is not None:
        os.ftruncate(state.done, 0)  # the previous result was returned
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
                close_runner(kill=True)
    except StopMatch:
        close_runner(kill=True)
    finally:
        state.playing = False
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended, cpu = time.monotonic(), time.process_time() - cpu
    given, number = [work.setup.series for work in chunk], chunk[0].numbers[0]
    return BatchResult(given, state.played, refused, began, ended, cpu, rss, number)


def _play(work: Batch) -> None:
    """Play the matches of a batch.

    Raises:
        Suspended: A match cannot be played.
        StopMatch: The worker was told to stop.
        MatchDropped: The match was called off.
    """
    state.playing = True
    if state.stopped:
        raise StopMatch
    if state.runner is None:
        seen = show_plies() if work.setup.extras.shows_plies else None
        registry, waits = state.registry, partial(state.registry.waits, state.slot)
        state.runner = MatchRunner(
            _keep, state.live, state.place.bots, seen, spare=state.spare, waits=waits, notify=registry.notify
        )
    try:
        for place, (number, tried) in enumerate(zip_longest(work.numbers, work.tried, fillvalue=0)):
            state.at = mark(work.setup.key(number))
            state.registry.plays(state.slot, state.at, time.monotonic())
            _drop_if_called_off()
            begun = {one.start.match: one for one in work.begun}
            opening = work.openings[place] if work.openings else None
            run_blocking(state.runner.play(work.setup, number, tried, begun, opening))
    finally:
        state.at = 0  # outside of this block nothing may be dropped
        state.registry.plays(state.slot, 0, time.monotonic())


def _keep(record: bytes, result: GameResult) -> None:
    """Append a whole match in one write, so that matches of several workers do not mix. The parent syncs the file.

    If a worker is killed while it writes, the next match follows a partial line: see read_records. Without a record
    file the record is sent to the parent, packed for the store.
    """
    state.playing = False  # no signal may interrupt between the record and the count
    if state.record is None:
        result = replace(result, record=pack(record))
        if state.done is not None:
            with contextlib.suppress(OSError):  # without space for it the match counts nevertheless
                os.write(state.done, record)  # a bot must not undo its loss by killing its worker
    elif os.write(state.record, record) < len(record):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), state.place.record)
    state.played.append(result)
    if not result.replayed:
        state.at = 0  # too late to call it off
    state.playing = True
    if state.stopped:
        state.playing = False
        raise StopMatch
    _drop_if_called_off()


def close_runner(kill: bool = False) -> None:
    """End every process of this worker, even one that was starting when its match was dropped."""
    runner, state.runner = state.runner, None
    if runner is not None:
        run_blocking(runner.close(kill))
    kill_strays(())
    remove_own()


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    state.stopped = True
    if state.playing:
        state.playing = False
        raise StopMatch


def _on_drop(number: int, frame: FrameType | None) -> None:
    if state.playing:
        _drop_if_called_off()


def _drop_if_called_off() -> None:
    if state.at and state.registry.is_called_off(state.at):
        state.playing, state.at = False, 0
        raise MatchDropped


def _abandon(number: int, frame: FrameType | None) -> None:
    """End every process of this worker, and the worker itself. Finished matches are in the record."""
    try:
        close_runner(kill=True)
    finally:
        os._exit(1)


def _end_with_parent() -> None:
    """End this process when its parent ends. Runs in a thread.

    ABANDON is sent repeatedly: if a signal arrives just before a wait, Python handles it only after that wait.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    try:
        parent.join()
    finally:  # a worker that cannot watch its parent ends, too; the parent starts another one
        while True:
            os.kill(os.getpid(), ABANDON)
            time.sleep(_AGAIN)
