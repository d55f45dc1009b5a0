"""Rated matchmaking among the idle bots of each pool, and the registration of bots in the store.

The choice of pairs runs in the store's thread. Unlike a ladder's schedule it waits for no bot: it pairs connected bots,
each at most once, and never two bots of one owner.
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from random import Random
from time import monotonic, thread_time

import numpy as np

from ggp.referee.ladder.pairing import Field, PairCounts, draw_batch, random_for
from ggp.referee.ladder.progress import PoolTurns
from ggp.referee.ladder.rating import ResultsTable, elo_and_error, rate_tally
from ggp.referee.ladder.store.model import (
    GAMES,
    Entrant,
    FormatKind,
    Ladder,
    Pair,
    Pairing,
    PairResult,
    Pool,
    PoolEntry,
    StoreError,
)
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.ratings.bradley_terry import CountsError, Floats, Ints
from ggp.referee.ratings.ratings import Ratings
from ggp.referee.server.lobby.game import RunningPairs
from ggp.referee.server.lobby.limits import Frequency
from ggp.referee.server.lobby.open_pairs import OpenPairs, StoreWriter
from ggp.referee.server.lobby.remote_bot import DIALLED, ConnectedBot

OFTEN = 12  # pairs of the same two owners an hour, while others are connected
_MUCH = 10**6  # pairs that are added to the count of two owners at that limit
AT_ONCE = 64  # bots that are paired at a time, so that the choice takes no more than milliseconds
_FRESH = 10.0  # seconds for which ratings are good enough to pair by, or
_RARELY, _LATEST = 200, 300.0  # so many times as long as they took, so long at most: moves wait meanwhile
_MANY = 500  # entries of a pool above which those are rated that have played, not all that may play


class Matchmaker(OpenPairs):
    """The open pairs of a rated pool, and the choice of new ones."""

    def __init__(self, ladder: Ladder, pool: Pool, row: int, store: Store, front: str = "") -> None:
        super().__init__(pool, row, store, front)
        self._ladder = ladder
        self._batch: int
        self._tally: ResultsTable
        self._met: PairCounts
        self._read_past()
        self._frequency = Frequency(OFTEN)
        self._ratings: Ratings | None = None
        self._rated = set[int]()  # whose the ratings are
        self._pause = self._until = 0.0  # until when they are used though one bot is not among them, and at all

    def fix(self, result: PairResult) -> None:
        self._tally.add(result.meetings)

    def pair(self, present: Mapping[int, str], most: int = AT_ONCE) -> list[Pair]:
        """Make new pairs and store them. Raises StoreError.

        Args:
            present: The owner of each version that may be paired.
            most: The most pairs to make.
        """
        chance = random_for(self._ladder.seed, self.pool.key, self._batch)
        some = chance.sample(sorted(present), min(AT_ONCE, len(present)))
        pairings = self._draw({id: present[id] for id in sorted(some)}, most, chance)
        if not pairings:
            return []
        pairs = self._store.issue(self.row, None if self.front else self._batch, pairings, self.front)
        self._batch = pairs[0].batch + 1
        for pair in pairs:
            self._met.add(pair.first, pair.second)
        return pairs

    def _draw(self, present: Mapping[int, str], most: int, chance: Random) -> list[Pairing]:
        if len(set(present.values())) < 2:
            return []
        ids = list(present)
        ratings = self._rate(ids)
        if ratings is None:
            return []
        by_id = {seat.id: seat for seat in self.seats.values()}
        # "Never one version against itself" is the rule of the draw that here keeps bots of one owner apart.
        seats = [replace(by_id[id], version=owner) for id, owner in present.items()]
        elo, error = self._elo_and_error(ratings, ids)
        met, issued = self._met.table(ids)
        met = self._with_often(met, list(present.values()))
        field = Field(seats, elo, error, self._tally.totals(ids)[0] // GAMES, issued, met)
        drawn, taken = [], set[int]()
        for one in draw_batch(field, min(most, len(ids) // 2), 0.0, chance):
            if not {one.first, one.second} & taken:  # with few owners a bot may be drawn twice
                drawn.append(one)
                self._frequency.add(present[one.first], present[one.second], monotonic())
                taken |= {one.first, one.second}
        return drawn

    def _with_often(self, met: Ints, owners: Sequence[str]) -> Ints:
        """Raise the number of pairs that two have played if their owners are at the limit, to prefer others."""
        for one, other in self._frequency.often(monotonic()):
            places = [[place for place, owner in enumerate(owners) if owner == two] for two in (one, other)]
            if all(places):
                met = met.copy()
                met[np.ix_(*places)] += _MUCH
                met[np.ix_(*places[::-1])] += _MUCH
        return met

    def _rate(self, ids: Sequence[int]) -> Ratings | None:
        """Return recent ratings. If they take long to compute, some of these bots may be missing."""
        now = monotonic()
        if self._ratings is None or now > self._until or (now > self._pause and not self._rated.issuperset(ids)):
            began = thread_time()
            if self.front:  # with what other fronts have played
                self._read_past()
            all_here = len(self.seats) <= _MANY
            rated_ids = [seat.id for seat in self.seats.values() if (all_here and seat.active) or seat.id in ids]
            try:
                self._ratings = rate_tally(
                    self._tally, list(self.seats.values()), rated_ids, self._ladder.model, self._ratings
                )
            except CountsError:  # fewer than two
                return None
            pause = min((thread_time() - began) * _RARELY, _LATEST)
            self._pause, self._until = now + pause, now + max(_FRESH, pause)
            self._rated = {int(name) for name in self._ratings.counts.names}
        return self._ratings

    def _elo_and_error(self, ratings: Ratings, ids: Sequence[int]) -> tuple[Floats, Floats]:
        """Return ratings and standard errors. A bot that is not rated yet counts as average, with the largest error."""
        here = [id for id in ids if id in self._rated]
        elo, error = elo_and_error(ratings, here)
        if len(here) == len(ids):
            return elo, error
        all_elo, all_errors = ratings.scale()
        places = np.searchsorted(np.array(here, dtype=np.int64), ids)
        known = np.array([id in self._rated for id in ids])
        places = np.where(known, places, 0)
        fill = np.append(elo, 0.0), np.append(error, 0.0)  # so that there is something to choose from
        return (
            np.where(known, fill[0][places], all_elo.mean()),
            np.where(known, fill[1][places], all_errors.max()),
        )

    def _read_past(self) -> None:
        past = self._store.past(self.row, FormatKind.LADDER)
        self._batch = past.batches
        self._tally, self._met = ResultsTable(past.settled), PairCounts(past.met)
        for _, result in past.recent:
            if result is not None:
                self._tally.add(result.meetings)


# -- rated games -------------------------------------------------------------------------------------------------------


class Rated:
    """Starts rated pairs among the idle bots of every pool.

    Pools take turns by their weights: a bot that plays in several pools is given to the pool whose turn it is among
    those that have an opponent for it. Each run begins with the first turn.
    """

    def __init__(self, makers: Sequence[Matchmaker], running: RunningPairs, writer: StoreWriter) -> None:
        self.makers = makers
        self._running, self._writer = running, writer
        self._turns = PoolTurns({maker.row: maker.pool.weight for maker in makers}, {})

    def has_opponent(self, bot: ConnectedBot) -> bool:
        """Return True if a possible rated opponent is connected, idle or not."""
        return any(
            other.identity.owner != bot.identity.owner and _seat(maker, other) is not None
            for maker in self.makers
            if _seat(maker, bot) is not None
            for other in self._running.bots()
        )

    async def pair_idle(self, held: Collection[ConnectedBot] = ()) -> None:
        """Start rated pairs of all idle bots that are not `held`. Raises StoreError."""
        left = {maker.row: maker for maker in self.makers}
        exchanged = set[int]()
        while left and self._running.room_left():
            row = next(row for row in self._turns.order() if row in left)
            maker = left[row]
            if maker.front and row not in exchanged:
                exchanged.add(row)
                await self._exchange(maker, self._present(maker, held))
            share = maker.pool.weight / math.fsum(one.pool.weight for one in left.values())
            if not await self._pair_in(maker, share, held):
                del left[row]

    async def _pair_in(self, maker: Matchmaker, share: float, held: Collection[ConnectedBot]) -> bool:
        """Start open pairs of one pool and new ones. Return True if any was started. Raises StoreError.

        Args:
            share: The part of the idle bots that new pairs may take, so that some are left for the other pools. One
                pair is always allowed.
        """
        present = self._present(maker, held)
        started = self._start_open(maker, present)
        if len(present) < 2 or not self._running.room_left():
            return started
        owners = {id: bot.identity.owner for id, bot in present.items()}
        most = max(1, math.ceil(len(present) // 2 * share))
        made = await self._writer.work(lambda: maker.pair(owners, most))
        maker.open |= {pair.id: pair for pair in made}
        if len(set(owners.values())) > 1:
            for bot in present.values():  # a rated game was offered: it may be challenged again
                bot.challenged = False
        return self._start_open(maker, self._present(maker, held)) or started

    def _start_open(self, maker: Matchmaker, present: dict[int, ConnectedBot]) -> bool:
        """Start the open pairs of bots that are present, and remove these bots. Return True if any was started."""
        ready = [pair for pair in maker.open.values() if {pair.first, pair.second} <= present.keys()]
        started = False
        for pair in ready:
            if {pair.first, pair.second} <= present.keys() and self._running.room_left():
                self._running.start(maker, pair, (present.pop(pair.first), present.pop(pair.second)))
                self._turns.add(maker.row)
                started = True
        return started

    async def _exchange(self, maker: Matchmaker, present: Mapping[int, ConnectedBot]) -> None:
        """Give back open pairs whose bots are not here, and claim those whose bots are. Raises StoreError."""
        back = [pair.id for pair in maker.open.values() if not {pair.first, pair.second} <= present.keys()]
        if not back and len(present) < 2:
            return
        busy = set(maker.taken)  # what is found may be played to its end meanwhile
        found = await self._writer.work(lambda: maker.exchange(back, list(present)))
        for id in back:
            maker.open.pop(id, None)
        new = {pair.id: pair for pair in found if pair.id not in busy and pair.id not in maker.open}
        maker.open |= new

    def _present(self, maker: Matchmaker, held: Collection[ConnectedBot]) -> dict[int, ConnectedBot]:
        """Return the idle bots that can play in a pool, by version."""
        idle = (bot for bot in self._running.idle() if bot not in held)
        return {seat.id: bot for bot in idle if (seat := _seat(maker, bot)) is not None}


def _seat(maker: Matchmaker, bot: ConnectedBot) -> PoolEntry | None:
    """Return the entry of a bot in a pool, if it may play there."""
    seat = maker.seats.get((bot.name, bot.version))
    return seat if seat is not None and seat.active and bot.plays(maker.pool.setting.game) else None


# -- registration of bots ---------------------------------------------------------------------------------------------


VERSIONS = 20  # of one bot that are entered in an hour: each stays in the store
_HOUR = 3600.0  # seconds


class Registration:
    """Enters bots into the store. Call `load` before the store's thread runs, then `enrol` in each round."""

    def __init__(self, ladder: Ladder, store: Store, writer: StoreWriter) -> None:
        self.departed: set[str] | None = None  # bots that were here and may have changed at another front, if any
        self._ladder, self._store, self._writer = ladder, store, writer
        self._known: dict[str, Entrant] = {}
        self._changes: dict[str, deque[float]] = {}  # of each bot, the last ones in this run

    def load(self, alone: bool = True) -> dict[str, int]:
        """Enter the pools and the local bots, and return the rows of the pools by name. Other bots stay entered.

        Args:
            alone: No other front of the lobby runs.

        Raises:
            StoreError: The store cannot be read or written.
        """
        local = {bot.name: bot for bot in self._ladder.bots}
        if not alone:
            self._known = local
            return self._store.enrol(self._ladder, more=True)
        keys = {pool.key: pool.name for pool in self._ladder.pools}
        pools: dict[tuple[str, str], list[str]] = {}
        for row in self._store.pools(unrated=True):
            for seat in self._store.seats(row.id):
                if seat.entered and row.key in keys:
                    pools.setdefault((seat.name, seat.version), []).append(keys[row.key])
        for (name, version), theirs in pools.items():
            self._known[name] = Entrant(name, BotSpec(name, DIALLED, version=version), tuple(theirs))
        rows = self._store.enrol(self._with(self._known | local))
        self._known = self._known | local if self.departed is None else local  # what another front enters is not known
        return rows

    async def enrol(self, bots: Sequence[ConnectedBot], then: Callable[[], None], now: float) -> list[ConnectedBot]:
        """Enter new bots and new versions of known ones, and call `then` in the store's thread.

        Returns:
            The bots that changed their version too often. They are not entered.

        Raises:
            StoreError: Nothing was entered.
        """
        departed = self.departed or set[str]()
        other = [bot for bot in bots if self._known.get(bot.name) != bot.entry(self._ladder.pools)]
        restless = [bot for bot in other if self._too_often(bot.name, now)]
        changed = [*other, *(bot for bot in bots if bot.name in departed and bot not in other)] if departed else other
        new = {bot.name: bot.entry(self._ladder.pools) for bot in changed if bot not in restless}
        if not new:
            return restless
        known_then = {**self._known, **new}
        ladder = self._with(known_then if self.departed is None else new)

        def enrol() -> None:
            self._store.enrol(ladder, more=self.departed is not None)
            then()

        back = departed & new.keys()
        departed -= back
        try:
            await self._writer.work(enrol)
        except StoreError:
            departed |= back
            raise
        self._known = known_then
        return restless

    def _too_often(self, name: str, now: float) -> bool:
        if name not in self._known:
            return False
        times = self._changes.setdefault(name, deque(maxlen=VERSIONS))
        if len(times) == VERSIONS and times[0] > now - _HOUR:
            return True
        times.append(now)
        return False

    def _with(self, known: dict[str, Entrant]) -> Ladder:
        return replace(self._ladder, bots=tuple(known.values()))
