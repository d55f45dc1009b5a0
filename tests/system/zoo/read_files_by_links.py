"""Reaches files by links in its own folder: symbolic, hard, and one that is exchanged while it is opened."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "files"
NONE = "nothing"
DEFAULT = "landlock, mount namespace"
STRICT = "the same"


def attack(prey: Prey) -> None:
    link = prey.scratch / f"{prey.mark}-link"
    for make in (os.symlink, os.link):

        def read(make: Callable[[str, Path], None] = make) -> bool:
            make(prey.secrets[0], link)
            try:
                return prey.is_secret(link.read_bytes())
            finally:
                link.unlink()

        prey.attempt(f"a secret by os.{make.__name__}", read)
    prey.attempt("a secret by a race of links", lambda: race(prey, link))


def race(prey: Prey, link: Path) -> bool:
    """A child exchanges a file and a link to the secret while this process opens it."""
    own = prey.scratch / f"{prey.mark}-own"
    own.write_bytes(b"own")
    (child,) = prey.children(1, lambda: exchange(prey, own, link))
    end = time.monotonic() + 0.3
    try:
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if prey.is_secret(link.read_bytes()):
                    return True
        return False
    finally:
        prey.reap([child])
        for path in (own, link):
            path.unlink(missing_ok=True)


def exchange(prey: Prey, own: Path, link: Path) -> None:
    other = link.with_suffix(".other")
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for make, target in ((os.symlink, prey.secrets[0]), (os.link, own)):
            with contextlib.suppress(OSError):
                make(target, other)
                other.replace(link)
