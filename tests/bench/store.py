"""What it costs to keep games and to look at them: `add` in small batches, and a ladder of 10⁶ stored games.

Seconds of `add` are of the parent's processor, the wait for the disk left out; all others are of the clock. SQLite.
"""

import random
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Connection, Table

from referee.ladder.entries import Kind
from referee.ladder.pairs import Pair, Pairing
from referee.store import schema
from referee.store.database import Database
from referee.store.derived import refresh
from referee.store.rows import Finished, Fit, FitRow
from referee.store.store import Store
from tests.stores import ladder, match

BATCH, RECORD = 60, 2500  # games, bytes
BOTS, GAMES, MANY_BOTS = 100, 1_000_000, 1000
ROUNDS = 5


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit)."""
    games = GAMES // 100 if quick else GAMES
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        rows = _bench_add(f"sqlite:///{folder}/add.db", 5 if quick else 50)
        for bots in (BOTS, MANY_BOTS):
            url = f"sqlite:///{folder}/many-{bots}.db"
            pool = fill(url, bots, games)
            rows += _bench_reading(url, pool, f"{games:,} games of {bots} bots")
            Path(f"{folder}/many-{bots}.db").unlink()
    return rows


def _bench_add(url: str, rounds: int) -> list[tuple[str, float, str]]:
    noise = random.Random(1).randbytes(RECORD)
    spent, waited = [], []
    with Store.open(url, create=True) as store:
        pool = store.enrol(ladder([f"bot{number}" for number in range(20)]))["fast"]
        ids = [seat.id for seat in store.seats(pool)]
        for number in range(rounds):
            chance = random.Random(number)
            chosen = [Pairing(*chance.sample(ids, 2)) for _ in range(BATCH // 2)]
            games = [_small(pair, game, noise) for pair in store.issue(pool, number, chosen) for game in (0, 1)]
            before, start = time.process_time(), time.perf_counter()
            store.add(games)
            spent.append((time.process_time() - before) / BATCH)
            waited.append((time.perf_counter() - start) / BATCH)
    what = f"add {BATCH} games of {RECORD / 1000} kB"
    return [
        (f"{what}, processor per game", statistics.median(spent) * 1e6, "µs"),
        (f"{what}, durable, per game", statistics.median(waited) * 1e6, "µs"),
    ]


def _small(pair: Pair, game: int, record: bytes) -> Finished:
    one = match(pair, game, names=("first", "second"))
    return Finished(pair, game, one.key, 0, one.facts, record)


def _bench_reading(url: str, pool: int, what: str) -> list[tuple[str, float, str]]:
    def start_up() -> None:
        with Store.open(url) as store:
            store.past(pool, Kind.LADDER)
            store.seats(pool)
            store.open_pairs(pool)
            store.totals()

    def standings() -> None:
        with Store.open(url) as store:
            store.meetings(pool)
            store.fit(pool)

    def stored_standings() -> None:
        with Store.open(url) as store:
            store.counted(pool)
            store.fit(pool)
            store.seats(pool)

    def last_games() -> None:
        with Store.open(url) as store:
            list(store.games(bot="bot7", limit=100))

    return [
        (f"start of a ladder, {what}", _median(start_up), "s"),
        (f"standings: meetings and ratings, {what}", _median(standings) * 1000, "ms"),
        (f"standings: ratings as stored, {what}", _median(stored_standings) * 1000, "ms"),
        (f"the last 100 games of a bot, {what}", _median(last_games) * 1000, "ms"),
    ]


def _median(call: Callable[[], None]) -> float:
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def fill(url: str, bots: int, games: int) -> int:
    """A ladder with so many games, written in bulk; the same for every run."""
    with Store.open(url, create=True) as store:
        pool = store.enrol(ladder([f"bot{number}" for number in range(bots)]))["fast"]
        ids = [seat.id for seat in store.seats(pool)]
        fit = [
            FitRow(id, float(-rank), 10.0, 2 * games // bots, games / bots, 1.0, 14.0, 0.53)
            for rank, id in enumerate(ids)
        ]
        store.save_fit(pool, Fit(pool, games, "davidson", 20.0, 1.0, 0.3, tuple(fit)))
    database = Database(url)
    with database.writing() as connection:
        chance = random.Random(0)
        record = zlib.compress(b"a small record")
        for start in range(0, games // 2, 10_000):
            _insert(connection, pool, ids, range(start, min(start + 10_000, games // 2)), chance, record)
        refresh(connection)
    database.close()
    return pool


def _insert(
    connection: Connection, pool: int, ids: list[int], numbers: range, chance: random.Random, record: bytes
) -> None:
    """Pairs with these numbers, both games of each; every 1000th game is lost on time."""
    all_pairs, all_games, all_records = [], [], []
    for number in numbers:
        first, second = chance.sample(ids, 2)
        points = 0
        for game in (0, 1):
            id, winner = 2 * number + game + 1, chance.choice((1, 2))
            points += winner == game + 1
            seats = (first, second) if game == 0 else (second, first)
            ended = "time" if id % 1000 == 0 else "rules"
            culprit = seats[2 - winner] if ended == "time" else 0
            result = f"{' BW'[winner]}+1"
            facts = (result, winner, ended, culprit, "", 60, 1000, 1000, False, "2026-11-21T12:00:00Z")
            all_games.append((id, f"bench-{number}-{game + 1}", number + 1, pool, game, 0, True, *seats, *facts))
            all_records.append((id, record))
        all_pairs.append((number + 1, pool, number, number // 100, first, second, "played", 3, points, None, ""))
    for table, rows in ((schema.pairs, all_pairs), (schema.games, all_games), (schema.records, all_records)):
        _bulk(connection, table, rows)


def _bulk(connection: Connection, table: Table, rows: Sequence[tuple[object, ...]]) -> None:
    names = ", ".join(column.name for column in table.columns)
    marks = ", ".join("?" for _ in table.columns)
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows))
