"""Counts the games of an SQLite store in a file beside it, to notice games that the database has lost.

SQLite ends its write-ahead log, without an error, where a damaged frame begins: what was committed after it is gone.
The number in this file is written after each commit, without waiting for the disk. So it may be too low after a power
failure, and is never too high.
"""

import contextlib
import os
from pathlib import Path

from ggp.protocol.input_files import read_input
from ggp.protocol.safe_files import open_to_append

_DIGITS = 20


class GameCount:
    """The number of games, in the file `NAME.db.count`. A file that cannot be written or read counts nothing."""

    def __init__(self, store: Path) -> None:
        self.path = Path(f"{store}.count")

    def read(self) -> int:
        """Return the number, 0 if there is none."""
        try:
            return int(read_input(self.path, _DIGITS + 1))
        except (OSError, ValueError):
            return 0

    def write(self, games: int) -> None:
        """Set the number. It has a fixed length, so that no reader sees half of two numbers."""
        with contextlib.suppress(OSError):
            file = open_to_append(self.path)
            try:
                os.ftruncate(file, 0)
                os.write(file, b"%0*d\n" % (_DIGITS, games))
            finally:
                os.close(file)

    def forget(self) -> None:
        """Remove the file: the store is a new one."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
