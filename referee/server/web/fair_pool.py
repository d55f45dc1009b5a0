"""Threads that all visitors share: each has few at once, and those who wait take turns.

With one queue for all, an address that asks for a hundred pages would hold all others up until they are made.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class PoolBusy(Exception):
    """One visitor has too many calls in the queue."""


class _Call(NamedTuple):
    call: Callable[[], Any]
    future: "Future[Any]"
    spent: Callable[[float], None]


class FairPool:
    """Runs calls in threads, taking turns among those who submit them. Any thread may call it.

    Args:
        threads: Calls that run at once. A call that outlives its caller keeps its thread, so there are never more.
        each: Of these, the most for one visitor.
        queued: Calls of one visitor that may wait.
        clock: Measures a call, in the thread that runs it.
    """

    def __init__(self, threads: int, name: str, each: int, queued: int, clock: Callable[[], float]) -> None:
        self._threads, self._each, self._queued, self._clock = threads, each, queued, clock
        self._executor = ThreadPoolExecutor(threads, name)
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[_Call]] = OrderedDict()  # who had a turn longest ago comes first
        self._running: dict[str, int] = {}

    def submit(self, who: str, call: Callable[[], T], spent: Callable[[float], None]) -> "Future[T]":
        """Queue a call; `spent` is called with the seconds that it ran. Raises PoolBusy."""
        future: Future[T] = Future()
        with self._lock:
            queue = self._waiting.setdefault(who, deque())
            while queue and queue[0].future.cancelled():
                queue.popleft()
            if len(queue) >= self._queued:
                raise PoolBusy
            queue.append(_Call(call, future, spent))
            self._start()
        return future

    def _start(self) -> None:
        """Begin as many calls as there are threads for. The lock is held."""
        while sum(self._running.values()) < self._threads and (who := self._next()):
            queue = self._waiting[who[0]]
            job = queue.popleft()
            if queue:
                self._waiting.move_to_end(who[0])
            else:
                del self._waiting[who[0]]
            if job.future.set_running_or_notify_cancel():
                self._running[who[0]] = self._running.get(who[0], 0) + 1
                self._executor.submit(self._work, who[0], job)

    def _next(self) -> tuple[str] | None:
        """Return whose turn it is, None if each visitor who waits has all the threads that one may have."""
        return next(((who,) for who in self._waiting if self._running.get(who, 0) < self._each), None)

    def _work(self, who: str, job: _Call) -> None:
        began = self._clock()
        try:
            result = job.call()
        except BaseException as error:  # it is the caller's
            self._end(who, job, began)
            job.future.set_exception(error)
        else:
            self._end(who, job, began)
            job.future.set_result(result)

    def _end(self, who: str, job: _Call, began: float) -> None:
        job.spent(self._clock() - began)
        with self._lock:
            self._running[who] -= 1
            if not self._running[who]:
                del self._running[who]
            self._start()
