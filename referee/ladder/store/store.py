"""The store of a ladder: every call that the rest of the program makes to the database. Each call is one transaction.

Any thread may call what reads, at any time. Any thread may call what writes, one at a time.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, select

from ggp.protocol.records import RecordError
from ggp.referee.ladder.store import entries, fronts, listing, rescue
from ggp.referee.ladder.store import games as played
from ggp.referee.ladder.store import pools as sums
from ggp.referee.ladder.store.audit import Findings, Progress, rebuild, with_lost
from ggp.referee.ladder.store.counts import repeats_of
from ggp.referee.ladder.store.database import Database, create_tables, has_tables, unpacked
from ggp.referee.ladder.store.game_count import GameCount
from ggp.referee.ladder.store.model import (
    FinishedGame,
    GameFilter,
    GameRow,
    Locked,
    PairResult,
    StoreError,
    UnplayablePair,
)
from ggp.referee.ladder.store.schema import games, records

P = ParamSpec("P")
T = TypeVar("T")


def _reading(query: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """Return the query as a method of Store that reads one snapshot."""

    @wraps(query)
    def method(store: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        with store.database.reading() as connection:
            return query(connection, *args, **kwargs)

    return method


def _writing(change: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """Return the change as a method of Store: one transaction, durable on return."""

    @wraps(change)
    def method(store: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        with store.database.writing() as connection:
            return change(connection, *args, **kwargs)

    return method


_PAGE, _PAGE_OF_RECORDS = 1000, 100  # matches that are read at a time


class Store:
    """See the module. Every method raises StoreError."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._count = GameCount(database.path) if database.path else None
        self._me = entries.Holder.here("")

    @classmethod
    def open(cls, url: str, *, create: bool = False, read_time: float | None = None) -> "Store":
        """Open a store; without `create` it must be there. read_time: see Database."""
        database = Database(url, read_time)
        try:
            _prepare(database, create)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Close every connection."""
        self.database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- run lock ------------------------------------------------------------------------------------------------

    def take_lock(self, command: str) -> None:
        """Take the run lock for this process. Raises Locked while another process that lives holds it."""
        self._me = entries.Holder.here(command)
        with self.database.writing() as connection:
            entries.take(connection, self._me, self.database.name)

    def beat(self) -> None:
        """Record that this process lives, every few seconds. Raises Locked if another process took the lock."""
        with self.database.writing() as connection:
            entries.beat(connection, self._me, self.database.name)

    def release_lock(self) -> None:
        """Release the run lock. If there is no room to write, the next process finds that this one has ended."""
        with contextlib.suppress(StoreError), self.database.writing() as connection:
            entries.release(connection, self._me)

    def running(self) -> str:
        """Return a description of the process that runs the ladder; "" for none."""
        with self.database.reading() as connection:
            return entries.running(connection, self._me)

    # -- fronts of a lobby ---------------------------------------------------------------------------------------

    def join_front(self, name: str, command: str) -> None:
        """Run this front of a lobby. Raises Locked while another process that lives does, or holds the run lock."""
        self._me = entries.Holder.here(command)
        with self.database.writing() as connection:
            fronts.join(connection, self._me, name, self.database.name)

    def renew_front(self, name: str, url: str, judge: bool) -> tuple[bool, list[fronts.FrontRow]]:
        """Renew this front: see fronts.renew."""
        with self.database.writing() as connection:
            return fronts.renew(connection, self._me, name, url, judge, self.database.name)

    def leave_front(self, name: str) -> None:
        """Leave this front. If there is no room to write, the others find that this process has ended."""
        with contextlib.suppress(StoreError), self.database.writing() as connection:
            fronts.leave(connection, self._me, name)

    lease = _writing(fronts.lease)
    elsewhere = _reading(fronts.elsewhere)
    claim = _writing(fronts.claim)
    disclaim = _writing(fronts.disclaim)

    # -- pools and bots ------------------------------------------------------------------------------------------

    enrol = _writing(entries.enrol)
    suspend = _writing(entries.suspend)
    readmit = _writing(entries.readmit)
    pools = _reading(sums.list_pools)
    seats = _reading(entries.seats)

    # -- pairs and games -----------------------------------------------------------------------------------------

    past = _reading(played.past)
    open_pairs = _reading(played.open_pairs)
    issue = _writing(played.issue)

    def add(self, finished: Sequence[FinishedGame], unplayable: Sequence[UnplayablePair] = ()) -> list[PairResult]:
        """Store what was played, durable on return; the pairs that it finished, by pool and number.

        The culprit of an unplayable pair is suspended in its pool.
        """
        if not finished and not unplayable:
            return []
        with self.database.writing() as connection:
            results = played.add(connection, finished, unplayable)
            newest = played.last_id(connection) if self._count else 0
        if self._count and finished:
            self._count.write(newest)
        return results

    def rescue(self, finished: Sequence[FinishedGame], gone: bool, folder: Path | None = None) -> str:
        """Write what is only in memory to a new file, and say in words where it is.

        Args:
            finished: Games that the store does not take.
            gone: Whether its file was removed or replaced: then all that it held is written, too.
            folder: Where the file goes if the store is on a server; by default the current folder.
        """
        path = self.database.path or (folder or Path.cwd()) / "store"
        games = f"{len(finished)} games that were only in memory"
        try:
            if gone:
                with contextlib.suppress(StoreError, OSError), _rescued(self.database) as (copy, store):
                    store.add(finished)
                    return f"all that it held, and {games}, are in {copy}: move it to {path} to go on from there"
            if not finished:
                return ""
            return f"{games} are in {rescue.write_records(path, finished)}"
        except (OSError, RecordError) as error:
            return f"{games} are lost: no file beside {path} can be written ({error})"

    challenge = _writing(played.challenge)
    withdraw = _writing(played.withdraw)
    challenges = _reading(played.list_challenges)
    find_challenge = _reading(played.find_challenge)

    # -- results -------------------------------------------------------------------------------------------------

    meetings = _reading(played.meetings)
    meeting_counts = _reading(played.meeting_counts)
    repeats = _reading(repeats_of)
    newest_of = _reading(played.newest_of)
    totals = _reading(sums.totals)
    scores = _reading(sums.score_counts)
    counted = _reading(sums.counted)
    pool_games = _reading(sums.pool_games)
    save_fit = _writing(sums.save_fit)
    fit = _reading(sums.load_fit)

    def pair_results(self, pool: int, first: int, second: int) -> Iterator[PairResult]:
        """Yield the finished pairs of two versions in either order, by number; `first` and points are of `first`."""
        after = -1
        while True:
            with self.database.reading() as connection:
                page = played.pair_results(connection, pool, first, second, after)
            yield from page
            if not page:
                return
            after = page[-1].number

    def games(
        self,
        pool: int | str | None = None,
        bot: int | str | None = None,
        *,
        limit: int | None = None,
        newest: bool = True,
        before: int | None = None,
        **more: Any,
    ) -> Iterator[GameRow]:
        """Return stored matches, void ones included, in the order in which they were stored or the reverse.

        Args:
            pool: See GameFilter.
            bot: See GameFilter.
            limit: The most matches; None means all.
            newest: Whether the last one comes first.
            before: Only the matches that come after the one with this id, in that order.
            more: Other fields of GameFilter.

        Raises:
            StoreError: There is no such pool or bot. It is raised at once.
        """
        found = self._pages(GameFilter(pool, bot, **more), limit, newest, before, whole=False)
        return (row for row, _ in found)

    def records(
        self,
        pool: int | str | None = None,
        bot: int | str | None = None,
        *,
        limit: int | None = None,
        newest: bool = True,
        before: int | None = None,
        damaged: Callable[[str], None] | None = None,
        **more: Any,
    ) -> Iterator[tuple[GameRow, bytes]]:
        """Return stored matches as `games` does, each with its record as JSON lines.

        A record that cannot be unpacked raises StoreError. With `damaged`, that is called with the reason instead.
        """
        found = self._pages(GameFilter(pool, bot, **more), limit, newest, before, whole=True)

        def unpack() -> Iterator[tuple[GameRow, bytes]]:
            for row, data in found:
                try:
                    lines = unpacked(data, row.key)
                except StoreError as error:
                    if damaged is None:
                        raise
                    damaged(str(error))
                else:
                    yield row, lines

        return unpack()

    def record(self, key: str) -> bytes | None:
        """Return the record of a match, as JSON lines."""
        query = select(records.c.data).join(games, games.c.id == records.c.game).where(games.c.key == key)
        with self.database.reading() as connection:
            data = connection.execute(query).scalar_one_or_none()
        return None if data is None else unpacked(data, key)

    # -- events --------------------------------------------------------------------------------------------------

    note = _writing(entries.note)
    events = _reading(sums.list_events)

    # -- integrity -----------------------------------------------------------------------------------------------

    def check(self, progress: Progress = lambda done, total: None) -> Findings:
        """Check every record's chain, every match against its record, and every derived row against the matches."""
        lost = self.lost()
        with self.database.reading() as connection:
            return with_lost(rebuild(connection, False, progress), lost, self.database.name)

    def lost(self) -> int:
        """Return how many games were stored once and are not there any longer, as far as they were counted."""
        if self._count is None:
            return 0
        counted = self._count.read()  # first: a game that is stored meanwhile is not lost
        with self.database.reading() as connection:
            return max(0, counted - played.last_id(connection))

    def checkpoint(self) -> None:
        """Empty the write-ahead log: see Database.checkpoint."""
        self.database.checkpoint()

    def repair(self, progress: Progress = lambda done, total: None) -> Findings:
        """Repair what check finds as far as the records allow; games that are gone are counted as gone from then on.

        No process may run the ladder meanwhile.
        """
        lost = self.lost()
        with self.database.writing() as connection:
            if runner := entries.running(connection, self._me, others=True):
                raise Locked(f"{self.database.name} is run by {runner}: wait until it is done, or end it")
            found, newest = rebuild(connection, True, progress), played.last_id(connection)
        if self._count and lost:
            self._count.write(newest)
        return with_lost(found, lost, self.database.name)

    # ------------------------------------------------------------------------------------------------------------

    def _pages(
        self, wanted: GameFilter, limit: int | None, newest: bool, before: int | None, whole: bool
    ) -> Iterator[tuple[GameRow, bytes]]:
        with self.database.reading() as connection:
            chosen = listing.conditions(connection, wanted)
        size = _PAGE_OF_RECORDS if whole else _PAGE

        def read() -> Iterator[tuple[GameRow, bytes]]:
            after, left = before, limit
            while left is None or left > 0:
                most = size if left is None else min(size, left)
                with self.database.reading() as connection:
                    found = listing.page(connection, chosen, after, most, newest, whole)
                yield from found
                if len(found) < most:
                    return
                after = found[-1][0].id
                left = None if left is None else left - len(found)

        return read()


@contextlib.contextmanager
def _rescued(database: Database) -> Iterator[tuple[Path, Store]]:
    """Copy a database whose file is gone to a store without a run lock. Raises StoreError, OSError."""
    path = database.rescue()
    with Store.open(f"sqlite:///{path}") as store:
        with store.database.writing() as connection:
            entries.forget_runner(connection)
        yield path, store


def _prepare(database: Database, create: bool) -> None:
    """Create the tables unless they are there."""
    path = database.path
    if path is None or path.exists():
        with database.reading() as connection:
            if has_tables(connection):
                return
    elif create and not path.absolute().parent.is_dir():
        raise StoreError(
            f"there is no folder {path.absolute().parent}: make it, or name another store", code="no-such-folder"
        )
    if not create:
        raise StoreError(
            f"there is no store {database.name}: ggp ladder run makes it, or ggp tune of a tune", code="store-missing"
        )
    if path is not None:
        GameCount(path).forget()
    with database.writing() as connection:
        if not has_tables(connection):  # another process may have been quicker
            create_tables(connection)
