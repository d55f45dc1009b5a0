"""Lists of stored matches, in pages: memory stays bounded, and no read transaction stays open."""

from dataclasses import fields
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select

from ggp.referee.ladder.store.entries import called
from ggp.referee.ladder.store.model import GAMES, GameFilter, GameRow, StoreError
from ggp.referee.ladder.store.schema import ENGINE, games, pairs, pools, records, versions

Conditions = list[ColumnElement[bool]]

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


def conditions(connection: Connection, wanted: GameFilter) -> list[Conditions]:
    """Return the conditions of a filter. A match is wanted if it meets all of one list.

    Each list can be read off one index in order, so that a page costs no more than it holds.

    Raises:
        StoreError: There is no such pool or bot.
    """
    common: Conditions = []
    if wanted.pool is not None:
        common.append(games.c.pool == find_pool(connection, wanted.pool))
    if wanted.termination is not None:
        common.append(games.c.termination == wanted.termination)
    if wanted.since is not None:
        common += [
            games.c.ended >= _stored(wanted.since),
            games.c.id >= _id_at(connection, _moved(wanted.since, -_SLACK)),
        ]
    if wanted.until is not None:
        common += [games.c.ended < _stored(wanted.until), games.c.id < _id_at(connection, _moved(wanted.until, _SLACK))]
    bots, others = (_versions(connection, who) for who in (wanted.bot, wanted.against))
    if wanted.bot is None:
        bots, others = others, []
    if not bots:
        return [[*common, *_came_out(wanted.result, None, 0)]]
    found = []
    for bot in bots:
        for seat, mine, other in ((1, games.c.first, games.c.second), (2, games.c.second, games.c.first)):
            if wanted.seat in (0, seat):
                of_bot = [mine == bot, *_came_out(wanted.result, bot, seat)]
                of_bot += [other.in_(others)] if others else []
                of_bot += [_of_pairs(bot, wanted.points)] if wanted.points is not None else []
                found.append([*common, *of_bot])
    return found


def page(
    connection: Connection, chosen: list[Conditions], after: int | None, most: int, newest: bool, whole: bool
) -> list[tuple[GameRow, bytes]]:
    """Return up to `most` of the chosen matches that come after the id `after`, with their records if `whole`."""
    order = games.c.id.desc() if newest else games.c.id
    behind: Conditions = [] if after is None else [games.c.id < after if newest else games.c.id > after]
    queries = [select(games.c.id).where(*these, *behind).order_by(order).limit(most) for these in chosen]
    found = {id for query in queries for id in connection.execute(query).scalars()}
    query = (
        select(*_FACTS, records.c.data if whole else literal(b""))
        .join(pairs, pairs.c.id == games.c.pair)
        .join(pools, pools.c.id == games.c.pool)
        .join(_ONE, _ONE.c.id == games.c.first)
        .join(_TWO, _TWO.c.id == games.c.second)
        .outerjoin(_CULPRIT, _CULPRIT.c.id == games.c.culprit)
        .where(games.c.id.in_(sorted(found, reverse=newest)[:most]))
        .order_by(order)
    )
    if whole:
        query = query.join(records, records.c.game == games.c.id)
    return [(GameRow(*values), data) for *values, data in connection.execute(query)]


def find_pool(connection: Connection, pool: int | str) -> int:
    """Return the id of a pool that is given by id or name. Raises StoreError for an unknown one."""
    where = pools.c.id == pool if isinstance(pool, int) else pools.c.name == pool
    found: int | None = connection.execute(select(pools.c.id).where(where)).scalar_one_or_none()
    if found is None:
        known = connection.execute(select(pools.c.name).order_by(pools.c.id).limit(20)).scalars()
        raise StoreError(f"no pool is called {pool!r}: there are {', '.join(known) or 'none yet'}", code="no-such-pool")
    return found


def _versions(connection: Connection, bot: int | str | None) -> list[int]:
    if bot is None or isinstance(bot, int):
        return [] if bot is None else [bot]
    return called(connection, bot)


def _moved(when: datetime, by: timedelta) -> datetime:
    try:
        return when + by
    except OverflowError:  # before the first day or after the last
        return when


def _of_pairs(bot: int, points: float) -> ColumnElement[bool]:
    """Return the condition for games that count, of pairs in which the bot won so many points."""
    as_first = and_(pairs.c.first == bot, pairs.c.points == points)
    won = or_(as_first, and_(pairs.c.second == bot, pairs.c.points == GAMES - points))
    return and_(games.c.result != "", exists().where(pairs.c.id == games.c.pair, won))


def _came_out(result: str, bot: int | None, seat: int) -> Conditions:
    """Return the conditions for matches with this result for the bot in that seat; EITHER_WAY needs no bot."""
    won, lost = games.c.winner == seat, games.c.winner == 3 - seat
    other = games.c.second if seat == 1 else games.c.first
    return {
        "": [],
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
    """Write a moment as the beginning of a stored one, so that both can be compared as text."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _id_at(connection: Connection, moment: datetime) -> int:
    """Return the id of the first match that ended then or later, if matches were stored in the order they ended."""
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
