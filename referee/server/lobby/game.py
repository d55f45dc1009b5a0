"""A pair of games between two connected bots, its files while it is played, and recovery after a restart.

The match is the same coroutine as over pipes; here its channels suspend, so that one thread plays all matches.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from ggp.protocol.records import Event, MovePlayed, Record
from ggp.referee.ladder.jobs import make_setup, pair_name
from ggp.referee.ladder.store.model import GAMES, FinishedGame, Pair, PairResult, Pool, StoreError, UnplayablePair
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.engine import Engine, GameRefused
from ggp.referee.match.match import EARLY, play_match
from ggp.referee.match.match_runner import ENGINE_TRIES
from ggp.referee.match.outcome import CannotStart, EngineFailed, not_reconnected
from ggp.referee.match.record_file import RecordWriter
from ggp.referee.match.resume import MatchFiles, describe_match, lost_by_absence
from ggp.referee.match.series import GameResult, draw_opening, seats
from ggp.referee.match.setting import Timeouts
from ggp.referee.records import pack
from ggp.referee.server.lobby.engine_pool import Engines
from ggp.referee.server.lobby.log import EventLog
from ggp.referee.server.lobby.open_pairs import OpenPairs, StoreWriter
from ggp.referee.server.lobby.remote_bot import DIALLED, ConnectedBot
from ggp.referee.server.lobby.sessions import FAREWELL, Sessions
from ggp.referee.server.lobby.spectators import Spectators
from ggp.referee.server.lobby.zmq_io import quiet_moment

T = TypeVar("T")
_PATIENCE = 0.1  # seconds that a match which is about to begin lets others go first: ten begin in a second at least
_BREATH = 1.0  # seconds before a void game is played again


@dataclass(slots=True)
class Room:
    """The parts of the lobby that every pair of games uses, and the counts of all games."""

    sessions: Sessions
    engines: Engines
    writer: StoreWriter
    live: MatchFiles
    spectators: Spectators
    event_log: EventLog
    budgets: Timeouts
    series: str
    engine_voids: Counter[tuple[int, int]] = field(default_factory=Counter)  # void by the engine, by pair and game
    games: Counter[tuple[str, str]] = field(default_factory=Counter)  # that count, by kind and termination
    plies: int = 0  # played in this run
    begins: asyncio.Lock = field(default_factory=asyncio.Lock)  # so that matches begin one after another


class PairGame:
    """A pair of games between two connected bots."""

    def __init__(
        self, room: Room, pool: Pool, pair: Pair, bots: tuple[ConnectedBot, ConnectedBot], before: Record | None = None
    ) -> None:
        """Prepare the pair, with the bots in its order. `before`: a match to resume."""
        self.pool, self.pair, self.bots = pool, pair, bots
        self.unplayable = False
        self._room = room
        self._before = before
        starts = {pair.first: bots[0].start, pair.second: bots[1].start}
        self._setup = make_setup(room.series, pair, pool, starts, room.budgets)
        self._opening: tuple[str, ...] | None = None  # of both games, once it was drawn
        self._draining = False
        self._warnings: tuple[str, ...] = ()  # of the last match

    def drain(self) -> None:
        """Start no further game."""
        self._draining = True

    async def play(self) -> list[PairResult]:
        """Play the missing games, and return the results of the pair, [] if it is unfinished.

        A cancelled match can be resumed by the next run.
        """
        try:
            return await self._play()
        finally:
            for bot in self.bots:
                self._room.sessions.apply_backoff(bot)

    async def _play(self) -> list[PairResult]:
        results: list[PairResult] = []
        for game in range(GAMES):
            if game in self.pair.played:
                continue
            try:
                kept = await self._game(game)
            except (CannotStart, GameRefused) as error:
                who = self._names.get(error.who) if isinstance(error, CannotStart) else None
                self.unplayable = True
                self._room.event_log.log("unplayable", pool=self.pool.name, reason=str(error))
                return await self._room.writer.store(UnplayablePair(self.pair, who, str(error)))
            if kept is None:
                break
            results = kept
            if self._draining or any(bot.leaving for bot in self.bots):
                break
        return results

    async def _game(self, game: int) -> list[PairResult] | None:
        """Play and store one game that counts. Return None if a bot has left or will leave.

        Raises:
            CannotStart, GameRefused: The pair cannot be played.
        """
        room, attempt = self._room, self.pair.tried[game]
        while True:
            if (rest := max(bot.resting for bot in self.bots) - monotonic()) > 0:
                await asyncio.sleep(rest)
            async with room.begins:
                await quiet_moment(_PATIENCE)
            gone = any(bot.leaving or not bot.line.route or bot.line.ended for bot in self.bots)
            if (gone or self._draining) and not self._before:
                return None
            key = self._setup.key(game, attempt)
            try:
                result, lines = await self._match(game, key)
            except EngineFailed as error:
                room.event_log.log("void", "engine_failed", match=key, reason=str(error))
                await self._done(key)
                self._count_engine_void(game, str(error))
                await asyncio.sleep(_BREATH)
                continue
            self._count_faults(result)
            kept = await _to_the_end(self._store(result, lines))
            self._log(result)
            if not result.replayed:
                room.engine_voids.pop((self.pair.id, game), None)
                return kept
            attempt += 1
            if result.culprit == "engine":
                self._count_engine_void(game, result.detail)
            elif reason := await room.writer.suspended(self.pair.pool, self._names[result.culprit]):
                raise CannotStart(result.culprit, reason)

    def _count_engine_void(self, game: int, reason: str) -> None:
        """Count a game that the engine made void. Raises GameRefused after too many."""
        voids, one = self._room.engine_voids, (self.pair.id, game)
        voids[one] += 1
        if voids[one] == ENGINE_TRIES:
            del voids[one]
            raise GameRefused(f"the engine made a game void {ENGINE_TRIES} times, last: {reason}")

    def _count_faults(self, result: GameResult) -> None:
        """Count forfeits and disconnects for the back-off; a game without a fault resets it."""
        for bot in self.bots:
            if result.culprit == bot.name:
                self._room.sessions.backoff.fault(bot.identity.key, monotonic())
            elif result.result and not result.culprit:
                self._room.sessions.backoff.played(bot.identity.key)

    async def _match(self, game: int, key: str) -> tuple[GameResult, bytes]:
        """Play one match to its end, even if it is void. Raises CannotStart, GameRefused, EngineFailed."""
        room, setup, order = self._room, self._setup, seats(game)
        first, second = (self.bots[index] for index in order)
        before, self._before = self._before, None
        if before is not None and before.start.match != key:
            before = None
        assert first.player and second.player
        async with contextlib.AsyncExitStack() as sessions:

            async def renew() -> Engine:
                await sessions.aclose()  # an engine that is stuck is ended with its last session
                return await sessions.enter_async_context(room.engines.session(self.pool.engine))

            engine = await renew()
            if before is not None:
                self._opening = before.start.opening
            if self._opening is None:
                self._opening = await draw_opening(engine, setup, 0)
            # Its record is published, so stderr stays out of it.
            match = describe_match(setup, game, key, self._opening, before, keep_stderr=False)
            # In the store's thread: the file system may delay an open while it writes for the store.
            descriptor, kept = await room.writer.work(lambda: room.live.open(key, before is not None))
            record_writer = RecordWriter(descriptor, kept, partial(room.live.renew, key, descriptor))

            def emit(event: Event) -> None:
                record_writer.emit(event)
                room.spectators.publish(event, record_writer.lines[-1])
                room.plies += type(event) is MovePlayed

            for bot in (first, second):
                bot.line.begin_match()
            try:
                _, record = await play_match(match, engine, (first.player, second.player), emit, renew)
            except (CannotStart, GameRefused):  # what was emitted is no match
                await self._done(key)
                raise
            finally:
                os.close(descriptor)
                for bot in (first, second):
                    bot.line.end_match()
                    bot.resting = monotonic() + bot.start.wait
        self._dismiss_unfit()
        self._warnings = record.end.warnings if record.end else ()
        return setup.result(game, record), b"".join(record_writer.lines)

    async def _store(self, result: GameResult, lines: bytes) -> list[PairResult]:
        writer = self._room.writer
        result = replace(result, record=await writer.work(lambda: pack(lines)))
        kept = await writer.store(FinishedGame(self.pair, result))
        await self._done(result.key)
        return kept

    async def _done(self, key: str) -> None:
        await self._room.writer.work(lambda: self._room.live.remove(key))
        self._room.spectators.end(key)

    def _log(self, result: GameResult) -> None:
        if not result.replayed:
            self._room.games["rated" if self.pool.rated else "challenge", result.termination] += 1
        fault = {"culprit": result.culprit, "detail": result.detail} if result.culprit else {}
        self._room.event_log.log(
            "void" if result.replayed else "game",
            result.termination,
            match=result.key,
            pool=self.pool.name,
            result=result.result or "void",
            plies=result.plies,
            **fault,
            **({"warnings": "; ".join(self._warnings)} if self._warnings else {}),
        )

    def _dismiss_unfit(self) -> None:
        """Dismiss bots whose dialogue is out of sync; they may dial in again."""
        for bot in self.bots:
            if bot.player is not None and not bot.player.fit and not bot.line.ended:
                self._room.sessions.dismiss(bot, "protocol out of sync: restart the bot")

    @property
    def _names(self) -> dict[str, int]:
        """The bots' names, with their ids."""
        return {self.bots[0].name: self.pair.first, self.bots[1].name: self.pair.second}


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Finish the work even if cancelled, so that a game that has ended is stored."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


