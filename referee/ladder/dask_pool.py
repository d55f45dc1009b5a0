"""A pool of workers on a Dask cluster: it submits chunks of matches and gathers their results.

The cluster may grow and shrink. A chunk whose worker is lost is played again from its start, so a match may be played
twice: its key identifies it. Such a loss is a fault of the network or of a machine, never of a bot. Dask is imported
when a pool is made, not before.
"""

import asyncio
import contextlib
import ctypes
import gc
import logging
import multiprocessing.util
import queue
import re
import socket
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from protocol.installed import version
from protocol.printed import without_password
from protocol.transports.pipe import report_on_stderr
from protocol.transports.subreaper import adopt_orphans, kill_strays
from referee.play import worker
from referee.play.match_runner import MOST_BOTS
from referee.play.pool import WorkersLost, paced
from referee.play.worker import Batch, BatchResult, StopMatch, WorkerConfig

if TYPE_CHECKING:
    from distributed import Client


# -- What a Dask worker does for a ladder: one thread keeps a table and plays.


PROJECT = "general-game-protocol"
_IDLE = 60.0  # seconds without work after which bots are ended
_PATIENCE = 10.0  # seconds that a worker which has to end waits for its bots
_LOOK = 1.0  # seconds between looks at whether the thread still lives
_PLUGIN = "ggp-bots"


@dataclass(frozen=True, slots=True)
class Versions:
    """What a worker and who gives it work must have in common."""

    project: str
    python: str
    core: bool  # whether the rules were compiled

    def __str__(self) -> str:
        core = "" if self.core else " without its compiled core"
        return f"{PROJECT} {self.project}{core} and Python {self.python}"


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk of a run's work. `bots`: how many are kept alive at a time; `versions`: the client's."""

    run: str
    chunk: list[Batch]
    bots: int
    versions: Versions


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """What came of a task, and what CLOCK_MONOTONIC of this machine said when it was done."""

    chunk: BatchResult
    clock: float


class WorkerEnding(Exception):
    """This worker has to end: another may play the chunk."""


class WrongWorker(Exception):
    """This worker is not of the client's kind; str() is one line that names the remedy."""


def versions() -> Versions:
    """Those of this process."""
    try:
        core = find_spec("engines._core") is not None
    except ImportError:
        core = False
    return Versions(version(PROJECT), f"{sys.version_info[0]}.{sys.version_info[1]}", core)


def misfit(where: str, found: Versions, wanted: Versions) -> str:
    """Why a worker cannot play for this client, one line; "" if it can."""
    return (
        "" if found == wanted else f"the worker at {where} has {found}, and here are {wanted}: install the same there"
    )


def play_here(task: Task) -> TaskAnswer:
    """Play a batch, if its run goes on; tasks play one after another. Raises WrongWorker, WorkerEnding."""
    host = socket.gethostname()
    if reason := misfit(host, versions(), task.versions):
        raise WrongWorker(reason)
    chunk = _bench().play(task)
    blamed = [replace(refused, reason=f"{refused.reason} (on {host})") for refused in chunk.refused]
    return TaskAnswer(replace(chunk, refused=blamed), time.monotonic())


def end_run(run: str, drop: bool) -> None:
    """Begin no more of this run's chunks; `drop`: nor end the match that is under way. Returns at once."""
    with _lock:
        _ended.add(run)
    if drop and (bench := _benches.get("")):
        bench.drop(run)


def leave(run: str) -> None:
    """The run is over: end it, and the bots that no run needs now. Returns at once."""
    end_run(run, drop=True)
    if bench := _benches.get(""):
        bench.clear()


_lock = threading.Lock()
_ended: set[str] = set()
_benches: dict[str, "_PlayThread"] = {}  # of this process: one, once there was work


def _bench() -> "_PlayThread":
    with _lock:
        if "" not in _benches or _benches[""].failed:
            bench = _benches[""] = _PlayThread()
            bench.start()
            multiprocessing.util.Finalize(None, bench.close, exitpriority=10)
            _at_workers_end(bench)
        return _benches[""]


def _at_workers_end(bench: "_PlayThread") -> None:
    """Have the Dask worker end our match before it waits for its tasks to end."""
    from distributed.worker import get_worker

    get_worker().plugins[_PLUGIN] = _Teardown(bench)  # type: ignore[assignment]


class _Teardown:
    """The part of a worker plugin of Dask that we need."""

    def __init__(self, bench: "_PlayThread") -> None:
        self._bench = bench

    def teardown(self, worker: object) -> None:
        self._bench.close()


