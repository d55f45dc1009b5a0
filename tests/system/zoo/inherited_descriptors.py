"""Uses descriptors that were left open at its start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "the referee: only stdin, stdout and stderr are passed on"
DEFAULT = "the same"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("the descriptor of the secret", lambda: prey.is_secret(os.pread(prey.descriptor, 4096, 0)))
    for path in Path("/proc/self/fd").iterdir():
        if int(path.name) > 2:
            prey.attempt(f"descriptor {path.name}", lambda path=path: not str(path.readlink()).startswith("/proc/"))
