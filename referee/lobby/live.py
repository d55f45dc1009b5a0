"""The matches under way as files, a line a ply, not synced: after kill -9 they are what matches are taken up from.

A file is there from the first event of a match until the store has the match. Reading them is done before the lobby
opens.
"""

from pathlib import Path

from protocol.records import Record, RecordError, read_records
from protocol.safe_files import open_to_append
from referee.play.recorder import lines_of

_SUFFIX = ".live"


class Live:
    """Owns a folder, which it makes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def begin(self, key: str, again: bool = False) -> tuple[int, bytes]:
        """A descriptor for the lines of one match, whose owner closes it; the file stays until `done`.

        `again`: the match is taken up, and what its file holds comes with it.
        """
        path = self._path(key)
        kept = path.read_bytes() if again and path.exists() else b""
        return open_to_append(path, empty=not kept), kept

    def done(self, key: str) -> None:
        """The match is in the store, or will never be."""
        self._path(key).unlink(missing_ok=True)

    def left(self) -> list[tuple[Record, bytes]]:
        """What a server that ended left behind, by key, with the lines; what cannot be read is thrown away."""
        found = []
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            try:
                data = path.read_bytes()
                with path.open("rb") as file:
                    records = list(read_records(lines_of(file), lambda torn: None))
            except (OSError, RecordError):
                records = []
            if len(records) == 1 and path == self._path(records[0].start.match):
                found.append((records[0], data))
            else:
                path.unlink(missing_ok=True)
        return found

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"