class _PlayThread(threading.Thread):
    """The one thread that plays. Another may have it drop its match, as worker.play_chunk is stopped by a signal."""

    def __init__(self) -> None:
        super().__init__(name="ggp-bench", daemon=True)
        self._tasks: queue.SimpleQueue[tuple[Task, Future[BatchResult]] | None] = queue.SimpleQueue()
        self._run = ""  # whose chunk is being played
        self._closed = False

    def play(self, task: Task) -> BatchResult:
        """Called by Dask's threads; returns when the chunk is played. Raises WorkerEnding."""
        answer: Future[BatchResult] = Future()
        self._tasks.put((task, answer))
        while self.is_alive():
            with contextlib.suppress(TimeoutError):
                chunk = answer.result(_LOOK)
                if self._closed:  # what there is of it may not be all
                    break
                return chunk
        raise WorkerEnding

    @property
    def failed(self) -> bool:
        """Whether the thread has ended by itself: then another one takes its place."""
        return self.ident is not None and not self.is_alive() and not self._closed

    def drop(self, run: str) -> None:
        """Drop the match under way if it is of this run ("": of any): within a second while it waits for a bot."""
        with _lock:
            if self._run and run in ("", self._run) and not worker.state.stopped:
                worker.state.stopped = True
                if worker.state.playing:
                    _raise_in(self, StopMatch)

    def clear(self) -> None:
        """End the bots as soon as no chunk waits."""
        self._tasks.put(None)

    def close(self) -> None:
        """End the match and every process that it started; nothing is played any more."""
        if not self._closed:
            self._closed = True
            self.drop("")
            self.clear()
            self.join(_PATIENCE)
            kill_strays(())

    def run(self) -> None:
        """The life of the thread."""
        adopt_orphans()
        while not self._closed or not self._tasks.empty():
            try:
                waiting = self._tasks.get(timeout=_IDLE)
            except queue.Empty:
                waiting = None
            if waiting is None:
                try:
                    worker.close_table()
                except Exception as error:  # the next chunk has a table of its own
                    report_on_stderr(error)
                continue
            task, answer = waiting
            try:
                answer.set_result(self._play(task))
            except BaseException as error:
                answer.set_exception(error)
        worker.close_table(kill=True)

    def _play(self, task: Task) -> BatchResult:
        state, began = worker.state, time.monotonic()
        state.place = WorkerConfig(pin=False, bots=task.bots)
        state.played, state.records = [], []
        try:
            with _lock:
                self._run, state.stopped = task.run, self._closed or task.run in _ended
            chunk = worker.play_batch(task.chunk)
            self._end_chunk()
        except StopMatch:  # it came when the chunk was about to end, or while a table was being closed
            self._end_chunk()
            worker.close_table(kill=True)
            given = [work.setup.series for work in task.chunk]
            chunk = BatchResult(given, state.played, state.records, [], began, time.monotonic(), 0.0, 0)
        return replace(chunk, records=chunk.records[: len(chunk.played)])

    def _end_chunk(self) -> None:
        """From here on nothing is dropped."""
        with _lock:
            self._run = ""
            _raise_in(self, None)


def _raise_in(thread: threading.Thread, error: type[BaseException] | None) -> None:
    """Have a thread raise this between two steps of its program, as a signal's handler would; None: what it has yet
    to raise is forgotten. A call that waits in the kernel is not interrupted."""
    what = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), what)


T = TypeVar("T")

SLOT = "slot"
OURS = versions()
_SCHEMES = {"dask": "tcp", "dask+tls": "tls"}
_SHORT = 0.5  # seconds: a chunk should take longer than its way through the network
_TRIES = 3  # to play a chunk, each of them on as many workers as Dask's allowed-failures says
_COUNT = 1.0  # seconds between counts of the slots
_LAST = 60.0  # seconds that workers have to answer when they were told to drop everything
_TELL = 10.0  # seconds to tell all workers something
_CLOSING = ("closing", "closed", "newly-created")


