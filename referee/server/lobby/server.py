"""The lobby as a whole: sessions, matchmaking, matches in progress, the store, and an orderly end.

One thread with one event loop, and the store's thread. After a kill the next run resumes the matches when both bots
have reconnected.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ggp.referee.ladder.jobs import series_of
from ggp.referee.ladder.store.model import Ladder, StoreError, StoreGone, Taken
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.resume import MatchFiles
from ggp.referee.server.lobby.auth import Admission
from ggp.referee.server.lobby.challenges import Challenges, LobbyCommands, Terms, Unrated
from ggp.referee.server.lobby.engine_pool import Engines
from ggp.referee.server.lobby.fronts import Front
from ggp.referee.server.lobby.game import LeftOver, Room, RunningPairs
from ggp.referee.server.lobby.limits import ClockWatch
from ggp.referee.server.lobby.log import EventLog, Metric, label
from ggp.referee.server.lobby.matchmaking import VERSIONS, Matchmaker, Rated, Registration
from ggp.referee.server.lobby.open_pairs import OpenPairs, StoreWriter
from ggp.referee.server.lobby.remote_bot import ConnectedBot, Lateness
from ggp.referee.server.lobby.sessions import Bounds, Sessions
from ggp.referee.server.lobby.socket import RouterSocket
from ggp.referee.server.lobby.spectators import Spectators

_CHECKPOINT = 60.0  # seconds between checkpoints of the store
_BEAT = 10.0  # seconds between signs of life in the store
_AFTER_FAULT = 1.0  # seconds until pairing goes on after a look that failed, at the least


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a lobby: `pairing` seconds between two rounds of pairing, `drain` seconds for matches at the end."""

    bounds: Bounds = field(default_factory=Bounds)
    pairing: float = 1.0
    drain: float = 60.0
    matches: int = 1000  # at once
    terms: Terms = field(default_factory=Terms)  # of challenges


