"""The tables that are derived from the games: results of pairs, tallies, scores, endings, lines, pairs of each pool.

One query for each table says what its rows are. New games are added by the same query, restricted to their ids; the
audit compares and rebuilds whole tables by it.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    FromClause,
    Insert,
    Row,
    ScalarSelect,
    Select,
    Table,
    and_,
    bindparam,
    case,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.dialects import sqlite

from ggp.referee.ladder.store.database import execute_many
from ggp.referee.ladder.store.model import GAMES, PairScore
from ggp.referee.ladder.store.schema import (
    ID,
    ISSUED,
    PLAYED,
    REPEATS,
    endings,
    games,
    lines,
    pairs,
    pools,
    scores,
    tallies,
)
from ggp.referee.match.outcome import BY_PLAY
from ggp.referee.match.series import seats

COLUMNS = ("wins", "ties", "losses", "forfeit_wins", "forfeit_losses", "void")
SCORE_COLUMNS = ("wins", "ties", "losses", "forfeits", "gifts", "void")
_IN_SCORES = {  # a column of a tally -> the columns of the scores of seat 1 and of seat 2
    "wins": (("wins",), ("losses",)),
    "ties": (("ties",), ("ties",)),
    "losses": (("losses",), ("wins",)),
    "forfeit_wins": (("wins", "gifts"), ("losses", "forfeits")),
    "forfeit_losses": (("losses", "forfeits"), ("wins", "gifts")),
    "void": (("void",), ("void",)),
}
_KEYS = {table: tuple(column.name for column in table.primary_key) for table in (tallies, scores, endings, lines)}
_STANDING = ("state", "done", "points")
_AFTER = bindparam("after", 0, type_=ID)  # the highest id before the new rows
_MOST = 1 << 40  # new rows: with two bounds SQLite finds them by their ids, with one it reads the whole table

# Conditions on a game, as seat 1 sees it.
_WON, _TIED, _LOST = (and_(games.c.result != "", games.c.winner == winner) for winner in (1, 0, 2))
_VOID, _BY_PLAY = games.c.result == "", games.c.termination.in_(BY_PLAY)
_RESULTS = {"wins": _WON, "ties": _TIED, "losses": _LOST}
_OUTCOMES = {
    "wins": and_(_WON, _BY_PLAY),
    "ties": _TIED,
    "losses": and_(_LOST, _BY_PLAY),
    "forfeit_wins": and_(_WON, ~_BY_PLAY),
    "forfeit_losses": and_(_LOST, ~_BY_PLAY),
    "void": _VOID,
}


# -- Add what is new.


def count_games(connection: Connection, after: int) -> None:
    """Add the games whose id is above `after` to the tallies, scores, endings and lines."""
    for statement in _additions(connection.dialect.name)[0]:
        execute_many(connection, statement, [{"after": after}])


def count_pairs(connection: Connection, after: int) -> None:
    """Add the issued pairs whose id is above `after` to the tallies."""
    execute_many(connection, _additions(connection.dialect.name)[1], [{"after": after}])


def settle(connection: Connection, after: int | None = None) -> list[int]:
    """Give pairs the state, the finished games and the points that follow from their games.

    Args:
        connection: An open transaction.
        after: Look only at the pairs of the games whose id is above this one; None means all pairs.

    Returns:
        The pool of each pair that is now played and was not before.
    """
    if after is None:
        rows = connection.execute(_differing_pairs()).all()
    else:
        rows = connection.execute(_DIFFERING, {"after": after}).all()
    if rows:
        true = {f"new_{name}": f"true_{name}" for name in _STANDING}
        changes = [{"pair": row.id, **{new: getattr(row, name) for new, name in true.items()}} for row in rows]
        execute_many(connection, _SETTLE, changes)
    return [row.pool for row in rows if row.true_state == PLAYED != row.state]


_SETTLE = (
    pairs.update().where(pairs.c.id == bindparam("pair")).values({name: bindparam(f"new_{name}") for name in _STANDING})
)


@cache
def _additions(dialect: str) -> tuple[list[Insert], Insert]:
    """Return the statements that add new games, and the one that adds new pairs."""
    new = games.c.id.between(_AFTER + 1, _AFTER + _MOST)
    met, issued = _met(new), _issued(pairs.c.id.between(_AFTER + 1, _AFTER + _MOST))
    with_issued = met.add_columns(literal(0).label("issued"))
    queries = {tallies: with_issued, scores: _scores(met.subquery()), endings: _endings(new), lines: _lines(new)}
    return [_adding(dialect, table, query) for table, query in queries.items()], _adding(dialect, tallies, issued)


def _adding(dialect: str, table: Table, query: Select[Any]) -> Insert:
    """Return the statement that inserts the rows of a query, or adds their counts to existing rows."""
    if dialect == "sqlite":
        insert: Any = sqlite.insert(table)
    else:
        from sqlalchemy.dialects import postgresql  # 2.5 MiB

        insert = postgresql.insert(table)
    new = insert.excluded
    changes = {column.name: column + new[column.name] for column in table.columns if not column.primary_key}
    if table is lines:
        least, most = table.c.least, table.c.most
        changes["least"] = case((new.least < least, new.least), else_=least)
        changes["most"] = case((new.most > most, new.most), else_=most)
    adding: Insert = insert.from_select(query.selected_columns.keys(), query).on_conflict_do_update(
        index_elements=_KEYS[table], set_=changes
    )
    return adding


def counts_of(connection: Connection, these: ColumnElement[bool]) -> dict[tuple[int, int], list[int]]:
    """Return what these finished games add to the tallies of each ordered pair of versions, in the order of COLUMNS."""
    return {(first, second): counts for _, first, second, *counts in connection.execute(_met(these))}


def repeats_of(connection: Connection, pool: int) -> list[tuple[int, int, int, int, int]]:
    """Return the games that repeat others and do not count: first, second, wins, ties, losses of each ordered pair.

    If all games of two versions from one opening and seating are the same, three or more, all but one of them are
    repeats (see ggp.referee.ratings.repeats). A partial index holds only these lines.
    """
    sums = [func.sum(case((lines.c[name] > 0, lines.c[name] - 1), else_=0)).cast(ID) for name in _RESULTS]
    both = lines.c.first, lines.c.second
    query = select(*both, *sums).where(lines.c.pool == pool, text(REPEATS)).group_by(*both).order_by(*both)
    return [(row[0], row[1], row[2], row[3], row[4]) for row in connection.execute(query)]


# -- Compare and rebuild whole tables.


def refresh(connection: Connection) -> None:
    """Rebuild every derived row from the games."""
    settle(connection)
    for table, query in _counted(tallies).items():
        _make_again(connection, table, query)
    connection.execute(pools.update().values(played=_played_pairs()))


def refresh_lines(connection: Connection) -> None:
    """Rebuild the rows of `lines` from the games."""
    _make_again(connection, lines, _lines())


def _make_again(connection: Connection, table: Table, query: Select[Any]) -> None:
    connection.execute(table.delete())
    connection.execute(table.insert().from_select(query.selected_columns.keys(), query))


def differences(connection: Connection) -> Iterator[str]:
    """Yield a line for every derived row that differs from what the games say."""
    for row in connection.execute(_differing_pairs()):
        yield f"pair {row.number} of pool {row.pool} is {_described(row, '')}, by its games {_described(row, 'true_')}"
    met: FromClause = tallies
    for table, names in _KEYS.items():
        query = _counted(met)[table]
        stored = select(*(table.c[column.name] for column in query.selected_columns))
        there, true = (_by_key(connection, table, one) for one in (stored.except_(query), query.except_(stored)))
        if table is tallies and (there or true):
            met = _tallies().cte()  # the scores are counted from correct tallies
        for key in sorted(there.keys() | true.keys()):
            place = ", ".join(f"{name} {value}" for name, value in zip(names, key, strict=True))
            yield f"{table.name} of {place}: {there.get(key) or 'nothing'}, by the games {true.get(key) or 'nothing'}"
    counted = select(pools.c.name, pools.c.played, _played_pairs().label("true_played"))
    for name, played, true_played in connection.execute(counted):
        if played != true_played:
            yield f"pool {name} has {played} pairs played, by its pairs {true_played}"


def _by_key(connection: Connection, table: Table, query: CompoundSelect[Any]) -> dict[tuple[Any, ...], dict[str, int]]:
    keys = _KEYS[table]
    return {
        tuple(row[key] for key in keys): {name: number for name, number in row.items() if name not in keys and number}
        for row in connection.execute(query).mappings()
    }


def _described(row: Row[Any], prefix: str) -> str:
    state, done, points = (getattr(row, f"{prefix}{name}") for name in _STANDING)
    return f"{state} with games {done:02b} and points {points}"


# -- The rows of each table, by the games.


def _counted(met: FromClause) -> dict[Table, Select[Any]]:
    """Return the query for the rows of each table. `met` stands for the tallies, and must be correct."""
    return {tallies: _tallies(), scores: _scores(met), endings: _endings(), lines: _lines()}


def _met(*these: ColumnElement[bool]) -> Select[Any]:
    """Return the query for what these finished games add to `tallies`."""
    return _grouped(tallies, _OUTCOMES, games.c.finished, *these)


def _issued(*these: ColumnElement[bool]) -> Select[Any]:
    keys = [pairs.c[key] for key in _KEYS[tallies]]
    counts = (literal(0).label(name) for name in COLUMNS)
    return select(*keys, *counts, func.count().label("issued")).where(*these).group_by(*keys)


def _tallies() -> Select[Any]:
    return _summed(tallies, _met().add_columns(literal(0).label("issued")).union_all(_issued()))


def _scores(met: FromClause) -> Select[Any]:
    sides = []
    for side, seat in enumerate(("first", "second")):
        terms = {
            name: [met.c[column] for column in COLUMNS if name in _IN_SCORES[column][side]] for name in SCORE_COLUMNS
        }
        sums = (sum(columns[1:], columns[0]).label(name) for name, columns in terms.items())
        finished = or_(*(met.c[column] > 0 for column in COLUMNS))
        sides.append(select(met.c.pool, met.c[seat].label("version"), *sums).where(finished))
    return _summed(scores, sides[0].union_all(sides[1]))


def _endings(*these: ColumnElement[bool]) -> Select[Any]:
    return _grouped(endings, {**_RESULTS, "void": _VOID}, *these)


def _lines(*these: ColumnElement[bool]) -> Select[Any]:
    query = _grouped(lines, _RESULTS, games.c.finished, ~_VOID, *these)
    return query.add_columns(func.min(games.c.moves).label("least"), func.max(games.c.moves).label("most"))


def _grouped(table: Table, kinds: dict[str, ColumnElement[bool]], *these: ColumnElement[bool]) -> Select[Any]:
    """Return the query that counts games of each kind by the key of a table."""
    keys = [games.c[key] for key in _KEYS[table]]
    counts = (func.count(case((kind, 1))).label(name) for name, kind in kinds.items())
    return select(*keys, *counts).where(*these).group_by(*keys)


def _summed(table: Table, rows: CompoundSelect[Any]) -> Select[Any]:
    """Return the sums of rows by the key of a table. PostgreSQL sums whole numbers as NUMERIC, hence the cast."""
    given = rows.subquery().c
    keys = [given[key] for key in _KEYS[table]]
    names = (column.name for column in table.columns if not column.primary_key)
    return select(*keys, *(func.sum(given[name]).cast(ID).label(name) for name in names)).group_by(*keys)


def _differing_pairs(among: Select[tuple[int]] | None = None) -> Select[Any]:
    """Return the query for pairs (all, or those with these ids) that differ from their games.

    Besides the columns of the pair it gives `true_state`, `true_done` and `true_points`.
    """
    bit = case((games.c.game == 0, 1), else_=2)
    of_first = case((games.c.winner == 0, 0.5), (games.c.winner == games.c.game + 1, 1.0), else_=0.0)
    by_pair = (
        select(
            games.c.pair,
            func.sum(bit).label("done"),
            func.sum(of_first).label("points"),
            func.min(case((_VOID, 0), else_=1)).label("counts"),
        )
        .where(games.c.finished)
        .group_by(games.c.pair)
    )
    # The grouping is restricted, too: SQLite would otherwise read all games.
    ended = (by_pair if among is None else by_pair.where(games.c.pair.in_(among))).subquery()
    done = func.coalesce(ended.c.done, 0)
    played = done == (1 << GAMES) - 1
    points = case((and_(played, ended.c.counts == 1), ended.c.points))
    state = case((played, PLAYED), (pairs.c.state == PLAYED, ISSUED), else_=pairs.c.state)
    query = (
        select(pairs, state.label("true_state"), done.label("true_done"), points.label("true_points"))
        .outerjoin(ended, ended.c.pair == pairs.c.id)
        .where(or_(pairs.c.state != state, pairs.c.done != done, pairs.c.points.is_distinct_from(points)))
        .order_by(pairs.c.id)
    )
    return query if among is None else query.where(pairs.c.id.in_(among))


_DIFFERING = _differing_pairs(select(games.c.pair).where(games.c.id > _AFTER))


def _played_pairs() -> ScalarSelect[int]:
    return select(func.count()).where(pairs.c.pool == pools.c.id, pairs.c.state == PLAYED).scalar_subquery()


# -- The games of a pair.


def ordered(first: int, second: int, game: int) -> tuple[int, int]:
    """Return the versions of a pair by seat: who has seat 1 in this game, then who has seat 2."""
    return (first, second) if seats(game) == (0, 1) else (second, first)


def meetings_of(first: int, second: int, ended: Iterable[Row[Any]]) -> tuple[PairScore, ...]:
    """Return what each finished game of a pair adds to the tallies, in the order of the games."""
    return tuple(PairScore(*ordered(first, second, row.game), **{_outcome(row): 1}) for row in ended)


def _outcome(row: Row[Any]) -> str:
    """Return the name in COLUMNS under which a game counts. A game lost by a fault is a forfeit."""
    name = ("ties", "wins", "losses")[row.winner] if row.result else "void"
    return f"forfeit_{name}" if name in ("wins", "losses") and row.termination not in BY_PLAY else name


def played_games(done: int) -> tuple[int, ...]:
    """Return the games (0, 1) that the bits of pairs.done stand for."""
    return tuple(game for game in range(GAMES) if done >> game & 1)
