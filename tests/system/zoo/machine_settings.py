"""Changes settings of the machine: its name, the clock, the kernel's values (to what they are already)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing for root; the kernel for others"
DEFAULT = "no capabilities, landlock, seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    name = os.uname().nodename.encode()
    prey.attempt("the machine's name", lambda: prey.call("sethostname", name, len(name)) == 0)
    value = Path("/proc/sys/kernel/randomize_va_space")
    prey.attempt("a value of the kernel", lambda: value.write_bytes(value.read_bytes()))
