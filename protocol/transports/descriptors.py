"""Facts about a connection's descriptor, and about this process, that ZeroMQ does not report."""

import contextlib
import os
import socket
import struct
from array import array
from collections.abc import Callable, Iterator
from fcntl import ioctl
from termios import FIONREAD

_PAGE = os.sysconf("SC_PAGESIZE")
_RST = struct.pack("ii", 1, 0)  # SO_LINGER: drop unsent data


def duplicate(descriptor: int) -> socket.socket | None:
    """Return a duplicate descriptor of the connection, or None if it is not (or no longer) a socket."""
    try:
        number = os.dup(descriptor)
    except OSError:
        return None
    try:
        return socket.socket(fileno=number)
    except OSError:
        os.close(number)
        return None


def address_of(descriptor: int) -> str:
    """Return the IP address that a connection comes from, or "" if it is gone or a Unix socket."""
    theirs = duplicate(descriptor)
    if theirs is None:
        return ""
    with theirs, contextlib.suppress(OSError):
        return str(theirs.getpeername()[0]) if theirs.family != socket.AF_UNIX else ""
    return ""


def shut(theirs: socket.socket | None) -> None:
    """Shut a connection down. ZeroMQ's own socket then reads the end of the stream and cleans up."""
    if theirs is not None:
        with contextlib.suppress(OSError):
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST)
            theirs.shutdown(socket.SHUT_RDWR)


def cut(descriptor: int) -> None:
    """End a connection; do nothing if it is gone."""
    if theirs := duplicate(descriptor):
        with theirs:
            shut(theirs)


def waiting(descriptor: int) -> int:
    """Return the number of bytes that arrived but were not read yet; 0 if the connection is gone."""
    count = array("i", [0])
    try:
        ioctl(descriptor, FIONREAD, count)
    except OSError:
        return 0
    return count[0]


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    with resident_again() as size:
        return size()


@contextlib.contextmanager
def resident_again() -> Iterator[Callable[[], int]]:
    """Return a function that does the same as `resident`, five times faster."""
    descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield lambda: int(os.pread(descriptor, 100, 0).split(b" ", 2)[1]) * _PAGE
    finally:
        os.close(descriptor)
