"""Pairs: issued, open, finished, and the counts of meetings. Within the caller's transaction."""

import contextlib
import gc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select

from referee.ladder.entries import Kind
from referee.ladder.pairs import Meeting, Pair, Pairing, PairResult, Past
from referee.store.adding import tally_rows
from referee.store.counting import COLUMNS, Ending, meetings_of, played_games
from referee.store.errors import StoreError
from referee.store.schema import ISSUED, WITHDRAWN, games, pairs, pools, tallies
from referee.store.words import add_up

_PAGE = 2000  # pairs that are read at a time
_COUNTS = tuple(tallies.c[name] for name in COLUMNS)
_ENDED = (games.c.game, games.c.result, games.c.winner, games.c.termination)


def issue(connection: Connection, pool: int, batch: int, pairings: Sequence[Pairing]) -> list[Pair]:
    """The next batch of a pool, numbered. Raises StoreError for one that was issued already or comes too early."""
    batches, issued = extent(connection, pool)
    if batch != batches:
        raise StoreError(f"batch {batch} was to be issued and {batches} is the next: another process issues, too")
    last: int = connection.execute(select(func.coalesce(func.max(pairs.c.id), 0))).scalar_one()
    made = [
        Pair(last + 1 + index, pool, issued + index, batch, one.first, one.second) for index, one in enumerate(pairings)
    ]
    if not made:
        return []
    rows: list[dict[str, object]] = [
        {"id": one.id, "pool": pool, "number": one.number, "batch": batch, "first": one.first, "second": one.second}
        | {"state": ISSUED, "done": 0, "points": None, "culprit": None, "reason": ""}
        for one in made
    ]
    connection.execute(pairs.insert(), rows)
    counted: dict[tuple[int, int, int, str], int] = defaultdict(int)
    for one in made:
        counted[pool, one.first, one.second, "issued"] += 1
    add_up(connection, tallies, tally_rows(counted))
    return made


def open_pairs(connection: Connection, pool: int) -> list[Pair]:
    """Issued and not finished, by number."""
    these = and_(pairs.c.pool == pool, pairs.c.state == ISSUED)
    ids = select(pairs.c.id).where(these).scalar_subquery()
    void = select(games.c.pair, games.c.game, func.count()).where(games.c.pair.in_(ids), games.c.finished.is_(False))
    tried = {(pair, game): times for pair, game, times in connection.execute(void.group_by(games.c.pair, games.c.game))}
    return [
        replace(_pair(row), tried=(tried.get((row.id, 0), 0), tried.get((row.id, 1), 0)))
        for row in connection.execute(select(pairs).where(these).order_by(pairs.c.number))
    ]


def past(connection: Connection, pool: int, kind: Kind) -> Past:
    """See Past."""
    batches, issued = extent(connection, pool)
    these = and_(pairs.c.pool == pool, pairs.c.batch >= batches - 2)
    recent = [(_pair(row), result) for row, result in _with_results(connection, these)]
    with _many_values():
        settled, met = _settled(connection, pool, _recent_counts(connection, these))
    return Past(
        batches=batches,
        issued=issued,
        settled=tuple(settled),
        recent=tuple(recent),
        met=met,
        results=tuple(_all_results(connection, pool)) if kind is Kind.TEST else (),
        withdrawn={} if kind in (Kind.LADDER, Kind.SWISS) else _withdrawn(connection, pool),  # a look at every pair
    )


def meetings(connection: Connection, pool: int) -> list[Meeting]:
    """All finished games, per ordered pair of versions."""
    query = select(tallies.c.first, tallies.c.second, *_COUNTS)
    met = query.where(tallies.c.pool == pool, or_(*(count > 0 for count in _COUNTS)))
    with _many_values():
        return [Meeting(*row) for row in connection.execute(met.order_by(tallies.c.first, tallies.c.second)).all()]


def pair_results(connection: Connection, pool: int, one: int, other: int, after: int) -> list[PairResult]:
    """A page of the finished pairs of two versions with numbers above `after`; the points of `one`."""
    both = or_(
        and_(pairs.c.pool == pool, pairs.c.first == one, pairs.c.second == other, pairs.c.number > after),
        and_(pairs.c.pool == pool, pairs.c.first == other, pairs.c.second == one, pairs.c.number > after),
    )
    found = _with_results(connection, and_(both, pairs.c.state != ISSUED), _PAGE)
    return [_as_first(result, one) for _, result in found if result is not None]


