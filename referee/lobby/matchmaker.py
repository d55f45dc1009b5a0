"""Whom to pair of those who are here and idle, in one pool: the ladder's choice, of whatever tells most.

Runs in the ledger's thread. It differs from a ladder's schedule in that nobody is waited for: a pairing is made of who
is there, each at most once, and bots of one owner do not meet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from time import monotonic, thread_time

import numpy as np

from referee.ladder.encounters import Encounters
from referee.ladder.entries import Kind, Ladder, Pool
from referee.ladder.pairing import Field, draw_batch, random_for
from referee.ladder.pairs import GAMES, Pair, Pairing, PairResult
from referee.ladder.rating import elo_and_error, rate_tally
from referee.ladder.tally import Tally
from referee.lobby.fixtures import Fixtures
from referee.lobby.frequency import Frequency
from referee.ratings.counts import CountsError, Ints
from referee.ratings.ratings import Ratings
from referee.store.store import Store

OFTEN = 12  # pairs of the same two owners an hour, as long as others are there
_MUCH = 10**6  # as if they had met so often
AT_ONCE = 64  # bots that are paired at a time, so that the choice takes no more than milliseconds
_FRESH = 10.0  # seconds for which ratings are good enough to pair by, or
_RARELY, _LATEST = 200, 300.0  # times as long as it took to make them, but no longer: moves wait meanwhile


class Matchmaker(Fixtures):
    """See Fixtures."""

    def __init__(self, ladder: Ladder, pool: Pool, row: int, store: Store) -> None:
        super().__init__(pool, row, store)
        self._ladder = ladder
        past = store.past(row, Kind.LADDER)
        self._batch = past.batches
        self._tally = Tally(past.settled)
        self._met = Encounters(past.met)
        for _, result in past.recent:
            if result is not None:
                self._tally.add(result.meetings)
        self._frequency = Frequency(OFTEN)
        self._ratings: Ratings | None = None
        self._rated: tuple[float, Sequence[int]] = (0.0, ())  # until when who is

    def fix(self, result: PairResult) -> None:
        self._tally.add(result.meetings)

    def pair(self, present: Mapping[int, str]) -> list[Pair]:
        """New pairs of these versions (whose owners are the values), durable. Raises StoreError."""
        chance = random_for(self._ladder.seed, self.pool.key, self._batch)
        some = chance.sample(sorted(present), min(AT_ONCE, len(present)))
        pairings = self._draw({id: present[id] for id in sorted(some)}, chance)
        if not pairings:
            return []
        pairs = self._store.issue(self.row, self._batch, pairings)
        self._batch += 1
        for pair in pairs:
            self._met.add(pair.first, pair.second)
        return pairs

    def _draw(self, present: Mapping[int, str], chance: Random) -> list[Pairing]:
        if len(set(present.values())) < 2:
            return []
        ids = list(present)
        ratings = self._rate(ids)
        if ratings is None:
            return []
        by_id = {seat.id: seat for seat in self.seats.values()}
        # "Never one version against itself" is how the draw says whom somebody cannot meet: here, his owner's bots.
        seats = [replace(by_id[id], version=owner) for id, owner in present.items()]
        elo, error = elo_and_error(ratings, ids)
        met, issued = self._met.table(ids)
        met = self._with_often(met, list(present.values()))
        field = Field(seats, elo, error, self._tally.totals(ids)[0] // GAMES, issued, met)
        drawn, taken = [], set[int]()
        for one in draw_batch(field, len(ids) // 2, 0.0, chance):
            if not {one.first, one.second} & taken:  # where owners are few somebody is drawn twice
                drawn.append(one)
                self._frequency.add(present[one.first], present[one.second], monotonic())
                taken |= {one.first, one.second}
        return drawn

    def _with_often(self, met: Ints, owners: Sequence[str]) -> Ints:
        """How often any two have met, and a cap on how often their owners do: whoever has met too often meets others,
        if there are others."""
        for one, other in self._frequency.often(monotonic()):
            places = [[place for place, owner in enumerate(owners) if owner == two] for two in (one, other)]
            if all(places):
                met = met.copy()
                met[np.ix_(*places)] += _MUCH
                met[np.ix_(*places[::-1])] += _MUCH
        return met

    def _rate(self, ids: Sequence[int]) -> Ratings | None:
        """Good enough ratings of these."""
        until, rated = self._rated
        if self._ratings is None or monotonic() > until or not set(ids) <= set(rated):
            began = thread_time()
            everybody = [seat.id for seat in self.seats.values() if seat.active or seat.id in ids]
            try:
                self._ratings = rate_tally(
                    self._tally, list(self.seats.values()), everybody, self._ladder.model, self._ratings
                )
            except CountsError:  # fewer than two
                return None
            self._rated = monotonic() + max(_FRESH, min((thread_time() - began) * _RARELY, _LATEST)), everybody
        return self._ratings
