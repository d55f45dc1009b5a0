"""Connects to a TCP server of this machine, and listens itself."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "network"
NONE = "nothing"
DEFAULT = "seccomp, landlock"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def connected() -> bool:
        with socket.create_connection(("127.0.0.1", prey.tcp), 2) as made:
            made.sendall(prey.mark.encode())
        return True

    def listening() -> bool:
        with socket.create_server(("127.0.0.1", 0)):
            return True

    prey.attempt("connected by TCP", connected)
    prey.attempt("listens by TCP", listening)
