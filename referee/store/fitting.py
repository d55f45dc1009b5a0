"""Sums and ratings of pools as they are kept, so that a page of standings costs nothing. It rates nobody."""

from collections import Counter
from typing import Any

from sqlalchemy import Connection, Select, func, select

from referee.store.counting import SCORE_COLUMNS
from referee.store.remarks import read_remarks, write_remarks
from referee.store.rows import Fit, FitRow, Totals
from referee.store.schema import ENGINE, NOBODY, endings, fits, pools, ratings, scores, versions

_ROW = ("version", "elo", "se", "games", "score", "next_elo", "next_se", "next_los")
_FIT = ("games", "model", "advantage", "advantage_se", "tie")


def totals(connection: Connection, pool: int | None) -> Totals:
    """Of one pool or of all."""
    sums, played = select(endings), select(func.coalesce(func.sum(pools.c.played), 0))
    if pool is not None:
        sums, played = sums.where(endings.c.pool == pool), played.where(pools.c.id == pool)
    names = {ENGINE: "engine", **{row.id: row.label for row in connection.execute(_blamed(pool))}}
    terminations: Counter[str] = Counter()
    faults: Counter[tuple[str, str]] = Counter()
    count = void = 0
    for row in connection.execute(sums):
        count += row.games
        void += row.void
        terminations[row.termination] += row.games + row.void
        if row.culprit != NOBODY:
            faults[names[row.culprit], row.termination] += row.games + row.void
    return Totals(count, void, int(connection.execute(played).scalar_one()), terminations, faults)


def counted(connection: Connection, pool: int) -> int:
    """How many games of a pool count."""
    query = select(func.coalesce(func.sum(endings.c.games), 0)).where(endings.c.pool == pool)
    return int(connection.execute(query).scalar_one())


def scored(connection: Connection, pool: int) -> dict[int, tuple[int, ...]]:
    """Of every version that met anybody, by play and by faults: wins, ties, losses, forfeits, gifts, and void games.

    Its forfeits are among the losses, those of others, the gifts, among its wins.
    """
    query = select(scores.c.version, *(scores.c[name] for name in SCORE_COLUMNS)).where(scores.c.pool == pool)
    return {version: tuple(counts) for version, *counts in connection.execute(query.order_by(scores.c.version))}


def save(connection: Connection, pool: int, fit: Fit) -> None:
    """Instead of the one before."""
    for table in (ratings, fits):
        connection.execute(table.delete().where(table.c.pool == pool))
    values = {name: getattr(fit, name) for name in _FIT}
    connection.execute(fits.insert().values(pool=pool, remarks=write_remarks(fit), **values))
    rows = [
        {"pool": pool, "rank": rank, "version": row.id, **{name: getattr(row, name) for name in _ROW[1:]}}
        for rank, row in enumerate(fit.rows)
    ]
    if rows:
        connection.execute(ratings.insert(), rows)


def load(connection: Connection, pool: int) -> Fit | None:
    """The last one that was saved."""
    row = connection.execute(select(fits).where(fits.c.pool == pool)).one_or_none()
    if row is None:
        return None
    query = select(*(ratings.c[name] for name in _ROW)).where(ratings.c.pool == pool).order_by(ratings.c.rank)
    rows = tuple(FitRow(*values) for values in connection.execute(query))
    return read_remarks(Fit(pool, row.games, row.model, row.advantage, row.advantage_se, row.tie, rows), row.remarks)


def _blamed(pool: int | None) -> Select[Any]:
    ids = select(endings.c.culprit)
    if pool is not None:
        ids = ids.where(endings.c.pool == pool)
    return select(versions.c.id, versions.c.label).where(versions.c.id.in_(ids))
