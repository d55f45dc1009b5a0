"""Tables that are derived from the games: pairs' results, tallies, scores, endings, pools' counts.

The store adds new games to them. One query a table says what its rows are: the audit compares or makes all rows by it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
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
from ggp.referee.ladder.store.model import GAMES, Pair, PairScore
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
ALL_DONE = (1 << GAMES) - 1
_IN_SCORES = {  # a column of a tally -> the columns of the scores of seat 1 and of seat 2
    "wins": (("wins",), ("losses",)),
    "ties": (("ties",), ("ties",)),
    "losses": (("losses",), ("wins",)),
    "forfeit_wins": (("wins", "gifts"), ("losses", "forfeits")),
    "forfeit_losses": (("losses", "forfeits"), ("wins", "gifts")),
    "void": (("void",), ("void",)),
}
_KEYS = {table: tuple(column.name for column in table.primary_key) for table in (tallies, scores, endings, lines)}
_PAGE = 1000  # rows that are compared at a time
_STANDING = ("state", "done", "points")


def count_games(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add new rows of `games` to the tallies, scores, endings and lines."""
    met: Counter[tuple[Any, ...]] = Counter()
    scored: Counter[tuple[Any, ...]] = Counter()
    ended: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        ended[row["pool"], row["termination"], row["culprit"], _result(row["result"], row["winner"])] += 1
        if row["finished"]:
            name = column(row["result"], row["winner"], row["termination"])
            met[row["pool"], row["first"], row["second"], name] += 1
            for version, columns in zip((row["first"], row["second"]), _IN_SCORES[name], strict=True):
                scored.update((row["pool"], version, one) for one in columns)
    for table, counts in ((tallies, met), (scores, scored), (endings, ended)):
        _add(connection, table, counts)
    _add_lines(connection, rows)


def count_pairs(connection: Connection, made: Iterable[Pair]) -> None:
    """Add issued pairs to the tallies."""
    _add(connection, tallies, Counter((pair.pool, pair.first, pair.second, "issued") for pair in made))


def _add(connection: Connection, table: Table, counts: Mapping[tuple[Any, ...], int]) -> None:
    """Add to the rows of a table. A key of `counts` is the primary key of a row, then the column."""
    names = [column.name for column in table.columns]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for (*key, name), number in sorted(counts.items()):
        row = rows.setdefault(tuple(key), dict.fromkeys(names, 0) | dict(zip(_KEYS[table], key, strict=True)))
        row[name] += number
    if rows:
        execute_many(connection, _adding(table, connection.dialect.name), list(rows.values()))


def _add_lines(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if not (row["finished"] and row["result"]):
            continue
        key, moves = tuple(row[name] for name in _KEYS[lines]), row["moves"]
        line = found.setdefault(
            key,
            dict(zip(_KEYS[lines], key, strict=True))
            | {"wins": 0, "ties": 0, "losses": 0, "least": moves, "most": moves},
        )
        line[_result(row["result"], row["winner"])] += 1
        line["least"], line["most"] = min(line["least"], moves), max(line["most"], moves)
    if found:
        ordered_lines = [line for _, line in sorted(found.items())]
        execute_many(connection, _adding(lines, connection.dialect.name), ordered_lines)


def repeats_of(connection: Connection, pool: int) -> list[tuple[int, int, int, int, int]]:
    """Games that repeat others and do not count, per ordered pair of versions: first, second, wins, ties, losses.

    All games from one opening and seating are the same there, three or more: all but one of them (see
    ggp.referee.ratings.repeats). An index holds these lines alone.
    """
    counted = ("wins", "ties", "losses")
    sums = [func.sum(case((lines.c[name] > 0, lines.c[name] - 1), else_=0)).cast(ID) for name in counted]
    these = select(lines.c.first, lines.c.second, *sums).where(lines.c.pool == pool, text(REPEATS))
    return [
        (int(first), int(second), int(wins), int(ties), int(losses))
        for first, second, wins, ties, losses in connection.execute(
            these.group_by(lines.c.first, lines.c.second).order_by(lines.c.first, lines.c.second)
        )
    ]


@cache
def _adding(table: Table, dialect: str) -> Insert:
    """Inserts rows, or adds them to those that are there; `least` and `most` become the least and the largest."""
    if dialect == "sqlite":
        insert: Any = sqlite.insert(table)
    else:
        from sqlalchemy.dialects import postgresql  # 2.5 MiB

        insert = postgresql.insert(table)
    new = insert.excluded
    more = {column.name: column + new[column.name] for column in table.columns if not column.primary_key}
    if table is lines:
        least, most = table.c.least, table.c.most
        more["least"] = case((new.least < least, new.least), else_=least)
        more["most"] = case((new.most > most, new.most), else_=most)
    adding: Insert = insert.on_conflict_do_update(index_elements=_KEYS[table], set_=more)
    return adding


# -- What the derived tables must hold, by the games.


def refresh(connection: Connection) -> None:
    """Make every derived row what the games make it."""
    settled = [
        {"pair": row.id, **{f"new_{name}": getattr(row, f"true_{name}") for name in _STANDING}}
        for row in connection.execute(_differing_pairs())
    ]
    if settled:
        values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _STANDING}
        connection.execute(pairs.update().where(pairs.c.id == bindparam("pair")).values(values), settled)
    for table, query in _counted(tallies).items():
        _make_again(connection, table, query)
    connection.execute(pools.update().values(played=_played_pairs()))