# -- recovery of the previous run's matches ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waiting:
    """An unfinished match of the previous run."""

    open_pairs: OpenPairs
    pair: Pair
    bots: tuple[tuple[str, str], tuple[str, str]]  # by name and version, in the order of the pair
    record: Record


class LeftOver:
    """Recovers matches of the previous run: stores finished ones, resumes the others when both bots reconnect.

    Call `load` before pairing starts.
    """

    def __init__(self, room: Room) -> None:
        self.until = 0.0  # how long it waits for the bots (time.monotonic)
        self._room = room
        self.waiting: dict[int, Waiting] = {}  # by pair

    def load(self, all_open_pairs: Sequence[OpenPairs]) -> None:
        """Read the files of the previous run. A file that causes an error stays. Raises StoreError."""
        for record, lines in self._room.live.recover():
            try:
                if not self._resume(all_open_pairs, record, lines):
                    self._room.live.remove(record.start.match)
                    continue
            except StoreError:
                raise
            except Exception as error:
                self._room.event_log.fault("store", error, match=record.start.match)
                continue
            events: list[Event] = [record.start, *record.plies]
            for event, line in zip(events, lines.splitlines(keepends=True), strict=False):  # the last may be torn
                self._room.spectators.publish(event, line)

    def reserved(self) -> Counter[tuple[str, str]]:
        """Return the number of matches that wait for a bot, by name and version."""
        return Counter(bot for one in self.waiting.values() for bot in one.bots)

    def back(self, bots: Sequence[ConnectedBot]) -> Iterator[tuple[Waiting, tuple[ConnectedBot, ConnectedBot]]]:
        """Remove and return the matches whose bots are both ready again."""
        here: dict[tuple[str, str], list[ConnectedBot]] = {}
        for bot in bots if self.waiting else ():
            here.setdefault((bot.name, bot.version), []).append(bot)
        for id, one in list(self.waiting.items()):
            first, second = one.bots
            if here.get(first) and here.get(second):
                del self.waiting[id]
                yield one, (here[first].pop(), here[second].pop())

    async def expire(self, bots: Iterable[ConnectedBot]) -> None:
        """End the matches that still wait when `until` is past. Raises StoreError.

        From ply 2 on, a bot that has not come back loses to one that has. Other matches are void.
        """
        if not self.waiting or time.monotonic() <= self.until:
            return
        here = {(bot.name, bot.version) for bot in bots if bot.player is not None and bot.line.route}
        for id, one in list(self.waiting.items()):
            absent = [bot for bot in one.bots if bot not in here]
            if absent:
                del self.waiting[id]
                await self._end(one, absent)

    async def _end(self, one: Waiting, absent: Sequence[tuple[str, str]]) -> None:
        room, start, left = self._room, one.record.start, None
        seats = [seat for seat, bot in enumerate(start.bots, 1) if bot.command == DIALLED and bot.name == absent[0][0]]
        names = [name for name, _ in absent]
        moved = await room.writer.work(lambda: one.open_pairs.elsewhere(names))
        if not moved and len(absent) == 1 and seats and len(one.record.plies) >= len(start.opening) + EARLY:
            record = lost_by_absence(one.record, seats[0])
            _, game = _key_parts(start.match)
            results = await room.writer.store(self._game(one.open_pairs, one.pair, game, record, record.lines()))
            for result in results:
                one.open_pairs.fix(result)
            if not results:
                left = await room.writer.work(lambda: one.open_pairs.still_open(one.pair))
            room.event_log.log(
                "game", "disconnected", match=start.match, culprit=absent[0][0], detail=str(not_reconnected())
            )
        else:
            left = one.pair
            room.event_log.log("void", "restart", match=start.match, reason=str(not_reconnected()))
        one.open_pairs.release(one.pair, left)
        room.live.remove(start.match)
        room.spectators.end(start.match)

    def _resume(self, all_open_pairs: Sequence[OpenPairs], record: Record, lines: bytes) -> bool:
        """Return True if the match is to be resumed. Store it if it is finished and its pair is still open."""
        series, game = _key_parts(record.start.match)
        found = (
            (open_pairs, pair)
            for open_pairs in all_open_pairs
            for pair in (*open_pairs.open.values(), *open_pairs.taken.values())
            if pair_name(self._room.series, open_pairs.pool, pair.number) == series
        )
        open_pairs, pair = next(found, (None, None))
        if open_pairs is None or pair is None:
            return False
        if not open_pairs.reserve(pair):  # another front plays it
            return False
        if record.end is not None:
            for result in self._room.writer.add_now(self._game(open_pairs, pair, game, record, lines)):
                open_pairs.fix(result)
            open_pairs.load()
            return False
        if pair.id in self.waiting or game in pair.played:
            return False
        bots = {seat.id: bot for bot, seat in open_pairs.seats.items()}
        open_pairs.claim(pair)
        self.waiting[pair.id] = Waiting(open_pairs, pair, (bots[pair.first], bots[pair.second]), record)
        return True

    def _game(self, open_pairs: OpenPairs, pair: Pair, game: int, record: Record, lines: bytes) -> FinishedGame:
        names = [bot.name for bot in record.start.bots]
        one, two = names if game == 0 else reversed(names)
        starts = {pair.first: BotSpec(one, DIALLED), pair.second: BotSpec(two, DIALLED)}
        setup = make_setup(self._room.series, pair, open_pairs.pool, starts, self._room.budgets)
        return FinishedGame(pair, replace(setup.result(game, record), record=pack(lines)))


