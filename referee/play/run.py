"""Runs a series: chunks of it to worker processes; what they played is made durable, then counted. It draws nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType

from protocol.records import Record
from referee.play.pool import LocalPool, WorkersLost, on_signals
from referee.play.recorder import Recorder
from referee.play.series import Setup, Tally, attempt_of
from referee.play.worker import Chunk, Place, Work

_COMMIT = (
    0.05  # seconds: "durable by group commit (at most 100 ms)", the time of a slow disk and of a late wake-up in it
)


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
    tally.forget_voids()
    if not numbers:
        return report
    pool = LocalPool(jobs, Place(setup.pin, setup.record))
    span: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        report.stopped = number

    with on_signals(stop):
        begun = recorder.left
        left = _fill(pool, setup, numbers, begun, tally.tried)
        try:
            while pool.running and not (report.suspended or report.stopped):
                _count(pool.gather(_COMMIT), recorder, report, span)
                seen(report)
                left = _fill(pool, setup, left, begun, tally.tried)
        except OSError as error:  # of a write to the record; what others finished before is kept
            report.failed = str(error)
        except WorkersLost:
            report.broken = recorder.broken = True
        if report.stopped or report.suspended or report.failed:
            pool.stop()
        _count(pool.drain(), recorder, report, span)
        pool.close()
    return report


def _fill(
    pool: LocalPool, setup: Setup, left: list[int], begun: Mapping[str, Record], void: Mapping[int, int]
) -> list[int]:
    """Give out chunks, at most two a worker, so that none waits for us; what is left.

    `begun` matches go on; `void`: how many attempts at each match the record holds.
    """
    by_number = {setup.number(key): record for key, record in begun.items()}
    while pool.running < 2 * pool.jobs and left:
        size = max(1, min(pool.size, len(left) // (4 * pool.jobs)))
        chunk, left = left[:size], left[size:]
        these = {number: by_number[number] for number in chunk if number in by_number}
        last = {number: attempt_of(record.start.match) for number, record in these.items()}
        tried = tuple(max(void.get(number, 0), last.get(number, 0)) for number in chunk)
        pool.submit([Work(setup, tuple(chunk), tried, tuple(these.values()))])
    return left


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
        for refused in chunk.refused:
            report.suspended = report.suspended or (refused.who, refused.reason)
        report.suspended = report.suspended or report.tally.suspended
    report.seconds = max(span) - min(span) if span else 0.0
