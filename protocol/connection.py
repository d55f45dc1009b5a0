"""The state machine of the asking side, over bytes. It does no I/O; see channel."""

from collections import deque
from enum import Enum
from typing import NamedTuple

from ggp.protocol.errors import LocalProtocolError, PeerGone, ProtocolError, RemoteProtocolError
from ggp.protocol.grammar import (
    BOM,
    CONTROL,
    MAX_ANSWER,
    MAX_ANSWER_LINES,
    MAX_ID,
    MAX_LINE,
    check_line,
    clean_line,
    parse_command,
    parse_reply,
)
from ggp.protocol.messages import Reply

MAX_JUNK_LINES = 200
SHORT = 4096  # bytes; expected answers shorter than this are read in one step
_SKIPPED, _SKIPPED_BYTES = 20, 200  # junk lines kept for diagnostics, and bytes of each
MANY = 1000  # the most commands in one native exchange
_LONGEST_ID = f"{MAX_ID} "
_new_reply = tuple.__new__  # takes half the time of Reply(…)
_UNASKED = "unsolicited response"


class PeerRole(Enum):
    """The kind of peer: lines before an answer are an error from an engine, but tolerated from a bot."""

    ENGINE = "engine"
    BOT = "bot"


class ReadLimits(NamedTuple):
    """Limits on one answer: bytes (every LF included), lines, and junk lines before it.

    `answer` also limits each line before an answer, and `lines` the blank ones, so every read ends.
    """

    answer: int = MAX_ANSWER
    lines: int = MAX_ANSWER_LINES
    junk: int = MAX_JUNK_LINES


