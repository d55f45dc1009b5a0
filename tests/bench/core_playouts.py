"""How many random games a second the core plays, board by board, on one core. It judges nothing.

A row is (what, playouts per second, "playouts/s"), the median of five rounds, each with its own seed. `--json` prints
the rows with the mean length of a game and the time of one ply beside them.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from ggp.engines._core import Go, Laido, Stigmergy, Taigo, Taugo, Yugo

ROUNDS = 5
Policy = Literal["uniform", "rollout"]


class PlayoutCase(NamedTuple):
    """A position to play from and how many games make a round of about a quarter of a second."""

    what: str
    start: Callable[[], Go | Laido | Stigmergy | Taigo | Taugo | Yugo]
    games: int


class Figure(NamedTuple):
    """Medians over the rounds."""

    what: str
    policy: Policy
    playouts_per_s: float
    plies_per_game: float
    ns_per_ply: float


CASES = (
    PlayoutCase("go 9x9", lambda: Go(size=9), 20_000),
    PlayoutCase("go 19x19, ko=simple", lambda: Go(size=19, ko="simple"), 4_000),
    PlayoutCase("yugo 9x9", lambda: Yugo(size=9), 25_000),
    PlayoutCase("yugo 19x19", lambda: Yugo(size=19), 5_000),
    PlayoutCase("taugo 16", Taugo, 4_000),
    PlayoutCase("taigo", Taigo, 15_000),
    PlayoutCase("laido, side 9", Laido, 20_000),
    PlayoutCase("stigmergy 8, komi=0", lambda: Stigmergy(size=8, komi=0), 15_000),
    PlayoutCase("stigmergy 13, komi=0", lambda: Stigmergy(size=13, komi=0), 2_500),
)


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """The rows of `make bench`."""
    return [(f"{f.what}, {f.policy}", f.playouts_per_s, "playouts/s") for f in measure(quick)]


def measure(quick: bool) -> list[Figure]:
    """All boards under both policies."""
    policies: tuple[Policy, ...] = ("uniform", "rollout")
    return [_measure(case, policy, case.games // 10 if quick else case.games) for case in CASES for policy in policies]


def _measure(case: PlayoutCase, policy: Policy, games: int) -> Figure:
    state = case.start()
    state.playouts(games // 10, 0, policy)  # warm caches and a clock speed that has risen
    seconds, plies = [], []
    for seed in range(1, ROUNDS + 1):
        begin = time.perf_counter()
        plies.append(state.playouts(games, seed, policy)[0])
        seconds.append(time.perf_counter() - begin)
    per_s = statistics.median(games / s for s in seconds)
    length = statistics.mean(plies) / games
    return Figure(case.what, policy, per_s, length, 1e9 / per_s / length)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.core_playouts", description="Playouts per second.")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    chosen = parser.parse_args()
    figures = measure(chosen.quick)
    if chosen.json:
        print(json.dumps([figure._asdict() for figure in figures]))
        sys.exit()
    for f in figures:
        speed = f"{f.playouts_per_s:9,.0f}/s"
        print(f"{f.what:20} {f.policy:8} {speed} {f.plies_per_game:6.0f} plies {f.ns_per_ply:4.0f} ns/ply")
