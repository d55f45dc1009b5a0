"""The record file: open for one series at a time, what a crash left behind cut off, new matches made durable together.

The events and their chain are protocol.records'. The workers append, a whole match in one write (see worker);
what a worker left of a write when it was killed may stand in the middle of the file, before what another wrote next.
"""

import contextlib
import errno
import fcntl
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from protocol.records import MAX_RECORD_LINE, Record, RecordError, read_records
from protocol.safe_files import NEW, open_new, open_to_append

_MAX_SIDE_FILE = 256 * 1024 * 1024  # bytes that are read
_END = b'"event":"end"'  # inside a JSON string its quotes would be escaped


class RecorderError(Exception):
    """The file cannot be used; str() is one line that names the remedy."""


class Recorder:
    """Owns one file; `Recorder(None)` owns none. Raises RecorderError.

    `keep` is given every match that the file holds already, so that a series goes on where it was stopped.
    """

    def __init__(self, path: Path | None, keep: Callable[[Record], None] = lambda record: None) -> None:
        self.left: dict[str, Record] = {}  # matches that were interrupted, by key: see interrupted
        self.broken = False  # set where workers were killed: what they left is for the next run
        self.dropped = 0  # bytes of an unfinished match that were cut off
        self.torn: list[str] = []  # what else is in the file of matches that were not finished
        self._path = path
        self._file = -1
        self._live: SideFile | None = None
        self._synced = 0
        if path is not None:
            self._file = _open(path)
            self._go_on(path, keep)
            self.left = interrupted(str(path))
            remove_side_files(str(path))

    def commit(self) -> None:
        """Return when all that was appended so far is on the disk."""
        if self._file >= 0 and (size := os.fstat(self._file).st_size) > self._synced:
            os.fdatasync(self._file)
            self._synced = size

    def append(self, record: bytes) -> None:
        """Write a whole match, where no worker does. Raises OSError."""
        if self._file >= 0 and os.write(self._file, record) < len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def side_file(self) -> "SideFile | None":
        """The side file for the matches that no worker plays, open until this is closed; None without a record."""
        if self._path is not None and self._live is None:
            self._live = SideFile(str(self._path), 1)
        return self._live

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """A clean end: nothing is under way any more, so the side files have served. An empty record is no file."""
        if self._file >= 0 and self._path is not None:
            if not self.broken:
                remove_side_files(str(self._path))
            if self._live is not None:
                self._live.close()
            if os.fstat(self._file).st_size == 0:
                self._path.unlink()
            os.close(self._file)
            self._file = -1

    def _go_on(self, path: Path, keep: Callable[[Record], None]) -> None:
        try:
            whole, lines, size = _measure(path)
            with path.open("rb") as file:
                for record in read_records(itertools.islice(lines_of(file), lines), self.torn.append):
                    if record.end is not None:
                        keep(record)
        except RecordError as error:
            raise RecorderError(f"{path} is not a record to go on with ({error}): name another file") from None
        self.dropped = size - whole
        if self.dropped:
            os.ftruncate(self._file, whole)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a record, each cut where it is longer than a line of a record may be."""
    return iter(lambda: file.readline(MAX_RECORD_LINE + 2), b"")


def live_path(record: str, number: int) -> str:
    """The side file next to a record that worker `number` (from 1) writes its live plies to."""
    return f"{record}.live-{number}"


def done_path(record: str, number: int) -> str:
    """The file next to a record, or to what stands for it, that worker `number` (from 1) keeps the matches in which it
    has finished and not handed over."""
    return f"{record}.done-{number}"


def side_files(record: str) -> list[Path]:
    """Those that are there, by number; a worker that has begun no match has none."""
    return [path for _, path in sorted(_side_files(record, live_path)) if not path.name.endswith(NEW)]


def interrupted(record: str) -> dict[str, Record]:
    """The matches that workers which were killed had begun, or finished and not handed over, by key."""
    found: dict[str, Record] = {}
    for path in [*side_files(record), *(path for _, path in sorted(_side_files(record, done_path)))]:
        try:
            with path.open("rb") as file:
                lines = [line for line in file.read(_MAX_SIDE_FILE).splitlines(keepends=True) if line.endswith(b"\n")]
            for one in read_records(lines):
                if one.end is not None or one.start.match not in found:
                    found[one.start.match] = one
        except (OSError, RecordError):  # half of a match that was just being begun
            continue
    return found


def remove_side_files(record: str) -> None:
    """Also those that a worker was about to make when it was killed."""
    for path_of in (live_path, done_path):
        for _, path in _side_files(record, path_of):
            with contextlib.suppress(OSError):
                path.unlink()


def _side_files(record: str, path_of: Callable[[str, int], str]) -> Iterator[tuple[int, Path]]:
    if not record or "\0" in record:
        return
    stem = Path(path_of(record, 0)).name.removesuffix("0")
    with contextlib.suppress(OSError):
        for path in list(Path(record).parent.iterdir()):
            number = path.name.removeprefix(stem).removesuffix(NEW)
            if path.name.startswith(stem) and number.isdecimal():
                yield int(number), path


class SideFile:
    """The plies of the match that one worker plays, line by line. The worker holds a lock on it while it writes.

    Each match gets a new file, which takes over the name. So a reader that has the file of a match open reads it to
    the end of the match, also after the next match has begun.
    """

    def __init__(self, record: str, number: int) -> None:
        self._path = Path(live_path(record, number))
        self._file: int | None = None

    def begin(self) -> int | None:
        """A descriptor for the next match, valid until the next call; None if there can be no file."""
        self.close()
        with contextlib.suppress(OSError):  # a match is played and recorded without it, too
            self._file = open_new(self._path)
        return self._file

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _open(path: Path) -> int:
    try:
        file = open_to_append(path)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise RecorderError(f"{path} is no regular file: a record is appended to and read again; name another file")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RecorderError(f"{path} is being written by another process: wait for it or name another file") from None
    except OSError as error:
        raise RecorderError(f"cannot write the record {path}: {error.strerror}; name another file") from None
    return file


def _measure(path: Path) -> tuple[int, int, int]:
    """(bytes up to the end of the last finished match, whole lines, bytes in all). Raises RecordError.

    A line without LF at the end is what a crash left of a write: it is to be cut off. But a file that
    holds nothing else was perhaps never a record, and is not ours to cut.
    """
    whole = size = lines = 0
    begun = False
    with path.open("rb") as file:
        for line in lines_of(file):
            size += len(line)
            if line.endswith(b"\n"):
                lines += 1
                begun = begun or line != b"\n"
                whole = size if _END in line else whole
            elif not begun and not line.startswith(b'{"bots":'):
                raise RecordError("line 1: not a line of a record")
    return whole, lines, size
