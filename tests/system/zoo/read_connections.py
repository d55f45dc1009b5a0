"""Reads the connections and sockets of the machine in /proc/net."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "network"
NONE = "nothing"
DEFAULT = "a network namespace"
STRICT = "the same"


def attack(prey: Prey) -> None:
    port = f":{prey.tcp:04X} "

    def found(name: str, text: str) -> bool:
        return text in Path("/proc/net", name).read_text(encoding="ascii")

    prey.attempt("a server of TCP", found, "tcp", port)
    prey.attempt("a socket of UDP", found, "udp", f":{prey.udp:04X} ")
    prey.attempt("a local socket", found, "unix", prey.abstract)
