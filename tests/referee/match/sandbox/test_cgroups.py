"""Groups of programs whose referee was killed while they were stopped: in version 1 what is stopped does not die."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.referee.match.sandbox.cgroups import remove_stale
from ggp.referee.match.sandbox.machine import this_machine, try_places
from tests.support import ROOT
from tests.support.cli import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.needs("strict")]

STOPPED = """
import os, sys
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.sandbox.start import start
with open(os.devnull, "r+b", buffering=0) as null:
    child = start(("/bin/sleep", "600"), (null.fileno(),) * 3, environment={}, sandbox=Sandbox("default"))
child.groups.freeze(True)
print(child.pid, *child.groups.paths, flush=True)
os.kill(child.spawned.init, int(sys.argv[1]))
os.kill(os.getpid(), 9)
"""


def stopped(number: int) -> tuple[Path, list[Path]]:
    """A program that is stopped, and its groups, after its referee was killed and the process that stays with it got
    this signal."""
    words = [sys.executable, "-c", STOPPED, str(number)]
    said = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT, timeout=60).stdout.split()
    assert len(said) > 2
    return Path("/proc", said[0]), [Path(path) for path in said[1:]]


def test_a_place_is_used_where_a_process_can_join_its_groups(tmp_path: Path) -> None:
    """Files may be there and refuse: in a container, where processes are in the parent, under a limit."""
    places = this_machine().places
    closed = replace(places[0], folder=str(tmp_path))
    assert try_places([*places, closed])[0] == list(places)
    kept, reason = try_places([closed])
    assert kept == [] and reason.startswith("no process can join a cgroup: ") and not list(tmp_path.iterdir())


def test_the_process_that_stays_with_it_ends_it() -> None:
    program, groups = stopped(0)
    wait_until(lambda: not program.exists() and not any(path.exists() for path in groups), 30)


def test_the_next_process_that_looks_ends_it() -> None:
    program, groups = stopped(9)
    assert program.exists()
    remove_stale(this_machine().places)
    assert not any(path.exists() for path in groups)
    wait_until(lambda: not program.exists(), 30)
