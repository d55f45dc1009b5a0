"""The store of a ladder: every call that the rest of the program makes to the database. Each call is one transaction.

Any thread may call what reads, at any time. Any thread may call what writes, one at a time.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select, true

from ggp.protocol.records import RecordError
from ggp.referee.ladder.store import entries, fronts, rescue
from ggp.referee.ladder.store import games as played
from ggp.referee.ladder.store.audit import Findings, Progress, rebuild, with_lost
from ggp.referee.ladder.store.counts import COLUMNS, SCORE_COLUMNS, repeats_of
from ggp.referee.ladder.store.database import Database, create_tables, execute_many, has_tables, read_options, unpacked
from ggp.referee.ladder.store.game_count import GameCount
from ggp.referee.ladder.store.model import (
    GAMES,
    Drift,
    FinishedGame,
    FitRow,
    GameRow,
    Locked,
    MisfitRow,
    PairResult,
    PoolGames,
    PoolRow,
    StoredFit,
    StoreError,
    StoreEvent,
    Totals,
    UnplayablePair,
)
from ggp.referee.ladder.store.schema import (
    ENGINE,
    NO_CULPRIT,
    UNPLAYABLE,
    endings,
    events,
    fits,
    games,
    pairs,
    pools,
    ratings,
    records,
    scores,
    tallies,
    versions,
)

# -- Lists of stored matches, in pages: memory stays bounded, and no read transaction stays open.


@dataclass(frozen=True, slots=True)
class StoreFilter:
    """Which matches: of a pool, of some versions (empty: any) in a seat (0: either), against some, that ended so.

    `since`, `until`: when they ended, from the first to before the second, UTC. `result`: one of RESULTS, as `bots` see
    it; without them one of EITHER_WAY.
    """

    pool: int | None = None
    bots: Sequence[int] = ()
    opponents: Sequence[int] = ()
    termination: str | None = None
    seat: int = 0
    result: str = ""
    since: datetime | None = None
    until: datetime | None = None
    points: float | None = None  # of the bot in both games of the pair


_SLACK = timedelta(days=1)  # a match may be stored after another that ended later


_ONE, _TWO, _CULPRIT = (versions.alias(name) for name in ("one", "two", "culprit"))
_NAMED = {
    "pool": pools.c.name,
    "pair": pairs.c.number,
    "first": _ONE.c.label,
    "second": _TWO.c.label,
    "culprit": case((games.c.culprit == ENGINE, "engine"), else_=func.coalesce(_CULPRIT.c.label, "")),
}
_FACTS = tuple(_NAMED.get(field.name, games.c[field.name]) for field in fields(GameRow))


def page(
    connection: Connection, chosen: StoreFilter, after: int | None, most: int, newest: bool, whole: bool
) -> list[tuple[GameRow, bytes]]:
    """Up to `most` matches behind the id `after`, with their records if `whole`."""
    ids = _ids(connection, chosen, after, most, newest)
    query = (
        select(*_FACTS, records.c.data if whole else literal(b""))
        .join(pairs, pairs.c.id == games.c.pair)
        .join(pools, pools.c.id == games.c.pool)
        .join(_ONE, _ONE.c.id == games.c.first)
        .join(_TWO, _TWO.c.id == games.c.second)
        .outerjoin(_CULPRIT, _CULPRIT.c.id == games.c.culprit)
        .where(games.c.id.in_(ids))
        .order_by(games.c.id.desc() if newest else games.c.id)
    )
    if whole:
        query = query.join(records, records.c.game == games.c.id)
    return [(GameRow(*values), data) for *values, data in connection.execute(query)]


def find_pool(connection: Connection, pool: int | str) -> int:
    """By id or by name. Raises StoreError."""
    where = pools.c.id == pool if isinstance(pool, int) else pools.c.name == pool
    found: int | None = connection.execute(select(pools.c.id).where(where)).scalar_one_or_none()
    if found is None:
        known = connection.execute(select(pools.c.name).order_by(pools.c.id).limit(20)).scalars()
        raise StoreError(f"no pool is called {pool!r}: there are {', '.join(known) or 'none yet'}", code="no-such-pool")
    return found


def _ids(connection: Connection, chosen: StoreFilter, after: int | None, most: int, newest: bool) -> list[int]:
    """Each part of the union is read off one index in order, so that a page costs no more than it holds."""
    order = games.c.id.desc() if newest else games.c.id
    common: list[ColumnElement[bool]] = []
    if chosen.pool is not None:
        common.append(games.c.pool == chosen.pool)
    if chosen.termination is not None:
        common.append(games.c.termination == chosen.termination)
    if after is not None:
        common.append(games.c.id < after if newest else games.c.id > after)
    if chosen.since is not None:
        common += [
            games.c.ended >= _stored(chosen.since),
            games.c.id >= _id_at(connection, _moved(chosen.since, -_SLACK)),
        ]
    if chosen.until is not None:
        common += [games.c.ended < _stored(chosen.until), games.c.id < _id_at(connection, _moved(chosen.until, _SLACK))]
    parts = [select(games.c.id).where(*common, part).order_by(order).limit(most) for part in _sides(chosen)]
    found = {id for part in parts for id in connection.execute(part).scalars()}
    return sorted(found, reverse=newest)[:most]


def _moved(when: datetime, by: timedelta) -> datetime:
    """Not beyond the first and the last day."""
    try:
        return when + by
    except OverflowError:
        return when


def _sides(chosen: StoreFilter) -> Iterator[ColumnElement[bool]]:
    """The filter by bots, one index each: every bot in seat 1, every bot in seat 2."""
    if not chosen.bots:
        yield and_(true(), *(_came_out(chosen.result, None, 0) if chosen.result else []))
    for bot in chosen.bots:
        for seat, mine, other in ((1, games.c.first, games.c.second), (2, games.c.second, games.c.first)):
            if chosen.seat in (0, seat):
                wanted: list[ColumnElement[bool]] = [other.in_(chosen.opponents)] if chosen.opponents else []
                wanted += _came_out(chosen.result, bot, seat) if chosen.result else []
                wanted += [_of_pairs(bot, chosen.points)] if chosen.points is not None else []
                yield and_(mine == bot, *wanted)


def _of_pairs(bot: int, points: float) -> ColumnElement[bool]:
    """Games that count, of pairs in which the bot won so many points."""
    as_first = and_(pairs.c.first == bot, pairs.c.points == points)
    won = or_(as_first, and_(pairs.c.second == bot, pairs.c.points == GAMES - points))
    return and_(games.c.result != "", exists().where(pairs.c.id == games.c.pair, won))


def _came_out(result: str, bot: int | None, seat: int) -> list[ColumnElement[bool]]:
    """Matches with that result for the bot in that seat; those of EITHER_WAY are the same for both."""
    won, lost = games.c.winner == seat, games.c.winner == 3 - seat
    other = games.c.second if seat == 1 else games.c.first
    return {
        "won": [won],
        "lost": [lost],
        "drawn": [games.c.winner == 0, games.c.result != ""],
        "counted": [games.c.result != ""],
        "void": [games.c.result == ""],
        "fault": [games.c.culprit == bot],
        "forfeit": [games.c.culprit == bot, lost],
        "gift": [games.c.culprit == other, won],
    }[result]


def _stored(moment: datetime) -> str:
    """A moment as the beginning of a stored one, so that both can be compared as text."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _id_at(connection: Connection, moment: datetime) -> int:
    """The id of the first match that ended then or later, taking matches as stored in the order in which they ended."""
    low, high = 0, (connection.execute(select(func.max(games.c.id))).scalar() or 0) + 1
    while low < high:
        middle = (low + high) // 2
        query = select(games.c.id, games.c.ended).where(games.c.id >= middle).order_by(games.c.id).limit(1)
        row = connection.execute(query).one_or_none()
        if row is None or row.ended >= _stored(moment):
            high = middle
        else:
            low = row.id + 1
    return low


