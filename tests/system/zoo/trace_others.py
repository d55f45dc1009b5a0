"""Traces another process, which gives all power over it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "process namespace, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def traced() -> bool:
        prey.call("ptrace", 16, prey.victim, None, None)  # PTRACE_ATTACH
        os.waitpid(prey.victim, 0x40000000)  # __WALL
        prey.call("ptrace", 17, prey.victim, None, None)  # PTRACE_DETACH
        return True

    prey.attempt("traced another process", traced)
