"""Asks bots what they would play in a position. They are kept alive from one hint to the next; nothing is recorded."""

import time

from protocol.drawing.scene import clean
from protocol.transports.blocking import run_blocking
from referee.config import Budgets, Setting
from referee.console.journey import Ask, Journey, Where
from referee.console.own import OwnFailed
from referee.console.travel import analysis_lines
from referee.play.clock import Control
from referee.play.engine import AGREE, OVER, Status
from referee.play.outcome import CannotStart, Fault
from referee.play.player import Player
from referee.play.seating import Extras, Start, start_bot

_TIME = "5/move"  # for a bot that is asked without a time
_MOST = 4  # bots kept alive at a time


class Hints:
    """The bots that were asked so far. `close` ends them."""

    def __init__(self, ask: Ask) -> None:
        """`ask` asks the engine."""
        self._ask_engine = ask
        self._defaults: dict[str, str] | None = None  # of the game's options, which plain GTP bots have to be told
        self._players: dict[Start, Player] = {}

    def ask(self, journey: Journey, bot: Start, control: str) -> str:
        """Its move here, the time that it took and its analysis. Raises OwnFailed."""
        at, status = journey.where(), journey.status()
        if not at.known:
            raise OwnFailed("the engine has another game before it: :goto PLY returns to the match")
        if status.phase == OVER:
            raise OwnFailed("the game is over: there is nothing to play")
        setting = self._setting(journey, control)
        try:
            reply, seconds, analyses = run_blocking(self._ask(bot, setting, at, journey, status))
        except CannotStart as error:
            self._dismiss(bot)
            raise OwnFailed(clean(f"{error.who}: {error}")) from None
        except Fault as fault:
            self._dismiss(bot)
            raise OwnFailed(clean(f"{bot.name}: {fault.termination}: {fault}")) from None
        except BaseException:  # Ctrl-C: it may still be thinking
            self._dismiss(bot)
            raise
        if not reply:
            raise OwnFailed(f"{bot.name} does not say which stones are dead")
        move, _, analysis = reply.partition("\n")
        legal = "" if move.lower() == "resign" else self._illegal(journey, move)
        lines = [clean(f"{bot.name}: {move}, {seconds:.3f} s{legal}")]
        return "\n".join([*lines, *(analysis_lines(analysis) if analyses and analysis else [])])

    def close(self) -> None:
        """End every bot."""
        for bot in list(self._players):
            self._dismiss(bot)

    async def _ask(
        self, bot: Start, setting: Setting, at: Where, journey: Journey, status: Status
    ) -> tuple[str, float, bool]:
        player = self._players.pop(bot, None)
        if player is not None and player.peer.exited():
            await player.peer.stop(kill=True)
            player = None
        player = self._players[bot] = player or await start_bot(bot, Budgets(), Extras())
        await self._make_room()
        await player.new_game(setting)
        for colour, move in journey.coloured(at):
            player.tell(colour, move)
        began = time.monotonic()
        if status.phase == AGREE and not player.agrees_by_genmove:
            return await player.dead_stones() or "", time.monotonic() - began, False
        clock = setting.control.clock()
        reply, ms = await player.genmove(status.to_play, clock, setting.control.clock())
        if not reply.ok:
            raise OwnFailed(clean(f"{bot.name} answers `? {reply.text[:200]}`"))
        return reply.text, ms / 1000, player.analyses

    async def _make_room(self) -> None:
        while len(self._players) > _MOST:
            await self._players.pop(next(iter(self._players))).peer.stop()

    def _dismiss(self, bot: Start) -> None:
        if player := self._players.pop(bot, None):
            run_blocking(player.peer.stop(kill=True))

    def _setting(self, journey: Journey, control: str) -> Setting:
        start = journey.record.start
        if self._defaults is None:
            listed = self._ask_engine(f"ggp-options {start.game}")
            rows = [line.split() for line in listed.text.splitlines()] if listed.ok else []
            self._defaults = {row[0]: row[2] for row in rows if len(row) > 2}
        text = f"{control}/move" if control.replace(".", "", 1).isdecimal() else control or _TIME
        try:
            return Setting(start.game, start.options, self._defaults, Control.parse(text))
        except ValueError as error:
            raise OwnFailed(str(error)) from None

    def _illegal(self, journey: Journey, move: str) -> str:
        if len(move.split()) != 1:
            return ": not a move"
        reason = journey.why(move)
        return f": illegal: {reason}" if reason else ""
