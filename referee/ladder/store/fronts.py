"""The front processes of a lobby that share a store: which of them run, which bot is where, who may play which pair.

Every function is called within the caller's transaction. One transaction writes at a time over all processes (see
database), so a look before a change is safe.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, and_, func, select

from ggp.referee.ladder.store.database import in_parts, parts
from ggp.referee.ladder.store.entries import FRONT_SILENCE, Holder, check_free, clock, fronts_of
from ggp.referee.ladder.store.model import Locked, Taken
from ggp.referee.ladder.store.schema import ISSUED, fronts, pairs, present


@dataclass(frozen=True, slots=True)
class FrontRow:
    """A front that runs: `url` is where bots dial it, `bots` the number of those that are there."""

    name: str
    url: str
    bots: int


def join(connection: Connection, me: Holder, name: str, store: str) -> None:
    """Begin to run this front. Raises Locked while another process runs it, or runs the whole store."""
    now = clock(connection)
    check_free(connection, me, now, store)
    there = fronts_of(connection).get(name)
    if there is not None and there[0] != me and there[0].lives(me, now, FRONT_SILENCE):
        raise Locked(f"front {name} of {store} is run by {there[0]}: end it, or name another front")
    connection.execute(present.delete().where(present.c.front == name))
    connection.execute(fronts.delete().where(fronts.c.name == name))
    connection.execute(fronts.insert().values(name=name, url="", **asdict(replace(me, taken=now, beat=now))))


def renew(
    connection: Connection, me: Holder, name: str, url: str, judge: bool, store: str
) -> tuple[bool, list[FrontRow]]:
    """Record that this front lives and where bots dial it, and remove fronts that have ended, with what they held.

    `judge`: also those elsewhere, by their heartbeats; a caller that could not reach the store itself must not.
    Returns whether another front had removed this one meanwhile, and the others that run, by name. Raises Taken if
    another process runs this front.
    """
    now, rows = clock(connection), fronts_of(connection)
    mine = rows.pop(name, None)
    if mine is not None and mine[0] != me:
        raise Taken(f"{store}: front {name} is run by {mine[0]} now: end this process")
    if mine is None:
        connection.execute(fronts.insert().values(name=name, url=url, **asdict(replace(me, taken=now, beat=now))))
    else:
        connection.execute(fronts.update().where(fronts.c.name == name).values(url=url, beat=now))
    for other, (its, _) in list(rows.items()):
        if (judge or its.near(me)) and not its.lives(me, now, FRONT_SILENCE):
            leave(connection, its, other)
            del rows[other]
    rows_of = select(present.c.front, func.count().label("bots")).group_by(present.c.front)
    counts = {row.front: row.bots for row in connection.execute(rows_of)}
    return mine is None, [FrontRow(one, said, counts.get(one, 0)) for one, (_, said) in sorted(rows.items())]


def leave(connection: Connection, its: Holder, name: str) -> None:
    """Remove the front if this process runs it: its bots are nowhere, and any front may play its pairs."""
    if (there := fronts_of(connection).get(name)) is not None and there[0] == its:
        disclaim(connection, name)
        connection.execute(present.delete().where(present.c.front == name))
        connection.execute(fronts.delete().where(fronts.c.name == name))


# -- Bots: each is at one front.


def lease(connection: Connection, name: str, arrived: Collection[str], left: Collection[str]) -> dict[str, str]:
    """Record that bots arrived at this front and others left it. Return those at another front, with its url."""
    for bots in parts(left):
        connection.execute(present.delete().where(present.c.bot.in_(bots), present.c.front == name))
    there = {row.bot: row.front for row in in_parts(connection, select(present), present.c.bot, arrived)}
    if new := [{"bot": bot, "front": name} for bot in arrived if bot not in there]:
        connection.execute(present.insert(), new)
    urls = {row.name: row.url for row in connection.execute(select(fronts.c.name, fronts.c.url))}
    return {bot: urls.get(front, "") for bot, front in there.items() if front != name}


def elsewhere(connection: Connection, name: str, bots: Collection[str]) -> set[str]:
    """Return which of the bots are at another front."""
    rows = in_parts(connection, select(present), present.c.bot, bots)
    return {row.bot for row in rows if row.front != name}


# -- Pairs: what one front claims no other plays.


def claim(connection: Connection, name: str, ids: Collection[int]) -> set[int]:
    """Claim open pairs, and return those of them that this front may play."""
    mine = {
        row.id
        for row in in_parts(connection, select(pairs.c.id, pairs.c.state, pairs.c.front), pairs.c.id, ids)
        if row.state == ISSUED and row.front in (None, name)
    }
    for part in parts(mine):
        connection.execute(pairs.update().where(pairs.c.id.in_(part)).values(front=name))
    return mine


def disclaim(connection: Connection, name: str, ids: Collection[int] | None = None, keep: Collection[int] = ()) -> None:
    """Let any front play these pairs, by default all that this one claims except `keep`."""
    mine = and_(pairs.c.state == ISSUED, pairs.c.front == name)
    if ids is None:
        claimed = set(connection.execute(select(pairs.c.id).where(mine)).scalars())
        ids = claimed.difference(keep)
    for part in parts(ids):
        connection.execute(pairs.update().where(mine, pairs.c.id.in_(part)).values(front=None))
