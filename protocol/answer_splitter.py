"""Splits the output of an answering program into whole answers, as they travel in messages. Does no I/O.

The connection at the other end decides whether an answer was requested and what it means.
"""

from ggp.protocol.errors import RemoteProtocolError
from ggp.protocol.grammar import BOM, CONTROL, MAX_ANSWER


class AnswerSplitter:
    """A splitter of bytes into answers, each with its empty line and without control characters.

    An answer is at most 1 MiB. Lines before an answer, such as a greeting, are appended to `junk`; the caller removes
    them.
    """

    def __init__(self, most: int = MAX_ANSWER) -> None:
        self.junk: list[bytes] = []
        self.cut = b""  # an unfinished line at the end of the output
        self._most = most
        self._buffer = bytearray()
        self._searched = 0  # no answer ends before this index of the buffer
        self._first = True  # at the start of the output, which may begin with a byte-order mark

    def receive(self, data: bytes) -> list[bytes]:
        """Return the answers that are now complete.

        Raises:
            RemoteProtocolError: An answer or a line is too long.
        """
        data = data.translate(None, CONTROL)
        if self._first:
            data = self._without_mark(data)
        alone = not self._buffer and 0 < data.find(b"\n\n") == len(data) - 2
        if alone and data[:1] in (b"=", b"?") and self._fits(data):
            return [data]  # the common case
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

    def end(self, quitting: bool = False) -> list[bytes]:
        """Return the last answer of an output that ended; one line feed is enough to end it.

        Text without a final line feed is kept in `cut` and is not an answer: the program crashed while writing it.
        After `quit` (`quitting`) it counts as an answer, because the program was told to exit.
        """
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        if rest and rest[-1:] != b"\n" and not quitting:
            self.cut = rest.rpartition(b"\n\n")[2]
            return []
        rest = rest.rstrip(b"\n")
        return [rest + b"\n\n"] if rest[:1] in (b"=", b"?") and self._fits(rest) else []

    def _without_mark(self, data: bytes) -> bytes:
        """Drop a byte-order mark at the beginning of the output, even if it arrives in pieces."""
        data = bytes(self._buffer) + data
        self._buffer.clear()
        self._searched = 0
        if len(data) < len(BOM) and BOM.startswith(data):
            self._buffer += data  # it may become one
            return b""
        self._first = False
        return data.removeprefix(BOM)

    def _skip_to_mark(self) -> bool:
        """Drop lines until one begins an answer. Return False if none has begun."""
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
            raise RemoteProtocolError(f"the answer is longer than {self._most} bytes", code="answer-too-long")
