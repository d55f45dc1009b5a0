"""Files of records, the side files of matches under way, and records packed for a store."""

import contextlib
import fcntl
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click
import zstandard

from ggp.protocol.drawing.scene import replace_unprintable
from ggp.protocol.input_files import open_input
from ggp.protocol.records import (
    MAX_RECORD_LINE,
    MatchEnded,
    Record,
    RecordError,
    RecordReader,
    read_records,
)
from ggp.protocol.safe_files import NEW, is_private_folder


def records_in(
    file: Path,
    skipped: Callable[[str], None],
    unfinished: bool = False,
    damaged: Callable[[str], None] | None = None,
) -> Iterator[Record]:
    """Yield every finished match of a file, read a line at a time. `skipped` is called for each that was cut off.

    With `unfinished` those come, too. The file `-` is standard input. A record that was changed since it was written
    raises ClickException; with `damaged`, that gets the reason instead, and reading goes on with the next match.
    """
    tell = damaged and (lambda reason: damaged(_not_whole(file, reason)))
    half: list[str] = []
    try:
        with _open(file) as lines:
            for record in read_records(lines_of(lines), half.append, tell):
                if record.end is not None or unfinished:
                    yield record
                else:
                    skipped(
                        "; ".join(
                            [f"{replace_unprintable(record.start.match)}: {len(record.plies)} plies and no end", *half]
                        )
                    )
                    half.clear()
            for piece in half:
                skipped(piece)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except RecordError as error:
        raise click.ClickException(_not_whole(file, str(error))) from None


def _not_whole(file: Path, reason: str) -> str:
    return f"{file} is not a whole record: {replace_unprintable(reason)}"


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    return open_input(file)


# -- Matches that are being played, read from the side files that workers write.


MAX_LIVE = 64 * 1024 * 1024  # bytes of a side file that are read
_SQLITE = "sqlite:///"


class LiveHead(NamedTuple):
    """A match under way: what its start says, and how many plies were played when it was looked at."""

    match: str
    game: str
    options: dict[str, str]
    bots: tuple[str, str]  # by seat
    control: str
    started: str  # UTC, ISO 8601
    ply: int


def running(base: str) -> list[LiveHead]:
    """Return the matches that are being played now, oldest first; [] if there are none, never an error.

    `base` is the path of a record (`ggp match --record`), or live_base of a ladder's store. Each call reads the side
    files, a few kilobytes a worker: ask once a second, not once a ply. Matches on a cluster's workers are not among
    them.
    """
    return sorted(map(head, playing(base)), key=lambda head: head.started)


def playing(base: str) -> list[Record]:
    """Return the records of the matches that are being played now, as far as they were played."""
    return LiveMatches(base).playing()


def head(record: Record) -> LiveHead:
    """Return what a list says of a match."""
    start = record.start
    first, second = (bot.name for bot in start.bots)
    plies = len(record.plies)
    return LiveHead(start.match, start.game, dict(start.options), (first, second), start.time, start.started, plies)


