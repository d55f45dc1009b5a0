"""What the search costs beside the bare random games that it is made of, game by game. It judges nothing.

For each game three rows: the playouts of a search per second, how many per cent of the bare core's rollouts that is,
both of one thread and measured in turns, and the bytes of a node. Medians of five rounds, of CPU time: whoever else
uses the machine counts less. The last row is what a second thread adds, by the clock on the wall.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from engines._core import Go, Laido, Stigmergy, Taigo, Taugo, Yugo

ROUNDS = 5
SEED = 1


class Case(NamedTuple):
    """A position to search from, and the playouts of a round: about a quarter of a second."""

    what: str
    start: Callable[[], Go | Laido | Stigmergy | Taigo | Taugo | Yugo]
    playouts: int


CASES = (
    Case("go 9x9", lambda: Go(size=9), 20_000),
    Case("go 19x19, ko=simple", lambda: Go(size=19, ko="simple"), 5_000),
    Case("yugo 9x9", lambda: Yugo(size=9), 25_000),
    Case("taugo 8", lambda: Taugo(size=8, pie=False), 40_000),
    Case("taugo 16", lambda: Taugo(pie=False), 8_000),
    Case("taigo", Taigo, 8_000),
    Case("laido, side 5", lambda: Laido(size=5, pie=False), 50_000),
    Case("laido, side 9", lambda: Laido(size=9, pie=False), 20_000),
    Case("stigmergy 5, komi=10", lambda: Stigmergy(size=5, komi=10), 80_000),
    Case("stigmergy 8, komi=0", lambda: Stigmergy(size=8, komi=0), 25_000),
)


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """The rows of `make bench`."""
    rows: list[tuple[str, float, str]] = []
    for case in CASES:
        playouts = case.playouts // 10 if quick else case.playouts
        rates, shares = zip(*(_round(case, playouts, seed) for seed in range(1, ROUNDS + 1)), strict=True)
        rows += [
            (f"{case.what}, search", statistics.median(rates), "playouts/s"),
            (f"{case.what}, search", 100 * statistics.median(shares), "% of rollouts/s"),
            (f"{case.what}, search", type(case.start().search()).node_bytes, "bytes/node"),
        ]
    speedups = [_speedup(CASES[0], 5_000 if quick else 50_000) for _ in range(ROUNDS)]
    return [*rows, ("go 9x9, search, two threads", statistics.median(speedups), "x one thread")]


def _round(case: Case, playouts: int, seed: int) -> tuple[float, float]:
    """Playouts of a search per second, and their share of the bare ones."""
    state = case.start()
    search = state.search(seed, megabytes=1024)
    state.playouts(playouts // 10, 0, "rollout")  # a clock speed that has risen
    begin = time.process_time()
    state.playouts(playouts, seed, "rollout")
    bare = time.process_time() - begin
    begin = time.process_time()
    search.run(playouts)
    mine = time.process_time() - begin
    done = sum(visits for _, visits, _, _ in search.votes())  # less if the rest could change nothing
    return done / mine, done / playouts * bare / mine


def _speedup(case: Case, playouts: int) -> float:
    seconds = []
    for threads in (1, 2):
        search = case.start().search(SEED, threads, 1024)
        begin = time.perf_counter()
        search.run(playouts * threads)
        seconds.append((time.perf_counter() - begin) / sum(visits for _, visits, _, _ in search.votes()))
    return seconds[0] / seconds[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.core_search", description="What a search costs.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    for what, figure, unit in main(parser.parse_args(sys.argv[1:]).quick):
        print(f"{what:32} {figure:12,.2f} {unit}")
