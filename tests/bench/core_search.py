"""What the search costs beside the bare random games that it is made of, game by game. It judges nothing.

For each game three rows: the playouts of a search per second, what one of them costs beside a bare rollout of the core,
both of one thread and measured in turns, and the bytes of a node. Medians of five rounds, of CPU time: other work
of the machine counts less. The last rows are what a second thread adds, in turns with it what a second process
adds, which shares nothing: what the machine has, and the one beside the other. By the clock on the wall, medians of 21
short rounds.
"""

import argparse
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from ggp.engines._core import Go, Laido, Stigmergy, Taigo, Taugo, Yugo

ROUNDS = 5
ROUNDS_OF_TWO = 21


class SearchCase(NamedTuple):
    """A position to search from, and the playouts of a round: about a quarter of a second."""

    what: str
    start: Callable[[], Go | Laido | Stigmergy | Taigo | Taugo | Yugo]
    playouts: int


CASES = (
    SearchCase("go 9x9", lambda: Go(size=9), 20_000),
    SearchCase("go 19x19, ko=simple", lambda: Go(size=19, ko="simple"), 5_000),
    SearchCase("yugo 9x9", lambda: Yugo(size=9), 25_000),
    SearchCase("taugo 8", lambda: Taugo(size=8, pie=False), 40_000),
    SearchCase("taugo 16", lambda: Taugo(pie=False), 8_000),
    SearchCase("taigo", Taigo, 8_000),
    SearchCase("laido, side 5", lambda: Laido(size=5, pie=False), 50_000),
    SearchCase("laido, side 9", lambda: Laido(size=9, pie=False), 20_000),
    SearchCase("stigmergy 5, komi=10", lambda: Stigmergy(size=5, komi=10), 80_000),
    SearchCase("stigmergy 8, komi=0", lambda: Stigmergy(size=8, komi=0), 25_000),
)


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """The rows of `make bench`."""
    rows: list[tuple[str, float, str]] = []
    for case in CASES:
        playouts = case.playouts // 10 if quick else case.playouts
        rates, costs = zip(*(_round(case, playouts, seed) for seed in range(1, ROUNDS + 1)), strict=True)
        rows += [
            (f"{case.what}, search", statistics.median(rates), "playouts/s"),
            (f"{case.what}, search", statistics.median(costs), "x a rollout"),
            (f"{case.what}, search", type(case.start().search()).node_bytes, "bytes/node"),
        ]
    return rows + _two_of(CASES[0], 2_000 if quick else 20_000)


def _round(case: SearchCase, playouts: int, seed: int) -> tuple[float, float]:
    """Playouts of a search per second, and what one costs beside a bare one."""
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
    return done / mine, mine / done / (bare / playouts)


def _two_of(case: SearchCase, playouts: int) -> list[tuple[str, float, str]]:
    """What two threads and two processes do in the time of one thread, which plays `playouts` as each of them does."""
    spawn = multiprocessing.get_context("spawn")
    ends = [spawn.Pipe() for _ in range(2)]
    helpers = [spawn.Process(target=_serve, args=(there, case.what, playouts), daemon=True) for _, there in ends]
    for helper in helpers:
        helper.start()
    threads, processes = [], []
    for seed in range(1, ROUNDS_OF_TWO + 1):
        one, two = (_rate(case, playouts, count, seed) for count in (1, 2))
        threads.append(two / one)
        processes.append(_rate_of_processes([here for here, _ in ends], seed) / one)
    for helper in helpers:
        helper.kill()
        helper.join()
    return [
        (f"{case.what}, search, two threads", statistics.median(threads), "x one thread"),
        (f"{case.what}, search, two processes", statistics.median(processes), "x one thread"),
        (f"{case.what}, search, two threads", _median_ratio(threads, processes), "x two processes"),
    ]


def _median_ratio(these: list[float], those: list[float]) -> float:
    """Of rounds that went on in turns."""
    return statistics.median(one / other for one, other in zip(these, those, strict=True))


def _rate(case: SearchCase, playouts: int, threads: int, seed: int) -> float:
    """Playouts per second of all threads together."""
    search = case.start().search(seed, threads, 128 * threads)
    begin = time.perf_counter()
    search.run(playouts * threads)
    return sum(visits for _, visits, _, _ in search.votes()) / (time.perf_counter() - begin)


def _rate_of_processes(helpers: list[Connection], seed: int) -> float:
    """The same of those processes, which search the same: from a start in common until the last one ends."""
    for step in (seed, "go"):
        begin = time.perf_counter()
        for helper in helpers:
            helper.send(step)
        answers: list[int] = [helper.recv() for helper in helpers]
    return sum(answers) / (time.perf_counter() - begin)


def _serve(parent: Connection, what: str, playouts: int) -> None:
    """For each seed: a search that is ready, then, when told so, its playouts."""
    case = next(case for case in CASES if case.what == what)
    while True:
        search = case.start().search(parent.recv(), 1, 128)
        parent.send(0)
        parent.recv()
        search.run(playouts)
        parent.send(sum(visits for _, visits, _, _ in search.votes()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.core_search", description="What a search costs.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    for what, figure, unit in main(parser.parse_args(sys.argv[1:]).quick):
        print(f"{what:32} {figure:12,.2f} {unit}")
