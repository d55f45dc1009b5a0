"""Ask bots what they would play in a position. A few of them stay alive between questions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import AGREE, Status
from ggp.referee.match.outcome import refused_advice
from ggp.referee.match.player import Player, start_bot
from ggp.referee.match.setting import Setting

_TIME = "5/move"  # the default time for an answer
_MOST = 4  # bots kept alive at a time by default
_MOST_ANALYSIS = 64 * 1024  # characters

Plies = Sequence[tuple[str, str]]
"""Colour and move of each ply before a position."""


class Advice(NamedTuple):
    """A bot's answer: the move ("" if it does not name the dead stones), seconds used, and its analysis in JSON."""

    move: str
    seconds: float
    analysis: str = ""


@dataclass(slots=True)
class _Advised:
    """A running bot, the game that it was set up for, and the plies that it knows."""

    player: Player
    game: tuple[str, str]
    plies: list[tuple[str, str]]


class Adviser:
    """A pool of bots that give advice. Call `ask` as often as you like, then `close`."""

    def __init__(self, most: int = _MOST) -> None:
        self.most = most
        self._running: dict[BotSpec, _Advised] = {}  # least recently used first

    async def ask(self, bot: BotSpec, setting: Setting, plies: Plies, status: Status) -> Advice:
        """Ask a bot what it would play after these plies.

        The bot undoes plies if it can, and is set up again if it cannot. If the question fails or is interrupted, the
        bot's process is ended, and started again for the next question.

        Args:
            bot: The bot to ask.
            setting: The game and the time for the answer.
            plies: The colour and move of each ply before the position.
            status: The engine's status of the position.

        Raises:
            CannotStart: The bot does not start, or refuses the game.
            BotFault: The bot crashes, answers too late, or refuses to answer.
        """
        try:
            player = (await self._in_step(bot, setting, plies)).player
            began = time.monotonic()
            if status.phase == AGREE and not player.agrees_by_genmove:
                return Advice(await player.dead_stones() or "", time.monotonic() - began)
            reply, ms = await player.genmove(status.to_play, setting.control.clock(), setting.control.clock())
        except BaseException:  # Ctrl-C, too: it may still be thinking
            await self.dismiss(bot)
            raise
        if not reply.ok:
            raise refused_advice(reply.text)
        move, _, rest = reply.text.partition("\n")
        if move.lower() != "resign":
            self._running[bot].plies += player.knows([(status.to_play, move)])
        return Advice(move, ms / 1000, rest[:_MOST_ANALYSIS] if player.analyses else "")

    def running(self, bot: BotSpec) -> bool:
        """Return True if the bot's process is alive."""
        return bot in self._running and not self._running[bot].player.peer.exited()

    async def dismiss(self, bot: BotSpec) -> None:
        """End a bot's process. It is started again when the bot is next asked."""
        if advised := self._running.pop(bot, None):
            await advised.player.peer.stop(kill=True)

    async def close(self) -> None:
        """End the processes of all bots."""
        for bot in list(self._running):
            await self.dismiss(bot)

    async def _in_step(self, bot: BotSpec, setting: Setting, plies: Plies) -> _Advised:
        """Start the bot if it is not running, and bring it to the position after these plies."""
        advised = self._running.pop(bot, None)
        if advised is not None and advised.player.peer.exited():
            await advised.player.peer.stop(kill=True)
            advised = None
        if advised is None:
            advised = _Advised(await start_bot(bot), ("", ""), [])
        self._running[bot] = advised
        while len(self._running) > self.most:
            await self._running.pop(next(iter(self._running))).player.peer.stop()
        player, wanted = advised.player, advised.player.knows(plies)
        known = _common(advised.plies, wanted)
        undone, game = len(advised.plies) - known, _game(player, setting)
        if advised.game != game or undone > len(wanted) or (undone and await player.take_back(undone) < undone):
            advised.game, known = ("", ""), 0
            await player.new_game(setting)
        advised.game, advised.plies = game, wanted
        for colour, move in wanted[known:]:
            player.tell(colour, move)
        return advised


def analysis_control(text: str) -> TimeControl:
    """Parse the time for a question: seconds per move, any other time control, or "" for 5 seconds.

    Raises:
        ValueError: The text is not a time control.
    """
    return TimeControl.parse(f"{text}/move" if text.replace(".", "", 1).isdecimal() else text or _TIME)


def _game(player: Player, setting: Setting) -> tuple[str, str]:
    """Return what the bot must be set up for again if it changes. A plain GTP bot learns the control only then."""
    return setting.new_game, "" if player.agrees_by_genmove else str(setting.control)


def _common(one: Plies, two: Plies) -> int:
    """Return the length of the common beginning of two lists of plies."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
