"""Takes the processor with a higher priority: niceness and real-time policies."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing for root; the kernel for others"
DEFAULT = "no capabilities, limits of priorities"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("a lower niceness", os.setpriority, os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1)
    prey.attempt("a real-time policy", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
