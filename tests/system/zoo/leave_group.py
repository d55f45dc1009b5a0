"""Joins the process group of its child and ignores SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "the referee: SIGKILL to the program as well as to its group"
DEFAULT = "the same; process namespace: it ends whole"
STRICT = "the same"
WHEN = "quit"


def attack(prey: Prey) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    with contextlib.suppress(OSError):  # the other has done it, or the child has ended
        os.setpgid(child, child)
    if child:
        os.setpgid(0, child)
        prey.tell("is in another group")
    while True:
        time.sleep(1)