class DaskPool:
    """One chunk at a time for each slot of the cluster: see referee.play.pool.Pool. `jobs` is the number of slots.

    `bots` are kept alive at a time by a worker; `patience`: seconds to wait for a scheduler, once it is gone too;
    `drought`: seconds to wait for a worker when there is none. Raises WorkersLost when the cluster cannot be used.
    """

    def __init__(self, url: str, bots: int = MOST_BOTS, *, patience: float = 15.0, drought: float = 300.0) -> None:
        self.url, self.jobs, self._size = url, 1, 1
        self._bots, self._patience, self._drought = bots, patience, drought
        self._client = _connect(url, patience)
        self._run = uuid.uuid4().hex[:12]
        self._number = 0
        self._running: set[Future[BatchResult]] = set()
        self._kept: list[BatchResult] = []  # done, and not taken because something else went wrong
        self._stopped = False
        self._slots = 0
        self._seen = time.monotonic()  # when there was a slot for the last time
        try:
            self._counting: Future[None] = self._on_loop(self._count_slots())
            self._await_slots()
            self._check_versions()
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def size(self) -> int:
        return self._size

    def submit(self, chunk: list[Batch]) -> None:
        self._number += 1
        task = Task(self._run, chunk, self._bots, OURS)
        self._running.add(self._on_loop(self._play(task, f"ggp-{self._run}-{self._number}")))

    def gather(self, seconds: float) -> list[BatchResult]:
        if not self._running:
            time.sleep(seconds)
        self._check_cluster()
        done, self._running = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        lost = self._take(done)
        if lost is not None:
            raise lost
        chunks, self._kept = self._kept, []
        self._size = paced(self._size, chunks, _SHORT)
        return chunks

    def drop(self, keys: list[str]) -> bool:
        return False  # its workers hear of whole runs only

    def playing(self) -> None:
        """Dask does not say which tasks its workers have begun."""

    def stop(self) -> None:
        """Matches under way end within about a second; one that a bot or an engine is being set up for, then."""
        self._stopped = True
        self._tell(end_run, self._run, True)

    def drain(self) -> list[BatchResult]:
        if self._running and not self._stopped:
            self._tell(end_run, self._run, False)
        until = time.monotonic() + _LAST
        while self._running and self._client.status not in _CLOSING:
            done, self._running = wait(self._running, timeout=_COUNT)
            self._take(done)
            nobody_there = time.monotonic() - self._seen > self._patience
            if nobody_there or (self._stopped and time.monotonic() > until):
                break
        for future in self._running:
            future.cancel()
        self._running = set()
        chunks, self._kept = self._kept, []
        return chunks

    def close(self) -> None:
        """The workers stay, without our bots; they are another's."""
        if self._client.status not in _CLOSING:
            self._tell(leave, self._run)
        with contextlib.suppress(Exception):  # whatever is wrong with the cluster, we are done with it
            self._client.close(timeout=_TELL)  # type: ignore[no-untyped-call]

    # -- on the event loop of the client, which has a thread of its own --------------------------------------

    async def _play(self, task: Task, key: str) -> BatchResult:
        """Have a chunk played, again if its workers are lost. Raises WorkersLost."""
        lost = ""
        attempts, tries = count(), 0
        while tries < _TRIES:
            await self._connected()
            try:
                future = self._client.submit(
                    play_here, task, key=f"{key}-{next(attempts)}", resources={SLOT: 1}, pure=False
                )
                answer = await self._client.gather(future, asynchronous=True)  # type: ignore[no-untyped-call]
            except WrongWorker as error:
                raise WorkersLost(str(error)) from None
            except ImportError as error:
                raise WorkersLost(
                    f"a worker of {without_password(self.url)} is not of our kind ({error}): install {OURS} there"
                ) from None
            except WorkerEnding:
                continue
            except CancelledError:
                tries, lost = tries + 1, "the scheduler forgot it when its connection to us was lost"
            except Exception as error:
                tries, lost = tries + 1, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            else:
                return _as_if_here(answer)
        raise WorkersLost(f"{without_password(self.url)} could not play a chunk, {_TRIES} times in a row; last: {lost}")

    async def _connected(self) -> None:
        """Wait while the client looks for a scheduler that is gone. Raises WorkersLost when it gave up."""
        while self._client.status == "connecting":
            await asyncio.sleep(0.1)
        if self._client.status in _CLOSING:
            raise WorkersLost(self._gone())

    async def _count_slots(self) -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError, AttributeError):  # no scheduler for the moment
                identity = await self._client.scheduler.identity()  # type: ignore[union-attr]
                self._slots = _slots(identity)
                if self._slots:
                    self._seen = time.monotonic()
                self.jobs = max(1, self._slots)  # what is given out waits for the next worker
            await asyncio.sleep(_COUNT)

    # -- on the thread of the run ----------------------------------------------------------------------------

    def _on_loop(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)  # type: ignore[union-attr]

    def _take(self, done: Iterable[Future[BatchResult]]) -> WorkersLost | None:
        """Keep what was played; the error of what was not."""
        lost = None
        for future in done:
            try:
                self._kept.append(future.result())
            except WorkersLost as error:
                lost = error
        return lost

    def _check_cluster(self) -> None:
        if self._client.status in _CLOSING:
            raise WorkersLost(self._gone())
        if time.monotonic() - self._seen > self._drought:
            raise WorkersLost(f"{self._no_slot()}, {self._drought:.0f} s long")

    def _await_slots(self) -> None:
        until = time.monotonic() + self._patience
        while not self._slots:
            if self._counting.done():
                self._counting.result()
            if time.monotonic() > until:
                raise WorkersLost(self._no_slot())
            time.sleep(0.02)

    def _check_versions(self) -> None:
        """Workers that come later are asked with their first chunk (Misfit)."""
        found: dict[str, Versions | Exception] = self._client.run(versions, on_error="return", callback_timeout=_TELL)
        for address, its in found.items():
            if isinstance(its, Exception):
                raise WorkersLost(f"the worker at {address} has no {PROJECT} ({its}): install {OURS} there")
            if reason := misfit(address, its, OURS):
                raise WorkersLost(reason)

    def _tell(self, function: Callable[..., None], *words: object) -> None:
        """Call this on every worker, as well as it goes."""
        with contextlib.suppress(Exception):  # an unreachable worker returns no results anyway
            self._client.run(function, *words, on_error="ignore", callback_timeout=_TELL)

    def _no_slot(self) -> str:
        place = address_of(self.url)
        start = f"dask worker {place} --nworkers N --nthreads 1 --resources {SLOT}=1"
        return f"no worker of {without_password(self.url)} has a slot: start some with `{start}`"

    def _gone(self) -> str:
        return f"the scheduler {without_password(self.url)} is gone, or the network between: start it and the run again"


