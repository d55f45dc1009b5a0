"""The standings of a pool, computed here and rendered as text, JSON and HTML elsewhere.

`read_standings` reads the games counted per version, the ratings of a fit and the notes of each place from a store.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from ggp.protocol.errors import Problem
from ggp.referee.ladder.store.model import (
    Drift,
    FitRow,
    MisfitRow,
    PairScore,
    PoolEntry,
    PoolRow,
    StoredFit,
)
from ggp.referee.ratings.scale import are_enough, groups_line, half, zero, zero_line

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ratings.ratings import Ratings, Standing


WORST = 5  # misfits that a fit keeps
_EQUAL = 1e-6  # Elo


@dataclass(frozen=True, slots=True)
class BotScore:
    """Games of a version that count. Of the losses `forfeits` were its own fault, of the wins `gifts` the other's."""

    wins: int = 0
    ties: int = 0
    losses: int = 0
    forfeits: int = 0
    gifts: int = 0
    void: int = 0  # besides

    @property
    def games(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def points(self) -> float:
        return self.wins + self.ties / 2

    @property
    def share(self) -> float:
        """Of the points that could be won; 0 without games."""
        return self.points / self.games if self.games else 0.0

    def __add__(self, other: "BotScore") -> "BotScore":
        return BotScore(
            self.wins + other.wins,
            self.ties + other.ties,
            self.losses + other.losses,
            self.forfeits + other.forfeits,
            self.gifts + other.gifts,
            self.void + other.void,
        )


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """A line of the standings. `note` is "anchor", "suspended: why", how a twin drifts from its anchor, or ""."""

    seat: PoolEntry
    row: FitRow
    score: BotScore
    note: str


def score_of(meeting: PairScore, seat: int = 1) -> BotScore:
    """Return the score of the version in this seat."""
    if seat == 1:
        won, lost = meeting.wins, meeting.losses
        gifts, forfeits = meeting.forfeit_wins, meeting.forfeit_losses
    else:
        won, lost = meeting.losses, meeting.wins
        gifts, forfeits = meeting.forfeit_losses, meeting.forfeit_wins
    return BotScore(won + gifts, meeting.ties, lost + forfeits, forfeits, gifts, meeting.void)


def entered(seat: PoolEntry) -> bool:
    """Return whether a version is in the pool now, even if suspended; a withdrawn one is not."""
    return seat.active or (seat.entered and bool(seat.suspended))


def is_current(
    fit: StoredFit, seats: Sequence[PoolEntry], scored: Mapping[int, BotScore], everyone: bool = False
) -> bool:
    """Return whether a stored fit still has what the standings of these seats, with these scores, need."""
    games = sum(score.games for score in scored.values()) // 2
    rated = {seat.id for seat in seats if seat.active or scored.get(seat.id, BotScore()).games}
    if fit.games != games or fit.anchors != _anchors(seats, rated) or rated != {row.id for row in fit.rows}:
        return False
    shown = {seat.id for seat in seats if everyone or entered(seat)}
    rows = [row for row in fit.rows if row.id in shown]
    # "next" and the mean are of those who were entered then; bots may have left since.
    if not all(_says_next(fit, above, below) for above, below in pairwise([*rows, None])):
        return False
    return _has_its_zero(fit, rows, scored)


def _says_next(fit: StoredFit, above: FitRow | None, below: FitRow | None) -> bool:
    """Return whether a row compares its version with the next one, or with none if no game connects the two."""
    assert above is not None
    if below is None or fit.group(above.id) != fit.group(below.id):
        return above.next_elo is None
    return above.next_elo is not None and abs(above.next_elo - (above.elo - below.elo)) < _EQUAL


def make_fit(
    ratings: "Ratings", pool: int, games: int, seats: Sequence[PoolEntry], everyone: bool = False
) -> StoredFit:
    """Return what the store keeps of ratings, whose names are version ids, by so many `games`.

    Each entered version is compared with the next lower one; with `everyone`, each version that ever was.
    """
    shown = {str(seat.id) for seat in seats if everyone or entered(seat)}
    best = ratings.standings(shown)
    return StoredFit(
        pool=pool,
        games=games,
        model=ratings.model.name,
        advantage=ratings.advantage,
        advantage_se=ratings.advantage_se,
        tie=ratings.tie,
        rows=tuple(map(_row, best)),
        anchors=_anchors(seats, {int(line.name) for line in best}),
        deviance=ratings.deviance(),
        freedom=ratings.degrees_of_freedom(),
        misfits=tuple(
            MisfitRow(int(pair.first), int(pair.second), pair.games, pair.score, pair.expected, pair.deviance)
            for pair in ratings.misfits(WORST)
        ),
        drifts=tuple(_drifts(ratings, seats)),
        groups=_groups(best),
    )


def _groups(best: Sequence["Standing"]) -> tuple[tuple[int, ...], ...]:
    found = dict[int, list[int]]()
    for line in best:
        if line.group:
            found.setdefault(line.group, []).append(int(line.name))
    return tuple(map(tuple, found.values()))


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
    from ggp.referee.ladder.rating import ResultsTable, kept_ratings, rate_seats
    from ggp.referee.ratings.bradley_terry import CountsError

    try:
        start = kept_ratings(store.fit(pool), model)
        return rate_seats(ResultsTable.of(store.meeting_counts(pool), store.repeats(pool)), seats, model, start)
    except CountsError:
        return None


def places(
    seats: Sequence[PoolEntry], scored: Mapping[int, BotScore], fit: StoredFit, everyone: bool = False
) -> list[RankedPlace]:
    """Return the standings, best first, of the entered versions, or of every version that ever was."""
    shown = {seat.id: seat for seat in seats if everyone or entered(seat)}
    notes = _notes(seats, fit)
    return [
        RankedPlace(shown[row.id], row, scored.get(row.id, BotScore()), notes.get(row.id, ""))
        for row in fit.rows
        if row.id in shown
    ]


def held(seats: Sequence[PoolEntry], fit: StoredFit) -> dict[str, float]:
    """Return the ratings at which anchors are held, by their labels."""
    return {seat.label: fit.anchors[seat.id] for seat in seats if seat.id in fit.anchors}


def zero_of(seats: Sequence[PoolEntry], fit: StoredFit, shown: Sequence[RankedPlace], here: bool = True) -> str:
    """Return the line that explains zero and ±; not `here` if the standings are shown elsewhere."""
    apart = groups_line(_shown_groups(fit, shown))
    idle = not all(place.score.games for place in shown)
    zero = zero_line(held(seats, fit), idle=idle, here=here, grouped=bool(apart))
    return f"{zero}; {apart}" if apart else zero


def _shown_groups(fit: StoredFit, shown: Sequence[RankedPlace]) -> list[list[str]]:
    """Return the labels of the bots shown, by groups that never met; groups without any are left out."""
    labels = {place.seat.id: place.seat.label for place in shown}
    groups = [[labels[id] for id in group if id in labels] for group in fit.groups]
    return [group for group in groups if group]


def misfits_badly(fit: StoredFit) -> bool:
    """Return whether the deviance is more than three standard deviations above its expectation."""
    return fit.freedom > 0 and fit.deviance > fit.freedom + 3 * math.sqrt(2 * fit.freedom)


def _row(line: "Standing") -> FitRow:
    row = FitRow(int(line.name), line.elo, line.se, line.games, line.score)
    return replace(row, next_elo=line.next.elo, next_se=line.next.se, next_los=line.next.los) if line.next else row


def _has_its_zero(fit: StoredFit, rows: Sequence[FitRow], scored: Mapping[int, BotScore]) -> bool:
    """Return whether zero is at the mean of the rows with games, or where the anchors set it."""
    if fit.anchors:
        return all(row.elo == fit.anchors[row.id] for row in fit.rows if row.id in fit.anchors)
    met = [row.elo for row in rows if scored.get(row.id, BotScore()).games] or [row.elo for row in rows]
    return not met or abs(math.fsum(met)) < _EQUAL * len(met)


def _anchors(seats: Sequence[PoolEntry], rated: set[int]) -> dict[int, float]:
    return {seat.id: seat.anchor for seat in seats if seat.anchor is not None and seat.id in rated}


def _drifts(ratings: "Ratings", seats: Sequence[PoolEntry]) -> Iterable[Drift]:
    """Yield twins of anchors, the same version under another name, that have left their anchor."""
    rated = set(ratings.counts.names)
    present = [seat for seat in seats if str(seat.id) in rated]
    for anchor in [seat for seat in present if seat.anchor is not None]:
        for twin in [seat for seat in present if seat.anchor is None and seat.version == anchor.version]:
            if ratings.drifts(str(twin.id), str(anchor.id)):
                apart = ratings.difference(str(twin.id), str(anchor.id))
                yield Drift(twin.id, anchor.id, apart.elo, apart.se)


def _notes(seats: Sequence[PoolEntry], fit: StoredFit) -> dict[int, str]:
    labels = {seat.id: seat.label for seat in seats}
    notes: dict[int, list[str]] = {}
    for seat in seats:
        if group := fit.group(seat.id):
            notes.setdefault(seat.id, []).append(f"group {group}")
        if seat.id in fit.anchors:
            notes.setdefault(seat.id, []).append("anchor")
        if seat.suspended:
            notes.setdefault(seat.id, []).append(f"suspended: {seat.suspended}")
        elif not seat.active:
            notes.setdefault(seat.id, []).append("withdrawn")
    for drift in fit.drifts:
        text = f"drifts from its anchor {labels.get(drift.anchor, '?')} by {drift.elo:+.0f} ± {half(drift.se, 0)} Elo"
        notes.setdefault(drift.twin, []).append(text)
    return {version: "; ".join(texts) for version, texts in notes.items()}


TIES = {"davidson": "ν", "rao-kupper": "δ"}  # what a model calls its parameter of ties


@dataclass(frozen=True, slots=True)
class Standings:
    """The standings of a pool. If nothing can be rated, `fit` is None and `places` are empty."""

    pool: PoolRow
    seats: list[PoolEntry]
    fit: StoredFit | None
    places: list[RankedPlace]
    repeated: int = 0  # games that repeat others and do not count in ratings
    provisional: tuple[str, ...] = ()  # labels of versions with too few games for an Elo

    @property
    def labels(self) -> dict[int, str]:
        """Labels of all versions, by id."""
        return {seat.id: seat.label for seat in self.seats}

    def versions(self, name: str) -> list[PoolEntry]:
        """Return all versions of the bot NAME or NAME@VERSION, oldest first."""
        return [seat for seat in self.seats if seat.name == name.partition("@")[0]]

    def zero(self, here: bool = True) -> str:
        """Return the line that explains zero and ±, as zero_of does; "" without ratings."""
        return zero_of(self.seats, self.fit, self.places, here) if self.fit else ""

    @property
    def repeats(self) -> str:
        """A line about games that repeat others, or ""."""
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
            fit = make_fit(ratings, pool.id, games, seats, everyone) if ratings else None
        except RatedLater:
            if fit is None:
                raise
    repeats = store.repeats(pool.id)
    repeated = sum(sum(counts) for _, _, *counts in repeats)
    shown = places(seats, scored, fit, everyone) if fit else []
    return Standings(pool, seats, fit, shown, repeated, _provisional(shown, repeats))


def _provisional(shown: Sequence[RankedPlace], repeats: Iterable[tuple[int, int, int, int, int]]) -> tuple[str, ...]:
    """Return the labels of the versions whose games, without those that repeat others, are too few for an Elo."""
    counts = {p.seat.id: Counter(wins=p.score.wins, ties=p.score.ties, losses=p.score.losses) for p in shown}
    for first, second, wins, ties, losses in repeats:
        for version, won, lost in ((first, wins, losses), (second, losses, wins)):
            if version in counts:
                counts[version].subtract({"wins": won, "ties": ties, "losses": lost})
    rated = [place.seat for place in shown if place.row.se]  # an anchor's Elo is given
    return tuple(seat.label for seat in rated if not are_enough(counts[seat.id].values()))


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
    fit, labels = found.fit, found.labels
    misfits = [
        {**plain(pair), "first": labels[pair.first], "second": labels[pair.second], "games": int(pair.games)}
        for pair in (fit.misfits if fit else ())
    ]
    return {
        "ratings": [_place_json(place, fit.group(place.seat.id) if fit else 0) for place in found.places],
        "advantage": fit and fit.advantage,
        "model": fit and fit.model,
        "advantage_se": fit and fit.advantage_se,
        "tie": fit and fit.tie,
        "anchors": [labels[version] for version in fit.anchors] if fit else [],
        "zero": zero(held(found.seats, fit), grouped=len(_shown_groups(fit, found.places)) > 1) if fit else None,
        "deviance": fit and fit.deviance,
        "degrees_of_freedom": fit and fit.freedom,
        "misfits": misfits,
        "games": found.pool.games,
        "repeated": found.repeated,
        "game": found.pool.game,
        "options": found.pool.options,
        "time": found.pool.control,
    }


def _place_json(place: RankedPlace, group: int) -> dict[str, Any]:
    """Return a place for JSON. `se` is the error of `elo`, null for an anchor, which is held."""
    row, score, seat = place.row, place.score, place.seat
    return {
        "name": seat.label,
        "elo": row.elo,
        "se": row.se or None,
        "games": score.games,
        "score": score.points,
        "next": None if row.next_elo is None else {"elo": row.next_elo, "se": row.next_se, "los": row.next_los},
        **{name: value for name, value in plain(score).items() if name != "void"},
        "bot": seat.name,
        "version": seat.version,
        "active": seat.active,
        "suspended": seat.suspended,
        "note": place.note,
        "group": group,
    }


def plain(value: object) -> dict[str, Any]:
    """Return the fields of a value for JSON, without its id in the store."""
    fields: dict[str, Any] = msgspec.to_builtins(value)
    fields.pop("id", None)
    return fields
