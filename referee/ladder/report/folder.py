"""The folder that a report is written into: ours alone, file by file at once whole, and what is stale is taken away."""

import re
from pathlib import Path

from protocol.safe_files import replace_file
from referee.ladder.views.source import ViewError

MARKER = ".ggp-report"
_FIRST_LINE = "Files of `ggp ladder report`: it writes them again, and takes away those that it does not need any more."
_OURS = re.compile(r"index\.html|(?:bots|pools)/[^/]+\.html")


class Folder:
    """Raises ViewError for a folder that is somebody else's, OSError where nothing can be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _listed(path)
        self._pages: set[str] = set()

    def begin(self, pages: set[str]) -> None:
        """Say which pages will be written, so that a report that is cut off is known as one."""
        self._pages = pages
        self._path.mkdir(parents=True, exist_ok=True)
        self._mark(self._before | pages)

    def write(self, name: str, text: str) -> None:
        """A page; one that says the same stays as it is."""
        data = text.encode()
        path = self._path / name
        path.parent.mkdir(exist_ok=True)
        if not _holds(path, data):
            replace_file(path, data)

    def close(self) -> None:
        """Take away what was of an earlier report alone."""
        for name in sorted(self._before - self._pages):
            (self._path / name).unlink(missing_ok=True)
        self._mark(self._pages)

    def _mark(self, names: set[str]) -> None:
        replace_file(self._path / MARKER, "\n".join([_FIRST_LINE, *sorted(names), ""]).encode())


def _listed(path: Path) -> set[str]:
    """What an earlier report left. ViewError if there is anything and no report made it."""
    if path.exists() and not path.is_dir():
        raise ViewError(f"{path} is no folder: name another with -o")
    marker = path / MARKER
    if marker.is_file():
        lines = marker.read_text(encoding="utf-8", errors="replace").splitlines()
        return {line for line in lines if _OURS.fullmatch(line) and ".." not in line.split("/")}
    if path.is_dir() and any(path.iterdir()):
        raise ViewError(f"{path} holds files that are not of a report: name a new folder or an empty one with -o")
    return set()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except FileNotFoundError:
        return False
