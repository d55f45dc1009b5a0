"""Checks every stored match against its record, and all derived tables against the matches; repairs what differs.

A record whose hash chain is broken proves nothing: the check reports its match and leaves it unchanged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, or_, select

from ggp.protocol.records import MatchStarted, MatchSummary, RecordError, moves_of, read_summary
from ggp.referee.ladder.store.counts import differences, ordered, refresh, refresh_lines
from ggp.referee.ladder.store.database import read_options, truncate
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.schema import ENGINE, NO_CULPRIT, TEXT, WORD, games, pairs, pools, records, versions
from ggp.referee.match.outcome import Termination
from ggp.referee.ratings.repeats import line_digest
from ggp.referee.ratings.spsa import is_filled
from ggp.referee.records import unpack

_PAGE = 200  # records that are read at a time
_FACTS = (
    *("finished", "result", "winner", "termination", "culprit", "detail"),
    *("plies", "ms1", "ms2", "suspect", "ended", "opening", "moves"),
)
Progress = Callable[[int, int], None]  # matches that were looked at, of how many


@dataclass(slots=True)
class Findings:
    """The differences, a line each; the records cannot repair `beyond` of them."""

    matches: int = 0
    lines: list[str] = field(default_factory=list)
    beyond: int = 0
    learned: bool = False  # moves of a game that were unknown before


def rebuild(connection: Connection, repair: bool, progress: Progress = lambda done, total: None) -> Findings:
    """Compare every match with its record, and all that is derived with the matches; `repair` what differs."""
    found = Findings()
    total: int = connection.execute(select(func.count()).select_from(games)).scalar_one()
    known = _Known.read(connection)
    wrong: list[dict[str, object]] = []
    for page in _pages(connection):
        for row in page:
            _check(row, known, found, wrong)
        found.matches += len(page)
        progress(found.matches, total)
    found.lines += _strays(connection, found)
    if repair:
        _refuse_lost(connection)
    if repair and wrong:
        values: dict[str, Any] = {name: bindparam(f"true_{name}") for name in _FACTS}
        connection.execute(games.update().where(games.c.id == bindparam("match")).values(values), wrong)
    if repair and found.learned:
        refresh_lines(connection)
    found.lines += differences(connection)
    if repair:
        refresh(connection)
    return found


def _refuse_lost(connection: Connection) -> None:
    """Raise StoreError for a match whose pool or bot is gone: no count of it can be stored."""
    of_bot = (games.c[seat].not_in(select(versions.c.id)) for seat in ("first", "second"))
    lost = or_(games.c.pool.not_in(select(pools.c.id)), *of_bot)
    key = connection.execute(select(games.c.key).where(lost).limit(1)).scalar()
    if key is not None:
        raise StoreError(
            f"the store is damaged (the pool or a bot of {key} is gone): restore a copy of it", code="store-damaged"
        )


class _Known(NamedTuple):
    """What records are compared with, by id.

    A pool is its game, options as JSON, control and name; a version is its command.
    """

    pools: dict[int, tuple[str, str, str, str]]
    commands: dict[int, str]

    @classmethod
    def read(cls, connection: Connection) -> Self:
        query = select(pools.c.id, pools.c.game, pools.c.options, pools.c.control, pools.c.name)
        of_versions = select(versions.c.id, versions.c.command)
        by_id = {id: (game, options, control, name) for id, game, options, control, name in connection.execute(query)}
        return cls(by_id, dict(map(tuple, connection.execute(of_versions))))


def _pages(connection: Connection) -> Iterator[Sequence[Row[Any]]]:
    """Yield all matches by id, in pages: what is compared first, then _FACTS."""
    columns: list[ColumnElement[Any]] = [
        *(games.c.id, games.c.key, records.c.data, games.c.pool, games.c.game, games.c.attempt),
        *(games.c.first, games.c.second, pairs.c.number, pairs.c.first, pairs.c.second),
    ]
    query = (
        select(*columns, *(games.c[name] for name in _FACTS))
        .outerjoin(records, records.c.game == games.c.id)
        .join(pairs, pairs.c.id == games.c.pair)
        .order_by(games.c.id)
        .limit(_PAGE)
    )
    after = 0
    while page := connection.execute(query.where(games.c.id > after)).all():
        yield page
        after = page[-1][0]


def _check(row: Row[Any], known: _Known, found: Findings, wrong: list[dict[str, object]]) -> None:
    """Add what differs to `found`, and the columns of the record to `wrong`."""
    id, key, data, pool, game, attempt, first, second, pair, pair_first, pair_second = row[: -len(_FACTS)]
    have = row[-len(_FACTS) :]
    try:
        if data is None:
            raise RecordError("there is none")
        whole = unpack(data)
        match, moves = read_summary(whole), moves_of(whole)
    except RecordError as error:
        found.lines.append(f"{key}: its record is not whole: {error}")
        found.beyond += 1
        return
    lines = _mismatches(
        match.start, key, known.pools.get(pool), (known.commands.get(first), known.commands.get(second))
    )
    number = f"{game + 1}.{attempt}" if attempt else f"{game + 1}"
    if not key.endswith(f"-{pair}-{number}"):
        lines.append(f"it is stored as game {number} of pair {pair}")
    if (first, second) != ordered(pair_first, pair_second, game):
        lines.append("its seats are not those of its pair")
    for line in lines:
        found.lines.append(f"{key}: {line}")
        found.beyond += 1
    true = _facts(first, second, match, moves)
    if have != true:
        unknown = have[-1] == id  # of a game whose result came without its moves
        found.learned = found.learned or unknown
        compared = [*zip(_FACTS, have, true, strict=True)][: -2 if unknown else None]
        found.lines += [f"{key}: {name} is {one!r}, by its record {two!r}" for name, one, two in compared if one != two]
        wrong.append({"match": id, **{f"true_{name}": value for name, value in zip(_FACTS, true, strict=True)}})


def _mismatches(
    start: MatchStarted, key: str, pool: tuple[str, str, str, str] | None, commands: tuple[str | None, str | None]
) -> list[str]:
    """Return signs that this record is of another match, pool or bot."""
    found = []
    if start.match != key:
        found.append(f"its record is of {start.match}")
    if pool is None:
        found.append("its pool is not in the store")
    else:
        game, options, control, name = pool
        if (start.game, start.options, start.control) != (game, _options(options, name), control):
            found.append(f"its record is of {start.game} {start.options} at {start.control}, its pool is not")
    for seat, (bot, command) in enumerate(zip(start.bots, commands, strict=True), 1):
        if bot.command == command:
            continue
        if command is None:
            found.append(f"the version of seat {seat} is not in the store")
            continue
        played = truncate(bot.command, TEXT)
        if played != command and not is_filled(played, command):  # that of a tune is stored with fields
            found.append(f"seat {seat} was {bot.command!r}, not {command!r}")
    return found


_options = cache(read_options)


def _facts(first: int, second: int, match: MatchSummary, moves: Sequence[str]) -> tuple[object, ...]:
    """Return the columns of a match, from its record alone, in the order of _FACTS."""
    culprits, end = {"": NO_CULPRIT, "seat1": first, "seat2": second}, match.end
    ms = list(match.ms)
    if end.ms and end.winner:
        ms[2 - end.winner] += end.ms  # the turn of the loser that was no ply, as SeriesConfig.result counts it
    return (
        bool(end.result) or end.termination == Termination.PLY_LIMIT,
        truncate(end.result, WORD),
        end.winner,
        truncate(end.termination, WORD),
        culprits.get(end.culprit, ENGINE),
        truncate(end.detail, TEXT),
        end.plies,
        *ms,
        end.suspect,
        truncate(end.ended, WORD),
        line_digest(match.start.opening),
        line_digest(moves, end.result),
    )


def _strays(connection: Connection, found: Findings) -> list[str]:
    """Return records without a match, matches without a pair, and games that are finished twice."""
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


def lost_games(lost: int, store: str) -> str:
    """Say that so many games are gone from a store."""
    why = "its write-ahead log was damaged, or an older copy was put in its place"
    return f"{lost} games that were stored in {store} are gone: {why}; restore a newer copy, or they are played again"


def with_lost(found: Findings, lost: int, store: str) -> Findings:
    """Add a line about the games that are gone from a store, if there are any."""
    if lost:
        found.lines.append(lost_games(lost, store))
        found.beyond += 1
    return found
