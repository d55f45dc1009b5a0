"""Attaches memory that others share, and leaves segments and message queues behind."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "a namespace of messages and shared memory"
STRICT = "the same"


def attack(prey: Prey) -> None:
    shmat = prey.libc.shmat
    shmat.restype = ctypes.c_void_p

    def attached() -> bool:
        place = shmat(prey.segment, None, 0o10000)  # SHM_RDONLY
        return place not in (None, ctypes.c_void_p(-1).value) and prey.is_secret(ctypes.string_at(place, 64))

    prey.attempt("the shared memory of another", attached)
    prey.tell("began a segment that stays")
    prey.call("shmget", 0, prey.segment_size, 0o1600)  # IPC_CREAT
