"""Uses more memory than it may by files that are memory: memfd."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "memory"
NONE = "nothing"
DEFAULT = "cgroup memory; a limit of the size of files"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def filled() -> bool:
        descriptor = os.memfd_create(prey.mark)
        block = b"x" * (1 << 20)
        for _ in range(prey.memory):
            os.write(descriptor, block)
        os.close(descriptor)
        return True

    prey.attempt(f"{prey.memory} MiB in a memory file", filled)
