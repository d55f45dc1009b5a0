"""Pairs of a ladder as work for the workers, and their results until the store has committed them."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import cache

from ggp.protocol.entry_points import version
from ggp.protocol.records import Record
from ggp.referee.ladder.store.model import (
    GAMES,
    FinishedGame,
    Ladder,
    Pair,
    PairResult,
    Pool,
    StoreError,
    UnplayablePair,
)
from ggp.referee.ladder.store.schema import NO_CULPRIT
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.process import NO_LIMITS, ProcessLimits
from ggp.referee.match.series import SeriesConfig
from ggp.referee.match.setting import Timeouts
from ggp.referee.match.worker import REFEREE, Batch, BatchResult, mark

# -- Pairs of a ladder as work for a pool of workers, and their results as rows for the store.


class PairsUnderWay:
    """The pairs that workers have, by the name that begins the keys of their games. Results of others are dropped."""

    def __init__(self, series: str, extras: ProcessLimits = NO_LIMITS) -> None:
        self._series, self._extras = series, extras
        self._pairs: dict[str, tuple[Pair, Mapping[str, int], float]] = {}
        self._ids: set[int] = set()
        self.left: dict[str, Record] = {}  # what workers that were killed left, by key

    def __len__(self) -> int:
        return len(self._pairs)

    def __contains__(self, pair: Pair) -> bool:
        return pair.id in self._ids

    def begin(self, pair: Pair, pool: Pool, starts: Mapping[int, BotSpec], budgets: Timeouts) -> Batch:
        """Return the games of a pair that are still to be played; `starts` says how each version is started."""
        setup = make_setup(self._series, pair, pool, starts, budgets, self._extras)
        self._pairs[setup.name] = pair, {starts[bot].name: bot for bot in (pair.first, pair.second)}, time.monotonic()
        self._ids.add(pair.id)
        games = tuple(game for game in range(GAMES) if game not in pair.played)
        begun = tuple(self.left.pop(key) for key in list(self.left) if setup.number(key) in games)
        return Batch(setup, games, tuple(pair.tried[game] for game in games), begun)

    def end(self, chunk: BatchResult) -> tuple[list[FinishedGame], list[UnplayablePair]]:
        """Take back the pairs of a chunk, finished or not. Return what the store is to keep of them."""
        finished = []
        for result in chunk.played:
            series = result.key.rpartition("-")[0]
            if series in self._pairs:
                finished.append(FinishedGame(self._pairs[series][0], result))
        unplayable = []
        for refused in chunk.refused:
            if refused.series in self._pairs:
                pair, ids, _ = self._pairs[refused.series]
                who = NO_CULPRIT if refused.who == REFEREE else ids.get(refused.who)
                unplayable.append(UnplayablePair(pair, who, refused.reason))
        for series in chunk.given:
            if series in self._pairs:
                self._ids.discard(self._pairs.pop(series)[0].id)
        return finished, unplayable

    def pool_of(self, series: str) -> int | None:
        """Return the store's id of the pool of this series, None if the series is not under way."""
        return self._pairs[series][0].pool if series in self._pairs else None

    def playing(self, matches: Mapping[int, float]) -> list[tuple[Pair, float]]:
        """Return the pairs with a match among these marks, and since when it is being played; oldest first."""
        found: list[tuple[Pair, float]] = []
        for name, (pair, _, _) in self._pairs.items():
            if len(found) == len(matches):
                break
            marks = (mark(f"{name}-{game + 1}") for game in range(GAMES))
            found += [(pair, matches[here]) for here in marks if here in matches]
        return found

    def pairs(self) -> list[tuple[Pair, float]]:
        """Return all pairs, and when they were given out (CLOCK_MONOTONIC)."""
        return [(pair, since) for pair, _, since in self._pairs.values()]

    def named(self) -> list[tuple[str, Pair, float]]:
        """Return the same with the name that begins the keys of a pair's games."""
        return [(name, pair, since) for name, (pair, _, since) in self._pairs.items()]

    def clear(self) -> None:
        """Forget all pairs: the workers are gone."""
        self._pairs.clear()
        self._ids.clear()


