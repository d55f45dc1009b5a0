"""The run lock: one process at a time; a dead holder is recognised."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from ggp.referee.ladder.store import entries
from ggp.referee.ladder.store.database import Database
from ggp.referee.ladder.store.model import Locked
from ggp.referee.ladder.store.schema import run_lock
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.sandbox.folders import process_began
from tests.support.codes import raises
from tests.support.stores import ladder

_TAKE = """
import sys
from ggp.referee.ladder.store.model import Locked
from ggp.referee.ladder.store.store import Store
store = Store.open(sys.argv[1], create=True)
print("ready", flush=True)
sys.stdin.readline()
try:
    store.take_lock("run other.toml")
    print("taken", flush=True)
except Locked as error:
    print(error, flush=True)
sys.stdin.readline()
"""


class Other:
    """Another process with the store open."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-c", _TAKE, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        assert self.answer() == "ready"

    def ask(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def other(url: str) -> Iterator[Other]:
    running = Other(url)
    yield running
    running.kill()


@pytest.mark.slow
def test_one_of_two_processes_gets_the_lock(url: str, other: Other) -> None:
    rival = Other(url)
    for process in (other, rival):
        process.ask()
    said = sorted([other.answer(), rival.answer()])
    assert said[1] == "taken"
    assert "is run by process" in said[0] and "(run other.toml): wait until it is done, or end it" in said[0]
    rival.kill()


@pytest.mark.slow
def test_the_holder_is_named(url: str, other: Other) -> None:
    other.ask()
    assert other.answer() == "taken"
    with Store.open(url) as store:
        assert store.running().startswith(f"process {other.process.pid} on {entries.Holder.here('').host} since 20")
        with raises(Locked, "store-locked"):
            store.take_lock("mine")
        store.enrol(ladder())  # a command that writes a little need not wait for the run


@pytest.mark.slow
def test_a_killed_process_does_not_hold_the_lock(url: str, other: Other) -> None:
    other.ask()
    assert other.answer() == "taken"
    other.process.send_signal(signal.SIGKILL)
    other.process.wait()
    with Store.open(url) as store:
        assert store.running() == ""
        store.take_lock("mine")
        assert store.running().endswith("(mine)")


@pytest.mark.slow
def test_a_zombie_does_not_hold_the_lock(url: str, other: Other) -> None:
    other.ask()
    assert other.answer() == "taken"
    other.process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, other.process.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    with Store.open(url) as store:
        store.take_lock("mine")


def test_the_lock_is_released(store: Store) -> None:
    store.take_lock("run")
    store.take_lock("run again")
    store.beat()
    store.release_lock()
    assert store.running() == ""
    with raises(Locked, "lock-lost"):
        store.beat()
    store.release_lock()


def test_a_reused_pid_does_not_hold_the_lock(store: Store, url: str) -> None:
    store.take_lock("run")
    _change(url, pid=1)  # lives, and began at another time
    assert store.running() == ""
    store.take_lock("run")


@pytest.mark.parametrize("elsewhere", [{"host": "elsewhere"}, {"space": "another boot"}])
def test_a_process_elsewhere_is_judged_by_its_heartbeat(store: Store, url: str, elsewhere: dict[str, object]) -> None:
    store.take_lock("run")
    beat = _change(url, **elsewhere, pid=1)
    assert "process 1 on" in store.running()
    with raises(Locked, "store-locked"):
        store.take_lock("run")
    with raises(Locked, "lock-lost"):
        store.beat()
    _change(url, beat=beat - entries.SILENCE - 5)
    assert store.running() == ""
    store.take_lock("run")
    store.beat()


def test_a_heartbeat_from_the_future_does_not_lock_for_ever(store: Store, url: str) -> None:
    store.take_lock("run")
    _change(url, host="elsewhere", beat=2**33)
    store.take_lock("run")


@pytest.mark.slow
def test_processes_are_distinguished_by_their_start() -> None:
    own = entries.start_of(os.getpid())
    assert own is not None and own == entries.Holder.here("x").started
    assert entries.start_of(2**22 + 1) is None
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        assert (entries.start_of(sleeping.pid) or 0) >= own
        sleeping.kill()


@pytest.mark.slow
def test_a_process_may_be_named_by_any_bytes() -> None:
    renamed = "import pathlib, time; pathlib.Path('/proc/self/comm').write_bytes(b'\\xff) Z')"
    program = f"{renamed}; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as odd:
        assert odd.stdout and odd.stdout.readline()
        assert (entries.start_of(odd.pid) or 0) >= (entries.start_of(os.getpid()) or 0)
        assert process_began(odd.pid) == str(entries.start_of(odd.pid))
        odd.kill()


@pytest.mark.slow
def test_the_start_of_a_process_whose_name_has_brackets(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "60"]) as sleeping:
        assert (entries.start_of(sleeping.pid) or 0) >= (entries.start_of(os.getpid()) or 0)
        sleeping.kill()


def _change(url: str, **values: object) -> int:
    """Change the row of the lock by hand; its heartbeat."""
    database = Database(url)
    with database.writing() as connection:
        connection.execute(run_lock.update().values(values))
        beat: int = connection.execute(select(run_lock.c.beat)).scalar_one()
    database.close()
    return beat


@pytest.mark.slow
def test_a_lock_that_a_full_disk_kept_is_free_after_the_process_ended(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/club.db"
    takes = """
import resource, sys
from ggp.referee.ladder.store.store import Store
with Store.open(sys.argv[1], create=True) as store:
    store.take_lock("run club.toml")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    store.release_lock()
"""
    ran = subprocess.run([sys.executable, "-c", takes, url], capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    with Store.open(url) as store:
        assert "run club.toml" not in store.running()
        store.take_lock("run club.toml")
        store.release_lock()
