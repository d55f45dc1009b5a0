"""Random openings that give both sides about the same chance, as a bot evaluates them, without repeated positions.

Opening number n depends only on the seed and n, and openings are selected in the order of their numbers. The result
is therefore the same for any number of threads, if the bot plays deterministically for a given seed.
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
_REMEDY = "name a bot that can evaluate a position"


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """The openings to draw: at most `tries` openings of `plies` plies; the two chances may differ by `within`."""

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
    """An opening, the hash of its final position ("" if the engine has none), and black's chance to win, 0 to 1.

    `chance` is None if the game was over before the opening was complete.
    """

    number: int
    moves: tuple[str, ...] = ()
    hash: str = ""
    chance: float | None = None


class BalancedDraw:
    """An iterator over all drawn openings, in the order of their numbers. Close it when done.

    Raises:
        CannotStart: The bot does not start, or reports no winrate.
        BotFault: The bot crashed or was too late.
        EngineFailed: The engine crashed or was too late.
        GameRefused: The engine does not know the game or its options.
    """

    def __init__(self, plan: DrawPlan, jobs: int) -> None:
        self._plan = plan
        self._done: SimpleQueue[DrawnOpening | Exception] = SimpleQueue()
        self._stop = threading.Event()
        self._room = threading.Semaphore(4 * jobs)  # openings that may be ready before the next one
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
        """Stop all threads and processes, after the openings that are being evaluated."""
        self._stop.set()
        for _ in self._workers:
            self._room.release()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        """Draw openings one after the other, with an engine and a bot for this thread."""
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
                raise CannotStart(
                    plan.bot.name, "lists no ggp-genmove_analyze, so it cannot evaluate openings: choose another bot"
                )
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
            raise CannotStart(
                plan.bot.name, "reports no winrate with its moves, so it cannot evaluate openings: choose another bot"
            )
        return DrawnOpening(number, moves, hash, winrate if status.to_play == BLACK else 1 - winrate)


@dataclass(slots=True)
class OpeningSelection:
    """The openings that are kept, and counts of the others.

    `twice` counts repeated positions, `uneven` openings with too different chances, `over` games that ended too early.
    """

    within: float
    kept: list[DrawnOpening] = field(default_factory=list)
    drawn: int = 0
    twice: int = 0
    uneven: int = 0
    over: int = 0
    _seen: set[str] = field(default_factory=set)

    def add(self, drawn: DrawnOpening) -> None:
        """Keep the opening, or count why it is not kept."""
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
