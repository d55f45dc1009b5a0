"""A lobby of two fronts: memory and processor of each, and how long bots are away after one of them is killed.

The bots are those of dialled.c, in one process. Fronts, engines, store and bots share the machine's cores. The store is
PostgreSQL where that is installed, else SQLite.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.lobby import build
from tests.bench.measure import Row, memory, metric
from tests.support.cli import wait_until
from tests.support.lobby_server import LobbyProcess
from tests.support.postgres import PostgresServer, server_binaries

_FILE = """\
name = "club"
store = "{store}"

[lobby]
keys = false
engines = {engines}
hello = 600
grace = 120
drain = 0
matches = 10000
connections = 10000
arrivals = 0

[front.a]
listen = "tcp://127.0.0.1:*"

[front.b]
listen = "tcp://127.0.0.1:*"

[pool.small]
game = "yugo,size=13"
control = "600+10"
openings = 4
"""
_PATIENCE = 300.0  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")


def main(quick: bool = False) -> list[Row]:
    """Return rows of two fronts of which one is killed."""
    bots = 100 if quick else 4000
    with tempfile.TemporaryDirectory() as folder:
        binaries = server_binaries()
        server = PostgresServer(binaries) if binaries else None
        databases = server.database() if server else iter([f"sqlite:///{folder}/club.db"])
        rows, _, _ = measure(Path(folder), next(databases), bots, *((50, 6.0) if quick else (500, 20.0)))
        if server:
            server.stop()
    return [(f"lobby: {bots} bots at two fronts: {what}", figure, unit) for what, figure, unit in rows]


def measure(
    folder: Path, store: str, bots: int, rate: float, seconds: float
) -> tuple[list[Row], dict[str, float], list[LobbyProcess]]:
    """Play for so long, twice: with both fronts, and after the first was killed.

    Returns:
        The rows, what the bots' program reports, and the fronts, which have ended.
    """
    file = folder / "fronts.toml"
    file.write_text(_FILE.format(store=store, engines=1 + bots // 1500), encoding="utf-8")
    fronts = [LobbyProcess(file, "--front", name, "--metrics", "127.0.0.1:0") for name in "ab"]
    one, other = fronts
    try:
        before = [memory(front.process.pid) for front in fronts]
        ports = ",".join(str(urlsplit(front.url).port) for front in fronts)
        command = [str(build(folder)), ports, str(bots), str(rate), str(3 * seconds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
            wait_until(lambda: sum(_metric(front, "ggp_matches") for front in fronts) * 2 >= bots * 0.98, _PATIENCE)
            began = list(map(_spent, fronts))
            time.sleep(seconds)
            ended = list(map(_spent, fronts))
            grown = sum(memory(front.process.pid) - was for front, was in zip(fronts, before, strict=True))
            own, engines, plies = (
                sum(after[each] - was[each] for was, after in zip(began, ended, strict=True)) for each in range(3)
            )
            one.kill()
            assert program.stdout is not None
            said: dict[str, float] = json.loads(program.stdout.read().splitlines()[-1])
            rest = memory(other.process.pid) - before[1]
        rows: list[Row] = [
            ("all have dialled in after", said["joined"], "s"),
            ("all play after", said["paired"], "s"),
            ("moves, at both", plies / seconds, "moves/s"),
            ("memory of a front for each of its bots", grown / bots, "KiB"),
            ("processor of the front, a ply", own / plies * 1e6, "µs"),
            ("processor of its engines, a ply", engines / plies * 1e6, "µs"),
            ("one killed: all play again after", said["back"], "s"),
            ("one killed: memory of the other for each bot", rest / bots, "KiB"),
        ]
        return rows, said, fronts
    finally:
        for front in fronts:
            if front.process.poll() is None:
                front.end()


def _spent(front: LobbyProcess) -> tuple[float, float, float]:
    """Return the seconds of processor time of the front and of the processes that it started, and its plies."""
    times = {}
    for pid in front.pids():
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        times[pid] = (int(words[11]) + int(words[12])) / _TICKS
    own = times.pop(front.process.pid)
    return own, sum(times.values()), _metric(front, "ggp_plies_total")


def _metric(front: LobbyProcess, name: str) -> float:
    return metric(str(front.events("metrics")[0]["url"]), name)
