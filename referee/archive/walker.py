"""One bot that is led along a recorded match and asked what it would play. Who compares the answers: see bisect.

In its own turns the bot is asked as in the match. As long as it answers what was played, it is where it was in that
match, with all that it has in mind. After another answer it has played that one, and there is no way back that every
bot knows (`undo` would leave its thoughts, and its chance, in between): before the next question it gets a new game
with the same seed and is told the plies so far.
"""

from typing import NamedTuple

from protocol.records import Record
from referee.config import Budgets, Setting
from referee.play.clock import Clock, Control
from referee.play.match import read_move
from referee.play.outcome import Fault, Termination
from referee.play.player import SEED, Player
from referee.play.seating import Extras, Start, start_bot


class Answer(NamedTuple):
    """What a bot says in a position: a move (or `resign`), or what went wrong instead."""

    move: str = ""
    analysis: str = ""
    fault: str = ""

    @property
    def said(self) -> str:
        return self.move or f"({self.fault})"


class Walker:
    """A bot in one seat of a record. `started` must be awaited first, `close` in the end."""

    def __init__(
        self, start: Start, record: Record, setting: Setting, seed: int | None, control: Control, budgets: Budgets
    ) -> None:
        self.start = start
        self.seeded = False  # whether it lets itself be told a seed
        self._record, self._setting, self._seed = record, setting, seed
        self._control, self._budgets = control, budgets
        self._player: Player | None = None
        self._known = -1  # plies that the bot has heard of or played itself; -1: it has no game

    async def started(self) -> Player:
        """Raises CannotStart."""
        if self._player is None:
            self._player = await start_bot(self.start, self._budgets, Extras())
            self.seeded = SEED in self._player.commands
            self._known = -1
        return self._player

    async def begin(self) -> None:
        """Before the first ply again, as if it had never been asked: with the same seed, else as a new process."""
        self._known = -1
        if self._seed is None or not self.seeded:
            await self.close()

    async def ask(self, number: int) -> Answer:
        """What it plays as ply `number` (from 1), after the recorded ones. Raises CannotStart."""
        player, plies = await self.started(), self._record.plies
        ply = plies[number - 1]
        try:
            if self._known < 0:
                await player.new_game(self._setting, self._seed)
                self._known = 0
            for told in plies[self._known : number - 1]:
                player.tell(told.colour, told.move)
            mine, other = (self._clock(seat, number) for seat in (ply.seat, 3 - ply.seat))
            reply, _ = await player.genmove(ply.colour, mine, other)
            move, analysis = read_move(reply, player.analyses)
        except Fault as fault:
            return await self._failed(fault)
        self._known = number if move.casefold() == ply.move.casefold() else -1
        return Answer(move, analysis)

    async def close(self) -> None:
        if self._player is not None:
            await self._player.peer.stop()
            self._player = None

    async def _failed(self, fault: Fault) -> Answer:
        if fault.termination is Termination.RESIGNATION:
            self._known = -1
            return Answer("resign")
        if self._player is not None:
            await self._player.peer.stop(kill=True)
            self._player = None
        return Answer(fault=f"{fault.termination}: {fault}")

    def _clock(self, seat: int, number: int) -> Clock:
        """That seat's clock as it stood then, by the times of the record."""
        clock = self._control.clock()
        for ply in self._record.plies[: number - 1]:
            if ply.seat == seat:
                clock.spend(ply.ms)
        return clock
