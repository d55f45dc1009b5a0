"""`ggp doctor` says what is kept and what is not, with the remedy, to people and to programs; its status says whether
something is wrong."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.cli import doctor as command
from ggp.referee.match import sandbox
from ggp.referee.match.sandbox.levels import PROPERTIES
from ggp.referee.match.sandbox.machine import Machine, this_machine
from ggp.referee.match.sandbox.spawn import guard_program
from ggp.referee.tools.doctor import Condition
from tests.support.cli import ggp, ggp_in_process

WHOLE = Machine(dict.fromkeys(PROPERTIES, ("landlock", "mount namespace")), {})
PART = Machine(
    {name: ("seccomp",) for name in PROPERTIES if name not in ("memory", "idle turn")},
    dict.fromkeys(("memory", "idle turn"), ("cgroup memory: no cgroup can be created here", "run as root")),
)
FINE = Condition("cores", "2 of 2", 2)
SLOW = Condition("clock", "hpet", "hpet", "boot with clocksource=tsc")


def asked(monkeypatch: pytest.MonkeyPatch, machine: Machine, found: list[Condition], *words: str) -> tuple[int, str]:
    def said() -> Iterator[Condition]:
        yield from found

    monkeypatch.setattr(command, "this_machine", lambda: machine)
    monkeypatch.setattr(command, "conditions", said)
    ran = ggp_in_process("doctor", *words)
    assert ran.err == ""
    return ran.status, ran.out


def test_where_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    status, out = asked(monkeypatch, WHOLE, [FINE])
    assert status == 0 and out.startswith("level strict (") and "!" not in out
    assert all(f"  {name} " in out for name in PROPERTIES) and "landlock, mount namespace" in out
    assert asked(monkeypatch, WHOLE, [FINE], "--quiet") == (0, "")


def test_what_is_not_kept_has_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    status, out = asked(monkeypatch, PART, [FINE])
    assert status == 1 and out.startswith("level default, without what is missing here (")
    lines = out.splitlines()
    assert "! memory not kept (cgroup memory: no cgroup can be created here)" in lines
    assert lines.count("  remedy: run as root") == 1, "once for all that it helps"
    quiet = asked(monkeypatch, PART, [FINE, SLOW], "--quiet")
    assert quiet[0] == 1 and quiet[1].splitlines() == [
        "! memory not kept (cgroup memory: no cgroup can be created here)",
        "! idle turn not kept (cgroup memory: no cgroup can be created here)",
        "  remedy: run as root",
        "! clock: boot with clocksource=tsc",
    ]


def test_what_is_wrong_with_the_machine_decides_the_status_too(monkeypatch: pytest.MonkeyPatch) -> None:
    status, out = asked(monkeypatch, WHOLE, [FINE, SLOW])
    assert status == 1 and "! clock: boot with clocksource=tsc" in out.splitlines()


def test_programs_get_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    status, out = asked(monkeypatch, PART, [FINE, SLOW], "--json")
    said = json.loads(out)
    assert status == 1 and said["level"] == "default" and said["user"]["id"] == os.geteuid()
    assert said["kept"]["files"] == ["seccomp"] and "memory" not in said["kept"]
    assert said["missing"]["memory"] == {
        "reason": "cgroup memory: no cgroup can be created here",
        "remedy": "run as root",
    }
    assert said["machine"] == {"cores": 2, "clock": "hpet"} and said["problems"] == {"clock": SLOW.remedy}
    assert Path(said["programs"]["bash"] or "/bin/sh").exists()


def test_without_the_guard_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    this_machine.cache_clear()
    guard_program.cache_clear()
    monkeypatch.setattr(sandbox, "__path__", [])
    ran = ggp_in_process("doctor")
    guard_program.cache_clear()
    assert ran.status == 2 and ran.err.count("\n") == 1 and "make setup" in ran.err and ran.out == ""


@pytest.mark.slow
def test_it_is_quick_and_says_the_same_twice() -> None:
    began = time.monotonic()
    first = ggp("doctor", "--json").json
    assert time.monotonic() - began < 20, "two seconds on a machine that is idle"
    assert {*first["kept"], *first["missing"]} == set(PROPERTIES)
    again = ggp("doctor", "--json").json
    assert (again["level"], again["kept"]) == (first["level"], first["kept"])


@pytest.mark.slow
def test_it_needs_little_time_of_a_processor() -> None:
    code = "import resource, sys; from ggp.referee.cli.main import main; main(['doctor', '--quiet']); " + (
        "print(sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert float(ran.stdout.splitlines()[-1]) < 2.0
