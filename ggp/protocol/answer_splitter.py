"""Cuts the output of an answering side into whole answers, as they travel in messages. No I/O.

Whether an answer was asked for, and what it says, is the connection's part at the other end.
"""

from ggp.protocol.errors import RemoteProtocolError
from ggp.protocol.grammar import CONTROL, MAX_ANSWER


class AnswerSplitter:
    """Bytes in, answers out, each with its empty line and without control characters, at most 1 MiB.

    Lines before an answer that are none (a bot may print a greeting) are `junk`, to be taken by the caller.
    """

    def __init__(self, most: int = MAX_ANSWER) -> None:
        self.junk: list[bytes] = []
        self._most = most
        self._buffer = bytearray()
        self._searched = 0  # up to here the buffer holds no end of an answer

    def receive(self, data: bytes) -> list[bytes]:
        """The answers that are whole now. Raises RemoteProtocolError for one, or a line before it, over the bound."""
        data = data.translate(None, CONTROL)
        alone = not self._buffer and 0 < data.find(b"\n\n") == len(data) - 2
        if alone and data[:1] in (b"=", b"?") and self._fits(data):
            return [data]  # as almost always
        self._buffer += data
        whole: list[bytes] = []
        while self._skip_to_mark() and (end := self._buffer.find(b"\n\n", self._searched)) >= 0:
            self._check(end + 2)
            whole.append(bytes(self._buffer[: end + 2]))
            del self._buffer[: end + 2]
            self._searched = 0
        self._searched = max(0, len(self._buffer) - 1)
        self._check(len(self._buffer))
        return whole

    def end(self) -> list[bytes]:
        """The output ended: "a last answer without newline at end of stream" still counts."""
        rest = bytes(self._buffer).rstrip(b"\n")
        self._buffer.clear()
        self._searched = 0
        return [rest + b"\n\n"] if rest[:1] in (b"=", b"?") and self._fits(rest) else []

    def _skip_to_mark(self) -> bool:
        """Drop lines until one begins an answer; False if none has begun."""
        while self._buffer and self._buffer[0] not in b"=?":
            end = self._buffer.find(b"\n", self._searched)
            if end < 0:
                return False
            if line := bytes(self._buffer[:end]).strip():
                self.junk.append(line)
            del self._buffer[: end + 1]
            self._searched = 0
        return bool(self._buffer)

    def _fits(self, data: bytes) -> bool:
        return len(data) <= self._most

    def _check(self, size: int) -> None:
        if size > self._most:
            self._buffer.clear()
            self._searched = 0
            raise RemoteProtocolError(f"an answer is at most {self._most} bytes", code="answer-too-long")
