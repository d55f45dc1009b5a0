"""A run whose store is locked, full or away while nothing is being played waits for it, and ends only for a reason."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection

from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.hiring import PoolToCome
from ggp.referee.ladder.progress import Progress, StopConditions
from ggp.referee.ladder.run import LadderRun
from ggp.referee.ladder.session import prepare_pools
from ggp.referee.ladder.store.model import Full, Locked, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.pool import LocalPool, WorkerPool, WorkersLost
from ggp.referee.match.worker import Batch, BatchResult, WorkerConfig
from ggp.referee.server.control.control import CommandQueue, RunController
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.dask_cluster import DaskCluster
from tests.support.ladders import check_whole, first_line, games_stored, write_ladder

pytestmark = pytest.mark.slow

ROUNDS = '[format]\nkind = "swiss"\nrounds = 3\n'  # nothing is under way when a round begins
GAMES = 3 * 2  # three bots: a pair a round
ERRORS = {"locked": Locked("it is locked"), "full": Full("no room"), "away": StoreError("cannot be reached")}


class Refusing:
    """A database that refuses for two seconds, from the `number`-th call of a method of its store while `idle`."""

    def __init__(self, store: Store, method: str, number: int, error: StoreError) -> None:
        self._store, self._error = store, error
        self._left, self._call = number, getattr(store, method)
        self._until = 0.0
        self.refused = 0
        self.idle: Callable[[], bool] = lambda: True
        setattr(store, method, self._count)
        for name in ("writing", "reading") if not isinstance(error, Locked | Full) else ("writing",):
            setattr(store.database, name, partial(self._open, getattr(store.database, name)))

    def _count(self, *words: object, **named: object) -> object:
        self._left -= self.idle()
        if self._left == 0:
            self._until = time.monotonic() + 2
        return self._call(*words, **named)

    @contextlib.contextmanager
    def _open(self, real: Callable[[], "contextlib.AbstractContextManager[Connection]"]) -> Iterator[Connection]:
        if time.monotonic() < self._until:
            self.refused += 1
            raise self._error
        with real() as connection:
            yield connection


def play(
    file: Path,
    limits: StopConditions,
    hire: Callable[[], WorkerPool],
    method: str,
    number: int,
    error: StoreError,
    controlled: bool = False,
) -> Progress:
    ladder, _ = prepare_pools(read_ladder(file))
    with Store.open(ladder.store, create=True) as store:
        store.take_lock("test")
        refusing = Refusing(store, method, number, error)
        control = RunController(CommandQueue(), remains=False) if controlled else None
        run = LadderRun(ladder, store, hire, limits, lambda progress: None, control=control)
        refusing.idle = lambda: method != "seats" or run.progress.stored == GAMES
        progress = run.go()
        store.release_lock()
    assert refusing.refused, "it was not asked while it refused"
    assert any("the run waits" in line for line in progress.messages), progress.messages
    return progress


def local() -> WorkerPool:
    return LocalPool(1, WorkerConfig(pin=False))


@pytest.mark.parametrize("controlled", [False, True], ids=["alone", "control"])
@pytest.mark.parametrize("error", ERRORS)
def test_a_round_whose_pairs_cannot_be_stored_waits(tmp_path: Path, error: str, controlled: bool) -> None:
    file = write_ladder(tmp_path, more=ROUNDS)
    progress = play(file, StopConditions(), local, "issue", 2, ERRORS[error], controlled)
    assert (progress.finished, progress.failed) == ("all 3 rounds are played", "")
    assert progress.stored == GAMES
    check_whole(file)


@pytest.mark.parametrize("controlled", [False, True], ids=["alone", "control"])
def test_whether_it_is_over_is_asked_until_the_store_answers(tmp_path: Path, controlled: bool) -> None:
    file = write_ladder(tmp_path, more='[format]\nkind = "round-robin"\npairs = 1\n')
    progress = play(file, StopConditions(), local, "seats", 1, ERRORS["away"], controlled)
    assert (progress.finished, progress.failed) == ("all have met in 1 pair", "")
    assert progress.stored == GAMES


def test_workers_of_a_cluster_do_not_end_it_either(tmp_path: Path) -> None:
    from ggp.referee.ladder.dask_pool import DaskPool

    file = write_ladder(tmp_path, more=ROUNDS)
    with DaskCluster(tmp_path) as dask:
        dask.add_worker()
        hire = partial(DaskPool, dask.url, patience=60)
        progress = play(file, StopConditions(), hire, "issue", 2, ERRORS["away"])
    assert (progress.finished, progress.failed, progress.stored) == ("all 3 rounds are played", "", GAMES)


class LosingScheduler(LocalPool):
    """Workers whose scheduler is lost once, before the first game."""

    def start(self, chunk: list[Batch]) -> Future[BatchResult]:
        return Future()

    def drain(self, seconds: float | None = None) -> list[BatchResult]:
        return []

    def gather(self, seconds: float) -> list[BatchResult]:
        raise WorkersLost("the connection to the scheduler is lost", code="scheduler-lost")


def _hiring(away: int) -> tuple[Callable[[], WorkerPool], list[str]]:
    """Workers that lose their scheduler, which is away for so many tries and then comes back."""
    tries: list[str] = []

    def hire() -> WorkerPool:
        tries.append("")
        if len(tries) == 1:
            return LosingScheduler(1, WorkerConfig(pin=False))
        if len(tries) <= 1 + away:
            raise WorkersLost("cannot be reached", code="unreachable")
        return local()

    return hire, tries


@pytest.mark.parametrize(("patience", "comes"), [(300.0, True), (0.5, False)])
def test_a_scheduler_that_comes_back_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float, comes: bool
) -> None:
    monkeypatch.setattr("ggp.referee.ladder.run.RETURN", patience)
    ladder, _ = prepare_pools(read_ladder(write_ladder(tmp_path)))
    hire, tries = _hiring(2)
    with Store.open(ladder.store, create=True) as store:
        store.take_lock("test")
        progress = LadderRun(ladder, store, hire, StopConditions(games=4), lambda progress: None).go()
        store.release_lock()
    assert any("cannot be reached; the run waits" in line for line in progress.messages)
    if comes:
        assert (progress.failed, progress.stored, len(tries)) == ("", 4, 4)
    else:
        assert progress.failed == "cannot be reached", progress


def _without_scheduler(
    tmp_path: Path, seconds: float, control: RunController | None, seen: Callable[[Progress], None]
) -> tuple[Progress, float]:
    """Run for so many seconds while the scheduler is away for 8 s, and each attempt to reach it blocks for 2 s."""
    ladder, _ = prepare_pools(read_ladder(write_ladder(tmp_path)))
    tries: list[float] = []

    def hire() -> WorkerPool:
        tries.append(time.monotonic())
        if len(tries) == 1:
            return LosingScheduler(1, WorkerConfig(pin=False))
        time.sleep(2)
        if time.monotonic() - tries[0] < 8:
            raise WorkersLost("cannot be reached", code="unreachable")
        return local()

    with Store.open(ladder.store, create=True) as store:
        store.take_lock("test")
        began = time.monotonic()
        limits = StopConditions(deadline=began + seconds)
        progress = LadderRun(ladder, store, hire, limits, seen, control=control).go()
        lasted = time.monotonic() - began
        store.release_lock()
    return progress, lasted


def test_a_run_without_workers_says_so_and_ends_at_its_deadline(tmp_path: Path) -> None:
    shown: list[tuple[str, ...]] = []
    progress, lasted = _without_scheduler(tmp_path, 5, None, lambda progress: shown.append((*progress.messages,)))
    assert (progress.finished, progress.failed) == ("the time of --until is over", "")
    assert lasted < 6
    waiting = [messages for messages in shown if "cannot be reached; the run waits" in messages]
    assert len(waiting) > 3, "it is shown during the wait, not only at its end"
    assert waiting[-1].count("cannot be reached; the run waits") == 1


def test_a_run_without_workers_serves_its_control(tmp_path: Path) -> None:
    commands = CommandQueue()
    control = RunController(commands, remains=False)
    answers: list[Future[None]] = []

    def stop_once_it_waits(progress: Progress) -> None:
        if not answers and "cannot be reached; the run waits" in progress.messages:
            answers.append(commands.submit(lambda controller: controller.stop(after=False)))

    progress, lasted = _without_scheduler(tmp_path, 60, control, stop_once_it_waits)
    assert (progress.finished, progress.failed) == ("stopped by a command", "")
    assert answers[0].done() and lasted < 6


def test_workers_that_come_after_the_end_are_dismissed(tmp_path: Path) -> None:
    hired, asked = Event(), Event()
    dismissed: list[bool] = []

    class Late(LosingScheduler):
        def close(self, wait: bool = True) -> None:
            dismissed.append(wait)
            super().close(wait)

    def hire() -> WorkerPool:
        asked.set()
        hired.wait()
        return Late(1, WorkerConfig(pin=False))

    pool = PoolToCome(hire)
    assert asked.wait(10) and pool.hired() is None
    pool.close()
    hired.set()
    wait_until(lambda: dismissed == [False])


def test_a_store_that_stays_away_ends_it_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.ladder.run.PATIENCE", 1.0)
    file = write_ladder(tmp_path, more=ROUNDS)
    progress = play(file, StopConditions(), local, "issue", 2, ERRORS["away"])
    assert (progress.finished, progress.failed) == ("", "cannot be reached")


def test_bots_that_enter_while_another_process_holds_the_store(tmp_path: Path) -> None:
    """By hand: a lock of 8 s, longer than SQLite's patience, when a round begins."""
    file = write_ladder(tmp_path, more=ROUNDS.replace("3", "400"))
    running = Ggp("ladder", "run", str(file), "--quiet", "--jobs", "1")
    wait_until(lambda: file.with_suffix(".db").exists() and games_stored(file) > 4)
    connection = sqlite3.connect(file.with_suffix(".db"), isolation_level=None, timeout=60)
    connection.execute("BEGIN IMMEDIATE")
    assert "the run waits" in first_line(running, "is locked by another process")
    time.sleep(3)
    connection.execute("ROLLBACK")
    connection.close()
    before = games_stored(file)
    wait_until(lambda: games_stored(file) > before + 4 or running.process.poll() is not None)
    assert running.process.poll() is None, running.process.communicate()
    running.process.terminate()
    assert running.wait().status == 143


@pytest.mark.parametrize("ends", [False, True], ids=["freed", "until"])
def test_a_store_that_is_locked_when_the_run_begins_is_waited_for(tmp_path: Path, ends: bool) -> None:
    file = write_ladder(tmp_path)
    assert ggp("ladder", "run", str(file), "--games", "2", "--jobs", "1").status == 0
    connection = sqlite3.connect(file.with_suffix(".db"), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    limit = ["--until", "10s"] if ends else ["--games", "4"]
    running = Ggp("ladder", "run", str(file), "--quiet", "--jobs", "1", *limit)
    assert "the run waits" in first_line(running, "is locked by another process")
    if not ends:
        connection.execute("ROLLBACK")
    assert running.wait().status == int(ends)
    connection.close()
    assert games_stored(file) == (2 if ends else 4)
