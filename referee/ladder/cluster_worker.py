"""What a Dask worker does for a ladder: one thread that keeps a table and plays. Whose turn it is, is up to cluster.

Bots are started by that thread alone: the kernel ends them when the thread that started them ends, and Dask's own may.
"""

import contextlib
import ctypes
import multiprocessing.util
import queue
import socket
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib.util import find_spec

from protocol.installed import version
from protocol.orphans import adopt_orphans, kill_strays
from protocol.transports.pipe import report_on_stderr
from referee.play import worker
from referee.play.worker import Chunk, Place, Stop, Work

PROJECT = "general-game-protocol"
_IDLE = 60.0  # seconds without work after which bots are ended
_PATIENCE = 10.0  # seconds that a worker which is told to end waits for its bots
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
    chunk: list[Work]
    bots: int
    versions: Versions


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a task, and what CLOCK_MONOTONIC of this machine said when it was done."""

    chunk: Chunk
    clock: float


class Ending(Exception):
    """This worker is told to end: another may play the chunk."""


class Misfit(Exception):
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


def play_here(task: Task) -> Answer:
    """Play a chunk, if its run goes on. Raises Misfit, Ending. Of several tasks at a time one waits for the other."""
    host = socket.gethostname()
    if reason := misfit(host, versions(), task.versions):
        raise Misfit(reason)
    chunk = _bench().play(task)
    blamed = [replace(refused, reason=f"{refused.reason} (on {host})") for refused in chunk.refused]
    return Answer(replace(chunk, refused=blamed), time.monotonic())


def end_run(run: str, drop: bool) -> None:
    """Begin no more of this run's chunks; `drop`: nor end the match that is under way. Returns at once."""
    with _lock:
        _ended.add(run)
    if drop and (bench := _benches.get("")):
        bench.drop(run)


def leave(run: str) -> None:
    """The run is over: end it, and the bots that nobody needs now. Returns at once."""
    end_run(run, drop=True)
    if bench := _benches.get(""):
        bench.clear()


_lock = threading.Lock()
_ended: set[str] = set()
_benches: dict[str, "_Bench"] = {}  # of this process: one, once there was work


def _bench() -> "_Bench":
    with _lock:
        if "" not in _benches or _benches[""].failed:
            bench = _benches[""] = _Bench()
            bench.start()
            multiprocessing.util.Finalize(None, bench.close, exitpriority=10)
            _at_workers_end(bench)
        return _benches[""]


def _at_workers_end(bench: "_Bench") -> None:
    """Have the Dask worker end our match before it waits for its tasks to end."""
    from distributed.worker import get_worker

    get_worker().plugins[_PLUGIN] = _Teardown(bench)  # type: ignore[assignment]


class _Teardown:
    """The part of a worker plugin of Dask that we need."""

    def __init__(self, bench: "_Bench") -> None:
        self._bench = bench

    def teardown(self, worker: object) -> None:
        self._bench.close()


class _Bench(threading.Thread):
    """The one thread that plays. Another may have it drop its match, as worker.play_chunk is stopped by a signal."""

    def __init__(self) -> None:
        super().__init__(name="ggp-bench", daemon=True)
        self._tasks: queue.SimpleQueue[tuple[Task, Future[Chunk]] | None] = queue.SimpleQueue()
        self._run = ""  # whose chunk is being played
        self._closed = False

    def play(self, task: Task) -> Chunk:
        """Called by Dask's threads; returns when the chunk is played. Raises Ending."""
        answer: Future[Chunk] = Future()
        self._tasks.put((task, answer))
        while self.is_alive():
            with contextlib.suppress(TimeoutError):
                chunk = answer.result(_LOOK)
                if self._closed:  # what there is of it may not be all
                    break
                return chunk
        raise Ending

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
                    _raise_in(self, Stop)

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

    def _play(self, task: Task) -> Chunk:
        state, began = worker.state, time.monotonic()
        state.place = Place(pin=False, bots=task.bots)
        state.played, state.records = [], []
        try:
            with _lock:
                self._run, state.stopped = task.run, self._closed or task.run in _ended
            chunk = worker.play_chunk(task.chunk)
            self._end_chunk()
        except Stop:  # it came when the chunk was about to end, or while a table was being closed
            self._end_chunk()
            worker.close_table(kill=True)
            given = [work.setup.series for work in task.chunk]
            chunk = Chunk(given, state.played, state.records, [], began, time.monotonic(), 0.0, 0)
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
