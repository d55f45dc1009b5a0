"""Worker processes and the batches under way in them, and a series that is played by them.

Work goes through a concurrent.futures.Executor; tasks are idempotent by key.
"""

import contextlib
import os
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.context import SpawnContext
from pathlib import Path
from types import FrameType

from ggp.protocol.errors import CodedError
from ggp.protocol.records import Record
from ggp.protocol.transports.signal_fd import STOP_SIGNALS, on_signals
from ggp.referee.play.judge import JUDGE
from ggp.referee.play.match_runner import OPENINGS
from ggp.referee.play.openings import OpeningBook
from ggp.referee.play.record_file import Recorder
from ggp.referee.play.series import SeriesConfig, SeriesTally, attempt_of
from ggp.referee.play.worker import ABANDON, Batch, BatchResult, WorkerConfig, WorkerRegistry, begin, play_batch
from ggp.referee.ratings.sequential import SequentialTest
from ggp.referee.ratings.sprt import Hypotheses

_SHORT = 0.1  # seconds: chunks that take less are made larger
_LARGEST = 128  # matches in a chunk
_SAFE = "PYTHONSAFEPATH"


class WorkersLost(CodedError):
    """Worker processes ended and cannot be replaced; str() is one line that says why."""

    code = "workers-lost"


class WorkerPool(ABC):
    """Workers that play batches: each plays one while another waits for it.

    `jobs`: matches at a time. `size`: how many matches a batch should hold, more where they take less than `short`
    seconds in all.
    """

    jobs: int

    def __init__(self, short: float) -> None:
        self.size = 1
        self._short = short
        self._running: set[Future[BatchResult]] = set()

    @property
    def running(self) -> int:
        """Batches under way."""
        return len(self._running)

    def submit(self, chunk: list[Batch]) -> None:
        """Have these matches played by one worker."""
        try:
            future = self.start(chunk)
        except Exception as error:  # gather raises it
            future = Future()
            future.set_exception(error)
        self._running.add(future)

    def gather(self, seconds: float) -> list[BatchResult]:
        """The results so far; waits at most `seconds` for the first. Raises WorkersLost, and OSError of a full disk."""
        done, self._running = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        failed = [future for future in done if _error(future)]
        self._running |= set(failed)  # until all that was finished before is taken
        if failed and len(failed) == len(done):
            error = _error(failed[0])
            assert error is not None
            raise self.loss(error) or error
        results = [future.result() for future in done if future not in failed]
        if any(result.ended - result.began < self._short for result in results):
            self.size = min(2 * self.size, _LARGEST)
        return results

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        """What the batches under way have played. Call `stop` before: then batches that wait come back empty."""
        left, self._running = self._running, set()
        done, late = wait(left, timeout=seconds)
        for future in late:
            future.cancel()
        return [future.result() for future in done if not _error(future)]

    @abstractmethod
    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        """Have these matches played by one worker; its result."""

    @abstractmethod
    def loss(self, error: BaseException) -> WorkersLost | None:
        """The loss of workers that an error of a batch means, None if it means none."""

    @abstractmethod
    def drop(self, keys: list[str]) -> bool:
        """Cancel these matches and the rest of their batches; False if workers cannot be reached."""

    @abstractmethod
    def playing(self) -> dict[int, float] | None:
        """The marks (see WorkerRegistry) of the matches that are being played, and since when; None: unknown."""

    @abstractmethod
    def stop(self) -> None:
        """Drop the matches under way, and start none of those that wait."""

    @abstractmethod
    def close(self, wait: bool = True) -> None:
        """End the workers; `wait`: return when every one has ended."""


