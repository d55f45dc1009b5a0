"""The place of a pool whose workers are being hired while the run goes on."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from ggp.referee.match.pool import WorkerPool, WorkersLost
from ggp.referee.match.worker import Batch, BatchResult

_PAUSE = 1.0  # seconds between two attempts


class PoolToCome(WorkerPool):
    """A pool without workers, which hires others in a thread: connecting to a cluster may block for many seconds."""

    def __init__(self, hire: Callable[[], WorkerPool]) -> None:
        super().__init__(0.0)
        self.jobs = 0
        self._hire = hire
        self._began = self._tried = time.monotonic()
        self._coming = self._try()

    @property
    def age(self) -> float:
        """Return the seconds since the first attempt began."""
        return time.monotonic() - self._began

    def hired(self) -> WorkerPool | None:
        """Return the new pool, or None while an attempt is under way. Begins the next attempt after a pause.

        Raises:
            WorkersLost: The last attempt failed.
        """
        if not self._coming.done():
            return None
        if isinstance(self._coming.exception(), WorkersLost) and time.monotonic() - self._tried > _PAUSE:
            failed, self._coming = self._coming, self._try()
            return failed.result()
        return self._coming.result()

    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        """Raise WorkersLost: nobody is here to play."""
        raise WorkersLost("there are no workers yet")

    def loss(self, error: BaseException) -> WorkersLost | None:
        """Return the error if it is a loss of workers."""
        return error if isinstance(error, WorkersLost) else None

    def drop(self, keys: list[str]) -> bool:
        """Return False: no match is under way."""
        return False

    def playing(self) -> dict[int, float]:
        """Return {}: no match is under way."""
        return {}

    def stop(self) -> None:
        """Do nothing: no match is under way."""

    def close(self, wait: bool = True) -> None:
        """Hire nobody any longer. Workers that come later are dismissed."""
        if not self._coming.cancel() and not self._coming.exception():
            self._coming.result().close(wait)

    def _try(self) -> Future[WorkerPool]:
        coming: Future[WorkerPool] = Future()
        self._tried = time.monotonic()
        threading.Thread(target=self._attempt, args=(coming,), name="hiring", daemon=True).start()
        return coming

    def _attempt(self, coming: Future[WorkerPool]) -> None:
        try:
            pool = self._hire()
        except BaseException as error:
            if coming.set_running_or_notify_cancel():
                coming.set_exception(error)
            return
        if coming.set_running_or_notify_cancel():
            coming.set_result(pool)
        else:  # the run has ended meanwhile
            pool.close(wait=False)
