"""Watches files by inotify: a user has 128 such descriptors, and sees what other bots open."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.system.zoo.attacker import Prey

PROPERTY = "idle turn"
NONE = "nothing"
DEFAULT = "seccomp"
STRICT = "the same"


def attack(prey: Prey) -> None:
    prey.attempt("inotify", lambda: prey.call("inotify_init1", 0) >= 0)
