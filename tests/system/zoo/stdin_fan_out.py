"""Watches its own input by thousands of entries, so that each line of the referee wakes them all."""

from __future__ import annotations

import contextlib
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "the guard makes its epolls: at most 64 are open; an epoll has 64 entries, a file 100"
STRICT = "the same"

EPOLLS, COPIES, HELPERS = 60, 100, 12
held: list[select.epoll] = []


def attack(prey: Prey) -> None:
    entries = prey.together(HELPERS, lambda: watch(prey), 30.0)
    prey.attempt(f"{entries} entries on its input", lambda: entries == EPOLLS * COPIES * HELPERS)


def watch(prey: Prey) -> int:
    """How many entries it made. One that has the number of a descriptor stays when that is closed."""
    held.extend(prey.as_many(EPOLLS, select.epoll))
    copies = [os.dup(0) for _ in range(COPIES)]
    # Another file of the same pipe, where its user may open it, has entries of its own.
    with contextlib.suppress(OSError):
        copies = copies[: COPIES // 2] + [os.open("/proc/self/fd/0", os.O_RDONLY) for _ in range(COPIES // 2)]
    entries = 0
    for epoll in held:
        for copy in copies:
            with contextlib.suppress(OSError):
                epoll.register(copy, select.EPOLLIN)
                entries += 1
    return entries
