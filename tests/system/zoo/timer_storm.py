"""Arms timers that wake thousands of watchers in its opponent's turn, by interrupts that no group is charged for."""

from __future__ import annotations

import contextlib
import ctypes
import select
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "the guard makes its timers and epolls: at most 4 and 64 are open; an epoll has 64 entries, a file 100"
STRICT = "the same"

TIMERS, EPOLLS, HELPERS = 60, 300, 12
FIRST, APART = 0.002, 0.0005  # seconds after its move
armed: list[int] = []
held: list[select.epoll] = []


def attack(prey: Prey) -> None:
    armed.extend(prey.as_many(TIMERS, lambda: prey.system_call(283, 85, 1, 0)))
    entries = prey.together(HELPERS, lambda: watch(prey), 30.0)
    prey.attempt(f"{entries} entries on {len(armed)} timers", lambda: entries == TIMERS * EPOLLS * HELPERS)


def before_move(prey: Prey) -> None:
    """Set them again: one that is not read expires once."""
    for number, timer in enumerate(armed):
        spec = struct.pack("=qqqq", 0, 0, 0, int((FIRST + APART * number) * 1e9))
        prey.system_call(286, 86, timer, 0, ctypes.create_string_buffer(spec), None)


def watch(prey: Prey) -> int:
    """How many entries it made."""
    held.extend(prey.as_many(EPOLLS, select.epoll))
    entries = 0
    for epoll in held:
        for timer in armed:
            with contextlib.suppress(OSError):
                epoll.register(timer, select.EPOLLIN)
                entries += 1
    return entries
