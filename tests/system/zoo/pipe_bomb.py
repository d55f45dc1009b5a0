"""Fills pipes that nothing reads: memory of the kernel."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "memory"
NONE = "nothing for root; the kernel for others"
DEFAULT = "cgroup memory; the limit of pipes of a user"
STRICT = "the same"


def attack(prey: Prey) -> None:
    opened: list[int] = []

    def filled() -> bool:
        block = b"x" * (1 << 20)
        for _ in range(prey.memory):
            reader, writer = os.pipe()
            opened.extend((reader, writer))
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
            os.set_blocking(writer, False)
            os.write(writer, block)
        return True

    prey.attempt(f"{prey.memory} MiB in pipes", filled)
    for number in opened:
        os.close(number)
