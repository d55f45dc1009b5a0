"""Which version of a program it is: a hash of all that decides how it plays. It starts nothing."""

import hashlib
import json
import re
import stat
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Protocol

from referee.play.launch import find_program

DIGITS = 12
_LARGEST = 1 << 28  # bytes of a file named among the words of a command line that are read for its hash
_PYTHON = re.compile(r"(python|pypy)[\d.]*")


class Startable(Protocol):
    """What is to be started (see seating.Start)."""

    @property
    def command(self) -> str: ...
    @property
    def argv(self) -> tuple[str, ...]: ...
    @property
    def url(self) -> str: ...
    @property
    def environment(self) -> tuple[tuple[str, str], ...]: ...


def version_of(start: Startable) -> str:
    """Twelve hex digits for the program, the files among its words, its options and its environment.

    Where the files lie does not matter, only what is in them; they are read again when they changed. A bot that
    listens elsewhere is known by its address alone. Raises LaunchError where nothing could be started.
    """
    return Snapshot().version_of(start)


class Snapshot:
    """The versions of many programs at one moment: what they share is looked up once."""

    def __init__(self) -> None:
        self._programs: dict[str, str] = {}
        self._modules: dict[str, list[str]] = {}
        self._hashes: dict[str, str] = {}

    def version_of(self, start: Startable) -> str:
        """See version_of."""
        hashes = [self._hash(file) for file in self.files_of(start)]
        said = [start.url or start.command, sorted(start.environment), hashes]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:DIGITS]

    def files_of(self, start: Startable) -> list[str]:
        """The program, the files that its words name, those of the module that Python is to run. Raises LaunchError.

        A word names a file if it is a path from the root, or such a path behind `=`: what depends on where we are is
        no part of a version.
        """
        if not start.argv:
            return []
        name, *words = start.argv
        if name not in self._programs:
            self._programs[name] = find_program(name)
        paths = [word.rpartition("=")[2] for word in words]
        named = [path for path in paths if path.startswith("/") and self._hash(path)]
        files = [self._programs[name], *named]
        if _PYTHON.fullmatch(Path(name).name) and "-m" in words[:-1]:
            files += self._module(words[words.index("-m") + 1])
        return files

    def _hash(self, file: str) -> str:
        """ "" of what is no file."""
        if file not in self._hashes:
            self._hashes[file] = _hash(file)
        return self._hashes[file]

    def _module(self, name: str) -> list[str]:
        if name not in self._modules:
            self._modules[name] = _module(name.partition(".")[0])
        return self._modules[name]


def _module(name: str) -> list[str]:
    """The source files of a package or module that Python would run, found without importing it."""
    found = PathFinder.find_spec(name) if name.isidentifier() else None
    if found is None or not found.origin:
        return []
    folders = found.submodule_search_locations or ()
    return [str(path) for folder in folders for path in sorted(Path(folder).rglob("*.py"))] or [found.origin]


def _hash(file: str) -> str:
    """The hash of what is in a file, "" if it names none."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        return ""
    return _content(file, status.st_mtime_ns, status.st_size, status.st_ino)


@cache
def _content(path: str, modified: int, size: int, inode: int) -> str:
    """SHA-256 of a file; the numbers only tell one state of it from another."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
