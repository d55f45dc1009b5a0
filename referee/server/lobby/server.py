"""The lobby as a whole: sessions, matchmaking, matches in progress, the store, and an orderly end.

One thread with one event loop, and the store's thread. After a kill the next run resumes the matches when both bots
have reconnected.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ggp.protocol.transports.keys import KeyFileError, read_pair
from ggp.referee.ladder.jobs import series_of
from ggp.referee.ladder.store.model import StoreError, StoreGone, Taken
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.resume import MatchFiles
from ggp.referee.server.lobby.auth import Admission
from ggp.referee.server.lobby.challenges import Challenges, LobbyCommands, Unrated
from ggp.referee.server.lobby.config import LobbyFile
from ggp.referee.server.lobby.engine_pool import Engines
from ggp.referee.server.lobby.fronts import Front
from ggp.referee.server.lobby.game import LeftOver, Room, RunningPairs
from ggp.referee.server.lobby.limits import ClockWatch
from ggp.referee.server.lobby.log import EventLog, Metric, label
from ggp.referee.server.lobby.matchmaking import VERSIONS, Matchmaker, Rated, Registration
from ggp.referee.server.lobby.open_pairs import OpenPairs, StoreWriter
from ggp.referee.server.lobby.remote_bot import Lateness
from ggp.referee.server.lobby.sessions import Sessions
from ggp.referee.server.lobby.socket import RouterSocket
from ggp.referee.server.lobby.spectators import SpectatorConfig, Spectators

_CHECKPOINT = 60.0  # seconds between checkpoints of the store
_BEAT = 10.0  # seconds between signs of life in the store
_AFTER_FAULT = 1.0  # seconds, at least, until pairing continues after a round that failed


class LobbyServer:
    """A lobby on an open store, which this process has locked or joined as a front."""

    def __init__(
        self,
        settings: LobbyFile,
        store: Store,
        sockets: Path,
        admission: Admission,
        event_log: EventLog,
        inside: str = "",
    ) -> None:
        """Start nothing yet.

        Args:
            sockets: The folder for the sockets of engines.
            inside: The ipc:// address for local bots, "" for none.

        Raises:
            ConfigError: Spectators need the server's key, and it cannot be read.
        """
        ladder, table = settings.ladder, settings.table
        pools = (*ladder.pools, *(pool.unrated() for pool in ladder.pools))
        self._ladder = replace(ladder, pools=pools, bots=tuple(bot.with_unrated() for bot in ladder.bots))
        self._settings, self._store, self._event_log, self._inside = settings, store, event_log, inside
        self._admission = admission
        self._router: RouterSocket | None = None
        processes = table.engines or len(os.sched_getaffinity(0))
        self.engines = Engines(sockets, processes, ladder.budgets, event_log)
        name = f"{ladder.name}.{settings.front}" if settings.front else ladder.name
        self._live = MatchFiles(Path(ladder.path).absolute().parent / f"{name}.live")
        self._spectators = Spectators(spectator_config(settings), event_log)
        self._lateness = Lateness()
        games = {pool.setting.game for pool in ladder.pools}
        self.sessions = Sessions(table, ladder.budgets, games, admission, event_log, self._lateness)
        self.writer = StoreWriter(store, event_log, self._end_at_once)
        self._room = Room(
            self.sessions,
            self.engines,
            self.writer,
            self._live,
            self._spectators,
            event_log,
            ladder.budgets,
            series_of(self._ladder),
        )
        self._registration = Registration(self._ladder, store, self.writer)
        self._left_over = LeftOver(self._room)
        self.running = RunningPairs(self._room, self._left_over, table.matches)
        self._open_pairs: Sequence[OpenPairs] = ()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._front: Front | None = None
        if settings.front:
            front = Front(settings.front, settings.address, store, self.writer, self.sessions, event_log, self.stop)
            self._front = self.sessions.front = front
            self._registration.departed = front.departed

    async def run(self, ready: Callable[[str], None]) -> None:
        """Serve until `stop`. Call `ready` with the address that bots dial.

        Raises:
            StoreError, EngineFailed, AddressError: The lobby cannot start, or has lost its store.
        """
        self._load()
        settings, table = self._settings, self._settings.table
        await self.engines.open({pool.engine for pool in self._ladder.pools})
        try:
            router = self._router = self.sessions.router = RouterSocket(
                settings.listen, self.sessions, self._admission, table.connections, table.arrivals, self._inside
            )
            router.open()
            self.writer.open()
            if self._front is not None:
                self._front.open(router.url, self.running)
            self._lateness.start()
            self.sessions.open()
            self._commands.open()
            self._left_over.until = time.monotonic() + table.grace
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
        """Start no more matches, wait for the running ones, then end. Called again, wait no longer."""
        if self._stopping.is_set():
            self._hurry.set()
            self.writer.hurry()
        self.running.closed = True
        self._stopping.set()

    def _end_at_once(self) -> None:
        """End without waiting for matches, because their results could not be stored."""
        self.stop()
        self.stop()

    def metrics(self) -> list[Metric]:
        """Return the metrics, none before the socket is open."""
        if self._router is None:
            return []
        counts, bots, worst = self._event_log.counts, self.sessions.bots.values(), self._lateness.worst
        self._lateness.worst = 0.0
        away = sum(not bot.line.route for bot in bots)
        ended = {label(kind=kind, termination=word): count for (kind, word), count in self._room.games.items()}
        refused = {label(why=word): count for (event, word), count in counts.items() if event == "refused"}
        faults = {label(task=word): count for (event, word), count in counts.items() if event == "fault"}
        found: list[tuple[str, str, str, float | dict[str, int]]] = [
            ("connections", "gauge", "Connections of bots.", self._router.connections),
            ("bots", "gauge", "Connected bots.", len(bots)),
            ("bots_away", "gauge", "Bots that lost their connection in a match.", away),
            ("challenges", "gauge", "Challenges that are open.", len(self._challenges.open)),
            ("matches", "gauge", "Matches under way.", len(self.running.games)),
            ("plies_total", "counter", "Plies that were played.", self._room.plies),
            ("games_total", "counter", "Games that ended and are kept, by kind and end.", ended),
            ("refused_total", "counter", "Connections and bots that were refused, by reason.", refused),
            ("faults_total", "counter", "Failures of the server's own tasks, which go on, by task.", faults),
            ("loop_late_seconds", "gauge", "How late the loop was, at most, since it was last asked.", worst),
        ]
        return [
            Metric(f"ggp_{name}", kind, text, value if isinstance(value, dict) else {"": value})
            for name, kind, text, value in found
        ]

    # -- pairing -----------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Load pools, pairs and unfinished matches. Raises StoreError."""
        front, store, pools = self._front, self._store, self._ladder.pools
        rows = self._registration.load(front is None or front.join())
        name = front.name if front else ""
        makers = [Matchmaker(self._ladder, pool, rows[pool.name], store, name) for pool in pools if pool.rated]
        # Challenges need all bots in one process.
        unrated = [Unrated(pool, rows[pool.name], store) for pool in pools if not pool.rated and not front]
        self._open_pairs = [*makers, *unrated]
        self._left_over.load(self._open_pairs)
        for maker in makers if front else ():
            maker.give_back()
        self._rated = Rated(makers, self.running, self.writer)
        self._challenges = Challenges(
            unrated, self._settings.table, self.running, self._rated, self.writer, store, self._event_log
        )
        self._commands = LobbyCommands(
            self._challenges,
            self._event_log,
            lambda route, answer: self.sessions.router.send(route, b"R", [answer]),
            self.sessions.hang_up,
        )
        self.sessions.orders = self._commands.submit

    async def _pair_until_stopped(self) -> None:
        """Pair idle bots until `stop`. A round that fails is logged."""
        beat = checkpoint = time.monotonic()
        clocks = ClockWatch(time.time(), beat)
        while not self._stopping.is_set():
            pause = self._settings.table.pairing
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
            except StoreError:  # the next round tries again
                pass
            except Exception as error:
                self._event_log.fault("pairing", error)
                pause = max(pause, _AFTER_FAULT)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _pair(self) -> None:
        """Do one round of pairing. Raises StoreError."""
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
            self._event_log.log("drain", matches=len(games), seconds=self._settings.table.drain)
            await self._drain()
        await self.running.cancel()  # the next run resumes these
        await self._commands.close()
        await self.sessions.close(reason)
        if self._front is not None:
            await self._front.close()
        await self.writer.close()
        await self._spectators.close()
        self._lateness.stop()
        if self._router is not None:
            await asyncio.sleep(0.1)
            self._router.close(linger=500)
        await self.engines.close()
        self._live.close()

    async def _drain(self) -> None:
        hurry = asyncio.get_running_loop().create_task(self._hurry.wait())
        until = time.monotonic() + self._settings.table.drain
        games = self.running.games
        while games and not hurry.done() and (wait := until - time.monotonic()) > 0:
            await asyncio.wait([*games, hurry], timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()


def spectator_config(settings: LobbyFile) -> SpectatorConfig | None:
    """Return what the spectator process needs, None for no spectators. Raises ConfigError."""
    if not settings.watch:
        return None
    ladder, key = settings.ladder, ""
    if settings.watch_keys:
        key = str(settings.server_key)
        try:
            read_pair(settings.server_key)
        except KeyFileError as error:
            text = f'{error}; ggp keys new --server makes one, and watch = "none" does without spectators'
            raise ConfigError(ladder.path, "lobby.server_key", text) from None
    return SpectatorConfig(settings.watch, ladder.name, ladder.store, key, settings.table.spectators)
