"""Connects to a local socket without a file, as system services have."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "network"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    address = f"\0{prey.abstract}"

    def connected() -> bool:
        with socket.socket(socket.AF_UNIX) as made:
            made.connect(address)
            made.sendall(prey.mark.encode())
        return True

    prey.attempt("connected to an abstract socket", connected)
    prey.attempt("sent to one by a pair of sockets", sent, f"{address}-datagrams", prey)
    prey.attempt("took a name by a pair of sockets", named, f"{address}-taken")


def named(address: str) -> bool:
    """Programs of the machine could not have this name any more."""
    one, other = socket.socketpair()
    with one, other:
        one.bind(address)
    return True


def sent(address: str, prey: Prey) -> bool:
    """A pair of datagram sockets is connected, and may be connected again."""
    with contextlib.ExitStack() as stack:
        pair = [stack.enter_context(one) for one in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)]
        pair[0].connect(address)
        pair[0].sendall(prey.mark.encode())
    return True
