"""Rates the versions of a pool from what they played: parents and anchors as the ladder's rules have them.

The mathematics is in referee.ratings; here versions become names and back. It decides no pairing.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from referee.ladder.pairs import Meeting, Seat
from referee.ladder.tally import Tally
from referee.ratings.counts import Floats
from referee.ratings.outcome_models import MODELS
from referee.ratings.priors import Priors
from referee.ratings.ratings import Ratings, Standing, rate


def rate_seats(
    meetings: Iterable[Meeting], seats: Sequence[Seat], model: str = "davidson", start: Ratings | None = None
) -> Ratings:
    """Ratings under the names str(version id): of every version that has a game or is active. A forfeit is a loss.

    `start`: earlier ratings to begin from, of use if the same versions were rated. CountsError for fewer than two.
    """
    return rate_tally(Tally(list(meetings)), seats, [seat.id for seat in seats if seat.active], model, start)


def rate_tally(
    tally: Tally, seats: Sequence[Seat], here: Sequence[int], model: str = "davidson", start: Ratings | None = None
) -> Ratings:
    """The same of meetings that were counted before, for those with a game and those `here`, by id."""
    ids = np.union1d(tally.ids(), np.array(here, dtype=np.int64))
    present = set(ids.tolist())
    anchors = {str(seat.id): seat.anchor for seat in seats if seat.anchor is not None and seat.id in present}
    priors = Priors(parents=parents_of(seats, present), anchors=anchors)
    return rate(tally.counts(ids), MODELS[model], priors, start=start)


def parents_of(seats: Sequence[Seat], present: set[int]) -> Mapping[str, str]:
    """Of every version its nearest forebear that is rated too, by name. A circle of parents is cut open."""
    direct = {seat.id: seat.parent for seat in seats if seat.parent is not None}
    parents: dict[str, str] = {}
    for child in sorted(present):
        parent, seen = direct.get(child), {child}
        while parent is not None and parent not in present and parent not in seen:
            seen.add(parent)
            parent = direct.get(parent)
        if parent is not None and parent in present and not _descends(parents, str(parent), str(child)):
            parents[str(child)] = str(parent)
    return parents


def by_id(ratings: Ratings) -> dict[int, Standing]:
    """Every version's standing, best first."""
    return {int(standing.name): standing for standing in ratings.standings()}


def elo_and_error(ratings: Ratings, ids: Sequence[int]) -> tuple[Floats, Floats]:
    """Ratings and standard errors of these versions as they are printed, Elo. All must be rated."""
    elo, errors = ratings.scale()
    index = {name: number for number, name in enumerate(ratings.counts.names)}
    places = [index[str(id)] for id in ids]
    return elo[places], errors[places]


def _descends(parents: Mapping[str, str], name: str, forebear: str) -> bool:
    while name in parents:
        if name == forebear:
            return True
        name = parents[name]
    return name == forebear
