"""A table: an engine and two bots that are started once and play match after match. It schedules nothing."""

import os
import random
from collections.abc import Callable

from protocol.records import Chain, Event, MatchEnded, MatchStarted, MovePlayed, Record
from referee.play.engine import OVER, Engine, GameRefused
from referee.play.launch import LaunchError
from referee.play.match import Match, play_match
from referee.play.outcome import CannotStart, EngineFailed, Fault, Outcome
from referee.play.player import Player
from referee.play.seating import start_bot, start_engine
from referee.play.series import Played, Setup, played, seats

REPLAYS = 3  # "void, replayed at most 3 times, then the bot is suspended"
_DRAWS = 100  # attempts to draw an opening that is not over before it begins


class Suspended(Exception):
    """A bot (or the engine) plays no more in this series; `who`, and str() the reason."""

    def __init__(self, who: str, reason: str) -> None:
        super().__init__(reason)
        self.who = who


class Table:
    """Plays matches of a Setup, by number. Whatever breaks is started anew before the next match.

    Every match is given to `keep` as soon as it ends, void ones too: its record and the facts of it. `live` is a
    descriptor that each line of a record is written to at once, or None.
    """

    def __init__(self, setup: Setup, keep: Callable[[bytes, Played], None], live: int | None = None) -> None:
        self._setup = setup
        self._keep = keep
        self._live = live
        self._engine: Engine | None = None
        self._players: list[Player | None] = [None, None]
        self._opening: tuple[int, tuple[str, ...]] = (-1, ())

    async def play(self, number: int) -> None:
        """Play one match of the schedule, and again while it is void. Raises Suspended when it cannot be played."""
        for attempt in range(1 + REPLAYS):
            facts = await self._attempt(number, attempt)
            if not facts.replayed:
                return
        tries = f"{1 + REPLAYS} times in a row"
        raise Suspended(facts.culprit, f"{facts.termination} {tries}, last: {facts.detail}")

    async def close(self, kill: bool = False) -> None:
        """End every process; `kill`: without asking."""
        for index in (0, 1):
            await self._dismiss(index, kill)
        if self._engine is not None:
            await self._engine.peer.stop(kill)
            self._engine = None

    async def _attempt(self, number: int, attempt: int) -> Played:
        setup, order = self._setup, seats(number)
        try:
            engine = await self._sit_engine()
            opening = await self._draw_opening(engine, number // 2)
            first, second = await self._sit(order[0]), await self._sit(order[1])
            match = Match(
                key=setup.key(number, attempt),
                setting=setup.setting,
                margin=setup.margin,
                max_plies=setup.max_plies,
                seed=setup.seed,
                opening=opening,
                referee=setup.referee,
            )
            tape = _Tape(self._live)
            outcome = await play_match(match, engine, (first, second), tape.emit)
        except CannotStart as error:
            raise Suspended(error.who, str(error)) from None
        except (EngineFailed, GameRefused, LaunchError) as error:
            raise Suspended("engine", str(error)) from None
        facts = played(setup, number, tape.record())
        self._keep(b"".join(tape.lines), facts)
        await self._clear(order, outcome)
        return facts

    # -- who sits at the table -------------------------------------------------------------------------------

    async def _sit_engine(self) -> Engine:
        if self._engine is None:
            self._engine = await start_engine(self._setup.engine, self._setup.budgets, self._setup.extras)
        return self._engine

    async def _sit(self, index: int) -> Player:
        """The bot, started if it is not there (any more). Raises CannotStart."""
        player = self._players[index]
        if player is None or player.peer.exited():
            await self._dismiss(index, kill=True)
            player = self._players[index] = await start_bot(
                self._setup.bots[index], self._setup.budgets, self._setup.extras
            )
        return player

    async def _clear(self, order: tuple[int, int], outcome: Outcome) -> None:
        """End what cannot go on to a next match, or may not."""
        if outcome.culprit == "engine" and self._engine is not None:
            await self._engine.peer.stop(kill=True)
            self._engine = None
        for index in order:
            player = self._players[index]
            if player is not None and (self._setup.restart or not player.fit):
                await self._dismiss(index, kill=not player.fit)

    async def _dismiss(self, index: int, kill: bool) -> None:
        player, self._players[index] = self._players[index], None
        if player is not None:
            await player.peer.stop(kill)

    # -- openings --------------------------------------------------------------------------------------------

    async def _draw_opening(self, engine: Engine, pair: int) -> tuple[str, ...]:
        """Random plies, the same for both matches of a pair; drawn by the seed from the engine's legal moves.

        Words (`pass`, `swap-sides`, `bid:7`) are drawn only where no move on the board is legal.
        """
        if self._setup.openings and self._opening[0] != pair:
            for draw in range(_DRAWS):
                chance = random.Random(f"{self._setup.seed} {pair} {draw}")
                moves = await _random_plies(engine, self._setup.setting.new_game, self._setup.openings, chance)
                if moves is not None:
                    break
            else:
                raise GameRefused(f"no opening of {self._setup.openings} plies leaves a game to play: ask for fewer")
            self._opening = pair, moves
        return self._opening[1]


async def _random_plies(engine: Engine, new_game: str, plies: int, chance: random.Random) -> tuple[str, ...] | None:
    """Canonical moves, or None if the game is over before somebody could play it."""
    status, moves = await engine.new_game(new_game), list[str]()
    while status.phase != OVER and len(moves) < plies:
        legal = await engine.legal_moves()
        on_board = [move for move in legal if not move[0].islower()]
        words = [move for move in legal if move != "pass"]
        try:
            move, status = await engine.play(status.to_play, chance.choice(on_board or words or legal))
        except Fault as fault:
            raise EngineFailed(f"the engine refuses a move that it listed as legal: {fault}") from None
        moves.append(move)
    return None if status.phase == OVER else tuple(moves)


class _Tape:
    """The record of one match while it is played."""

    def __init__(self, live: int | None) -> None:
        self.events: list[Event] = []
        self.lines: list[bytes] = []
        self._chain = Chain()
        self._live = live
        if live is not None:
            os.ftruncate(live, 0)

    def emit(self, event: Event) -> None:
        """Keep the event and its line; write it to the side file without waiting for the disk."""
        line = self._chain.line(event)
        self.events.append(event)
        self.lines.append(line)
        if self._live is not None:
            os.write(self._live, line)

    def record(self) -> Record:
        start, *plies, end = self.events
        assert isinstance(start, MatchStarted) and isinstance(end, MatchEnded)
        return Record(start, tuple(ply for ply in plies if isinstance(ply, MovePlayed)), end)
