"""`ggp web` on a ladder of 1000 bots and 10⁶ stored games: start, pages, steps of a match, memory.

The server has one process; the clients are in this one. Pages are asked from many loopback addresses, since the site
limits the requests of each. Times are of the clock, from the request to the last byte.
"""

import contextlib
import http.client
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ladder.standings import make_fit
from ggp.referee.ladder.store.store import Store
from tests.bench.filled import fill, ladder_of
from tests.bench.measure import GGP, Row, memory
from tests.support.stores import Filled, real_setup

BOTS, GAMES = 1000, 1_000_000
ROUNDS = 20
PAGES = {
    "overview": "/",
    "pool": "/pools/fast.html",
    "pool, from its bot 101": "/pools/fast.html?from=101",
    "bot": "/bots/bot7.html",
    "two bots": "/pair?a=bot7&b=bot9",
    "games": "/games",
    "games of a bot": "/games?bot=bot7",
    "games of two bots, a termination": "/games?bot=bot7&against=bot9&termination=time",
    "live": "/live",
}
OTHERS = ("/events", "/pair?a=bot1&b=bot2", "/games?bot=bot3")
"""Pages before the one that is measured cold: with the store open and the ratings made, and itself never asked for."""
_addresses = count(2)


def main(quick: bool = False) -> list[Row]:
    """Rows (what, figure, unit)."""
    bots, games = (BOTS // 10, GAMES // 100) if quick else (BOTS, GAMES)
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        store = Path(folder) / "club.db"
        _rate(store, fill(store, bots, games))
        rows = [*_start(store), *_pages(store)]
        small = Path(folder) / "small"
        small.mkdir()
        rows += _match(small)
    return [(f"web: {name}", figure, unit) for name, figure, unit in rows]


def _rate(path: Path, pool: int) -> None:
    """Keep the ratings in the store, as a ladder that runs does."""
    with Store.open(f"sqlite:///{path}") as store:
        seats = store.seats(pool)
        store.save_fit(pool, make_fit(rate_seats(store.meetings(pool), seats), store.counted(pool), seats))


@contextlib.contextmanager
def _serving(store: Path) -> Iterator[tuple[int, int]]:
    """The process and the port of a server on that store."""
    with subprocess.Popen([*GGP, "web", str(store), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as process:
        assert process.stderr
        line = process.stderr.readline().decode()
        found = re.search(r":(\d+)/", line)
        assert found, line
        try:
            yield process.pid, int(found[1])
        finally:
            process.terminate()
            process.wait(20)


def _get(port: int, path: str) -> tuple[int, float, int]:
    """Status, seconds, bytes of the body as it came, packed."""
    source = f"127.0.{next(_addresses) // 200 % 200 + 1}.{next(_addresses) % 200 + 1}"
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))
    connection.request("GET", path, headers={"Accept-Encoding": "gzip", "Accept": "text/html"})
    answer = connection.getresponse()
    body = answer.read()
    took = time.perf_counter() - began
    connection.close()
    return answer.status, took, len(body)


def _figures(name: str, seconds: list[float]) -> list[Row]:
    ordered = sorted(seconds)
    return [
        (f"{name}, median", statistics.median(ordered) * 1000, "ms"),
        (f"{name}, 99 %", ordered[-1 - len(ordered) // 100] * 1000, "ms"),
    ]


def _start(store: Path) -> list[Row]:
    taken, used = [], 0
    for _ in range(5):
        began = time.perf_counter()
        with _serving(store) as (pid, port):
            assert _get(port, "/live")[0] == 200
            taken.append(time.perf_counter() - began)
            used = memory(pid)
    return [("start until it answers", statistics.median(taken), "s"), ("memory after the start", used / 1024, "MiB")]


def _pages(store: Path) -> list[Row]:
    rows: list[Row] = []
    for name, path in PAGES.items():
        with _serving(store) as (_, port):
            first = _first(port, path)
        with _serving(store) as (_, port):
            for other in OTHERS:
                _first(port, other)
            time.sleep(1)  # until the templates are compiled
            cold = _first(port, path)
            weights = _weights(port, path)
            rows += [
                (f"{name}, as the first page of a new process", first * 1000, "ms"),
                (f"{name}, cold", cold * 1000, "ms"),
                (f"{name}, packed with what it loads", sum(weights) / 1024, "KiB"),
                (f"{name}, requests", len(weights), ""),
            ]
            rows += _figures(f"{name}, warm", [_get(port, path)[1] for _ in range(ROUNDS)])
    return rows


def _first(port: int, path: str) -> float:
    """Seconds of the first answer that is no 503, which says that the ratings of all bots are being computed."""
    status, took, _ = _get(port, path)
    while status == 503:
        time.sleep(1)
        status, took, _ = _get(port, path)
    assert status == 200, (path, status)
    return took


def _weights(port: int, path: str) -> list[int]:
    """Packed bytes of a page and of each file that it loads."""
    with urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        text = answer.read().decode()
    loaded = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"', text)
    return [_get(port, urljoin(path, one))[2] for one in (path, *loaded)]


def _match(folder: Path) -> list[Row]:
    """A match of go of a few hundred plies: the page, a step that the engine draws, a step that was drawn before."""
    with Filled(folder, ladder_of(2)) as filled:
        filled.play(real_setup("bot0=random:seed=1", "bot1=random:seed=2", "go"))
        key = max(filled.store.games(), key=lambda row: row.plies).key
        plies = next(row.plies for row in filled.store.games() if row.key == key)
        store = filled.path
    with _serving(store) as (_, port):
        assert _get(port, f"/match/{key}")[0] == 200  # the engine starts
        page = [_get(port, f"/match/{key}?ply={plies - one}")[1] for one in range(1, ROUNDS + 1)]
        steps = range(ROUNDS + 1, plies - ROUNDS, max(1, plies // 200))
        drawn = [_get(port, f"/match/{key}/ply/{one}")[1] for one in steps]
        again = [_get(port, f"/match/{key}/ply/{one}")[1] for one in steps]
    name = f"match of {plies} plies"
    return [
        *_figures(f"{name}, page", page),
        *_figures(f"{name}, a step", drawn),
        *_figures(f"{name}, a step again", again),
    ]
