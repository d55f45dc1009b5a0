"""What the store takes and gives: games, pools, fits, totals, events. Values only; SQL is in the files beside this."""

from collections import Counter
from dataclasses import dataclass, field

from referee.ladder.pairs import Pair
from referee.play.series import Played


@dataclass(frozen=True, slots=True)
class Finished:
    """A match of a pair that was played to its end, void ones included.

    `game` is 0 or 1, `attempt` counts the void ones before it; `record` is zlib-compressed JSON lines.
    """

    pair: Pair
    game: int
    key: str
    attempt: int
    facts: Played
    record: bytes


@dataclass(frozen=True, slots=True)
class Unplayable:
    """A pair that cannot be played. `who` is the id of the version to blame, None for the engine, NOBODY for nobody."""

    pair: Pair
    who: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class GameRow:
    """A stored match, void ones included. `first` and `second` are the labels of seats 1 and 2.

    `winner` is a seat, 0 for nobody; `culprit` a label, "engine" or "". `ms1`, `ms2`: what the seats used.
    """

    id: int
    key: str
    pool: str
    pair: int  # its number in the pool
    game: int
    attempt: int
    first: str
    second: str
    result: str
    winner: int
    termination: str
    culprit: str
    detail: str
    plies: int
    ms1: int
    ms2: int
    suspect: bool
    ended: str


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool as it is stored; `games` is how many count. `name` is `NAME@KEY` once a later pool has the name."""

    id: int
    key: str
    name: str
    game: str
    options: dict[str, str]
    control: str
    openings: int
    games: int
    rated: bool = True


@dataclass(frozen=True, slots=True)
class ChallengeRow:
    """An unrated series between the versions `first`, which challenged, and `second`, with how it stands.

    `pairs` were asked for, of which `open` are still to be played; if some never will, `reason` says why. Of the
    `games` that ended, the first won, drew and lost so many; `void` are nobody's. `asked`, `until`: UTC, ISO 8601.
    """

    id: int
    pool: int
    batch: int
    owner: str
    first: int
    second: int
    asked: str
    until: str
    reason: str
    pairs: int
    played: int
    open: int
    wins: int = 0
    draws: int = 0
    losses: int = 0
    void: int = 0

    @property
    def games(self) -> int:
        """That count."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True)
class FitRow:
    """A version's rating. `next_*` compare it with the one below: Elo between, its error, LOS."""

    id: int
    elo: float
    se: float
    games: int
    score: float
    next_elo: float | None = None
    next_se: float | None = None
    next_los: float | None = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """An ordered pair of versions that the model fits badly: points of the first, and how many were expected."""

    first: int
    second: int
    games: float
    score: float
    expected: float
    deviance: float


@dataclass(frozen=True, slots=True)
class Drift:
    """How far an anchor's unpinned twin has left it: Elo of the twin above the anchor, and the standard error."""

    twin: int
    anchor: int
    elo: float
    se: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Ratings of a pool as they were last computed, best first. `games`: how many counted then.

    `advantage` of seat 1 and its standard error are Elo, `tie` is the model's parameter. The rest says what was held
    fixed (`anchors`, Elo by version) and how far the model holds: `deviance` at `freedom` degrees, the worst
    misfits first, twins that drift.
    """

    pool: int
    games: int
    model: str
    advantage: float
    advantage_se: float
    tie: float
    rows: tuple[FitRow, ...] = ()
    anchors: dict[int, float] = field(default_factory=dict)
    deviance: float = 0.0
    freedom: int = 0
    misfits: tuple[Misfit, ...] = ()
    drifts: tuple[Drift, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """What is stored: `games` count, `void` matches do not, `pairs` were played to their end.

    `terminations` are of all matches; `faults` by (label or "engine", termination).
    """

    games: int = 0
    void: int = 0
    pairs: int = 0
    terminations: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that an operator may want to know later; `at` is UTC, ISO 8601."""

    at: str
    kind: str
    text: str
