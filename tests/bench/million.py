"""A ladder of 1000 bots and 10⁶ games with true records: what it costs to rate, show, check and go on. SQLite.

Commands are whole processes: the clock from start to end, the processor, and the most memory. Each figure of a ladder
is the best of three, for it is what the machine can do; the report and the check run once.
"""

import os
import random
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from ggp.referee.ladder.queries import PoolSummary
from ggp.referee.ladder.rating import ResultsTable, rate_seats
from ggp.referee.ladder.schedule import Schedule
from ggp.referee.ladder.standings import make_fit
from ggp.referee.ladder.store.model import FinishedGame, Format, FormatKind, Pair, Pairing, PoolEntry
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.web.pages import render
from tests.bench.filled import fill
from tests.bench.measure import Cost, Row, best, call_cost, command_cost, cost_rows
from tests.support.stores import match

BOTS, GAMES, PLIES = 1000, 1_000_000, 10
LONG, LONG_GAMES = 60, 20_000  # plies, and games of a smaller ladder whose games are so long
BATCH, BATCHES, RECORD = 60, 100, 2500  # games that are added at once, how often, bytes of their records


def main(quick: bool = False) -> list[Row]:
    """Rows (what, figure, unit)."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    less = 10 if quick else 1
    bots, games, long = BOTS // less, GAMES // less, LONG_GAMES // less
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        path = Path(folder) / "club.db"
        pool = fill(path, bots, games, PLIES)
        rows = [*_rated(path, pool), *_shown(path, Path(folder) / "site"), *_checked(path, games, PLIES)]
        rows += [*_scheduled(path, pool), *_added(path, pool, BATCHES // less)]
        rows += cost_rows("standings, of games that were rated no more", best(partial(_ladder, "standings", path)))
        path.unlink()
        fill(path, 20, long, LONG)
        rows += _checked(path, long, LONG)
    return [(f"{bots} bots, {games:,} games: {name}", figure, unit) for name, figure, unit in rows]


def _rated(path: Path, pool: int) -> list[Row]:
    """Refit as a run does from time to time: read all meetings, rate the bots, store the ratings."""
    with Store.open(f"sqlite:///{path}") as store:

        def refit(warm: bool) -> None:
            seats = store.seats(pool)
            start = store.fit(pool) if warm else None
            ratings = rate_seats(ResultsTable.of(store.meeting_counts(pool), store.repeats(pool)), seats, start=start)
            store.save_fit(pool, make_fit(ratings, store.counted(pool), seats))

        cold, warm = (best(partial(call_cost, partial(refit, start))) for start in (False, True))
        table, seats = ResultsTable.of(store.meeting_counts(pool), store.repeats(pool)), store.seats(pool)
        start = store.fit(pool)
        fit = best(partial(call_cost, partial(rate_seats, table, seats, start=start)))
    return [
        *cost_rows("read, rated from nothing, kept", cold),
        *cost_rows("read, rated from the kept ratings, kept", warm),
        *cost_rows("of that the fit", fit),
    ]


def _shown(path: Path, site: Path) -> list[Row]:
    with Store.open(f"sqlite:///{path}") as store:
        (pool,) = store.pools()
        page = best(partial(call_cost, partial(_page, store, PoolSummary(store, pool))))
    report = _ladder("report", path, "-o", str(site), "--quiet")
    return [
        *cost_rows("standings", best(partial(_ladder, "standings", path))),
        *cost_rows("crosstable as CSV", best(partial(_ladder, "crosstable", path, "--csv"))),
        *cost_rows("page of a bot, in this process", page),
        *cost_rows("report", report),
        ("report, memory", report.mebibytes, "MiB"),
    ]


def _page(store: Store, pool: PoolSummary) -> None:
    page = render("bot.html", root="../", pools=[pool], name="bot7", ladder="club", kept={})
    assert "Opponents" in page


def _checked(path: Path, games: int, plies: int) -> list[Row]:
    cost = _ladder("check", path, "--quiet")
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
            costs.append(call_cost(partial(store.add, games)))
    clock, processor = (sum(getattr(cost, name) for cost in costs) for name in ("clock", "processor"))
    what = f"games of {RECORD / 1000} kB added, durable, {BATCH} at once"
    return [
        (f"{what}, a second", BATCH * batches / clock, "games"),
        (f"{what}, a second of the processor", BATCH * batches / processor, "games"),
    ]


def _game(pair: Pair, game: int, record: bytes) -> FinishedGame:
    return FinishedGame(pair, replace(match(pair, game, names=("first", "second")).result, record=record))


def _ladder(name: str, path: Path, *words: str) -> Cost:
    return command_cost("ladder", name, str(path), *words)


def _scheduled(path: Path, pool: int) -> list[Row]:
    """Begin the schedule from what is stored, make a batch, and make one after a bot has joined."""
    with Store.open(f"sqlite:///{path}") as store:
        past, seats = store.past(pool, FormatKind.SWISS), store.seats(pool)
    entries = [PoolEntry(seat.id, f"bot{seat.id}", f"bot{seat.id}", f"v{seat.id}") for seat in seats]
    times = [time.perf_counter()]
    schedule = Schedule(Format(batch=BATCH), "bench", 1, entries, past)
    times.append(time.perf_counter())
    assert schedule.due()
    times.append(time.perf_counter())
    schedule.enter([*entries, PoolEntry(max(one.id for one in entries) + 1, "new", "new", "new")])
    assert schedule.due()
    times.append(time.perf_counter())
    steps = ("schedule begun from what is stored", "its first batch made", "a batch after a bot has joined")
    return [(what, times[at + 1] - times[at], "s") for at, what in enumerate(steps)]
