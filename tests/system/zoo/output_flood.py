"""Writes without end to its output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "referee"
NONE = "the referee: answers and lines have bounds"
DEFAULT = "the same"
STRICT = "the same"


def attack(prey: Prey) -> None:
    for _ in range(400):
        sys.stdout.write("x" * 10_000 + "\n")
    sys.stdout.flush()
