"""Uses more memory than it may, alone and in several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "memory"
NONE = "nothing"
DEFAULT = "cgroup memory"
STRICT = "the same"


def attack(prey: Prey) -> None:
    own = prey.attempt(f"{prey.memory} MiB", lambda: len(bytearray(b"x") * (prey.memory << 20)))
    if not own:
        return

    def several() -> bool:
        part = prey.memory // 4 << 20
        prey.reap(prey.children(6, lambda: bytearray(b"x") * part, 1.0))
        return True

    prey.attempt("more in several processes", several)
