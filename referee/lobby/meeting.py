"""A pair of games between two bots that dialled in, from the first to the last word. Who meets whom is not its part.

The match is the one that is played over pipes; here its channels suspend, so that one thread plays them all.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

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
from referee.play.outcome import CannotStart, EngineFailed
from referee.play.series import Played, Setup, played, seats
from referee.play.table import REPLAYS
from referee.play.tape import Tape
from referee.store.rows import Unplayable

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
    voids: Counter[str] = field(default_factory=Counter)  # in a row, by whom


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
        self._draining = False

    def drain(self) -> None:
        """Begin no further game."""
        self._draining = True

    async def play(self) -> list[PairResult]:
        """What is left of the pair; what came of it, empty if it is not finished. Cancelled, it is taken up later."""
        results: list[PairResult] = []
        for game in range(GAMES):
            if game in self.pair.played:
                continue
            try:
                kept = await self._game(game)
            except (CannotStart, GameRefused) as error:
                who = self._id_of(error.who) if isinstance(error, CannotStart) else None
                self.unplayable = True
                self._room.journal.tell("unplayable", pool=self.pool.name, reason=str(error))
                return await self._room.ledger.keep(Unplayable(self.pair, who, str(error)))
            if kept is None or self._draining:
                return results
            results = kept
        return results

    async def _game(self, game: int) -> list[PairResult] | None:
        """One game that counts, durable; None: somebody has left. Raises CannotStart, GameRefused."""
        room, reason = self._room, ""
        for attempt in range(1 + REPLAYS):
            if any(not bot.line.route or bot.line.ended for bot in self.bots) and not self._before:
                return None
            key = self._setup.key(game, attempt)
            try:
                facts, record = await self._match(game, key)
            except EngineFailed as error:
                reason = str(error)
                room.journal.tell("void", "engine_failed", match=key, reason=reason)
                await asyncio.sleep(_BREATH)
                continue
            finally:
                self.key = ""
            if not facts.replayed:
                for bot in self.bots:
                    room.voids.pop(bot.name, None)
                kept = await room.ledger.keep(Game(self.pair, game, attempt, facts, record))
                await self._done(key)
                self._tell(facts)
                return kept
            await self._done(key)
            reason = f"{facts.termination}: {facts.detail}"
            room.journal.tell("void", facts.termination, match=key, culprit=facts.culprit, reason=facts.detail)
            room.voids[facts.culprit] += 1
            if self._id_of(facts.culprit) is not None and room.voids[facts.culprit] > REPLAYS:
                del room.voids[facts.culprit]
                raise CannotStart(facts.culprit, f"void {1 + REPLAYS} times in a row, last: {reason}")
        raise GameRefused(f"void {1 + REPLAYS} times in a row, last: {reason}")

    async def _match(self, game: int, key: str) -> tuple[Played, bytes]:
        """One match to its end, void ones included. Raises CannotStart, GameRefused, EngineFailed."""
        room, setup, order = self._room, self._setup, seats(game)
        first, second = (self.bots[index] for index in order)
        before, self._before = self._before, None
        if before is not None and before.start.match != key:
            before = None
        assert first.player and second.player
        async with room.engines.session(self.pool.engine) as engine:
            match = await self._described(engine, setup, key, before)
            # Not in the loop: a file system that writes for the store may keep whoever opens a file waiting.
            descriptor = await room.ledger.work(lambda: room.live.begin(key))
            tape = Tape(descriptor)
            self.key = key

            def emit(event: Event) -> None:
                tape.emit(event)
                room.seen(event)

            for bot in (first, second):
                bot.line.begin_match()
            try:
                await play_match(match, engine, (first.player, second.player), emit)
            finally:
                os.close(descriptor)
                for bot in (first, second):
                    bot.line.end_match()
        self._look_at_bots()
        return played(setup, game, tape.record()), b"".join(tape.lines)

    async def _described(self, engine: Engine, setup: Setup, key: str, before: Record | None) -> Match:
        past: tuple[MovePlayed, ...] = before.plies if before else ()
        return Match(
            key=key,
            setting=setup.setting,
            margin=setup.margin,
            max_plies=setup.max_plies,
            seed=setup.seed,
            opening=before.start.opening if before else await draw_opening(engine, setup, 0),
            referee=setup.referee,
            bot_seeds=setup.bot_seeds(key),
            past=past,
            started=before.start.started if before else "",
        )

    async def _done(self, key: str) -> None:
        await self._room.ledger.work(lambda: self._room.live.done(key))

    def _tell(self, facts: Played) -> None:
        fault = {"culprit": facts.culprit, "detail": facts.detail} if facts.culprit else {}
        self._room.journal.tell(
            "game",
            facts.termination,
            match=facts.key,
            pool=self.pool.name,
            result=facts.result or "void",
            plies=facts.plies,
            **fault,
        )

    def _look_at_bots(self) -> None:
        """Whoever cannot go on is let go; he may dial in again."""
        for bot in self.bots:
            if bot.player is not None and not bot.player.fit and not bot.line.ended:
                self._room.hall.dismiss(bot, "what it says cannot be followed any more: start it anew")

    def _id_of(self, name: str) -> int | None:
        names = {self.bots[0].name: self.pair.first, self.bots[1].name: self.pair.second}
        return names.get(name)
