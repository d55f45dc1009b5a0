"""Opens more files than it may."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "process count"
NONE = "the limit of the machine"
DEFAULT = "a limit of descriptors"
STRICT = "the same"


def attack(prey: Prey) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    opened: list[int] = []

    def opened_all() -> bool:
        while len(opened) < prey.descriptors:
            opened.append(os.open("/dev/null", os.O_RDONLY))
        return True

    prey.attempt(f"{prey.descriptors} descriptors", opened_all)
    for number in opened:
        os.close(number)
