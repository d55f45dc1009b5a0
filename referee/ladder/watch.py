"""Notices that a ladder's file, or a program of one of its bots, has changed: by looking at files, hardly into them."""

import contextlib
from pathlib import Path

from referee.ladder.entries import Ladder
from referee.play.launch import LaunchError
from referee.play.seating import Start
from referee.play.versions import Snapshot

_State = tuple[int, int, int]  # of a file: when it was modified (ns), size, inode
_ABSENT: _State = (0, 0, 0)


class Watched:
    """A ladder's file, and the programs, scripts and modules of the bots of the ladder that was read from it.

    Watch first and then read, so that no change is missed: `watched = Watched(path)`, `read_ladder(path)`, `follow`.
    """

    def __init__(self, path: Path, ladder: Ladder | None = None) -> None:
        self._path = str(path)
        self._states = {self._path: _state(self._path)}
        if ladder is not None:
            self.follow(ladder)

    def follow(self, ladder: Ladder) -> None:
        """Watch the programs of this ladder from now on, which was just read. A few ms for a thousand bots."""
        look, files = Snapshot(), dict[str, None]()
        for bot in ladder.bots:
            with contextlib.suppress(LaunchError):  # it vanished: its version differs
                files |= dict.fromkeys(look.files_of(bot.start))
        self._states = {self._path: self._states[self._path]} | {file: _state(file) for file in files}
        look = Snapshot()  # what changes from here on has another state
        if any(_version(look, bot.start) != bot.version for bot in ladder.bots):
            self._states[self._path] = _ABSENT  # it changed between the reading and now

    def changed(self) -> bool:
        """Whether a file is not as it was when this was asked last, or since `follow`. True once for a change.

        So a file that cannot be read is found out once; what it lacked is not watched, so save the file again.
        """
        states = {file: _state(file) for file in self._states}
        changed, self._states = states != self._states, states
        return changed


def _version(look: Snapshot, start: Start) -> str:
    try:
        return look.version_of(start)
    except LaunchError:
        return ""


def _state(file: str) -> _State:
    try:
        found = Path(file).stat()
    except OSError:
        return _ABSENT
    return found.st_mtime_ns, found.st_size, found.st_ino
