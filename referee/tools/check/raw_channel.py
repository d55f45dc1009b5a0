"""A strict byte-level conversation with the program under check.

Unlike ggp.protocol.channel it can send invalid bytes, and keeps all bytes for the report.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ggp.protocol.channel import Transport
from ggp.protocol.errors import PeerTimeout
from ggp.protocol.grammar import MAX_ANSWER, MAX_ANSWER_LINES, parse_reply
from ggp.referee.match.diagnosis import PATIENCE

NO_ANSWER = "no complete answer in time"
_MOST = 16 * MAX_ANSWER  # bytes of one exchange; more are a flood
_EMPTY_LINE = re.compile(rb"\n\r?\n")
_FIRST_SYNC_ID = 90017
_NO_IDS, _MORE = 1.0, 0.05  # seconds for an answer without an id, and for more output after it
T = TypeVar("T")


class UnexpectedEnd(Exception):
    """An end of the conversation: silence, the end of the stream, or a flood of output."""


class RawAnswer(NamedTuple):
    """One answer. `raw` holds all its bytes, and those before its mark."""

    ok: bool
    text: str
    id: int | None
    raw: bytes

    @property
    def begins_with_mark(self) -> bool:
        """Return True if nothing but line ends precedes the mark."""
        return self.raw.lstrip(b"\r\n")[:1] in (b"=", b"?")


class RawChannel:
    """The conversation. `sent` and `got` are the bytes since the last `begin`.

    Args:
        transport: The connection to the program.
        patience: Seconds for each answer.
        first: Seconds for the first answer, because programs need time to load.
        heed: Called with the answer to each single command after the first.
        on_silence: Called if the first answer takes long.
    """

    def __init__(
        self,
        transport: Transport,
        patience: float,
        first: float,
        heed: Callable[[RawAnswer], None] = lambda answer: None,
        on_silence: Callable[[], None] = lambda: None,
    ) -> None:
        self.transport, self.patience = transport, patience
        self.started = 0.0  # seconds that the first answer took
        self.sent, self.got = bytearray(), bytearray()
        self.ended = False
        self._first, self._heed, self._on_silence = first, heed, on_silence
        self._answered = False
        self._taken = 0  # bytes of `got` that belong to answers already returned
        self._began = transport.now()
        self._sync_id = _FIRST_SYNC_ID

    def begin(self) -> None:
        """Begin an exchange: forget all bytes except answers that were not taken."""
        self.sent.clear()
        del self.got[: self._taken]
        self._taken = 0

    @property
    def untaken(self) -> bytes:
        """Return the bytes that do not belong to a taken answer."""
        return bytes(self.got[self._taken :])

    def in_order(self) -> bool:
        """Return True if the stream is open and every answer was taken."""
        return not self.ended and not self.untaken

    async def send(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            UnexpectedEnd: The program does not read them.
        """
        self.sent += data
        try:
            await self.transport.write(data, self._deadline())
        except PeerTimeout:
            raise UnexpectedEnd("it does not read its input") from None

    async def hear(self, seconds: float) -> bytes:
        """Return the bytes that arrive within this time, or until the stream ends."""
        before = len(self.got)
        await self._until(self.transport.now() + seconds)
        return bytes(self.got[before:])

    async def answer(self, seconds: float | None = None) -> RawAnswer:
        """Return the next complete answer.

        Raises:
            UnexpectedEnd: None arrives in time, or the stream ends.
        """
        deadline, span = self._deadline(seconds), None
        if not self._answered and deadline > (early := self.transport.now() + PATIENCE):
            span = await self._until(early, self._whole)
            if span is None and not self.ended:
                self._on_silence()
        span = span or await self._until(deadline, self._whole)
        if span is None:
            raise UnexpectedEnd("its output ended before a complete answer" if self.ended else NO_ANSWER)
        mark, end = span
        raw = bytes(self.got[self._taken : end])
        reply = parse_reply(bytes(self.got[mark:end]).rstrip(b"\r\n"))
        self._taken = end
        if not self._answered:
            self._answered, self.started = True, self.transport.now() - self._began
        if len(raw) > MAX_ANSWER or raw.count(b"\n") > MAX_ANSWER_LINES:
            raise UnexpectedEnd(f"an answer of {len(raw)} bytes and {raw.count(10)} lines")
        assert reply is not None  # the pattern begins with a mark
        return RawAnswer(reply.ok, reply.text, reply.id, raw)

    async def ask(self, line: str, seconds: float | None = None) -> RawAnswer:
        """Send one command without an id, as an exchange of its own, and return the answer."""
        self.begin()
        await self.send(line.encode() + b"\n")
        first = not self._answered
        answer = await self.answer(seconds)
        if not first:  # a separate step checks the output before the first answer
            self._heed(answer)
        return answer

    async def ask_all(self, *lines: str) -> list[RawAnswer]:
        """Send several commands in one write, and return their answers."""
        self.begin()
        await self.send("".join(f"{line}\n" for line in lines).encode())
        return [await self.answer() for _ in lines]

    async def until_synced(self) -> bytes:
        """Send one more command with an id, and return all bytes before its answer.

        Raises:
            UnexpectedEnd: That answer never arrives.
        """
        kept = bytes(self.sent)
        self._sync_id += 1  # a program may expect a new id each time
        await self.send(f"{self._sync_id} protocol_version\n".encode())
        self.sent[:] = kept
        mark = re.compile(rb"(?:\A|(?<=\n))[=?]%d [^\n]*\n\n" % self._sync_id)
        found = await self._until(self._deadline(), lambda: mark.search(self.got))
        if found is None:
            raise UnexpectedEnd("its output ended" if self.ended else "it does not answer `protocol_version` after it")
        self._answered = True
        said, rest = bytes(self.got[: found.start()]), bytes(self.got[found.end() :])
        self.got[:], self._taken = said, len(said)
        if rest:
            raise UnexpectedEnd(f"unsolicited output: {rest[:80]!r}")
        return said

    async def until_right(self, expected: bytes) -> bytes:
        """Read from a program without ids until the bytes match or no more arrive."""
        await self._until(self.transport.now() + _NO_IDS, lambda: re.fullmatch(expected, self.got))
        await self.hear(_MORE)
        self._taken = len(self.got)
        return bytes(self.got)

    def _deadline(self, seconds: float | None = None) -> float:
        wait = self.patience if seconds is None else seconds
        return self.transport.now() + (wait if self._answered else max(wait, self._first))

    def _whole(self) -> tuple[int, int] | None:
        """Return the positions of the next answer's mark and end. Bytes before the mark are junk."""
        start = self._taken
        while (end := self.got.find(b"\n", start)) >= 0:
            if self.got[start] in b"=?":
                match = _EMPTY_LINE.search(self.got, end)
                return (start, match.end()) if match else None
            start = end + 1
        return None

    async def _until(self, deadline: float, found: Callable[[], T | None] = lambda: None) -> T | None:
        """Read until something is found, the stream ends, or the deadline passes."""
        while (there := found()) is None and not self.ended:
            try:
                data = await self.transport.read(deadline)
            except PeerTimeout:
                break
            self.ended = not data
            self.got += data
            if len(self.got) > _MOST:
                raise UnexpectedEnd(f"a flood of output: more than {_MOST >> 20} MiB")
            if data and self.transport.now() > deadline:
                break
        return there
