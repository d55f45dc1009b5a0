"""Lists of stored matches, a page at a time, so that memory stays flat and no reader holds on to an old snapshot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, select

from referee.store.errors import StoreError
from referee.store.rows import GameRow
from referee.store.schema import ENGINE, NOBODY, games, pairs, pools, records, versions


@dataclass(frozen=True, slots=True)
class Filter:
    """Which matches: of a pool, of some versions (empty: any), against some, that ended so."""

    pool: int | None = None
    bots: Sequence[int] = ()
    opponents: Sequence[int] = ()
    termination: str | None = None


def page(
    connection: Connection, chosen: Filter, after: int | None, most: int, newest: bool, whole: bool
) -> list[tuple[GameRow, bytes]]:
    """At most so many matches behind the id `after`, with their records if `whole`."""
    ids = _ids(connection, chosen, after, most, newest)
    columns: list[Any] = [games, pairs.c.number, pools.c.name.label("pool_name"), *([records.c.data] if whole else [])]
    query = select(*columns).join(pairs, pairs.c.id == games.c.pair).join(pools, pools.c.id == games.c.pool)
    if whole:
        query = query.join(records, records.c.game == games.c.id)
    rows = {row.id: row for row in connection.execute(query.where(games.c.id.in_(ids)))}
    labels = _labels(connection, {id for row in rows.values() for id in (row.first, row.second, row.culprit)})
    found = [rows[id] for id in ids if id in rows]
    return [(_game(row, labels), row.data if whole else b"") for row in found]


def find_pool(connection: Connection, pool: int | str) -> int:
    """By id or by name. Raises StoreError."""
    where = pools.c.id == pool if isinstance(pool, int) else pools.c.name == pool
    found: int | None = connection.execute(select(pools.c.id).where(where)).scalar_one_or_none()
    if found is None:
        known = connection.execute(select(pools.c.name).order_by(pools.c.id).limit(20)).scalars()
        raise StoreError(f"no pool is called {pool!r}: there are {', '.join(known) or 'none yet'}")
    return found


def _ids(connection: Connection, chosen: Filter, after: int | None, most: int, newest: bool) -> list[int]:
    """Each part of the union is read off one index in order, so that a page costs no more than it holds."""
    order = games.c.id.desc() if newest else games.c.id
    common: list[ColumnElement[bool]] = []
    if chosen.pool is not None:
        common.append(games.c.pool == chosen.pool)
    if chosen.termination is not None:
        common.append(games.c.termination == chosen.termination)
    if after is not None:
        common.append(games.c.id < after if newest else games.c.id > after)
    parts = [select(games.c.id).where(*common, part).order_by(order).limit(most) for part in _sides(chosen)]
    if not parts:
        parts = [select(games.c.id).where(*common).order_by(order).limit(most)]
    found = {id for part in parts for id in connection.execute(part).scalars()}
    return sorted(found, reverse=newest)[:most]


def _sides(chosen: Filter) -> Iterator[ColumnElement[bool]]:
    """The filter by who played, one index each: every bot in seat 1, every bot in seat 2."""
    for bot in chosen.bots or ():
        for seat, other in ((games.c.first, games.c.second), (games.c.second, games.c.first)):
            yield and_(seat == bot, other.in_(chosen.opponents)) if chosen.opponents else seat == bot


def _labels(connection: Connection, ids: set[int]) -> dict[int, str]:
    query = select(versions.c.id, versions.c.label).where(versions.c.id.in_(ids))
    found = {row.id: row.label for row in connection.execute(query)}
    return {NOBODY: "", ENGINE: "engine", **found}


def _game(row: Row[Any], labels: dict[int, str]) -> GameRow:
    return GameRow(
        id=row.id,
        key=row.key,
        pool=row.pool_name,
        pair=row.number,
        game=row.game,
        attempt=row.attempt,
        first=labels[row.first],
        second=labels[row.second],
        result=row.result,
        winner=row.winner,
        termination=row.termination,
        culprit=labels[row.culprit],
        detail=row.detail,
        plies=row.plies,
        ms1=row.ms1,
        ms2=row.ms2,
        suspect=row.suspect,
        ended=row.ended,
    )
