"""Starts processes that are children of the referee and not its own, which no end of it waits for."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "the referee: it kills what it has not started"
DEFAULT = "seccomp; the referee, too"
STRICT = "the same"
CLONE_PARENT, SIGCHLD = 0x8000, 17


def attack(prey: Prey) -> None:
    for _ in range(3):
        prey.attempt("a child of the referee", lambda: started(prey))


def started(prey: Prey) -> bool:
    if prey.system_call(56, 220, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0):
        return True
    time.sleep(20)
    os._exit(0)
