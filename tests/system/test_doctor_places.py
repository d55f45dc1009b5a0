"""`ggp doctor` as root, as a user, and where namespaces are forbidden: in processes of their own that give up rights.

systemd and a container's runtime are not needed for that; what they add, test_operating has.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from referee.sandbox.levels import PROPERTIES
from tests.support import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs("root")]

ALONE = {"files": ["landlock"], "network": ["seccomp"], "other processes": ["landlock", "seccomp"]}
"""What Landlock and seccomp keep without namespaces and groups of control."""


def doctor(*options: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.support.forbidding", *options]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
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
    said = doctor("--user", "65534")
    assert said["level"] == "default" and said["user"]["id"] == 65534
    assert set(said["missing"]) == {"memory", "idle turn"}, "the limit of processes counts those of a user"
    assert "Delegate=yes" in said["missing"]["memory"]["remedy"]


@pytest.mark.parametrize(
    "options",
    [
        ["--namespaces=eperm"],  # our unit
        ["--namespaces=kill"],  # a unit whose forbidden calls end the process
        ["--namespaces=none"],  # user.max_user_namespaces = 0
        ["--namespaces=eperm", "--container"],
        ["--namespaces=eperm", "--user", "65534"],
    ],
)
def test_landlock_and_seccomp_hold_where_namespaces_are_forbidden(options: list[str]) -> None:
    said = doctor(*options)
    assert said["level"] == "default" and {name: said["kept"][name] for name in ALONE} == ALONE
    assert "namespace" in said["missing"]["disk"]["reason"] and "user.max_user" in said["missing"]["disk"]["remedy"]
    if "--user" in options:
        assert {"memory", "process count", "idle turn", "clean end"} <= said["missing"].keys()
