"""The values of a ladder: pools, bots, format, pairs, and what the store takes and returns."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from functools import cached_property
from typing import Any

from ggp.protocol.errors import Problem
from ggp.referee.match.adjudication import AdjudicationRule
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.series import GameResult
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.spsa import TunePlan

UNRATED = "/unrated"  # after the name of a pool: its games that count for nothing; names in files have no /


class FormatKind(StrEnum):
    """Formats: who meets whom, and when it is over."""

    LADDER = "ladder"  # continuous, whatever tells most; never over
    ROUND_ROBIN = "round-robin"  # all against all, `pairs` pairs each
    GAUNTLET = "gauntlet"  # the named `bots` against all others, `pairs` pairs each
    SWISS = "swiss"  # `rounds` rounds of equals against equals, `pairs` pairs each
    TEST = "test"  # two versions, until a sequential test decides or `pairs` pairs are played
    TUNE = "tune"  # the iterations of a tune, then a test of what it found


TESTED = (FormatKind.TEST, FormatKind.TUNE)


@dataclass(frozen=True, slots=True)
class Format:
    """A way to choose pairs of games. Fields that do not belong to `kind` have their defaults."""

    kind: FormatKind = FormatKind.LADDER
    pairs: int = 0  # see FormatKind
    rounds: int = 0
    bots: tuple[str, ...] = ()  # of a gauntlet; of a test: the new version, then the old one
    share: float = 0.5  # of all games of a pool that any one bot may have at most (ladder)
    batch: int = 0  # pairs in a batch; 0: as schedule.batch_size says
    model: str = "normalized"  # of a test: normalized, logistic or bayes
    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    check: bool = True  # of a tune: whether the test follows
    plan: TunePlan | None = None  # of a tune


@dataclass(frozen=True)
class Pool:
    """Results that may be compared: one game, its options, one time control. `openings` random plies a pair.

    Games of a pool that is not `rated` are kept, and count in no rating.
    `setting.defaults` and `max_plies` are what the engine says, once it was asked (prepare).
    """

    name: str
    setting: Setting
    engine: BotSpec
    margin: int = 50  # ms
    max_plies: int = 0  # 0: 20 times the cells
    openings: int = 0
    rated: bool = True
    rules: tuple[AdjudicationRule, ...] = ()  # by which its games may end early
    judge: BotSpec | None = None  # who says what the rules are about, in place of both bots
    seats: bool = False  # whether people may play in the unrated pool beside it
    weight: float = 1.0  # its share of the games, relative to the other pools of the file

    @cached_property
    def key(self) -> str:
        """Return twelve hex digits that tell pools apart: another game, option, control or opening is another pool."""
        said = [self.setting.game, sorted(self.setting.options.items()), str(self.setting.control), self.openings]
        said += [] if self.rated else [UNRATED]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]

    def unrated(self) -> "Pool":
        """Return the unrated pool beside this one: the same play, in a pool of its own that no rating reads."""
        return replace(self, name=f"{self.name}{UNRATED}", rated=False)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A version of a bot as it is entered. `start.version` is its hash (versions.version_of).

    `unfit`: why it cannot play, where that is known before its first game.
    """

    name: str
    start: BotSpec
    pools: tuple[str, ...]  # names; of a bot that its sandbox keeps from all engines, none
    parent: str = ""  # name of the entry it was made from
    anchor: float | None = None  # its rating is known: Elo
    unfit: str = ""

    @property
    def version(self) -> str:
        """Return the hash of all that decides how it plays."""
        return self.start.version

    def with_unrated(self) -> "Entrant":
        """Return the entrant entered in the unrated pools beside its own, too."""
        return replace(self, pools=(*self.pools, *(f"{name}{UNRATED}" for name in self.pools)))


