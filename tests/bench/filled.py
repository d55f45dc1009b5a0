"""Writes a ladder of 10⁶ played games into an SQLite file within minutes, for the benchmarks. It measures nothing."""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.ladder.store import schema
from ggp.referee.ladder.store.counts import refresh
from ggp.referee.ladder.store.database import Database
from ggp.referee.ladder.store.model import Ladder
from ggp.referee.ladder.store.store import Store
from ggp.referee.records import pack
from tests.support.stores import ENDED, entrant, ladder
from tests.support.stores import pool as pool_of_tests

_BATCH = 512  # pairs
_PORTION = 20_000  # pairs in memory at a time
_EACH = 4  # pairs of any two that meet
_MS = 1000  # of each seat in a game
_FAST = ("journal_mode=OFF", "synchronous=OFF", "cache_size=-262144", "foreign_keys=OFF")  # it is thrown away anyway


def ladder_of(bots: int) -> Ladder:
    """The ladder of so many bots that the file is of."""
    return ladder([entrant(f"bot{number}", f"v{number}") for number in range(bots)])


def fill(path: Path, bots: int, games: int, plies: int = 0) -> int:
    """Make the file, the same for every run; the id of its pool. All that is derived is worked out by the store.

    With `plies`, an even number, every game has a true record of so many, which takes most of the time; without, its
    record is a placeholder.
    """
    with Store.open(f"sqlite:///{path}", create=True) as store:
        pool = store.enrol(ladder_of(bots))["fast"]
        ids = [seat.id for seat in store.seats(pool)]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in _FAST:
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("BEGIN")
        _insert(connection, pool, ids, games // 2, plies)
        connection.execute("COMMIT")
    database = Database(f"sqlite:///{path}")
    with database.writing() as written:
        refresh(written)
        written.exec_driver_sql("ANALYZE")
    database.close()
    return pool


def _insert(connection: sqlite3.Connection, pool: int, ids: list[int], pairs: int, plies: int) -> None:
    """Both games of every pair; its indexes are made when all is there."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    indexes = connection.execute(query).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    placeholder, rows = pack(b"a small record"), _pairs(pool, ids, plies or 60)
    parties = {id: _party(number) for number, id in enumerate(ids)}
    for start in range(0, pairs, _PORTION):
        portion = [next(rows) for _ in range(min(_PORTION, pairs - start))]
        played = [game for _, *both in portion for game in both]
        _bulk(connection, schema.pairs.name, [pair for pair, *_ in portion])
        _bulk(connection, schema.games.name, played)
        records = [(game[0], _record(game, parties) if plies else placeholder) for game in played]
        _bulk(connection, schema.records.name, records)
    for _, made in indexes:
        connection.execute(made)


def _pairs(pool: int, ids: list[int], plies: int) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Without end: a pair and its two games, the better bot winning more often; every 1000th is lost on time."""
    chance = random.Random(0)
    two = (ids[0], ids[1])
    number = 0
    while True:
        if number % _EACH == 0:
            two = (ids[int(chance.random() * len(ids))], ids[int(chance.random() * len(ids))])
            if two[0] == two[1]:
                continue
        first, second = two
        share = 0.5 + 0.4 * (second - first) / len(ids)
        games, points = [], 0
        for game in (0, 1):
            id, won = 2 * number + game + 1, chance.random() < share
            points += won
            seats = (first, second) if game == 0 else (second, first)
            winner = game + 1 if won else 2 - game
            ended = "time" if id % 1000 == 0 else "rules"
            culprit = seats[2 - winner] if ended == "time" else 0
            facts = (" BW"[winner] + "+1", winner, ended, culprit, "", plies, _MS, _MS, False, number + 1, id, ENDED)
            games.append((id, f"bench-{number}-{game + 1}", number + 1, pool, game, 0, True, *seats, *facts))
        state = ("played", 3, points, None, "", None)
        yield (number + 1, pool, number, number // _BATCH, first, second, *state), *games
        number += 1


def _party(number: int) -> Party:
    """A bot, as a record says it."""
    start = entrant(f"bot{number}", f"v{number}").start
    return Party(name=start.name, program="Bench", version="1.0", command=start.command, hash=f"{number:064x}")


def _record(game: tuple[Any, ...], parties: dict[int, Party]) -> bytes:
    """Return the record of a row of `games`."""
    _, key, _, _, _, _, _, first, second, result, winner, termination, culprit, _, plies, ms, *_ = game
    setting = pool_of_tests().setting
    start = MatchStarted(
        match=key,
        game=setting.game,
        options=setting.options,
        bots=(parties[first], parties[second]),
        engine=Party(name="engine", program="Bench", version="1.0", command="engine", hash=f"{0:064x}"),
        control=str(setting.control),
        seed=1,
        referee="ggp",
        started=ENDED,
    )
    each, left = divmod(ms, plies // 2)
    moves = [
        MovePlayed(ply, key, ply, 2 - ply % 2, ("white", "black")[ply % 2], f"D{ply}", each + left * (ply < 3), 9000)
        for ply in range(1, plies + 1)
    ]
    end = MatchEnded(
        seq=plies + 1,
        match=key,
        result=result,
        winner=winner,
        termination=termination,
        culprit=f"seat{3 - winner}" if culprit else "",
        plies=plies,
        ended=ENDED,
    )
    return pack(Record(start, tuple(moves), end).lines())


def _bulk(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
