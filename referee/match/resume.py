"""Resuming of interrupted matches: the files that keep running matches, how they are read, and how matches continue.

Each worker of `ggp match` or of a ladder writes a SideFile beside the record or the store; a lobby keeps one file per
match in MatchFiles. After a crash the next run reads these files, keeps the finished matches, and continues the others
from their last ply (`describe_match`).
"""

import contextlib
import io
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ggp.protocol.input_files import open_input, read_input
from ggp.protocol.records import MatchEnded, Record, RecordError, read_records
from ggp.protocol.safe_files import move_descriptor, open_folder, open_new, open_to_append, replace_file
from ggp.referee.match.match import Match
from ggp.referee.match.outcome import forfeit, not_reconnected
from ggp.referee.match.series import SeriesConfig
from ggp.referee.records import can_be_path, lines_of, live_path, numbered, side_files

_LARGEST = 256 << 20  # bytes of a file of running matches that are read


def describe_match(
    setup: SeriesConfig,
    number: int,
    key: str,
    opening: tuple[str, ...],
    before: Record | None = None,
    *,
    book: str = "",
    keep_stderr: bool = True,
) -> Match:
    """Return match `number` of a series, to be played from its start or from where it was interrupted.

    Args:
        setup: The series.
        number: The number of the match, from 0.
        key: The key of this attempt.
        opening: Plies that the bots do not choose.
        before: The plies to continue from: of this match, or after a takeback of the attempt before it.
        book: The place of the opening in a book.
        keep_stderr: Keep the bots' stderr in the record.
    """
    other = before is not None and before.start.match != key
    return Match(
        key=key,
        setting=setup.setting,
        margin=setup.margin,
        max_plies=setup.max_plies,
        seed=setup.seed,
        opening=opening,
        referee=setup.referee,
        bot_seeds=setup.bot_seeds(key),
        past=tuple(msgspec.structs.replace(ply, match=key) for ply in before.plies) if before else (),
        started=before.start.started if before and not other else "",
        keep_stderr=keep_stderr,
        book=book,
        rules=setup.rules,
        controls=setup.controls(number),
        continues=f"{before.start.match}@{len(before.plies)}" if before and other else "",
    )


