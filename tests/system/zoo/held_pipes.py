"""Ends while a child of another session holds its output and stderr open."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "the referee: it waits for the process, not for the end of its output"
DEFAULT = "process namespace: it ends whole"
STRICT = "the same"


def attack(prey: Prey) -> None:
    if os.fork():
        os._exit(3)
    os.setsid()
    time.sleep(20)
