"""A peer inside this process, with a clock of its own that only moves in a wait; for tests and tools."""

from collections import deque
from collections.abc import Callable

from ggp.protocol.errors import PeerTimeout
from ggp.protocol.responder import Responder


class Memory:
    """A Transport to `answer`, which maps written bytes to the chunks that come back; b"" is the end of either.

    `seconds` is what each write takes on the clock, so that time controls can be tested.
    """

    def __init__(self, answer: Callable[[bytes], list[bytes]], seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.written = bytearray()
        self.closed = False
        self.answer = answer
        self._chunks: deque[bytes] = deque()
        self._time = 0.0

    @classmethod
    def of(cls, responder: Responder) -> "Memory":
        """Return a Transport to a Responder in this process."""

        def answer(data: bytes) -> list[bytes]:
            responder.receive(data)
            chunks = list(iter(responder.next_answer, None))
            return [*chunks, b""] if responder.closed else chunks

        return cls(answer)

    async def write(self, data: bytes, deadline: float | None = None) -> None:
        if b"" not in self._chunks:
            self.written += data
            self._chunks.extend(self.answer(data))
            self._time += self.seconds

    async def read(self, deadline: float) -> bytes:
        if not self._chunks:
            self._time = max(self._time, deadline)
            raise PeerTimeout("no whole answer before the deadline")
        if not self._chunks[0]:
            return b""  # the end stays the end
        return self._chunks.popleft()

    def now(self) -> float:
        return self._time

    def close_stdin(self) -> None:
        """End the peer's input: `answer` gets b""."""
        if b"" not in self._chunks:
            self._chunks.extend(self.answer(b""))

    def close(self) -> None:
        """End the stream; nothing more is written."""
        self.closed = True
        self._chunks = deque([b""])
