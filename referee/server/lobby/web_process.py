"""The process that serves the pages of a lobby file with a table `[web]`: started, supervised and ended by the lobby.

It is `ggp web`, nicer than the lobby, and dials the lobby's inside socket for the seats of people. So whatever happens
to it delays no clock. A process that ends is started again, after longer waits; it ends with the lobby.
"""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, STDOUT

from ggp.protocol.lobby_wire import printable
from ggp.protocol.transports.keys import read_pair
from ggp.referee.server.background_tasks import BackgroundTasks, keep_running, wait_or_kill
from ggp.referee.server.lobby.config import LobbyFile
from ggp.referee.server.lobby.log import EventLog

SOON, LATEST = 1.0, 60.0  # seconds until it is started again; doubled each time
_LINE = 64 * 1024  # bytes of a line of its output


class WebProcess:
    """`inside`: the address of the socket for local bots; `admitted`: the processes that may dial there for people."""

    def __init__(self, settings: LobbyFile, inside: str, admitted: set[int], event_log: EventLog) -> None:
        self._settings, self._inside, self._admitted, self._event_log = settings, inside, admitted, event_log
        self._tasks = BackgroundTasks(event_log.fault)

    def open(self) -> None:
        """In the running loop."""
        if self._settings.web is not None:
            self._tasks.keep("web", self._supervise)

    async def close(self) -> None:
        """End the process."""
        await self._tasks.close()

    async def _supervise(self) -> None:
        await keep_running(self._run, self._ended, SOON, LATEST)

    def _ended(self, reason: str, again: float) -> None:
        self._event_log.log_limited(asyncio.get_running_loop().time(), "web", "ended", "", reason=reason, again=again)

    async def _run(self) -> str:
        """Run the process to its end; returns how it ended. Raises OSError."""
        process = await asyncio.create_subprocess_exec(
            *self._command(), stdin=PIPE, stdout=PIPE, stderr=STDOUT, limit=_LINE, process_group=0
        )
        assert process.stdout is not None
        self._admitted.add(process.pid)
        last = ""
        try:
            with contextlib.suppress(ValueError):  # a line without end
                async for line in process.stdout:
                    last = printable(line, 500)
                    self._event_log.log_limited(asyncio.get_running_loop().time(), "web", "says", last, reason=last)
        finally:
            self._admitted.discard(process.pid)
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await asyncio.shield(wait_or_kill(process))
        return f"exit status {process.returncode}{f': {last}' if last else ''}"

    def _command(self) -> list[str]:
        settings, web = self._settings, self._settings.web
        assert web is not None
        words = [sys.executable, "-P", "-m", "ggp.referee.cli.web", settings.ladder.path, "--listen", web.listen]
        words += [word for host in web.hosts for word in ("--host", host)]
        words += ["--owner", str(os.getpid()), "--nice", str(web.nice)]
        if settings.watch:
            words += ["--watch", settings.watch]
            words += ["--server-key", read_pair(settings.server_key).public] if settings.watch_keys else []
        if web.seats:
            words += ["--lobby", self._inside, "--seats", str(web.seats)]
        return words
