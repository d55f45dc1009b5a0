"""Looks at the other processes of the machine: what runs, with which arguments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "other processes"
NONE = "nothing"
DEFAULT = "process namespace, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    own = os.getpid()
    for pid in {prey.victim, prey.referee} - {own}:
        way = Path(f"/proc/{pid}/cmdline")
        prey.attempt(f"the command line of process {pid}", way.read_bytes)
