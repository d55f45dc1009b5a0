"""Splits a bot's stderr into lines to pass on, with bounded length and rate. Does no I/O."""

from ggp.protocol.lobby_wire import printable
from ggp.protocol.token_bucket import TokenBucket

LONGEST_LINE = 1000  # bytes of a line; the rest is cut
LINES, LINES_AT_ONCE = 20.0, 100.0  # lines a second, and the longest burst


class StderrLines:
    """A buffer that turns bytes into lines and reports how many it dropped."""

    def __init__(self) -> None:
        self.last = ""  # the last line that was not blank
        self._lines: list[bytes] = []
        self._partial = b""
        self._bucket = TokenBucket(LINES, LINES_AT_ONCE, 0.0)
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Add bytes; an LF completes a line."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in filter(bytes.strip, lines[-1:]):
            self.last = printable(line, LONGEST_LINE)
        self._partial = self._partial[:LONGEST_LINE]
        room = int(LINES_AT_ONCE) - len(self._lines)
        self._lines += [line[:LONGEST_LINE] for line in lines[: max(0, room)]]
        self._dropped += max(0, len(lines) - max(0, room))

    def lines(self, now: float) -> list[str]:
        """Return the new lines as printable text. `now` is in seconds."""
        taken, self._lines = self._lines, []
        fits = int(self._bucket.available(now))
        self._bucket.consume(min(fits, len(taken)), now)
        self._dropped += max(0, len(taken) - fits)
        out = [printable(line, LONGEST_LINE) for line in taken[:fits]]
        if self._dropped and self._bucket.try_consume(1, now):
            out.append(f"({self._dropped} lines of stderr were left out)")
            self._dropped = 0
        return out
