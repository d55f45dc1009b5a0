"""Each process starts the next and ends, so that no list of processes has all."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "the referee adopts orphans and kills them"
DEFAULT = "process namespace: it ends whole"
STRICT = "the same"


def attack(prey: Prey) -> None:
    if os.fork():
        prey.tell("began a chain of processes")
        return
    os.setsid()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            time.sleep(0.01)
