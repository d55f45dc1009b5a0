"""Dialogues as text: Transcript records any Transport, and Replay plays a recording back as a peer.

A line is `SECONDS > bytes sent` or `SECONDS < bytes received`. The bytes are written with Python's escapes, so that
every chunk comes back exactly as it was cut. `SECONDS ! bytes` is stderr output and `#` begins a comment; both are
ignored in a replay.
"""

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from ggp.protocol.channel import Transport
from ggp.protocol.errors import LocalProtocolError, PeerTimeout

Sink = Callable[[str, float, bytes], None]


class Transcript:
    """A Transport that passes everything on to `inner` and reports it to `sink(mark, seconds, data)`.

    At the end of the stream, the data is b"".
    """

    def __init__(self, inner: Transport, sink: Sink) -> None:
        self.inner = inner
        self.now = inner.now
        self._sink = sink

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Report the data and write it."""
        self._sink(">", self.now(), data)
        await self.inner.write(data, deadline)

    async def read(self, deadline: float) -> bytes:
        """Read data and report it."""
        data = await self.inner.read(deadline)
        self._sink("<", self.now(), data)
        return data

    def close_stdin(self) -> None:
        """Close the peer's stdin."""
        self.inner.close_stdin()

    def close(self) -> None:
        """Close the inner transport."""
        self.inner.close()


def format_line(mark: str, seconds: float, data: bytes) -> str:
    """Return one chunk as a line of a transcript."""
    return f"{seconds:.6f} {mark} {data!r}"


class Replay:
    """A Transport that answers as and when the transcript did; the caller must write exactly the same data.

    Raises:
        ValueError: A line is invalid.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._steps = deque(step for step in read_lines(lines) if step[0] != "!")
        self._time = self._steps[0][1] if self._steps else 0.0
        self._ended = False  # the stream ended, in the transcript or by close()

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        """Check that the transcript sent the same data here.

        Raises:
            LocalProtocolError: It did not.
        """
        if not self._steps or self._steps[0][0] != ">" or self._steps[0][2] != data:
            want = self._steps[0][2] if self._steps and self._steps[0][0] == ">" else None
            raise LocalProtocolError(f"the transcript sent {want!r} here, not {data!r}", code="not-in-transcript")
        self._time = max(self._time, self._steps.popleft()[1])

    async def read(self, deadline: float) -> bytes:
        """Return the next chunk of the transcript, and move the clock to its time.

        Raises:
            PeerTimeout: The next chunk came after the deadline.
        """
        if self._ended:
            return b""
        if not self._steps or self._steps[0][0] == ">" or self._steps[0][1] > deadline:
            self._time = max(self._time, deadline)
            raise PeerTimeout("the transcript has no answer before the deadline")
        _, seconds, data = self._steps.popleft()
        self._time = max(self._time, seconds)
        self._ended = not data
        return data

    def now(self) -> float:
        """Return the time of the last step, in the transcript's seconds."""
        return self._time

    def close_stdin(self) -> None:
        """Do nothing: transcripts do not record this, and later output can still be read."""

    def close(self) -> None:
        """End the stream."""
        self._steps.clear()
        self._ended = True


def read_lines(lines: Iterable[str]) -> Iterator[tuple[str, float, bytes]]:
    """Yield the chunks of a transcript: mark, seconds, bytes.

    Raises:
        ValueError: A line is invalid; the message gives its number.
    """
    return (
        _parse_line(line, number)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _parse_line(line: str, number: int) -> tuple[str, float, bytes]:
    seconds, _, rest = line.strip().partition(" ")
    mark, _, quoted = rest.partition(" ")
    try:
        data = ast.literal_eval(quoted)
        if mark not in ("<", ">", "!") or not isinstance(data, bytes):
            raise ValueError
        return mark, float(seconds), data
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # literal_eval raises all of these for hostile input
        raise ValueError(f"line {number} is not a transcript line: {line[:80]!r}") from None