# -- Pools with their sums and ratings, and events.


_POOL = ("id", "key", "name", "game", "options", "control", "openings", "rated")
_ROW = ("version", "elo", "se", "games", "score", "next_elo", "next_se", "next_los")
_RESULTS = ("wins", "ties", "losses", "void")  # of endings
_GAMES = endings.c.wins + endings.c.ties + endings.c.losses  # that count
_ADD_RATINGS = ratings.insert()
_FIT = ("games", "model", "advantage", "advantage_se", "tie")


def list_pools(connection: Connection, unrated: bool = False) -> list[PoolRow]:
    """By id; the unrated pools only on request, so that no caller mistakes them for rated ones."""
    count = select(func.coalesce(func.sum(_GAMES), 0)).where(endings.c.pool == pools.c.id)
    query = select(*(pools.c[name] for name in _POOL), count.scalar_subquery().label("games")).order_by(pools.c.id)
    found = connection.execute(query if unrated else query.where(pools.c.rated))
    return [
        PoolRow(**{**row._mapping, "options": read_options(row.options, row.name), "games": int(row.games)})
        for row in found
    ]


def list_events(connection: Connection, limit: int = 100) -> list[StoreEvent]:
    """The last ones, oldest first."""
    query = select(events.c.at, events.c.kind, events.c.text).order_by(events.c.id.desc()).limit(limit)
    return [StoreEvent(*row) for row in connection.execute(query)][::-1]


