"""Runs a series: chunks of it to worker processes; what they played is made durable, then counted. It draws no screen.

Work goes through a concurrent.futures.Executor; tasks are idempotent by key.
"""

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.sharedctypes import SynchronizedArray
from types import FrameType

from referee.play.recorder import Recorder
from referee.play.series import Setup, Tally
from referee.play.worker import ABANDON, Chunk, begin, play_chunk, stop_workers

_COMMIT = (
    0.05  # seconds: "durable by group commit (at most 100 ms)", the time of a slow disk and of a late wake-up in it
)
_SHORT = 0.1  # seconds: chunks that take less are made larger
_LARGEST = 128  # matches in a chunk


@dataclass(slots=True)
class Report:
    """How a series went. `seconds` from the first move of the first match to the end of the last."""

    tally: Tally
    plies: int = 0  # of these matches
    suspended: tuple[str, str] | None = None
    stopped: int = 0  # the signal that ended it early
    seconds: float = 0.0
    cpu: float = 0.0
    rss: int = 0  # KiB, the largest worker
    broken: bool = False  # a worker died
    failed: str = ""  # why a worker could not keep what it played


def run_series(
    setup: Setup, numbers: list[int], jobs: int, recorder: Recorder, tally: Tally, seen: Callable[[Report], None]
) -> Report:
    """Play these matches of the schedule and add them to the tally; `seen` is told whenever some were committed."""
    report = Report(tally)
    if not numbers:
        return report
    context = multiprocessing.get_context("spawn")
    workers: SynchronizedArray[int] = context.Array("i", jobs)
    executor = ProcessPoolExecutor(jobs, context, begin, (setup, workers))
    pool = _Pool(executor, numbers, jobs)
    span: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        report.stopped = number

    with _on_signals(stop):
        with _signals_blocked():
            pool.fill()
        try:
            while pool.running and not (report.suspended or report.stopped):
                _count(pool.gather(), recorder, report, span)
                seen(report)
                pool.fill()
        except OSError as error:  # of a write to the record; what others finished before is kept
            report.failed = str(error)
        except BrokenProcessPool:
            report.broken = True
            stop_workers(workers, ABANDON)
        if report.stopped or report.suspended or report.failed:
            stop_workers(workers, signal.SIGTERM)
        _count(pool.drain(), recorder, report, span)
        executor.shutdown()
    return report


class _Pool:
    """Chunks under way: at most two a worker, so that none waits for us; larger ones when matches are short."""

    def __init__(self, executor: ProcessPoolExecutor, numbers: list[int], jobs: int) -> None:
        self.running: set[Future[Chunk]] = set()
        self._executor = executor
        self._left = numbers
        self._jobs = jobs
        self._size = 1

    def fill(self) -> None:
        while len(self.running) < 2 * self._jobs and self._left:
            size = max(1, min(self._size, len(self._left) // (4 * self._jobs)))
            chunk, self._left = self._left[:size], self._left[size:]
            self.running.add(self._executor.submit(play_chunk, chunk))

    def gather(self) -> list[Chunk]:
        """Wait for chunks, but not longer than what was recorded may wait. Raises BrokenProcessPool."""
        done, self.running = wait(self.running, timeout=_COMMIT, return_when=FIRST_COMPLETED)
        results = [future.result() for future in done]
        if any(chunk.ended - chunk.began < _SHORT for chunk in results):
            self._size = min(2 * self._size, _LARGEST)
        return results

    def drain(self) -> list[Chunk]:
        """What the running chunks had played when they were stopped; nothing more begins."""
        for future in self.running:
            future.cancel()
        left = [future for future in self.running if not future.cancelled()]
        wait(left)
        self.running = set()
        return [future.result() for future in left if future.exception() is None]


def _count(chunks: list[Chunk], recorder: Recorder, report: Report, span: list[float]) -> None:
    """Durable first, then counted; then it may be announced."""
    recorder.commit()
    for chunk in chunks:
        for match in chunk.played:
            report.tally.add(match)
            report.plies += match.plies
        span += [chunk.began, chunk.ended] if chunk.played else []
        report.cpu += chunk.cpu
        report.rss = max(report.rss, chunk.rss)
        report.suspended = report.suspended or chunk.suspended
    report.seconds = max(span) - min(span) if span else 0.0


@contextlib.contextmanager
def _on_signals(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """SIGINT and SIGTERM call this in here."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """No SIGINT or SIGTERM in here; a process that is started in here does not get them before it unblocks them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
