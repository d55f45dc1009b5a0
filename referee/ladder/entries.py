"""What a ladder is made of: pools, bots, a format. Values only: config reads them from a file, the store keeps them."""

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from referee.config import Budgets, Setting
from referee.play.seating import Start

UNRATED = "/unrated"  # after the name of a pool: its games that count for nothing; names in files have no /


class Kind(StrEnum):
    """Formats: who meets whom, and when it is over."""

    LADDER = "ladder"  # continuous, whatever tells most; never over
    ROUND_ROBIN = "round-robin"  # everybody against everybody, `pairs` pairs each
    GAUNTLET = "gauntlet"  # the named `bots` against all others, `pairs` pairs each
    SWISS = "swiss"  # `rounds` rounds of equals against equals, `pairs` pairs each
    TEST = "test"  # two versions, until a sequential test decides or `pairs` pairs are played


@dataclass(frozen=True, slots=True)
class Format:
    """How pairs of games are chosen. What does not belong to `kind` is as it stands here."""

    kind: Kind = Kind.LADDER
    pairs: int = 0  # see Kind
    rounds: int = 0
    bots: tuple[str, ...] = ()  # of a gauntlet; of a test: the new version, then the old one
    share: float = 0.5  # of all games of a pool that any one bot may have at most (ladder)
    batch: int = 0  # pairs in a batch; 0: as schedule.batch_size says
    model: str = "normalized"  # of a test: normalized, logistic or bayes
    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05


@dataclass(frozen=True)
class Pool:
    """Results that may be compared: one game, its options, one time control. `openings` random plies a pair.

    Games of a pool that is not `rated` are kept, and count in no rating.
    `setting.defaults` and `max_plies` are what the engine says, once it was asked (prepare).
    """

    name: str
    setting: Setting
    engine: Start
    margin: int = 50  # ms
    max_plies: int = 0  # 0: 20 times the cells
    openings: int = 0
    rated: bool = True

    @cached_property
    def key(self) -> str:
        """Twelve hex digits: pools never mix, so another game, option, control or opening is another pool."""
        said = [self.setting.game, sorted(self.setting.options.items()), str(self.setting.control), self.openings]
        said += [] if self.rated else [UNRATED]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]

    def unrated(self) -> "Pool":
        """The same play that counts for nothing: a pool beside this one, so that nothing can mix them up."""
        return replace(self, name=f"{self.name}{UNRATED}", rated=False)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A version of a bot as it is entered. `start.version` is its hash (versions.version_of)."""

    name: str
    start: Start
    pools: tuple[str, ...]  # names; never empty
    parent: str = ""  # name of the entry it was made from
    anchor: float | None = None  # its rating is known: Elo

    @property
    def version(self) -> str:
        return self.start.version

    def with_unrated(self) -> "Entrant":
        """Entered in the unrated pools beside its own, too."""
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
    budgets: Budgets
    model: str = "davidson"  # of ratings: davidson or rao-kupper
    path: str = ""  # of the file, as messages name it

    def entered(self, pool: Pool) -> list[Entrant]:
        """The bots of a pool, in the order of the file."""
        return [bot for bot in self.bots if pool.name in bot.pools]
