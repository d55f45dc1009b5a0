"""Attacks by sockets and other ways to talk to others."""

import ctypes
import os
import socket
import struct
from pathlib import Path

from tests.system.zoo.prey import Prey, attack


@attack("network", "seccomp")
def abstract_socket(prey: Prey) -> None:
    """Connects to a local socket without a file, as system services have."""
    address = f"\0{prey.abstract}"
    prey.attempt("connected to an abstract socket", connected, address, prey)
    prey.attempt("sent to one by a pair of sockets", sent, f"{address}-datagrams", prey, True)
    prey.attempt("took a name by a pair of sockets", named, f"{address}-taken")


def connected(address: str, prey: Prey) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(address)
        made.sendall(prey.mark.encode())


def named(address: str) -> None:
    """Take a name that programs of the machine could then not have."""
    one, other = socket.socketpair()
    with one, other:
        one.bind(address)


def sent(address: str, prey: Prey, connect: bool) -> None:
    """Send by a pair of datagram sockets: it is connected, and may be connected again."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        if connect:
            one.connect(address)
            one.sendall(prey.mark.encode())
        else:
            one.sendto(prey.mark.encode(), address)


@attack("network", "seccomp", none="nothing, unless the machine forbids io_uring")
def io_uring(prey: Prey) -> None:
    """Makes a queue of system calls, past filters that look at system calls."""

    def made() -> None:
        os.close(prey.system_call(425, 425, 8, ctypes.create_string_buffer(120)))

    prey.attempt("a queue of system calls", made)


@attack("network", "seccomp")
def netlink(prey: Prey) -> None:
    """Talks to the kernel's network configuration, and by the less usual families of sockets."""

    def asked() -> bytes:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as made:
            made.settimeout(2)
            made.send(struct.pack("=IHHIIBxHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0))  # RTM_GETLINK, dump
            return made.recv(65536)

    def opened(family: int, kind: int) -> None:
        socket.socket(family, kind).close()

    prey.attempt("the network interfaces by netlink", asked)
    for name, family, kind in (("packet", 17, socket.SOCK_RAW), ("vsock", 40, socket.SOCK_STREAM), ("alg", 38, 5)):
        prey.attempt(f"a socket of the family {name}", lambda family=family, kind=kind: opened(family, kind))


@attack("network", "seccomp")
def path_socket(prey: Prey) -> None:
    """Connects to a local socket by its file, as those of a referee or of a container service."""
    prey.attempt("connected to a socket with a file", connected, prey.path_socket, prey)
    prey.attempt("sent to one by a pair of sockets", sent, f"{prey.path_socket}-datagrams", prey, False)


@attack("network", "a network namespace")
def read_connections(prey: Prey) -> None:
    """Reads the connections and sockets of the machine in /proc/net."""
    port = f":{prey.tcp:04X} "

    def found(name: str, text: str) -> bool:
        return text in Path("/proc/net", name).read_text(encoding="ascii")

    prey.attempt("a server of TCP", found, "tcp", port)
    prey.attempt("a socket of UDP", found, "udp", f":{prey.udp:04X} ")
    prey.attempt("a local socket", found, "unix", prey.abstract)


@attack("network", "seccomp, landlock")
def tcp(prey: Prey) -> None:
    """Connects to a TCP server of this machine, and listens itself."""

    def connected() -> None:
        with socket.create_connection(("127.0.0.1", prey.tcp), 2) as made:
            made.sendall(prey.mark.encode())

    def listening() -> None:
        socket.create_server(("127.0.0.1", 0)).close()

    prey.attempt("connected by TCP", connected)
    prey.attempt("listens by TCP", listening)


@attack("network", "seccomp")
def udp(prey: Prey) -> None:
    """Sends datagrams: to this machine by UDP, and by raw sockets."""

    def sent() -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
            return made.sendto(prey.mark.encode(), ("127.0.0.1", prey.udp))

    def raw() -> None:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()

    prey.attempt("sent by UDP", sent)
    prey.attempt("a raw socket", raw)
