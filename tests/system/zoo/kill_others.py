"""Kills other processes: one of the referee's user, and its opponent."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "process namespace, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("a signal to the referee", os.kill, prey.referee, signal.SIGCONT)
    prey.attempt("killed another process", os.kill, prey.victim, signal.SIGKILL)
    for pid in prey.siblings():
        prey.attempt("killed its opponent or the engine", os.kill, pid, signal.SIGKILL)
