"""A pool whose workers are killed, stopped or cannot be started: it never blocks, and no bot is to blame."""

import copyreg
import errno
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future

import msgspec
import pytest

from ggp.protocol.records import Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match import pool as pool_module
from ggp.referee.match.bot_spec import SHORTAGES, HostBusy
from ggp.referee.match.match_runner import MatchRunner
from ggp.referee.match.pool import LocalPool, WorkerDied, WorkersLost
from ggp.referee.match.sandbox import start as starting
from ggp.referee.match.sandbox.spawn import StepFailed
from ggp.referee.match.worker import Batch, BatchResult, WorkerConfig
from tests.support.cli import wait_until
from tests.support.memory_match import MemoryMatch, bot
from tests.support.series import AtTable, make_setup

HUGE = 4_000_000  # bytes: several times what a socket holds


def batch(number: int = 0, size: int = 0) -> Batch:
    """A match of two random bots; with a begun record of this size."""
    begun: tuple[Record, ...] = ()
    if size:
        record = MemoryMatch("go size=2 komi=0.5", bot(["A1", "pass"]), bot(["B2", "pass"])).run().record
        begun = (Record(msgspec.structs.replace(record.start, match="x" * size), record.plies, None),)
    return Batch(make_setup("yugo,size=3", "random", "random"), (number,), begun=begun)


def quick(action: Callable[[], object]) -> None:
    """A fault may not take longer than a few seconds, even on a busy machine."""
    began = time.monotonic()
    action()
    assert time.monotonic() - began < 10


@pytest.mark.slow
def test_a_worker_killed_before_it_reads_a_long_message_blocks_no_caller() -> None:
    pool = LocalPool(1, WorkerConfig(pin=False))
    pool.submit([batch()])
    (first,) = _results(pool, 1)
    assert first.played
    (worker,) = pool._workers
    os.kill(worker.process.pid or 0, signal.SIGSTOP)
    pool.submit([batch(1, HUGE)])
    pool.turn(0.2)
    assert worker.unsent, "the message fits into the socket: make it longer"
    os.kill(worker.process.pid or 0, signal.SIGKILL)
    with pytest.raises(WorkersLost):
        quick(lambda: [pool.gather(1) for _ in range(10)])
    quick(pool.drain)
    quick(pool.close)


@pytest.mark.slow
def test_a_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_LAST", 1.0)
    pool = LocalPool(1, WorkerConfig(pin=False))
    pool.submit([batch()])
    _results(pool, 1)
    (worker,) = pool._workers
    os.kill(worker.process.pid or 0, signal.SIGSTOP)
    pool.submit([batch(1)])
    pool.stop()
    quick(lambda: pool.drain() == [])
    quick(pool.close)
    assert worker.process.exitcode == -signal.SIGKILL


def test_half_an_answer_of_a_killed_worker_is_none() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    class DeadWorker:
        exitcode = None

    worker = pool_module._Worker(DeadWorker(), ours)  # type: ignore[arg-type]
    future = Future[BatchResult]()
    worker.batches.append(future)
    answer = pool_module._message(BatchResult([], [], [], 0.0, 1.0, 0.0, 0))
    theirs.sendall(answer[:-1])
    assert not worker.exchange() and not worker.ended and not future.done()
    theirs.close()
    assert not worker.exchange() and worker.ended
    worker.fail()
    assert isinstance(future.exception(), WorkerDied)
    ours.close()


class _NeedsTwo(Exception):
    """An exception that pickle writes and cannot read: its constructor takes other arguments."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), OSError),
        (_NeedsTwo("it", "failed"), RuntimeError),
        (ValueError(lambda: None), RuntimeError),
    ],
)
def test_an_error_in_a_worker_arrives_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception]
) -> None:
    def fail(chunk: list[Batch]) -> BatchResult:
        raise error

    # Dask teaches pickle to read every exception; whether another test has loaded it must not matter here.
    monkeypatch.delitem(copyreg.dispatch_table, _NeedsTwo, raising=False)
    monkeypatch.setattr(pool_module, "begin", lambda place, registry: None)
    monkeypatch.setattr(pool_module, "play_batch", fail)
    ours, theirs = socket.socketpair()
    ours.sendall(pool_module._message([]))
    ours.shutdown(socket.SHUT_WR)
    pool_module._work(theirs, False, WorkerConfig(), None)  # type: ignore[arg-type]
    theirs.close()
    worker = pool_module._Worker(None, ours)  # type: ignore[arg-type]
    future = Future[BatchResult]()
    worker.batches.append(future)
    assert worker.exchange()
    came = future.exception()
    assert isinstance(came, kind) and getattr(came, "errno", None) == getattr(error, "errno", None)
    assert "in fail\n" in "".join(traceback.format_exception(came))
    ours.close()


@pytest.mark.slow
def test_workers_that_cannot_be_started_now_are_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = LocalPool(1, WorkerConfig(pin=False))
    real, left = socket.socketpair, [errno.EMFILE, errno.EAGAIN, errno.ENOMEM]

    def scarce() -> tuple[socket.socket, socket.socket]:
        if left:
            number = left.pop()
            raise OSError(number, os.strerror(number))
        return real()

    monkeypatch.setattr("ggp.referee.match.pool.socket.socketpair", scarce)
    try:
        pool.submit([batch()])
        assert "short of resources" in pool.trouble()
        (result,) = _results(pool, 1)
        assert result.played and not result.refused and pool.trouble() == ""
    finally:
        pool.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", sorted(SHORTAGES))
def test_a_host_that_cannot_fork_suspends_no_bot(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    setup = make_setup("yugo,size=3", "random", "random")  # before: it starts an engine
    real, tried, told = starting.start, list[float](), list[str]()

    def scarce(*words: object, **named: object) -> object:
        tried.append(time.monotonic())
        if len(tried) in (1, 2, 3, 5):
            raise StepFailed("exec", "x", number) if len(tried) % 2 else OSError(number, os.strerror(number))
        return real(*words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("ggp.referee.match.process.start", scarce)
    came = AtTable()
    table = MatchRunner(came.keep, waits=told.append)
    try:
        run_blocking(table.play(setup, 0))
    finally:
        run_blocking(table.close())
    assert len(came.records) == 1 and came.records[0].end is not None and came.records[0].end.result
    assert sum("short of resources" in text for text in told) == 4 and told[-1] == ""
    assert tried[2] - tried[1] > tried[1] - tried[0] > 0.09, "the pauses grow"


def test_a_file_that_cannot_be_opened_now_is_no_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from ggp.referee.match.bot_spec import executable_hash

    def scarce(*words: object, **named: object) -> object:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("ggp.referee.match.bot_spec._content", scarce)
    with pytest.raises(HostBusy, match="ulimit -n"):
        executable_hash(__file__)


def _results(pool: LocalPool, number: int) -> list[BatchResult]:
    found: list[BatchResult] = []

    def came() -> bool:
        found.extend(pool.gather(1))
        return len(found) >= number

    wait_until(came, 120)
    return found
