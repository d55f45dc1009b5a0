"""The record of one match while it is played: its events, their lines, and a side file that outlives a crash."""

import os

from protocol.records import Chain, Event, MatchEnded, MatchStarted, MovePlayed, Record


class Tape:
    """`live`: a descriptor that each line is written to at once, or None."""

    def __init__(self, live: int | None) -> None:
        self.events: list[Event] = []
        self.lines: list[bytes] = []
        self._chain = Chain()
        self._live = live
        if live is not None:
            os.ftruncate(live, 0)

    def emit(self, event: Event) -> None:
        """Keep the event and its line; write it to the side file without waiting for the disk."""
        line = self._chain.line(event)
        self.events.append(event)
        self.lines.append(line)
        if self._live is not None:
            try:
                os.write(self._live, line)
            except OSError:  # whoever looks on sees no more of this match; its record is what counts
                self._live = None

    def record(self) -> Record:
        start, *plies, end = self.events
        assert isinstance(start, MatchStarted) and isinstance(end, MatchEnded)
        return Record(start, tuple(ply for ply in plies if isinstance(ply, MovePlayed)), end)