def address_of(url: str) -> str:
    """`dask://HOST:PORT` or `dask+tls://HOST:PORT` -> Dask's own address. Raises ValueError, one line."""
    scheme, _, place = url.partition("://")
    host, _, port = place.rpartition(":")
    if scheme not in _SCHEMES or not host or "@" in host or not port.isdigit():
        raise ValueError(
            f"{without_password(url)}: write a cluster as dask://HOST:PORT or dask+tls://HOST:PORT, the scheduler's"
        )
    return f"{_SCHEMES[scheme]}://{place}"


def _connect(url: str, patience: float) -> "Client":
    """Raises WorkersLost, ValueError."""
    address = address_of(url)
    try:
        import distributed
    except ImportError as error:
        raise WorkersLost(f"--cluster needs Dask ({error}): pip install '.[cluster]' in the project's folder") from None
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said here, in one line
    try:
        with warnings.catch_warnings(action="ignore"):  # other versions of Dask; what must be equal, we compare
            security = distributed.Security(require_encryption=address.startswith("tls"))  # type: ignore[no-untyped-call]
            return distributed.Client(  # type: ignore[no-untyped-call]
                address, timeout=patience, set_as_default=False, security=security, name="ggp-ladder"
            )
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        said = " ".join(str(error.__cause__ or error).split())
        reason = re.sub(r"(\s*\b(in|for))?\s*<[^>]* object at 0x[0-9a-f]+>:?", "", said).strip()[:300]
    gc.collect()  # the half-made client: let go while another one is made, it would wait for a lock of that one
    raise WorkersLost(f"{without_password(url)} cannot be reached ({reason}): {_remedy(address)}")


def _remedy(address: str) -> str:
    if address.startswith("tls"):
        return (
            "start `dask scheduler --protocol tls …`, and give us the certificates too (docs/how-to/run-a-cluster.md)"
        )
    return f"start `dask scheduler --port {address.rpartition(':')[2]}` there; if it uses TLS, write dask+tls://"


def _slots(identity: dict[str, Any]) -> int:
    workers = identity["workers"].values()
    return int(sum(worker.get("resources", {}).get(SLOT, 0) for worker in workers))


def _as_if_here(answer: TaskAnswer) -> BatchResult:
    """The chunk with its times as our clock would have said them."""
    lag = time.monotonic() - answer.clock
    return replace(answer.chunk, began=answer.chunk.began + lag, ended=answer.chunk.ended + lag)
