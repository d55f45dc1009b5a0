"""What the kernel says of a connection by its descriptor, also of one that is gone or none."""

import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.protocol.transports._router import received
from ggp.protocol.transports.descriptors import address_of, cut, duplicate, shut, waiting

PATIENCE = 60.0  # seconds


@pytest.fixture
def tcp() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a connection on loopback."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), PATIENCE) as one,
    ):
        two, _ = server.accept()
        with two:
            two.settimeout(PATIENCE)
            yield one, two


@pytest.fixture
def unix() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, two = socket.socketpair()
    with one, two:
        yield one, two


@pytest.fixture
def gone() -> int:
    """The number of a descriptor that was closed, too high to be used again soon."""
    read, write = os.pipe()
    number = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, 900)
    for descriptor in (read, write, number):
        os.close(descriptor)
    return number


def test_a_duplicate_is_the_same_connection(tcp: tuple[socket.socket, socket.socket]) -> None:
    one, two = tcp
    same = duplicate(two.fileno())
    assert same is not None and same.fileno() != two.fileno()
    with same:
        one.sendall(b"a")
        assert same.recv(1) == b"a"
    one.sendall(b"b")
    assert two.recv(1) == b"b"


def test_what_is_no_socket_has_no_duplicate_and_leaves_no_descriptor(gone: int) -> None:
    read, write = os.pipe()
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert duplicate(read) is None and duplicate(gone) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    os.close(read)
    os.close(write)


def test_the_address_is_that_of_the_other_end(
    tcp: tuple[socket.socket, socket.socket], unix: tuple[socket.socket, socket.socket], gone: int
) -> None:
    assert address_of(tcp[1].fileno()) == "127.0.0.1"
    assert address_of(unix[1].fileno()) == address_of(gone) == ""
    with socket.socket() as unconnected:
        assert address_of(unconnected.fileno()) == ""


def test_a_connection_that_is_cut_ends_for_both_ends_and_no_other_does(
    tcp: tuple[socket.socket, socket.socket], gone: int
) -> None:
    one, two = tcp
    cut(gone)
    one.sendall(b"a")
    assert two.recv(1) == b"a"
    cut(two.fileno())
    assert two.recv(1) == b""  # for its owner the stream has ended
    assert one.recv(1) == b""
    with pytest.raises(BrokenPipeError):
        two.sendall(b"a")


def test_to_shut_what_is_no_connection_does_nothing() -> None:
    shut(None)
    with socket.socket() as unconnected:
        shut(unconnected)
        assert unconnected.fileno() >= 0


def test_the_bytes_that_came_are_counted_and_those_that_wait(
    tcp: tuple[socket.socket, socket.socket], unix: tuple[socket.socket, socket.socket]
) -> None:
    for one, two in (tcp, unix):
        one.sendall(b"x" * 1000)
        assert len(two.recv(600, socket.MSG_WAITALL)) == 600
        assert waiting(two.fileno()) == 400
        assert received(two.fileno()) == (1000 if two.family == socket.AF_INET else 0)
        one.sendall(b"x")  # it is open as before
        assert len(two.recv(401, socket.MSG_WAITALL)) == 401
        assert waiting(two.fileno()) == 0


def test_of_a_connection_that_is_gone_nothing_came_and_nothing_waits(gone: int) -> None:
    assert received(gone) == waiting(gone) == 0