def refresh_lines(connection: Connection) -> None:
    """Make the rows of `lines` what the games make them."""
    _make_again(connection, lines, _lines())


def _make_again(connection: Connection, table: Table, query: Select[Any]) -> None:
    connection.execute(table.delete())
    connection.execute(table.insert().from_select(query.selected_columns.keys(), query))


def differences(connection: Connection) -> Iterator[str]:
    """A line for every derived row that is not what the games make it."""
    for row in connection.execute(_differing_pairs()):
        yield f"pair {row.number} of pool {row.pool} is {_said(row, '')}, by its games {_said(row, 'true_')}"
    met: FromClause = tallies
    for table in _KEYS:
        query = _counted(met)[table]
        if _says_the_same(connection, table, query):
            continue
        if table is tallies:
            met = _tallies().cte()
        there, true = _by_key(connection, table, select(table)), _by_key(connection, table, query)
        for key in sorted(there.keys() | true.keys()):
            if (have := there.get(key)) != (should := true.get(key)):
                place = ", ".join(f"{name} {value}" for name, value in zip(_KEYS[table], key, strict=True))
                yield f"{table.name} of {place}: {have or 'nothing'}, by the games {should or 'nothing'}"
    counted = select(pools.c.name, pools.c.played, _played_pairs().label("true_played"))
    for name, played, true_played in connection.execute(counted):
        if played != true_played:
            yield f"pool {name} has {played} pairs played, by its pairs {true_played}"


def _counted(met: FromClause) -> dict[Table, Select[Any]]:
    """The rows of each table by the games; `met` are the tallies, which have to be right."""
    return {tallies: _tallies(), scores: _scores(met), endings: _endings(), lines: _lines()}


def _says_the_same(connection: Connection, table: Table, query: Select[Any]) -> bool:
    """Whether these are the rows of a table."""
    keys = [table.c[name] for name in _KEYS[table]]
    columns = [table.c[column.name] for column in query.selected_columns]
    by_key = query.order_by(*(query.selected_columns[key.name] for key in keys))
    with connection.execute(select(*columns).order_by(*keys)) as there, connection.execute(by_key) as true:
        return all(one == two for one, two in zip_longest(there.partitions(_PAGE), true.partitions(_PAGE)))


def _tallies() -> Select[Any]:
    """The rows of `tallies`: pairs issued, and finished games by what they count as."""
    by_play = games.c.termination.in_(BY_PLAY)
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
    return _summed(tallies, ended.union_all(issued))


def _scores(met: FromClause) -> Select[Any]:
    """The rows of `scores`, from the tallies."""
    sides = []
    for side, seat in enumerate(("first", "second")):
        parts = {
            name: [met.c[column] for column in COLUMNS if name in _IN_SCORES[column][side]] for name in SCORE_COLUMNS
        }
        sums = (sum(columns[1:], columns[0]).label(name) for name, columns in parts.items())
        finished = or_(*(met.c[column] > 0 for column in COLUMNS))
        sides.append(select(met.c.pool, met.c[seat].label("version"), *sums).where(finished))
    return _summed(scores, sides[0].union_all(sides[1]))


