"""Groups of programs whose referee was killed while they were stopped: in version 1 what is stopped does not die."""

import subprocess
import sys
from pathlib import Path

import pytest

from referee.sandbox.cgroups import remove_stale
from referee.sandbox.machine import this_machine
from tests.support import ROOT
from tests.support.cli import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.needs("strict")]

STOPPED = """
import os, sys
from referee.sandbox.levels import Sandbox
from referee.sandbox.start import start
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
    said = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=60).stdout.split()
    assert len(said) > 2
    return Path("/proc", said[0]), [Path(path) for path in said[1:]]


def test_the_process_that_stays_with_it_ends_it() -> None:
    program, groups = stopped(0)
    wait_until(lambda: not program.exists() and not any(path.exists() for path in groups), 30)


def test_the_next_process_that_looks_ends_it() -> None:
    program, groups = stopped(9)
    assert program.exists()
    remove_stale(this_machine().places)
    assert not any(path.exists() for path in groups)
    wait_until(lambda: not program.exists(), 30)
