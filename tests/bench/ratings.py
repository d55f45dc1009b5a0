"""What a refit of a large pool costs: 1000 bots, 10⁶ games on 200,000 ordered pairs, covariance and all.

One thread for linear algebra, as `ggp rate` asks for: where matches keep every core busy, more only wait.
"""

import os
import statistics
import time

BOTS, PAIRS, GAMES = 1000, 200_000, 1_000_000
ROUNDS = 5


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, seconds, unit): from nothing, and after a further batch of games."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ggp.referee.ratings.bradley_terry import MODELS
    from ggp.referee.ratings.ratings import rate

    bots, pairs = (BOTS // 10, PAIRS // 100) if quick else (BOTS, PAIRS)
    counts, more = (_pool(bots, pairs, GAMES * pairs // PAIRS, seed) for seed in (1, 2))
    rows = []
    for model in MODELS.values():
        cold, warm = [], []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            ratings = rate(counts, model)
            middle = time.perf_counter()
            rate(more, model, start=ratings)
            cold.append(middle - start)
            warm.append(time.perf_counter() - middle)
        what = f"{model.name}: {bots} bots, {int(counts.played.games.sum()):,} games"
        rows.append((f"{what}, rated from nothing", statistics.median(cold), "s"))
        rows.append((f"{what}, refitted from earlier ratings", statistics.median(warm), "s"))
    return rows


def _pool(bots: int, pairs: int, games: int, seed: int):  # type: ignore[no-untyped-def]
    """Random pairs that play as many games each as it takes, of bots whose strength is the same for every seed."""
    import numpy as np

    from ggp.referee.ratings.bradley_terry import DAVIDSON, Counts, Matrix

    theta, chance = np.random.default_rng(0).normal(0, 0.8, bots), np.random.default_rng(seed)
    cells = chance.choice(bots * bots, pairs + bots, replace=False)
    first, second = cells // bots, cells % bots
    first, second = first[first != second][:pairs], second[first != second][:pairs]
    win, tie, loss = DAVIDSON.probabilities(theta[first] - theta[second] + 0.1, -1.0)
    outcomes = chance.multinomial(games // pairs, np.stack([win, tie, loss], axis=1)).astype(np.float64)
    played = Matrix(first, second, outcomes[:, 0].copy(), outcomes[:, 1].copy(), outcomes[:, 2].copy())
    return Counts(tuple(map(str, range(bots))), played)
