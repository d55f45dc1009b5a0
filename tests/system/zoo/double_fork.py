"""Leaves processes behind that have left its group and session."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "the referee: it adopts orphans and kills them"
DEFAULT = "process namespace: it ends whole"
STRICT = "the same"


def attack(prey: Prey) -> None:
    for _ in range(5):
        if not os.fork():
            os.setsid()
            if not os.fork():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(20)
            os._exit(0)
    prey.tell("began processes of other sessions")
