"""When a run of a ladder ends: after so many games, at a time, or when the ratings are known well enough."""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

FORMS = "a time (18:00), a date and time (2026-11-30T18:00), a duration (90s, 30m, 8h, 2d) or se=ELO"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class LimitError(ValueError):
    """What was written is no limit; str() says what to write."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`games` that the ladder shall hold in all; `at`: POSIX time at which nothing more begins; `se`: Elo that no
    bot's standard error exceeds. None: without."""

    games: int | None = None
    at: float | None = None
    se: float | None = None


def read_limits(games: int | None, until: str | None, now: datetime) -> Limits:
    """The limits that --games and --until say. Raises LimitError."""
    if until is None:
        return Limits(games)
    if until.startswith("se="):
        return Limits(games, se=_elo(until))
    return Limits(games, at=_moment(until, now).timestamp())


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
        raise LimitError(f"--until {text} has passed: write a time to come")
    return at
