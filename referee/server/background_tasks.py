"""The background tasks and child processes of a server: each is owned; one that fails is reported and started again."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn

FIRST_WAIT, LONGEST_WAIT = 0.1, 1.0  # seconds until a task is started again; doubled each time
SETTLED = 60.0  # seconds that a task or a process runs until the waits are short again
_LAST_WORDS = 2.0  # seconds for a process to end by itself
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
        """Await the work and return the exception that ended it, or None.

        A cancellation that `cancel` did not ask for, such as that of an awaited future, is a failure as well.
        """
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


# -- child processes ---------------------------------------------------------------------------------------------------


async def keep_running(
    run: Callable[[], Awaitable[str]], ended: Callable[[str, float], object], soon: float, latest: float
) -> NoReturn:
    """Start a process again whenever it ends, after `soon` seconds at first, then after twice as long each time.

    `run` runs it to its end and says how that was; an OSError says that it cannot be started. `ended(reason, seconds)`
    hears of it, and of the wait.
    """
    loop, wait = asyncio.get_running_loop(), soon
    while True:
        began = loop.time()
        try:
            reason = await run()
        except OSError as error:
            reason = f"it cannot be started: {error.strerror}"
        if loop.time() - began > SETTLED:
            wait = soon
        ended(reason, wait)
        await asyncio.sleep(wait)
        wait = min(2 * wait, latest)


async def wait_or_kill(process: Process) -> None:
    """Wait for a process that was asked to end; kill it if it goes on."""
    try:
        await asyncio.wait_for(process.wait(), _LAST_WORDS)
    except TimeoutError:
        kill(process)
        await process.wait()


def kill(process: Process) -> None:
    """Kill a process. Do nothing if it has exited."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
