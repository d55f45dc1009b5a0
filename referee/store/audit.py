"""Checks every stored match against its record, and all derived tables against the matches; repairs what differs.

A record whose hash chain is broken proves nothing: the check reports its match and leaves it unchanged.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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

from protocol.records import MatchEnded, Record, RecordError, read_records
from referee.play.outcome import Termination
from referee.play.series import seats
from referee.store.database import clean, read_options, unpacked
from referee.store.model import GAMES, PairScore, StoreError
from referee.store.schema import (
    ENGINE,
    ISSUED,
    NO_CULPRIT,
    PLAYED,
    TEXT,
    WORD,
    endings,
    games,
    pairs,
    pools,
    records,
    scores,
    tallies,
    versions,
)

_PAGE = 200  # records that are read at a time
_FACTS = (
    *("finished", "result", "winner", "termination", "culprit", "detail"),
    *("plies", "ms1", "ms2", "suspect", "ended"),
)
Progress = Callable[[int, int], None]  # matches that were looked at, of how many


@dataclass(slots=True)
class Findings:
    """The differences, a line each; `beyond` of them cannot be repaired from the records."""

    matches: int = 0
    lines: list[str] = field(default_factory=list)
    beyond: int = 0


def rebuild(connection: Connection, repair: bool, progress: Progress = lambda done, total: None) -> Findings:
    """Look at everything; with `repair`, make it what the records say."""
    found = Findings()
    total: int = connection.execute(select(func.count()).select_from(games)).scalar_one()
    wrong: list[dict[str, object]] = []
    for row in _matches(connection):
        _check(row, found, wrong)
        found.matches += 1
        progress(found.matches, total)
    found.lines += _strays(connection, found)
    if repair and wrong:
        values: dict[str, Any] = {name: bindparam(f"true_{name}") for name in _FACTS}
        connection.execute(games.update().where(games.c.id == bindparam("match")).values(values), wrong)
    found.lines += differences(connection)
    if repair:
        refresh(connection)
    return found


def _matches(connection: Connection) -> Iterator[Row[Any]]:
    one, two = versions.alias("one"), versions.alias("two")
    query = (
        select(
            games,
            records.c.data,
            pairs.c.number,
            pairs.c.first.label("pair_first"),
            pairs.c.second.label("pair_second"),
            pools.c.game.label("pool_game"),
            pools.c.name.label("pool_name"),
            pools.c.options,
            pools.c.control,
            one.c.command.label("command1"),
            two.c.command.label("command2"),
        )
        .outerjoin(records, records.c.game == games.c.id)
        .join(pairs, pairs.c.id == games.c.pair)
        .join(pools, pools.c.id == games.c.pool)
        .join(one, one.c.id == games.c.first)
        .join(two, two.c.id == games.c.second)
        .order_by(games.c.id)
        .limit(_PAGE)
    )
    after = 0
    while page := connection.execute(query.where(games.c.id > after)).all():
        yield from page
        after = page[-1].id


def _check(row: Row[Any], found: Findings, wrong: list[dict[str, object]]) -> None:
    """Note what differs; what its record says instead goes to `wrong`."""
    try:
        if row.data is None:
            raise RecordError("there is none")
        record, end = _one_match(unpacked(row.data, row.key))
    except (RecordError, StoreError) as error:
        found.lines.append(f"{row.key}: its record is not whole: {error}")
        found.beyond += 1
        return
    for line in _mismatches(row, record):
        found.lines.append(f"{row.key}: {line}")
        found.beyond += 1
    true = _facts(row, record, end)
    off = [name for name in _FACTS if getattr(row, name) != true[name]]
    found.lines += [f"{row.key}: {name} is {getattr(row, name)!r}, by its record {true[name]!r}" for name in off]
    if off:
        wrong.append({"match": row.id, **{f"true_{name}": value for name, value in true.items()}})


def _one_match(lines: bytes) -> tuple[Record, MatchEnded]:
    found = list(read_records(lines.splitlines(keepends=True)))
    if len(found) != 1 or found[0].end is None:
        raise RecordError(f"it holds {len(found)} matches, not one that was played to its end")
    return found[0], found[0].end


def _mismatches(row: Row[Any], record: Record) -> Iterator[str]:
    """Why this record may be of another match, pool or bot than it is stored for."""
    start = record.start
    if start.match != row.key:
        yield f"its record is of {start.match}"
    series, _, tail = row.key.rpartition("-")
    number = f"{row.game + 1}" + (f".{row.attempt}" if row.attempt else "")
    if tail != number or not series.endswith(f"-{row.number}"):
        yield f"it is stored as game {number} of pair {row.number}"
    options = read_options(row.options, row.pool_name)
    if (start.game, start.options, start.control) != (row.pool_game, options, row.control):
        yield f"its record is of {start.game} {start.options} at {start.control}, its pool is not"
    if (row.first, row.second) != (
        (row.pair_first, row.pair_second) if row.game == 0 else (row.pair_second, row.pair_first)
    ):
        yield "its seats are not those of its pair"
    for seat, command in enumerate((row.command1, row.command2)):
        if clean(start.bots[seat].command, TEXT) != command:
            yield f"seat {seat + 1} was {start.bots[seat].command!r}, not {command!r}"


def _facts(row: Row[Any], record: Record, end: MatchEnded) -> dict[str, object]:
    """The columns of the match, from its record alone."""
    culprits = {"": NO_CULPRIT, "seat1": row.first, "seat2": row.second}
    ms = [sum(ply.ms for ply in record.plies if ply.seat == seat) for seat in (1, 2)]
    return {
        "finished": bool(end.result) or end.termination == Termination.PLY_LIMIT,
        "result": clean(end.result, WORD),
        "winner": end.winner,
        "termination": clean(end.termination, WORD),
        "culprit": culprits.get(end.culprit, ENGINE),
        "detail": clean(end.detail, TEXT),
        "plies": end.plies,
        "ms1": ms[0],
        "ms2": ms[1],
        "suspect": end.suspect,
        "ended": clean(end.ended, WORD),
    }


def _strays(connection: Connection, found: Findings) -> list[str]:
    """Records of no match, matches of no pair, and games that were finished twice."""
    orphans = select(records.c.game).where(records.c.game.not_in(select(games.c.id)))
    homeless = select(games.c.key).where(games.c.pair.not_in(select(pairs.c.id)))
    twice = (
        select(games.c.pair, games.c.game)
        .where(games.c.finished)
        .group_by(games.c.pair, games.c.game)
        .having(func.count() > 1)
    )
    lines = [f"record {game} belongs to no match" for game in connection.execute(orphans).scalars()]
    lines += [f"{key} belongs to no pair" for key in connection.execute(homeless).scalars()]
    lines += [f"game {game} of the pair with id {pair} is finished twice" for pair, game in connection.execute(twice)]
    found.beyond += len(lines)
    return lines


# -- Derived tables: computed again from the table of games, and compared.


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


# -- The points of a match for its pair and for the meetings of two versions.


COLUMNS = ("wins", "ties", "losses", "forfeit_wins", "forfeit_losses", "void")
SCORE_COLUMNS = ("wins", "ties", "losses", "forfeits", "gifts", "void")
ALL_DONE = (1 << GAMES) - 1
_IN_SCORES = {
    "wins": (("wins",), ("losses",)),
    "ties": (("ties",), ("ties",)),
    "losses": (("losses",), ("wins",)),
    "forfeit_wins": (("wins", "gifts"), ("losses", "forfeits")),
    "forfeit_losses": (("losses", "forfeits"), ("wins", "gifts")),
    "void": (("void",), ("void",)),
}
BY_PLAY = {Termination.RULES, Termination.RESIGNATION, Termination.PLY_LIMIT}


@dataclass(frozen=True, slots=True)
class StoredEnding:
    """How a finished game of a pair came out. `winner` is a seat, 0 for none; `result` is "" for a void one."""

    game: int
    result: str
    winner: int
    termination: str


def column(result: str, winner: int, termination: str) -> str:
    """What it counts as, as seat 1 sees it: the field of a PairScore. A game lost by a fault is a forfeit."""
    if not result:
        return "void"
    if not winner:
        return "ties"
    won = "wins" if winner == 1 else "losses"
    return won if termination in BY_PLAY else f"forfeit_{won}"


def score_columns(column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What such a game counts as in the score of seat 1, and in that of seat 2."""
    return _IN_SCORES[column]


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