@dataclass(frozen=True)
class Ladder:
    """A whole configuration file."""

    name: str
    seed: int
    store: str  # a URL of SQLAlchemy: sqlite:///…, postgresql+psycopg://…
    pools: tuple[Pool, ...]
    bots: tuple[Entrant, ...]
    format: Format
    budgets: Timeouts
    model: str = "davidson"  # of ratings: davidson or rao-kupper
    path: str = ""  # of the file, as messages name it
    template: BotSpec | None = None  # of a tune: the bot, with {name} for each parameter

    @property
    def programs(self) -> list[BotSpec]:
        """Return the bots that the file enters; for a tune, the bot that all its versions are made from."""
        return [self.template] if self.template else [bot.start for bot in self.bots]

    def entered(self, pool: Pool) -> list[Entrant]:
        """Return the bots of a pool, in the order of the file."""
        return [bot for bot in self.bots if pool.name in bot.pools]


# -- A pair of games, the unit of a ladder: same opening, seats exchanged.


GAMES = 2  # in a pair


@dataclass(frozen=True, slots=True)
class Pairing:
    """Who is to meet, by version ids of the store; `first` has seat 1 in the first game."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair that was issued: the `number`-th of its pool, from 0. `id` is the store's.

    `played`: which of its games (0, 1) are stored already; `tried`: how many void attempts of each are.
    """

    id: int
    pool: int
    number: int
    batch: int
    first: int
    second: int
    played: tuple[int, ...] = ()
    tried: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class PairScore:
    """All finished games of an ordered pair of versions: `first` had seat 1. Forfeits and void ones are apart.

    `wins`, `ties`, `losses` of the first by play; `forfeit_wins`, `forfeit_losses` of the first because one side was
    at fault; `void` games count for neither.
    """

    first: int
    second: int
    wins: int = 0
    ties: int = 0
    losses: int = 0
    forfeit_wins: int = 0
    forfeit_losses: int = 0
    void: int = 0

    @property
    def games(self) -> int:
        """Return the number of games that count."""
        return self.wins + self.ties + self.losses + self.forfeit_wins + self.forfeit_losses


class LostReason(Enum):
    """Why a pair was issued and never played."""

    WITHDRAWN = auto()  # a bot left the pool or was replaced
    SUSPENDED = auto()  # a bot could not play it, and was suspended for that


@dataclass(frozen=True, slots=True)
class PairResult:
    """A finished pair: the points of `first` in both games, 0 to 2 in halves, and what each game adds to meetings.

    `points` is None for a pair that does not count: a game of it is void or could not be played. `pool` is the store's
    id, 0 for a pair of the schedule. `lost` says why the pair was not played although nothing was wrong with the
    engine; no count of pairs or games may contain it.
    """

    number: int
    batch: int
    first: int
    second: int
    points: float | None
    meetings: tuple[PairScore, ...] = ()
    pool: int = 0
    lost: LostReason | None = None
    lines: tuple[tuple[int, int], ...] = field(default=(), compare=False)  # digests: opening and moves of each game


@dataclass(frozen=True, slots=True)
class PoolGames:
    """How many games a pool holds: those that count, and those that ended void or were given up for the engine."""

    counted: int = 0
    void: int = 0


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """A version of a bot in a pool, by its id in the store.

    `label` is its name, with `@version` if a later version has the name now. `active`: it is entered and not
    suspended. `parent` is the id of the version that it was made from. `entered`: the ladder's file enters it now.
    """

    id: int
    label: str
    name: str
    version: str
    active: bool = True
    parent: int | None = None
    anchor: float | None = None
    suspended: str = ""  # why
    since: int = -1  # the first batch with a pair that it was suspended for
    entered: bool = True


@dataclass(frozen=True, slots=True)
class SwissRounds:
    """The rounds of a Swiss tournament that its batches so far make up.

    `began`: how many; `played`: the names of the bots that have played in the last one; `short`: a pair of the last
    batch was lost, so that the next batch may complete the round.
    """

    began: int = 0
    played: frozenset[str] = frozenset()
    short: bool = False

    def after(self, played: Set[str], lost: Set[str]) -> "SwissRounds":
        """Return the rounds after one more batch, in which these bots played and those were in pairs that were lost.

        It completes the round before if that is short and none of these bots has played in it.
        """
        if self.short and self.played.isdisjoint(played | lost):
            return SwissRounds(self.began, self.played | played, bool(lost))
        return SwissRounds(self.began + 1, frozenset(played), bool(lost))