def totals(connection: Connection, pool: int | None = None) -> Totals:
    """Of one pool or of all."""
    sums, played = select(endings), select(func.coalesce(func.sum(pools.c.played), 0))
    if pool is not None:
        sums, played = sums.where(endings.c.pool == pool), played.where(pools.c.id == pool)
    blamed = versions.c.id.in_(sums.with_only_columns(endings.c.culprit))
    labels = connection.execute(select(versions.c.id, versions.c.label).where(blamed))
    names = {ENGINE: "engine", **{row.id: row.label for row in labels}}
    terminations: Counter[str] = Counter()
    faults: Counter[tuple[str, str]] = Counter()
    counts = Counter[str]()
    for row in connection.execute(sums):
        counts.update({name: getattr(row, name) for name in _RESULTS})
        matches = row.wins + row.ties + row.losses + row.void
        terminations[row.termination] += matches
        if row.culprit != NO_CULPRIT:
            faults[names[row.culprit], row.termination] += matches
    pairs_played = int(connection.execute(played).scalar_one())
    return Totals(**counts, pairs=pairs_played, terminations=terminations, faults=faults)


def counted(connection: Connection, pool: int) -> int:
    """The number of games of a pool that count."""
    query = select(func.coalesce(func.sum(_GAMES), 0)).where(endings.c.pool == pool)
    return int(connection.execute(query).scalar_one())


def pool_games(connection: Connection, pool: int) -> PoolGames:
    """Return how many games of a pool count, and how many are void or were given up.

    Neither contains games of withdrawn pairs, nor of pairs that a bot could not play and was suspended for.
    """
    sums = (func.coalesce(func.sum(tallies.c[name]), 0) for name in COLUMNS)
    row = connection.execute(select(*sums).where(tallies.c.pool == pool)).one()
    ended = {name: int(number) for name, number in zip(COLUMNS, row, strict=True)}
    missing = case((pairs.c.done == 0, GAMES), else_=1)  # a pair with both games is not unplayable
    theirs = and_(pairs.c.pool == pool, pairs.c.state == UNPLAYABLE, pairs.c.culprit <= NO_CULPRIT)
    given_up = connection.execute(select(func.coalesce(func.sum(missing), 0)).where(theirs)).scalar_one()
    void = ended.pop("void")
    return PoolGames(counted=sum(ended.values()), void=void + int(given_up))


def score_counts(connection: Connection, pool: int) -> dict[int, tuple[int, ...]]:
    """Of every version that played, by play and by faults: wins, ties, losses, forfeits, gifts, and void games.

    Its forfeits are among the losses, those of others, the gifts, among its wins.
    """
    query = select(scores.c.version, *(scores.c[name] for name in SCORE_COLUMNS)).where(scores.c.pool == pool)
    return {version: tuple(counts) for version, *counts in connection.execute(query.order_by(scores.c.version))}


