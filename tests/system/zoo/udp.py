"""Sends datagrams: to this machine by UDP, and by raw sockets."""

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
    def sent() -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
            return made.sendto(prey.mark.encode(), ("127.0.0.1", prey.udp))

    def raw() -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
            return True

    prey.attempt("sent by UDP", sent)
    prey.attempt("a raw socket", raw)
