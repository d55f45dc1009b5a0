"""Reads nothing more, and leaves its opponent's moves in the pipe."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "referee"
NONE = "the referee: each wait has a deadline, then the game is lost"
DEFAULT = "the same"
STRICT = "the same"
TIME = "2"  # seconds of the game


def attack(prey: Prey) -> None:
    time.sleep(20)
