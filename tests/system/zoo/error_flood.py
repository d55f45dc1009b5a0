"""Writes without end to stderr, all through its opponent's turn."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "referee"
NONE = "the referee: it keeps the last 64 KiB, and 10 MiB a file"
DEFAULT = "the same"
STRICT = "the same"


def attack(prey: Prey) -> None:
    os.set_blocking(2, False)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            os.write(2, b"zoo flood " + b"x" * 4000 + b"\n")
        except BlockingIOError:
            time.sleep(0.001)
    os.set_blocking(2, True)
