"""A transport to a peer inside this process, with a clock that moves only while waiting; for tests and tools."""

from collections import deque
from collections.abc import Callable

from ggp.protocol.errors import PeerTimeout
from ggp.protocol.responder import Responder


class Memory:
    """A Transport to `answer`, which maps written bytes to the chunks that come back; b"" is the end of either.

    `seconds` is how far each write moves the clock, so that time controls can be tested.
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
        """Pass the data to `answer`."""
        if b"" not in self._chunks:
            self.written += data
            self._chunks.extend(self.answer(data))
            self._time += self.seconds

    async def read(self, deadline: float) -> bytes:
        """Return the next chunk; without one, move the clock to the deadline.

        Raises:
            PeerTimeout: There is no chunk.
        """
        if not self._chunks:
            self._time = max(self._time, deadline)
            raise PeerTimeout("no complete answer before the deadline")
        if not self._chunks[0]:
            return b""  # keep the b"": later reads return it too
        return self._chunks.popleft()

    def now(self) -> float:
        """Return the time in seconds, from 0."""
        return self._time

    def close_stdin(self) -> None:
        """End the peer's input: `answer` gets b""."""
        if b"" not in self._chunks:
            self._chunks.extend(self.answer(b""))

    def close(self) -> None:
        """End the stream; nothing more is written."""
        self.closed = True
        self._chunks = deque([b""])
