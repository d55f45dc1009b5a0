"""Worker processes and the batches under way in them, and a series that is played by them.

Batches are idempotent by key. Local workers get them through a socket each, those of a cluster through Dask.
"""

import contextlib
import multiprocessing.util
import os
import pickle
import select
import signal
import socket
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from struct import Struct
from types import FrameType

from ggp.protocol.errors import CodedError
from ggp.protocol.records import Record
from ggp.protocol.transports.signal_fd import STOP_SIGNALS, on_signals
from ggp.referee.match.bot_spec import SHORTAGES, HostBusy
from ggp.referee.match.judge import JUDGE
from ggp.referee.match.match_runner import FIRST_PAUSE, LONGEST_PAUSE, OPENINGS
from ggp.referee.match.openings import OpeningBook
from ggp.referee.match.record_file import Recorder, RecorderError, RecordGone
from ggp.referee.match.series import SeriesConfig, SeriesTally, attempt_of, seats
from ggp.referee.match.worker import ABANDON, Batch, BatchResult, WorkerConfig, WorkerRegistry, begin, play_batch
from ggp.referee.ratings.sequential import SequentialTest
from ggp.referee.ratings.sprt import Hypotheses

_SHORT = 0.1  # seconds: chunks that take less are made larger
_LARGEST = 128  # matches in a chunk
_SAFE = "PYTHONSAFEPATH"
_QUICK = 1.0  # seconds: after a batch that took less, a worker is given the next one before it asks
PATIENCE = 900.0  # seconds that workers wait for a host that is short of processes, memory or descriptors
_LAST = 15.0  # seconds that workers have to end once they were told to; then they are killed
_CHUNK = 1 << 20  # bytes that are read at a time
_LENGTH = Struct("!Q")
_DIED = "a worker process died"


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

    def trouble(self) -> str:
        """Return why workers wait for their host, which cannot start processes now; "" if none waits, or unknown."""
        return ""

    def notices(self) -> list[str]:
        """Return lines for the screen about bots that give no valid answer, since the last call."""
        return []

    @abstractmethod
    def stop(self) -> None:
        """Drop the matches under way, and start none of those that wait."""

    @abstractmethod
    def close(self, wait: bool = True) -> None:
        """End the workers; `wait`: return when every one has ended."""


