"""A lobby of two fronts: memory and processor of each, and how long bots are away after one of them is killed.

The bots are those of dialled.c, in one process. Fronts, engines, store and bots share the machine's cores. The store is
PostgreSQL where that is installed, else SQLite.
"""

import json
import os
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.lobby import build
from tests.bench.measure import Row, memory
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


@dataclass(frozen=True)
class FrontsMeasured:
    """`memory`: KiB of a front for each bot that plays there; `processor`: µs of a front for each ply, without its
    engines; `joined`, `paired`, `back`: seconds; `rest`: KiB for each bot of the front that is left with all."""

    memory: float
    processor: float
    engines: float
    joined: float
    paired: float
    back: float
    lost: int
    moves: float
    rest: float
    games: int
    events: list[LobbyProcess]


def main(quick: bool = False) -> list[Row]:
    """Return rows of two fronts of which one is killed."""
    bots = 100 if quick else 4000
    with tempfile.TemporaryDirectory() as folder:
        binaries = server_binaries()
        server = PostgresServer(binaries) if binaries else None
        databases = server.database() if server else iter([f"sqlite:///{folder}/club.db"])
        found = measure(Path(folder), next(databases), bots, *((50, 6.0) if quick else (500, 20.0)))
        if server:
            server.stop()
    figures = {
        "all have dialled in after": (found.joined, "s"),
        "all play after": (found.paired, "s"),
        "moves, at both": (found.moves, "moves/s"),
        "memory of a front for each of its bots": (found.memory, "KiB"),
        "processor of the front, a ply": (found.processor, "µs"),
        "processor of its engines, a ply": (found.engines, "µs"),
        "one killed: all play again after": (found.back, "s"),
        "one killed: memory of the other for each bot": (found.rest, "KiB"),
    }
    return [(f"lobby: {bots} bots at two fronts: {what}", *figure) for what, figure in figures.items()]


def measure(folder: Path, store: str, bots: int, rate: float, seconds: float) -> FrontsMeasured:
    """Play for so long, twice: with both fronts, and after the first was killed."""
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
            began = [(_used(front), _metric(front, "ggp_plies_total")) for front in fronts]
            time.sleep(seconds)
            ended = [(_used(front), _metric(front, "ggp_plies_total")) for front in fronts]
            grown = sum(memory(front.process.pid) - was for front, was in zip(fronts, before, strict=True))
            plies = sum(after[1] - was[1] for was, after in zip(began, ended, strict=True))
            spent = [
                (after[0][0] - was[0][0], after[0][1] - was[0][1]) for was, after in zip(began, ended, strict=True)
            ]
            own, engines = (sum(each) for each in zip(*spent, strict=True))
            one.kill()
            assert program.stdout is not None
            said = json.loads(program.stdout.read().splitlines()[-1])
            rest = memory(other.process.pid) - before[1]
        return FrontsMeasured(
            memory=grown / bots,
            processor=own / plies * 1e6,
            engines=engines / plies * 1e6,
            joined=said["joined"],
            paired=said["paired"],
            back=said["back"],
            lost=said["lost"],
            moves=plies / seconds,
            rest=rest / bots,
            games=sum(len(front.events("game")) for front in fronts),
            events=fronts,
        )
    finally:
        for front in fronts:
            if front.process.poll() is None:
                front.end()


def _used(front: LobbyProcess) -> tuple[float, float]:
    """Seconds of processor time: of the front itself, and of the processes that it started."""
    times = {}
    for pid in front.pids():
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        times[pid] = (int(words[11]) + int(words[12])) / _TICKS
    own = times.pop(front.process.pid)
    return own, sum(times.values())


def _metric(front: LobbyProcess, name: str) -> int:
    with urllib.request.urlopen(str(front.events("metrics")[0]["url"]), timeout=60) as page:
        lines = page.read().decode().splitlines()
    return int(float(next(line.split()[-1] for line in lines if line.startswith(f"{name} "))))
