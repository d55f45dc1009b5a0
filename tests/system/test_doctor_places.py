"""`ggp doctor` as root, as a user, and where namespaces are forbidden: in processes of their own that give up rights.

systemd and a container's runtime are not needed for that; what they add, test_operating has.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ggp.referee.match.sandbox.cgroups import find_places
from ggp.referee.match.sandbox.levels import PROPERTIES
from tests.support import ROOT
from tests.support.cli import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.needs("root")]

USER = 65534
ALONE = {"files": ["landlock"], "network": ["seccomp"], "other processes": ["landlock", "seccomp"]}
"""What Landlock and seccomp keep without namespaces and groups of control."""


def doctor(*options: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.support.forbidding", *options]
    ran = subprocess.run(words, capture_output=True, encoding="utf-8", cwd=ROOT)
    assert ran.stderr == ""
    said: dict[str, Any] = json.loads(ran.stdout)
    assert ran.returncode == (1 if said["missing"] or said["problems"] else 0)
    assert {*said["kept"], *said["missing"]} == set(PROPERTIES)
    assert all(one["reason"].count(": ") >= 1 and one["remedy"] for one in said["missing"].values())
    return said


def test_root_is_offered_namespaces() -> None:
    said = doctor()
    assert said["kept"]["files"] == ["landlock", "mount namespace"] and said["user"]["id"] == 0
    assert said["level"] == ("default" if said["missing"] else "strict")


def test_a_user_is_offered_all_but_groups_of_control() -> None:
    said = doctor("--user", str(USER))
    assert said["level"] == "default" and said["user"]["id"] == USER
    assert set(said["missing"]) == {"memory", "idle turn"}, "the limit of processes counts those of a user"
    assert "Delegate=yes" in said["missing"]["memory"]["remedy"]


@pytest.fixture
def delegated() -> Iterator[list[Path]]:
    """Groups of control that belong to the user, as systemd gives a unit with Delegate=yes; [] where root has none."""
    made: list[Path] = []
    try:
        for place in find_places()[0]:
            group = Path(place.folder, f"test-delegated-{os.getpid()}")
            group.mkdir()
            made.append(group)
            for path in [group, *group.iterdir()]:
                os.chown(path, USER, USER)
            if place.version == 2:  # as systemd marks it
                os.setxattr(group, "user.delegate", b"1")
        yield made
    finally:
        for group in [*(inner for outer in made for inner in outer.iterdir() if inner.is_dir()), *made]:
            for pid in (group / "cgroup.procs").read_text(encoding="utf-8").split():
                os.kill(int(pid), signal.SIGKILL)
            wait_until(partial(_removed, group))


def _removed(group: Path) -> bool:
    with contextlib.suppress(OSError):  # it is busy
        group.rmdir()
    return not group.exists()


def test_a_service_with_delegation_is_offered_all(delegated: list[Path]) -> None:
    """A user with groups of its own, in all hierarchies in which root may make any."""
    said = doctor("--user", str(USER), *(word for group in delegated for word in ("--group", str(group))))
    assert said["user"]["id"] == USER
    assert said["level"] == doctor()["level"]


@pytest.mark.parametrize(
    "options",
    [
        ["--namespaces=eperm"],  # our unit
        ["--namespaces=kill"],  # a unit whose forbidden calls end the process
        ["--namespaces=none"],  # user.max_user_namespaces = 0
        ["--namespaces=eperm", "--container"],
        ["--namespaces=eperm", "--user", str(USER)],
    ],
)
def test_landlock_and_seccomp_hold_where_namespaces_are_forbidden(options: list[str]) -> None:
    said = doctor(*options)
    assert said["level"] == "default" and {name: said["kept"][name] for name in ALONE} == ALONE
    assert "namespace" in said["missing"]["disk"]["reason"] and "user.max_user" in said["missing"]["disk"]["remedy"]
    if "--user" in options:
        assert {"memory", "process count", "idle turn", "clean end"} <= said["missing"].keys()
