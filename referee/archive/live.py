"""Matches that are being played, from the side files that their workers write line by line. It writes none itself.

A writer holds a lock on its side file, which the kernel takes back however the writer ends.
"""

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from protocol.records import Record, RecordError, read_records
from protocol.safe_files import is_private_folder
from referee.play.recorder import side_files

MAX_LIVE = 64 * 1024 * 1024  # bytes of a side file that are read
_SQLITE = "sqlite:///"


class Head(NamedTuple):
    """A match under way: what its start says, and how many plies were played when it was looked at."""

    match: str
    game: str
    options: dict[str, str]
    bots: tuple[str, str]  # by seat
    control: str
    started: str  # UTC, ISO 8601
    ply: int


def running(base: str) -> list[Head]:
    """The matches that are being played now, oldest first; [] if there are none, never an error.

    `base` is the path of a record (`ggp match --record`), or live_base of a ladder's store. Each call reads the side
    files, a few kilobytes a worker: ask once a second, not once a ply. Matches on a cluster's workers are not among
    them.
    """
    return sorted(map(head, playing(base)), key=lambda head: head.started)


def playing(base: str) -> list[Record]:
    """The same, as far as they were played."""
    return [record for live in _side_files(base) if live.playing() and (record := live.read())]


def head(record: Record) -> Head:
    """What there is to say of a match in a list."""
    start = record.start
    first, second = (bot.name for bot in start.bots)
    plies = len(record.plies)
    return Head(start.match, start.game, dict(start.options), (first, second), start.control, start.started, plies)


class LiveMatch:
    """The side file of one match, open: a worker begins a new file for its next match, so this one stays readable to
    the last event, also when its name is another match's or gone."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self) -> Record | None:
        """The match as far as it was played, without a line that is being written; None if no start can be read."""
        try:
            self._file.seek(0)
            lines = self._file.read(MAX_LIVE).splitlines(keepends=True)
            return next(read_records([line for line in lines if line.endswith(b"\n")]), None)
        except (OSError, RecordError):
            return None

    def playing(self) -> bool:
        """Whether a worker still plays it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            record = self.read()
            return record is not None and record.end is None
        except OSError:
            return False
        fcntl.flock(self._file, fcntl.LOCK_UN)
        return False


def find_live(base: str, key: str) -> LiveMatch | None:
    """The match with that name, if its side file is there; "" is any that is being played.

    A match that ended or was dropped is found, too, until its worker begins the next match.
    """
    for live in _side_files(base):
        record = live.read()
        if record and (record.start.match == key or (not key and live.playing())):
            return live
    return None


def live_base(url: str) -> str:
    """Where the workers of a ladder with this store (a URL of SQLAlchemy) write their side files: beside an SQLite
    file, else in live_folder, which this makes; "" if that is not this user's alone, because finished matches are
    also read from there."""
    if url.startswith(_SQLITE):
        return url.removeprefix(_SQLITE)
    folder = live_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(0o700)
    return str(folder / hashlib.sha256(url.encode()).hexdigest()[:16]) if is_private_folder(folder) else ""


def live_folder() -> Path:
    """The folder of this user for the side files of stores that are not files."""
    return Path(tempfile.gettempdir()) / f"ggp-live-{os.geteuid()}"


def _side_files(base: str) -> Iterator[LiveMatch]:
    """Those that can be opened, by number."""
    for path in side_files(base):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        yield LiveMatch(os.fdopen(descriptor, "rb"))
