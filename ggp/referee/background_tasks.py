"""The background tasks of a server: each is owned; one that fails is reported and started again."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

FIRST_WAIT, LONGEST_WAIT = 0.1, 1.0  # seconds until a task is started again; doubled each time
SETTLED = 60.0  # seconds that a task runs until the waits are short again
Work = Coroutine[Any, Any, None]
Report = Callable[[str, BaseException], None]


class EndedByItself(Exception):
    """A task that was to run until it is closed has returned."""


class BackgroundTasks:
    """Belongs to the component whose tasks they are, in the running loop. `report(name, error)` hears of each failure.

    There are two policies: `keep` for housekeeping, which has no end, and `run` for a job, which has one.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def keep(self, name: str, work: Callable[[], Work]) -> None:
        """Run `work()` until `close`. When it ends before, report that and start it again after a wait."""
        self._start(self._keep(name, work))

    def run(self, name: str, work: Work) -> None:
        """Run a job to its end, which `close` brings about. A failure is reported."""
        self._start(self._run(name, work))

    def cancel(self) -> None:
        """End all tasks soon."""
        self._closing = True
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """End all tasks, and wait for them."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Work) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, name: str, work: Callable[[], Work]) -> None:
        loop, wait = asyncio.get_running_loop(), FIRST_WAIT
        while True:
            began = loop.time()
            error = await self._failure(work())
            self._report(name, error or EndedByItself(f"{name} has ended by itself"))
            if loop.time() - began >= SETTLED:
                wait = FIRST_WAIT
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _run(self, name: str, work: Work) -> None:
        if error := await self._failure(work):
            self._report(name, error)

    async def _failure(self, work: Work) -> BaseException | None:
        """How it failed. A cancellation that `cancel` did not ask for is a failure, too, such as an
        awaited future that was cancelled."""
        try:
            await work
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if self._closing or task is None:
                raise
            task.uncancel()
            return error
        except Exception as error:
            return error
        return None
