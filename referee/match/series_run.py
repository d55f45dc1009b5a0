"""One or more series played by worker processes: what the record already holds, what is left, and the progress.

Every match is first synced to disk, then counted, and only then announced.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from ggp.protocol.records import Record
from ggp.protocol.transports.signal_fd import STOP_SIGNALS, on_signals
from ggp.referee.match.judge import JUDGE
from ggp.referee.match.match_runner import OPENINGS
from ggp.referee.match.openings import OpeningBook
from ggp.referee.match.pool import PATIENCE, LocalPool, WorkersLost
from ggp.referee.match.record_file import RecordFile, RecordFileError, RecordGone
from ggp.referee.match.series import SeriesConfig, SeriesTally, attempt_of, seats
from ggp.referee.match.worker import Batch, BatchResult, WorkerConfig
from ggp.referee.ratings.sequential import SequentialTest
from ggp.referee.ratings.sprt import Hypotheses

_COMMIT = 0.05  # seconds: "durable by group commit (at most 100 ms)", with a slow disk and a late wake-up
_DEATHS = 3  # times that workers may die in a row, without finishing a match in between


@dataclass(slots=True)
class SeriesRun:
    """A series in progress: its tally so far, and the numbers of the matches that are left."""

    setup: SeriesConfig
    tally: SeriesTally
    left: deque[int]

    @property
    def done(self) -> int:
        """Return the number of matches that are over."""
        return self.tally.games + self.tally.lasting


@dataclass(slots=True)
class SeriesReport:
    """The state of one or more series, during and after the run. Times are CLOCK_MONOTONIC seconds."""

    runs: list[SeriesRun]
    book: OpeningBook | None = None  # the opening book of all series
    plies: int = 0  # plies of the matches played in this run, without those that the record held
    suspended: dict[str, str] = field(default_factory=dict)  # reasons by bot, or by "engine"
    waits: str = ""  # why workers wait for their host to start processes; "" if they do not
    waits_since: float = 0.0
    stopped: int = 0  # the signal that ended it early
    began: float = 0.0  # time of the first move, 0 before
    ended: float = 0.0  # end of the last match
    cpu: float = 0.0
    rss: int = 0  # KiB, the largest worker
    notices: list[str] = field(default_factory=list)  # about bots that give no valid answer, each once
    deaths: int = 0  # how often workers died in a row, without finishing a match in between
    failed: str = ""  # why a match could not be written to the record
    gone: bool = False  # the record is no longer in its place

    @property
    def seconds(self) -> float:
        """Return the duration of the run in seconds."""
        return self.ended - self.began

    @property
    def tally(self) -> SeriesTally:
        """Return the tally of the first series."""
        return self.runs[0].tally

    @property
    def done(self) -> int:
        """Return the number of matches of all series that are over."""
        return sum(run.done for run in self.runs)

    @property
    def attempts(self) -> int:
        """Return the number of matches of all series that were added, void or not."""
        return sum(run.tally.attempts for run in self.runs)

    @property
    def decided(self) -> bool:
        """Return True once the sequential test has accepted a hypothesis."""
        test = self.tally.test
        return test is not None and bool(test.accepted)

    @property
    def over(self) -> bool:
        """Return True if no more matches are to be played."""
        return (
            bool(self.stopped or self.failed or self.gave_up) or self.decided or all(map(self._is_suspended, self.runs))
        )

    @property
    def gave_up(self) -> bool:
        """Return True if the host was short of resources for too long."""
        return bool(self.waits) and time.monotonic() - self.waits_since > PATIENCE

    def wait_for_host(self, why: str) -> None:
        """Note why the workers wait for their host; "" if they do not."""
        if why and not self.waits:
            self.waits_since = time.monotonic()
        self.waits = why

    @property
    def open_runs(self) -> list[SeriesRun]:
        """Return the series with matches that may still begin."""
        return [run for run in self.runs if run.left and not self._is_suspended(run)]

    def suspend(self, who: str, reason: str) -> None:
        """Begin no more matches of this bot; no matches at all if it is the engine or the openings."""
        self.suspended.setdefault(who, reason)

    def _is_suspended(self, run: SeriesRun) -> bool:
        return not self.suspended.keys().isdisjoint({"engine", OPENINGS, JUDGE, *(bot.name for bot in run.setup.bots)})


def new_run(setup: SeriesConfig) -> SeriesRun:
    """Begin a series without a record."""
    return SeriesRun(setup, SeriesTally(), deque(range(setup.games)))


def resume_series(
    setups: Sequence[SeriesConfig],
    hypotheses: Hypotheses | None = None,
    earlier: Mapping[str, int] | None = None,
    mix: bool = False,
) -> tuple[list[SeriesRun], RecordFile]:
    """Open the record of these series, and count the matches that it already holds.

    Args:
        setups: Series that share one record.
        hypotheses: The hypotheses of a test on the first series, whose first bot is the new version.
        earlier: By series, how many attempts the record held when this run began; earlier void games are forgotten.
        mix: Count games of other versions of the bots as theirs; without it they are an error.

    Returns:
        The series with the matches that are left, and the open record file.

    Raises:
        RecordFileError: The record cannot be used.
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
        if not mix:
            _check_versions(run.setup, number, old)
        if earlier and run.tally.attempts == earlier[name]:
            run.tally.forget_voids()
        match = run.setup.result(number, old)
        run.tally.add(match)
        if not match.replayed:
            done[name].add(number)

    record = setups[0].record
    recorder = RecordFile(Path(record) if record else None, keep)
    for name, run in runs.items():
        run.left.extend(number for number in range(run.setup.games) if number not in done[name])
    return list(runs.values()), recorder


