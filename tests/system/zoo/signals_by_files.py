"""Asks for signals to all its processes whenever the referee writes (F_SETOWN, O_ASYNC), and for notices of folders."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"

SETOWN, SETSIG, SETOWN_EX, NOTIFY, MODIFIED = 8, 10, 15, 1026, 2


def attack(prey: Prey) -> None:
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    signal.signal(signal.SIGWINCH, signal.SIG_IGN)
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    owner = struct.pack("=ii", 1, os.getpid())
    prey.attempt("signals to a process", lambda: fcntl.fcntl(0, SETOWN, os.getpid()) == 0)
    prey.attempt("signals to a process, by its kind", lambda: fcntl.fcntl(0, SETOWN_EX, owner))
    prey.attempt("another signal", lambda: fcntl.fcntl(0, SETSIG, signal.SIGWINCH) == 0)
    prey.attempt("signals of its input", lambda: fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC) == 0)
    prey.attempt("signals of its input, by ioctl", lambda: fcntl.ioctl(0, 0x5452, struct.pack("=i", 1)))
    folder = os.open("/usr", os.O_RDONLY)
    prey.attempt("notices of a folder", lambda: fcntl.fcntl(folder, NOTIFY, MODIFIED) == 0)
