"""How a ladder run goes, as values: what the live table shows and scripts read. Nothing is measured or drawn here."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Line:
    """A bot's line in the standings of a pool: `share` of points won in its `games`, Elo and its standard error.

    An anchor's error is 0.
    """

    label: str
    elo: float
    se: float
    games: int
    share: float
    note: str = ""  # "suspended: why", "anchor", ""


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
    rate: float = 0.0  # games a second, of late
    left: float | None = None  # seconds, an estimate
    standings: dict[str, list[Line]] = field(default_factory=dict)  # by pool, best first
    zeros: dict[str, str] = field(default_factory=dict)  # by pool: the line under them, what zero is
    playing: list[Playing] = field(default_factory=list)
    terminations: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # (who, termination)
    verdicts: dict[str, str] = field(default_factory=dict)  # of tests, by pool: one line
    messages: list[str] = field(default_factory=list)  # what the operator should know, oldest first
    stopped: int = 0  # the signal that ended the run
    failed: str = ""  # why it cannot go on
    finished: str = ""  # why there is nothing left to do