def _endings() -> Select[Any]:
    void, winner = games.c.result == "", games.c.winner
    kinds = {"wins": winner == 1, "ties": winner == 0, "losses": winner == 2}
    keys = (games.c[key] for key in _KEYS[endings])
    counts = (case((and_(~void, kind), 1), else_=0).label(name) for name, kind in kinds.items())
    return _summed(endings, select(*keys, *counts, case((void, 1), else_=0).label("void")))


def _lines() -> Select[Any]:
    kinds = {"wins": games.c.winner == 1, "ties": games.c.winner == 0, "losses": games.c.winner == 2}
    keys = [games.c[key] for key in _KEYS[lines]]
    counts = (func.sum(case((kind, 1), else_=0)).cast(ID).label(name) for name, kind in kinds.items())
    least, most = func.min(games.c.moves).label("least"), func.max(games.c.moves).label("most")
    return select(*keys, *counts, least, most).where(games.c.finished, games.c.result != "").group_by(*keys)


def _summed(table: Table, rows: Select[Any] | CompoundSelect[Any]) -> Select[Any]:
    """The sums of these rows by the key of the table. PostgreSQL adds up whole numbers as NUMERIC: they are cast."""
    given = rows.subquery().c
    by = [given[key] for key in _KEYS[table]]
    names = (column.name for column in table.columns if not column.primary_key)
    return select(*by, *(func.sum(given[name]).cast(ID).label(name) for name in names)).group_by(*by)


def _differing_pairs() -> Select[Any]:
    """Pairs with their state, done and points by their games, as `true_…`, where these differ."""
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
    return (
        select(pairs, state.label("true_state"), done.label("true_done"), points.label("true_points"))
        .outerjoin(ended, ended.c.pair == pairs.c.id)
        .where(or_(pairs.c.state != state, pairs.c.done != done, pairs.c.points.is_distinct_from(points)))
        .order_by(pairs.c.id)
    )


def _played_pairs() -> ScalarSelect[int]:
    return select(func.count()).where(pairs.c.pool == pools.c.id, pairs.c.state == PLAYED).scalar_subquery()


def _by_key(connection: Connection, table: Table, query: Select[Any]) -> dict[tuple[Any, ...], dict[str, int]]:
    keys = _KEYS[table]
    return {
        tuple(row[key] for key in keys): {name: number for name, number in row.items() if name not in keys and number}
        for row in connection.execute(query).mappings()
    }


def _said(row: Row[Any], which: str) -> str:
    state, done, points = (getattr(row, f"{which}{name}") for name in _STANDING)
    return f"{state} with games {done:02b} and points {points}"


# -- The points of a match for its pair and for the meetings of two versions.


@dataclass(frozen=True, slots=True)
class StoredEnding:
    """How a finished game of a pair came out. `winner` is a seat, 0 for none; `result` is "" for a void one.

    `opening`, `moves`: as in the table of games.
    """

    game: int
    result: str
    winner: int
    termination: str
    opening: int = 0
    moves: int = -1


def column(result: str, winner: int, termination: str) -> str:
    """What it counts as, as seat 1 sees it: the field of a PairScore. A game lost by a fault is a forfeit."""
    kind = _result(result, winner)
    return f"forfeit_{kind}" if kind in ("wins", "losses") and termination not in BY_PLAY else kind


def _result(result: str, winner: int) -> str:
    """As seat 1 sees it."""
    return ("ties", "wins", "losses")[winner] if result else "void"


def ordered(first: int, second: int, game: int) -> tuple[int, int]:
    """Who of a pair had seat 1 and who seat 2."""
    return (first, second) if seats(game) == (0, 1) else (second, first)


def meetings_of(first: int, second: int, endings: Iterable[StoredEnding]) -> tuple[PairScore, ...]:
    """What each finished game of a pair adds, in the order of the games."""
    return tuple(
        PairScore(*ordered(first, second, one.game), **{column(one.result, one.winner, one.termination): 1})
        for one in sorted(endings, key=lambda one: one.game)
    )


def points_of(endings: Sequence[StoredEnding]) -> float | None:
    """Of the pair's first in both games; None unless both are there and count."""
    if len(endings) < GAMES or not all(one.result for one in endings):
        return None
    return sum(0.5 if not one.winner else float(seats(one.game)[one.winner - 1] == 0) for one in endings)


def played_games(done: int) -> tuple[int, ...]:
    """The games that the bits of pairs.done stand for."""
    return tuple(game for game in range(GAMES) if done >> game & 1)
