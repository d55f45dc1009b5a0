"""What a ladder of 1000 bots and 10⁶ stored games costs: to begin it, to show it, to rate it anew. SQLite.

Of everything both the processor and the clock, where they are not the same; of commands, which are started for it,
the clock. A page is measured with the stored fit current, as a ladder that runs leaves it.
"""

import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ggp.referee.match.pool import LocalPool
from ggp.referee.match.worker import Batch, WorkerConfig
from tests.bench.filled import fill, ladder_of

BOTS, GAMES = 1000, 1_000_000
ROUNDS = 3
Row = tuple[str, float, str]


def main(quick: bool = False) -> list[Row]:
    """Rows (what, figure, unit)."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    bots, games = (BOTS // 10, GAMES // 100) if quick else (BOTS, GAMES)
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        path = Path(folder) / "club.db"
        began = time.perf_counter()
        pool = fill(path, bots, games)
        filled = time.perf_counter() - began
        rows = [*_begin(path, bots), *_rate(path, pool), *_show(path)]
    what = f"{bots} bots, {games:,} games"
    return [(f"{what}: {name}", figure, unit) for name, figure, unit in [*rows, ("made for this", filled, "s")]]


def _begin(path: Path, bots: int) -> list[Row]:
    """From an open store to the first work for a worker: a batch is rated and made, then one is there already."""
    return [
        *_timed("ladder begun, a batch made", _first_work(path, bots)),
        *_timed("ladder begun again, its batch stored", _first_work(path, bots)),
    ]


def _first_work(path: Path, bots: int) -> tuple[float, float]:
    from ggp.referee.ladder.progress import StopConditions
    from ggp.referee.ladder.run import LadderRun
    from ggp.referee.ladder.store.store import Store

    ladder, processor, clock = ladder_of(bots), time.process_time(), time.perf_counter()
    with Store.open(f"sqlite:///{path}") as store:
        workers = _FirstWork(1, WorkerConfig())
        run = LadderRun(ladder, store, lambda: workers, StopConditions(), lambda progress: None)
        with contextlib.suppress(_Given):
            progress = run.go()
            raise AssertionError(f"nothing was played: {progress.finished or progress.failed}")
    return workers.processor - processor, workers.clock - clock


class _Given(Exception):
    """There is work."""


class _FirstWork(LocalPool):
    """A pool that notes when it is first given work, and plays none."""

    processor = clock = 0.0

    def submit(self, chunk: list[Batch]) -> None:
        self.processor, self.clock = time.process_time(), time.perf_counter()
        raise _Given


def _rate(path: Path, pool: int) -> list[Row]:
    """What a run does now and then: read the meetings, rate, keep the fit."""
    from ggp.referee.ladder.rating import rate_seats
    from ggp.referee.ladder.standings import make_fit
    from ggp.referee.ladder.store.store import Store

    rows: list[Row] = []
    with Store.open(f"sqlite:///{path}") as store:
        meetings, seats, games = store.meetings(pool), store.seats(pool), store.counted(pool)
        rows += _timed("meetings read", _median(partial(store.meetings, pool)))
        ratings = rate_seats(meetings, seats)
        rows += _timed("rated from nothing", _median(partial(rate_seats, meetings, seats)))
        rows += _timed("rated again", _median(partial(rate_seats, meetings, seats, "davidson", ratings)))
        rows += _timed("a fit made of the ratings", _median(partial(make_fit, ratings, pool, games, seats)))
        fit = make_fit(ratings, pool, games, seats)
        rows += _timed("the fit stored", _median(partial(store.save_fit, pool, fit)))
    return rows


def _show(path: Path) -> list[Row]:
    commands = [("standings", ()), ("games", ()), ("games", ("--bot", "bot7"))]
    return [
        *_timed("page of standings, in this process", _median(partial(_page, path))),
        *(
            (f"ggp ladder {' '.join((name, *words))}", _median(partial(_command, name, path, *words))[1], "s")
            for name, words in commands
        ),
    ]


def _page(path: Path) -> None:
    from ggp.referee.ladder.views import run_standings as show

    with contextlib.redirect_stdout(io.StringIO()) as page:
        assert show([str(path)]) == 0
    assert "first seat" in page.getvalue()


def _command(name: str, path: Path, *words: str) -> None:
    program = f"import sys; from ggp.referee.ladder.views import run_{name}; sys.exit(run_{name}(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", program, str(path), *words], stdout=subprocess.DEVNULL, check=True)


def _median(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the processor and of the clock."""
    call()  # imports, and what the system keeps of the file in memory
    taken = []
    for _ in range(ROUNDS):
        processor, clock = time.process_time(), time.perf_counter()
        call()
        taken.append((time.process_time() - processor, time.perf_counter() - clock))
    return statistics.median(one for one, _ in taken), statistics.median(one for _, one in taken)


def _timed(what: str, seconds: tuple[float, float]) -> list[Row]:
    return [(f"{what}, processor", seconds[0], "s"), (f"{what}, clock", seconds[1], "s")]
