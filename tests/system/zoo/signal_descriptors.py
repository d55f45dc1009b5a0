"""Waits for signals by descriptors (signalfd), which others can watch."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    mask = ctypes.create_string_buffer(struct.pack("=Q", 1 << 13))  # SIGALRM
    prey.attempt("a descriptor of signals", lambda: prey.system_call(289, 74, -1, mask, 8, 0) >= 0)
