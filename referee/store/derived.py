"""Everything that counts games, worked out anew from the table of games: what differs, and how it should be.

Whether the games themselves are as their records say is rebuild's part.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    case,
    func,
    literal,
    or_,
    select,
)

from referee.play.outcome import Termination
from referee.store.counting import ALL_DONE, COLUMNS, SCORE_COLUMNS, score_columns
from referee.store.schema import ISSUED, PLAYED, endings, games, pairs, pools, scores, tallies

_KEYS = {
    tallies: ("pool", "first", "second"),
    scores: ("pool", "version"),
    endings: ("pool", "termination", "culprit"),
}
_STANDING = ("state", "done", "points")


def differences(connection: Connection) -> Iterator[str]:
    """A line for every derived row that is not what the games make it."""
    for row in _pairs_that_differ(connection):
        yield f"pair {row.number} of pool {row.pool} is {_said(row, '')}, by its games {_said(row, 'true_')}"
    for query, table in _counted():
        there, true = _by_key(connection, select(table), table), _by_key(connection, query, table)
        for key in sorted(there.keys() | true.keys()):
            if (have := there.get(key)) != (should := true.get(key)):
                yield f"{table.name} of {_words(table, key)}: {have or 'nothing'}, by the games {should or 'nothing'}"
    for row in connection.execute(_played_pairs()):
        if row.played != row.true_played:
            yield f"pool {row.name} has {row.played} pairs played, by its pairs {row.true_played}"


def refresh(connection: Connection) -> None:
    """Make every derived row what the games make it."""
    stand = [
        {"pair": row.id, **{f"new_{name}": getattr(row, f"true_{name}") for name in _STANDING}}
        for row in _pairs_that_differ(connection)
    ]
    if stand:
        values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _STANDING}
        connection.execute(pairs.update().where(pairs.c.id == bindparam("pair")).values(values), stand)
    for query, table in _counted():
        rows = [dict(row._mapping) for row in connection.execute(query)]
        connection.execute(table.delete())
        if rows:
            connection.execute(table.insert(), rows)
    counted = {row.id: row.true_played for row in connection.execute(_played_pairs())}
    for id, played in counted.items():
        connection.execute(pools.update().where(pools.c.id == id).values(played=played))


def _counted() -> tuple[tuple[Select[Any], Table], ...]:
    return (_tallies(), tallies), (_scores(), scores), (_endings(), endings)


def _pairs_that_differ(connection: Connection) -> Iterator[Row[Any]]:
    """With `true_` state, done and points."""
    bit = case((games.c.game == 0, 1), else_=2)
    of_first = case((games.c.winner == 0, 0.5), (games.c.winner == games.c.game + 1, 1.0), else_=0.0)
    ended = (
        select(
            games.c.pair,
            func.sum(bit).label("done"),
            func.sum(of_first).label("points"),
            func.min(case((games.c.result == "", 0), else_=1)).label("counts"),
        )
        .where(games.c.finished)
        .group_by(games.c.pair)
        .subquery()
    )
    done = func.coalesce(ended.c.done, 0)
    played = done == ALL_DONE
    points = case((and_(played, ended.c.counts == 1), ended.c.points))
    state = case((played, PLAYED), (pairs.c.state == PLAYED, ISSUED), else_=pairs.c.state)
    query = (
        select(pairs, state.label("true_state"), done.label("true_done"), points.label("true_points"))
        .outerjoin(ended, ended.c.pair == pairs.c.id)
        .where(or_(pairs.c.state != state, pairs.c.done != done, pairs.c.points.is_distinct_from(points)))
        .order_by(pairs.c.id)
    )
    return iter(connection.execute(query).all())


def _tallies() -> Select[Any]:
    """The rows of `tallies`: pairs issued, and finished games by what they count as (see counting.column)."""
    by_play = games.c.termination.in_((Termination.RULES, Termination.RESIGNATION))
    counts = games.c.result != ""
    kinds: dict[str, ColumnElement[bool]] = {
        "wins": and_(counts, games.c.winner == 1, by_play),
        "ties": and_(counts, games.c.winner == 0),
        "losses": and_(counts, games.c.winner == 2, by_play),
        "forfeit_wins": and_(counts, games.c.winner == 1, ~by_play),
        "forfeit_losses": and_(counts, games.c.winner == 2, ~by_play),
        "void": ~counts,
    }
    keys = _KEYS[tallies]
    ended = select(
        *(games.c[key] for key in keys),
        literal(0).label("issued"),
        *(case((kinds[name], 1), else_=0).label(name) for name in COLUMNS),
    ).where(games.c.finished)
    issued = select(
        *(pairs.c[key] for key in keys), literal(1).label("issued"), *(literal(0).label(name) for name in COLUMNS)
    )
    both = ended.union_all(issued).subquery()
    return _summed(both.c, keys, ("issued", *COLUMNS))


def _scores() -> Select[Any]:
    """The rows of `scores`, from the meetings that the games make."""
    met = _tallies().cte()
    sides = []
    for side, seat in enumerate(("first", "second")):
        parts = {
            name: [met.c[column] for column in COLUMNS if name in score_columns(column)[side]] for name in SCORE_COLUMNS
        }
        sums = (sum(columns[1:], columns[0]).label(name) for name, columns in parts.items())
        finished = or_(*(met.c[column] > 0 for column in COLUMNS))
        sides.append(select(met.c.pool, met.c[seat].label("version"), *sums).where(finished))
    both = sides[0].union_all(sides[1]).subquery()
    return _summed(both.c, _KEYS[scores], SCORE_COLUMNS)


def _endings() -> Select[Any]:
    counts = case((games.c.result != "", 1), else_=0)
    keys = _KEYS[endings]
    matches = select(*(games.c[key] for key in keys), counts.label("games"), (1 - counts).label("void")).subquery()
    return _summed(matches.c, keys, ("games", "void"))


def _summed(columns: Any, keys: tuple[str, ...], sums: tuple[str, ...]) -> Select[Any]:
    by = [columns[key] for key in keys]
    return select(*by, *(_whole(func.sum(columns[name]), name) for name in sums)).group_by(*by)


def _whole(number: ColumnElement[Any], name: str) -> ColumnElement[Any]:
    """PostgreSQL adds up whole numbers as NUMERIC."""
    return number.cast(tallies.c.wins.type).label(name)


def _played_pairs() -> Select[Any]:
    count = select(func.count()).where(pairs.c.pool == pools.c.id, pairs.c.state == PLAYED)
    return select(pools.c.id, pools.c.name, pools.c.played, count.scalar_subquery().label("true_played"))


def _by_key(connection: Connection, query: Select[Any], table: Table) -> dict[tuple[Any, ...], dict[str, int]]:
    keys = _KEYS[table]
    return {
        tuple(row[key] for key in keys): {name: number for name, number in row.items() if name not in keys and number}
        for row in connection.execute(query).mappings()
    }


def _words(table: Table, key: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(_KEYS[table], key, strict=True))


def _said(row: Row[Any], which: str) -> str:
    state, done, points = (getattr(row, f"{which}{name}") for name in _STANDING)
    return f"{state} with games {done:02b} and points {points}"
