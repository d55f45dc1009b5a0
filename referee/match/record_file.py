"""Writers of records: RecordWriter makes the lines of one match, RecordFile keeps the matches of a series.

Workers append a whole match to the file in one write (see worker), and RecordFile syncs the matches of all workers
together. A killed worker may leave part of a line in the middle of the file, before the next match.
"""

import errno
import fcntl
import itertools
import os
import stat
from collections.abc import Callable
from pathlib import Path

from ggp.protocol.errors import Problem
from ggp.protocol.input_files import open_input
from ggp.protocol.records import Chain, Event, Record, RecordError, read_records
from ggp.protocol.safe_files import create_file, open_to_append
from ggp.referee.match.resume import SideFile, remove_side_files, take_interrupted
from ggp.referee.records import lines_of

_END = b'"event":"end"'  # inside a JSON string its quotes would be escaped


class RecordFileError(Problem):
    """An unusable record file; str() is one line that names the remedy."""

    code = "bad-record-file"


class RecordGone(OSError):
    """A record that was removed, replaced or truncated while it was written; str() says where its matches are now."""


class RecordFile:
    """The record file of a series, locked while it is open. `RecordFile(None)` keeps nothing.

    Args:
        path: The file, or None.
        keep: Called with every match that the file already holds, so that a series can be resumed.

    Raises:
        RecordFileError: The file cannot be used.
    """

    def __init__(self, path: Path | None, keep: Callable[[Record], None] = lambda record: None) -> None:
        self.left: dict[str, Record] = {}  # interrupted matches, by key: see resume.interrupted
        self.broken = False  # workers were killed, and their side files are kept for the next run
        self.dropped = 0  # bytes of an unfinished match that were cut off at the end of the file
        self.torn: list[str] = []  # descriptions of other incomplete matches in the file
        self._path = path
        self._file = -1
        self._live: SideFile | None = None
        self._synced = 0
        self._gone = False  # the file is no longer in its place
        if path is not None:
            self._file = _open(path)
            try:
                self._resume(path, keep)
            except BaseException:
                os.close(self._file)
                self._file = -1
                raise
            self.left = take_interrupted(str(path))

    def commit(self) -> None:
        """Sync everything appended so far to the disk.

        Raises:
            RecordGone: The file is no longer the one that was opened. Raised once.
            OSError: The file cannot be written.
        """
        if self._file >= 0 and not self._gone:
            self._check_file()
        if self._file >= 0 and (size := os.fstat(self._file).st_size) > self._synced:
            os.fdatasync(self._file)
            self._synced = size

    def _check_file(self) -> None:
        """Check that the file is still in its place. If not, save a copy of the open file.

        Raises:
            RecordGone: It is not.
        """
        assert self._path is not None, "a file has a path"
        ours = os.fstat(self._file)
        try:
            found = self._path.stat()
        except FileNotFoundError:
            how = "was removed"
        else:
            same = (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
            how = "was replaced by another file" if not same else "was truncated"
            if same and ours.st_size >= self._synced:
                return
        self._gone = True
        where = self._path.with_name(f"{self._path.name}.rescued")
        try:
            with open(f"/proc/self/fd/{self._file}", "rb") as whole:  # noqa: PTH123 - it may have no other name
                create_file(where, whole.read())
            said = (
                f"its remaining content is in {where}" if how == "was truncated" else f"all its matches are in {where}"
            )
        except OSError as error:
            said = f"its matches cannot be written to {where} ({error.strerror})"
        raise RecordGone(f"{self._path} {how} while it was written; {said}")

    def append(self, record: bytes) -> None:
        """Append the record of a match that was not played by a worker.

        Raises:
            OSError: The file cannot be written.
        """
        if self._file >= 0 and os.write(self._file, record) < len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def side_file(self) -> "SideFile | None":
        """Return the side file for matches that no worker plays, open until `close`; None without a record."""
        if self._path is not None and self._live is None:
            self._live = SideFile(str(self._path), 1)
        return self._live

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close normally: delete the side files, and the record itself if it is empty."""
        if self._file >= 0 and self._path is not None:
            if not self.broken:
                remove_side_files(str(self._path))
            if self._live is not None:
                self._live.close()
            if os.fstat(self._file).st_size == 0 and not self._gone:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def _resume(self, path: Path, keep: Callable[[Record], None]) -> None:
        try:
            whole, lines, size = _measure(path)
            with open_input(path) as file:
                for record in read_records(itertools.islice(lines_of(file), lines), self.torn.append):
                    if record.end is not None:
                        keep(record)
        except RecordError as error:
            raise RecordFileError(
                f"{path} is not a record that can be continued ({error}): name another file"
            ) from None
        self.dropped = size - whole
        if self.dropped:
            os.ftruncate(self._file, whole)


def _open(path: Path) -> int:
    try:
        file = open_to_append(path)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise RecordFileError(
                f"{path} is not a regular file, but a record is appended to and read again: name another file",
                code="not-regular",
            )
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RecordFileError(f"{path} is being written by another process: wait for it or name another file") from None
    except OSError as error:
        raise RecordFileError(f"cannot write the record {path}: {error.strerror}: name another file") from None
    return file


def _measure(path: Path) -> tuple[int, int, int]:
    """Return the length up to the last finished match, the number of complete lines, and the length of the file.

    A last line without LF is left by a crash during a write; the caller truncates it.

    Raises:
        RecordError: The file holds only such a line, which does not begin like a record.
    """
    whole = size = lines = 0
    begun = False
    with open_input(path) as file:
        for line in lines_of(file):
            size += len(line)
            if line.endswith(b"\n"):
                lines += 1
                begun = begun or line != b"\n"
                whole = size if _END in line else whole
            elif not begun and not line.startswith(b'{"bots":'):
                raise RecordError("line 1: not a record line")
    return whole, lines, size


# -- the record of one match while it is played ----------------------------------------------------------------------


class RecordWriter:
    """A writer that makes the lines of a match from its events, and appends them to a file of running matches.

    Args:
        live: A descriptor of that file, or None.
        kept: The content of the file if the match is resumed. It is not written again, so that the file only grows and
            a second crash loses nothing.
        renew: Called before each write with the expected size of the file. Returns True if the file was lost and all
            lines must be written again.
    """

    def __init__(self, live: int | None, kept: bytes = b"", renew: Callable[[int], bool] = lambda size: False) -> None:
        self.lines: list[bytes] = []
        self._chain = Chain()
        self._live, self._renew = live, renew
        self._size = len(kept)  # expected size of the file
        self._kept, self._same = kept, 0  # kept content, and how many of its bytes were replayed so far

    def emit(self, event: Event) -> None:
        """Add the line of an event, and write it to the file without syncing."""
        line = self._chain.line(event)
        self.lines.append(line)
        if self._kept and self._comes_again(line):
            return
        if self._live is not None:
            try:
                if self._renew(self._size):
                    line, self._size = b"".join(self.lines), 0
                self._size += len(line)
                whole = os.write(self._live, line) == len(line)
            except OSError:
                whole = False
            if not whole:  # spectators see nothing more of this match, but its record stays complete
                self._live = None

    def _comes_again(self, line: bytes) -> bool:
        """Return True if the file already holds this line; otherwise truncate the file here."""
        if self._kept.startswith(line, self._same):
            self._same += len(line)
            return True
        self._kept = b""
        if self._live is not None:
            os.ftruncate(self._live, self._same)
            self._size = self._same
        return False
