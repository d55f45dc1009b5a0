"""Takes a lease on a file, for which whoever opens the file waits."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    path = prey.scratch / f"{prey.mark}-lease"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    path.unlink()
    prey.attempt("a lease", lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK) == 0)
