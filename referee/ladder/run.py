"""The loop of a ladder: it gives pairs to the workers, stores what they played, and counts what is stored.

Data flows schedule → store (a batch is durable before a game of it begins) → workers → store (a game is durable before
it counts) → schedule. A run that is killed loses what is not committed; the next run plays that again under the same
keys and with the same random draws.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

from ggp.protocol.records import Record
from ggp.protocol.transports.signal_fd import STOP_SIGNALS, on_signals
from ggp.referee.ladder.builds import suspend_unfit
from ggp.referee.ladder.hiring import PoolToCome
from ggp.referee.ladder.jobs import CommitBuffer, PairsUnderWay, series_of
from ggp.referee.ladder.progress import GameQuota, PoolTurns, Progress, RunControl, StopConditions
from ggp.referee.ladder.schedule import PoolSchedule
from ggp.referee.ladder.store.audit import lost_games
from ggp.referee.ladder.store.model import (
    GAMES,
    FinishedGame,
    Ladder,
    Pair,
    StoreError,
    StoreGone,
    Taken,
    UnplayablePair,
)
from ggp.referee.ladder.store.schema import NO_CULPRIT
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.ladder.tracker import ProgressTracker
from ggp.referee.ladder.tune import FaultWindow
from ggp.referee.match.bot_spec import CHANGED
from ggp.referee.match.pool import WorkerPool, WorkersLost
from ggp.referee.match.process import NO_LIMITS, ProcessLimits
from ggp.referee.match.worker import Batch, BatchResult

COMMIT = 0.05  # seconds that a finished game may wait for others: "durable by group commit (at most 100 ms)"
PATIENCE = 900.0  # seconds that a full disk or a locked store is waited for
_LOOK = 1.0  # seconds between looks at the configuration
_CHECKPOINT = 60.0  # seconds between checkpoints, if the run is not idle before
_BEAT = 10.0  # seconds between heartbeats
RETURN = 300.0  # seconds that the scheduler of a cluster that was used is waited for
_AWAY = ("unreachable", "no-slot")  # codes of WorkersLost that time may change
_DEATHS = 3  # times in a row that workers may die without a game in between


class LadderRun:
    """One run of a ladder. Its store is open, and locked by this process.

    Args:
        hire: Returns a new pool of workers.
        seen: Gets the progress a few times a second.
        read: Returns the ladder if its file or a program has changed, else None. Raises ConfigError for a bad file.
        control: Controls the run from outside.
        left: Returns the matches that killed workers left unfinished, by key.
        extras: Limits for the processes of every match.
    """

    def __init__(
        self,
        ladder: Ladder,
        store: Store,
        hire: Callable[[], WorkerPool],
        limits: StopConditions,
        seen: Callable[[Progress], None],
        read: Callable[[], Ladder | None] = lambda: None,
        control: RunControl | None = None,
        left: Callable[[], dict[str, Record]] = dict,
        extras: ProcessLimits = NO_LIMITS,
    ) -> None:
        self.progress = Progress(ladder.name, target=limits.games)
        self.ladder = ladder  # as it was read last
        self.store = store
        self.under_way = PairsUnderWay(series_of(ladder), extras)
        self._control = control or RunControl()
        self._hire = hire
        self._left = left
        self._limits = limits
        self._seen = seen
        self._read = read
        self._contests: dict[int, PoolSchedule] = {}
        self._quota = GameQuota(limits.games)
        self._turns = PoolTurns({}, {})
        self._unsaved = CommitBuffer(store)
        self._changed: Ladder | None = None  # the configuration that comes into force when the store takes it
        self._doubtful: list[UnplayablePair] = []  # whose program was changed: the configuration may say why
        self._news = ProgressTracker(self.progress, store, limits)
        self._looked = self._beaten = time.monotonic()
        self._checkpointed, self._rested = time.monotonic(), True  # when, and whether the run has been idle since
        self._deaths = 0
        self._faults = FaultWindow()
        self._hungry = False  # workers could do with more than the schedule gives, which waits for results
        self._gone: StoreGone | None = None  # the store's file is another one, or none
        self._short = 0.0  # since when the host cannot start processes
        self._away = False  # the store refused, and has not yet said again what there is to play
        self._pool: WorkerPool
        self._unreachable = ""  # why there were no new workers, when it was last said

    def go(self) -> Progress:
        """Play until the limits are reached, nothing is left, a signal stops the run, or the store fails for good.

        Raises:
            StoreError: The store fails at the beginning.
            WorkersLost: There are no workers at the beginning.
        """
        if lost := self.store.lost():
            said = lost_games(lost, self.store.database.name)
            self._news.say(said)
            self.store.note("lost", said)
        self._enrol(self.ladder)
        self.under_way.left = self._left()
        with on_signals(self._stop, *STOP_SIGNALS):
            self._pool = self._hire()
            try:
                self._play()
            finally:
                self._wind_up()
        return self.progress

    def _play(self) -> None:
        while not (self.progress.stopped or self.progress.failed):
            self._look()
            self._hire_again()
            self._give()
            self._control.serve(self)
            if self._ends():
                return
            self._take()
            self._watch_host()
            self._save()
            self._news.tell(self._contests, self.under_way, self._pool.playing, self._seen)

    def _ends(self) -> bool:
        """Return whether the run ends now; `progress.finished` then says why."""
        control, progress = self._control, self.progress
        if control.ending:
            progress.finished = control.ending
            return True
        if self._idle:
            why = self._why_over()
            leaves = not control.should_wait(why)  # which may also end the run
            # Without a reason there is something to play, or the store cannot say whether there is: that is no end.
            if leaves and (control.ending or why):
                progress.finished = control.ending or why
                if progress.finished == why and not (self._news.enough or self._quota.reached):
                    progress.deserted = any(contest.schedule.deserted for contest in self._contests.values())
                return True
        if self._news.late and not control.busy:
            progress.finished = self._news.enough + self._dropping
            return True
        return False

    @property
    def _idle(self) -> bool:
        return not (self._pool.running or self.under_way or self._unsaved or self._doubtful or self._changed)

    @property
    def _dropping(self) -> str:
        """Return a clause about the pairs under way for the message of a run that ends now."""
        return "; games that are not finished are played again by the next run" if self.under_way else ""

    def _wind_up(self) -> None:
        """Drop what is being played, store what was, report the end."""
        if self._pool.running:
            self._pool.stop()
        self._drain()
        self._pool.close()
        self._unsaved.add((), self._doubtful)
        if self._save(last=True) and self._gone is not None:  # nothing waited, but all that was stored is gone
            self._rescue(self._gone)
        self._news.end(self._contests, self._seen)

    # -- calls of the control ------------------------------------------------------------------------------------

    def read_again(self, ladder: Ladder) -> None:
        """Continue with this configuration. If this raises StoreError, nothing has changed."""
        self._enrol(ladder)
        self._changed, self._doubtful = None, []
        self._news.say("the configuration was read again")

    def drop(self, keys: list[str]) -> bool:
        """Drop these matches. Return False if the workers do not support that."""
        return self._pool.drop(keys)

    def names(self, pair: Pair) -> tuple[str, str, str]:
        """Return the names of the pair's pool, first bot and second bot."""
        pool = self._contests[pair.pool].pool.name if pair.pool in self._contests else ""
        return pool, self._news.label(pair.first), self._news.label(pair.second)

    @property
    def jobs(self) -> int:
        """Return how many matches are played at a time."""
        return self._pool.jobs

    # -- configuration ----------------------------------------------------------------------------------------

    def _enrol(self, ladder: Ladder) -> None:
        """Begin, or begin again, with this configuration. If this raises StoreError, nothing has changed."""
        rows = self.store.enrol(ladder)
        suspend_unfit(ladder, self.store, rows.values(), self._news.say)
        contests = {rows[pool.name]: PoolSchedule(ladder, pool, rows[pool.name], self.store) for pool in ladder.pools}
        held = {row: self.store.pool_games(row) for row in contests}
        given = [pair for pair, _ in self.under_way.pairs() if pair.pool in contests]
        out = [pair for pair in given if contests[pair.pool].schedule.is_open(pair)]
        began = Counter(pair.pool for pair in out)
        played = {row: (games.counted + games.void) / GAMES + began[row] for row, games in held.items()}
        self._quota.begin(held.values(), out)
        self._turns = PoolTurns({row: contest.pool.weight for row, contest in contests.items()}, played)
        self._news.begin(contests)
        self.ladder, self._contests = ladder, contests
        self._control.on_start()

    def _look(self) -> None:
        """Write the heartbeat and read a changed configuration, when it is time for these."""
        now = time.monotonic()
        if now - self._beaten > _BEAT:
            self._beaten = now
            try:
                self.store.beat()
            except Taken as taken:  # the other process plays the same pairs
                self.progress.failed = str(taken)
            except StoreGone as gone:
                self._refuse(gone)
            except StoreError:  # the saving of games reports it
                pass
        if now - self._checkpointed > _CHECKPOINT or (self._idle and not self._rested):
            self._checkpointed, self._rested = now, self._idle
            with contextlib.suppress(StoreError):  # the saving of games reports it
                self.store.checkpoint()
        self._rested = self._rested and self._idle
        if now - self._looked < _LOOK and not self._doubtful:
            return
        self._looked = now
        try:
            self._changed = self._read() or self._changed
        except ConfigError as error:
            self._news.say(f"{error}; going on as before")
            return
        if self._changed is None:
            self._unsaved.add((), self._doubtful)  # the configuration has not changed: the bot is at fault
            self._doubtful = []
        elif self._save(now_or_never=True):
            self._change(self._changed)

    def _change(self, ladder: Ladder) -> None:
        """Continue with this configuration, later if the store fails now."""
        try:
            self.read_again(ladder)
        except StoreError as error:
            self._refuse(error)

    # -- pairs go out, and come back -------------------------------------------------------------------------

    def _give(self) -> None:
        """Submit chunks until each worker has one in hand and one waiting."""
        while self._pool.running < 2 * self._pool.jobs:
            chunk = self._control.next_batches() or self._of_ladder()
            if not chunk:
                return
            self._pool.submit(chunk)

    def _of_ladder(self) -> list[Batch]:
        """Return the next chunk of the ladder, [] if there is none now."""
        if self._news.enough or self._unsaved.resting or self._control.paused:
            return []
        try:
            chunk = self._chunk()
        except StoreError as error:
            self._refuse(error)
            return []
        self._away = False
        if chunk and not self._unsaved:
            self._unsaved.accepted()
        self._hungry = not chunk
        return chunk

    def _chunk(self) -> list[Batch]:
        """Return pairs of the next pool that has some; more of them if matches are short."""
        left, share = self._quota.pairs, 2 * self._pool.jobs
        most = max(1, self._pool.size // GAMES)
        for row in self._turns.order() if left else ():
            contest = self._contests[row]
            pairs = max(1, min(most, contest.ready(int(min(most * share, left))) // share))
            chunk: list[Batch] = []
            while len(chunk) < pairs and (pair := contest.take()) is not None:
                if pair not in self.under_way:
                    work = self.under_way.begin(pair, contest.pool, contest.starts(pair), self.ladder.budgets)
                    chunk.append(work)
                    self._quota.take(pair)
                    self._turns.add(row)
            if chunk:
                return chunk
        return []

    def _take(self) -> None:
        """Take the results that arrived, or wait for some."""
        if not self._pool.running:
            waits = self._unsaved.troubled or self._changed or self._idle or not self._pool.jobs
            self._control.rest(COMMIT if waits else 0)
            return
        try:
            chunks = self._pool.gather(COMMIT)
        except WorkersLost as lost:
            self._replace_workers(lost)
            return
        for text in self._pool.notices():
            self._news.say("; ".join(line.strip() for line in text.split("\n")))
        for chunk in chunks:
            self._deaths = 0 if chunk.played else self._deaths
            if not self._control.on_result(chunk):
                self._news.refused(chunk, self.under_way.pool_of, suspends=self.ladder.format.plan is None)
                self._keep(chunk)

    def _watch_host(self) -> None:
        """Wait, as for a full disk, while the host cannot start processes: no bot is at fault."""
        trouble = self._pool.trouble()
        if not trouble:
            self._short = 0.0
            return
        self._short = self._short or time.monotonic()
        self._news.say(f"{trouble}; the run waits")
        if time.monotonic() - self._short > PATIENCE:
            self.progress.failed = trouble

    def _drain(self) -> None:
        """Keep what the workers have played that are being stopped, or have ended."""
        for chunk in self._pool.drain():
            if not self._control.on_result(chunk):
                self._keep(chunk)

    def _keep(self, chunk: BatchResult) -> None:
        self._news.played(chunk)
        finished, unplayable = self.under_way.end(chunk)
        self._news.watch_interference(finished)
        if self.ladder.format.plan:
            self._watch_faults(finished, unplayable)
            # Values that a bot does not start with are no reason to suspend it for good.
            unplayable = [row if row.who is None else replace(row, who=NO_CULPRIT) for row in unplayable]
        self._doubtful += [row for row in unplayable if CHANGED in row.reason]
        self._unsaved.add(finished, [row for row in unplayable if CHANGED not in row.reason])

    def _watch_faults(self, finished: Sequence[FinishedGame], unplayable: Sequence[UnplayablePair]) -> None:
        """Report with which values a tuned bot fails. Too many faults end the run."""
        for game in finished:
            if contest := self._contests.get(game.pair.pool):
                self._news.say(self._faults.add_game(game.result, contest.words(game.pair, game.result.culprit)))
        for row in unplayable:
            contest = self._contests.get(row.pair.pool)
            if contest and CHANGED not in row.reason:
                self._news.say(self._faults.add_unplayable(row.reason, contest.words(row.pair, row.who)))
        self.progress.failed = self.progress.failed or self._faults.too_many

    def _replace_workers(self, lost: WorkersLost) -> None:
        """Hire new workers. The pairs of the lost ones begin again from the store."""
        self._deaths += 1
        self._drain()
        self._pool.close()
        self.under_way.clear()
        self.under_way.left = self._left()
        self._control.on_workers_lost()
        if self._deaths > _DEATHS:
            self.progress.failed = f"{lost}, {self._deaths} times in a row"
            return
        self._news.say(f"{lost}: others are started, and its games go on")
        # The lost pairs come back with what the store holds, so it must hold first what was finished before.
        if not self._save(now_or_never=True):
            self._changed = self._changed or self.ladder
        else:
            try:
                self._enrol(self.ladder)
            except StoreError as error:
                self._refuse(error)
                self._changed = self._changed or self.ladder
        self._pool, self._unreachable = PoolToCome(self._hire), ""

    def _hire_again(self) -> None:
        """Take the new workers once they are there. Until then the loop runs without workers."""
        waiting = self._pool
        if not isinstance(waiting, PoolToCome):
            return
        try:
            self._pool = waiting.hired() or waiting
        except WorkersLost as none:
            if none.code not in _AWAY or waiting.age > RETURN:
                self.progress.failed = str(none)
            elif self._unreachable != str(none):
                self._unreachable = str(none)
                self._news.say(f"{none}; the run waits")

    # -- the store -------------------------------------------------------------------------------------------

    def _save(self, now_or_never: bool = False, last: bool = False) -> bool:
        """Commit what has waited long enough, or all; then it counts. Return whether nothing is left unsaved."""
        hurry = now_or_never or last or self._hungry
        try:
            saved = self._unsaved.save(COMMIT if not hurry else 0.0, again=now_or_never or last)
        except StoreError as error:
            self._refused(error, last)
            return False
        for result in saved:
            if contest := self._contests.get(result.pool):
                contest.schedule.fix(result)
                self._quota.fix(result)
            self._news.counted(result)
        return not self._unsaved

    def _refuse(self, error: StoreError) -> None:
        """Try again after a while, because the store did not take something that is not a game."""
        self._unsaved.refused()
        self._refused(error)

    def _refused(self, error: StoreError, last: bool = False) -> None:
        """Wait because the store takes nothing, but not longer than PATIENCE."""
        self._away = True
        self._gone = error if isinstance(error, StoreGone) else None
        self._news.say(str(error) if last or self._gone else f"{error}; the run waits")
        if last:
            self._rescue(error)
        elif self._unsaved.troubled > PATIENCE or isinstance(error, StoreGone):
            self.progress.failed = self.progress.failed or str(error)

    def _rescue(self, error: StoreError) -> None:
        """Keep what is only in memory in another place, and say where: the run ends and the store takes nothing."""
        where = self.store.rescue(self._unsaved.finished, isinstance(error, StoreGone), Path(self.ladder.path).parent)
        self.progress.failed = "; ".join(filter(None, [str(error), where]))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.progress.stopped = number

    def _why_over(self) -> str:
        """Return why nothing is left to play, or "" while that is not known for certain."""
        if self._news.enough:
            return self._news.enough
        if reached := self._quota.reached:
            return reached if self.progress.games else f"{reached}{self._how_to_play_more}"
        if self._away:  # the pairs that are due may not have been stored
            return ""
        reasons = {contest.pool.name: contest.schedule.finished for contest in self._contests.values()}
        if not self._unsaved:
            self._unsaved.accepted()
        if not all(reasons.values()):
            return ""
        several = len(reasons) > 1
        return "; ".join(f"{name}: {why}" if several else why for name, why in reasons.items())

    @property
    def _how_to_play_more(self) -> str:
        """Return the advice for a run whose --games were all played by earlier runs."""
        asked, counted = self._limits.games or 0, self._quota.counted
        if counted < asked:
            return ""
        return f" (--games counts those of earlier runs: --games {counted + asked} plays {asked} more)"
