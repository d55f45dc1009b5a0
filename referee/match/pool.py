"""Worker processes that play batches of matches.

A batch may be submitted twice: results are identified by key. Local workers get batches through a socket each, those of
a cluster through Dask.
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
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from struct import Struct

from ggp.protocol.errors import CodedError
from ggp.referee.match.bot_spec import SHORTAGES, HostBusy
from ggp.referee.match.match_runner import FIRST_PAUSE, LONGEST_PAUSE
from ggp.referee.match.worker import ABANDON, Batch, BatchResult, WorkerConfig, WorkerRegistry, begin, play_batch

_SHORT = 0.1  # seconds; batches that take less are made larger
_LARGEST = 128  # matches in a batch
_SAFE = "PYTHONSAFEPATH"
_QUICK = 1.0  # seconds; after a batch that took less, a worker gets the next one in advance
PATIENCE = 900.0  # seconds that workers wait for a host that is short of processes, memory or descriptors
_LAST = 15.0  # seconds that workers have to end before they are killed
_CHUNK = 1 << 20  # bytes read at a time
_LENGTH = Struct("!Q")
_DIED = "a worker process died"


class WorkersLost(CodedError):
    """A loss of worker processes that cannot be replaced; str() is one line that says why."""

    code = "workers-lost"


class WorkerPool(ABC):
    """A pool of workers that play batches; each worker plays one while the next one waits.

    `jobs` is the number of matches played at a time. `size` is how many matches a batch should hold; it grows while
    batches take less than `short` seconds.
    """

    jobs: int

    def __init__(self, short: float) -> None:
        self.size = 1
        self._short = short
        self._running: set[Future[BatchResult]] = set()

    @property
    def running(self) -> int:
        """Return the number of batches in progress."""
        return len(self._running)

    def submit(self, chunk: list[Batch]) -> None:
        """Submit matches as one batch for one worker."""
        try:
            future = self.start(chunk)
        except Exception as error:  # gather raises it
            future = Future()
            future.set_exception(error)
        self._running.add(future)

    def gather(self, seconds: float) -> list[BatchResult]:
        """Return the results that are ready, after waiting up to `seconds` for the first.

        Raises:
            WorkersLost: Workers died.
            OSError: A worker could not write its records.
        """
        done, self._running = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        failed = [future for future in done if _error(future)]
        self._running |= set(failed)  # results of finished batches are returned before the error is raised
        if failed and len(failed) == len(done):
            error = _error(failed[0])
            assert error is not None
            raise self.loss(error) or error
        results = [future.result() for future in done if future not in failed]
        if any(result.ended - result.began < self._short for result in results):
            self.size = min(2 * self.size, _LARGEST)
        return results

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        """Return the results of all batches in progress. Call `stop` first, so that waiting batches come back empty."""
        left, self._running = self._running, set()
        done, late = wait(left, timeout=seconds)
        for future in late:
            future.cancel()
        return [future.result() for future in done if not _error(future)]

    @abstractmethod
    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        """Give these matches to one worker, and return a future of their result."""

    @abstractmethod
    def loss(self, error: BaseException) -> WorkersLost | None:
        """Return the loss of workers that an error of a batch means, or None."""

    @abstractmethod
    def drop(self, keys: list[str]) -> bool:
        """Cancel these matches and the rest of their batches. Return False if the workers cannot be reached."""

    @abstractmethod
    def playing(self) -> dict[int, float] | None:
        """Return the marks of the matches in progress and when they began (see WorkerRegistry); None if unknown."""

    def trouble(self) -> str:
        """Return why workers wait for their host to start processes; "" if none waits, or if unknown."""
        return ""

    def notices(self) -> list[str]:
        """Return the new lines for the screen about bots that give no valid answer."""
        return []

    @abstractmethod
    def stop(self) -> None:
        """Drop the matches in progress, and start none of the waiting ones."""

    @abstractmethod
    def close(self, wait: bool = True) -> None:
        """End the workers. With `wait`, return when all have ended."""


def _error(future: Future[BatchResult]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()


class WorkerDied(CodedError):
    """A worker process that ended unexpectedly."""

    code = "worker-died"


class LocalPool(WorkerPool):
    """The worker processes of this machine, one per core.

    Each worker has its own socket, without a thread or a lock between it and this process. So a worker that is killed
    at any moment, even in the middle of a message, can block neither the other workers nor this process.
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
        """Give these matches to the next free worker, and return a future of their result."""
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
        """Return the results that are ready, after waiting up to `seconds` for the first."""
        self.turn(0 if any(future.done() for future in self._running) else seconds)
        return super().gather(0)

    def turn(self, seconds: float) -> None:
        """Exchange messages with the workers until a batch is finished, for at most `seconds`."""
        until = time.monotonic() + seconds
        with self._lock:
            while not self._exchange(until - time.monotonic()) and time.monotonic() < until:
                pass

    def trouble(self) -> str:
        """Return why workers cannot start processes at the moment, or ""."""
        return self._shortage or self._registry.trouble()

    def loss(self, error: BaseException) -> WorkersLost | None:
        """Return the loss of workers if a worker process died; end all workers in this case."""
        if not isinstance(error, WorkerDied):
            return None
        self._registry.tell(ABANDON)
        return WorkersLost(_DIED)

    def drop(self, keys: list[str]) -> bool:
        """Cancel these matches. Return True, because local workers can always be reached."""
        self._registry.call_off(keys)
        return True

    def playing(self) -> dict[int, float]:
        """Return the marks of the matches in progress and their starting times."""
        return self._registry.playing()

    def notices(self) -> list[str]:
        """Return the new lines for the screen about bots that give no valid answer."""
        return self._registry.notices()

    def stop(self) -> None:
        """Drop the matches in progress, and start none of the waiting ones."""
        self._stopped = True
        self._registry.tell(signal.SIGTERM)

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        """Return the results of all batches in progress; kill workers that do not stop in time."""
        until = time.monotonic() + (_LAST if seconds is None else seconds)
        with self._lock:
            while self._stopped and self._waiting:
                future, chunk = self._waiting.popleft()
                future.set_result(_nothing(chunk))
            while not all(future.done() for future in self._running):
                self._exchange(min(1.0, max(0.0, until - time.monotonic())))
                if time.monotonic() >= until:  # a worker is suspended by a signal, or stuck in the kernel
                    for worker in self._workers:
                        worker.process.kill()
                    self._break()
        if any(isinstance(future.exception(), WorkerDied) for future in self._running):
            self._registry.tell(ABANDON)
        return super().drain(0)

    def close(self, wait: bool = True) -> None:
        """End the workers. With `wait`, kill those that do not end in time."""
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
        """Wait up to `seconds` for the workers, and exchange data with them. Return True if a batch is finished."""
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
            if worker.ended:  # it was told to stop, and its batches are not played
                worker.fail()
        self._workers[:] = [worker for worker in self._workers if not worker.ended]
        if over:
            self._give_out()
        return over or self._broken

    def _give_out(self) -> None:
        """Give waiting batches to free workers, and start workers while there are too few."""
        for worker in sorted(self._workers, key=lambda worker: len(worker.batches)):
            if self._waiting and len(worker.batches) < (1 + worker.quick):
                worker.give(*self._waiting.popleft())
        while self._waiting and len(self._workers) < self.jobs and not (self._stopped or self._broken):
            if time.monotonic() < self._again or not self._hire():
                return
            self._workers[-1].give(*self._waiting.popleft())

    def _hire(self) -> bool:
        """Start a worker. Return False if the host cannot; the next try follows after a growing pause."""
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
        """Fail all batches after a worker died, so that they are played again."""
        self._broken = True
        for worker in self._workers:
            worker.fail()
        while self._waiting:
            self._waiting.popleft()[0].set_exception(WorkerDied(_DIED))


