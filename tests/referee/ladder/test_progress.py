"""What a ladder that runs shows, and when: standings, the pairs that are being played, the end of its time."""

import time
from concurrent.futures import Future
from dataclasses import replace

import pytest

from ggp.referee.ladder.jobs import PairsUnderWay
from ggp.referee.ladder.progress import Progress, StopConditions
from ggp.referee.ladder.run import LadderRun
from ggp.referee.ladder.schedule import PoolSchedule
from ggp.referee.ladder.store.model import GAMES, Pair
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.tracker import ProgressTracker
from ggp.referee.match.pool import WorkerPool, WorkersLost
from ggp.referee.match.worker import ABORTED, REFEREE, Batch, BatchResult, SeriesRefused, mark
from tests.support.stores import entrant, ladder, match, pool


def test_one_slow_moment_does_not_put_standings_off_for_minutes(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones may take seconds on a busy machine: a fiftieth of the time would then be minutes without."""
    now = 1000.0
    rated: list[float] = []

    def rate(contests: object) -> None:
        nonlocal now
        rated.append(now)
        now += 5.0 if len(rated) == 1 else 0.01

    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Store.open(f"sqlite:///{tmp_path}/a.db", create=True) as store:
        teller = ProgressTracker(Progress("a"), store, StopConditions())
        monkeypatch.setattr(teller, "_rate", rate)
        while now < 1100:
            teller.tell({}, PairsUnderWay("a"), dict, lambda progress: None)
            now += 0.3
    assert rated[1] - rated[0] < 40 and len(rated) > 40


def test_the_suspension_of_a_bot_is_said_once_though_several_of_its_matches_are_refused(tmp_path: object) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a.db", create=True) as store:
        progress = Progress("a")
        tracker = ProgressTracker(progress, store, StopConditions())
        refused = [SeriesRefused(f"a-{number}", "ann", f"exit status 1 after {number} ms") for number in range(4)]
        refused.append(SeriesRefused("a-9", "bob", "exit status 2"))
        tracker.refused(BatchResult([], [], refused, 0.0, 1.0, 0.0, 0), lambda series: 1, suspends=True)
    assert progress.messages == [
        "ann is suspended: exit status 1 after 0 ms",
        "bob is suspended: exit status 2",
    ]


def test_the_suspension_of_a_bot_in_one_of_several_pools_names_the_pool(tmp_path: object) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a.db", create=True) as store:
        both = ("one", "two")
        config = ladder([entrant("ann", pools=both), entrant("bob", pools=both)], [pool("one"), pool("two", size="7")])
        rows = store.enrol(config)
        progress = Progress("a")
        tracker = ProgressTracker(progress, store, StopConditions())
        tracker.begin({rows[pool.name]: PoolSchedule(config, pool, rows[pool.name], store) for pool in config.pools})
        refused = [SeriesRefused(f"a-{name}", "ann", "exit status 1") for name in (*both, *both)]
        series = {f"a-{name}": rows[name] for name in both}
        tracker.refused(BatchResult([], [], refused, 0.0, 1.0, 0.0, 0), series.get, suspends=True)
    assert progress.messages == ["ann is suspended in one: exit status 1", "ann is suspended in two: exit status 1"]


class Endless(WorkerPool):
    """Two workers whose first match never ends; each has a chunk in hand and one that waits."""

    def __init__(self) -> None:
        super().__init__(short=0.0)
        self.jobs, self.size = 2, 2 * GAMES
        self.chunks: list[list[Batch]] = []
        self.stopped = self.closed = False

    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        self.chunks.append(chunk)
        return Future()

    def loss(self, error: BaseException) -> WorkersLost | None:
        return None

    def drop(self, keys: list[str]) -> bool:
        return False

    def playing(self) -> dict[int, float] | None:
        return {mark(chunk[0].setup.key(chunk[0].numbers[0])): 5.0 for chunk in self.chunks[: self.jobs]}

    def stop(self) -> None:
        self.stopped = True

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        assert self.stopped, "the matches would never end"
        return super().drain(0.0)

    def close(self, wait: bool = True) -> None:
        self.closed = True


class OnACluster(Endless):
    def playing(self) -> None:
        return None


def run_for(tmp_path: object, seconds: float, workers: Endless) -> tuple[Progress, list[Progress], int]:
    """A run until a time: how it ended, what was seen on the way, and how many pairs are still to be played."""
    seen: list[Progress] = []
    bots = [entrant(name, f"v-{name}") for name in ("ann", "bob", "cat", "dan")]
    with Store.open(f"sqlite:///{tmp_path}/a.db", create=True) as store:
        limits = StopConditions(at=time.time() + seconds)
        run = LadderRun(
            ladder(bots, [pool()]), store, lambda: workers, limits, lambda progress: seen.append(replace(progress))
        )
        store.take_lock("a test")
        progress = run.go()
        (row,) = store.pools()
        return progress, seen, len(store.open_pairs(row.id))


def test_a_run_ends_when_its_time_is_over(tmp_path: object) -> None:
    """Chunks in the workers' hands, and those that wait for them, are not played to their end."""
    workers, began = Endless(), time.monotonic()
    progress, _, still_open = run_for(tmp_path, 0.3, workers)
    assert time.monotonic() - began < 30, "it waited for games that never end"
    assert workers.stopped and workers.closed and still_open > 0
    assert progress.finished == (
        "the time of --until is over; games that are not finished are played again by the next run"
    )


class OneOver(Endless):
    """One match was over when the workers were stopped; the rest of its chunk was dropped."""

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        super().drain()
        work, *_ = self.chunks[0]
        made = match(Pair(1, 1, 0, 0, 1, 2), 0)
        result = replace(made.result, key=work.setup.key(work.numbers[0]), number=work.numbers[0])
        dropped = [SeriesRefused(work.setup.series, REFEREE, ABORTED)]
        return [BatchResult([work.setup.series], [result], dropped, 0.0, 1.0, 0.0, 0)]


def test_matches_that_were_over_at_the_end_are_counted(tmp_path: object) -> None:
    progress, _, _ = run_for(tmp_path, 0.3, OneOver())
    assert progress.terminations == {"rules": 1} and progress.plies == 2
    assert progress.messages == []


def test_pairs_that_wait_for_a_worker_are_not_playing(tmp_path: object) -> None:
    workers = Endless()
    _, seen, _ = run_for(tmp_path, 0.3, workers)
    shown = [progress.playing for progress in seen if progress.playing]
    assert shown and all(len(playing) == workers.jobs for playing in shown)
    assert {pair.since for playing in shown for pair in playing} == {5.0}
    assert not any(pair.given for playing in shown for pair in playing)


def test_on_a_cluster_pairs_are_given_out(tmp_path: object) -> None:
    """Its workers do not say what they play, so nothing is called playing."""
    _, seen, _ = run_for(tmp_path, 0.3, OnACluster())
    shown = [progress.playing for progress in seen if progress.playing]
    assert shown and all(pair.given for playing in shown for pair in playing)
    assert all(len(playing) > 2 for playing in shown)
