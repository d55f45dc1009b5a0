"""Makes POSIX timers whose signals are ignored; the kernel sets them again by itself, in interrupts."""

from __future__ import annotations

import ctypes
import signal
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "seccomp; a limit of waiting signals"
STRICT = "the same"

TIMERS = 2000
EVENT = struct.pack("=qiiq", 0, 10, 0, 0) + bytes(40)  # SIGEV_SIGNAL, SIGUSR1


def attack(prey: Prey) -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    timers = prey.as_many(TIMERS, lambda: make(prey))
    prey.attempt(f"{len(timers)} timers", lambda: len(timers) == TIMERS)


def make(prey: Prey) -> int:
    number = ctypes.c_int()
    prey.system_call(222, 107, 1, ctypes.create_string_buffer(EVENT), ctypes.byref(number))
    spec = ctypes.create_string_buffer(struct.pack("=qqqq", 0, 1_000_000, 0, 1_000_000))
    prey.system_call(223, 110, number.value, 0, spec, None)
    return number.value
