"""The lobby with a thousand bots that dial in: moves a second, what the way through it takes, memory of each."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.lobby_server import Server, lobby_file

RATES = (500, 2000)  # moves a second that are asked for


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Server and engines on one core, the bots on another, if there are two."""
    bots, seconds = (100, 3.0) if quick else (1000, 20.0)
    rows: list[tuple[str, float, str]] = []
    for rate in RATES[:1] if quick else RATES:
        with tempfile.TemporaryDirectory() as folder:
            rows += _measure(Path(folder), bots, rate, seconds)
    return rows


def _measure(folder: Path, bots: int, rate: int, seconds: float) -> list[tuple[str, float, str]]:
    cores = sorted(os.sched_getaffinity(0))
    server = Server(lobby_file(folder, "hello = 60", "openings = 4", "600+10"))
    for pid in server.pids():
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {cores[0]})
    before = memory(server.process.pid)
    program = [sys.executable, "-m", "tests.paced_bots", server.url, str(bots), str(bots / 2 / rate), str(seconds)]
    pinned = ["taskset", "-c", str(cores[-1]), *program]
    said = json.loads(subprocess.run(pinned, stdout=subprocess.PIPE, check=True).stdout)
    each = (memory(server.process.pid) - before) / bots
    server.kill()
    name = f"lobby: {bots} bots"
    return [
        (f"{name}, {rate} moves/s asked for", said["moves"], "moves/s"),
        (f"{name}, {rate} moves/s: a move's way, half", said["p50"], "ms"),
        (f"{name}, {rate} moves/s: a move's way, 99 %", said["p99"], "ms"),
        (f"{name}, playing: memory of the server each", each, "KiB"),
    ]


def memory(pid: int) -> int:
    """Resident KiB of a process."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
