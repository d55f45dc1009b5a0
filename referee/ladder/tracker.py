"""Progress of a ladder run for its operator, updated as results arrive."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from ggp.referee.ladder.jobs import PairsUnderWay
from ggp.referee.ladder.progress import Playing, Progress, StopConditions
from ggp.referee.ladder.rating import ResultsTable, rate_seats
from ggp.referee.ladder.schedule import PoolSchedule
from ggp.referee.ladder.standings import BotScore, make_fit, named_table, places
from ggp.referee.ladder.store.model import GAMES, FinishedGame, PairResult, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.tune import state_of
from ggp.referee.match.interference import InterferenceTable
from ggp.referee.match.worker import ABORTED, REFEREE, BatchResult
from ggp.referee.ratings.bradley_terry import CountsError
from ggp.referee.ratings.ratings import Ratings
from ggp.referee.ratings.sequential import in_words
from ggp.referee.ratings.sprt import Verdict

# -- Keeps the Progress of a run up to date: counts, rates, and the standings from time to time.


_SHOWN = 0.25  # seconds between two looks of the screen at us
_WINDOW = 15.0  # seconds over which the rate is taken
_COST = 0.02  # part of the time that may go into standings
_SOONEST, _LATEST = 1.0, 30.0  # seconds between two of them; a machine that was busy once says nothing of the next
_MESSAGES = 1000  # of a run; later ones are dropped


class ProgressTracker:
    """The keeper of a run's Progress.

    `enough` says why no more pairs begin, "" while they may; `late`: the time is over, so that matches are dropped.
    """

    def __init__(self, progress: Progress, store: Store, limits: StopConditions) -> None:
        self.enough = ""
        self.late = False
        self._progress = progress
        self._store = store
        self._limits = limits
        self._began = time.monotonic()
        self._window: deque[tuple[float, int]] = deque([(self._began, 0)])
        self._shown = self._rated = 0.0
        self._labels: dict[int, str] = {}
        self._undecided: set[str] = set()  # pools whose test was seen to be open in this run
        self._pools: dict[int, str] = {}  # their names
        self._suspended: set[tuple[str, int]] = set()  # bots and pools whose suspension was said; no game since
        self._errors: dict[int, list[float]] = {}  # of the bots that may play, by pool
        self._interference = InterferenceTable()
        self._ratings: dict[int, Ratings] = {}  # the last ones of every pool, for the next to begin from

    def begin(self, contests: Mapping[int, PoolSchedule]) -> None:
        """Note the schedules of the pools, which were made, or made again."""
        self._labels = {seat.id: seat.label for row in contests for seat in self._store.seats(row)}
        self._pools = {row: contest.pool.name for row, contest in contests.items()}
        for contest in contests.values():
            if verdict := contest.schedule.verdict:
                self._judged(contest.pool.name, verdict)
        self._errors = {row: [] for row in contests}
        self._recount(contests)
        self._rated = 0.0

    def say(self, text: str) -> None:
        """Add a message, unless it is empty or was said before."""
        messages = self._progress.messages
        if text and len(messages) < _MESSAGES and text not in messages:
            messages.append(text)

    def label(self, version: int) -> str:
        """Return the label of a version, "" for an unknown one."""
        return self._labels.get(version, "")

    def played(self, chunk: BatchResult) -> None:
        """Count the matches of a chunk that came back."""
        self._progress.plies += sum(facts.plies for facts in chunk.played)
        for facts in chunk.played:
            self._progress.terminations[facts.termination] += 1
            if facts.culprit:
                self._progress.faults[facts.culprit, facts.termination] += 1

    def watch_interference(self, games: Sequence[FinishedGame]) -> None:
        """Report bots that take time from their opponents, also as events of the ladder."""
        for game in games:
            bots = self.label(game.pair.first), self.label(game.pair.second)
            self._suspended -= {(bot, game.pair.pool) for bot in bots}
            result = game.result
            for fault in self._interference.add_game(bots, result.used, result.stolen, result.slow_input):
                line = f"{fault.who}: {fault.kind}: {fault.reason}"
                self._progress.faults[fault.who, fault.kind] += fault.games
                self.say(f"fault: {line}")
                with contextlib.suppress(StoreError):  # the saving of games reports it
                    self._store.note("fault", line)

    def refused(self, chunk: BatchResult, pool_of: Callable[[str], int | None], suspends: bool) -> None:
        """Report what was not played; without `suspends`, only what was aborted.

        `pool_of` returns the row of the pool of a series. A bot is suspended in that pool alone, which is named if
        there are several.
        """
        for refused in chunk.refused:
            aborted = refused.who == REFEREE
            if not (aborted or suspends):
                continue
            if aborted:
                self.say(f"{refused.series} is {ABORTED}")
                continue
            pool = pool_of(refused.series)
            if pool is None or (refused.who, pool) in self._suspended:
                continue  # each match under way of the bot is refused, for like reasons
            self._suspended.add((refused.who, pool))
            place = f" in {self._pools[pool]}" if len(self._pools) > 1 and pool in self._pools else ""
            self.say(f"{refused.who} is suspended{place}: {refused.reason}")

    def counted(self, result: PairResult) -> None:
        """Count a pair that is durable."""
        games = sum(meeting.games for meeting in result.meetings)
        self._progress.games += games
        self._progress.stored += games

    def tell(
        self,
        contests: Mapping[int, PoolSchedule],
        under_way: PairsUnderWay,
        matches: Callable[[], Mapping[int, float] | None],
        seen: Callable[[Progress], None],
    ) -> None:
        """Show the progress, if it is time. `matches` returns the marks of those that are being played, if known."""
        now = time.monotonic()
        if now - self._shown < _SHOWN:
            return
        self._shown = now
        progress = self._progress
        self._pace(now)
        self._tuned(contests)
        known = matches()
        pairs = under_way.pairs() if known is None else under_way.playing(known)
        progress.playing = [
            Playing(
                contests[pair.pool].pool.name, self._labels[pair.first], self._labels[pair.second], since, known is None
            )
            for pair, since in pairs
            if pair.pool in contests and pair.first in self._labels and pair.second in self._labels
        ]
        if now > self._rated:
            self._rate(contests)
            self._rated = now + min(_LATEST, max(_SOONEST, (time.monotonic() - now) / _COST))
        self._judge_limits()
        seen(progress)

    def end(self, contests: Mapping[int, PoolSchedule], seen: Callable[[Progress], None]) -> None:
        """Show the end of the run: everything that is stored."""
        progress = self._progress
        progress.playing = []
        self._pace(time.monotonic())
        self._tuned(contests)
        progress.left = None
        self._rate(contests)
        self._recount(contests)
        seen(progress)

    def _pace(self, now: float) -> None:
        progress, window = self._progress, self._window
        progress.seconds = now - self._began
        window.append((now, progress.games))
        while len(window) > 2 and now - window[0][0] > _WINDOW:
            window.popleft()
        (then, games), span = window[0], now - window[0][0]
        progress.rate = (progress.games - games) / span if span > 0 and then < now else 0.0
        progress.left = None
        if progress.target is not None and progress.rate > 0:
            progress.left = max(0, progress.target - progress.stored) / progress.rate
        if (seconds := self._limits.seconds_left(time.time(), now)) is not None:
            progress.left = max(0.0, seconds)

    def _tuned(self, contests: Mapping[int, PoolSchedule]) -> None:
        """Update a tune, and how long its iterations will take. The length of a test is not known."""
        for contest in contests.values():
            if tune := contest.schedule.tune:
                state = self._progress.tune = state_of(tune)
                missing = GAMES * (state.plan.iterations - state.known)
                if missing and self._progress.rate and self._progress.left is None:
                    self._progress.left = missing / self._progress.rate

    def _rate(self, contests: Mapping[int, PoolSchedule]) -> None:
        """Compute standings from all that is stored, and store them for readers."""
        for row, contest in contests.items():
            try:
                seats = self._store.seats(row)
                repeats = self._store.repeats(row)
                meetings = ResultsTable.of(self._store.meeting_counts(row), repeats)
                start = self._ratings.get(row) or self._store.fit(row)
                ratings = self._ratings[row] = rate_seats(meetings, seats, contest.model, start)
                scored = {version: BotScore(*counts) for version, counts in self._store.scores(row).items()}
                fit = make_fit(ratings, self._store.counted(row), seats)
                self._store.save_fit(row, fit)
            except CountsError:  # fewer than two bots
                self._errors[row] = [0.0]
                continue
            except StoreError:  # the saving of games reports it
                continue
            rows = places(seats, scored, fit, repeats=repeats)
            self._progress.standings[contest.pool.name] = named_table(seats, fit, rows)
            self._errors[row] = [line.se for line in rows if line.seat.active]
            if verdict := contest.schedule.verdict:
                self._judged(contest.pool.name, verdict)
            self._labels.update((seat.id, seat.label) for seat in seats)

    def _judged(self, pool: str, verdict: Verdict) -> None:
        """Update the verdict of a test. A decision in this run is an event of the ladder."""
        line = self._progress.verdicts[pool] = in_words(verdict)
        if verdict.state == "continue":
            self._undecided.add(pool)
        elif pool in self._undecided:
            with contextlib.suppress(StoreError):  # the next time writes it again
                self._store.note("verdict", f"{pool}: {line}")
                self._undecided.remove(pool)

    def _recount(self, pools: Iterable[int]) -> None:
        """Count the games of these pools in the store; those of pools that left the file do not count for --games."""
        with contextlib.suppress(StoreError):
            self._progress.stored = sum(self._store.counted(row) for row in pools)

    def _judge_limits(self) -> None:
        """Note if a limit is reached, so that no more pairs begin."""
        limits = self._limits
        seconds = limits.seconds_left(time.time(), time.monotonic())
        if seconds is not None and seconds <= 0:
            self.enough, self.late = "the time of --until is over", True
        if limits.se is not None and all(errors and max(errors) <= limits.se for errors in self._errors.values()):
            self.enough = f"no standard error is above {limits.se:g} Elo"
