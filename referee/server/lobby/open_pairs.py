"""The open pairs of one pool, and the thread that reads and writes the store."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ggp.referee.ladder.store.model import (
    GAMES,
    FinishedGame,
    Pair,
    PairResult,
    Pool,
    PoolEntry,
    StoreError,
    StoreGone,
    UnplayablePair,
)
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.background_tasks import BackgroundTasks
from ggp.referee.server.lobby.log import EventLog

_AMONG = 2000  # versions that are looked at together for pairs of theirs


class OpenPairs:
    """The pairs of one pool that are not complete.

    In a lobby with several fronts they are those that this front has claimed in the store, and `open` has only those
    whose bots are here.

    Methods that read or write the store run in the store's thread, and raise StoreError.
    """

    def __init__(self, pool: Pool, row: int, store: Store, front: str = "") -> None:
        """Load the pairs of a pool, whose row in the store is `row`. `front`: the name of this front, if any."""
        self.pool, self.row, self.front = pool, row, front
        self.open: dict[int, Pair] = {}  # issued and not running, by id
        self.taken: dict[int, Pair] = {}  # running, or interrupted and waiting for their bots
        self.seats: dict[tuple[str, str], PoolEntry] = {}  # by name and version
        self._store = store
        self.load()
        self.enrolled()

    def load(self) -> None:
        """Read the open pairs again."""
        found = self._store.open_pairs(self.row, self.front)
        self.open = {pair.id: pair for pair in found if pair.id not in self.taken}

    def enrolled(self) -> None:
        """Read the entries again."""
        self.seats = {(seat.name, seat.version): seat for seat in self._store.seats(self.row)}

    def claim(self, pair: Pair) -> None:
        """Mark the pair as running."""
        self.open.pop(pair.id, None)
        self.taken[pair.id] = pair

    def release(self, pair: Pair, left: Pair | None) -> None:
        """Mark a pair as no longer running. `left` is what remains to be played of it."""
        self.taken.pop(pair.id, None)
        if left is not None:
            self.open[left.id] = left

    def fix(self, result: PairResult) -> None:
        """Take notice of a pair that is stored."""

    def still_open(self, pair: Pair) -> Pair | None:
        """Return the pair with its missing games, None if it is complete."""
        stored = self._store.open_pairs(self.row, among=(pair.first, pair.second))
        return next((one for one in stored if one.id == pair.id and len(one.played) < GAMES), None)

    # -- a lobby with several fronts ---------------------------------------------------------------------------------

    def reserve(self, pair: Pair) -> bool:
        """Claim a pair for this front. Return False if another front has it."""
        return not self.front or pair.id in self._store.claim(self.front, [pair.id])

    def exchange(self, back: Collection[int], present: Sequence[int]) -> list[Pair]:
        """Give pairs back for any front. Claim and return those between versions that are present."""
        if back:
            self._store.disclaim(self.front, back)
        found = {pair.id: pair for pair in self._store.open_pairs(self.row, self.front, present[:_AMONG])}
        mine = self._store.claim(self.front, list(found)) if found else ()
        return [found[id] for id in mine]

    def give_back(self) -> None:
        """Give back all pairs that are not taken. Call it at the start."""
        self.open.clear()
        self._store.disclaim(self.front, None, list(self.taken))

    def elsewhere(self, names: Collection[str]) -> set[str]:
        """Return those of the bots that are at another front."""
        return self._store.elsewhere(self.front, names) if self.front else set()


# -- the store's thread -----------------------------------------------------------------------------------------------


GATHER = 0.05  # seconds in which finished games wait for others, or
_RARELY, _LATEST = 50, 1.0  # so many times as long as the last ones took, so long at most: moves wait meanwhile
_NICE = 9  # more, of the thread, and less than of local bots: at 5 a move took twice as long while bots were rated
_AGAIN = 1.0  # seconds until a store that failed is tried again
_TRIES = 3  # failures of a game alone, by another error than the store's, after which it is given up
T = TypeVar("T")


class StoreWriter:
    """The thread that reads and writes the store. Open it in the running loop, and close it before the store."""

    def __init__(self, store: Store, event_log: EventLog, end: Callable[[], None] = lambda: None) -> None:
        """Store nothing before `open`. `end` is called to end the lobby when the store is lost."""
        self._store, self._event_log, self._end = store, event_log, end
        self.lost = ""  # how the store was lost, and where its games are
        self._thread = ThreadPoolExecutor(1, "writer", _give_way)
        self._waiting: list[tuple[FinishedGame | UnplayablePair, asyncio.Future[list[PairResult]]]] = []
        self._some = asyncio.Event()
        self._tasks = BackgroundTasks(event_log.fault)
        self._took = 0.0  # seconds to store the last games
        self._hurried = False
        self._alone = 0  # the first of the waiting that are stored one by one, because they failed together
        self._tries = 0  # times that the first of them failed alone

    def open(self) -> None:
        self._tasks.keep("store", self._store_batches)

    def hurry(self) -> None:
        """Retry no more after a StoreError: `store` raises it."""
        self._hurried = True

    async def close(self) -> None:
        """Close once the waiting games are stored, or given up after `hurry`."""
        while self._waiting:
            await asyncio.sleep(GATHER)
        await self._tasks.close()
        await self.work(lambda: None)
        self._thread.shutdown()

    async def work(self, job: Callable[[], T]) -> T:
        """Run a job in the store's thread, and return or raise what it does."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    async def suspended(self, pool: int, version: int) -> str:
        """Return why a version is suspended in a pool, "" if it is not. Raises StoreError."""
        seats = await self.work(lambda: self._store.seats(pool))
        return next((seat.suspended for seat in seats if seat.id == version), "")

    def add_now(self, game: FinishedGame) -> list[PairResult]:
        """Store a game as `store` does, before the loop runs. Raises StoreError."""
        return self._add([game])

    async def store(self, what: FinishedGame | UnplayablePair) -> list[PairResult]:
        """Store a game durably, and return the pairs that it finished. Raises an error of this game alone."""
        kept: asyncio.Future[list[PairResult]] = asyncio.get_running_loop().create_future()
        self._waiting.append((what, kept))
        self._some.set()
        return await asyncio.shield(kept)

    async def _store_batches(self) -> None:
        while True:
            if not self._waiting:
                await self._some.wait()
            self._some.clear()
            await asyncio.sleep(max(GATHER, min(self._took * _RARELY, _LATEST)))
            batch = self._waiting[: 1 if self._alone else None]
            try:
                results = await self.work(lambda batch=batch: self._add([what for what, _ in batch]))  # type: ignore[misc]
            except StoreGone as error:
                self.lose(error)
            except StoreError as error:
                self._event_log.log("store", "refuses", reason=str(error))
                if self._hurried:
                    self._give_up(len(self._waiting), error)
                else:
                    await asyncio.sleep(_AGAIN)
                continue
            except Exception as error:
                self._tries += 1
                if self._hurried:
                    self._give_up(len(self._waiting), error)
                elif not self._alone:
                    self._alone, self._tries = len(batch), 0
                elif self._tries == _TRIES:
                    self._give_up(1, error)
                raise
            for what, kept in self._take(len(batch)):
                if not kept.done():
                    kept.set_result(
                        [one for one in results if (one.pool, one.number) == (what.pair.pool, what.pair.number)]
                    )

    def lose(self, error: StoreGone) -> None:
        """Save elsewhere what a store held whose file is gone, with the games that wait, and end the lobby."""
        if not self.lost:
            games = [what for what, _ in self._waiting if isinstance(what, FinishedGame)]
            self.lost = "; ".join(filter(None, [str(error), self._store.rescue(games, gone=True)]))
            self._event_log.log("store", "gone", reason=self.lost)
            self._end()
        self._give_up(len(self._waiting), error)

    def _give_up(self, count: int, error: Exception) -> None:
        for _, kept in self._take(count):
            if not kept.done():
                kept.set_exception(error)

    def _take(self, count: int) -> list[tuple[FinishedGame | UnplayablePair, asyncio.Future[list[PairResult]]]]:
        """Remove and return the first `count` of the waiting."""
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._alone, self._tries = max(0, self._alone - count), 0
        return taken

    def _add(self, batch: list[FinishedGame | UnplayablePair]) -> list[PairResult]:
        began = time.monotonic()
        games = [one for one in batch if isinstance(one, FinishedGame)]
        results = self._store.add(games, [one for one in batch if isinstance(one, UnplayablePair)])
        self._took = time.monotonic() - began
        return results


def _give_way() -> None:
    """Lower the priority of the calling thread: stores can wait, moves cannot."""
    thread = threading.get_native_id()
    with contextlib.suppress(OSError):  # a container may forbid it
        os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICE)
