"""Connects to a local socket by its file, as those of a referee or of a container service."""

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
    def connected() -> bool:
        with socket.socket(socket.AF_UNIX) as made:
            made.connect(prey.path_socket)
            made.sendall(prey.mark.encode())
        return True

    prey.attempt("connected to a socket with a file", connected)
    prey.attempt("sent to one by a pair of sockets", sent, f"{prey.path_socket}-datagrams", prey)


def sent(address: str, prey: Prey) -> bool:
    """A pair of datagram sockets is connected, and may be connected again."""
    with contextlib.ExitStack() as stack:
        pair = [stack.enter_context(one) for one in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)]
        pair[0].sendto(prey.mark.encode(), address)
    return True
