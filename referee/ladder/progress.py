"""The progress of a run as values, for the live table and for scripts; the conditions that stop a run."""

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ggp.protocol.errors import Problem
from ggp.referee.ladder.store.model import GAMES, Pair, PairResult, PoolGames
from ggp.referee.ladder.tune import TuneState
from ggp.referee.match.worker import Batch, BatchResult
from ggp.referee.ratings.standings import RatingTable

if TYPE_CHECKING:
    from ggp.referee.ladder.run import LadderRun


@dataclass(frozen=True, slots=True)
class Playing:
    """A pair of which a match is being played since then, in seconds of CLOCK_MONOTONIC.

    On a cluster it is not known which pairs are being played and which wait for a worker: then `given` out since.
    """

    pool: str
    first: str
    second: str
    since: float
    given: bool = False


@dataclass(slots=True)
class Progress:
    """The run so far. Games count when they are durable; `stored`: of the ladder's pools, `games`: of this run."""

    ladder: str
    stored: int = 0
    games: int = 0
    plies: int = 0
    target: int | None = None  # games of the ladder at which the run ends
    seconds: float = 0.0
    rate: float = 0.0  # games a second, recently
    left: float | None = None  # seconds, an estimate
    standings: dict[str, RatingTable] = field(default_factory=dict)  # by pool
    playing: list[Playing] = field(default_factory=list)
    terminations: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # (who, termination)
    verdicts: dict[str, str] = field(default_factory=dict)  # of tests, by pool: one line
    tune: TuneState | None = None
    messages: list[str] = field(default_factory=list)  # what the operator should know, oldest first
    stopped: int = 0  # the signal that ended the run
    failed: str = ""  # why it cannot go on
    finished: str = ""  # why there is nothing left to do
    deserted: bool = False  # it is over because bots that it needs are suspended or missing

    @property
    def unsuccessful(self) -> bool:
        """Return whether the run failed, or ended with no bots left to play."""
        return bool(self.failed) or self.deserted


class RunControl:
    """Control of a run from outside, asked by the loop in its own thread. This base class never interferes."""

    ending = ""  # why the run ends at once, "" while it continues

    @property
    def paused(self) -> bool:
        """Return True while the ladder is not to start new pairs."""
        return False

    @property
    def busy(self) -> bool:
        """Return True if the run stays up after its time, for matches outside the ladder."""
        return False

    def serve(self, run: "LadderRun") -> None:
        """Execute the commands that came since the last turn of the loop."""

    def should_wait(self, why: str) -> bool:
        """Return whether a run with nothing to play, for the reason `why`, waits for commands instead of ending."""
        return False

    def rest(self, seconds: float) -> None:
        """Wait so long, or until a command comes."""
        time.sleep(seconds)

    def on_start(self) -> None:
        """Note that the run starts, or continues with another configuration."""

    def next_batches(self) -> list[Batch]:
        """Return the next chunk of matches that are not the ladder's, [] if there is none."""
        return []

    def on_result(self, chunk: BatchResult) -> bool:
        """Count the result of such a chunk. Return False if it is the ladder's."""
        return False

    def on_workers_lost(self) -> None:
        """Have the matches of `next_batches` played again that the dead workers had."""


# -- When a run ends: after so many games, at a time, or when the ratings are known well enough.


FORMS = "a time (18:00), a date and time (2026-11-30T18:00), a duration (90s, 30m, 8h, 2d) or se=ELO"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class LimitError(Problem, ValueError):
    """An invalid limit; str() says what to write."""

    code = "bad-limit"


@dataclass(frozen=True, slots=True)
class StopConditions:
    """When a run begins nothing more; None: without such a limit.

    `games`: how many the pools of the ladder shall hold; `at`: a POSIX time; `deadline`: a time of CLOCK_MONOTONIC, by
    which durations are measured, because the wall clock may be set meanwhile; `se`: Elo that no bot's standard error
    exceeds.
    """

    games: int | None = None
    at: float | None = None
    deadline: float | None = None
    se: float | None = None

    def seconds_left(self, wall: float, monotonic: float) -> float | None:
        """Return the seconds until `at` or `deadline` at this moment of both clocks, None without either."""
        if self.deadline is not None:
            return self.deadline - monotonic
        return None if self.at is None else self.at - wall


def read_limits(games: int | None, until: str | None, now: datetime, monotonic: float) -> StopConditions:
    """Return the limits that --games and --until say.

    Args:
        games: The value of --games.
        until: The value of --until.
        now: The time, in the zone in which times without a zone are meant: LOCAL.
        monotonic: The same moment by CLOCK_MONOTONIC, in seconds.

    Raises:
        LimitError: `until` is no limit, or a time that has passed.
    """
    if until is None:
        return StopConditions(games)
    if until.startswith("se="):
        return StopConditions(games, se=_elo(until))
    if duration := re.fullmatch(r"(\d{1,5}(?:\.\d+)?)([smhd])", until):
        return StopConditions(games, deadline=monotonic + float(duration[1]) * _UNITS[duration[2]])
    return StopConditions(games, at=_moment(until, now).timestamp())


