"""Reads the memory of another process."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "process namespace, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def by_file() -> bool:
        with Path(f"/proc/{prey.victim}/mem").open("rb", buffering=0) as memory:
            memory.seek(prey.address)
            return prey.is_secret(memory.read(64))

    def by_call() -> bool:
        place = ctypes.create_string_buffer(64)
        ours = (ctypes.c_size_t * 2)(ctypes.addressof(place), 64)
        theirs = (ctypes.c_size_t * 2)(prey.address, 64)
        prey.call("process_vm_readv", prey.victim, ours, 1, theirs, 1, 0)
        return prey.is_secret(place.raw)

    prey.attempt("memory by /proc", by_file)
    prey.attempt("memory by process_vm_readv", by_call)
