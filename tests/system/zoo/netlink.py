"""Talks to the kernel's network configuration, and by the less usual families of sockets."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "network"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    def asked() -> bytes:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as made:
            made.settimeout(2)
            made.send(struct.pack("=IHHIIBxHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0))  # RTM_GETLINK, dump
            return made.recv(65536)

    def opened(family: int, kind: int) -> bool:
        with socket.socket(family, kind):
            return True

    prey.attempt("the network interfaces by netlink", asked)
    for name, family, kind in (("packet", 17, socket.SOCK_RAW), ("vsock", 40, socket.SOCK_STREAM), ("alg", 38, 5)):
        prey.attempt(f"a socket of the family {name}", lambda family=family, kind=kind: opened(family, kind))
