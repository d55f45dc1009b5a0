"""Leaves files where it may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "clean end"
NONE = "nothing"
DEFAULT = "mount namespace: its scratch folder goes with it"
STRICT = "the same"


def attack(prey: Prey) -> None:
    path = prey.scratch / f"{prey.mark}-left"
    path.write_bytes(b"left")
    prey.tell("began with a file in its scratch folder")