def _key_parts(key: str) -> tuple[str, int]:
    """Split `SERIES-GAME.ATTEMPT` into the series and the game, counted from 0."""
    series, _, number = key.rpartition("-")
    return series, int(number.partition(".")[0]) - 1


# -- pairs in progress -------------------------------------------------------------------------------------------------


class RunningPairs:
    """The pairs of games that are being played, `most` at a time, and the bots that are free to play."""

    def __init__(self, room: Room, left_over: LeftOver, most: int) -> None:
        self.games: dict[asyncio.Task[None], PairGame] = {}
        self.closed = False  # start no more
        self._room, self._left_over, self._most = room, left_over, most

    def bots(self) -> Iterable[ConnectedBot]:
        """Return the connected bots."""
        return self._room.sessions.bots.values()

    def idle(self) -> list[ConnectedBot]:
        """Return the bots that can start a match now and that no interrupted match waits for."""
        reserved, idle = self._left_over.reserved(), list[ConnectedBot]()
        for bot in self._room.sessions.ready():
            if reserved[bot.name, bot.version] > 0:
                reserved[bot.name, bot.version] -= 1
            else:
                idle.append(bot)
        return idle

    def room_left(self) -> bool:
        """Return True if one more pair can be started."""
        return not self.closed and len(self.games) < self._most and self._room.engines.free > 0

    def start(
        self, open_pairs: OpenPairs, pair: Pair, bots: tuple[ConnectedBot, ConnectedBot], before: Record | None = None
    ) -> None:
        """Play a pair, with the bots in its order. `before`: a match to resume."""
        open_pairs.claim(pair)
        game = PairGame(self._room, open_pairs.pool, pair, bots, before)
        for bot in bots:
            bot.playing, bot.challenged = True, not open_pairs.pool.rated
            bot.pairs += 1
        task = asyncio.get_running_loop().create_task(self._play(open_pairs, game))
        self.games[task] = game
        task.add_done_callback(lambda done: self.games.pop(done))

    async def cancel(self) -> None:
        """Interrupt all of them."""
        tasks = list(self.games)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _play(self, open_pairs: OpenPairs, game: PairGame) -> None:
        pair = game.pair
        left: Pair | None = None  # a bot left: the missing games are played when both are connected again
        try:
            results = await game.play()
            for result in results:
                open_pairs.fix(result)
            if game.unplayable:  # a bot may be suspended
                await self._room.writer.work(open_pairs.enrolled)
            elif not results:
                with contextlib.suppress(StoreError):
                    left = await self._room.writer.work(lambda: open_pairs.still_open(pair))
        except Exception as error:
            self._room.event_log.fault("match", error, pool=open_pairs.pool.name)
        finally:
            open_pairs.release(pair, left)
            for bot in game.bots:
                bot.playing = False
                if bot.leaving:
                    self._room.sessions.dismiss(bot, FAREWELL)
                elif not bot.line.route and not bot.line.ended:
                    self._room.sessions.forget(bot, "its connection was lost")
