"""Locks files that all may read: a channel to another bot, and an obstacle to other programs."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "the guard takes exclusive locks for it, of files that are open for writing; seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    file = os.open(sys.executable, os.O_RDONLY)
    other = os.open(sys.executable, os.O_RDONLY)
    asked = struct.pack("=hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)

    def seen() -> bool:
        """What a second bot would do: its attempt fails while the lock is held."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    prey.attempt("a lock that another sees", seen)
    prey.attempt("the locks of others", lambda: fcntl.fcntl(file, fcntl.F_GETLK, asked))
