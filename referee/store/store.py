"""The store of a ladder: everything that the rest of the program asks of a database. Each call is one transaction.

Calls that write may come from any thread, one at a time; calls that read from any, at any time. The SQL is in the files
beside this one.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence

from sqlalchemy import func, select

from referee.ladder.entries import Kind, Ladder
from referee.ladder.pairs import Meeting, Pair, Pairing, PairResult, Past, Seat
from referee.store import adding, challenging, enrolment, fitting, listing, lock, pairing
from referee.store.database import Database
from referee.store.errors import Locked, StoreError
from referee.store.migrations import NEWEST, migrate, version_of
from referee.store.packing import unpacked
from referee.store.rebuild import Findings, Progress, rebuild
from referee.store.rows import ChallengeRow, Event, Finished, Fit, GameRow, PoolRow, Totals, Unplayable
from referee.store.schema import endings, events, games, pools, records
from referee.store.words import read_options

_PAGE, _PAGE_OF_RECORDS = 1000, 100  # matches that are read at a time


class Store:
    """See the module. Every method raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._me = lock.Holder.here("")

    @classmethod
    def open(cls, url: str, *, create: bool = False) -> "Store":
        """Brings an older store to the present schema. Without `create` it must be there."""
        database = Database(url)
        try:
            _prepare(database, create)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- who runs it ---------------------------------------------------------------------------------------------

    def take_lock(self, command: str) -> None:
        """This process runs the ladder from now on. Raises Locked if another one does that lives."""
        self._me = lock.Holder.here(command)
        with self._database.writing() as connection:
            lock.take(connection, self._me, self._database.name)

    def beat(self) -> None:
        """Say that this process lives, every few seconds. Raises Locked if another one has taken it for dead."""
        with self._database.writing() as connection:
            lock.beat(connection, self._me, self._database.name)

    def release_lock(self) -> None:
        """Nothing if there is no room to say so: whoever comes next sees that this process has ended."""
        with contextlib.suppress(StoreError), self._database.writing() as connection:
            lock.release(connection, self._me)

    def running(self) -> str:
        """Which process runs the ladder, in words; "" for none."""
        with self._database.reading() as connection:
            return lock.running(connection, self._me)

    # -- who takes part ------------------------------------------------------------------------------------------

    def enrol(self, ladder: Ladder) -> dict[str, int]:
        """Take over who is entered where; the ids of the ladder's pools by name. See enrolment."""
        with self._database.writing() as connection:
            return enrolment.enrol(connection, ladder)

    def suspend(self, version: int, reason: str, pool: int | None = None) -> None:
        """It is not paired any more, in one pool or in all, until it is readmitted or entered in another version."""
        with self._database.writing() as connection:
            enrolment.suspend(connection, version, reason, pool)

    def readmit(self, name: str) -> bool:
        """By name or label; False if nobody of that name is suspended."""
        with self._database.writing() as connection:
            return enrolment.readmit(connection, name)

    def pools(self, unrated: bool = False) -> list[PoolRow]:
        """By id; with the unrated ones only if they are asked for, so that nobody takes them for rated by mistake."""
        count = select(func.coalesce(func.sum(endings.c.games), 0)).where(endings.c.pool == pools.c.id)
        query = select(pools, count.scalar_subquery().label("games")).order_by(pools.c.id)
        query = query if unrated else query.where(pools.c.rated)
        with self._database.reading() as connection:
            return [
                PoolRow(
                    id=row.id,
                    key=row.key,
                    name=row.name,
                    game=row.game,
                    options=read_options(row.options, row.name),
                    control=row.control,
                    openings=row.openings,
                    games=int(row.games),
                    rated=row.rated,
                )
                for row in connection.execute(query)
            ]

    def seats(self, pool: int) -> list[Seat]:
        """Every version that is or was entered in a pool, by id."""
        with self._database.reading() as connection:
            return enrolment.seats(connection, pool)

    # -- what is played ------------------------------------------------------------------------------------------

    def past(self, pool: int, kind: Kind) -> Past:
        with self._database.reading() as connection:
            return pairing.past(connection, pool, kind)

    def open_pairs(self, pool: int) -> list[Pair]:
        """Issued and not finished, by number, with the games that are stored already."""
        with self._database.reading() as connection:
            return pairing.open_pairs(connection, pool)

    def issue(self, pool: int, batch: int, pairings: Sequence[Pairing]) -> list[Pair]:
        """Number the next batch of a pool and keep it; durable on return."""
        with self._database.writing() as connection:
            return pairing.issue(connection, pool, batch, pairings)

    def add(self, finished: Sequence[Finished], unplayable: Sequence[Unplayable] = ()) -> list[PairResult]:
        """Keep what was played, durable on return; the pairs that it finished, by pool and number. See adding.

        Whoever is to blame for an unplayable pair is suspended in its pool.
        """
        if not finished and not unplayable:
            return []
        with self._database.writing() as connection:
            return adding.add(connection, finished, unplayable)

    # -- challenges ----------------------------------------------------------------------------------------------

    def challenge(self, pool: int, pairing: Pairing, number: int, owner: str, until: str) -> tuple[int, list[Pair]]:
        """So many pairs of these in an unrated pool, until then (UTC, ISO 8601); id and pairs. Durable on return."""
        with self._database.writing() as connection:
            return challenging.challenge(connection, pool, pairing, number, owner, until)

    def withdraw(self, challenge: int, reason: str, keep: Collection[int] = ()) -> bool:
        """Play no more of a challenge but for the pairs `keep`; False if nothing was left."""
        with self._database.writing() as connection:
            return challenging.withdraw(connection, challenge, reason, keep)

    def challenges(self, pool: int | None = None, only_open: bool = False, most: int = 0) -> list[ChallengeRow]:
        """By id: those of a pool or all, those that are open or all, the newest so many (0: all)."""
        with self._database.reading() as connection:
            return challenging.listed(connection, pool, only_open, most)

    def find_challenge(self, id: int) -> ChallengeRow | None:
        with self._database.reading() as connection:
            return challenging.find(connection, id)

    # -- what came of it -----------------------------------------------------------------------------------------

    def meetings(self, pool: int) -> list[Meeting]:
        """All finished games, per ordered pair of versions."""
        with self._database.reading() as connection:
            return pairing.meetings(connection, pool)

    def totals(self, pool: int | None = None) -> Totals:
        """Of one pool or of all."""
        with self._database.reading() as connection:
            return fitting.totals(connection, pool)

    def scores(self, pool: int) -> dict[int, tuple[int, ...]]:
        """Of every version that met anybody: wins, ties, losses, forfeits of these, gifts of the wins, void games."""
        with self._database.reading() as connection:
            return fitting.scored(connection, pool)

    def counted(self, pool: int) -> int:
        """How many games of a pool count; quick, to be compared with Fit.games."""
        with self._database.reading() as connection:
            return fitting.counted(connection, pool)

    def pair_results(self, pool: int, first: int, second: int) -> Iterator[PairResult]:
        """The finished pairs of two versions, whoever sat first, by number; `first` and points are of `first`."""
        after = -1
        while True:
            with self._database.reading() as connection:
                page = pairing.pair_results(connection, pool, first, second, after)
            yield from page
            if not page:
                return
            after = page[-1].number

    def games(
        self,
        pool: int | str | None = None,
        bot: int | str | None = None,
        opponent: int | str | None = None,
        termination: str | None = None,
        limit: int | None = None,
        newest: bool = True,
    ) -> Iterator[GameRow]:
        """Stored matches, void ones included, in the order in which they were stored or the reverse.

        Pools go by id or name; bots by id, or by name, `NAME` being all its versions and `NAME@VERSION` one. Names that
        are not there are an error at once.
        """
        chosen = self._filter(pool, bot, opponent, termination)
        return (row for row, _ in self._pages(chosen, limit, newest, whole=False))

    def records(
        self,
        pool: int | str | None = None,
        bot: int | str | None = None,
        opponent: int | str | None = None,
        termination: str | None = None,
        limit: int | None = None,
        newest: bool = True,
        damaged: Callable[[str], None] | None = None,
    ) -> Iterator[tuple[GameRow, bytes]]:
        """The same with their records, as JSON lines.

        A record that cannot be unpacked raises StoreError; with `damaged`, that is called with the reason instead.
        """
        chosen = self._filter(pool, bot, opponent, termination)
        return self._unpacked(self._pages(chosen, limit, newest, whole=True), damaged)

    def _unpacked(
        self, rows: Iterator[tuple[GameRow, bytes]], damaged: Callable[[str], None] | None
    ) -> Iterator[tuple[GameRow, bytes]]:
        for row, data in rows:
            try:
                lines = unpacked(data, row.key)
            except StoreError as error:
                if damaged is None:
                    raise
                damaged(str(error))
                continue
            yield row, lines

    def record(self, key: str) -> bytes | None:
        """The record of a match, as JSON lines."""
        query = select(records.c.data).join(games, games.c.id == records.c.game).where(games.c.key == key)
        with self._database.reading() as connection:
            data = connection.execute(query).scalar_one_or_none()
        return None if data is None else unpacked(data, key)

    def save_fit(self, pool: int, fit: Fit) -> None:
        """Instead of the one before."""
        with self._database.writing() as connection:
            fitting.save(connection, pool, fit)

    def fit(self, pool: int) -> Fit | None:
        with self._database.reading() as connection:
            return fitting.load(connection, pool)

    # -- events --------------------------------------------------------------------------------------------------

    def note(self, kind: str, text: str) -> None:
        with self._database.writing() as connection:
            enrolment.note(connection, kind, text)

    def events(self, limit: int = 100) -> list[Event]:
        """The last ones, oldest first."""
        query = select(events.c.at, events.c.kind, events.c.text).order_by(events.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            return [Event(*row) for row in connection.execute(query)][::-1]

    # -- is it whole? --------------------------------------------------------------------------------------------

    def check(self, progress: Progress = lambda done, total: None) -> Findings:
        """Every record's chain, every match against its record, every derived row against the matches. See rebuild."""
        with self._database.reading() as connection:
            return rebuild(connection, False, progress)

    def repair(self, progress: Progress = lambda done, total: None) -> Findings:
        """What check finds, mended as far as the records tell. Nobody may run the ladder meanwhile."""
        with self._database.writing() as connection:
            if runner := lock.running(connection, self._me, others=True):
                raise Locked(f"{self._database.name} is run by {runner}: wait until it is done, or end it")
            return rebuild(connection, True, progress)

    def rebuild(self) -> list[str]:
        """Repair, and what differed, a line each."""
        return self.repair().lines

    # ------------------------------------------------------------------------------------------------------------

    def _filter(
        self, pool: int | str | None, bot: int | str | None, opponent: int | str | None, termination: str | None
    ) -> listing.Filter:
        with self._database.reading() as connection:
            at = None if pool is None else listing.find_pool(connection, pool)
            bots, others = (
                [] if who is None else [who] if isinstance(who, int) else enrolment.called(connection, who)
                for who in (bot, opponent)
            )
        return listing.Filter(at, bots or others, others if bots else (), termination)

    def _pages(
        self, chosen: listing.Filter, limit: int | None, newest: bool, whole: bool
    ) -> Iterator[tuple[GameRow, bytes]]:
        after: int | None = None
        left = limit
        size = _PAGE_OF_RECORDS if whole else _PAGE
        while left is None or left > 0:
            most = size if left is None else min(size, left)
            with self._database.reading() as connection:
                page = listing.page(connection, chosen, after, most, newest, whole)
            yield from page
            if len(page) < most:
                return
            after = page[-1][0].id
            left = None if left is None else left - len(page)


def _prepare(database: Database, create: bool) -> None:
    """Have the tables there. A store that is up to date is only read."""
    path = database.path
    if path is None or path.exists():
        with database.reading() as connection:
            at = version_of(connection)
            if at == NEWEST:
                return
            if at and (runner := lock.running(connection, lock.Holder.here(""))):
                raise Locked(f"{database.name} is run by {runner}, an older program: wait until it is done, or end it")
    elif create and not path.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {path.absolute().parent}: make it, or name another store")
    else:
        at = 0
    if not at and not create:
        raise StoreError(f"there is no store {database.name}: ggp ladder run makes it")
    with database.writing() as connection:
        migrate(connection)
