"""A round trip to a program with and without `ggp tap` between: what its users pay for a record."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ECHO = [sys.executable, "-S", "-c", "import os\nwhile data := os.read(0, 65536): os.write(1, data)"]
ROUNDS = 5


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    trips = 500 if quick else 5000
    with tempfile.TemporaryDirectory() as folder:
        tap = [sys.executable, "-m", "ggp.referee.cli", "tap", "-o", str(Path(folder) / "x.log"), "--"]
        without, between = _round_trip(ECHO, trips), _round_trip([*tap, *ECHO], trips)
    return [("round trip to a program", without, "µs"), ("the same through ggp tap", between, "µs")]


def _round_trip(argv: list[str], trips: int) -> float:
    """Microseconds of one line there and back."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    there, back = process.stdin.fileno(), process.stdout.fileno()
    times = []
    for _ in range(ROUNDS):
        os.write(there, b"warm\n")
        os.read(back, 100)
        began = time.perf_counter()
        for _ in range(trips):
            os.write(there, b"genmove b\n")
            os.read(back, 100)
        times.append((time.perf_counter() - began) / trips * 1e6)
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    return median(times)
