"""The store of a lobby, seen from the event loop: a thread does the work, and games are made durable together.

Nothing here blocks the loop; what the store refuses waits and is tried again.
"""

import asyncio
import contextlib
import os
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from referee.background import BackgroundTasks
from referee.ladder.pairs import Pair, PairResult
from referee.lobby.journal import Journal
from referee.play.series import Played
from referee.store.errors import StoreError
from referee.store.rows import Finished, Unplayable
from referee.store.store import Store

GATHER = 0.05  # seconds in which finished games wait for others, or
_RARELY, _LATEST = 50, 1.0  # times as long as it took to keep the last ones, but no longer: moves wait meanwhile
_NICE = 5  # more, of the thread that has the store: moves go first
_AGAIN = 1.0  # seconds until a store that refused is asked again
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Game:
    """A match that was played to its end: `record` as JSON lines."""

    pair: Pair
    game: int
    attempt: int
    facts: Played
    record: bytes


class Ledger:
    """`open` in the running loop, `close` before the store is."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store, self._journal = store, journal
        self._thread = ThreadPoolExecutor(1, "ledger", _give_way)
        self._waiting: list[tuple[Game | Unplayable, asyncio.Future[list[PairResult]]]] = []
        self._some = asyncio.Event()
        self._tasks = BackgroundTasks(journal.fault)
        self._took = 0.0  # seconds to keep the last games
        self._hurried = False

    def open(self) -> None:
        self._tasks.keep("store", self._keep_on)

    def hurry(self) -> None:
        """From now on what the store refuses is not tried again: `keep` raises what the store raised."""
        self._hurried = True

    async def close(self) -> None:
        """After what waits is kept, or given up after `hurry`."""
        while self._waiting:
            await asyncio.sleep(GATHER)
        await self._tasks.close()
        await self.work(lambda: None)
        self._thread.shutdown()

    async def work(self, job: Callable[[], T]) -> T:
        """Done by the thread that has the store. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    async def suspended(self, pool: int, version: int) -> str:
        """Why a version is suspended in a pool, "" if it is not. Raises StoreError."""
        seats = await self.work(lambda: self._store.seats(pool))
        return next((seat.suspended for seat in seats if seat.id == version), "")

    def add_now(self, game: Game) -> list[PairResult]:
        """Before the loop runs: as keep. Raises StoreError."""
        return self._add([game])

    async def keep(self, what: Game | Unplayable) -> list[PairResult]:
        """Returns when it is durable: the pairs that it finished."""
        kept: asyncio.Future[list[PairResult]] = asyncio.get_running_loop().create_future()
        self._waiting.append((what, kept))
        self._some.set()
        return await asyncio.shield(kept)

    async def _keep_on(self) -> None:
        while True:
            if not self._waiting:
                await self._some.wait()
            self._some.clear()
            await asyncio.sleep(max(GATHER, min(self._took * _RARELY, _LATEST)))
            batch = list(self._waiting)
            try:
                results = await self.work(lambda batch=batch: self._add([what for what, _ in batch]))  # type: ignore[misc]
            except StoreError as error:
                self._journal.tell("store", "refuses", reason=str(error))
                if self._hurried:
                    self._give_up(error)
                else:
                    await asyncio.sleep(_AGAIN)
                continue
            except Exception as error:
                if self._hurried:
                    self._give_up(error)
                raise
            del self._waiting[: len(batch)]
            for what, kept in batch:
                if not kept.done():
                    kept.set_result(
                        [one for one in results if (one.pool, one.number) == (what.pair.pool, what.pair.number)]
                    )

    def _give_up(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, []
        for _, kept in waiting:
            if not kept.done():
                kept.set_exception(error)

    def _add(self, batch: list[Game | Unplayable]) -> list[PairResult]:
        began = time.monotonic()
        games = [
            Finished(one.pair, one.game, one.facts.key, one.attempt, one.facts, zlib.compress(one.record, 1))
            for one in batch
            if isinstance(one, Game)
        ]
        results = self._store.add(games, [one for one in batch if isinstance(one, Unplayable)])
        self._took = time.monotonic() - began
        return results


def _give_way() -> None:
    """The calling thread runs while the loop has nothing to do: what it does can wait, a move cannot."""
    thread = threading.get_native_id()
    with contextlib.suppress(OSError):  # where a container forbids it, it works all the same
        os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICE)
