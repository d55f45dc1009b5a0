"""Workers whose parent is killed, or who are told to end, at the worst of instants: none of them stays."""

import multiprocessing
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.match.pool import LocalPool
from ggp.referee.match.worker import CALLED_OFF, DROP, Batch, BatchResult, WorkerConfig, WorkerRegistry, mark
from tests.support.cli import wait_until
from tests.support.raw_peer import RawPeer
from tests.support.series import make_setup

# The third process that a worker starts is the second bot. PIDS: of the worker, its engine and its bots.
SCRIPT = """
import ctypes, operator, os, signal, sys, time
from functools import partial

sys.path[:0] = {path!r}
from ggp.referee.match import process
from ggp.referee.match.pool import LocalPool, WorkersLost
from ggp.referee.match.worker import Batch, WorkerConfig
from tests.support.series import make_setup

def start(*arguments):
    found = started(*arguments)
    pids.append(found[0].pid)
    if len(pids) == 4:
        print(*pids, flush=True)
        {instant}
    return found

if __name__ == "__main__":
    pool = LocalPool(1, WorkerConfig(pin=False))
    pool.submit([Batch(make_setup("yugo,size=4", "random", "random"), (0,))])
    try:
        print(pool.gather(60))
    except WorkersLost as error:
        print(error)
    pool.close()
else:
    pids = [os.getpid()]
    started, process._start = process._start, start
"""
TOLD = "os.kill(os.getpid(), signal.SIGUSR1)"
# One call of C: Python has no turn in it between the signal, which ends one of the naps, and the read without an end.
KILLED = """os.kill(os.getppid(), signal.SIGKILL)
        naps = [partial(ctypes.CDLL(None).usleep, 300_000)] * 4
        list(map(operator.call, [*naps, partial(os.read, os.pipe()[0], 1)]))"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("instant", "said"), [(TOLD, b"a worker process died\n"), (KILLED, b"")], ids=["in a lock", "before a wait"]
)
def test_a_worker_ends_with_its_bots_whenever_it_is_reported(tmp_path: Path, instant: str, said: bytes) -> None:
    script = tmp_path / "series.py"
    script.write_text(SCRIPT.format(path=sys.path, instant=instant), encoding="utf-8")
    with RawPeer([sys.executable, str(script)]) as parent:
        parent.wait_for(lambda: b"\n" in parent.heard)
        pids, _, _ = bytes(parent.heard).partition(b"\n")
        wait_until(lambda: not any(map(runs, pids.split())), 30)
        assert parent.until_end().partition(b"\n")[2] == said


def runs(pid: bytes) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{int(pid)}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def dropped() -> Iterator[list[int]]:
    """A number for each DROP that came."""
    found: list[int] = []
    before = signal.signal(DROP, lambda number, frame: found.append(number))
    yield found
    signal.signal(DROP, before)


def test_what_all_were_told_reaches_also_who_comes_later(dropped: list[int]) -> None:
    registry = WorkerRegistry(multiprocessing.get_context("spawn"), 3)
    registry.tell(DROP)
    assert not dropped
    assert registry.join() == 0 and len(dropped) == 1
    registry.tell(DROP)
    assert len(dropped) == 2


def test_the_newest_matches_that_were_called_off_are_remembered(dropped: list[int]) -> None:
    registry = WorkerRegistry(multiprocessing.get_context("spawn"), 1)
    keys = [f"match-{number}" for number in range(CALLED_OFF + 3)]
    registry.call_off(keys[:4])
    assert [registry.is_called_off(mark(key)) for key in keys[:5]] == [True] * 4 + [False]
    registry.join()
    registry.call_off(keys[4:])
    assert len(dropped) == 1
    assert [key for key in keys if registry.is_called_off(mark(key))] == keys[3:]


def test_what_each_place_plays_is_known() -> None:
    registry = WorkerRegistry(multiprocessing.get_context("spawn"), 3)
    assert registry.playing() == {}
    registry.plays(0, mark("a-1"), 10.0)
    registry.plays(2, mark("b-2"), 11.5)
    assert registry.playing() == {mark("a-1"): 10.0, mark("b-2"): 11.5}
    registry.plays(0, 0, 12.0)
    assert registry.playing() == {mark("b-2"): 11.5}


def test_a_pool_has_no_named_semaphore(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would be left in shared memory where all its processes are killed together."""

    def named(*arguments: object) -> None:
        raise AssertionError("a semaphore with a name")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", named)
    pool = LocalPool(2, WorkerConfig(pin=False))
    pool.close()


@pytest.mark.slow
def test_workers_play_through_the_queues_of_a_pool() -> None:
    pool = LocalPool(2, WorkerConfig(pin=False))
    try:
        for number in range(6):
            pool.submit([Batch(make_setup("yugo,size=3", "random", "random"), (number,))])
        played = [facts.number for chunk in _gather(pool, 6) for facts in chunk.played]
        assert sorted(played) == list(range(6))
    finally:
        pool.close()


def _gather(pool: LocalPool, number: int) -> list[BatchResult]:
    chunks: list[BatchResult] = []
    while len(chunks) < number:
        chunks += pool.gather(60)
    return chunks
