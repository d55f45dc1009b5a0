"""A pair of games between two bots that dialled in, from the first to the last word. Who meets whom is not its part.

The match is the one that is played over pipes; here its channels suspend, so that one thread plays them all.
"""

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

from protocol.records import Event, MovePlayed, Record
from referee.config import Budgets
from referee.ladder.entries import Pool
from referee.ladder.pairs import GAMES, Pair, PairResult
from referee.ladder.work import make_setup
from referee.lobby.engines import Engines
from referee.lobby.guest import Guest
from referee.lobby.hall import Hall
from referee.lobby.journal import Journal
from referee.lobby.ledger import Game, Ledger
from referee.lobby.live import Live
from referee.play.engine import Engine, GameRefused
from referee.play.match import Match, play_match
from referee.play.opening import draw_opening
from referee.play.outcome import REPLAYS, CannotStart, EngineFailed
from referee.play.series import Played, Setup, played, seats
from referee.play.tape import Tape
from referee.store.rows import Unplayable

T = TypeVar("T")
_BREATH = 1.0  # seconds before a void game is played again


@dataclass(frozen=True, slots=True)
class Room:
    """What every meeting needs. `seen` is told every event of every match, when it happens."""

    hall: Hall
    engines: Engines
    ledger: Ledger
    live: Live
    journal: Journal
    budgets: Budgets
    series: str
    seen: Callable[[Event], None] = lambda event: None
    engine_voids: Counter[tuple[int, int]] = field(default_factory=Counter)  # of a pair's game, by the engine
    games: Counter[tuple[str, str]] = field(default_factory=Counter)  # that are kept, by kind and termination