def _elo(text: str) -> float:
    try:
        elo = float(text[3:])
    except ValueError:
        elo = math.nan
    if not 0 < elo <= 1000:
        raise LimitError(f"--until {text}: write se=ELO with a standard error above 0, for example se=20")
    return elo


def _moment(text: str, now: datetime) -> datetime:
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text):
            hour, minute = (int(part) for part in text.split(":"))
            # The day and the hour are those of the wall clock; the zone then says when that is, as a night of daylight
            # saving time has 23 or 25 hours.
            at = now.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
            later = (at, at.replace(fold=1), at + timedelta(days=1))
            return next(moment for moment in later if moment.timestamp() > now.timestamp())
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        too_late = at.timestamp() <= now.timestamp()
    except (ValueError, OverflowError):
        raise LimitError(f"--until {text}: write {FORMS}") from None
    if too_late:
        raise LimitError(f"--until {text} has passed: write a time to come", code="time-passed")
    return at


class GameQuota:
    """How many games a run may still begin, so that the pools of the ladder hold `target` games in the end.

    Games of earlier runs count. Pairs that were withdrawn, or that a suspended bot could not play, do not: others are
    played in their place. So are others in place of void games, until as many are void as were to be played: otherwise
    a game that is always void would be played for ever.
    """

    def __init__(self, target: int | None) -> None:
        self._target = target
        self._counted = self._void = 0
        self._out: dict[tuple[int, int], int] = {}  # pairs that are being played -> how many of their games are stored

    def begin(self, held: Iterable[PoolGames], out: Iterable[Pair]) -> None:
        """Count from what the store holds now. `out`: the open pairs that workers have."""
        pools = list(held)
        self._counted, self._void = sum(pool.counted for pool in pools), sum(pool.void for pool in pools)
        self._out = {(pair.pool, pair.number): len(pair.played) for pair in out}

    @property
    def counted(self) -> int:
        """Return the number of games of these pools that count."""
        return self._counted

    @property
    def pairs(self) -> float:
        """Return how many pairs may still begin."""
        if self._target is None:
            return math.inf
        if self._void >= self._target:
            return 0
        coming = sum(GAMES - played for played in self._out.values())
        return max(0, math.ceil((self._target - self._counted - coming) / GAMES))

    def take(self, pair: Pair) -> None:
        """Note that workers get this pair."""
        self._out[pair.pool, pair.number] = len(pair.played)

    def fix(self, result: PairResult) -> None:
        """Count a pair that the store has taken."""
        before = self._out.pop((result.pool, result.number), 0)
        void = sum(game.void for game in result.meetings)
        if not result.lost:
            void += GAMES - sum(game.games + game.void for game in result.meetings)
        self._counted += max(0, sum(game.games for game in result.meetings) - before)
        self._void += void

    @property
    def reached(self) -> str:
        """Return why no more pairs begin; "" while some may."""
        if self._target is None or self.pairs:
            return ""
        if self._counted >= self._target:
            return f"{self._target} games were to be played, and are"
        return (
            f"{self._target} games were to be played: {self._counted} count, and {self._void} are void or could not be"
            " played, which is too many (ggp ladder games --result void lists them)"
        )


# -- Which of several pools plays next.


_OWED = 50.0  # pairs that a pool may be behind the others, at an average weight: it catches up with these and no more


class PoolTurns:
    """Takes turns among the pools of a ladder or lobby, in proportion to their weights.

    The pool that has played the fewest pairs for its weight is the next. A pool that could not play for a while, or is
    new, is owed a bounded number of pairs, so that it does not keep the others from playing when it comes.
    """

    def __init__(self, weights: Mapping[int, float], played: Mapping[int, float]) -> None:
        """Begin with the pairs that each pool has played or is playing.

        Args:
            weights: Weights of the pools, by their rows in the store.
            played: Pairs, likewise.
        """
        mean = math.fsum(weights.values()) / len(weights) if weights else 1.0
        self._weights = {row: weight / mean for row, weight in weights.items()}
        self._served = {row: played.get(row, 0) / weight for row, weight in self._weights.items()}

    def order(self) -> list[int]:
        """Return the rows of all pools, the one whose turn it is first; among equals, as the file has them."""
        least = max(self._served.values(), default=0.0) - _OWED
        self._served = {row: max(served, least) for row, served in self._served.items()}
        return sorted(self._served, key=self._served.__getitem__)

    def add(self, row: int, pairs: int = 1) -> None:
        """Count pairs that this pool begins."""
        self._served[row] += pairs / self._weights[row]
