"""The standings of a pool as one value: terminal, JSON, control and web pages render it. Imports no numpy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ggp.referee.ratings.scale import groups_line, half, zero, zero_line

WORST = 5  # misfits that a table keeps


def share_of(points: float, games: int) -> float:
    """Return the share of the points that could be won; 0 without games."""
    return points / games if games else 0.0


def percent_of(points: float, games: int) -> str:
    """Return the share of the points in percent; "" without games."""
    return f"{points / games:.1%}" if games else ""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much stronger one bot is than another: Elo, standard error, LOS = Φ(elo / se)."""

    elo: float
    se: float
    los: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A bot's row in the standings.

    Attributes:
        name: Name of the bot; in a table that a store keeps, the id of its version.
        elo: Rating on the scale of the table.
        se: Standard error of `elo`; 0 for an anchor, whose rating is given.
        games: Games that count.
        points: Points in these games.
        next: Difference to the next lower bot; None for the last bot of a group.
        group: Group of bots that games connect, from 1; 0 if there is only one group, or the bot has no game.
        enough: False while the rating is provisional: too few games, or all ended alike.
        note: What is special in words: "anchor", "suspended: why", "provisional"; "" for nothing.
    """

    name: str
    elo: float
    se: float
    games: int
    points: float
    next: Difference | None = None
    group: int = 0
    enough: bool = True
    note: str = ""

    @property
    def share(self) -> float:
        """Return the share of the points that could be won; 0 without games."""
        return share_of(self.points, self.games)

    @property
    def percent(self) -> str:
        """Return the share of the points in percent; "" without games."""
        return percent_of(self.points, self.games)

    def json(self) -> dict[str, Any]:
        """Return the row for JSON; `se` is null for an anchor."""
        return {
            "name": self.name,
            "elo": self.elo,
            "se": self.se or None,
            "games": self.games,
            "score": self.points,
            "next": self.next and asdict(self.next),
            "group": self.group,
            "enough": self.enough,
        }

    def next_cells(self) -> list[str]:
        """Return the cells "to next", ± and LOS of a text table."""
        return [f"{self.next.elo:z.1f}", half(self.next.se), f"{self.next.los:.1%}"] if self.next else ["", "", ""]


@dataclass(frozen=True, slots=True)
class PairMisfit:
    """An ordered pair's games: points of the first, points expected, and the deviance 2·Σ n·ln(n / expected n)."""

    first: str
    second: str
    games: float
    score: float
    expected: float
    deviance: float

    def __str__(self) -> str:
        expected = f"{self.score:g} of {self.games:g} where {self.expected:.1f} were expected"
        return f"{self.first} against {self.second}: {expected}"


@dataclass(frozen=True, slots=True)
class Drift:
    """How far an anchor's unpinned twin has left it: Elo of the twin above the anchor, and the standard error."""

    twin: str
    anchor: str
    elo: float
    se: float


@dataclass(frozen=True, slots=True)
class RatingTable:
    """The ratings of a pool, best bot first.

    Attributes:
        games: Games that counted when the ratings were computed.
        model: Name of the rating model, a key of TIES.
        advantage: Elo that seat 1 is worth.
        advantage_se: Standard error of `advantage`; 0 if it is fixed.
        tie: Parameter of ties of the model.
        rows: The standings. Bots of one group follow each other, the largest group first.
        anchors: Given ratings by name.
        deviance: Deviance of all ordered pairs that met.
        freedom: Degrees of freedom of the deviance.
        misfits: The ordered pairs that fit worst, the worst first.
        drifts: Twins that have left their anchors.
    """

    games: int
    model: str
    advantage: float
    advantage_se: float
    tie: float
    rows: Sequence[Standing] = ()
    anchors: Mapping[str, float] = field(default_factory=dict)
    deviance: float = 0.0
    freedom: int = 0
    misfits: tuple[PairMisfit, ...] = ()
    drifts: tuple[Drift, ...] = ()

    @property
    def groups(self) -> list[list[str]]:
        """Return the names of each group of bots; [] if there is only one group."""
        return groups_of(self.rows)

    @property
    def misfits_badly(self) -> bool:
        """Return whether the deviance is more than three standard deviations above its expectation."""
        return self.freedom > 0 and self.deviance > self.freedom + 3 * math.sqrt(2 * self.freedom)

    @property
    def ties(self) -> str:
        """Return the parameter of ties with its name: `ν = 0.123`."""
        return f"{TIES[self.model]} = {self.tie:.3f}"

    def zero_line(self, here: bool = True) -> str:
        """Return the line that explains zero and ±; without `here` for a place that does not list the bots."""
        idle = not all(row.games for row in self.rows)
        return zero_line(self.anchors, idle=idle, here=here, grouped=len(self.groups) > 1)

    @property
    def groups_line(self) -> str:
        """Return the line about groups that never met, or ""."""
        return groups_line(self.groups)

    def about(self, here: bool = True) -> str:
        """Return zero_line and groups_line as one line."""
        return "; ".join(filter(None, [self.zero_line(here), self.groups_line]))

    def json(self) -> dict[str, Any]:
        """Return the table for JSON; all ratings are in Elo."""
        return {
            "ratings": [row.json() for row in self.rows],
            "advantage": self.advantage,
            "model": self.model,
            "advantage_se": self.advantage_se,
            "tie": self.tie,
            "anchors": list(self.anchors),
            "zero": zero(self.anchors, grouped=len(self.groups) > 1),
            "deviance": self.deviance,
            "degrees_of_freedom": self.freedom,
            "misfits": [{**asdict(pair), "games": int(pair.games)} for pair in self.misfits],
        }


TIES = {"davidson": "ν", "rao-kupper": "δ"}  # what a model calls its parameter of ties


def groups_of(rows: Sequence[Standing]) -> list[list[str]]:
    """Return the names of the bots of each group, if there are several groups."""
    found = dict[int, list[str]]()
    for row in rows:
        if row.group:
            found.setdefault(row.group, []).append(row.name)
    return list(found.values())
