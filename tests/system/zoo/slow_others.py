"""Makes other processes slower: niceness, limits, the cores that they may use, their policy."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "process namespace, or a user of its own, or seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    victim = prey.victim
    prey.attempt("changed the niceness of another", os.setpriority, os.PRIO_PROCESS, victim, 19)
    prey.attempt("changed the cores of another", os.sched_setaffinity, victim, {0})
    prey.attempt("changed the policy of another", os.sched_setscheduler, victim, os.SCHED_BATCH, os.sched_param(0))
    prey.attempt("changed the limits of another", lambda: resource.prlimit(victim, resource.RLIMIT_CORE, (0, 0)))
