"""Changes its own program and leaves a file beside it, for the next game."""

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
    here = Path(__file__)
    copy = here.with_name("attacker.py")
    prey.attempt("its program opened for writing", lambda: copy.open("ab"))
    beside = here.with_name(f"{prey.mark}-beside.py")
    prey.attempt("a file beside it", lambda: beside.write_text("left", encoding="utf-8"))
