"""Thinks in its opponent's turn, on its opponent's core."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "cgroup cpu, freezer: what it uses is credited to the opponent, and it is stopped from then on"
STRICT = "freezer: it is stopped in its opponent's turn from the first ply"


def attack(prey: Prey) -> None:
    threading.Thread(target=spin, args=(3.0,), daemon=True).start()
    prey.tell("began a busy thread")


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
