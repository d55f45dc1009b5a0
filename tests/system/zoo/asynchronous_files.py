"""Lets the kernel read files by itself (io_setup), of which the whole machine has a bounded number."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def made() -> bool:
        context = ctypes.c_ulong()
        prey.system_call(206, 0, 64, ctypes.byref(context))
        return prey.system_call(207, 1, context) == 0

    prey.attempt("a context of asynchronous reads", made)
