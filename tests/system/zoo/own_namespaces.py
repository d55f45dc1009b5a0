"""Makes namespaces of its own, in which it would be root: mounts, roots and names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("network", 0x40000000), ("name", 0x4000000)):
        prey.attempt(f"a {name} namespace", lambda flag=flag: in_child(lambda: prey.call("unshare", flag)))
    prey.attempt("the namespace of another", lambda: in_child(lambda: joined(prey)))
    prey.attempt("a mount", lambda: in_child(lambda: mounted(prey)))


def joined(prey: Prey) -> None:
    prey.call("setns", os.open(f"/proc/{prey.victim}/ns/net", os.O_RDONLY), 0)


def mounted(prey: Prey) -> None:
    prey.call("unshare", 0x10000000 | 0x20000)
    prey.call("mount", b"none", str(prey.scratch).encode(), b"tmpfs", 0, b"size=4k")


def in_child(action: Callable[[], object]) -> bool:
    """Whether a child of ours may do that: this process stays as it is."""
    pid = os.fork()
    if not pid:
        try:
            action()
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise OSError(status, os.strerror(status))
    return status == 0
