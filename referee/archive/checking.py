"""Verifies many records at a time, each on an engine process of its own (or two), in the order they come in.

Threads, because each waits for its engines nearly all the time; results come in the order of the records.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import click

from protocol.drawing.scene import clean
from protocol.records import Record
from protocol.transports.blocking import run_blocking
from referee.archive.reading import started
from referee.archive.replay import OTHER, Deviation, verify
from referee.config import Budgets
from referee.play.engine import Engine
from referee.play.outcome import EngineFailed
from referee.play.seating import Start

_WAITING = 4  # records a job that are read ahead
_WORTH = 8  # matches for which one engine more is worth its start
_MOST_FAILURES = 10  # after which an engine is not started again


class Checked(NamedTuple):
    """A match of a file, and where it came out otherwise."""

    file: str
    match: str
    deviation: Deviation | None


class Checker:
    """Owns the engines. `for checked in checker.all(records)`, then close()."""

    def __init__(self, ours: Start, other: Start | None, jobs: int, deep: bool, budgets: Budgets | None = None) -> None:
        self._ours, self._other, self._jobs, self._deep = ours, other, jobs, deep
        self._budgets = budgets or Budgets()
        self._desks: list[_Desk] = []
        self._free: SimpleQueue[_Desk] = SimpleQueue()
        self._threads = ThreadPoolExecutor(jobs)
        try:
            self._add_desk()  # what does not start at all is said at once
        except BaseException:
            self.close()
            raise

    def all(self, records: Iterable[tuple[str, Record]]) -> Iterator[Checked]:
        """Raises ClickException when an engine fails again and again."""
        pending: deque[Future[Checked]] = deque()
        for number, (file, record) in enumerate(records, 1):
            if len(self._desks) < min(self._jobs, 1 + number // _WORTH):
                self._add_desk()  # here, in the thread that outlives them all
            pending.append(self._threads.submit(self._check, file, record))
            if len(pending) >= _WAITING * self._jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def close(self) -> None:
        """Wait for the matches under way, drop the others, end every engine."""
        self._threads.shutdown(cancel_futures=True)
        for desk in self._desks:
            run_blocking(desk.close())

    def _add_desk(self) -> None:
        desk = _Desk(self._ours, self._other, self._budgets)
        self._desks.append(desk)
        run_blocking(desk.open())
        self._free.put(desk)

    def _check(self, file: str, record: Record) -> Checked:
        desk = self._free.get()
        try:
            return Checked(file, record.start.match, run_blocking(desk.check(record, self._deep)))
        finally:
            self._free.put(desk)


class _Desk:
    """Our engine and the other one, started anew when they fail."""

    def __init__(self, ours: Start, other: Start | None, budgets: Budgets) -> None:
        self._starts = {"engine": ours, **({OTHER: other} if other else {})}
        self._budgets = budgets
        self._engines: dict[str, Engine] = {}
        self._failures = 0

    async def open(self) -> None:
        for who, start in self._starts.items():
            if who not in self._engines:
                self._engines[who] = await started(start, self._budgets)

    async def check(self, record: Record, deep: bool) -> Deviation | None:
        """On our engine and the other; a game that ours does not know, on the other alone."""
        await self.open()
        ours, other = self._engines["engine"], self._engines.get(OTHER)
        try:
            known = record.start.game in await ours.games()
        except EngineFailed as failure:
            found: Deviation | None = Deviation("engine", clean(str(failure)), 0, failed=True)
        else:
            if known:
                found = await verify(record, ours, other, deep)
            elif other is None:
                said = f"our engine knows no game {clean(record.start.game)}: name one that does with --engine"
                found = Deviation("engine", said, 0)
            else:
                found = await verify(record, other, None, deep)
                found = found and found._replace(who=OTHER if found.who == "engine" else found.who)
        if found and found.failed:
            await self._drop(found)
        return found

    async def _drop(self, found: Deviation) -> None:
        """The engine that failed is ended; the next match gets a new one."""
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            raise click.ClickException(f"given up after {self._failures} failures: {found.what}")
        await self._engines.pop(found.who).peer.stop(kill=True)

    async def close(self) -> None:
        for engine in self._engines.values():
            await engine.peer.stop()
        self._engines.clear()
