"""Uses the kernel's keys: reads that of another process, and leaves one behind."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    name = f"{prey.mark}-key".encode()

    def left() -> bool:
        return prey.system_call(248, 217, b"user", name, b"left", 4, -4) > 0  # add_key, user keyring

    def read() -> bool:
        place = ctypes.create_string_buffer(64)
        prey.system_call(250, 219, 11, prey.key, place, 64, 0)  # keyctl, KEYCTL_READ
        return prey.is_secret(place.raw)

    prey.attempt("left a key behind", left)
    prey.attempt("the key of another", read)
