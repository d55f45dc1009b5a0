"""Types into the referee's terminal (TIOCSTI)."""

from __future__ import annotations

import fcntl
import os
import termios
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing for root; the kernel for others"
DEFAULT = "landlock, mount namespace, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def typed() -> bool:
        terminal = os.open(prey.terminal, os.O_RDWR | os.O_NOCTTY)
        for byte in prey.mark.encode():
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([byte]))
        return True

    prey.attempt("typed into the terminal", typed)
