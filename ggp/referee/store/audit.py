"""Checks every stored match against its record, and all derived tables against the matches; repairs what differs.

A record whose hash chain is broken proves nothing: the check reports its match and leaves it unchanged.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from ggp.protocol.records import MatchEnded, Record, RecordError, read_records
from ggp.referee.play.outcome import Termination
from ggp.referee.ratings.spsa import is_filled
from ggp.referee.store.counts import differences, ordered, refresh
from ggp.referee.store.database import clean, read_options, unpacked
from ggp.referee.store.model import StoreError
from ggp.referee.store.schema import ENGINE, NO_CULPRIT, TEXT, WORD, games, pairs, pools, records, versions

_PAGE = 200  # records that are read at a time
_FACTS = (
    *("finished", "result", "winner", "termination", "culprit", "detail"),
    *("plies", "ms1", "ms2", "suspect", "ended"),
)
Progress = Callable[[int, int], None]  # matches that were looked at, of how many


@dataclass(slots=True)
class Findings:
    """The differences, a line each; the records cannot repair `beyond` of them."""

    matches: int = 0
    lines: list[str] = field(default_factory=list)
    beyond: int = 0


def rebuild(connection: Connection, repair: bool, progress: Progress = lambda done, total: None) -> Findings:
    """Compare every match with its record, and all that is derived with the matches; `repair` what differs."""
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
    """Add what differs to `found`, and the columns of the record to `wrong`."""
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
    """Signs that this record is of another match, pool or bot."""
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
    if (row.first, row.second) != ordered(row.pair_first, row.pair_second, row.game):
        yield "its seats are not those of its pair"
    for seat, command in enumerate((row.command1, row.command2)):
        played = clean(start.bots[seat].command, TEXT)
        if played != command and not is_filled(played, command):  # that of a tune is stored with fields
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
