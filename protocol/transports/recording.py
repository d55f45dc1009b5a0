r"""Writes a program's input and output to a file that `ggp tap --show` reads. A write error never stops the program.

    # ggp tap 1 2026-01-31T12:00:00.123456+00:00 12345.678901 ["./bot", "--fast"]
    12345.700123 > b'1 name\n'
    12345.700456 < b'=1 bot\n\n'
    12345.700789 ! b'what went to stderr\n'
    # 12345.800000 end of input
    # 12346.000000 exit status 0

Seconds come from the monotonic clock, with microseconds. The head line gives the wall-clock time at the start, and the
same moment in seconds.
"""

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ggp.protocol.errors import Problem
from ggp.protocol.safe_files import open_to_append
from ggp.protocol.transports.transcript import format_line

HEAD = "# ggp tap 1 "
_TRIES = 1000


class NotARecord(Problem):
    """A refusal to append to an existing file that `ggp tap` did not write; str() says what to do."""

    code = "not-a-recording"


class Recording:
    """A session that is appended to `path`, which may hold earlier ones.

    If another tap is writing the file, this one takes the next free number, such as `x.2.log` for `x.log`. If the file
    is removed, replaced or truncated meanwhile, it is begun anew, with its folder, and notes this. The first other
    error is reported to `warn`; nothing more is written after it.
    """

    def __init__(self, path: Path, command: Sequence[str], warn: Callable[[str], None], most: int = 0) -> None:
        """Begin a session.

        Args:
            path: The file.
            command: The recorded program and its arguments.
            warn: Called with the message of the first error.
            most: From this size in bytes on, rename the file to `PATH.1`, replacing an earlier one; 0 for no limit.

        Raises:
            NotARecord: The file exists and is not a recording.
        """
        self.path = path
        self._command, self._warn, self._most = list(command), warn, most
        self._file, self._size = -1, 0
        try:
            self._open(path)
        except OSError as error:
            self._give_up(error)
        self._begin()

    def chunk(self, mark: str, seconds: float, data: bytes) -> None:
        """Record bytes: `>` to the program, `<` from it, `!` its stderr.

        Args:
            mark: The direction.
            seconds: Time of the monotonic clock.
            data: The bytes; b"" is the end of the stream.
        """
        if self._file < 0:
            return
        if self._most and self._size >= self._most:
            self._rotate()
        self._stay_there()
        self._write(format_line(mark, seconds, data))

    def note(self, text: str) -> None:
        """Record a comment with the current time."""
        self._stay_there()
        self._write(_note(text))

    def close(self) -> None:
        """Close the file (idempotent)."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self, path: Path) -> None:
        self.path, self._file = _open(path)
        found = os.fstat(self._file)
        self._size, self._inode = found.st_size, (found.st_dev, found.st_ino)

    def _stay_there(self) -> None:
        """Begin the file anew if it was removed, replaced or truncated."""
        if self._file < 0:
            return
        try:
            found = self.path.stat()
        except OSError:
            how = "removed"
        else:
            how = "" if (found.st_dev, found.st_ino) == self._inode else "replaced"
            if not how and found.st_size >= self._size:
                return
        try:
            if how:
                self.close()
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._open(self.path)
            else:
                how, self._size = "truncated", os.pread(self._file, found.st_size, 0).rfind(b"\n") + 1
                os.ftruncate(self._file, self._size)  # no reader takes half a line
        except (OSError, NotARecord) as error:
            self._give_up(error)
            return
        self._begin()
        self._write(_note(f"the file was {how}: earlier lines are lost"))

    def _begin(self) -> None:
        wall = datetime.now(UTC).isoformat(timespec="microseconds")
        self._write(f"{HEAD}{wall} {time.monotonic():.6f} {json.dumps(self._command)}")

    def _rotate(self) -> None:
        try:
            self.path.replace(f"{self.path}.1")
            self.close()
            self._open(self.path)
        except OSError as error:
            self._give_up(error)
        self._begin()

    def _write(self, line: str) -> None:
        if self._file < 0:
            return
        data = f"{line}\n".encode()
        self._size += len(data)
        try:
            while data:  # a disk that fills up may take only a part
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError | NotARecord) -> None:
        self.close()
        why = f"{self.path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        self._warn(f"{why}: the dialogue continues but is not recorded")


def _note(text: str) -> str:
    return f"# {time.monotonic():.6f} {text}"


def _open(path: Path) -> tuple[Path, int]:
    for number in range(1, _TRIES):
        tried = path if number == 1 else path.with_name(f"{path.stem}.{number}{path.suffix}")
        file = open_to_append(tried, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise NotARecord(f"{tried} is not a regular file: name another file")
            head = os.pread(file, len(HEAD), 0).decode("utf-8", "replace")
            if head and head != HEAD:
                raise NotARecord(f"{tried} exists and is not a recording of `ggp tap`: name another file")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
        except (OSError, NotARecord):
            os.close(file)
            raise
        else:
            return tried, file
    raise FileExistsError(0, "too many taps are writing it", str(path))