class Meeting:
    """`bots` in the order of the pair, and sitting (`playing`) until the end. `before`: a match to be taken up."""

    def __init__(
        self, room: Room, pool: Pool, pair: Pair, bots: tuple[Guest, Guest], before: Record | None = None
    ) -> None:
        self.pool, self.pair, self.bots = pool, pair, bots
        self.key = ""  # of the match at hand
        self.unplayable = False
        self._room = room
        self._before = before
        starts = {pair.first: bots[0].start, pair.second: bots[1].start}
        self._setup = make_setup(room.series, pair, pool, starts, room.budgets)
        self._opening: tuple[str, ...] | None = None  # of both games, once it was drawn
        self._draining = False
        self._warnings: tuple[str, ...] = ()  # of the last match

    def drain(self) -> None:
        """Begin no further game."""
        self._draining = True

    async def play(self) -> list[PairResult]:
        """What is left of the pair; what came of it, empty if it is not finished. Cancelled, it is taken up later."""
        try:
            return await self._play()
        finally:
            for bot in self.bots:
                self._room.hall.rest(bot)

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
                self._room.journal.tell("unplayable", pool=self.pool.name, reason=str(error))
                return await self._room.ledger.keep(Unplayable(self.pair, who, str(error)))
            if kept is None:
                break
            results = kept
            if self._draining or any(bot.leaving for bot in self.bots):
                break
        return results

    async def _game(self, game: int) -> list[PairResult] | None:
        """One game that counts, durable; None: a bot has left or will. Raises CannotStart, GameRefused."""
        room, attempt = self._room, self.pair.tried[game]
        while True:
            if any(bot.leaving or not bot.line.route or bot.line.ended for bot in self.bots) and not self._before:
                return None
            key = self._setup.key(game, attempt)
            try:
                facts, record = await self._match(game, key)
            except EngineFailed as error:
                room.journal.tell("void", "engine_failed", match=key, reason=str(error))
                self._count_engine_void(game, str(error))
                await asyncio.sleep(_BREATH)
                continue
            finally:
                self.key = ""
            self._judge(facts)
            kept = await _to_the_end(self._keep(Game(self.pair, game, attempt, facts, record)))
            self._tell(facts)
            if not facts.replayed:
                room.engine_voids.pop((self.pair.id, game), None)
                return kept
            attempt += 1
            if facts.culprit == "engine":
                self._count_engine_void(game, facts.detail)
            elif reason := await room.ledger.suspended(self.pair.pool, self._names[facts.culprit]):
                raise CannotStart(facts.culprit, reason)

    def _count_engine_void(self, game: int, reason: str) -> None:
        """A game that the engine made void too often, in however many meetings, is given up. Raises GameRefused."""
        voids, one = self._room.engine_voids, (self.pair.id, game)
        voids[one] += 1
        if voids[one] > REPLAYS:
            del voids[one]
            raise GameRefused(f"the engine made a game void {1 + REPLAYS} times, last: {reason}")

    def _judge(self, facts: Played) -> None:
        """Who forfeits or leaves again and again rests before the next meeting; played games make it forgotten."""
        for bot in self.bots:
            if facts.culprit == bot.name:
                self._room.hall.rests.fault(bot.identity.key, monotonic())
            elif facts.result and not facts.culprit:
                self._room.hall.rests.played(bot.identity.key)

    async def _match(self, game: int, key: str) -> tuple[Played, bytes]:
        """One match to its end, void ones included. Raises CannotStart, GameRefused, EngineFailed."""
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
            match = await self._described(engine, setup, key, before)
            # Not in the loop: a file system that writes for the store may keep whoever opens a file waiting.
            descriptor, kept = await room.ledger.work(lambda: room.live.begin(key, before is not None))
            tape = Tape(descriptor, kept)
            self.key = key

            def emit(event: Event) -> None:
                tape.emit(event)
                room.seen(event)

            for bot in (first, second):
                bot.line.begin_match()
            try:
                await play_match(match, engine, (first.player, second.player), emit, renew)
            except (CannotStart, GameRefused):  # what was emitted is no match
                await self._done(key)
                raise
            finally:
                os.close(descriptor)
                for bot in (first, second):
                    bot.line.end_match()
        self._look_at_bots()
        record = tape.record()
        self._warnings = record.end.warnings if record.end else ()
        return played(setup, game, record), b"".join(tape.lines)

    async def _described(self, engine: Engine, setup: Setup, key: str, before: Record | None) -> Match:
        past: tuple[MovePlayed, ...] = before.plies if before else ()
        if before is not None:
            self._opening = before.start.opening
        if self._opening is None:
            self._opening = await draw_opening(engine, setup, 0)
        return Match(
            key=key,
            setting=setup.setting,
            margin=setup.margin,
            max_plies=setup.max_plies,
            seed=setup.seed,
            opening=self._opening,
            referee=setup.referee,
            bot_seeds=setup.bot_seeds(key),
            past=past,
            started=before.start.started if before else "",
            keep_stderr=False,  # the record is published
        )

    async def _keep(self, game: Game) -> list[PairResult]:
        kept = await self._room.ledger.keep(game)
        await self._done(game.facts.key)
        return kept

    async def _done(self, key: str) -> None:
        await self._room.ledger.work(lambda: self._room.live.done(key))

    def _tell(self, facts: Played) -> None:
        if not facts.replayed:
            self._room.games["rated" if self.pool.rated else "challenge", facts.termination] += 1
        fault = {"culprit": facts.culprit, "detail": facts.detail} if facts.culprit else {}
        self._room.journal.tell(
            "void" if facts.replayed else "game",
            facts.termination,
            match=facts.key,
            pool=self.pool.name,
            result=facts.result or "void",
            plies=facts.plies,
            **fault,
            **({"warnings": "; ".join(self._warnings)} if self._warnings else {}),
        )

    def _look_at_bots(self) -> None:
        """Whoever cannot go on is let go; he may dial in again."""
        for bot in self.bots:
            if bot.player is not None and not bot.player.fit and not bot.line.ended:
                self._room.hall.dismiss(bot, "what it says cannot be followed any more: start it anew")

    @property
    def _names(self) -> dict[str, int]:
        """The bots' names, with their ids."""
        return {self.bots[0].name: self.pair.first, self.bots[1].name: self.pair.second}


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Also if we are cancelled meanwhile: a game that has ended is kept, and is not left under way."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
