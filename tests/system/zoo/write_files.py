"""Writes outside its folder: over a secret and the store, into the system's folders, and removes and renames."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "landlock, mount namespace"
STRICT = "the same"


def attack(prey: Prey) -> None:
    for path in map(Path, prey.targets):
        prey.attempt(f"written {path.name}", lambda path=path: path.open("ab").write(b"changed"))
    first = Path(prey.targets[0])
    prey.attempt("changed rights", first.chmod, 0o777)
    prey.attempt("changed times", os.utime, first, (0, 0))
    prey.attempt("changed its owner", os.chown, first, os.geteuid(), -1)
    prey.attempt("given an attribute", os.setxattr, first, "user.zoo", b"new")
    prey.attempt("renamed", lambda: first.rename(f"{first}.moved"))
    prey.attempt("removed", Path(prey.targets[1]).unlink)
    for folder in (prey.folder, prey.temporary, "/var/tmp", "/usr", "/etc"):
        path = Path(folder) / f"{prey.mark}-written"
        prey.attempt(f"a file in {folder}", path.write_bytes, b"new")
    for folder in ("/tmp", "/dev/shm", str(Path.home())):  # where these are its own, nothing is left of it
        with contextlib.suppress(OSError):
            (Path(folder) / f"{prey.mark}-written").write_bytes(b"new")
