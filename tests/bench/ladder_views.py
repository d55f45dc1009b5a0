"""What a page of standings costs where 10⁶ games are stored: in this process, and as a command that is started for it.

With the stored fit current, as a ladder that runs leaves it, and with one game more than it knows, so that all is
rated again. SQLite. Milliseconds of the processor for what is done in this process, of the clock for a command.
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
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.bench.store import fill

SIZES = ((100, 1_000_000), (1000, 1_000_000))  # bots, games
ROUNDS = 5


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit)."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    rows = []
    for bots, games in SIZES:
        with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
            rows += _bench(Path(folder) / "club.db", bots, games // 100 if quick else games)
    return rows


def _bench(path: Path, bots: int, games: int) -> list[tuple[str, float, str]]:
    from referee.ladder.standings import fit_meetings
    from referee.store.store import Store

    url, size = f"sqlite:///{path}", f"{games:,} games of {bots} bots"
    page, standings, games_page = (
        partial(_page, str(path)),
        partial(_command, "standings", path),
        partial(_command, "games", path),
    )
    pool = fill(url, bots, games)
    with Store.open(url) as store:
        meetings, seats = store.meetings(pool), store.seats(pool)
        fit = fit_meetings(pool, sum(met.games for met in meetings), meetings, seats, "davidson")
        assert fit is not None
        store.save_fit(pool, fit)
        rows = [
            (f"standings, {size}, in this process", _median(page, time.process_time), "ms"),
            (
                f"standings, {size}, ggp ladder standings",
                _median(standings, time.perf_counter),
                "ms",
            ),
            (
                f"the newest 20 games, {size}, ggp ladder games",
                _median(games_page, time.perf_counter),
                "ms",
            ),
        ]
        store.save_fit(pool, replace(fit, games=fit.games - 1))
    return [
        *rows,
        (f"standings, {size}, in this process, rated anew", _median(page, time.process_time), "ms"),
    ]


def _page(path: str) -> None:
    from referee.ladder.views.standings import main as show

    with contextlib.redirect_stdout(io.StringIO()) as page:
        assert show([path]) == 0
    assert "first seat" in page.getvalue()


def _command(name: str, path: Path) -> None:
    program = f"import sys; from referee.ladder.views.{name} import main; sys.exit(main(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", program, str(path)], stdout=subprocess.DEVNULL, check=True)


def _median(call: Callable[[], None], now: Callable[[], float]) -> float:
    call()  # imports, and what the system keeps of the file in memory
    taken = []
    for _ in range(ROUNDS):
        start = now()
        call()
        taken.append(now() - start)
    return statistics.median(taken) * 1000
