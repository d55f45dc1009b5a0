"""What it costs to keep games: `add` in small batches, the processor alone and with the wait for the disk. SQLite."""

import random
import statistics
import tempfile
import time
from dataclasses import replace

from ggp.referee.ladder.store.model import FinishedGame, Pair, Pairing
from ggp.referee.ladder.store.store import Store
from tests.support.stores import ladder, match

BATCH, RECORD = 60, 2500  # games, bytes


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit)."""
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        return _bench_add(f"sqlite:///{folder}/add.db", 5 if quick else 50)


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


def _small(pair: Pair, game: int, record: bytes) -> FinishedGame:
    return FinishedGame(pair, replace(match(pair, game, names=("first", "second")).result, record=record))
