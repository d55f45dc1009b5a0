"""One front of a lobby that has several: its leases on bots, its sign of life, and the bots that it sends to others.

The fronts share nothing but the store, in which a bot is at one front and a pair is claimed by one (see store.fronts).
A match stays within a front. Bots that could not meet are brought together by goodbyes that name another front's
address. While the store cannot be reached matches go on, finished games wait, and bots that dial in wait.
"""

import asyncio
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from random import Random
from time import monotonic

from ggp.protocol.lobby_wire import MOVED
from ggp.referee.ladder.store.entries import FRONT_SILENCE
from ggp.referee.ladder.store.fronts import FrontRow
from ggp.referee.ladder.store.model import StoreError, Taken
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.lobby.game import RunningPairs
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.matchmaking import Rated
from ggp.referee.server.lobby.open_pairs import StoreWriter
from ggp.referee.server.lobby.remote_bot import ConnectedBot
from ggp.referee.server.lobby.sessions import Sessions

BEAT = 2.0  # seconds between signs of life
STAY = 8  # pairs that a bot plays here before it may be sent to another front, so that all bots meet in time
ALONE = 5.0  # seconds without a possible opponent after which a bot is sent to another front
CROWD = 20  # bots of a front from which some go to one that is empty
_GATHER = 0.02  # seconds in which arrivals wait for others
_AGAIN = 1.0  # seconds until a store that failed is tried again
_AT_ONCE = 50  # bots that are sent away in a round, and that are looked at


