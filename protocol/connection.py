"""The asking end's state machine over bytes: every transition is in this file. It does no I/O itself (see channel)."""

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
SHORT = 4096  # bytes: as many are read in one step, if the answer is the expected one
_SKIPPED, _SKIPPED_BYTES = 20, 200  # lines of junk that are kept for diagnostics, and bytes of each
MANY = 1000  # commands in one write, at most, in the quick way
_LONGEST_ID = f"{MAX_ID} "
_new_reply = tuple.__new__  # half of the time of Reply(…)
_UNASKED = "the peer sent an answer without a question"


class PeerRole(Enum):
    """The kind of peer. Lines before an answer are an error from an engine, and tolerated from a bot."""

    ENGINE = "engine"
    BOT = "bot"


class ReadLimits(NamedTuple):
    """Bounds on what is read: bytes (with every LF) and lines of one answer, lines of junk before it.

    `answer` bounds each line before an answer too, and `lines` the blank ones, so that every read ends.
    """

    answer: int = MAX_ANSWER
    lines: int = MAX_ANSWER_LINES
    junk: int = MAX_JUNK_LINES


class Connection:
    """A state machine: commands out, replies in, in the order they were asked.

    States: open -> gone (the stream ended) or broken (the peer broke the protocol); both are final, and next_reply and
    send raise the same error again. `ids`: commands carry ids; `next_id`: the next of them; `warnings`: the tolerated
    faults, up to a limit; `skipped_lines`: the number of lines that were not answers.
    """

    def __init__(self, peer: PeerRole, limits: ReadLimits | None = None) -> None:
        self.peer = peer
        self.ids = False
        self.warnings: list[str] = []
        self.skipped_lines = 0
        self._limits = limits or ReadLimits()
        self._short = min(SHORT, self._limits.answer) if self._limits.lines else 0  # bytes read in one step
        self.next_id = 1
        self._probing = False  # the last command sent is to show whether ids come back
        self._expected: deque[int | None] = deque()
        self._head = b""  # what the awaited answers begin with if they are all successes; until something else comes
        self._replies: deque[Reply] = deque()
        self._buffer = bytearray()  # bytes of the answer (or junk) that is not whole yet
        self._searched = 0  # up to here the buffer holds no LF
        self._lines: list[bytes] = []  # whole lines of the answer that is being read
        self._size = 0  # their bytes as they came
        self._junk = self._blank = 0  # lines skipped before the present answer
        self._skipped: list[bytes] = []  # the first of these that were junk
        self._rest = (
            b""  # what had come since the last whole answer when the stream ended or the peer broke the protocol
        )
        self._error: ProtocolError | None = None
        self._half = b""  # what send_exactly was given behind the last LF
        self._no_echo = False  # the probe found that the peer does not echo ids
        self._first = True  # no line has been read: the stream may begin with a byte-order mark
        self._quitting = False  # the last command sent is `quit`, after which the peer may end in the middle of a line

    @property
    def awaited(self) -> int:
        """Return how many commands were sent whose replies were not taken yet."""
        return len(self._expected)

    @property
    def unanswered(self) -> bytes:
        """Return what came since the last whole answer, for diagnostics: junk, and the beginning of an answer."""
        if self._error is not None:
            return self._rest
        return b"".join(line + b"\n" for line in (*self._skipped, *self._lines[:20])) + bytes(self._buffer[:4096])

    @property
    def ready(self) -> bool:
        """Return True if next_reply would return or raise something now."""
        return bool(self._replies) or self._error is not None

    def send(self, *lines: str) -> bytes:
        """Return the bytes of command lines, given without ids and LF; each then expects one reply.

        Raises:
            LocalProtocolError: A line may not be sent; then none of them counts as sent.
            ProtocolError: What next_reply would raise, or RemoteProtocolError if the peer has begun an answer unasked.
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

        A missing echo is not an error but the finding. Raises LocalProtocolError while other replies are awaited.
        """
        if self._expected:
            raise LocalProtocolError("ids are probed when nothing else is asked")
        self.ids = True
        data = self.send(line)
        self._probing = True
        return data

    def send_exactly(self, data: bytes) -> bytes:
        """Return the bytes as they are, for tests of a peer; nothing in them is checked.

        Each whole line that gets an answer then expects one, under the id it carries; half a line waits for the next
        call. Raises the peer's errors as `send` does.
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
        """Take bytes as they came; b"" says that the stream ended. Never raises: errors wait in next_reply."""
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
        """Return the next reply in order, or None if it needs more data. Replies before an error come first.

        Raises RemoteProtocolError (garbage, desynchronised, over the bounds) or PeerGone.
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
        """Return the id that a native exchange begins with, 0 for none, -1 if only `send` will do.

        That is so if answers are awaited or have begun unasked, the last command was a probe, the peer broke the
        protocol, or the bounds are small.
        """
        if self._expected or self._buffer or self._probing or self._error is not None or self._short != SHORT:
            return -1
        if not self.ids:
            return 0
        return self.next_id if self.next_id < MAX_ID - MANY else -1

    def count_answered(self, commands: int) -> None:
        """Count commands that were sent from `quick_id` on, and answered as expected, elsewhere."""
        if self.ids:
            self.next_id += commands
        self._forget_junk()
        self._first = False

    def take_lines(self) -> list[str]:
        """Take the whole lines that have come of an unfinished answer, but for its first, which has the mark.

        The reply then lacks them, and the bounds count what comes from now on: an analysis may go on for hours.
        """
        taken = [line.decode("utf-8", "replace") for line in self._lines[1:]]
        del self._lines[1:]
        self._size = sum(len(line) + 1 for line in self._lines)
        return taken

    def give_up(self) -> None:
        """Stop waiting for the awaited replies.

        "A peer that does not echo them gets none, and a time-out then ends it": its late answer could not be told from
        the next one.
        """
        if self._no_echo and self._error is None:
            self._desynchronise("an answer is overdue, and the peer echoes no ids", "answer-overdue")

    def _probed(self, reply: Reply) -> bool:
        """Return True if this is the answer without id to a probe: then the peer gets no ids from now on."""
        if not self._probing or reply.id is not None:
            return False
        self.ids, self._no_echo = False, True
        return True

    def _check_open(self) -> None:
        """Raise what send raises before it looks at its lines."""
        if self._error is not None:
            raise self._error
        if self._buffer and not self._expected and bytes(self._buffer.translate(None, CONTROL)[:1]) in (b"=", b"?"):
            raise self._desynchronise(_UNASKED, "answer-unasked")

    # -- reading ------------------------------------------------------------------------------------------

    def _take_expected(self, data: bytes, start: int) -> bool:
        """Take the common case in one step: all successes, and only the last one has text, in one line, from `start`.

        Return False, and take nothing, for any other data.
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
                self._break(f"an answer is at most {self._limits.answer} bytes", "answer-too-long")
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
                self._break(f"an answer is at most {self._limits.lines} lines", "answer-too-long")
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
            self.warnings.append(f"skipped a line that is no answer: {shown}")

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

        Text without a line feed is not an answer: the peer crashed while it wrote, and half a move must not be played.
        The answer to `quit` is the exception, because the peer was told to end.
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
        """Answers and questions no longer belong together, so none of the answers counts."""
        self._break(f"desynchronised: {reason}", code)
        self._replies.clear()
        assert self._error is not None
        return self._error


def _mismatch(reply: Reply, expected: int | None) -> str:
    mark = "=" if reply.ok else "?"
    got = mark if reply.id is None else f"{mark}{reply.id}"
    want = "an answer without id" if expected is None else f"the answer to {expected}"
    return f"expected {want}, got: {got} {reply.text[:80]}"
