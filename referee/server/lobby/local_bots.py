"""Local bots: bots of the lobby file that the lobby starts, supervises and restarts. They dial in like all others.

One process of ours for each bot connects it (connect) through an ipc socket in a folder that only the server's
user may enter. The kernel names the process at the other end, so that no other process can act for a local bot.
"""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from ggp.protocol.lobby_wire import printable
from ggp.referee.match.setting import TIMEOUTS, Timeouts
from ggp.referee.server.background_tasks import BackgroundTasks, keep_running, kill
from ggp.referee.server.lobby.auth import OWNER, SEAT, LocalIdentities
from ggp.referee.server.lobby.connect import LocalOrder, LocalReport
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.remote_bot import Identity, Local

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0  # seconds until a process is started again; doubled each time
_SLOWEST = 15.0  # seconds, beyond the bot's own time-out, that a start may keep others waiting
_LAST_WORDS = 15.0  # seconds for a bot to end after SIGTERM
_PROGRAM = (sys.executable, "-m", "ggp.referee.server.lobby.connect")


class LocalBots:
    """The processes of the local bots, and the identities that they have at the lobby."""

    def __init__(
        self,
        bots: Sequence[Local],
        rivals: bool,
        nice: int,
        event_log: EventLog,
        seats: int = 0,
        budgets: Timeouts = TIMEOUTS,
        cores: Sequence[int] = (),
    ) -> None:
        """Start nothing yet.

        Args:
            rivals: Local bots also play each other.
            nice: Niceness, relative to the lobby's, of bots without one of their own.
            seats: The number of people who can play on the lobby's own site at a time.
            cores: One for each copy of a bot that ponders.
        """
        names = frozenset(bot.entrant.name for bot in bots)
        self.identities = LocalIdentities(names, seats=frozenset(f"{SEAT}{number}" for number in range(1, seats + 1)))
        self._bots, self._rivals, self._nice, self._event_log = bots, rivals, nice, event_log
        self._budgets = budgets
        self._cores = dict(zip(pondering(bots), cores, strict=False))
        self._processes: set[Process] = set()
        self._tasks = BackgroundTasks(event_log.fault)
        self._closing = False
        # Each start takes a core for a second or more. If all began at once, none would be ready in time.
        self._starts = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    def start(self, url: str) -> None:
        """Run the bots until `close`, each copy in a process of its own that dials this address.

        As many start at a time as there are cores: the first copy of every bot, then the second ones, and so on.
        """
        for copy in range(max((bot.copies for bot in self._bots), default=0)):
            for bot in (bot for bot in self._bots if copy < bot.copies):
                owner = f"{OWNER}'s {bot.entrant.name}" if self._rivals else OWNER
                identity = Identity(owner, bot.entrant.name, bot, copy)
                self._tasks.keep("local bot", partial(self._keep_running, identity, bot, url))

    async def close(self) -> None:
        """Start no more processes, terminate those that run, then kill the rest."""
        self._closing = True
        for process in self._processes:
            _terminate(process)
        if self._processes:
            await asyncio.wait([asyncio.ensure_future(one.wait()) for one in self._processes], timeout=_LAST_WORDS)
        await self._tasks.close()

    async def _keep_running(self, identity: Identity, bot: Local, url: str) -> None:
        run = partial(self._run, identity, bot, url)
        await keep_running(run, lambda reason, again: None, _FIRST_WAIT, _LONGEST_WAIT)

    async def _run(self, identity: Identity, bot: Local, url: str) -> str:
        """Run one process to its end, once it is its turn to start."""
        await self._starts.acquire()
        pending = [self._starts.release]

        def started() -> None:
            if pending:
                pending.pop()()

        longest = bot.entrant.start.timeouts(self._budgets).start + _SLOWEST
        late = asyncio.get_running_loop().call_later(longest, started)
        try:
            await self._run_now(identity, bot, url, started)
        finally:
            late.cancel()
            started()
        return ""

    async def _run_now(self, identity: Identity, bot: Local, url: str, joined: Callable[[], None]) -> None:
        """Run one process to its end. Call `joined` when its bot is connected."""
        if self._closing:
            await asyncio.Event().wait()  # `close` cancels it
        try:
            process = await asyncio.create_subprocess_exec(*_PROGRAM, stdin=PIPE, stdout=PIPE, process_group=0)
        except OSError as error:
            self._log(identity, LocalReport("host", f"no process can be started: {error.strerror}"))
            return
        self.identities.processes[process.pid] = identity
        self._processes.add(process)
        try:
            await self._supervise(identity, bot, process, url, joined)
        finally:
            self._processes.discard(process)
            del self.identities.processes[process.pid]
            if process.returncode is None:
                kill(process)
                await process.wait()

    async def _supervise(
        self, identity: Identity, bot: Local, process: Process, url: str, joined: Callable[[], None]
    ) -> None:
        """Send the process its order, log its reports, and wait for its end."""
        assert process.stdin is not None and process.stdout is not None
        if self._closing:
            _terminate(process)
        start, core = bot.entrant.start, self._cores.get((identity.name, identity.copy))
        order = LocalOrder(url, start, start.timeouts(self._budgets), self._nice, core, os.getpid())
        process.stdin.write(msgspec.json.encode(order))
        process.stdin.close()
        reported = False
        async for line in process.stdout:
            with contextlib.suppress(msgspec.MsgspecError):  # half a line of one that was killed
                said = msgspec.json.decode(line, type=LocalReport)
                if said.joined:
                    joined()
                else:
                    self._log(identity, said)
                    reported = True
        status = await process.wait()
        if status and not (reported or self._closing):
            self._log(identity, LocalReport("host", f"the process of its connection ended: exit status {status}"))

    def _log(self, identity: Identity, said: LocalReport) -> None:
        self._event_log.log("local", "ended", bot=identity.name, culprit=said.culprit, reason=printable(said.reason))


def pondering(bots: Sequence[Local]) -> list[tuple[str, int]]:
    """Return the copies of bots that ponder, by name and number."""
    return [(bot.entrant.name, copy) for bot in bots if bot.entrant.start.ponder for copy in range(bot.copies)]


def _terminate(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
