"""Takes a copy of a descriptor of another process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "process namespace, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def stolen() -> bool:
        other = os.pidfd_open(prey.victim)
        copy = prey.system_call(438, 438, other, prey.descriptor, 0)  # pidfd_getfd
        return prey.is_secret(os.pread(copy, 4096, 0))

    prey.attempt("a descriptor of another process", stolen)
