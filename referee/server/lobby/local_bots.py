"""Local bots: bots of the lobby file that the lobby starts, supervises and restarts. They dial in like all others.

One process of ours for each bot connects it (connect) through an ipc socket in a folder that only the server's
user may enter. The kernel names the process at the other end, so that no other process can act for a local bot.
"""

import asyncio
import contextlib
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from ggp.protocol.lobby_wire import printable
from ggp.referee.match.setting import TIMEOUTS, Timeouts
from ggp.referee.server.lobby.auth import OWNER, SEAT, LocalIdentities
from ggp.referee.server.lobby.connect import LocalOrder, LocalReport
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.remote_bot import Identity, Local

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0  # seconds before a process is started again
_SETTLED = 30.0  # seconds after which the waits are short again
_SLOWEST = 15.0  # seconds, beside its own time-out, that a start may keep others waiting
_LAST_WORDS = 15.0  # seconds for a bot to end after SIGTERM
_PROGRAM = (sys.executable, "-m", "ggp.referee.server.lobby.connect")


class LocalBots:
    """`rivals`: whether they also play each other; `nice`: their niceness, relative to the lobby's, of those without
    one of their own; `seats`: of the lobby's own site; `cores`: for the copies of bots that ponder, one each."""

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
        names = frozenset(bot.entrant.name for bot in bots)
        self.identities = LocalIdentities(names, seats=frozenset(f"{SEAT}{number}" for number in range(1, seats + 1)))
        self._bots, self._rivals, self._nice, self._event_log = bots, rivals, nice, event_log
        self._budgets = budgets
        self._cores = dict(zip(pondering(bots), cores, strict=False))
        self._processes: set[Process] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = asyncio.Event()
        # Each start takes a core for a second or more. If all began at once, none would be ready in time.
        self._starts = asyncio.Semaphore(len(os.sched_getaffinity(0)))
        self._chance = Random()

    def start(self, url: str) -> None:
        """Run them until `close`, each copy in a process of its own that dials this address.

        As many start at a time as there are cores: the first copy of every bot, then the second ones, and so on.
        """
        loop = asyncio.get_running_loop()
        for copy in range(max((bot.copies for bot in self._bots), default=0)):
            for bot in (bot for bot in self._bots if copy < bot.copies):
                owner = f"{OWNER}'s {bot.entrant.name}" if self._rivals else OWNER
                identity = Identity(owner, bot.entrant.name, bot, copy)
                self._tasks.append(loop.create_task(self._keep_running(identity, url)))

    async def close(self) -> None:
        """Start no more processes, terminate those that run, then kill the rest."""
        self._closing.set()
        for _ in self._tasks:  # those that wait for their start see that there is none
            self._starts.release()
        for process in self._processes:
            _signal(process.terminate)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_WORDS)
        for process in self._processes:
            _signal(process.kill)
        await asyncio.gather(*self._tasks)

    async def _keep_running(self, identity: Identity, url: str) -> None:
        wait = _FIRST_WAIT
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                await self._run(identity, url)
            except Exception as error:
                self._event_log.fault("local bot", error, bot=identity.name)
            if time.monotonic() - began > _SETTLED:
                wait = _FIRST_WAIT
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), wait * self._chance.uniform(0.5, 1.0))
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _run(self, identity: Identity, url: str) -> None:
        """Run one process to its end, once it is its turn to start."""
        await self._starts.acquire()
        started = _Once(self._starts.release)
        if self._closing.is_set():
            started.call()
            return
        longest = identity.local.entrant.start.timeouts(self._budgets).start + _SLOWEST if identity.local else _SLOWEST
        late = asyncio.get_running_loop().call_later(longest, started.call)
        try:
            await self._run_now(identity, url, started.call)
        finally:
            late.cancel()
            started.call()

    async def _run_now(self, identity: Identity, url: str, joined: Callable[[], None]) -> None:
        """Run one process to its end; call `joined` when its bot is connected."""
        try:
            process = await asyncio.create_subprocess_exec(*_PROGRAM, stdin=PIPE, stdout=PIPE, process_group=0)
        except OSError as error:
            self._log(identity, LocalReport("host", f"no process can be started: {error.strerror}"))
            return
        self.identities.processes[process.pid] = identity
        self._processes.add(process)
        try:
            await self._supervise(identity, process, url, joined)
        finally:
            self._processes.discard(process)
            del self.identities.processes[process.pid]
            if process.returncode is None:
                _signal(process.kill)
                await process.wait()

    async def _supervise(self, identity: Identity, process: Process, url: str, joined: Callable[[], None]) -> None:
        """Send the process its order, log its reports, and wait for its end."""
        assert identity.local is not None and process.stdin is not None and process.stdout is not None
        start = identity.local.entrant.start
        if self._closing.is_set():
            _signal(process.terminate)
        core = self._cores.get((identity.name, identity.copy))
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
        if status and not (reported or self._closing.is_set()):
            self._log(identity, LocalReport("host", f"the process of its connection ended: exit status {status}"))

    def _log(self, identity: Identity, said: LocalReport) -> None:
        self._event_log.log("local", "ended", bot=identity.name, culprit=said.culprit, reason=printable(said.reason))


class _Once:
    """A function that is called the first time only."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function: Callable[[], None] | None = function

    def call(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            function()


def pondering(bots: Sequence[Local]) -> list[tuple[str, int]]:
    """The copies of bots that ponder, by name and number."""
    return [(bot.entrant.name, copy) for bot in bots if bot.entrant.start.ponder for copy in range(bot.copies)]


def _signal(send: Callable[[], None]) -> None:
    with contextlib.suppress(ProcessLookupError):
        send()