def _error(future: Future[BatchResult]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()


class WorkerDied(CodedError):
    """A worker process ended without being told to."""

    code = "worker-died"


class LocalPool(WorkerPool):
    """Worker processes on this machine, one a core.

    Each worker has a socket of its own, and no thread or lock stands between it and this process. So a worker that is
    killed at any instant, even in the middle of a message, can neither block the others nor this process.
    """

    def __init__(self, jobs: int, place: WorkerConfig) -> None:
        super().__init__(_SHORT)
        self.jobs = jobs
        self._context = get_context("spawn")
        self._place = place
        self._registry = WorkerRegistry(self._context, jobs)
        self._workers: list[_Worker] = []
        self._waiting: deque[tuple[Future[BatchResult], list[Batch]]] = deque()
        self._stopped = self._broken = False
        self._pause, self._again, self._shortage = 0.0, 0.0, ""
        self._lock = threading.RLock()  # a Dask worker may have several threads that use one pool
        self._finalizer = multiprocessing.util.Finalize(
            self, _hang_up, (self._workers, self._registry), exitpriority=20
        )

    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        future: Future[BatchResult] = Future()
        with self._lock:
            if self._broken:
                future.set_exception(WorkerDied(_DIED))
            elif self._stopped:
                future.set_result(_nothing(chunk))
            else:
                self._waiting.append((future, chunk))
                self._give_out()
        return future

    def gather(self, seconds: float) -> list[BatchResult]:
        self.turn(0 if any(future.done() for future in self._running) else seconds)
        return super().gather(0)

    def turn(self, seconds: float) -> None:
        """Exchange messages with the workers until a batch is over, at most for so many seconds."""
        until = time.monotonic() + seconds
        with self._lock:
            while not self._exchange(until - time.monotonic()) and time.monotonic() < until:
                pass

    def trouble(self) -> str:
        """See WorkerPool.trouble."""
        return self._shortage or self._registry.trouble()

    def loss(self, error: BaseException) -> WorkersLost | None:
        if not isinstance(error, WorkerDied):
            return None
        self._registry.tell(ABANDON)
        return WorkersLost(_DIED)

    def drop(self, keys: list[str]) -> bool:
        self._registry.call_off(keys)
        return True

    def playing(self) -> dict[int, float]:
        return self._registry.playing()

    def notices(self) -> list[str]:
        return self._registry.notices()

    def stop(self) -> None:
        self._stopped = True
        self._registry.tell(signal.SIGTERM)

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        until = time.monotonic() + (_LAST if seconds is None else seconds)
        with self._lock:
            while self._stopped and self._waiting:
                future, chunk = self._waiting.popleft()
                future.set_result(_nothing(chunk))
            while not all(future.done() for future in self._running):
                self._exchange(min(1.0, max(0.0, until - time.monotonic())))
                if time.monotonic() >= until:  # told to stop, and does not: stopped by a signal, or stuck in the kernel
                    for worker in self._workers:
                        worker.process.kill()
                    self._break()
        if any(isinstance(future.exception(), WorkerDied) for future in self._running):
            self._registry.tell(ABANDON)
        return super().drain(0)

    def close(self, wait: bool = True) -> None:
        self._stopped = True
        with self._lock:
            for worker in self._workers:
                worker.socket.close()  # an idle worker ends when it reads the end of its socket
            until = time.monotonic() + _LAST
            for worker in self._workers if wait else ():
                worker.process.join(max(0.0, until - time.monotonic()))
                if worker.process.exitcode is None:
                    worker.process.kill()
                    worker.process.join()
            self._workers.clear()

    # -- messages ------------------------------------------------------------------------------------------------

    def _exchange(self, seconds: float) -> bool:
        """Wait for the workers, at most so long, and read and write what is possible; whether a batch is over."""
        self._give_out()
        poll, by_descriptor = select.poll(), dict[int, _Worker]()
        for worker in self._workers:
            by_descriptor[worker.socket.fileno()] = by_descriptor[worker.process.sentinel] = worker
            poll.register(worker.socket, select.POLLIN | (select.POLLOUT if worker.unsent else 0))
            poll.register(worker.process.sentinel, select.POLLIN)
        ready = {by_descriptor[descriptor] for descriptor, _ in poll.poll(max(0.0, seconds) * 1000)}
        over = False
        for worker in ready:
            over = worker.exchange() or over
        if not self._stopped and any(worker.ended for worker in ready):
            self._break()
        for worker in ready:
            if worker.ended:  # told to stop, it went: what it had is not played
                worker.fail()
        self._workers[:] = [worker for worker in self._workers if not worker.ended]
        if over:
            self._give_out()
        return over or self._broken

    def _give_out(self) -> None:
        """Give each worker that is free what waits; start workers while there are too few."""
        for worker in sorted(self._workers, key=lambda worker: len(worker.batches)):
            if self._waiting and len(worker.batches) < (1 + worker.quick):
                worker.give(*self._waiting.popleft())
        while self._waiting and len(self._workers) < self.jobs and not (self._stopped or self._broken):
            if time.monotonic() < self._again or not self._hire():
                return
            self._workers[-1].give(*self._waiting.popleft())

    def _hire(self) -> bool:
        """Start a worker; whether the host could. It is asked again after a pause, which grows."""
        try:
            ours, theirs = socket.socketpair()
            try:
                words = (theirs, _SAFE not in os.environ, self._place, self._registry)
                process = self._context.Process(target=_work, args=words)
                with _signals_blocked(), _safe_path():
                    process.start()
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()
        except OSError as error:
            if error.errno not in SHORTAGES:
                raise
            self._pause = min(max(FIRST_PAUSE, 2 * self._pause), LONGEST_PAUSE)
            self._again = time.monotonic() + self._pause
            self._shortage = str(HostBusy.of("a worker process", error.errno))
            return False
        ours.setblocking(False)
        self._workers.append(_Worker(process, ours))
        self._pause, self._shortage = 0.0, ""
        return True

    def _break(self) -> None:
        """A worker died: what all of them had is to be played again."""
        self._broken = True
        for worker in self._workers:
            worker.fail()
        while self._waiting:
            self._waiting.popleft()[0].set_exception(WorkerDied(_DIED))


class _Worker:
    """A worker process, this end of its socket, and the batches that it was given and has not returned."""

    def __init__(self, process: SpawnProcess, ours: socket.socket) -> None:
        self.process, self.socket = process, ours
        self.batches: deque[Future[BatchResult]] = deque()
        self.unsent = bytearray()
        self.quick = False  # its last batch was short: another one waits beside it, so that it need not wait for us
        self.ended = False
        self._unread = bytearray()

    def give(self, future: "Future[BatchResult]", chunk: list[Batch]) -> None:
        self.batches.append(future)
        self.unsent += _message(chunk)
        self._write()

    def exchange(self) -> bool:
        """Write and read what is possible without waiting; whether a batch is over."""
        self._write()
        over = False
        try:
            while more := self.socket.recv(_CHUNK):
                self._unread += more
            self.ended = True
        except BlockingIOError:
            self.ended = self.process.exitcode is not None
        except OSError:
            self.ended = True
        while (end := _LENGTH.size + self._announced()) <= len(self._unread):
            said = pickle.loads(self._unread[_LENGTH.size : end])
            del self._unread[:end]
            future, over = self.batches.popleft(), True
            if isinstance(said, BatchResult):
                self.quick = said.ended - said.began < _QUICK
                future.set_result(said)
            else:
                future.set_exception(said)
        return over

    def fail(self) -> None:
        """Its batches come to nothing."""
        while self.batches:
            self.batches.popleft().set_exception(WorkerDied(_DIED))

    def _announced(self) -> int:
        """The length of the message that comes next; more than there is while that is not known."""
        known = len(self._unread) >= _LENGTH.size
        return int(_LENGTH.unpack_from(self._unread)[0]) if known else _LENGTH.size + len(self._unread)

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # full for now; or it has ended, which reading finds
            while self.unsent:
                del self.unsent[: self.socket.send(self.unsent)]


def _message(content: object) -> bytes:
    data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def _error_message(error: Exception) -> bytes:
    """Return the message for an error of a batch. The traceback goes with it as a note, for pickle drops it."""
    told = "".join(traceback.format_exception(error))
    error.add_note(f"in the worker process:\n{told}")
    try:
        message = _message(error)
        pickle.loads(message[_LENGTH.size :])
    except Exception:  # some exceptions cannot be pickled, and others not read again
        return _message(RuntimeError(f"a worker process failed:\n{told}"))
    return message


def _nothing(chunk: list[Batch]) -> BatchResult:
    """The result of a batch that no worker has begun."""
    return BatchResult([work.setup.series for work in chunk], [], [], 0.0, 0.0, 0.0, 0, chunk[0].numbers[0])


def _hang_up(workers: "list[_Worker]", registry: WorkerRegistry) -> None:
    """End workers that are still open when this process ends: multiprocessing would wait for them."""
    if workers:
        registry.tell(ABANDON)
    for worker in workers:
        worker.socket.close()
    for worker in workers:
        worker.process.join(1.0)
        worker.process.kill()  # one that a signal has stopped hears of nothing else


# -- in a worker -----------------------------------------------------------------------------------------------------


def _work(theirs: socket.socket, ours: bool, place: WorkerConfig, registry: WorkerRegistry) -> None:
    """Play the batches that come, one after another, until the socket ends.

    `ours`: a bot's script finds the modules beside it, unless the environment of the parent forbids that.
    """
    theirs.set_inheritable(False)  # no bot holds it open
    if ours:
        os.environ.pop(_SAFE, None)
    begin(place, registry)
    while (head := _receive(theirs, _LENGTH.size)) and (data := _receive(theirs, _LENGTH.unpack(head)[0])):
        try:
            answer = _message(play_batch(pickle.loads(data)))
        except Exception as error:
            answer = _error_message(error)
        try:
            theirs.sendall(answer)
        except OSError:  # its caller has stopped waiting
            return


def _receive(theirs: socket.socket, size: int) -> bytes:
    """So many bytes, b"" where the socket ends before."""
    data = bytearray()
    while len(data) < size:
        try:
            more = theirs.recv(min(_CHUNK, size - len(data)))
        except OSError:
            more = b""
        if not more:
            return b""
        data += more
    return bytes(data)


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
    waits: str = ""  # why workers wait for their host, which cannot start processes now
    waits_since: float = 0.0  # CLOCK_MONOTONIC
    stopped: int = 0  # the signal that ended it early
    began: float = 0.0  # CLOCK_MONOTONIC, 0 before
    ended: float = 0.0
    cpu: float = 0.0
    rss: int = 0  # KiB, the largest worker
    notices: list[str] = field(default_factory=list)  # about bots that give no valid answer, each once
    deaths: int = 0  # how often in a row workers died, without a match in between
    failed: str = ""  # why a worker could not keep what it played
    gone: bool = False  # the record itself is no longer where it was

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
        return (
            bool(self.stopped or self.failed or self.gave_up) or self.decided or all(map(self._is_suspended, self.runs))
        )

    @property
    def gave_up(self) -> bool:
        """Whether the host was short of resources for too long."""
        return bool(self.waits) and time.monotonic() - self.waits_since > PATIENCE

    def wait_for_host(self, why: str) -> None:
        """Note why the workers wait for their host, "" if they do not."""
        if why and not self.waits:
            self.waits_since = time.monotonic()
        self.waits = why

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
    setups: Sequence[SeriesConfig],
    hypotheses: Hypotheses | None = None,
    earlier: Mapping[str, int] | None = None,
    mix: bool = False,
) -> tuple[list[SeriesRun], Recorder]:
    """What the record holds already of these series, which share it, and the recorder.

    `hypotheses`: of a test on the first of them, in which its first bot is the new version. `earlier`: how many
    attempts of each the record held when this run began; voids count from there on. `mix`: games of other versions of
    the bots count as theirs; without it they are an error. Raises RecorderError.
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
    recorder = Recorder(Path(record) if record else None, keep)
    for name, run in runs.items():
        run.left.extend(number for number in range(run.setup.games) if number not in done[name])
    return list(runs.values()), recorder


def _check_versions(setup: SeriesConfig, number: int, old: Record) -> None:
    """Raise RecorderError if a bot of this match was another version of its program."""
    for index, party in zip(seats(number), old.start.bots, strict=True):
        bot = setup.bots[index]
        if bot.version and party.hash and party.hash != bot.version:
            raise RecorderError(
                f"{setup.record} holds games of another version of {bot.name} ({party.hash[:12]}, now {bot.version}): "
                "use --record another file, or --mix to count both versions as one bot",
                code="other-version",
            )


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
                report.wait_for_host(pool.trouble())
                report.notices += [text for text in dict.fromkeys(pool.notices()) if text not in report.notices]
                seen(report)
                _fill(pool, report, recorder.left)
        except RecordGone as gone:
            report.failed, report.gone = str(gone), True
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
