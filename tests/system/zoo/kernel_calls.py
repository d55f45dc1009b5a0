"""Calls parts of the kernel that no bot needs: bpf, perf, userfaultfd, swap, module loading."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


CALLS = (("bpf", 321, 280), ("perf_event_open", 298, 241), ("userfaultfd", 323, 282), ("open_by_handle_at", 304, 265))
NOT_ALLOWED = (1, 13, 38)  # EPERM, EACCES, ENOSYS


def attack(prey: Prey) -> None:
    for name, x86, arm in CALLS:
        prey.attempt(name, lambda x86=x86, arm=arm: listens(prey, x86, arm))


def listens(prey: Prey, x86: int, arm: int) -> bool:
    """Whether the kernel looks at the arguments, which are wrong, and does not forbid the call."""
    pid = os.fork()
    if not pid:
        try:
            prey.system_call(x86, arm, -1, None, -1, -1, -1)
        except OSError as error:
            os._exit(0 if error.errno not in NOT_ALLOWED else 1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0
