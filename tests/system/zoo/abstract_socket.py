"""Connects to a local socket without a file, as system services have."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "network"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def connected() -> bool:
        with socket.socket(socket.AF_UNIX) as made:
            made.connect(f"\0{prey.abstract}")
            made.sendall(prey.mark.encode())
        return True

    prey.attempt("connected to an abstract socket", connected)
