"""Matches on a real Dask cluster: each once in the end, whichever process is killed, and no bot left behind."""

import contextlib
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.referee.ladder import dask_pool
from ggp.referee.ladder.dask_pool import DaskPool, address_of, is_strict
from ggp.referee.match.bot_spec import BOTS, BotSpec
from ggp.referee.match.pool import WorkerPool, WorkersLost
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.series import SeriesConfig
from ggp.referee.match.worker import Batch, BatchResult, SeriesRefused
from ggp.referee.records import unpack
from tests.support.chaos import chaos
from tests.support.codes import raises
from tests.support.dask_cluster import DaskCluster, wait_for
from tests.support.series import make_setup, script

pytestmark = pytest.mark.slow

SLOW = chaos("fault=late,move=0,ms=4")  # milliseconds a move


@contextlib.contextmanager
def pool_of(dask: DaskCluster, slots: int) -> Iterator[DaskPool]:
    """A pool that sees so many slots."""
    pool = DaskPool(dask.url, patience=60)
    try:
        wait_for(lambda: pool.count_slots() == slots, f"{slots} workers")
        yield pool
    finally:
        pool.close()


def play(
    pool: WorkerPool, setup: SeriesConfig, games: int, seen: Callable[[list[BatchResult]], None] = lambda chunks: None
) -> list[BatchResult]:
    """Have the matches 0 to `games` - 1 played, a few in a chunk, as a run does; what came of them."""
    left, came = list(range(games)), list[BatchResult]()
    until = time.monotonic() + 120
    while left or pool.running:
        assert time.monotonic() < until, f"{len(left)} not given out, {pool.running} under way"
        while left and pool.running < 2 * pool.jobs:
            chunk, left = left[:3], left[3:]
            pool.submit([Batch(setup, tuple(chunk))])
        chunks = pool.gather(0.1)
        came += chunks
        seen(chunks)
    return came


def keys(chunks: list[BatchResult]) -> list[str]:
    return [facts.key for chunk in chunks for facts in chunk.played]


def once_that(condition: Callable[[], object], act: Callable[[], object]) -> Callable[[list[BatchResult]], None]:
    """For `play`: act when the condition holds for the first time."""
    done: list[object] = []

    def look(chunks: list[BatchResult]) -> None:
        if not done and condition():
            done.append(act())

    return look