def save_fit(connection: Connection, pool: int, fit: StoredFit) -> None:
    """Replace the ratings of a pool."""
    for table in (ratings, fits):
        connection.execute(table.delete().where(table.c.pool == pool))
    values = {name: getattr(fit, name) for name in _FIT}
    connection.execute(fits.insert().values(pool=pool, remarks=write_remarks(fit), **values))
    rows = [
        {"pool": pool, "rank": rank, "version": row.id, **{name: getattr(row, name) for name in _ROW[1:]}}
        for rank, row in enumerate(fit.rows)
    ]
    if rows:
        execute_many(connection, _ADD_RATINGS, rows)


def load_fit(connection: Connection, pool: int) -> StoredFit | None:
    """The last one that was saved."""
    row = connection.execute(select(fits).where(fits.c.pool == pool)).one_or_none()
    if row is None:
        return None
    query = select(*(ratings.c[name] for name in _ROW)).where(ratings.c.pool == pool).order_by(ratings.c.rank)
    rows = tuple(FitRow(*values) for values in connection.execute(query))
    values = {name: getattr(row, name) for name in _FIT}
    return StoredFit(pool=pool, rows=rows, **values, **read_remarks(row.remarks))


def write_remarks(fit: StoredFit) -> str:
    """What a fit says besides ratings, as JSON: anchors, deviance, misfits and drifts."""
    said = {
        "anchors": list(fit.anchors.items()),
        "deviance": fit.deviance,
        "freedom": fit.freedom,
        "misfits": [astuple(pair) for pair in fit.misfits],
        "drifts": [astuple(drift) for drift in fit.drifts],
        **({"groups": fit.groups} if fit.groups else {}),
    }
    return json.dumps(said, separators=(",", ":"))


def read_remarks(text: str) -> dict[str, Any]:
    """The fields of a StoredFit that write_remarks wrote; an empty text has none."""
    said: dict[str, Any] = json.loads(text or "{}")
    if said:
        said["anchors"] = {int(version): float(elo) for version, elo in said["anchors"]}
        said["misfits"] = tuple(MisfitRow(*pair) for pair in said["misfits"])
        said["drifts"] = tuple(Drift(*drift) for drift in said["drifts"])
        said["groups"] = tuple(map(tuple, said.get("groups", ())))
    return said


# -- The store.


P = ParamSpec("P")
T = TypeVar("T")


