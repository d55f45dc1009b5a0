"""Lets children use the processor in its opponent's turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "cgroup cpu, freezer: what it uses is credited to the opponent, and it is stopped from then on"
STRICT = "freezer: it is stopped in its opponent's turn from the first ply"


def attack(prey: Prey) -> None:
    prey.children(3, lambda: spin(4.0))
    prey.tell("began children that are busy")


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
