"""Fills the disk, in its scratch folder and in others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "disk"
NONE = "nothing"
DEFAULT = "mount namespace: its scratch folder is a file system of its own; a limit of the size of files"
STRICT = "the same"


def attack(prey: Prey) -> None:
    for folder in {str(prey.scratch), prey.temporary, "/dev/shm"}:
        prey.attempt(f"{prey.disk} MiB in {folder}", lambda folder=folder: filled(prey, Path(folder)))


def filled(prey: Prey, folder: Path) -> bool:
    paths = [folder / f"{prey.mark}-{number}" for number in range(4)]
    try:
        for path in paths:
            with path.open("wb", buffering=0) as file:
                for _ in range(prey.disk // 4):
                    file.write(b"x" * (1 << 20))
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
    return True
