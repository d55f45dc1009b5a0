"""Child processes of the lobby: started again when they end, and ended with it."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import NoReturn

from ggp.referee.lobby.log import EventLog

SETTLED = 60.0  # seconds that a process runs until the waits are short again
_LAST_WORDS = 2.0  # seconds to end by itself


async def keep_running(
    name: str, run: Callable[[], Awaitable[str]], log: EventLog, soon: float, latest: float
) -> NoReturn:
    """Start a process again whenever it ends, after `soon` seconds at first, then after twice as long each time.

    run: runs it to its end and says how that was; an OSError says that it cannot be started.
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
        log.log_limited(began, name, "ended", "", reason=reason, again=wait)
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
    with contextlib.suppress(ProcessLookupError):
        process.kill()
