"""Makes a queue of system calls, past filters that look at system calls."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "network"
NONE = "nothing, unless the machine forbids io_uring"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def made() -> bool:
        os.close(prey.system_call(425, 425, 8, ctypes.create_string_buffer(120)))
        return True

    prey.attempt("a queue of system calls", made)
