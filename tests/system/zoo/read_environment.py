"""Reads variables of the referee: in its own environment and in those of other processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "the environment is replaced; process namespace"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("a secret from its own environment", lambda: prey.is_secret(repr(dict(os.environ)).encode()))
    for pid in {prey.referee, prey.victim, os.getppid()}:
        way = Path(f"/proc/{pid}/environ")
        prey.attempt(f"the environment of process {pid}", lambda way=way: prey.is_secret(way.read_bytes()))
