"""Challenges: unrated series that somebody asked for. Within the caller's transaction.

A challenge is a batch of an unrated pool, all of whose pairs are issued at once.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, func, select

from referee.ladder.pairs import Pair, Pairing
from referee.store.enrolment import now
from referee.store.errors import StoreError
from referee.store.pairing import extent, issue
from referee.store.rows import ChallengeRow
from referee.store.schema import ISSUED, NAME, PLAYED, TEXT, WITHDRAWN, WORD, challenges, games, pairs, pools
from referee.store.words import clean


def challenge(
    connection: Connection, pool: int, pairing: Pairing, number: int, owner: str, until: str
) -> tuple[int, list[Pair]]:
    """So many pairs of these two; the challenge's id, and its pairs. Raises StoreError for a pool that is rated."""
    if connection.execute(select(pools.c.rated).where(pools.c.id == pool)).scalar_one_or_none() is not False:
        raise StoreError(f"pool {pool} is none for unrated games")
    batch, _ = extent(connection, pool)
    made = issue(connection, pool, batch, [pairing] * number)
    last: int = connection.execute(select(func.coalesce(func.max(challenges.c.id), 0))).scalar_one()
    connection.execute(
        challenges.insert().values(
            id=last + 1,
            pool=pool,
            batch=batch,
            owner=clean(owner, NAME),
            asked=now(),
            until=clean(until, WORD),
            reason="",
        )
    )
    return last + 1, made


def withdraw(connection: Connection, id: int, reason: str, keep: Collection[int]) -> bool:
    """Play no more of it, but for the pairs `keep`, which are being played; False if nothing was left of it.

    The reason is kept if it is the first one, and somebody withdrew a pair.
    """
    row = connection.execute(select(challenges).where(challenges.c.id == id)).one_or_none()
    if row is None:
        raise StoreError(f"there is no challenge {id}")
    theirs = and_(pairs.c.pool == row.pool, pairs.c.batch == row.batch, pairs.c.state == ISSUED)
    left = connection.execute(
        pairs.update().where(theirs, pairs.c.id.not_in(list(keep))).values(state=WITHDRAWN)
    ).rowcount
    lost = and_(pairs.c.pool == row.pool, pairs.c.batch == row.batch, pairs.c.state.not_in((PLAYED, ISSUED)))
    if not row.reason and connection.execute(select(pairs.c.id).where(lost).limit(1)).first():
        these = challenges.c.id == id
        connection.execute(challenges.update().where(these).values(reason=clean(reason, TEXT) or "withdrawn"))
    return bool(left)


def listed(
    connection: Connection, pool: int | None = None, only_open: bool = False, most: int = 0
) -> list[ChallengeRow]:
    """Those of a pool, or all; those of which something is to be played; the newest so many (0: all). By id."""
    where: list[ColumnElement[bool]] = [] if pool is None else [challenges.c.pool == pool]
    if only_open:
        mine = and_(pairs.c.pool == challenges.c.pool, pairs.c.batch == challenges.c.batch, pairs.c.state == ISSUED)
        where.append(select(pairs.c.id).where(mine).exists())
    query = select(challenges).where(*where).order_by(challenges.c.id.desc()).limit(most or None)
    return [_stands(connection, row) for row in connection.execute(query).all()][::-1]


def find(connection: Connection, id: int) -> ChallengeRow | None:
    """How it stands; None if there is no such challenge."""
    row = connection.execute(select(challenges).where(challenges.c.id == id)).one_or_none()
    return None if row is None else _stands(connection, row)


def _stands(connection: Connection, row: Row[Any]) -> ChallengeRow:
    theirs = and_(pairs.c.pool == row.pool, pairs.c.batch == row.batch)
    of_pairs = select(
        func.min(pairs.c.first).label("first"),
        func.min(pairs.c.second).label("second"),
        func.count().label("pairs"),
        _count(pairs.c.state == PLAYED, "played"),
        _count(pairs.c.state == ISSUED, "open"),
    ).where(theirs)
    counts, first_won = games.c.result != "", games.c.winner == games.c.game + 1
    of_games = (
        select(
            _count(and_(counts, first_won), "wins"),
            _count(and_(counts, games.c.winner == 0), "draws"),
            _count(and_(counts, games.c.winner != 0, ~first_won), "losses"),
            _count(~counts, "void"),
        )
        .join(pairs, pairs.c.id == games.c.pair)
        .where(theirs, games.c.finished)
    )
    both = {**connection.execute(of_pairs).one()._mapping, **connection.execute(of_games).one()._mapping}
    return ChallengeRow(**{**row._mapping, **both})


def _count(which: ColumnElement[bool], name: str) -> ColumnElement[int]:
    return func.count(case((which, 1))).label(name)
