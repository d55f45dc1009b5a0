"""Sends what a terminal obeys: in its name, in an answer's text, on stderr."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "referee"
NONE = "the referee: only printable characters reach terminals, records and pages"
DEFAULT = "the same"
STRICT = "the same"
NAME = "bot \x1b]0;owned\x07\x1b[2J"


def attack(prey: Prey) -> None:
    os.write(2, b"zoo \x1b]0;owned\x07 \x1b[2J \x9b5n \x1bP+q\x1b\\ \r got rid of this line\n")
