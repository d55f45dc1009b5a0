"""Calls new parts of the kernel by their numbers: for mounts, attributes, memory and the cache of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"

# quotactl_fd, memfd_secret, process_mrelease, futex_waitv, cachestat, statmount, listmount, lsm_get_self_attr,
# setxattrat, open_tree_attr, file_getattr, file_setattr
CALLS = (443, 447, 448, 449, 451, 457, 458, 459, 463, 467, 468, 469)
NOT_ALLOWED = (1, 13, 38)  # EPERM, EACCES, ENOSYS


def attack(prey: Prey) -> None:
    for number in CALLS:
        prey.attempt(f"call {number}", listens, prey, number)


def listens(prey: Prey, number: int) -> bool:
    """Whether the kernel looks at the arguments, which are wrong, and does not forbid the call."""
    pid = os.fork()
    if not pid:
        try:
            prey.system_call(number, number, -1, None, -1, -1, -1)
        except OSError as error:
            os._exit(error.errno in NOT_ALLOWED)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0
