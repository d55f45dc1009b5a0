"""Reads files that are not its own: a secret, the store, keys, the password hashes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "landlock, mount namespace"
STRICT = "the same"


def attack(prey: Prey) -> None:
    for path in prey.secrets:
        prey.attempt(f"the contents of {Path(path).name}", lambda path=path: prey.is_secret(Path(path).read_bytes()))
    prey.attempt("the password hashes", Path("/etc/shadow").read_bytes)
    prey.attempt("the names of the files beside the store", lambda: [*Path(prey.folder).iterdir()])