class Front:
    """This front, which has joined the store already. Open it in the running loop, before bots dial in."""

    def __init__(
        self,
        name: str,
        address: str,
        store: Store,
        writer: StoreWriter,
        sessions: Sessions,
        event_log: EventLog,
        end: Callable[[], None],
    ) -> None:
        """Make a front.

        Args:
            address: Where bots dial it, "" for where it listens.
            end: Called if another process runs this front now.
        """
        self.name, self.departed = name, set[str]()  # bots that were here and may come back changed
        self.others: Sequence[FrontRow] = ()
        self.lost = ""  # why this front must end
        self._address, self._store, self._writer, self._sessions = address, store, writer, sessions
        self._event_log, self._end = event_log, end
        self._arriving: dict[str, list[asyncio.Future[str | None]]] = {}
        self._going: set[str] = set()
        self._some = asyncio.Event()
        self._tasks = BackgroundTasks(event_log.fault)
        self._cut_off = monotonic()  # when the store was out of reach last, or is: this front has no opinion of others
        self._removed = False  # by another front
        self._idle: dict[ConnectedBot, float] = {}  # since when
        self._chance = Random()

    def open(self, url: str, running: RunningPairs) -> None:
        self._url, self._running = self._address or url, running
        self._tasks.keep("leases", self._lease)
        self._tasks.keep("front", self._beat)

    async def close(self) -> None:
        await self._tasks.close()

    def join(self) -> bool:
        """Return True if no other front runs. Call it before the loop runs. Raises StoreError."""
        _, self.others = self._store.renew_front(self.name, "", False)
        return not self.others

    # -- where bots are ----------------------------------------------------------------------------------------------

    async def arrive(self, bot: str) -> str | None:
        """Claim a bot for this front. Waits while the store cannot be reached.

        Returns:
            None if the bot is here now, and nowhere else until `gone`. Otherwise the address of the front that has it,
            "" if that is unknown.
        """
        told: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._going.discard(bot)
        self._arriving.setdefault(bot, []).append(told)
        self._some.set()
        return await told

    def gone(self, bot: str) -> None:
        """Let a bot that has left dial in at other fronts."""
        self._going.add(bot)
        self.departed.add(bot)
        self._some.set()

    async def _lease(self) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            await asyncio.sleep(_GATHER)
            arriving, going = self._arriving, self._going
            self._arriving, self._going = {}, set()
            here = [bot for bot in arriving if bot not in going]
            try:
                elsewhere = await self._writer.work(partial(self._store.lease, self.name, here, going))
            except StoreError as error:
                self._event_log.log_limited(monotonic(), "front", "waits", "leases", reason=str(error))
                await asyncio.sleep(_AGAIN)
                self._again(arriving, going)
                continue
            for bot, told in arriving.items():
                for one in told:
                    if not one.done():
                        one.set_result(elsewhere.get(bot))

    def _again(self, arriving: dict[str, list[asyncio.Future[str | None]]], going: set[str]) -> None:
        """Ask again for what was not done, unless the opposite was asked for meanwhile."""
        for bot, told in arriving.items():
            self._arriving.setdefault(bot, []).extend(told)
        self._going |= {bot for bot in going if bot in arriving or bot not in self._arriving}
        self._some.set()

    # -- signs of life -----------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        while not self.lost:
            began = monotonic()
            judge = began - self._cut_off > FRONT_SILENCE
            try:
                removed, self.others = await self._writer.work(
                    partial(self._store.renew_front, self.name, self._url, judge)
                )
                self._removed = self._removed or removed
                if self._removed:
                    await self._return()
                    self._removed = False
            except Taken as error:
                self.lost = str(error)
                self._end()
                continue
            except StoreError as error:
                self._event_log.log_limited(monotonic(), "front", "waits", "store", reason=str(error))
                self._cut_off = math.inf
            now = monotonic()
            if self._cut_off == math.inf or now - began > FRONT_SILENCE / 2:
                self._cut_off = now
            await asyncio.sleep(BEAT)
        await asyncio.Event().wait()  # until this front has ended

    async def _return(self) -> None:
        """Keep the bots and pairs that no other front has, after one took this front for dead. Raises StoreError."""
        here = [bot.name for bot in self._sessions.bots.values() if bot.roams]
        games = dict(self._running.games)
        pairs = [game.pair.id for game in games.values()]
        elsewhere = await self._writer.work(partial(self._store.lease, self.name, here, []))
        mine = await self._writer.work(partial(self._store.claim, self.name, pairs))
        lost = {task: game for task, game in games.items() if game.pair.id not in mine or _any(game.bots, elsewhere)}
        self._event_log.log("front", "returned", bots=len(elsewhere), matches=len(lost))
        for task, game in lost.items():
            task.cancel()
            for bot in game.bots:
                self._sessions.dismiss(bot, "its match was interrupted: dial in again")
        for bot in list(self._sessions.bots.values()):
            if bot.roams and bot.name in elsewhere:
                self._sessions.dismiss(bot, f"{MOVED}: {elsewhere[bot.name]} its session is there")

    # -- bots that are sent to other fronts ----------------------------------------------------------------------------

    async def send_on(self, rated: Rated) -> None:
        """Send away idle bots: those without an opponent here, and some that have played here for long.

        Raises StoreError.
        """
        now, idle = monotonic(), self._running.idle()
        self._idle = {bot: self._idle.get(bot, now) for bot in idle}
        leaving: dict[ConnectedBot, FrontRow] = {}
        looked = 0
        for bot, since in self._idle.items():
            if not (bot.moves and bot.roams) or len(leaving) >= _AT_ONCE:
                continue
            there: FrontRow | None = None
            if bot.pairs >= STAY:
                bot.pairs = 0
                there = self._chance.choice([None, self._roomier()])
            elif now - since > ALONE and looked < _AT_ONCE:
                looked += 1
                there = None if rated.has_opponent(bot) else self._fuller()
            if there is not None:
                leaving[bot] = there
        if not leaving:
            return
        await self._writer.work(partial(self._store.lease, self.name, [], [bot.name for bot in leaving]))
        for bot, there in leaving.items():
            self._event_log.log("moved", bot=bot.name, to=there.name)
            self._sessions.dismiss(bot, f"{MOVED}: {there.url} it plays there now")

    def _roomier(self) -> FrontRow | None:
        """Choose another front at random that has no more bots than this one. Only a crowd goes to an empty one."""
        mine = self._count()
        some = [one for one in self.others if one.url and one.bots <= mine and (one.bots >= 2 or mine >= CROWD)]
        return self._chance.choice(some) if some else None

    def _fuller(self) -> FrontRow | None:
        """Return the front with the most bots, or None if it is this one.

        Of equal ones it is the first by name, so that two bots that are alone do not change places.
        """
        mine = FrontRow(self.name, self._url, self._count())
        first = min([mine, *(one for one in self.others if one.url)], key=lambda one: (-one.bots, one.name))
        return None if first is mine else first

    def _count(self) -> int:
        return sum(bot.roams for bot in self._sessions.bots.values())


def _any(bots: Collection[ConnectedBot], names: Collection[str]) -> bool:
    return any(bot.roams and bot.name in names for bot in bots)
