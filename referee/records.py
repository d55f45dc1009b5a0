"""Record files, the side files of running matches, and packed records for a store."""

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
    """Yield every finished match of a file, read one line at a time. The file `-` is standard input.

    Args:
        file: The file.
        skipped: Called with a description of each incomplete match.
        unfinished: Yield incomplete matches, too.
        damaged: Called with the reason for each damaged record; reading continues with the next match. Without it a
            damaged record raises ClickException.

    Raises:
        ClickException: The file cannot be read, or a record is damaged.
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
                            [f"{replace_unprintable(record.start.match)}: {len(record.plies)} plies, but no end", *half]
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
    return f"{file} is not a complete record: {replace_unprintable(reason)}"


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    return open_input(file)


# -- Running matches, read from the side files that workers write.


MAX_LIVE = 64 * 1024 * 1024  # bytes; larger side files are not read
_SQLITE = "sqlite:///"


class LiveHead(NamedTuple):
    """A running match: what its start says, and the number of plies so far."""

    match: str
    game: str
    options: dict[str, str]
    bots: tuple[str, str]  # by seat
    control: str
    started: str  # UTC, ISO 8601
    ply: int


def running(base: str) -> list[LiveHead]:
    """Return the matches that are being played now, oldest first; [] if there are none. It never raises.

    `base` is the path of a record (`ggp match --record`), or live_base of a ladder's store. Each call reads the side
    files, a few kilobytes per worker, so poll once per second rather than once per ply. Matches on the workers of a
    cluster are not included.
    """
    return sorted(map(head, playing(base)), key=lambda head: head.started)


def playing(base: str) -> list[Record]:
    """Return the records of the matches that are being played now, as far as they go."""
    return LiveMatches(base).playing()


def head(record: Record) -> LiveHead:
    """Return the head of a match for lists."""
    start = record.start
    first, second = (bot.name for bot in start.bots)
    plies = len(record.plies)
    return LiveHead(start.match, start.game, dict(start.options), (first, second), start.time, start.started, plies)


class LiveMatch:
    """The open side file of one match. Thread-safe.

    A worker begins a new file for its next match, so this one stays readable to its last event, even after its name was
    deleted or given to another match.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._lock = file, threading.Lock()
        self._at = 0  # bytes read so far
        self._reader = RecordReader()
        self._record: Record | None = None

    def read(self) -> Record | None:
        """Return the match so far, without a half-written line; None if its start cannot be read.

        Only new data is read. If there is none, the same object is returned.
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
                break  # what follows is not part of this match
        if self._reader.events:
            self._record = self._reader.record

    def idle(self) -> int:
        """Return the milliseconds since its last event."""
        try:
            return max(0, int(1000 * (time.time() - os.fstat(self._file.fileno()).st_mtime)))
        except OSError:
            return 0

    def playing(self) -> bool:
        """Return True while a worker is playing the match."""
        with self._lock:  # threads share the open file and therefore its lock
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
        """Return True if this path is the name of the open file.

        Raises:
            OSError: The path cannot be read.
        """
        return os.path.samestat(path.stat(), os.fstat(self._file.fileno()))


class LiveMatches:
    """The side files beside a record, or beside the live_base of a store. Thread-safe.

    Each file is opened and read only once, however often it is requested.
    """

    def __init__(self, base: str) -> None:
        self._base, self._lock = base, threading.Lock()
        self._files: dict[Path, LiveMatch] = {}
        self._by_key: dict[str, tuple[Path, LiveMatch]] = {}  # as of the last search

    def playing(self) -> list[Record]:
        """Return the matches that are being played now, as far as they go, in the order of their workers."""
        return [record for live in self._all() if live.playing() and (record := live.read())]

    def find(self, key: str) -> LiveMatch | None:
        """Find a match by its key; "" means any running match.

        A match that has ended or was dropped is found until its worker begins the next match.
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
    """Find a match by its side file; see LiveMatches.find."""
    return LiveMatches(base).find(key)


def live_base(url: str) -> str:
    """Return the path prefix of the side files that the workers of a ladder write.

    For SQLite it is the database file, for other databases a file in live_folder, which is created.

    Args:
        url: The SQLAlchemy URL of the ladder's store.

    Returns:
        The prefix; "" if other users can write to the folder, because finished matches are read from there, too.
    """
    if url.startswith(_SQLITE):
        return url.removeprefix(_SQLITE)
    folder = live_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(0o700)
    return str(folder / hashlib.sha256(url.encode()).hexdigest()[:16]) if is_private_folder(folder) else ""


def live_folder() -> Path:
    """Return this user's folder for the side files of stores that are not files."""
    return Path(tempfile.gettempdir()) / f"ggp-live-{os.geteuid()}"


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a record. A line longer than allowed is cut."""
    return iter(lambda: file.readline(MAX_RECORD_LINE + 2), b"")


def live_path(record: str, number: int) -> str:
    """Return the side file beside a record for the matches of worker `number` (from 1)."""
    return f"{record}.live-{number}"


def side_files(record: str) -> list[Path]:
    """Return the existing side files, by number. A worker that has not begun a match has none."""
    return [path for _, path in sorted(numbered(record, live_path)) if not path.name.endswith(NEW)]


def can_be_path(record: str) -> bool:
    """Return False for a record that is not a file: "", or a text with a NUL."""
    return bool(record) and "\0" not in record


def numbered(record: str, path_of: Callable[[str, int], str]) -> Iterator[tuple[int, Path]]:
    """Yield the files beside a record that `path_of` names, with their numbers, in no particular order.

    Files that a worker was about to rename into place are included.
    """
    if not can_be_path(record):
        return
    stem = Path(path_of(record, 0)).name.removesuffix("0")
    with contextlib.suppress(OSError):
        for path in list(Path(record).parent.iterdir()):
            number = path.name.removeprefix(stem).removesuffix(NEW)
            if path.name.startswith(stem) and number.isdecimal():
                yield int(number), path


# -- Packed records for a store: JSON lines, compressed with Zstandard.


LONGEST = 1 << 28  # bytes of a record
_LEVEL = 1  # higher levels save only 1 % and take longer


class _Contexts(threading.local):
    """The Zstandard contexts of a thread. Creating one takes longer than packing a record."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress
        self.unpack = zstandard.ZstdDecompressor().decompress


_contexts = _Contexts()


def pack(lines: bytes) -> bytes:
    """Compress the lines of a record."""
    return _contexts.pack(lines)


def unpack(data: bytes) -> bytes:
    """Decompress a record to its lines.

    Raises:
        RecordError: It is damaged, empty, or longer than LONGEST.
    """
    try:
        size = zstandard.frame_content_size(data)
        if size > LONGEST:
            raise RecordError("it is too long")
        if size == 0:  # in this case the library ignores the rest
            raise RecordError("it is empty")
        return _contexts.unpack(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise RecordError(str(error)) from None