class LiveMatch:
    """The open side file of one match. Thread-safe.

    A worker begins a new file for its next match, so this one stays readable to its last event, even after its name
    was deleted or given to another match.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._lock = file, threading.Lock()
        self._at = 0  # bytes that were read
        self._reader = RecordReader()
        self._record: Record | None = None

    def read(self) -> Record | None:
        """Return the match as far as it was played, without a half-written line; None if no start can be read.

        Only what came since the last call is read; the record is the same object if nothing did.
        """
        with self._lock:
            try:
                size = os.fstat(self._file.fileno()).st_size
                if size < self._at:
                    self._at, self._reader, self._record = 0, RecordReader(), None
                if self._at < size <= MAX_LIVE and (self._record is None or self._record.end is None):
                    self._read_on(os.pread(self._file.fileno(), size - self._at, self._at))
            except (OSError, RecordError):
                return None
            return self._record

    def _read_on(self, data: bytes) -> None:
        *lines, _ = data.split(b"\n")
        for line in lines:
            if line.strip():
                self._reader.read(line)
            self._at += len(line) + 1
            if self._reader.events and isinstance(self._reader.events[-1], MatchEnded):
                break  # what comes behind it is no part of this match
        if self._reader.events:
            self._record = self._reader.record

    def idle(self) -> int:
        """Return the milliseconds since its last event."""
        try:
            return max(0, int(1000 * (time.time() - os.fstat(self._file.fileno()).st_mtime)))
        except OSError:
            return 0

    def playing(self) -> bool:
        """Return whether a worker still plays it."""
        with self._lock:  # threads share the open file, and with it what it has locked
            try:
                fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            except OSError:
                return False
            else:
                fcntl.flock(self._file, fcntl.LOCK_UN)
                return False
        record = self.read()
        return record is not None and record.end is None

    def is_at(self, path: Path) -> bool:
        """Return whether the file with this name is its file. Raises OSError."""
        return os.path.samestat(path.stat(), os.fstat(self._file.fileno()))


class LiveMatches:
    """The side files beside a record, or beside the live_base of a store. Thread-safe.

    Each file is opened once and read once, however often it is asked for.
    """

    def __init__(self, base: str) -> None:
        self._base, self._lock = base, threading.Lock()
        self._files: dict[Path, LiveMatch] = {}
        self._by_key: dict[str, tuple[Path, LiveMatch]] = {}  # as they were at the last search

    def playing(self) -> list[Record]:
        """Return the matches that are being played now, as far as they were played, by the numbers of their workers."""
        return [record for live in self._all() if live.playing() and (record := live.read())]

    def find(self, key: str) -> LiveMatch | None:
        """Find a match by its name; "" means any that is being played.

        A match that ended or was dropped is found, too, until its worker begins the next match.
        """
        with self._lock:
            path, live = self._by_key.get(key, (None, None))
            if path and live and _key(live) == key and self._at(path) is live:
                return live
        matches = self._all()
        if not key:
            return next((live for live in matches if live.playing()), None)
        with self._lock:
            self._by_key = {_key(live) or "": (path, live) for path, live in reversed(self._files.items())}
            return self._by_key.get(key, (None, None))[1]

    def _all(self) -> list[LiveMatch]:
        """Return the side files that can be opened, by number."""
        with self._lock:
            self._files = {path: live for path in side_files(self._base) if (live := self._at(path)) is not None}
            return list(self._files.values())

    def _at(self, path: Path) -> LiveMatch | None:
        try:
            if (known := self._files.get(path)) is not None and known.is_at(path):
                return known
            return LiveMatch(open_input(path))
        except OSError:
            return None


def _key(live: LiveMatch) -> str | None:
    record = live.read()
    return record.start.match if record else None


def find_live(base: str, key: str) -> LiveMatch | None:
    """Find a match by its side file: see LiveMatches.find."""
    return LiveMatches(base).find(key)


def live_base(url: str) -> str:
    """Return the path prefix of the side files that the workers of a ladder write.

    It is the SQLite file itself, or a file in live_folder for other databases. The folder is created.

    Args:
        url: The SQLAlchemy URL of the ladder's store.

    Returns:
        The prefix, or "" if other users can write to the folder: finished matches are read from there, too.
    """
    if url.startswith(_SQLITE):
        return url.removeprefix(_SQLITE)
    folder = live_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(0o700)
    return str(folder / hashlib.sha256(url.encode()).hexdigest()[:16]) if is_private_folder(folder) else ""


def live_folder() -> Path:
    """Return the folder of this user for the side files of stores that are not files."""
    return Path(tempfile.gettempdir()) / f"ggp-live-{os.geteuid()}"


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a record, each cut where it is longer than a line of a record may be."""
    return iter(lambda: file.readline(MAX_RECORD_LINE + 2), b"")


def live_path(record: str, number: int) -> str:
    """Return the side file next to a record that worker `number` (from 1) writes its live plies to."""
    return f"{record}.live-{number}"


def side_files(record: str) -> list[Path]:
    """Return the side files that exist, by number. A worker that has begun no match has none."""
    return [path for _, path in sorted(numbered(record, live_path)) if not path.name.endswith(NEW)]


def can_be_path(record: str) -> bool:
    """Return False for a record that is no file: "", or a text with a NUL."""
    return bool(record) and "\0" not in record


def numbered(record: str, path_of: Callable[[str, int], str]) -> Iterator[tuple[int, Path]]:
    """Iterate over the files beside a record that `path_of` names, with their numbers; in no order.

    Files that a worker was just about to rename into place are among them.
    """
    if not can_be_path(record):
        return
    stem = Path(path_of(record, 0)).name.removesuffix("0")
    with contextlib.suppress(OSError):
        for path in list(Path(record).parent.iterdir()):
            number = path.name.removeprefix(stem).removesuffix(NEW)
            if path.name.startswith(stem) and number.isdecimal():
                yield int(number), path


# -- Records as a store keeps them, and as they travel there: JSON lines, compressed by Zstandard.


LONGEST = 1 << 28  # bytes of a record
_LEVEL = 1  # the higher ones save 1 % and take longer


class _Contexts(threading.local):
    """Those of a thread: to make one takes longer than a record."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress
        self.unpack = zstandard.ZstdDecompressor().decompress


_contexts = _Contexts()


def pack(lines: bytes) -> bytes:
    """Compress a record."""
    return _contexts.pack(lines)


def unpack(data: bytes) -> bytes:
    """Unpack a record to its lines. Raises RecordError for a damaged or empty one, and for one above LONGEST."""
    try:
        size = zstandard.frame_content_size(data)
        if size > LONGEST:
            raise RecordError("it is too long")
        if size == 0:  # then the library does not look at the rest
            raise RecordError("it is empty")
        return _contexts.unpack(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise RecordError(str(error)) from None
