"""Writes what a store can no longer take to a file beside it, so that nothing is lost with the process."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from ggp.protocol.safe_files import create_file
from ggp.referee.ladder.store.model import FinishedGame
from ggp.referee.records import unpack

_MOST = 1000  # rescue files of one store


def write_records(beside: Path, finished: Sequence[FinishedGame]) -> Path:
    """Write the records of these games as JSON lines to a new file, and return its path. Raises OSError."""
    data = b"".join(unpack(game.result.record) for game in finished)
    return _new_file(beside, ".rescued.jsonl", lambda path: create_file(path, data))


def copy_database(source: sqlite3.Connection, beside: Path) -> Path:
    """Copy an open database, whose file may be gone from its folder, to a new file, and return its path.

    Raises:
        OSError, sqlite3.Error: It cannot be copied; then no file is left.
    """

    def copy(path: Path) -> None:
        create_file(path, b"")
        try:
            with contextlib.closing(sqlite3.connect(path)) as target:
                source.backup(target)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    return _new_file(beside, ".rescued.db", copy)


def remove_side_files(path: Path) -> None:
    """Remove the log and the shared memory of a database of ours whose file is gone.

    SQLite would take them for those of the next database of this name. Only files that this process has open go.
    """
    ours = set()
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            found = os.fstat(int(descriptor))
            ours.add((found.st_dev, found.st_ino))
    for suffix in ("-wal", "-shm"):
        side = Path(f"{path}{suffix}")
        with contextlib.suppress(OSError):
            found = side.stat()
            if (found.st_dev, found.st_ino) in ours:
                side.unlink()


def _new_file(beside: Path, ending: str, write: Callable[[Path], object]) -> Path:
    for number in range(1, _MOST):
        path = beside.with_name(f"{beside.stem}{f'-{number}' if number > 1 else ''}{ending}")
        try:
            write(path)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{beside} has {_MOST} rescue files: remove some")
