"""Starts more processes than it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "process count"
NONE = "nothing"
DEFAULT = "cgroup pids, or a limit of processes"
STRICT = "the same"


def attack(prey: Prey) -> None:
    started: list[int] = []

    def started_all() -> bool:
        for _ in range(prey.processes + 8):
            started.extend(prey.children(1, lambda: None))
        return True

    prey.attempt(f"{prey.processes + 8} processes", started_all)
    prey.reap(started)
