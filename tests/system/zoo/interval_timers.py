"""Sets the three interval timers of many processes."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "limits of processes: each has one timer, which expires once while it is stopped"
STRICT = "the same"

HELPERS = 12


def attack(prey: Prey) -> None:
    prey.children(HELPERS, every_millisecond, seconds=4.0)
    prey.tell("began processes with interval timers")


def every_millisecond() -> None:
    for which, number in ((signal.ITIMER_REAL, signal.SIGALRM), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM)):
        signal.signal(number, signal.SIG_IGN)
        signal.setitimer(which, 0.001, 0.001)
