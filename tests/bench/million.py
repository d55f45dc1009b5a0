"""A ladder of 1000 bots and 10⁶ games with true records: what it costs to rate, show, check and go on. SQLite.

Commands are whole processes: the clock from start to end, the processor, and the most memory. Each figure of a ladder
is the best of three, for it is what the machine can do; the report and the check run once.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ggp.referee.ladder.queries import PoolSummary
from ggp.referee.ladder.rating import ResultsTable, kept_ratings, rate_seats
from ggp.referee.ladder.standings import make_fit
from ggp.referee.ladder.store.model import FinishedGame, FormatKind, Pair, Pairing
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.web.pages import render
from tests.bench.filled import fill
from tests.support.stores import match

BOTS, GAMES, PLIES = 1000, 1_000_000, 10
LONG, LONG_GAMES = 60, 20_000  # plies, and games of a smaller ladder whose games are so long
BATCH, BATCHES, RECORD = 60, 100, 2500  # games that are added at once, how often, bytes of their records
ROUNDS = 3
_LOOK = 0.01  # seconds between looks at a command
Row = tuple[str, float, str]


class _Cost(NamedTuple):
    clock: float
    processor: float
    mebibytes: float = 0.0


def main(quick: bool = False) -> list[Row]:
    """Rows (what, figure, unit)."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    less = 10 if quick else 1
    bots, games, long = BOTS // less, GAMES // less, LONG_GAMES // less
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        path = Path(folder) / "club.db"
        pool = fill(path, bots, games, PLIES)
        rows = [*_rated(path, pool), *_shown(path, Path(folder) / "site"), *_checked(path, games, PLIES)]
        rows += _added(path, pool, BATCHES // less)
        rows += _timed("standings, of games that were rated no more", _best(partial(_command, "standings", path)))
        path.unlink()
        fill(path, 20, long, LONG)
        rows += _checked(path, long, LONG)
    return [(f"{bots} bots, {games:,} games: {name}", figure, unit) for name, figure, unit in rows]


def _rated(path: Path, pool: int) -> list[Row]:
    """What a run does now and then: read all meetings, rate, keep the ratings."""
    with Store.open(f"sqlite:///{path}") as store:

        def refit(warm: bool) -> None:
            seats = store.seats(pool)
            start = kept_ratings(store.fit(pool), "davidson") if warm else None
            ratings = rate_seats(ResultsTable.of(store.meeting_counts(pool), store.repeats(pool)), seats, start=start)
            store.save_fit(pool, make_fit(ratings, pool, store.counted(pool), seats))

        cold, warm = (_best(partial(_here, partial(refit, start))) for start in (False, True))
        table, seats = ResultsTable.of(store.meeting_counts(pool), store.repeats(pool)), store.seats(pool)
        start = kept_ratings(store.fit(pool), "davidson")
        fit = _best(partial(_here, partial(rate_seats, table, seats, start=start)))
    return [
        *_timed("read, rated from nothing, kept", cold),
        *_timed("read, rated from the kept ratings, kept", warm),
        *_timed("of that the fit", fit),
    ]


def _shown(path: Path, site: Path) -> list[Row]:
    with Store.open(f"sqlite:///{path}") as store:
        (pool,) = store.pools()
        page = _best(partial(_here, partial(_page, store, PoolSummary(store, pool))))
    report = _command("report", path, "-o", str(site), "--quiet")
    return [
        *_timed("standings", _best(partial(_command, "standings", path))),
        *_timed("crosstable as CSV", _best(partial(_command, "crosstable", path, "--csv"))),
        *_timed("page of a bot, in this process", page),
        *_timed("report", report),
        ("report, memory", report.mebibytes, "MiB"),
    ]


def _page(store: Store, pool: PoolSummary) -> None:
    page = render("bot.html", root="../", pools=[pool], name="bot7", ladder="club", kept={})
    assert "Opponents" in page


def _checked(path: Path, games: int, plies: int) -> list[Row]:
    cost = _command("check", path, "--quiet")
    what = f"check of {games:,} games of {plies} plies"
    return [(f"{what}, a second of the processor", games / cost.processor, "games"), (what, cost.clock, "s")]


def _added(path: Path, pool: int, batches: int) -> list[Row]:
    """Games of pairs that were issued before, as a run stores them: durable in small batches."""
    chance, noise = random.Random(1), random.Random(1).randbytes(RECORD)
    with Store.open(f"sqlite:///{path}") as store:
        ids = [seat.id for seat in store.seats(pool)]
        first, costs = store.past(pool, FormatKind.SWISS).batches, []
        for number in range(batches):
            chosen = [Pairing(*chance.sample(ids, 2)) for _ in range(BATCH // 2)]
            games = [_game(pair, game, noise) for pair in store.issue(pool, first + number, chosen) for game in (0, 1)]
            costs.append(_here(partial(store.add, games)))
    clock, processor = (sum(getattr(cost, name) for cost in costs) for name in ("clock", "processor"))
    what = f"games of {RECORD / 1000} kB added, durable, {BATCH} at once"
    return [
        (f"{what}, a second", BATCH * batches / clock, "games"),
        (f"{what}, a second of the processor", BATCH * batches / processor, "games"),
    ]


def _game(pair: Pair, game: int, record: bytes) -> FinishedGame:
    return FinishedGame(pair, replace(match(pair, game, names=("first", "second")).result, record=record))


def _command(name: str, path: Path, *words: str) -> _Cost:
    """`ggp ladder NAME` of the ladder."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "ggp.referee.cli", "ladder", name, str(path), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0  # the kernel's own, ru_maxrss, begins with what this process has
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        most = max(most, _most_memory(process.pid))
        time.sleep(_LOOK)
    spent = time.perf_counter() - began
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return _Cost(spent, usage.ru_utime + usage.ru_stime, most / 1024)


def _most_memory(pid: int) -> int:
    """KiB that a process has had at a time, 0 once it has ended."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def _here(call: Callable[[], object]) -> _Cost:
    clock, processor = time.perf_counter(), time.process_time()
    call()
    return _Cost(time.perf_counter() - clock, time.process_time() - processor)


def _best(measure: Callable[[], _Cost]) -> _Cost:
    """The least of each, after one that is not counted."""
    measure()
    return _Cost(*(min(values) for values in zip(*(measure() for _ in range(ROUNDS)), strict=True)))


def _timed(what: str, cost: _Cost) -> list[Row]:
    return [(f"{what}, processor", cost.processor, "s"), (f"{what}, clock", cost.clock, "s")]
