"""Verification of many records at a time, in order, each on its own engine processes."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import click

from ggp.protocol.records import Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.engine import Engine, start_engine
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.match.replay import ENGINE, OTHER, Deviation, verify
from ggp.referee.match.setting import Timeouts
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.archive.places import how_to_name_engine

_WAITING = 4  # records per job that are read ahead
_WORTH = 8  # matches that justify starting one more engine
_MOST_FAILURES = 10  # failures after which an engine is not restarted


class VerifiedMatch(NamedTuple):
    """A match of a file, and its deviation, if any."""

    file: str
    match: str
    deviation: Deviation | None


class Checker:
    """A verifier with its own engines. Iterate over `all(records)`, then call `close`.

    Args:
        ours: Our engine.
        other: A second engine that must agree, or None.
        jobs: Matches verified at a time.
        deep: Undo every ply, too.
        budgets: Time-outs of the engines.
    """

    def __init__(
        self, ours: BotSpec, other: BotSpec | None, jobs: int, deep: bool, budgets: Timeouts | None = None
    ) -> None:
        self._specs = {ENGINE: ours, **({OTHER: other} if other else {})}
        self._jobs, self._deep = jobs, deep
        self._budgets = budgets or Timeouts()
        self._engine_pairs: list[_EnginePair] = []
        self._free: SimpleQueue[_EnginePair] = SimpleQueue()
        self._threads = ThreadPoolExecutor(jobs)
        try:
            self._add_engines()  # now, so that a program that cannot start is reported at once
        except BaseException:
            self.close()
            raise

    def all(self, records: Iterable[tuple[str, Record]]) -> Iterator[VerifiedMatch]:
        """Yield the results in order.

        Raises:
            ClickException: An engine failed too often.
        """
        pending: deque[Future[VerifiedMatch]] = deque()
        for number, (file, record) in enumerate(records, 1):
            if len(self._engine_pairs) < min(self._jobs, 1 + number // _WORTH):
                self._add_engines()  # in this thread, because engines are killed when the thread that started them ends
            pending.append(self._threads.submit(self._check, file, record))
            if len(pending) >= _WAITING * self._jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def close(self) -> None:
        """Wait for the matches in progress, drop the others, and end all engines."""
        self._threads.shutdown(cancel_futures=True)
        for engines in self._engine_pairs:
            run_blocking(engines.close())

    def _add_engines(self) -> None:
        engines = _EnginePair(self._specs, self._budgets)
        self._engine_pairs.append(engines)
        run_blocking(engines.open())
        self._free.put(engines)

    def _check(self, file: str, record: Record) -> VerifiedMatch:
        engines = self._free.get()
        try:
            return VerifiedMatch(file, record.start.match, run_blocking(engines.check(record, self._deep)))
        finally:
            self._free.put(engines)


class _EnginePair:
    """Our engine and the other one. Each is restarted when it fails."""

    def __init__(self, specs: dict[str, BotSpec], budgets: Timeouts) -> None:
        self._specs, self._budgets = specs, budgets
        self._engines: dict[str, Engine] = {}
        self._failures = 0

    async def open(self) -> None:
        """Start the engines that are not running."""
        for who, spec in self._specs.items():
            if who not in self._engines:
                self._engines[who] = await start_engine(spec, self._budgets)

    async def check(self, record: Record, deep: bool) -> Deviation | None:
        """Verify a match on our engine and the other.

        Raises:
            ClickException: An engine failed too often.
        """
        await self.open()
        found = await self._verify(record, self._engines[ENGINE], self._engines.get(OTHER), deep)
        if found and found.failed:  # the next match gets a new engine
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise click.ClickException(f"given up after {self._failures} failures: {found.what}")
            await self._engines.pop(found.who).peer.stop(kill=True)
        return found

    async def _verify(self, record: Record, ours: Engine, other: Engine | None, deep: bool) -> Deviation | None:
        """Verify a match, on the other engine alone if ours does not know the game or has another one of that name."""
        game = record.start.game
        try:
            known = game in await ours.games()
            if known and (other is None or await _same_game(game, ours, other)):
                return await verify(record, ours, other, deep)
        except EngineFailed as failure:
            return Deviation(ENGINE, escape_unprintable(str(failure)), 0, failed=True)
        if other is None:
            said = f"our engine does not know the game {record.start.game}: {how_to_name_engine(record.start)}"
            return Deviation(ENGINE, escape_unprintable(said), 0)
        found = await verify(record, other, None, deep)
        return found._replace(who=OTHER) if found and found.who == ENGINE else found

    async def close(self) -> None:
        """End the engines."""
        for engine in self._engines.values():
            await engine.peer.stop()
        self._engines.clear()


async def _same_game(game: str, ours: Engine, other: Engine) -> bool:
    """Return True if two engines seem to mean the same game by a name: one's options include all of the other's.

    OpenSpiel's go, for example, has a `board_size` instead of a `size`.
    """
    if game not in await other.games():
        return True  # verification will report the difference
    one, two = (await ours.options(game)).keys(), (await other.options(game)).keys()
    return one <= two or two <= one