class Connection:
    """A state machine that turns commands into bytes, and bytes into replies in the order of the commands.

    A connection is open until the stream ends (gone) or the peer breaks the protocol (broken). Both are final:
    next_reply and send then raise the same error again.

    Attributes:
        ids: Whether commands carry ids.
        next_id: The id of the next command.
        warnings: Tolerated faults of the peer, up to a limit.
        skipped_lines: Number of lines that were not answers.
    """

    def __init__(self, peer: PeerRole, limits: ReadLimits | None = None) -> None:
        self.peer = peer
        self.ids = False
        self.warnings: list[str] = []
        self.skipped_lines = 0
        self._limits = limits or ReadLimits()
        self._short = min(SHORT, self._limits.answer) if self._limits.lines else 0  # bytes read in one step
        self.next_id = 1
        self._probing = False  # the last command sent shows whether the peer echoes ids
        self._expected: deque[int | None] = deque()
        self._head = b""  # how the awaited answers begin if all are successes; cleared by the next data
        self._replies: deque[Reply] = deque()
        self._buffer = bytearray()  # an incomplete line of an answer, or of junk
        self._searched = 0  # there is no LF before this index of the buffer
        self._lines: list[bytes] = []  # whole lines of the current answer
        self._size = 0  # bytes of these lines as received
        self._junk = self._blank = 0  # lines skipped before the current answer
        self._skipped: list[bytes] = []  # the first junk lines among these
        self._rest = b""  # the bytes after the last whole answer, once the connection is gone or broken
        self._error: ProtocolError | None = None
        self._half = b""  # the bytes after the last LF given to send_exactly
        self._no_echo = False  # the probe found that the peer does not echo ids
        self._first = True  # no line has been read: the stream may begin with a byte-order mark
        self._quitting = False  # the last command sent is `quit`; the peer may then end in mid-line

    @property
    def awaited(self) -> int:
        """Return the number of commands sent whose replies were not taken yet."""
        return len(self._expected)

    @property
    def unanswered(self) -> bytes:
        """Return the bytes received since the last whole answer, for diagnostics: junk and part of an answer."""
        if self._error is not None:
            return self._rest
        return b"".join(line + b"\n" for line in (*self._skipped, *self._lines[:20])) + bytes(self._buffer[:4096])

    @property
    def ready(self) -> bool:
        """Return True if next_reply would return a reply or raise an error now."""
        return bool(self._replies) or self._error is not None

    def send(self, *lines: str) -> bytes:
        """Return the bytes of command lines, given without ids and LF; each then expects one reply.

        Raises:
            LocalProtocolError: A line may not be sent; then none of the lines counts as sent.
            ProtocolError: The connection is gone or broken, or the peer began an unsolicited answer.
        """
        self._check_open()
        number, ids, clean = self.next_id, self.ids, not (self._expected or self._buffer)
        longest = _LONGEST_ID if ids else ""
        for line in lines:
            check_line(line, longest)
        self._probing = False
        self._quitting = lines[-1:] == ("quit",)
        if not ids:
            self._expected += [None] * len(lines)
            self._head = b"\n\n".join([b"="] * len(lines)) if clean else b""
            return "".join([f"{line}\n" for line in lines]).encode()
        out = head = ""
        for line in lines:
            out += f"{number} {line}\n"
            head += f"\n\n={number}"
            self._expected.append(number)
            number = number % MAX_ID + 1
        self._head = head[2:].encode() if clean else b""
        self.next_id = number
        return out.encode()

    def send_probe(self, line: str) -> bytes:
        """Return the bytes of a command with an id, whatever `ids` is; the reply shows if the peer echoes ids.

        A reply without the id is not an error; it turns ids off.

        Raises:
            LocalProtocolError: Other replies are awaited.
        """
        if self._expected:
            raise LocalProtocolError("cannot probe ids while other replies are awaited")
        self.ids = True
        data = self.send(line)
        self._probing = True
        return data

    def send_exactly(self, data: bytes) -> bytes:
        """Return the bytes unchanged and unchecked, for tests of a peer.

        Each whole line that gets an answer then expects one, under the id that the line carries. Half a line waits for
        the next call.

        Raises:
            ProtocolError: As in `send`.
        """
        self._check_open()
        *lines, self._half = (self._half + data).split(b"\n")
        for line in lines:
            text = clean_line(line)
            if len(line) > MAX_LINE:
                self._expected.append(None)  # "one `? line too long`, its rest dropped"
            elif text:
                command = parse_command(text)
                self._expected.append(command.id)
                self._quitting = command.name == "quit"
        self._head, self._probing = b"", False
        return data

    def receive(self, data: bytes) -> None:
        """Take received bytes; b"" means the end of the stream. Never raises: next_reply raises the errors."""
        if self._error is not None:
            return
        head, self._head = self._head, b""
        if head and data.startswith(head) and self._take_expected(data, len(head)):
            return
        if data:
            self._take_lines(data)
        else:
            self._end()

    def next_reply(self) -> Reply | None:
        """Return the next reply in order, or None if more data is needed. Replies before an error come first.

        Raises:
            RemoteProtocolError: The peer sent garbage, a wrong id or too much.
            PeerGone: The stream ended.
        """
        if self._replies:
            reply = self._replies.popleft()
            expected = self._expected.popleft()
            if reply[2] != expected and not self._probed(reply):
                raise self._desynchronise(_mismatch(reply, expected))
            return reply
        if self._error is not None:
            raise self._error
        return None

    @property
    def quick_id(self) -> int:
        """Return the id that a native exchange begins with, 0 for no ids, or -1 if only `send` will do.

        It is -1 if answers are awaited or have begun unasked, the last command was a probe, the connection is gone or
        broken, or the limits are small.
        """
        if self._expected or self._buffer or self._probing or self._error is not None or self._short != SHORT:
            return -1
        if not self.ids:
            return 0
        return self.next_id if self.next_id < MAX_ID - MANY else -1

    def count_answered(self, commands: int) -> None:
        """Count commands that were sent and answered as expected by a native exchange, from `quick_id` on."""
        if self.ids:
            self.next_id += commands
        self._forget_junk()
        self._first = False

    def take_lines(self) -> list[str]:
        """Remove and return the whole lines of an unfinished answer, except the first, which has the mark.

        The reply will lack these lines, and the limits apply only to what follows: an analysis may run for hours.
        """
        taken = [line.decode("utf-8", "replace") for line in self._lines[1:]]
        del self._lines[1:]
        self._size = sum(len(line) + 1 for line in self._lines)
        return taken

    def give_up(self) -> None:
        """Stop waiting for the awaited replies.

        This ends a connection whose peer does not echo ids: its late answer could not be told from the next one.
        """
        if self._no_echo and self._error is None:
            self._desynchronise("an answer is overdue, and the peer does not echo ids", "answer-overdue")

    def _probed(self, reply: Reply) -> bool:
        """Return True if this reply answers a probe without an id; the peer then gets no more ids."""
        if not self._probing or reply.id is not None:
            return False
        self.ids, self._no_echo = False, True
        return True

    def _check_open(self) -> None:
        """Raise the connection's error, or RemoteProtocolError if the peer has begun an unsolicited answer."""
        if self._error is not None:
            raise self._error
        if self._buffer and not self._expected and bytes(self._buffer.translate(None, CONTROL)[:1]) in (b"=", b"?"):
            raise self._desynchronise(_UNASKED, "answer-unasked")

    # -- reading ------------------------------------------------------------------------------------------

    def _take_expected(self, data: bytes, start: int) -> bool:
        """Read the common case in one step: all successes, of which only the last has text, on one line.

        Return False, and take nothing, for any other data. The text begins at `start`.
        """
        if data[-2:] != b"\n\n" or len(data) >= self._short or not data.isascii():
            return False
        text = data[start:-2].decode()
        if text and not (text[0] == " " and text.isprintable()):
            return False
        *before, last = self._expected
        for number in before:
            self._replies.append(_new_reply(Reply, (True, "", number)))
        self._replies.append(_new_reply(Reply, (True, text.strip(" "), last)))
        self._forget_junk()
        self._first = False
        return True

    def _take_lines(self, data: bytes) -> None:
        self._buffer += data
        while self._error is None:
            end = self._buffer.find(b"\n", self._searched)
            size = end if end >= 0 else len(self._buffer)
            if self._size + size > self._limits.answer:
                self._break(f"the answer is longer than {self._limits.answer} bytes", "answer-too-long")
            elif end < 0:
                self._searched = size
                return
            else:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                self._take_line(line)

    def _take_line(self, raw: bytes) -> None:
        if self._first:
            raw, self._first = raw.removeprefix(BOM), False
        line = raw.translate(None, CONTROL)
        if self._lines and not line:
            self._finish_answer()
        elif self._lines or line[:1] in (b"=", b"?"):
            self._lines.append(line)
            self._size += len(raw) + 1
            if len(self._replies) >= len(self._expected):
                self._break(f"desynchronised: {_UNASKED}", "answer-unasked")
            elif len(self._lines) > self._limits.lines:
                self._break(f"the answer has more than {self._limits.lines} lines", "answer-too-long")
        elif line.strip():
            self._take_junk(line)
        else:  # blank lines between answers are tolerated
            self._blank += 1
            if self._blank > self._limits.lines:
                self._break(f"more than {self._limits.lines} blank lines before an answer", "no-answer")

    def _take_junk(self, line: bytes) -> None:
        shown = line[:80].decode("utf-8", "backslashreplace")
        if self.peer is PeerRole.ENGINE:
            self._skipped.append(line[:_SKIPPED_BYTES])
            self._break(f"expected an answer that begins with = or ?, got: {shown}", "no-answer")
            return
        self._junk += 1
        if len(self._skipped) < _SKIPPED:
            self._skipped.append(line[:_SKIPPED_BYTES])
        if self._junk > self._limits.junk:
            self._break(f"more than {self._limits.junk} lines before an answer: {shown}", "no-answer")
            return
        self.skipped_lines += 1
        if len(self.warnings) < self._limits.junk:
            self.warnings.append(f"skipped a line that is not an answer: {shown}")

    def _finish_answer(self) -> None:
        reply = parse_reply(b"\n".join(self._lines))
        assert reply is not None  # its first line began with a mark
        self._lines.clear()
        self._size = 0
        self._forget_junk()
        self._replies.append(reply)

    def _forget_junk(self) -> None:
        if self._junk:
            self._skipped.clear()
        self._junk = self._blank = 0

    def _end(self) -> None:
        """Handle the end of the stream. A last answer counts if a line feed ends it, even without the empty line.

        Text without a line feed is not an answer: the peer crashed while writing, and half a move must not be played.
        The answer to `quit` is the exception, because the peer was told to exit.
        """
        self._rest = self.unanswered
        cut = bytes(self._buffer.translate(None, CONTROL).removeprefix(BOM if self._first else b"").strip(b" \t"))
        begun = self._lines or cut[:1] in (b"=", b"?")
        if cut and begun and not (self._quitting and len(self._expected) == len(self._replies) + 1):
            half = b"\n".join([*self._lines, cut])[:80].decode("utf-8", "backslashreplace")
            self._error = PeerGone(f"the peer's output ended in the middle of an answer: {half!r}", code="answer-cut")
            return
        if cut:
            self._take_line(bytes(self._buffer))
        if self._error is None:
            if self._lines:
                self._finish_answer()
            self._error = PeerGone("the peer's output ended")

    def _break(self, reason: str, code: str) -> None:
        self._rest = self.unanswered
        self._error = RemoteProtocolError(reason, code=code)
        self._buffer.clear()
        self._lines.clear()

    def _desynchronise(self, reason: str, code: str = "wrong-id") -> ProtocolError:
        """Break the connection and drop its replies: it is no longer known which answer belongs to which command."""
        self._break(f"desynchronised: {reason}", code)
        self._replies.clear()
        assert self._error is not None
        return self._error


def _mismatch(reply: Reply, expected: int | None) -> str:
    mark = "=" if reply.ok else "?"
    got = mark if reply.id is None else f"{mark}{reply.id}"
    want = "an answer without id" if expected is None else f"the answer to {expected}"
    return f"expected {want}, got: {got} {reply.text[:80]}"
