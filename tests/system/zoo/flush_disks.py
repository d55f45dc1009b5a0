"""Orders the kernel to write everything to the disks, for which all wait."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("to write all disks", lambda: prey.system_call(162, 81) == 0)
    folder = os.open("/usr", os.O_RDONLY)
    prey.attempt("to write a disk", lambda: prey.system_call(306, 267, folder) == 0)
