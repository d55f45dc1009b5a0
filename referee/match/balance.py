"""Draws openings in which both sides have about the same chance, as a bot sees it, each position once.

Opening number n is drawn from the seed and n alone, and found ones are taken in the order of their numbers: the result
does not depend on how many processes work, as far as the bot plays the same moves with the same seed.
"""

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue

from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.analysis import read_analysis
from ggp.referee.match.bot_spec import BotSpec, knowing
from ggp.referee.match.engine import Engine, GameRefused, start_engine
from ggp.referee.match.match import read_move
from ggp.referee.match.outcome import BotFault, CannotStart, EngineFailed, Termination
from ggp.referee.match.player import Player, start_bot
from ggp.referee.match.series import random_plies, seeds_of
from ggp.referee.match.setting import Setting, Timeouts

FAULTS = (BotFault, CannotStart, EngineFailed, GameRefused)
BLACK = "black"


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """The openings to draw: `plies` of a game, at most `tries`; the chances of the sides differ by at most `within`."""

    setting: Setting
    engine: BotSpec
    bot: BotSpec
    plies: int
    within: float
    seed: int
    tries: int
    budgets: Timeouts


@dataclass(frozen=True, slots=True)
class DrawnOpening:
    """An opening with the hash of its position, "" if the engine has none, and black's chance, 0 to 1.

    `chance` is None where the game was over before the opening was.
    """

    number: int
    moves: tuple[str, ...] = ()
    hash: str = ""
    chance: float | None = None


class BalancedDraw:
    """An iterator over every opening that is drawn, in order. Close it in the end.

    Iteration raises CannotStart, BotFault, EngineFailed and GameRefused.
    """

    def __init__(self, plan: DrawPlan, jobs: int) -> None:
        self._plan = plan
        self._done: SimpleQueue[DrawnOpening | Exception] = SimpleQueue()
        self._stop = threading.Event()
        self._room = threading.Semaphore(4 * jobs)  # openings that may be ahead of the one that is waited for
        self._numbers = iter(range(plan.tries))
        self._lock = threading.Lock()
        self._workers = [threading.Thread(target=self._work) for _ in range(jobs)]
        for worker in self._workers:
            worker.start()

    def __iter__(self) -> Iterator[DrawnOpening]:
        early: dict[int, DrawnOpening] = {}
        for number in range(self._plan.tries):
            while number not in early:
                came = self._done.get()
                if isinstance(came, Exception):
                    raise came
                early[came.number] = came
            self._room.release()
            yield early.pop(number)

    def close(self) -> None:
        """End every process; what is being looked at is finished first."""
        self._stop.set()
        for _ in self._workers:
            self._room.release()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        """Draw openings one after the other with an engine and a bot of this thread."""
        try:
            run_blocking(self._draw_all())
        except FAULTS as error:
            self._done.put(error)

    async def _draw_all(self) -> None:
        plan, players = self._plan, list[Player]()
        engine = await start_engine(plan.engine, plan.budgets)
        try:
            players.append(await start_bot(knowing(plan.bot, plan.engine), plan.budgets))
            if not players[0].analyses:
                raise CannotStart(plan.bot.name, "lists no ggp-genmove_analyze, which tells the chances of a position")
            while (number := self._next()) is not None:
                self._done.put(await self._draw(number, engine, players[0]))
        finally:
            for peer in (engine.peer, *(player.peer for player in players)):
                await peer.stop()

    def _next(self) -> int | None:
        self._room.acquire()
        with self._lock:
            return None if self._stop.is_set() else next(self._numbers, None)

    async def _draw(self, number: int, engine: Engine, player: Player) -> DrawnOpening:
        plan = self._plan
        chance = random.Random(f"{plan.seed} openings {number}")
        moves = await random_plies(engine, plan.setting.new_game, (), plan.plies, chance)
        if moves is None:
            return DrawnOpening(number)
        hash = await engine.hash()
        await player.new_game(plan.setting, seeds_of(f"{plan.seed} openings {number}")[0])
        status = await engine.new_game(plan.setting.new_game)
        for move in moves:
            player.tell(status.to_play, move)
            _, status = await engine.play(status.to_play, move)
        clocks = plan.setting.control.clock(), plan.setting.control.clock()
        try:
            reply, _ = await player.genmove(status.to_play, *clocks)
            winrate = read_analysis(read_move(reply, analyses=True)[1]).winrate
        except BotFault as fault:
            if fault.termination is not Termination.RESIGNATION:
                raise
            winrate = 0.0
        if winrate is None:
            raise CannotStart(plan.bot.name, "says no winrate in its ggp-genmove_analyze")
        return DrawnOpening(number, moves, hash, winrate if status.to_play == BLACK else 1 - winrate)


@dataclass(slots=True)
class OpeningSelection:
    """The openings that are kept, with counts of the others: `twice` in a position that is there, `uneven`, `over`."""

    within: float
    kept: list[DrawnOpening] = field(default_factory=list)
    drawn: int = 0
    twice: int = 0
    uneven: int = 0
    over: int = 0
    _seen: set[str] = field(default_factory=set)

    def add(self, drawn: DrawnOpening) -> None:
        """Keep it, or count why not."""
        self.drawn += 1
        position = drawn.hash or " ".join(drawn.moves)
        if drawn.chance is None:
            self.over += 1
        elif position in self._seen:
            self.twice += 1
        elif abs(2 * drawn.chance - 1) > self.within + 1e-9:
            self.uneven += 1
            self._seen.add(position)
        else:
            self.kept.append(drawn)
            self._seen.add(position)
