"""The standings of a pool of a ladder: the stored ratings with the score and the note of each version.

`read_standings` reads them from a store; ggp.referee.ratings.standings says what a row and a table are.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from ggp.protocol.errors import Problem
from ggp.referee.ladder.store.model import PairScore, PoolEntry, PoolRow
from ggp.referee.ratings.scale import are_enough, half, too_few_line
from ggp.referee.ratings.standings import RatingTable, Standing, percent_of, share_of

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ratings.ratings import Ratings

PROVISIONAL = "provisional"  # in the note of a rating that rests on too few games
_EQUAL = 1e-6  # Elo
Repeats = Iterable[tuple[int, int, int, int, int]]  # of the store: games of ordered pairs that repeat others


@dataclass(frozen=True, slots=True)
class BotScore:
    """The games of a version that count.

    `forfeits` of the losses were its own fault, `gifts` of the wins the other's. `void` games count for nothing.
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0
    forfeits: int = 0
    gifts: int = 0
    void: int = 0

    @property
    def games(self) -> int:
        """Return the number of games that count."""
        return self.wins + self.ties + self.losses

    @property
    def points(self) -> float:
        """Return one point for a win, half a point for a tie."""
        return self.wins + self.ties / 2

    @property
    def share(self) -> float:
        """Return the share of the points that could be won; 0 without games."""
        return share_of(self.points, self.games)

    @property
    def percent(self) -> str:
        """Return the share of the points in percent; "" without games."""
        return percent_of(self.points, self.games)

    def __add__(self, other: "BotScore") -> "BotScore":
        return BotScore(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStanding(Standing):
    """A row of a ladder's standings, with the version and all its games."""

    seat: PoolEntry
    score: BotScore

    def json(self) -> dict[str, Any]:
        """Return the row of `ggp rate --json` with what a ladder knows besides."""
        counts = {name: value for name, value in plain(self.score).items() if name != "void"}
        seat = {name: getattr(self.seat, name) for name in ("version", "active", "suspended")}
        return Standing.json(self) | counts | {"bot": self.seat.name, **seat, "note": self.note}


def score_of(meeting: PairScore, seat: int = 1) -> BotScore:
    """Return the score of the version in this seat."""
    won, lost = meeting.wins, meeting.losses
    gifts, forfeits = meeting.forfeit_wins, meeting.forfeit_losses
    if seat == 2:
        won, lost, gifts, forfeits = lost, won, forfeits, gifts
    return BotScore(won + gifts, meeting.ties, lost + forfeits, forfeits, gifts, meeting.void)


def entered(seat: PoolEntry) -> bool:
    """Return whether a version is in the pool now, even if suspended; a withdrawn one is not."""
    return seat.active or (seat.entered and bool(seat.suspended))


# -- Ratings as a table that the store keeps; its names are the ids of versions.


def is_current(
    fit: RatingTable, seats: Sequence[PoolEntry], scored: Mapping[int, BotScore], everyone: bool = False
) -> bool:
    """Return whether a stored table still has what the standings of these seats, with these scores, need."""
    games = sum(score.games for score in scored.values()) // 2
    rated = {str(seat.id) for seat in seats if seat.active or scored.get(seat.id, BotScore()).games}
    if fit.games != games or fit.anchors != _anchors(seats, rated) or rated != {row.name for row in fit.rows}:
        return False
    shown = {str(seat.id) for seat in seats if everyone or entered(seat)}
    rows = [row for row in fit.rows if row.name in shown]
    # "next" and the mean are of those who were entered then; bots may have left since.
    compared = all(_says_next(above, below) for above, below in pairwise([*rows, None]))
    return compared and _has_its_zero(fit, rows, scored)


def _says_next(above: Standing | None, below: Standing | None) -> bool:
    """Return whether a row is compared with the next one, or with none if no game connects the two."""
    assert above is not None
    if below is None or above.group != below.group:
        return above.next is None
    return above.next is not None and abs(above.next.elo - (above.elo - below.elo)) < _EQUAL


def _has_its_zero(fit: RatingTable, rows: Sequence[Standing], scored: Mapping[int, BotScore]) -> bool:
    """Return whether zero is at the mean of the rows with games, or where the anchors set it."""
    if fit.anchors:
        return all(row.elo == fit.anchors[row.name] for row in fit.rows if row.name in fit.anchors)
    met = [row.elo for row in rows if scored.get(int(row.name), BotScore()).games] or [row.elo for row in rows]
    return not met or abs(math.fsum(met)) < _EQUAL * len(met)


def make_fit(ratings: "Ratings", games: int, seats: Sequence[PoolEntry], everyone: bool = False) -> RatingTable:
    """Return what the store keeps of ratings, whose names are version ids, by so many `games`.

    Each entered version is compared with the next lower one; with `everyone`, each version that ever was.
    """
    table = ratings.table({str(seat.id) for seat in seats if everyone or entered(seat)})
    rated = {row.name for row in table.rows}
    present = [seat for seat in seats if str(seat.id) in rated]
    twins = [  # the same version under another name
        (str(twin.id), str(anchor.id))
        for anchor in present
        for twin in present
        if anchor.anchor is not None and twin.anchor is None and twin.version == anchor.version
    ]
    drifts = tuple(drift for twin, anchor in twins if (drift := ratings.drift(twin, anchor)))
    return replace(table, games=games, anchors=_anchors(seats, rated), drifts=drifts)


def _anchors(seats: Sequence[PoolEntry], rated: set[str]) -> dict[str, float]:
    return {str(seat.id): seat.anchor for seat in seats if seat.anchor is not None and str(seat.id) in rated}


class RatedLater(Problem):
    """The ratings of a pool are still being computed."""

    code = "rated-later"


Rater = Callable[["Store", int, Sequence[PoolEntry], str, int], "Ratings | None"]
"""Rates the versions of a pool (an id) by all its games, under the model of this name.

The last argument is the least number of games: a rater may return earlier ratings if they count no fewer games. It
returns None for fewer than two versions. A rater that does not wait raises RatedLater.
"""


def rate_pool(store: "Store", pool: int, seats: Sequence[PoolEntry], model: str, least: int = 0) -> "Ratings | None":
    """Rate a pool at once, by all games, starting from the ratings that the store keeps: the Rater of commands."""
    from ggp.referee.ladder.rating import ResultsTable, rate_seats
    from ggp.referee.ratings.bradley_terry import CountsError

    try:
        results = ResultsTable.of(store.meeting_counts(pool), store.repeats(pool))
        return rate_seats(results, seats, model, store.fit(pool))
    except CountsError:
        return None


# -- The standings.


def places(
    seats: Sequence[PoolEntry],
    scored: Mapping[int, BotScore],
    fit: RatingTable,
    everyone: bool = False,
    repeats: Repeats = (),
) -> list[LadderStanding]:
    """Return the rows of the entered versions, or of every version that ever was, best first.

    A rating is provisional if the games of a version, without its `repeats`, are too few for an Elo.
    """
    shown = {str(seat.id): seat for seat in seats if everyone or entered(seat)}
    counts = {version: Counter(wins=one.wins, ties=one.ties, losses=one.losses) for version, one in scored.items()}
    for first, second, wins, ties, losses in repeats:
        for version, won, lost in ((first, wins, losses), (second, losses, wins)):
            counts.setdefault(version, Counter()).subtract({"wins": won, "ties": ties, "losses": lost})
    labels = {str(seat.id): seat.label for seat in seats}
    drifts = {
        drift.twin: f"drifts from its anchor {labels.get(drift.anchor, '?')} by {drift.elo:+.0f}"
        f" ± {half(drift.se, 0)} Elo"
        for drift in fit.drifts
    }
    rows = []
    for row in fit.rows:
        if seat := shown.get(row.name):
            score = scored.get(seat.id, BotScore())
            enough = not row.se or are_enough(counts.get(seat.id, Counter()).values())  # an anchor's Elo is given
            notes = [
                f"group {row.group}" if row.group else "",
                "anchor" if row.name in fit.anchors else "",
                "" if enough else PROVISIONAL,
                f"suspended: {seat.suspended}" if seat.suspended else "" if seat.active else "withdrawn",
                drifts.get(row.name, ""),
            ]
            rows.append(
                LadderStanding(
                    seat.label,
                    *(row.elo, row.se, score.games, score.points, row.next, row.group, enough),
                    "; ".join(filter(None, notes)),
                    seat=seat,
                    score=score,
                )
            )
    return rows


def named_table(seats: Sequence[PoolEntry], fit: RatingTable, rows: Sequence[LadderStanding]) -> RatingTable:
    """Return these rows of a stored table with labels instead of ids."""
    labels = {str(seat.id): seat.label for seat in seats}
    misfits = tuple(replace(pair, first=labels[pair.first], second=labels[pair.second]) for pair in fit.misfits)
    anchors = {labels[version]: elo for version, elo in fit.anchors.items()}
    return replace(fit, rows=rows, misfits=misfits, anchors=anchors)


@dataclass(frozen=True)
class Standings:
    """The standings of a pool. If nothing can be rated, `fit` is None and there are no rows.

    `every` has a row for each version that ever was, `places` for those that are shown. `repeated` games repeat others
    and do not count in ratings.
    """

    pool: PoolRow
    seats: list[PoolEntry]
    fit: RatingTable | None
    places: list[LadderStanding]
    every: Sequence[LadderStanding] = ()
    repeated: int = 0

    @cached_property
    def table(self) -> RatingTable | None:
        """Return the table with the rows that are shown, by labels."""
        return named_table(self.seats, self.fit, self.places) if self.fit else None

    def versions(self, name: str) -> list[PoolEntry]:
        """Return all versions of the bot NAME or NAME@VERSION, oldest first."""
        return [seat for seat in self.seats if seat.name == name.partition("@")[0]]

    def zero(self, here: bool = True) -> str:
        """Return the line that explains zero and ±; without `here` for a place that does not list the bots."""
        return self.table.about(here) if self.table else ""

    @property
    def provisional(self) -> str:
        """Return a line that names the bots with too few games for an Elo, or ""."""
        return too_few_line([row.name for row in self.places if not row.enough], PROVISIONAL)

    @property
    def repeats(self) -> str:
        """Return a line about games that repeat others, or ""."""
        said = f"{self.repeated} of {self.pool.games} games repeat others and do not count in the ratings"
        return f"{said}: these bots do not randomise; write openings = 4 into [pool]" if self.repeated else ""


def read_standings(store: "Store", pool: PoolRow, everyone: bool = False, rate: Rater = rate_pool) -> Standings:
    """Return the standings by the stored fit, or if that is outdated, by a new one, which is not stored.

    With `everyone`, every version that ever was has a place, and zero is their mean.

    Raises:
        RatedLater: `rate` has no new fit yet, and none is stored.
    """
    seats, fit = store.seats(pool.id), store.fit(pool.id)
    scored = {version: BotScore(*counts) for version, counts in store.scores(pool.id).items()}
    games = sum(score.games for score in scored.values()) // 2
    if not games:
        return Standings(pool, seats, None, [])
    everyone = everyone or not any(map(entered, seats))
    if fit is None or not is_current(fit, seats, scored, everyone):
        model = fit.model if fit else "davidson"
        try:
            ratings = rate(store, pool.id, seats, model, fit.games if fit else 0)
            fit = make_fit(ratings, games, seats, everyone) if ratings else None
        except RatedLater:
            if fit is None:
                raise
    repeats = store.repeats(pool.id)
    repeated = sum(sum(counts) for _, _, *counts in repeats)
    every = places(seats, scored, fit, True, repeats) if fit else []
    return Standings(pool, seats, fit, [row for row in every if everyone or entered(row.seat)], every, repeated)


def title_of(pool: PoolRow) -> str:
    """Return the pool in words: `NAME: yugo size=5, time 10+0.1`."""
    options = "".join(f" {name}={value}" for name, value in pool.options.items())
    openings = f", {pool.openings} random plies first" if pool.openings else ""
    return f"{pool.name}: {pool.game}{options}, time {pool.control}{openings}"


def pools_json(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the object of the only pool, or those of all pools by their names."""
    return next(iter(objects.values())) if len(objects) == 1 else {"pools": objects}


def standings_json(found: Standings) -> dict[str, Any]:
    """Return the object of `ggp rate --json` with what a ladder knows besides."""
    if (table := found.table) is None:
        empty = dict.fromkeys(RatingTable(0, "davidson", 0.0, 0.0, 0.0).json())
        rated = empty | {"ratings": [], "anchors": [], "misfits": []}
    else:
        rated = table.json()
    pool = found.pool
    more = {"games": pool.games, "repeated": found.repeated}
    return rated | more | {"game": pool.game, "options": pool.options, "time": pool.control}


def plain(value: object) -> dict[str, Any]:
    """Return the fields of a value for JSON, without its id in the store."""
    fields: dict[str, Any] = msgspec.to_builtins(value)
    fields.pop("id", None)
    return fields
