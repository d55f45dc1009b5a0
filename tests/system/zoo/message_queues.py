"""Makes POSIX message queues, which stay and can send signals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    name = f"/{prey.mark}-queue".encode()

    def made() -> bool:
        os.close(prey.call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o600, None))
        return prey.call("mq_unlink", name) == 0

    prey.attempt("a message queue", made)
