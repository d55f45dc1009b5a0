"""Reaches files by way of other processes in /proc: their root, working folder and descriptors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "landlock, mount namespace"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def is_there(path: str) -> bool:
        return prey.is_secret(Path(path).read_bytes())

    for pid in {prey.victim, prey.referee, os.getppid(), 1}:
        prey.attempt(f"a secret by the root of process {pid}", is_there, f"/proc/{pid}/root{prey.secrets[0]}")
    prey.attempt("a secret by the working folder of another", is_there, f"/proc/{prey.victim}/cwd/secret")
    prey.attempt("a secret by the descriptor of another", is_there, f"/proc/{prey.victim}/fd/{prey.descriptor}")
