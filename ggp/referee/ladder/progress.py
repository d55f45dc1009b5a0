"""The progress of a run as values, for the live table and for scripts; the conditions that stop a run."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ggp.protocol.errors import Problem
from ggp.referee.ladder.standings import StandingLine
from ggp.referee.ladder.tune import TuneState


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
    """The run so far. Games count when they are durable; `stored` are all of the ladder, `games` those of this run."""

    ladder: str
    stored: int = 0
    games: int = 0
    plies: int = 0
    target: int | None = None  # games of the ladder at which the run ends
    seconds: float = 0.0
    rate: float = 0.0  # games a second, recently
    left: float | None = None  # seconds, an estimate
    standings: dict[str, list[StandingLine]] = field(default_factory=dict)  # by pool, best first
    zeros: dict[str, str] = field(default_factory=dict)  # by pool: the line under them, what zero is
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
        """Whether the run failed, or ended with nobody left to play."""
        return bool(self.failed) or self.deserted


# -- When a run ends: after so many games, at a time, or when the ratings are known well enough.


FORMS = "a time (18:00), a date and time (2026-11-30T18:00), a duration (90s, 30m, 8h, 2d) or se=ELO"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class LimitError(Problem, ValueError):
    """What was written is no limit; str() says what to write."""

    code = "bad-limit"


@dataclass(frozen=True, slots=True)
class StopConditions:
    """`games` that the ladder shall hold in all; `at`: POSIX time at which nothing more begins; `se`: Elo that no
    bot's standard error exceeds. None: without."""

    games: int | None = None
    at: float | None = None
    se: float | None = None


def read_limits(games: int | None, until: str | None, now: datetime) -> StopConditions:
    """The limits that --games and --until say. Raises LimitError."""
    if until is None:
        return StopConditions(games)
    if until.startswith("se="):
        return StopConditions(games, se=_elo(until))
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
    if duration := re.fullmatch(r"(\d{1,5}(?:\.\d+)?)([smhd])", text):
        return now + timedelta(seconds=float(duration[1]) * _UNITS[duration[2]])
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text):
            hour, minute = (int(part) for part in text.split(":"))
            at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return at if at > now else at + timedelta(days=1)
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        too_late = at <= now
    except ValueError:
        raise LimitError(f"--until {text}: write {FORMS}") from None
    if too_late:
        raise LimitError(f"--until {text} has passed: write a time to come", code="time-passed")
    return at
