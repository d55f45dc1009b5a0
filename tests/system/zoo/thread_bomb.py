"""Starts more threads than it may."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "process count"
NONE = "nothing"
DEFAULT = "cgroup pids, or a limit of processes"
STRICT = "the same"


def attack(prey: Prey) -> None:
    leave = threading.Event()
    threading.stack_size(65536)
    threads: list[threading.Thread] = []

    def started_all() -> bool:
        for _ in range(prey.processes + 8):
            threads.append(threading.Thread(target=leave.wait, args=(3,)))
            threads[-1].start()
        return True

    prey.attempt(f"{prey.processes + 8} threads", started_all)
    leave.set()
