"""Waits for its own input in every process, as often as it has descriptors, so that each line wakes them all."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "limits of processes and descriptors"
STRICT = "the same"

HELPERS, COPIES = 12, 1000


def attack(prey: Prey) -> None:
    prey.children(HELPERS, wait, seconds=30.0)
    prey.tell("began processes that wait for its input")


def wait() -> None:
    waiting = select.poll()
    for _ in range(COPIES):
        waiting.register(os.dup(0), select.POLLPRI)
    waiting.poll(30_000)
