"""Matches that are being played, from the side files that their workers write line by line. It writes none itself.

A writer holds a lock on its side file, which the kernel takes back however the writer ends.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from protocol.records import Record, RecordError, read_records
from referee.play.recorder import live_path

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
    return [record for path in _side_files(base) if _written(path) and (record := _read(path)) and not record.end]


def head(record: Record) -> Head:
    """What there is to say of a match in a list."""
    start = record.start
    first, second = (bot.name for bot in start.bots)
    plies = len(record.plies)
    return Head(start.match, start.game, dict(start.options), (first, second), start.control, start.started, plies)


def find_live(base: str, key: str) -> tuple[Path, Record] | None:
    """The side file of the match with that name and as much of it as was played; "" is any that is being played.

    A match that nobody plays any more is found too, until its side file is used again or removed.
    """
    for path in _side_files(base):
        record = _read(path)
        if record and (record.start.match == key or (not key and record.end is None and _written(path))):
            return path, record
    return None


def read_live(path: Path, key: str) -> Record | None:
    """The match as far as it was played; None once the side file is gone or holds another one."""
    record = _read(path)
    return record if record and record.start.match == key else None


def is_played(path: Path) -> bool:
    """Whether somebody still writes this side file."""
    return _written(path)


def live_base(url: str) -> str:
    """Where the workers of a ladder with this store (a URL of SQLAlchemy) write their side files: beside an SQLite
    file, else in a folder of this user for temporary files."""
    if url.startswith(_SQLITE):
        return url.removeprefix(_SQLITE)
    folder = Path(tempfile.gettempdir()) / f"ggp-live-{os.getuid()}"
    return str(folder / hashlib.sha256(url.encode()).hexdigest()[:16])


def _side_files(base: str) -> Iterator[Path]:
    if not base or "\0" in base:
        return
    stem = Path(live_path(base, 0)).name.removesuffix("0")
    try:
        names = [path.name for path in Path(base).parent.iterdir() if path.name.startswith(stem)]
    except OSError:
        return
    numbers = sorted(int(name[len(stem) :]) for name in names if name[len(stem) :].isdecimal())
    for number in numbers:
        yield Path(live_path(base, number))


def _read(path: Path) -> Record | None:
    """The one match in a side file, without the line that is being written; None if there is none that can be read."""
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_LIVE).splitlines(keepends=True)
        return next(read_records([line for line in lines if line.endswith(b"\n")]), None)
    except (OSError, RecordError):  # it is just being begun anew
        return None


def _written(path: Path) -> bool:
    """Whether a writer holds it."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
