"""Makes more files than a disk has room for, all of them empty."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "disk"
NONE = "nothing"
DEFAULT = "mount namespace: its scratch folder is a file system of its own"
STRICT = "the same"


def attack(prey: Prey) -> None:
    folder = prey.scratch / f"{prey.mark}-many"
    made = 0

    def all_made() -> bool:
        nonlocal made
        folder.mkdir()
        for made in range(prey.inodes):
            (folder / str(made)).touch()
        return True

    prey.attempt(f"{prey.inodes} files", all_made)
    shutil.rmtree(folder, ignore_errors=True)