@dataclass(frozen=True, slots=True)
class PoolPast:
    """What the store holds of a pool, as a schedule begins from it. Batches are numbered from 0.

    `settled`: meetings of the batches below `batches` - 2; `recent`: the pairs of the last two batches, with their
    results as far as they have any. `met`: pairs issued per (lower id, higher id); `lost`: how many of these were
    withdrawn, or were issued before the last two batches and could not be played by a bot that was suspended (a ladder
    needs none of them). `results`: of a test or a tune, all, in order. `rounds`: of a Swiss
    tournament, from the batches below `batches` - 2.
    """

    batches: int = 0
    issued: int = 0
    settled: tuple[PairScore, ...] = ()
    recent: tuple[tuple[Pair, PairResult | None], ...] = ()
    met: Mapping[tuple[int, int], int] = field(default_factory=dict)
    results: tuple[PairResult, ...] = ()
    lost: Mapping[tuple[int, int], int] = field(default_factory=dict)
    rounds: SwissRounds = SwissRounds()


# -- What the store takes and returns: games, pools, fits, totals, events.


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A match of a pair that was played to its end, void ones included."""

    pair: Pair
    result: GameResult


@dataclass(frozen=True, slots=True)
class UnplayablePair:
    """A pair that cannot be played. `who` is the id of the version to blame, None for the engine, 0 for none."""

    pair: Pair
    who: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class GameRow:
    """A stored match, void ones included. `first` and `second` are the labels of seats 1 and 2.

    `winner` is a seat, 0 for none; `culprit` a label, "engine" or "". `ms1`, `ms2`: what the seats used.
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
class GameFilter:
    """A choice of stored matches; None, 0 and "" let all pass."""

    pool: Any = None  # id or name
    bot: Any = None  # id; or NAME for all its versions, NAME@VERSION for one
    against: Any = None  # likewise
    termination: str | None = None
    seat: int = 0  # of the bot
    result: str = ""  # one of RESULTS, as the bot sees it; without a bot one of EITHER_WAY
    since: datetime | None = None  # UTC; the match ended then or later
    until: datetime | None = None  # UTC; the match ended earlier
    points: float | None = None  # of the bot in both games of the pair

    @property
    def any(self) -> bool:
        """Return True for a filter without conditions."""
        return self == GameFilter()


EITHER_WAY = ("counted", "drawn", "void")  # the same for both bots
RESULTS = ("won", "lost", *EITHER_WAY, "fault", "forfeit", "gift")
"""How a match came out for a bot. `counted`: with a result; `fault`: ended by its fault; `forfeit`: lost by it; `gift`:
won by the other's."""
PAIR_POINTS = ("0", "0.5", "1", "1.5", "2")  # of a bot in both games of a pair


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
    `games` that ended, the first won, drew and lost so many; `void` have no result. `asked`, `until`: UTC, ISO 8601.
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
        """Return the number of games that count."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True)
class Totals:
    """What is stored: `wins`, `ties` and `losses` of seat 1, `void` matches, and `pairs` that were played to their end.

    `terminations` are of all matches; `faults` by (label or "engine", termination).
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0
    void: int = 0
    pairs: int = 0
    terminations: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def games(self) -> int:
        """Return the number of games that count."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class StoreEvent:
    """Something that an operator may want to know later; `at` is UTC, ISO 8601."""

    at: str
    kind: str
    text: str


# -- Errors of the store: one line each, with the remedy.


class StoreError(Problem):
    """The store cannot be used as asked; str() is one line with the remedy."""

    code = "store-problem"


class Locked(StoreError):
    """Another process runs this ladder, or holds the database."""

    code = "store-locked"


class InUse(Locked):
    """A process that lives runs this ladder or one of its fronts: waiting a moment would not help."""


class Taken(Locked):
    """Another process took the run lock, since this one seemed to have ended: this one must end."""

    code = "lock-lost"


class Full(StoreError):
    """There is no room to write. Nothing is half done; the store works again when there is room."""

    code = "store-full"


class StoreGone(StoreError):
    """The store's file was removed, replaced or truncated while it was in use: what is committed now would be lost."""

    code = "store-gone"