class LobbyServer:
    """The server. `open_router` binds the socket that bots dial in to. `front`: its name and address, where the lobby
    has several fronts and this is one; its process has joined the store."""

    def __init__(
        self,
        ladder: Ladder,
        store: Store,
        plan: Plan,
        live: MatchFiles,
        event_log: EventLog,
        admission: Admission,
        open_router: Callable[[Sessions], RouterSocket],
        engines: Engines,
        spectators: Spectators,
        front: tuple[str, str] | None = None,
    ) -> None:
        pools = (*ladder.pools, *(pool.unrated() for pool in ladder.pools))
        ladder = replace(ladder, pools=pools, bots=tuple(bot.with_unrated() for bot in ladder.bots))
        self._ladder, self._store, self._plan, self._live, self._event_log = ladder, store, plan, live, event_log
        self._engines, self._open_router, self._spectators = engines, open_router, spectators
        self._lateness = Lateness()
        games = {pool.setting.game for pool in ladder.pools}
        self.sessions = Sessions(plan.bounds, ladder.budgets, games, admission, event_log, self._lateness)
        self.writer = StoreWriter(store, event_log, self._end_at_once)
        series = series_of(ladder)
        self._room = Room(self.sessions, engines, self.writer, live, spectators, event_log, ladder.budgets, series)
        self._registration = Registration(ladder, store, self.writer)
        self._left_over = LeftOver(self._room)
        self.running = RunningPairs(self._room, self._left_over, plan.matches)
        self._open_pairs: Sequence[OpenPairs] = ()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._front: Front | None = None
        if front is not None:
            self._front = Front(*front, store, self.writer, self.sessions, event_log, self.stop)
            self.sessions.places, self._registration.departed = self._front, self._front.departed

    async def run(self, ready: Callable[[str], None]) -> None:
        """Serve until `stop`; `ready` gets the address. Raises StoreError, EngineFailed, AddressError at the start."""
        self._load()
        await self._engines.open({pool.engine for pool in self._ladder.pools})
        try:
            self.sessions.router = router = self._open_router(self.sessions)
            router.open()
            self.writer.open()
            if self._front is not None:
                self._front.open(router.url, self.running)
            self._lateness.start()
            self.sessions.open()
            self._orders.open()
            self._left_over.until = time.monotonic() + self._plan.bounds.grace
            ready(router.url)
            self._spectators.open()
            await self._pair_until_stopped()
        finally:
            await self._shut_down()
        if self._front is not None and self._front.lost:
            raise Taken(self._front.lost)
        if self.writer.lost:
            raise StoreError(self.writer.lost)

    def stop(self) -> None:
        """Start no more matches, wait for the running ones, then end; called again, wait no longer."""
        if self._stopping.is_set():
            self._hurry.set()
            self.writer.hurry()
        self.running.closed = True
        self._stopping.set()

    def _end_at_once(self) -> None:
        """End without waiting for matches: their results could not be stored."""
        self.stop()
        self.stop()

    def metrics(self) -> list[Metric]:
        """The metrics; none before the socket is open."""
        if not hasattr(self.sessions, "router"):
            return []
        event_log, worst = self._event_log, self._lateness.worst
        self._lateness.worst = 0.0
        ended = {label(kind=kind, termination=word): count for (kind, word), count in self._room.games.items()}
        refused = {label(why=word): count for (event, word), count in event_log.counts.items() if event == "refused"}
        faults = {label(task=word): count for (event, word), count in event_log.counts.items() if event == "fault"}
        bots = self.sessions.bots.values()
        return [
            Metric("ggp_connections", "gauge", "Connections of bots.", {"": self.sessions.router.connections}),
            Metric("ggp_bots", "gauge", "Connected bots.", {"": len(bots)}),
            Metric("ggp_bots_away", "gauge", "Bots that lost their connection in a match.", {"": _away(bots)}),
            Metric("ggp_challenges", "gauge", "Challenges that are open.", {"": len(self._challenges.open)}),
            Metric("ggp_matches", "gauge", "Matches under way.", {"": len(self.running.games)}),
            Metric("ggp_plies_total", "counter", "Plies that were played.", {"": self._room.plies}),
            Metric("ggp_games_total", "counter", "Games that ended and are kept, by kind and end.", ended),
            Metric("ggp_refused_total", "counter", "Connections and bots that were refused, by reason.", refused),
            Metric("ggp_faults_total", "counter", "Failures of the server's own tasks, which go on, by task.", faults),
            Metric(
                "ggp_loop_late_seconds",
                "gauge",
                "How late the loop was, at most, since it was last asked.",
                {"": worst},
            ),
        ]

    # -- what begins meetings ----------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Load pools, pairs and unfinished matches. Raises StoreError."""
        front = self._front
        rows = self._registration.load(front is None or front.join())
        pools, store, name = self._ladder.pools, self._store, front.name if front else ""
        makers = [Matchmaker(self._ladder, pool, rows[pool.name], store, name) for pool in pools if pool.rated]
        # Challenges are for lobbies of one process.
        unrated = [Unrated(pool, rows[pool.name], store) for pool in pools if not pool.rated and not front]
        self._open_pairs = [*makers, *unrated]
        self._left_over.load(self._open_pairs)
        for maker in makers if front else ():
            maker.give_back()
        self._rated = Rated(makers, self.running, self.writer)
        self._challenges = Challenges(
            unrated, self._plan.terms, self.running, self._rated, self.writer, store, self._event_log
        )
        self._orders = LobbyCommands(self._challenges, self._event_log, self._answer, self.sessions.hang_up)
        self.sessions.orders = self._orders.submit

    def _answer(self, route: bytes, answer: bytes) -> None:
        self.sessions.router.send(route, b"R", [answer])

    async def _pair_until_stopped(self) -> None:
        """Pair idle bots until `stop`. A round that fails is logged."""
        beat = checkpoint = time.monotonic()
        clocks = ClockWatch(time.time(), beat)
        while not self._stopping.is_set():
            pause = self._plan.pairing
            if jump := clocks.jump(time.time(), time.monotonic()):
                set_to = f"the clock of this machine was set {'forward' if jump > 0 else 'back'}"
                self._event_log.log("clock", "jumped", seconds=round(jump), reason=f"{set_to}: keys expire by it")
            try:
                await self._pair()
                if time.monotonic() - beat > _BEAT:
                    beat = time.monotonic()
                    if self._front is None:
                        await self.writer.work(self._store.beat)
                if time.monotonic() - checkpoint > _CHECKPOINT:
                    checkpoint = time.monotonic()
                    await self.writer.work(self._store.checkpoint)
            except StoreGone as error:
                self.writer.lose(error)
            except StoreError:  # it is tried again in a moment
                pass
            except Exception as error:
                self._event_log.fault("pairing", error)
                pause = max(pause, _AFTER_FAULT)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _pair(self) -> None:
        """One round of pairing. Raises StoreError."""
        for bot in await self._registration.enrol(self.sessions.ready(), self._enrolled, time.monotonic()):
            self.sessions.dismiss(bot, f"too many versions within an hour (limit {VERSIONS}): dial in again later")
        for one, bots in self._left_over.back(self.sessions.ready()):
            self.running.start(one.open_pairs, one.pair, bots, one.record)
        await self._left_over.expire(self.sessions.bots.values())
        if self._front is not None and not self._stopping.is_set():
            await self._front.send_on(self._rated)
        await self._challenges.update()
        await self._rated.pair_idle(self._challenges.waiting_challengers())

    def _enrolled(self) -> None:
        for open_pairs in self._open_pairs:
            open_pairs.enrolled()

    # -- the end -----------------------------------------------------------------------------------------------------

    async def _shut_down(self) -> None:
        """Wait for the running matches, store them, end the connections."""
        reason = "the lobby is closing: dial in again later"
        self.sessions.refuse_newcomers(reason)
        games = self.running.games
        for game in games.values():
            game.drain()
        if games:
            self._event_log.log("drain", matches=len(games), seconds=self._plan.drain)
            await self._drain()
        await self.running.cancel()  # the next run resumes these
        await self._orders.close()
        await self.sessions.close(reason)
        if self._front is not None:
            await self._front.close()
        await self.writer.close()
        await self._spectators.close()
        self._lateness.stop()
        if hasattr(self.sessions, "router"):
            await asyncio.sleep(0.1)
            self.sessions.router.close(linger=500)
        await self._engines.close()
        self._live.close()

    async def _drain(self) -> None:
        hurry = asyncio.get_running_loop().create_task(self._hurry.wait())
        until = time.monotonic() + self._plan.drain
        games = self.running.games
        while games and not hurry.done() and (wait := until - time.monotonic()) > 0:
            await asyncio.wait([*games, hurry], timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()


def _away(bots: Iterable[ConnectedBot]) -> int:
    return sum(not bot.line.route for bot in bots)