def whole(chunks: list[BatchResult], setup: SeriesConfig, games: int) -> bool:
    """Whether each match was played, and each record is that of its match."""
    for chunk in chunks:
        assert not chunk.refused
        assert all(f'"match":"{result.key}"'.encode() in unpack(result.record) for result in chunk.played)
    return set(keys(chunks)) == {setup.key(number) for number in range(games)}


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """No worker stays with it from one test to the next."""
    with DaskCluster(tmp_path_factory.mktemp("scheduler")) as dask:
        yield dask


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers that nothing bad happens to."""
    with DaskCluster(tmp_path_factory.mktemp("dask")) as dask:
        for _ in range(2):
            dask.add_worker()
        yield dask


def test_matches_survive_their_workers(scheduler: DaskCluster) -> None:
    """One of two workers is killed; the other goes on alone; a third joins and is used; at last nothing is left."""
    setup = make_setup("yugo,size=4", SLOW, "random", time="none")
    with scheduler.alone() as dask:
        first, second = dask.add_worker(), dask.add_worker()
        with pool_of(dask, slots=2) as pool:
            kill = once_that(lambda: dask.plays_at(first.pid) and dask.plays_at(second.pid), first.kill)
            came = play(pool, setup, 60, kill)
            assert first.wait(60) == -signal.SIGKILL
            assert whole(came, setup, 60)
            wait_for(lambda: pool.count_slots() == 1, "the loss to be seen")
            third = dask.add_worker()
            wait_for(lambda: pool.count_slots() == 2, "the third worker")
            at_work: list[bool] = []
            came = play(pool, setup, 30, lambda chunks: at_work.append(dask.plays_at(third.pid)))
            assert whole(came, setup, 30) and any(at_work)
            assert dask.plays_at(second.pid), "bots are kept between chunks"
        wait_for(lambda: not dask.table_processes(), "bots to end with the run")
        assert second.poll() is third.poll() is None, "workers stay"


def test_a_nanny_brings_its_worker_back(scheduler: DaskCluster) -> None:
    setup = make_setup("yugo,size=4", SLOW, "random", time="none")
    with scheduler.alone() as dask:
        nanny = dask.add_worker(nanny=True)
        with pool_of(dask, slots=1) as pool:
            worker = dask.nannies_child(nanny)
            kill = once_that(lambda: dask.plays_at(worker), lambda: os.kill(worker, signal.SIGKILL))
            assert whole(play(pool, setup, 30, kill), setup, 30)
            again = dask.nannies_child(nanny)
            assert again != worker and dask.plays_at(again)
            nanny.kill()
            wait_for(lambda: not dask.table_processes(), "bots to end with a worker whose nanny was killed")


def test_a_worker_that_has_to_end_gives_its_chunk_back(scheduler: DaskCluster) -> None:
    """Long matches: it drops the one it is in, at once, and its bots."""
    setup = make_setup("yugo,size=4", chaos("fault=late,move=0,ms=100"), "random", time="none")
    with scheduler.alone() as dask:
        first = dask.add_worker()
        with pool_of(dask, slots=1) as pool:
            pool.submit([Batch(setup, (0,))])
            wait_for(lambda: dask.plays_at(first.pid), "a match")
            first.terminate()
            first.wait(60)
            assert not dask.table_processes()
            second = dask.add_worker()
            wait_for(lambda: dask.plays_at(second.pid), "the match to be played elsewhere")
            assert whole(play(pool, setup, 0), setup, 1)


def test_a_worker_without_work_lets_its_bots_go(scheduler: DaskCluster) -> None:
    hasty = scheduler.place / "hasty.py"
    hasty.write_text("from ggp.referee.ladder import dask_pool\ndask_pool._IDLE = 0.2\n", encoding="utf-8")
    setup = make_setup("yugo,size=4", "random", "random", time="none")
    with scheduler.alone() as dask:
        dask.add_worker("--preload", str(hasty))
        with pool_of(dask, slots=1) as pool:
            for _ in range(2):
                assert whole(play(pool, setup, 3), setup, 3)
                wait_for(lambda: not dask.table_processes(), "bots to end while the run goes on")


def test_a_bot_that_kills_what_plays_it_ends_the_run(scheduler: DaskCluster) -> None:
    """The batch is tried again before it is given up, and the Dask worker lives on."""
    killer = script("import signal; os.kill(os.getppid(), signal.SIGKILL)", "killer")
    setup = make_setup("yugo,size=4", killer, "random", time="none")
    with scheduler.alone() as dask:
        worker = dask.add_worker()
        with pool_of(dask, slots=1) as pool, pytest.raises(WorkersLost, match="WorkerDied"):
            play(pool, setup, 1)
        assert worker.poll() is None
        wait_for(lambda: not dask.table_processes(), "bots to end")


def test_a_scheduler_that_is_gone_is_said_in_one_line(tmp_path: Path) -> None:
    setup = make_setup("yugo,size=4", SLOW, "random", time="none")
    with DaskCluster(tmp_path) as dask:
        dask.add_worker()
        with pool_of(dask, slots=1) as pool:
            kill = once_that(dask.table_processes, dask.scheduler.kill)
            with raises(WorkersLost, "scheduler-lost"):
                play(pool, setup, 2000, kill)
            assert len(set(keys(pool.drain()))) < 2000 and not pool.running
        wait_for(lambda: not dask.table_processes(), "bots to end with a worker that lost its scheduler")


def test_a_run_can_be_stopped(dask: DaskCluster) -> None:
    """What was played is kept, what is under way is dropped, what waits is not begun."""
    setup = make_setup("yugo,size=4", chaos("fault=late,move=0,ms=400", "slower"), SLOW, time="none")
    quick = make_setup("yugo,size=4", "random", "random", time="none")
    with pool_of(dask, slots=2) as pool:
        for _ in range(4):
            pool.submit([Batch(quick, (0, 1)), Batch(setup, tuple(range(100)))])
        wait_for(lambda: dask.running("chaos") == 4, "both workers at the long matches")
        pool.stop()
        came = pool.drain()
        assert not pool.running
        assert Counter(keys(came)) == {quick.key(0): 2, quick.key(1): 2}
        assert all(result.record for chunk in came for result in chunk.played)
    wait_for(lambda: not dask.table_processes(), "no process left")
    with pool_of(dask, slots=2) as pool:
        assert whole(play(pool, quick, 6), quick, 6), "another run is not stopped"


def test_a_bot_that_is_not_there_is_refused_by_name_and_host(dask: DaskCluster) -> None:
    setup = make_setup("yugo,size=4", BotSpec("ghost", "/no/such/bot", ("/no/such/bot",)), "random")
    with pool_of(dask, slots=2) as pool:
        pool.submit([Batch(setup, (0, 1))])
        (chunk,) = play(pool, setup, 0)
        assert chunk.played == [] and chunk.refused == [SeriesRefused(setup.series, "ghost", chunk.refused[0].reason)]
        assert "/no/such/bot does not exist" in chunk.refused[0].reason
        assert chunk.refused[0].reason.endswith(f"(on {socket.gethostname()})")


def test_a_strict_engine_makes_a_pair_strict() -> None:
    setup = make_setup("yugo,size=4", "random", "random", time="none")
    assert not is_strict(Batch(setup, (0, 1)))
    confined = replace(setup.engine, sandbox=Sandbox("strict"))
    assert is_strict(Batch(replace(setup, engine=confined), (0, 1)))
    assert is_strict(Batch(replace(setup, judge=confined), (0, 1)))


@pytest.mark.needs("strict")
def test_a_strict_pair_goes_where_that_is_kept(dask: DaskCluster) -> None:
    strict = BotSpec("strict", "random", (*BOTS, "random"), sandbox=Sandbox("strict"))
    setup = make_setup("yugo,size=4", strict, "random", time="none")
    with pool_of(dask, slots=2) as pool:
        assert len(pool._strict_workers()) == 2, "each says what it keeps"
        first, second = pool._missing
        pool._missing[first] = ("memory",)
        assert pool._strict_workers() == (second,)
        assert whole(play(pool, setup, 6), setup, 6)
        pool._missing[second] = OSError("it did not say")
        assert pool._strict_workers() == ()


def test_a_worker_of_another_version_is_named(dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "OURS", "general-game-protocol 9.9.9")
    with pool_of(dask, slots=2) as pool, raises(WorkersLost, "wrong-version") as lost:
        play(pool, make_setup("yugo,size=4", "random", "random"), 1)
    assert "9.9.9" in str(lost.value) and socket.gethostname() in str(lost.value)


def test_what_cannot_be_used_is_said_in_one_line(tmp_path: Path) -> None:
    with DaskCluster(tmp_path) as dask:
        dask.add_worker(slots=0)
        with raises(WorkersLost, "no-slot") as lost:
            DaskPool(dask.url, patience=5)
        assert "dask worker tcp:" in str(lost.value) and "slot=1" in str(lost.value)
        dask.scheduler.kill()
        dask.scheduler.wait()
        with raises(WorkersLost, "unreachable") as lost:
            DaskPool(dask.url, patience=1)
        assert "dask scheduler --port" in str(lost.value)
    assert address_of("dask+tls://[::1]:1") == "tls://[::1]:1"
    for bad in ("tcp://a:1", "dask://a", "dask://:1", "dask://a:b", "a:1", ""):
        with pytest.raises(ValueError, match="dask://HOST:PORT"):
            address_of(bad)
