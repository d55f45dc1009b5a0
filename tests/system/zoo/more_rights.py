"""Gains rights: by programs of root, by its own capabilities, by devices."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "no new privileges, no capabilities, landlock"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("no bar against programs of root", lambda: b"NoNewPrivs:\t0" in Path("/proc/self/status").read_bytes())
    prey.attempt("capabilities", lambda: int(field("CapEff"), 16))
    device = prey.scratch / f"{prey.mark}-device"

    def made() -> bool:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 11))  # /dev/kmsg
        device.unlink()
        return True

    prey.attempt("a device", made)
    prey.attempt("the kernel's log", lambda: os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))


def field(name: str) -> str:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name))
