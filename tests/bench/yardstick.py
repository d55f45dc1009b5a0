"""What this machine costs, beside which other figures say more: a pipe's round trip, and a loop in Python."""

import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.referee import build, round_trip

ROUNDS = 9
LOOP = 1_000_000


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    rounds = 1 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        bot = build(Path(folder))
        trips = [round_trip(bot, Path(folder), one_core=True) for _ in range(rounds)]
    return [
        ("yardstick: round trip of a pipe, one core", statistics.median(trips), "µs"),
        ("yardstick: a million additions in Python", statistics.median(_additions() for _ in range(rounds)), "ms"),
    ]


def _additions() -> float:
    began, total = time.process_time(), 0
    for number in range(LOOP):
        total += number
    return (time.process_time() - began) * 1e3
