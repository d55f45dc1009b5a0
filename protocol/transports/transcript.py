"""What passed, as text: Transcript wraps any Transport, Replay plays what it wrote back as a peer.

A line is `SECONDS > bytes sent` or `SECONDS < bytes received`, the bytes in Python's escapes, so that
every chunk comes back exactly as it was cut. `SECONDS ! bytes` is what went to stderr and `#` begins a comment; these
are not answered.
"""

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from ggp.protocol.channel import Transport
from ggp.protocol.errors import LocalProtocolError, PeerTimeout

Sink = Callable[[str, float, bytes], None]


class Transcript:
    """A Transport that reports all that passes through `inner` to `sink(mark, seconds, data)`; b"" is the end."""

    def __init__(self, inner: Transport, sink: Sink) -> None:
        self.inner = inner
        self.now = inner.now
        self._sink = sink

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        self._sink(">", self.now(), data)
        await self.inner.write(data, deadline)

    async def read(self, deadline: float) -> bytes:
        data = await self.inner.read(deadline)
        self._sink("<", self.now(), data)
        return data

    def close_stdin(self) -> None:
        self.inner.close_stdin()

    def close(self) -> None:
        self.inner.close()


def format_line(mark: str, seconds: float, data: bytes) -> str:
    """Format one chunk as a line of a transcript."""
    return f"{seconds:.6f} {mark} {data!r}"


class Replay:
    """A Transport that answers what and when the transcript did; what is written must be what was written then.

    Raises LocalProtocolError if the caller departs from it; ValueError names an invalid line.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._steps = deque(step for step in read_lines(lines) if step[0] != "!")
        self._time = self._steps[0][1] if self._steps else 0.0
        self._ended = False  # the stream ended, in the transcript or by close()

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        if not self._steps or self._steps[0][0] != ">" or self._steps[0][2] != data:
            want = self._steps[0][2] if self._steps and self._steps[0][0] == ">" else None
            raise LocalProtocolError(f"the transcript sent {want!r} here, not {data!r}", code="not-in-transcript")
        self._time = max(self._time, self._steps.popleft()[1])

    async def read(self, deadline: float) -> bytes:
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
        return self._time

    def close_stdin(self) -> None:
        """Do nothing: transcripts do not contain it, and what came after it can still be read."""

    def close(self) -> None:
        self._steps.clear()
        self._ended = True


def read_lines(lines: Iterable[str]) -> Iterator[tuple[str, float, bytes]]:
    """Yield the chunks of a transcript: mark, seconds, bytes. Raises ValueError, which names an invalid line."""
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
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # what literal_eval raises for malice, too
        raise ValueError(f"line {number} is no line of a transcript: {line[:80]!r}") from None