def series_of(ladder: Ladder) -> str:
    """Return eight hex digits that begin the keys of all games of a ladder; they follow from its name and seed."""
    return hashlib.sha256(f"{ladder.name}\n{ladder.seed}".encode()).hexdigest()[:8]


def pair_name(series: str, pool: Pool, number: int) -> str:
    """Return what begins the keys of a pair's games."""
    return f"{series}-{pool.key[:8]}-{number}"


def pool_in(key: str) -> str:
    """Return the beginning of the pool's key in the key of a match with a pair_name; "" in any other."""
    return [*["", "", ""], *key.split("-")][-3]


def make_setup(
    series: str,
    pair: Pair,
    pool: Pool,
    starts: Mapping[int, BotSpec],
    budgets: Timeouts,
    extras: ProcessLimits = NO_LIMITS,
) -> SeriesConfig:
    """Return the pair as a series of two matches. All random draws follow from its name."""
    name = pair_name(series, pool, pair.number)
    return SeriesConfig(
        setting=pool.setting,
        engine=pool.engine,
        bots=(starts[pair.first], starts[pair.second]),
        games=GAMES,
        max_plies=pool.max_plies,
        margin=pool.margin,
        seed=int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1,
        openings=pool.openings,
        budgets=budgets,
        restart=False,
        extras=extras,
        pin=True,
        record="",
        referee=_referee(),
        name=name,
        seeded=True,
        rules=pool.rules,
        judge=pool.judge,
    )


@cache
def _referee() -> str:
    return f"general-game-protocol {version('general-game-protocol')}"


# -- Games that are played and not yet durable: they wait for others (group commit), or for room on the disk.


_AGAIN = 1.0  # seconds between attempts while the store takes nothing


class CommitBuffer:
    """The games and pairs that the store is to take. Nothing is dropped before it has."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._finished: list[FinishedGame] = []
        self._unplayable: list[UnplayablePair] = []
        self._oldest = 0.0
        self._failing = 0.0  # since when
        self._next = 0.0  # no attempt before

    def __bool__(self) -> bool:
        return bool(self._finished or self._unplayable)

    @property
    def finished(self) -> list[FinishedGame]:
        """Return the games that the store has not taken."""
        return self._finished

    @property
    def troubled(self) -> float:
        """Return the seconds since the store began to refuse; 0 if it does not."""
        return time.monotonic() - self._failing if self._failing else 0.0

    @property
    def resting(self) -> bool:
        """Return True for a moment after the store refused."""
        return time.monotonic() < self._next

    def add(self, finished: Sequence[FinishedGame], unplayable: Sequence[UnplayablePair]) -> None:
        """Keep these until the store takes them."""
        if not self:
            self._oldest = time.monotonic()
        self._finished += finished
        self._unplayable += unplayable

    def save(self, age: float, again: bool = False) -> list[PairResult]:
        """Commit everything if the oldest has waited for `age` seconds. Return the pairs that this completes.

        After a failure the store is asked again only now and then, or with `again`.

        Raises:
            StoreError: The store failed; everything waits.
        """
        now = time.monotonic()
        if not self or now - self._oldest < age or (self.resting and not again):
            return []
        try:
            results = self._store.add(self._finished, self._unplayable)
        except StoreError:
            self.refused()
            raise
        self._finished, self._unplayable = [], []
        self.accepted()
        return results

    def accepted(self) -> None:
        """Note that the store took something."""
        self._failing = self._next = 0.0

    def refused(self) -> None:
        """Note that the store took nothing; it is not asked for a while."""
        now = time.monotonic()
        self._failing = self._failing or now
        self._next = now + _AGAIN