def extent(connection: Connection, pool: int) -> tuple[int, int]:
    """How many batches and how many pairs were issued. Raises StoreError for a pool that is not there."""
    if connection.execute(select(pools.c.id).where(pools.c.id == pool)).first() is None:
        raise StoreError(f"there is no pool {pool} in this store: enrol a ladder first")
    batch, number = (
        connection.execute(select(func.max(column)).where(pairs.c.pool == pool)).scalar_one()
        for column in (pairs.c.batch, pairs.c.number)
    )
    return (0, 0) if number is None else (batch + 1, number + 1)


def _all_results(connection: Connection, pool: int) -> Iterator[PairResult]:
    after = -1
    while True:
        these = and_(pairs.c.pool == pool, pairs.c.number > after, pairs.c.state != ISSUED)
        page = _with_results(connection, these, _PAGE)
        yield from (result for _, result in page if result is not None)
        if len(page) < _PAGE:
            return
        after = page[-1][0].number


def _withdrawn(connection: Connection, pool: int) -> dict[tuple[int, int], int]:
    """How many pairs of any two were, (lower id, higher id)."""
    columns = (pairs.c.first, pairs.c.second, func.count())
    query = select(*columns).where(pairs.c.pool == pool, pairs.c.state == WITHDRAWN)
    found: dict[tuple[int, int], int] = defaultdict(int)
    for first, second, number in connection.execute(query.group_by(pairs.c.first, pairs.c.second)):
        found[min(first, second), max(first, second)] += number
    return dict(found)


def _with_results(
    connection: Connection, these: ColumnElement[bool], most: int | None = None
) -> list[tuple[Row[Any], PairResult | None]]:
    """These pairs by number, each with its result if it is not open any more."""
    chosen = select(pairs).where(these).order_by(pairs.c.number).limit(most)
    rows = connection.execute(chosen).all()
    ended: dict[int, list[Ending]] = defaultdict(list)
    ids = chosen.with_only_columns(pairs.c.id).scalar_subquery()
    query = select(games.c.pair, *_ENDED).where(games.c.pair.in_(ids), games.c.finished)
    for pair, *ending in connection.execute(query):
        ended[pair].append(Ending(*ending))
    return [(row, None if row.state == ISSUED else _result(row, ended.get(row.id, []))) for row in rows]


def _result(row: Row[Any], ended: list[Ending]) -> PairResult:
    met = meetings_of(row.first, row.second, ended)
    return PairResult(row.number, row.batch, row.first, row.second, row.points, met, row.pool)


def _as_first(result: PairResult, one: int) -> PairResult:
    if result.first == one:
        return result
    points = None if result.points is None else 2 - result.points
    return PairResult(result.number, result.batch, result.second, result.first, points, result.meetings, result.pool)


def _settled(
    connection: Connection, pool: int, less: dict[tuple[int, int], list[int]]
) -> tuple[list[Meeting], dict[tuple[int, int], int]]:
    """All meetings but those, and pairs issued per (lower id, higher id)."""
    settled: list[Meeting] = []
    met: dict[tuple[int, int], int] = {}
    query = select(tallies.c.first, tallies.c.second, tallies.c.issued, *_COUNTS).where(tallies.c.pool == pool)
    for row in connection.execute(query.order_by(tallies.c.first, tallies.c.second)).all():
        first, second, issued = row[:3]
        counts: Sequence[int] = row[3:]
        if (first, second) in less:
            counts = [have - one for have, one in zip(counts, less.pop((first, second)), strict=True)]
            if min(counts) < 0:
                less[first, second] = list(counts)  # to be told below
                break
        if any(counts):
            settled.append(Meeting(first, second, *counts))
        if issued:
            both = (first, second) if first < second else (second, first)
            met[both] = met.get(both, 0) + issued
    if less:
        raise StoreError("the store's counts are not those of its games: ggp ladder check --repair works them out")
    return settled, met


def _recent_counts(connection: Connection, these: ColumnElement[bool]) -> dict[tuple[int, int], list[int]]:
    """What the finished games of these pairs add to meetings, in the order of COLUMNS."""
    counts: dict[tuple[int, int], list[int]] = {}
    rows = select(pairs.c.first, pairs.c.second, *_ENDED).join(games, games.c.pair == pairs.c.id)
    for first, second, *ending in connection.execute(rows.where(these, games.c.finished)):
        for met in meetings_of(first, second, [Ending(*ending)]):
            sofar = counts.setdefault((met.first, met.second), [0] * len(COLUMNS))
            for index, name in enumerate(COLUMNS):
                sofar[index] += getattr(met, name)
    return counts


@contextlib.contextmanager
def _many_values() -> Iterator[None]:
    """No search for cycles in here: hundreds of thousands of values hold none, and each search looks at all of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _pair(row: Row[Any]) -> Pair:
    return Pair(row.id, row.pool, row.number, row.batch, row.first, row.second, played_games(row.done))
