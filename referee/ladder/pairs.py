"""A pair of games, the unit of a ladder: same opening, seats exchanged. What is counted of pairs. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
class Meeting:
    """All finished games of an ordered pair of versions: `first` had seat 1. Forfeits and void ones are apart.

    `wins`, `ties`, `losses` of the first by play; `forfeit_wins`, `forfeit_losses` of the first because one side was
    at fault; `void` games count for nobody.
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
        """That count."""
        return self.wins + self.ties + self.losses + self.forfeit_wins + self.forfeit_losses


@dataclass(frozen=True, slots=True)
class PairResult:
    """A finished pair: the points of `first` in both games, 0 to 2 in halves, and what each game adds to meetings.

    `points` is None for a pair that does not count: a game of it is void or could not be played. `pool` is the store's
    id, 0 where nobody asked.
    """

    number: int
    batch: int
    first: int
    second: int
    points: float | None
    meetings: tuple[Meeting, ...] = ()
    pool: int = 0


@dataclass(frozen=True, slots=True)
class Seat:
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
class Past:
    """What the store holds of a pool, as a schedule begins from it. Batches are numbered from 0.

    `settled`: meetings of the batches below `batches` - 2; `recent`: the pairs of the last two batches, with their
    results as far as they have any. `met`: pairs issued per (lower id, higher id); `withdrawn`: of these, as far
    as they were withdrawn (not needed of a ladder or swiss). `results`: of a test, all, in order.
    """

    batches: int = 0
    issued: int = 0
    settled: tuple[Meeting, ...] = ()
    recent: tuple[tuple[Pair, PairResult | None], ...] = ()
    met: Mapping[tuple[int, int], int] = field(default_factory=dict)
    results: tuple[PairResult, ...] = ()
    withdrawn: Mapping[tuple[int, int], int] = field(default_factory=dict)
