"""A runner that plays match after match, and keeps the engine and the bots alive in between. It schedules nothing."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from ggp.protocol.connection import PeerRole
from ggp.protocol.records import Event, Record
from ggp.referee.match.bot_spec import BotSpec, HostBusy, is_human, knowing
from ggp.referee.match.diagnosis import Notify, notice
from ggp.referee.match.engine import Engine, GameRefused, start_engine
from ggp.referee.match.judge import MatchJudge
from ggp.referee.match.match import play_match
from ggp.referee.match.openings import BookError, Opening
from ggp.referee.match.outcome import REPLAYS, CannotStart, EngineFailed, Outcome
from ggp.referee.match.player import Player, start_bot
from ggp.referee.match.process import sandbox_of
from ggp.referee.match.record_file import RecordWriter
from ggp.referee.match.resume import SideFile, describe_match
from ggp.referee.match.series import GameResult, SeriesConfig, draw_opening, play_opening, seats

ENGINE_TRIES = 2  # attempts at a match in which the engine fails; an engine that hangs costs minutes each time
MOST_BOTS = 2  # bots kept alive at a time: the two of a series
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0  # seconds between attempts to start a process on a host that cannot now
_RETRY = 60.0  # seconds before a bot that did not start is tried again


Started = TypeVar("Started")
OPENINGS = "openings"  # the `who` of Suspended if a book cannot be played
NOTHING_BEGUN: Mapping[str, Record] = {}


class Suspended(Exception):
    """An exception when a bot, or the engine, is out of the series. `who` names it; str() is the reason."""

    def __init__(self, who: str, reason: str) -> None:
        super().__init__(reason)
        self.who = who


class MatchRunner:
    """A player of matches of any series, by number. A process that failed is restarted before the next match.

    Args:
        keep: Called with the record and the result of every match, even void, as soon as it ends.
        live: The side file that receives each line of a record at once.
        most: Bots kept alive at a time; beyond this the least recently used one is ended.
        seen: Called with each event.
        host: Makes the player for a human, given the engine of the match.
        spare: Cores for bots that ponder. Without them these bots share the core of the match.
        waits: Called with the reason while the host cannot start processes, and with "" when it can again.
        notify: Called with lines for the screen about a bot that gives no valid answer for a while.
    """

    def __init__(
        self,
        keep: Callable[[bytes, GameResult], None],
        live: SideFile | None = None,
        most: int = MOST_BOTS,
        seen: Callable[[Event], None] | None = None,
        host: Callable[[BotSpec, Callable[[], Engine]], Player] | None = None,
        spare: Sequence[int] = (),
        waits: Callable[[str], None] = lambda why: None,
        notify: Callable[[str], object] | None = None,
    ) -> None:
        self._waits, self._notify = waits, notify
        self._keep = keep
        self._live = live
        self._most = most
        self._seen = seen
        self._host = host
        self._spare = list(spare)
        self._core: dict[BotSpec, int] = {}  # cores of bots that do not run on that of the match
        self._engines: dict[BotSpec, Engine] = {}
        self._players: dict[BotSpec, Player] = {}  # least recently used first
        self._opening: tuple[object, tuple[str, ...]] = (None, ())
        self._resting: dict[BotSpec, float] = {}  # the end of the pause after a match
        self._failed_starts: dict[BotSpec, tuple[str, float]] = {}  # the reason, and when to try again

    async def play(
        self,
        setup: SeriesConfig,
        number: int,
        tried: int = 0,
        begun: Mapping[str, Record] = NOTHING_BEGUN,
        opening: Opening | None = None,
    ) -> None:
        """Play one match of the schedule, and repeat it while it is void. A takeback starts the next attempt.

        Args:
            setup: The series.
            number: The number of the match, from 0.
            tried: Void attempts in earlier runs. Later attempts get new keys.
            begun: Earlier attempts by key: unfinished ones are continued, finished ones are kept.
            opening: The opening from a book.

        Raises:
            Suspended: The match cannot be played, or was void too often.
        """
        attempt, left, continued, failed = tried, 1 + REPLAYS, None, 0
        while left:
            before = continued or begun.get(setup.key(number, attempt))
            result, continued = await self._attempt(setup, number, attempt, before, opening)
            if not result.replayed:
                return
            if result.culprit == "engine":
                failed += 1
                if failed == ENGINE_TRIES:
                    raise Suspended(
                        "engine", f"it failed in {failed} matches in a row, so the series ends: {result.detail}"
                    )
            attempt, left = attempt + 1, left - (continued is None)
        tries = f"{1 + REPLAYS} times in a row"
        raise Suspended(result.culprit, f"{result.termination} {tries}, last: {result.detail}")

    async def close(self, kill: bool = False) -> None:
        """End every process. `kill` ends them at once, without `quit`."""
        for bot in list(self._players):
            await self._dismiss(bot, kill)
        for engine in list(self._engines):
            await self._engines.pop(engine).peer.stop(kill)

    async def _attempt(
        self, setup: SeriesConfig, number: int, attempt: int, before: Record | None, chosen: Opening | None
    ) -> tuple[GameResult, Record | None]:
        """Play one attempt.

        Args:
            setup: The series.
            number: The number of the match.
            attempt: The number of the attempt.
            before: The plies played so far: of this attempt or, after a takeback, of the one that it continues.
            chosen: The opening from a book.

        Returns:
            The result, and the plies to continue from if some were taken back.
        """
        patience = setup.budgets.command
        order = [knowing(setup.bots[index], setup.engine, patience=patience) for index in seats(number)]
        judging = knowing(setup.judge, setup.engine, patience=patience) if setup.judge else None
        if before is not None and [bot.name for bot in before.start.bots] != [bot.name for bot in order]:
            before = None
        if before is not None and before.end is not None:
            result = setup.result(number, before)
            self._keep(before.lines(), result)
            return result, None
        if self._resting:
            until = max(self._resting.get(bot, 0.0) for bot in order)
            time.sleep(max(0.0, until - time.monotonic()))
        try:
            engine = await self._engine(setup)
            opening = before.start.opening if before else await self._opening_of(engine, setup, number // 2, chosen)
            await self._part(order, setup)
            first, second = await self._sit(order[0], setup), await self._sit(order[1], setup)
            judge = None
            if judging is not None:
                judge = MatchJudge(await self._sit(judging, setup), setup.rules, setup.setting)
                judge.player.peer.begin_game(setup.key(number, attempt))
            await self._make_room([*order, *filter(None, [judging])])
            book = f"{chosen.place}, sha256 {chosen.digest}" if chosen else ""
            match = describe_match(setup, number, setup.key(number, attempt), opening, before, book=book)
            known = len(match.past) if match.continues else 0
            first.sit(1, second, len(opening), known)
            second.sit(2, first, len(opening), known)
            writer = RecordWriter(self._live.begin() if self._live else None)
            emit = writer.emit if self._seen is None else _both(writer.emit, self._seen)
            renew = partial(self._new_engine, setup)
            outcome, record = await play_match(match, engine, (first, second), emit, renew, judge)
        except CannotStart as error:
            raise Suspended(error.who, str(error)) from None
        except BookError as error:
            raise Suspended(OPENINGS, str(error)) from None
        except (EngineFailed, GameRefused) as error:
            raise Suspended("engine", str(error)) from None
        finally:
            if self._live is not None:
                self._live.end()
        self._resting |= {bot: time.monotonic() + bot.wait for bot in order if bot.wait}
        result = setup.result(number, record)
        self._keep(b"".join(writer.lines), result)
        await self._clear(setup, [*order, *filter(None, [judging])], outcome)
        kept = Record(record.start, record.plies[: -outcome.taken_back], None) if outcome.taken_back else None
        return result, kept

    # -- engines and bots -----------------------------------------------------------------------------------

    async def _engine(self, setup: SeriesConfig) -> Engine:
        """Return the engine, after starting it if necessary.

        Raises:
            EngineFailed: It does not start.
        """
        engine = self._engines.get(setup.engine)
        if engine is not None and engine.peer.exited():
            await self._end_engine(setup)
            engine = None
        if engine is None:
            engine = await self._patiently(lambda: start_engine(setup.engine, setup.budgets, setup.extras))
            self._engines[setup.engine] = engine
        return engine

    async def _new_engine(self, setup: SeriesConfig) -> Engine:
        """Replace an engine that failed.

        Raises:
            EngineFailed: The new one does not start.
        """
        await self._end_engine(setup)
        return await self._engine(setup)

    async def _end_engine(self, setup: SeriesConfig) -> None:
        if engine := self._engines.pop(setup.engine, None):
            await engine.peer.stop(kill=True)

    async def _part(self, order: list[BotSpec], setup: SeriesConfig) -> None:
        """Give each bot that ponders a core for itself, and put two strict bots on different cores.

        A bot that must move to another core is restarted.
        """
        if self._spare and not any(bot.ponder for bot in order):
            await self._part_strict(order, setup)
            return
        taken = list[int]()
        for bot in order:
            if bot.ponder and self._spare:
                if self._core.get(bot, -1) in (-1, *taken):
                    await self._dismiss(bot, kill=False)
                    self._core[bot] = next((core for core in self._spare if core not in taken), self._spare[-1])
                taken.append(self._core[bot])

    async def _part_strict(self, order: list[BotSpec], setup: SeriesConfig) -> None:
        first, second = order
        if not (first.argv and second.argv) or (first in self._core) != (second in self._core):
            return
        if all(sandbox_of(bot, PeerRole.BOT, setup.extras).apart for bot in order):
            await self._dismiss(second, kill=False)
            if self._core.pop(second, None) is None:
                self._core[second] = self._spare[0]

    async def _sit(self, bot: BotSpec, setup: SeriesConfig) -> Player:
        """Return the player of a bot, after starting it if necessary, and mark it as the most recently used.

        Raises:
            CannotStart: The bot does not start.
        """
        player = self._players.pop(bot, None)
        if player is not None and player.peer.exited():
            await player.peer.stop(kill=True)
            player = None
        self._players[bot] = player = player or await self._start(bot, setup)
        return player

    async def _start(self, bot: BotSpec, setup: SeriesConfig) -> Player:
        """Start a bot. After a failure wait a minute before the next try, because a bot that hangs takes long."""
        if is_human(bot):
            if self._host is None:
                raise CannotStart(bot.name, "a human cannot play here: name a bot")
            return self._host(bot, lambda: self._engines[setup.engine])
        reason, until = self._failed_starts.get(bot, ("", 0.0))
        if time.monotonic() < until:
            raise CannotStart(bot.name, reason)
        try:
            core, notify = self._core.get(bot), self._telling_of(bot, setup)
            player = await self._patiently(lambda: start_bot(bot, setup.budgets, setup.extras, core, notify))
        except CannotStart as error:
            self._failed_starts[bot] = str(error), time.monotonic() + _RETRY
            raise
        return player

    async def _patiently(self, start: Callable[[], Awaitable[Started]]) -> Started:
        """Start a process. While the host cannot, retry after growing pauses; no clock runs meanwhile."""
        pause = FIRST_PAUSE
        try:
            while True:
                try:
                    return await start()
                except HostBusy as busy:
                    self._waits(str(busy))
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            self._waits("")

    def _telling_of(self, bot: BotSpec, setup: SeriesConfig) -> Notify | None:
        if self._notify is None:
            return None
        notify, start = self._notify, bot.timeouts(setup.budgets).start
        return lambda silence: notify(notice(bot.name, silence, start))

    async def _make_room(self, playing: list[BotSpec]) -> None:
        for bot in list(self._players):
            if len(self._players) <= self._most:
                return
            if bot not in playing:
                await self._dismiss(bot, kill=False)

    async def _clear(self, setup: SeriesConfig, bots: list[BotSpec], outcome: Outcome) -> None:
        """End the processes that cannot, or must not, play the next match."""
        if outcome.culprit == "engine":
            await self._end_engine(setup)
        for bot in bots:
            player, restart = self._players.get(bot), setup.restart if bot.restart is None else bot.restart
            if player is not None and (restart or not player.fit):
                await self._dismiss(bot, kill=not player.fit)

    async def _dismiss(self, bot: BotSpec, kill: bool) -> None:
        if player := self._players.pop(bot, None):
            await player.peer.stop(kill)

    # -- openings --------------------------------------------------------------------------------------------

    async def _opening_of(
        self, engine: Engine, setup: SeriesConfig, pair: int, chosen: Opening | None
    ) -> tuple[str, ...]:
        drawn = (setup.engine, setup.setting.new_game, setup.position, setup.openings, setup.seed, pair, chosen)
        if self._opening[0] != drawn:
            found = play_opening(engine, setup, chosen) if chosen else draw_opening(engine, setup, pair)
            self._opening = drawn, await found
        return self._opening[1]


def _both(one: Callable[[Event], None], other: Callable[[Event], None]) -> Callable[[Event], None]:
    def emit(event: Event) -> None:
        one(event)
        other(event)

    return emit
