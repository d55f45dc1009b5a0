"""The record of one match while it is played: its events, their lines, and a side file that outlives a crash."""

import os

from protocol.records import Chain, Event, MatchEnded, MatchStarted, MovePlayed, Record


class Tape:
    """`live`: a descriptor that each line is written to at once, or None. `kept`: what its file holds already, of a
    match that is taken up: as long as the same lines come again nothing is written, so that none is lost by a second
    crash, and whoever reads the file sees it grow only.
    """

    def __init__(self, live: int | None, kept: bytes = b"") -> None:
        self.events: list[Event] = []
        self.lines: list[bytes] = []
        self._chain = Chain()
        self._live = live
        self._kept, self._same = kept, 0  # bytes of it that came again

    def emit(self, event: Event) -> None:
        """Keep the event and its line; write it to the side file without waiting for the disk."""
        line = self._chain.line(event)
        self.events.append(event)
        self.lines.append(line)
        if self._kept and self._comes_again(line):
            return
        if self._live is not None:
            try:
                whole = os.write(self._live, line) == len(line)
            except OSError:
                whole = False
            if not whole:  # whoever looks on sees no more of this match; its record is what counts
                self._live = None

    def _comes_again(self, line: bytes) -> bool:
        """Whether it is what the file holds there; otherwise what the file holds from there on is gone."""
        if self._kept.startswith(line, self._same):
            self._same += len(line)
            return True
        self._kept = b""
        if self._live is not None:
            os.ftruncate(self._live, self._same)
        return False

    def record(self) -> Record:
        start, *plies, end = self.events
        assert isinstance(start, MatchStarted) and isinstance(end, MatchEnded)
        return Record(start, tuple(ply for ply in plies if isinstance(ply, MovePlayed)), end)
