"""Entry points and versions of installed distributions, read from the `*.dist-info` folders on sys.path.

importlib.metadata finds the same, but importing it doubles the start-up time of `ggp engine`; a test compares the two.
The formats come from the packaging specifications "Recording installed projects" and "Entry points". Distributions
inside zip files and `*.egg-info` folders are not found.
"""

# pathlib takes 4 ms to import
# ruff: noqa: PTH208, PTH118

import errno
import os
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

MAX_FILE = 1024 * 1024


class EntryPoint(NamedTuple):
    """One line of an entry_points.txt: `name = module:attribute`."""

    name: str
    module: str
    attribute: str
    distribution: str

    def load(self) -> object:
        """Import the module and return the attribute. Raises whatever the import raises."""
        from importlib import import_module

        found: object = import_module(self.module)
        for name in self.attribute.split("."):
            found = getattr(found, name)
        return found


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, in the order of sys.path."""
    found = []
    for distribution, _, folder in _distributions():
        for name, value in _section(f"{folder}/entry_points.txt", group):
            module, _, attribute = value.partition(":")
            found.append(EntryPoint(name, module.strip(), attribute.strip(), distribution))
    return found


def version(distribution: str) -> str:
    """Return the version of an installed distribution, or `unknown`."""
    wanted = _normalised(distribution)
    return next((version for name, version, _ in _distributions() if name == wanted), "unknown")


def _distributions() -> Iterator[tuple[str, str, str]]:
    """Yield name, version and folder of each distribution; only the first one of each name."""
    seen = set()
    for place in sys.path:
        try:
            folders = sorted(name for name in os.listdir(place or ".") if name.endswith(".dist-info"))
        except OSError:  # a zip file, or a missing folder
            continue
        for folder in folders:
            name, _, version = folder.removesuffix(".dist-info").partition("-")
            name = _normalised(name)
            if name not in seen:
                seen.add(name)
                yield name, version, os.path.join(place, folder)


def _section(path: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield the `name = value` lines under `[group]`."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=_open_regular) as file:
            text = file.read(MAX_FILE)
    except OSError:
        return
    here = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            here = line == f"[{group}]"
        elif here and line and line[0] not in "#;":
            name, equals, value = line.partition("=")
            if equals:
                yield name.strip(), value.split("[")[0].strip()  # extras in brackets are obsolete


def _open_regular(path: str, flags: int) -> int:
    """Open a regular file without waiting, like `input_files.open_input` but without importing pathlib."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def _normalised(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