def found_in_record(report: SeriesReport, file: RecordFile) -> Iterator[str]:
    """Yield lines for the user about what the record held before this run."""
    record, total = report.runs[0].setup.record, sum(run.setup.games for run in report.runs)
    if file.dropped:
        yield f"{record}: removed {file.dropped} bytes of an unfinished match"
    yield from (f"{record}: {torn}; ignored as an unfinished match" for torn in file.torn)
    if held := total - sum(len(run.left) for run in report.runs):
        yield f"{record} already holds {held} of these {total} matches, which are not played again"


def _check_versions(setup: SeriesConfig, number: int, old: Record) -> None:
    """Check that the bots of this match were the same versions of their programs as now.

    Raises:
        RecordFileError: They were not.
    """
    for index, party in zip(seats(number), old.start.bots, strict=True):
        bot = setup.bots[index]
        if bot.version and party.hash and party.hash != bot.version:
            raise RecordFileError(
                f"{setup.record} holds games of another version of {bot.name} ({party.hash[:12]}, now {bot.version}): "
                "name another file with --record, or use --mix to count both versions as one bot",
                code="other-version",
            )


def run_series(
    report: SeriesReport, jobs: int, recorder: RecordFile, seen: Callable[[SeriesReport], None], cores: int = 1
) -> None:
    """Play the remaining matches until they are over, a signal arrives or a worker dies.

    Args:
        report: Updated as matches end.
        jobs: Matches played at a time.
        recorder: The open record file.
        seen: Called after each commit.
        cores: Cores of each match.
    """
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
                report.wait_for_host(pool.trouble())
                report.notices += [text for text in dict.fromkeys(pool.notices()) if text not in report.notices]
                seen(report)
                _fill(pool, report, recorder.left)
        except RecordGone as gone:
            report.failed, report.gone = str(gone), True
        except OSError as error:  # of a write to the record; matches that were finished before are kept
            report.failed = str(error)
        except WorkersLost:
            report.deaths, recorder.broken = report.deaths + 1, True
        if report.over:
            pool.stop()
        _count(pool.drain(), recorder, report)
        pool.close()


def play_what_is_left(
    report: SeriesReport,
    jobs: int,
    recorder: RecordFile,
    seen: Callable[[SeriesReport], None],
    cores: int,
    died: Callable[[], None],
) -> None:
    """Play the remaining matches, and close the record.

    With a record, matches whose worker died continue in another worker.

    Args:
        report: Updated as matches end.
        jobs: Matches played at a time.
        recorder: The open record file.
        seen: Called after each commit.
        cores: Cores of each match.
        died: Called before matches continue after a worker's death.
    """
    setups = [run.setup for run in report.runs]
    earlier = {run.setup.series: run.tally.attempts for run in report.runs}
    plies = sum(run.tally.plies for run in report.runs)
    while True:
        counted, deaths, report.deaths = report.attempts, report.deaths, 0
        with recorder:
            run_series(report, jobs, recorder, seen, cores)
        if not (report.deaths and setups[0].record) or report.over:
            return
        hypotheses = report.tally.test.hypotheses if report.tally.test else None
        report.runs, recorder = resume_series(setups, hypotheses, earlier, mix=True)  # versions were checked before
        report.plies = sum(run.tally.plies for run in report.runs) - plies
        report.deaths += deaths if report.attempts == counted else 0
        if report.deaths > _DEATHS:
            recorder.broken = True
            recorder.close()
            return
        died()


def _fill(pool: LocalPool, report: SeriesReport, begun: Mapping[str, Record]) -> None:
    """Submit batches, at most two per worker, so that no worker waits. `begun` matches continue where they stopped."""
    while pool.running < 2 * pool.jobs and not report.over and (runs := report.open_runs):
        size = max(1, min(pool.size, sum(len(run.left) for run in runs) // (4 * pool.jobs)))
        pool.submit(_next_batches(runs, size, begun, report.book))


def _next_batches(
    runs: Sequence[SeriesRun], size: int, begun: Mapping[str, Record], book: OpeningBook | None
) -> list[Batch]:
    """Take the next `size` matches, those with the lowest pair numbers of all series first."""
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


def _count(chunks: list[BatchResult], recorder: RecordFile, report: SeriesReport) -> None:
    """Sync the played matches to disk, then count them."""
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