def _reading(query: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """The query as a method of Store, in a snapshot of its own."""

    @wraps(query)
    def method(store: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        with store.database.reading() as connection:
            return query(connection, *args, **kwargs)

    return method


def _writing(change: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """The change as a method of Store, in a transaction of its own, durable on return."""

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
        """A description of the process that runs the ladder; "" for none."""
        with self.database.reading() as connection:
            return entries.running(connection, self._me)

    # -- fronts of a lobby ---------------------------------------------------------------------------------------

    def join_front(self, name: str, command: str) -> None:
        """Run this front of a lobby. Raises Locked while another process that lives does, or holds the run lock."""
        self._me = entries.Holder.here(command)
        with self.database.writing() as connection:
            fronts.join(connection, self._me, name, self.database.name)

    def renew_front(self, name: str, url: str, judge: bool) -> tuple[bool, list[fronts.FrontRow]]:
        """See fronts.renew."""
        with self.database.writing() as connection:
            return fronts.renew(connection, self._me, name, url, judge, self.database.name)

    def leave_front(self, name: str) -> None:
        """As release_lock."""
        with contextlib.suppress(StoreError), self.database.writing() as connection:
            fronts.leave(connection, self._me, name)

    lease = _writing(fronts.lease)
    elsewhere = _reading(fronts.elsewhere)
    claim = _writing(fronts.claim)
    disclaim = _writing(fronts.disclaim)

    # -- pools and bots ------------------------------------------------------------------------------------------

    enrol = _writing(entries.enrol)
    enrol_more = _writing(entries.enrol_more)
    suspend = _writing(entries.suspend)
    readmit = _writing(entries.readmit)
    pools = _reading(list_pools)
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
            folder: Where the file goes if the store is none; by default the current folder.
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
    totals = _reading(totals)
    scores = _reading(score_counts)
    counted = _reading(counted)
    pool_games = _reading(pool_games)
    save_fit = _writing(save_fit)
    fit = _reading(load_fit)

    def pair_results(self, pool: int, first: int, second: int) -> Iterator[PairResult]:
        """The finished pairs of two versions in either order, by number; `first` and points are of `first`."""
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
        opponent: int | str | None = None,
        termination: str | None = None,
        limit: int | None = None,
        newest: bool = True,
        before: int | None = None,
        **more: Any,
    ) -> Iterator[GameRow]:
        """Stored matches, void ones included, in the order in which they were stored or the reverse.

        Pools go by id or name; bots by id, or by name, `NAME` being all its versions and `NAME@VERSION` one. Names that
        are not there are an error at once. `before`: only those behind the match with this id, in that order. `more`:
        seat, result, since, until and points of StoreFilter.
        """
        chosen = self._filter(pool, bot, opponent, termination, more)
        return (row for row, _ in self._pages(chosen, limit, newest, whole=False, after=before))

    def records(
        self,
        pool: int | str | None = None,
        bot: int | str | None = None,
        opponent: int | str | None = None,
        termination: str | None = None,
        limit: int | None = None,
        newest: bool = True,
        before: int | None = None,
        damaged: Callable[[str], None] | None = None,
        **more: Any,
    ) -> Iterator[tuple[GameRow, bytes]]:
        """Stored matches with their records, as JSON lines.

        A record that cannot be unpacked raises StoreError; with `damaged`, that is called with the reason instead.
        """
        chosen = self._filter(pool, bot, opponent, termination, more)

        def unpack() -> Iterator[tuple[GameRow, bytes]]:
            for row, data in self._pages(chosen, limit, newest, whole=True, after=before):
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
        """The record of a match, as JSON lines."""
        query = select(records.c.data).join(games, games.c.id == records.c.game).where(games.c.key == key)
        with self.database.reading() as connection:
            data = connection.execute(query).scalar_one_or_none()
        return None if data is None else unpacked(data, key)

    # -- events --------------------------------------------------------------------------------------------------

    note = _writing(entries.note)
    events = _reading(list_events)

    # -- integrity -----------------------------------------------------------------------------------------------

    def check(self, progress: Progress = lambda done, total: None) -> Findings:
        """Every record's chain, every match against its record, every derived row against the matches. See rebuild."""
        lost = self.lost()
        with self.database.reading() as connection:
            return with_lost(rebuild(connection, False, progress), lost, self.database.name)

    def lost(self) -> int:
        """Return how many games were stored once and are not there any longer, as far as they were counted."""
        if self._count is None:
            return 0
        counted = self._count.read()  # first: a game that is stored meanwhile is none that is lost
        with self.database.reading() as connection:
            return max(0, counted - played.last_id(connection))

    def checkpoint(self) -> None:
        """See Database.checkpoint."""
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

    def _filter(
        self,
        pool: int | str | None,
        bot: int | str | None,
        opponent: int | str | None,
        termination: str | None,
        more: Mapping[str, Any],
    ) -> StoreFilter:
        with self.database.reading() as connection:
            at = None if pool is None else find_pool(connection, pool)
            bots, others = (
                [] if who is None else [who] if isinstance(who, int) else entries.called(connection, who)
                for who in (bot, opponent)
            )
        return StoreFilter(at, bots or others, others if bots else (), termination, **more)

    def _pages(
        self, chosen: StoreFilter, limit: int | None, newest: bool, whole: bool, after: int | None = None
    ) -> Iterator[tuple[GameRow, bytes]]:
        left = limit
        size = _PAGE_OF_RECORDS if whole else _PAGE
        while left is None or left > 0:
            most = size if left is None else min(size, left)
            with self.database.reading() as connection:
                found = page(connection, chosen, after, most, newest, whole)
            yield from found
            if len(found) < most:
                return
            after = found[-1][0].id
            left = None if left is None else left - len(found)


@contextlib.contextmanager
def _rescued(database: Database) -> Iterator[tuple[Path, Store]]:
    """A copy of a database whose file is gone, as a store without a run lock. Raises StoreError, OSError."""
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
