"""What it costs to begin the schedule of 1000 bots and 10⁶ games from what a store holds, and to make a batch.

The store itself is not read here.
"""

import os
import statistics
import time
from random import Random

from ggp.referee.ladder.store.model import Format, PairScore, PoolEntry, PoolPast

BOTS, GAMES, BATCH = 1000, 1_000_000, 512
PAIRS_EACH = 4  # of any two that met
ROUNDS = 3


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, seconds, unit): from what is stored to the next batch, and the batch after it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ggp.referee.ladder.schedule import Schedule

    bots, games = (BOTS // 10, GAMES // 10) if quick else (BOTS, GAMES)
    seats, past = [PoolEntry(id, f"bot{id}", f"bot{id}", f"v{id}") for id in range(1, bots + 1)], _past(bots, games)
    begun, first, second = [], [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        schedule = Schedule(Format(batch=BATCH), "bench", 1, seats, past)
        loaded = time.perf_counter()
        one = schedule.due()
        due = time.perf_counter()
        assert one is not None and len(one) == BATCH
        schedule.enter([*seats, PoolEntry(bots + 1, "new", "new", "new")])
        joined = time.perf_counter()
        assert schedule.due() is not None
        begun.append(loaded - start)
        first.append(due - loaded)
        second.append(time.perf_counter() - joined)
    what = f"schedule of {bots} bots, {games:,} games"
    return [
        (f"{what}: begun from what is stored", statistics.median(begun), "s"),
        (f"{what}: rated, a batch of {BATCH} pairs made", statistics.median(first), "s"),
        (f"{what}: the same after a bot has joined", statistics.median(second), "s"),
    ]


def _past(bots: int, games: int) -> PoolPast:
    """Random bots met, each two of them as often."""
    chance = Random(1)
    all_pairs = [(low, high) for low in range(1, bots + 1) for high in range(low + 1, bots + 1)]
    met = dict.fromkeys(chance.sample(all_pairs, min(len(all_pairs), games // (2 * PAIRS_EACH))), PAIRS_EACH)
    settled = []
    for low, high in met:
        for first, second in ((low, high), (high, low)):
            wins = chance.randrange(PAIRS_EACH + 1)
            settled.append(PairScore(first, second, wins=wins, losses=PAIRS_EACH - wins))
    pairs = PAIRS_EACH * len(met)
    return PoolPast(pairs // BATCH, pairs, tuple(settled), (), met)