def _error(future: Future[BatchResult]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()


class LocalPool(WorkerPool):
    """Worker processes on this machine, one a core."""

    def __init__(self, jobs: int, place: WorkerConfig) -> None:
        super().__init__(_SHORT)
        self.jobs = jobs
        context = NamelessContext()
        ours = _SAFE not in os.environ
        self._registry = WorkerRegistry(context, jobs)
        with _safe_path():  # its queues start a process that counts such things
            self._executor = ProcessPoolExecutor(jobs, context, _begin, (ours, place, self._registry))

    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        with _signals_blocked(), _safe_path():  # workers may be started in here
            return self._executor.submit(play_batch, chunk)

    def loss(self, error: BaseException) -> WorkersLost | None:
        if not isinstance(error, BrokenProcessPool):
            return None
        self._registry.tell(ABANDON)  # the executor waits for those that are left, and they for work
        return WorkersLost("a worker process died")

    def drop(self, keys: list[str]) -> bool:
        self._registry.call_off(keys)
        return True

    def playing(self) -> dict[int, float]:
        return self._registry.playing()

    def stop(self) -> None:
        self._registry.tell(signal.SIGTERM)

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        # Not cancelled: stopped workers give waiting chunks back at once, and an executor whose last futures are
        # cancelled never ends in Python before 3.11.4 (its issue 94440).
        wait(self._running)
        for future in self._running:
            if error := future.exception():
                self.loss(error)
        return super().drain()

    def close(self, wait: bool = True) -> None:
        self._executor.shutdown(wait)


class Tokens:
    """A semaphore between processes: bytes in a pipe. It has no name, so nothing is left of it when all are killed.

    A multiprocessing.Semaphore of spawned processes has a name, which the resource tracker removes, unless it is killed
    with the others.
    """

    def __init__(self, context: SpawnContext, value: int) -> None:
        self._reader, self._writer = context.Pipe(duplex=False)
        os.set_blocking(self._reader.fileno(), False)
        os.write(self._writer.fileno(), b"." * value)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            with contextlib.suppress(BlockingIOError):
                return bool(os.read(self._reader.fileno(), 1))
            left = None if until is None else max(0.0, until - time.monotonic())
            if not block or (not self._reader.poll(left) and left is not None):
                return False

    def release(self) -> None:
        os.write(self._writer.fileno(), b".")

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    @property
    def _semlock(self) -> "Tokens":
        """multiprocessing.Queue.full asks this for `_is_zero`."""
        return self

    def _is_zero(self) -> bool:
        return not self._reader.poll(0)


class NamelessContext(SpawnContext):
    """Spawns processes; the locks of its queues are Tokens."""

    def Lock(self) -> Tokens:  # type: ignore[override]
        return Tokens(self, 1)

    def BoundedSemaphore(self, value: int = 1) -> Tokens:  # type: ignore[override]
        return Tokens(self, value)


def _begin(ours: bool, place: WorkerConfig, registry: WorkerRegistry) -> None:
    """Initialise a worker. A bot's script finds the modules beside it, unless the environment forbids that."""
    if ours:
        os.environ.pop(_SAFE, None)
    begin(place, registry)


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """A Python that starts in here imports nothing from the current folder, as with `-P`.

    multiprocessing takes no such option for its workers.
    """
    if _SAFE in os.environ:
        yield
        return
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE]


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """No SIGINT or SIGTERM in here; a process that is started in here does not get them before it unblocks them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- series: their matches are made durable, then counted --------------------------------------------------------------


_COMMIT = 0.05  # seconds: "durable by group commit (at most 100 ms)", with a slow disk and a late wake-up


@dataclass(slots=True)
class SeriesRun:
    """A series as it is played: what counts so far, and the numbers of the matches that are left."""

    setup: SeriesConfig
    tally: SeriesTally
    left: deque[int]

    @property
    def done(self) -> int:
        """Matches that are over."""
        return self.tally.games + self.tally.lasting


@dataclass(slots=True)
class SeriesReport:
    """How one series or several went. `seconds` from the first move of the first match to the end of the last.

    `suspended`: why, by bot, or by "engine".
    """

    runs: list[SeriesRun]
    book: OpeningBook | None = None  # of all series
    plies: int = 0  # of the matches that were played, not of those that the record held
    suspended: dict[str, str] = field(default_factory=dict)
    stopped: int = 0  # the signal that ended it early
    began: float = 0.0  # CLOCK_MONOTONIC, 0 before
    ended: float = 0.0
    cpu: float = 0.0
    rss: int = 0  # KiB, the largest worker
    deaths: int = 0  # how often in a row workers died, without a match in between
    failed: str = ""  # why a worker could not keep what it played

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def tally(self) -> SeriesTally:
        """Of the first series."""
        return self.runs[0].tally

    @property
    def attempts(self) -> int:
        """Matches of all series that were added, void or not."""
        return sum(run.tally.attempts for run in self.runs)

    @property
    def decided(self) -> bool:
        """Whether its sequential test has stopped."""
        test = self.tally.test
        return test is not None and bool(test.accepted)

    @property
    def over(self) -> bool:
        """Whether nothing more is to be played."""
        return bool(self.stopped or self.failed) or self.decided or all(map(self._is_suspended, self.runs))

    @property
    def open_runs(self) -> list[SeriesRun]:
        """The series with matches that may still begin."""
        return [run for run in self.runs if run.left and not self._is_suspended(run)]

    def suspend(self, who: str, reason: str) -> None:
        """Begin no more matches of this bot; none at all if it is the engine, or the openings."""
        self.suspended.setdefault(who, reason)

    def _is_suspended(self, run: SeriesRun) -> bool:
        return not self.suspended.keys().isdisjoint({"engine", OPENINGS, JUDGE, *(bot.name for bot in run.setup.bots)})


def new_run(setup: SeriesConfig) -> SeriesRun:
    """Of a series of which no record holds anything."""
    return SeriesRun(setup, SeriesTally(), deque(range(setup.games)))


def resume_series(
    setups: Sequence[SeriesConfig], hypotheses: Hypotheses | None = None, earlier: Mapping[str, int] | None = None
) -> tuple[list[SeriesRun], Recorder]:
    """What the record holds already of these series, which share it, and the recorder.

    `hypotheses`: of a test on the first of them, in which its first bot is the new version. `earlier`: how many
    attempts of each the record held when this run began; voids count from there on. Raises RecorderError.
    """
    runs = {setup.series: SeriesRun(setup, SeriesTally(), deque()) for setup in setups}
    done = {name: set[int]() for name in runs}
    if hypotheses is not None:
        test = runs[setups[0].series].tally.test = SequentialTest(hypotheses)
        test.expect(range(setups[0].games // 2))

    def keep(old: Record) -> None:
        name = old.start.match.rpartition("-")[0]
        run = runs.get(name)
        number = run.setup.number(old.start.match) if run else None
        if run is None or number is None or number >= run.setup.games:
            return
        if earlier and run.tally.attempts == earlier[name]:
            run.tally.forget_voids()
        match = run.setup.result(number, old)
        run.tally.add(match)
        if not match.replayed:
            done[name].add(number)

    record = setups[0].record
    recorder = Recorder(Path(record) if record else None, keep)
    for name, run in runs.items():
        run.left.extend(number for number in range(run.setup.games) if number not in done[name])
    return list(runs.values()), recorder


def run_series(
    report: SeriesReport, jobs: int, recorder: Recorder, seen: Callable[[SeriesReport], None], cores: int = 1
) -> None:
    """Play the matches that are left, each on so many `cores`; `seen` is called after each commit."""
    if report.over or not report.open_runs:
        return
    setup = report.runs[0].setup
    bots = {bot for run in report.runs for bot in (*run.setup.bots, *filter(None, [run.setup.judge]))}
    pool = LocalPool(jobs, WorkerConfig(setup.pin, setup.record, bots=len(bots), cores=cores))

    def stop(number: int, frame: FrameType | None) -> None:
        report.stopped = number

    with on_signals(stop, *STOP_SIGNALS):
        try:
            _fill(pool, report, recorder.left)
            while pool.running and not report.over:
                _count(pool.gather(_COMMIT), recorder, report)
                seen(report)
                _fill(pool, report, recorder.left)
        except OSError as error:  # of a write to the record; what others finished before is kept
            report.failed = str(error)
        except WorkersLost:
            report.deaths, recorder.broken = report.deaths + 1, True
        if report.over:
            pool.stop()
        _count(pool.drain(), recorder, report)
        pool.close()


def _fill(pool: LocalPool, report: SeriesReport, begun: Mapping[str, Record]) -> None:
    """Submit batches, at most two a worker, so that no worker waits. `begun` matches go on."""
    while pool.running < 2 * pool.jobs and not report.over and (runs := report.open_runs):
        size = max(1, min(pool.size, sum(len(run.left) for run in runs) // (4 * pool.jobs)))
        pool.submit(_next_batches(runs, size, begun, report.book))


def _next_batches(
    runs: Sequence[SeriesRun], size: int, begun: Mapping[str, Record], book: OpeningBook | None
) -> list[Batch]:
    """The next `size` matches, round by round: of all series those with the lowest numbers of pairs."""
    batches = []
    while size > 0 and (left := [run for run in runs if run.left]):
        run = min(left, key=lambda run: run.left[0] // 2)
        most = size if len(left) == 1 else min(size, 2 - run.left[0] % 2)
        numbers = [run.left.popleft() for _ in range(min(most, len(run.left)))]
        size -= len(numbers)
        by_number = {run.setup.number(key): record for key, record in begun.items()}
        these = {number: by_number[number] for number in numbers if number in by_number}
        last = {number: attempt_of(record.start.match) for number, record in these.items()}
        tried = tuple(max(run.tally.tried[number], last.get(number, 0)) for number in numbers)
        openings = tuple(book.opening(number // 2, run.setup.seed) for number in numbers) if book else ()
        batches.append(Batch(run.setup, tuple(numbers), tried, tuple(these.values()), openings))
    return batches


def _count(chunks: list[BatchResult], recorder: Recorder, report: SeriesReport) -> None:
    """Durable first, then counted; then it may be announced."""
    recorder.commit()
    runs = {run.setup.series: run for run in report.runs}
    for chunk in chunks:
        for match in chunk.played:
            tally = runs[match.key.rpartition("-")[0]].tally
            tally.add(match)
            if tally.suspended:
                report.suspend(*tally.suspended)
            report.plies += match.plies
        if chunk.played:
            report.began = min(report.began or chunk.began, chunk.began)
            report.ended = max(report.ended, chunk.ended)
        report.cpu += chunk.cpu
        report.rss = max(report.rss, chunk.rss)
        for refused in chunk.refused:
            report.suspend(refused.who, refused.reason)
