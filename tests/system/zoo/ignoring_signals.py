"""Ignores every signal that can be ignored, and `quit`."""

from __future__ import annotations

import contextlib
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "the referee: SIGKILL to its group after a grace"
DEFAULT = "process namespace: it ends whole"
STRICT = "the same"
WHEN = "quit"


def attack(prey: Prey) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)