def lost_by_absence(record: Record, seat: int) -> Record:
    """End an interrupted match of at least one ply: the bot in this seat did not come back, and loses."""
    last = record.plies[-1]
    black = last.seat if (last.colour == "black") != (last.move == "swap-sides") else 3 - last.seat
    outcome = forfeit(not_reconnected(), seat, black)
    end = MatchEnded(
        seq=len(record.plies) + 1,
        match=record.start.match,
        result=outcome.result,
        winner=outcome.winner,
        termination=outcome.termination,
        culprit=outcome.culprit,
        detail=outcome.detail,
        plies=len(record.plies),
        ended=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
    return Record(record.start, record.plies, end)


# -- the files of workers, beside a record or a store ------------------------------------------------------------------


class SideFile:
    """The match that one worker is playing, line by line. The worker locks the file while it writes.

    Each match gets a new file under the same name. So a reader of the old file can read that match to its end, and a
    file that was removed is back with the next match. Checking for this at each ply would cost a tenth of a ply's time.
    """

    def __init__(self, record: str, number: int) -> None:
        self._path = Path(live_path(record, number))
        self._folder: tuple[int, str] | None = None  # stays open between matches, because opening it takes long
        self._file: int | None = None

    def begin(self) -> int | None:
        """Return a descriptor for the next match, valid until `end` or the next call; None if no file can be made."""
        self.end()
        try:
            if self._folder is None:
                self._folder = open_folder(self._path)
            self._file = open_new(*self._folder)
        except OSError:  # a match can be played and recorded without a side file
            self.close()
        return self._file

    def end(self) -> None:
        """End the match."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def close(self) -> None:
        """End the match and close the folder."""
        self.end()
        if self._folder is not None:
            os.close(self._folder[0])
            self._folder = None


def done_path(record: str, number: int) -> str:
    """Return the file in which worker `number` (from 1) keeps finished matches until it has returned them."""
    return f"{record}.done-{number}"


def _left_path(record: str) -> str:
    """Return the file that keeps interrupted matches while the next run resumes them."""
    return f"{record}.left"


def interrupted(record: str) -> dict[str, Record]:
    """Return by key the matches that killed workers had begun, or had finished but not returned.

    If several files hold a match, the longest version is returned.
    """
    found: dict[str, Record] = {}
    done = (path for _, path in sorted(numbered(record, done_path)))
    for path in [*side_files(record), *done, *([Path(_left_path(record))] if can_be_path(record) else [])]:
        try:
            with open_input(path) as file:
                lines = [line for line in file.read(_LARGEST).splitlines(keepends=True) if line.endswith(b"\n")]
            for one in read_records(lines):
                known = found.setdefault(one.start.match, one)
                if (one.end is not None, len(one.plies)) > (known.end is not None, len(known.plies)):
                    found[one.start.match] = one
        except (OSError, RecordError):  # the worker was killed when it began a match
            continue
    return found


def take_interrupted(record: str) -> dict[str, Record]:
    """Return the interrupted matches to a new run, and free the names of the side files for its workers.

    A separate file keeps the matches until remove_side_files: if this run is killed early, the next run still finds
    them. Otherwise a bot could make a match start over by killing two runs.
    """
    found = interrupted(record)
    if found:
        with contextlib.suppress(OSError):  # without space for the file the matches are resumed nevertheless
            replace_file(Path(_left_path(record)), b"".join(one.lines() for one in found.values()), 0o600)
    _remove_numbered(record)
    return found


def remove_side_files(record: str) -> None:
    """Remove all files of running and interrupted matches, even those that a killed worker had not yet renamed."""
    _remove_numbered(record)
    if can_be_path(record):
        with contextlib.suppress(OSError):
            Path(_left_path(record)).unlink()


def _remove_numbered(record: str) -> None:
    for path_of in (live_path, done_path):
        for _, path in numbered(record, path_of):
            with contextlib.suppress(OSError):
                path.unlink()


# -- the files of a lobby: one a match, one line a ply, not synced -----------------------------------------------------


_SUFFIX, _SPARE = ".live", ".spare"


class MatchFiles:
    """The files of running matches in a folder, which is created if necessary.

    The file of an ended match is reused, because after many deletions ext4 takes a millisecond to create a file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spare: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)

    def open(self, key: str, again: bool = False) -> tuple[int, bytes]:
        """Open the file of one match. It stays until `remove`.

        Args:
            key: The key of the match.
            again: The match is resumed.

        Returns:
            A descriptor, which the caller closes, and the content of the file of a resumed match.
        """
        path = self._path(key)
        kept = read_input(path, _LARGEST) if again and path.exists() else b""
        if kept or not self._spare:
            return open_to_append(path, empty=not kept), kept
        spare = self._spare.pop()
        descriptor = open_to_append(spare, empty=True)
        try:
            spare.rename(path)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, b""

    def renew(self, key: str, descriptor: int, size: int) -> bool:
        """Check that the file of a match was not removed or replaced, and has at least `size` bytes.

        Returns:
            False if it is intact. True if not; the descriptor then refers to a new, empty file.

        Raises:
            OSError: A new file cannot be created.
        """
        path = self._path(key)
        with contextlib.suppress(FileNotFoundError):
            found = path.lstat()
            if os.path.samestat(found, os.fstat(descriptor)) and found.st_size >= size:
                return False
            path.unlink()
        self._folder.mkdir(parents=True, exist_ok=True)
        move_descriptor(open_to_append(path, empty=True), descriptor)
        return True

    def remove(self, key: str) -> None:
        """Release the file of a match that is stored or void."""
        spare = self._folder / f"{key}{_SPARE}"
        with contextlib.suppress(FileNotFoundError):
            self._path(key).rename(spare)
            self._spare.append(spare)

    def close(self) -> None:
        """Delete the files that no match uses."""
        for path in self._folder.glob(f"*{_SPARE}"):
            path.unlink(missing_ok=True)
        self._spare.clear()

    def recover(self) -> list[tuple[Record, bytes]]:
        """Return the matches of the previous run with their lines, sorted by key. Other files are deleted."""
        self.close()
        found = []
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            try:
                data = read_input(path, _LARGEST)
                with io.BytesIO(data) as file:
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
