"""Which version of a program it is: a hash of all that decides how it plays. It starts nothing."""

import hashlib
import json
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Protocol

from referee.play.launch import find_program

DIGITS = 12
_LARGEST = 1 << 28  # bytes of a file named among the words of a command line that are read for its hash


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
    """Twelve hex digits for the program, the script files among its words, its options and its environment.

    A bot that listens elsewhere is known by its address alone. Files are read again when they changed.
    Raises LaunchError where nothing could be started.
    """
    said: list[object] = [start.url or start.command, sorted(start.environment)]
    if start.argv:
        said.append(_file(find_program(start.argv[0])))
        said += [_file(word) for word in start.argv[1:]]
        if start.argv[1:2] == ("-m",):
            said.append(_module(start.argv[2]))
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:DIGITS]


def _file(word: str) -> str:
    """The hash of the file that a word names, "" if it names none."""
    try:
        status = Path(word).stat()
        if not Path(word).is_file() or status.st_size > _LARGEST:
            return ""
    except (OSError, ValueError):
        return ""
    return _content(word, status.st_mtime_ns, status.st_size)


def _module(name: str) -> list[str]:
    """The hashes of the source files of a package or module that Python would run, found without importing it."""
    found = PathFinder.find_spec(name)
    if found is None or not found.origin:
        return []
    folders = found.submodule_search_locations or ()
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.py")) or [Path(found.origin)]
    return [_file(str(path)) for path in files]


@cache
def _content(path: str, modified: int, size: int) -> str:
    """SHA-256 of a file; `modified` and `size` only tell one state of it from another."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
