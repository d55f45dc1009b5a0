"""Stops another process, and sends it signals by a descriptor."""

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
    prey.attempt("a signal by a descriptor", lambda: by_descriptor(prey.victim))
    prey.attempt("stopped another process", os.kill, prey.victim, signal.SIGSTOP)


def by_descriptor(pid: int) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGCONT)
        return True
    finally:
        os.close(descriptor)
