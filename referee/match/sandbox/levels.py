"""Levels of the sandbox, defined by what each prevents, whatever the mechanism."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ggp.protocol.errors import Problem

Level = Literal["none", "default", "strict"]
Cores = Literal["apart", "shared"]
APART: Cores = "apart"
LEVELS: tuple[Level, Level, Level] = ("none", "default", "strict")
NONE, DEFAULT, STRICT = LEVELS
PROPERTIES = ("files", "network", "other processes", "process count", "memory", "disk", "idle turn", "clean end")
OPENED = ("network", "gpu", "ponder")  # single words of `allow`; it may also hold `read:/path` and `variable:NAME`
READ, VARIABLE = "read:", "variable:"
MEMORY, PROCESSES, SCRATCH = 1024, 64, 64
LEAST_MEMORY = 16
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SandboxError(Problem, ValueError):
    """A sandbox that is invalid or not supported here; str() is one line that names the remedy."""

    code = "bad-sandbox"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox requested for one program. Memory and scratch are in MiB; processes include threads.

    `files` are paths that it may read in addition to those of the system and of `allow`: its program, its script and
    their folder. `private` are paths that it can never read, even in such a folder: the store, the record, keys.
    `cores` says whether two strict bots run on different cores, if the machine has enough.
    """

    level: Level = NONE
    allow: tuple[str, ...] = ()
    memory: int = MEMORY
    processes: int = PROCESSES
    scratch: int = SCRATCH
    files: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    cores: Cores = APART

    @property
    def apart(self) -> bool:
        """Return True if it runs on another core than an opponent that requests the same."""
        return self.level == STRICT and self.cores == APART

    @property
    def readable(self) -> tuple[str, ...]:
        """Return the paths that `allow` opens for reading."""
        return tuple(word.removeprefix(READ) for word in self.allow if word.startswith(READ))

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the environment variables that `allow` keeps."""
        return tuple(word.removeprefix(VARIABLE) for word in self.allow if word.startswith(VARIABLE))

    def __str__(self) -> str:
        """Return the sandbox as records show it: the level, what is allowed, and unusual limits."""
        limits = [
            f"{name} {here} MiB".removesuffix(" MiB" if name == "processes" else "")
            for name, here, usual in (
                ("memory", self.memory, MEMORY),
                ("processes", self.processes, PROCESSES),
                ("scratch", self.scratch, SCRATCH),
            )
            if here != usual
        ]
        return "; ".join(filter(None, [self.level, f"allow {', '.join(self.allow)}" if self.allow else "", *limits]))


def read_allow(words: Iterable[str]) -> tuple[str, ...]:
    """Check the words of `allow`, and remove duplicates.

    Raises:
        SandboxError: A word is invalid.
    """
    for word in words:
        path, variable = word.removeprefix(READ), word.removeprefix(VARIABLE)
        if word in OPENED or (word != variable and _VARIABLE.fullmatch(variable)):
            continue
        if word == path or "\0" in path:
            ways = f"{', '.join(OPENED)}, {READ}/path or {VARIABLE}NAME"
            raise SandboxError(f"unknown word {word[:80]!r}: write {ways}", code="unknown-property")
        if not path.startswith("/") or path.rstrip("/") == "":
            raise SandboxError(f"allow {word[:80]!r}: write an absolute path other than /")
    return tuple(dict.fromkeys(words))