class _Worker:
    """A worker process, our end of its socket, and the batches that it has not returned yet."""

    def __init__(self, process: SpawnProcess, ours: socket.socket) -> None:
        self.process, self.socket = process, ours
        self.batches: deque[Future[BatchResult]] = deque()
        self.unsent = bytearray()
        self.quick = False  # its last batch was short, so it gets another in advance and need not wait for us
        self.ended = False
        self._unread = bytearray()

    def give(self, future: "Future[BatchResult]", chunk: list[Batch]) -> None:
        """Send a batch to this worker."""
        self.batches.append(future)
        self.unsent += _message(chunk)
        self._write()

    def exchange(self) -> bool:
        """Write and read what is possible without waiting. Return True if a batch is finished."""
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
        """Fail the worker's batches."""
        while self.batches:
            self.batches.popleft().set_exception(WorkerDied(_DIED))

    def _announced(self) -> int:
        """Return the length of the next message; if it is not known yet, more than has been read."""
        known = len(self._unread) >= _LENGTH.size
        return int(_LENGTH.unpack_from(self._unread)[0]) if known else _LENGTH.size + len(self._unread)

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # the socket is full, or the worker has ended, which reading detects
            while self.unsent:
                del self.unsent[: self.socket.send(self.unsent)]


def _message(content: object) -> bytes:
    data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def _error_message(error: Exception) -> bytes:
    """Return the message for an error of a batch, with its traceback as a note, because pickle drops tracebacks."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(f"in the worker process:\n{trace}")
    try:
        message = _message(error)
        pickle.loads(message[_LENGTH.size :])
    except Exception:  # some exceptions cannot be pickled, or not unpickled
        return _message(RuntimeError(f"a worker process failed:\n{trace}"))
    return message


def _nothing(chunk: list[Batch]) -> BatchResult:
    """Return the result of a batch that no worker has begun."""
    return BatchResult([work.setup.series for work in chunk], [], [], 0.0, 0.0, 0.0, 0, chunk[0].numbers[0])


def _hang_up(workers: "list[_Worker]", registry: WorkerRegistry) -> None:
    """End the workers that are left when this process exits. Otherwise multiprocessing would wait for them."""
    if workers:
        registry.tell(ABANDON)
    for worker in workers:
        worker.socket.close()
    for worker in workers:
        worker.process.join(1.0)
        worker.process.kill()  # a worker suspended by a signal reacts to nothing else


# -- in a worker -----------------------------------------------------------------------------------------------------


def _work(theirs: socket.socket, ours: bool, place: WorkerConfig, registry: WorkerRegistry) -> None:
    """Play the batches that arrive, one after another, until the socket is closed.

    `ours` means that we set PYTHONSAFEPATH: it is removed, so that the script of a bot finds the modules beside it.
    """
    theirs.set_inheritable(False)  # bots must not inherit it
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
    """Read exactly `size` bytes; return b"" if the socket is closed before."""
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
    """Make a Python that is started inside this block ignore the current folder for imports, like `python -P`.

    multiprocessing has no such option for its workers.
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
    """Block SIGINT and SIGTERM inside this block, and in processes started inside it until they unblock them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
