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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from ggp.referee.ladder.store.model import Pairing
from ggp.referee.ladder.store.store import Store
from tests.bench.lobby import Rows, build, memory
from tests.support.cli import wait_until
from tests.support.lobby_server import LobbyProcess
from tests.support.postgres import PostgresServer, server_binaries
from tests.support.stores import ladder, match, pool

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
T = TypeVar("T")
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


def main(quick: bool = False) -> Rows:
    with tempfile.TemporaryDirectory() as folder:
        binaries = server_binaries()
        server = PostgresServer(binaries) if binaries else None
        databases = server.database() if server else iter([f"sqlite:///{folder}/club.db"])
        found = measure(Path(folder), next(databases), *((100, 50, 6.0) if quick else (4000, 500, 20.0)))
        store = next(server.database()) if server else f"sqlite:///{folder}/shared.db"
        rows = shared(store, 1000 if quick else 100_000)
        if server:
            server.stop()
    name = f"lobby: {100 if quick else 4000} bots at two fronts"
    return [
        (f"{name}: all have dialled in after", found.joined, "s"),
        (f"{name}: all play after", found.paired, "s"),
        (f"{name}: moves, at both", found.moves, "moves/s"),
        (f"{name}: memory of a front for each of its bots", found.memory, "KiB"),
        (f"{name}: processor of the front, a ply", found.processor, "µs"),
        (f"{name}: processor of its engines, a ply", found.engines, "µs"),
        (f"{name}: one killed: all play again after", found.back, "s"),
        (f"{name}: one killed: memory of the other for each bot", found.rest, "KiB"),
        *rows,
    ]


def shared(url: str, bots: int) -> Rows:
    """What the fronts do in the one store that they share, where so many bots are and half of them play."""
    club = ladder([f"bot-{number}" for number in range(bots)], [pool()])
    with Store.open(url, create=True) as store:
        store.join_front("a", "bench")
        row = store.enrol(club)["fast"]
        ids = [seat.id for seat in store.seats(row)]
        halves = zip(ids[: bots // 2 : 2], ids[1 : bots // 2 : 2], strict=True)
        issued = [store.issue(row, None, [Pairing(*pair) for pair in some], "a") for some in batched(halves, 1000)]
        names = [f"bot-{number}" for number in range(bots)]
        for some in batched(iter(names), 5000):
            store.lease("a", list(some), [])
        idle = ids[bots // 2 :]
        games = [match(pair, game, game) for pair in issued[0][:25] for game in (0, 1)]
        store.disclaim("a", [pair.id for pair in issued[-1][-32:]])
        again = [id for pair in issued[-1][-32:] for id in (pair.first, pair.second)]
        fresh = [Pairing(idle[at], idle[at + 1]) for at in range(0, 64, 2)]
        jobs: list[tuple[str, Callable[[], object]]] = [
            ("a bot arrives", lambda: store.lease("a", [names[0]], [])),
            ("100 bots arrive and 100 leave", lambda: store.lease("a", names[:100], names[100:200])),
            ("a sign of life", lambda: store.renew_front("a", "tcp://a", True)),
            ("the open pairs between 64 idle bots", lambda: store.open_pairs(row, "a", idle[:64])),
            ("claim 32 pairs", lambda: store.claim("a", [pair.id for pair in store.open_pairs(row, "a", again)])),
            ("issue 32 pairs", lambda: store.issue(row, None, fresh, "a")),
            ("store 50 games", lambda: store.add(games)),
            ("enter 64 bots again", lambda: store.enrol_more(replace(club, bots=club.bots[:64]))),
            ("read all entries", lambda: store.seats(row)),
        ]
        rows: Rows = []
        for what, job in jobs:
            began = time.perf_counter()
            job()
            rows.append((f"fronts' store, {bots} bots: {what}", (time.perf_counter() - began) * 1000, "ms"))
        store.leave_front("a")
    return rows


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
            wait_until(lambda: sum(_matches(front) for front in fronts) * 2 >= bots * 0.98, _PATIENCE)
            began = [(_used(front), _plies(front)) for front in fronts]
            time.sleep(seconds)
            ended = [(_used(front), _plies(front)) for front in fronts]
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


def batched(values: Iterator[T], size: int) -> Iterator[tuple[T, ...]]:
    """Tuples of so many values, the last one of what is left."""
    while some := tuple(islice(values, size)):
        yield some


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


def _plies(front: LobbyProcess) -> int:
    return _metric(front, "ggp_plies_total")


def _matches(front: LobbyProcess) -> int:
    return _metric(front, "ggp_matches")
