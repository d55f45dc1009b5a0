"""The answering side of a conversation: takes bytes and returns one whole answer at a time. It does no I/O."""

from collections import deque
from collections.abc import Callable, Mapping

from ggp.protocol.errors import CommandFailed, place_of
from ggp.protocol.grammar import BOM, CONTROL, MAX_LINE, CommandLine, format_reply, read_line
from ggp.protocol.messages import Reply

Handler = Callable[[list[str]], str]
Later = Callable[[], str | None]  # called repeatedly until it returns the text
LateHandler = Callable[[list[str]], str | Later]

# `fast_path(source, sink, commands)` reads up to so many commands from one descriptor and answers them on another. It
# may be called only while the Responder is idle. It returns the input that it leaves to the Responder (b"" at the end
# of the input, None if nothing is left), and the part of an answer for which `sink` had no room. Raises OSError.
FastPath = Callable[[int, int, int], tuple[bytes | None, bytes]]

_BLANK = CONTROL.decode() + " \t"
_TOO_LONG = format_reply(Reply(False, "line too long"))


class Responder:
    """A table of command handlers that answers commands in order, however the bytes are split or pipelined.

    A handler gets the arguments and returns the text of a success. It raises CommandFailed to answer `? text`, and must
    then have changed nothing. A handler that would have to wait returns a function instead, which `next_answer` calls
    until it returns the text or raises. `protocol_version name version known_command list_commands quit` have default
    handlers. A successful `quit` always closes the responder.

    A command whose name is in `slow` is not answered by `next_answer`. It is `held` until answer_held or drop_held is
    called.

    `report` is called with each unexpected exception of a handler. The peer gets `? internal error: …` and the session
    continues.
    """

    def __init__(
        self,
        name: str,
        version: str,
        handlers: Mapping[str, LateHandler],
        report: Callable[[Exception], None] | None = None,
    ) -> None:
        self.closed = False  # after `quit` or the end of input
        self.slow: frozenset[str] = frozenset()
        self.fast_path: FastPath | None = None  # set by services that read from descriptors
        self._held: CommandLine | None = None  # a slow command
        self._later: tuple[Later, int | None] | None = None  # the pending answer, and its id
        self._report = report
        self._handlers: dict[str, LateHandler] = {
            "protocol_version": lambda arguments: "2",
            "name": lambda arguments: name,
            "version": lambda arguments: version,
            "known_command": self._known_command,
            "list_commands": lambda arguments: "\n".join(sorted(self._handlers)),
            "quit": lambda arguments: "",
            **handlers,
        }
        self._lines: deque[bytes | None] = deque()  # unanswered lines; None for one that was too long
        self._partial = bytearray()
        self._dropping = False  # inside a line that was too long
        self._first = True  # before the first line, which may begin with a byte-order mark

    @property
    def idle(self) -> bool:
        """Return True if everything received is answered and no partial line is waiting."""
        return not (self._lines or self._partial or self._dropping or self._held or self._later)

    @property
    def waiting(self) -> bool:
        """Return True if the next answer is not ready; call `next_answer` again later."""
        return self._later is not None

    @property
    def held(self) -> bool:
        """Return True if the next command is a slow one and all earlier ones are answered."""
        return self._held is not None

    def answer_held(self) -> bytes:
        """Answer the held command, however long that takes."""
        held, self._held = self._held, None
        slow, self.slow = self.slow, frozenset()
        try:
            return self._answer(*held) or b"" if held else b""
        finally:
            self.slow = slow

    def drop_held(self, reason: str) -> bytes:
        """Forget the held command. Return a refusal, to be sent if no other process has answered it."""
        held, self._held = self._held, None
        return format_reply(Reply(False, reason, held[2] if held else None))

    def receive(self, data: bytes) -> None:
        """Take received bytes; b"" means the end of input, after which nothing more is answered."""
        if not data:
            self.closed = True
            return
        if self._first and not (data := self._without_mark(data)):
            return
        if len(data) <= MAX_LINE and not (self._partial or self._dropping) and data.find(b"\n") == len(data) - 1:
            self._lines.append(data[:-1])
            return
        *whole, rest = data.split(b"\n")
        for piece in whole:
            if self._dropping:
                self._dropping = False
            elif len(self._partial) + len(piece) > MAX_LINE:
                self._lines.append(None)
            else:
                self._lines.append(bytes(self._partial) + piece if self._partial else piece)
            self._partial.clear()
        if rest and not self._dropping:
            self._partial += rest
            if len(self._partial) > MAX_LINE:
                self._lines.append(None)
                self._partial.clear()
                self._dropping = True

    def _without_mark(self, data: bytes) -> bytes:
        """Drop a byte-order mark at the beginning, even if it arrives in pieces; return b"" while one may come."""
        data = bytes(self._partial) + data
        self._partial.clear()
        if len(data) < len(BOM) and BOM.startswith(data):
            self._partial += data
            return b""
        self._first = False
        return data.removeprefix(BOM)

    def next_answer(self) -> bytes | None:
        """Return one whole answer; write and flush it before the next call.

        Return None if more input is needed, the next command is held, or its answer is not ready.
        """
        if self._later is not None:
            return self._poll(*self._later)
        while self._lines and not (self.closed or self._held or self._later):
            raw = self._lines.popleft()
            if raw is None:
                return _TOO_LONG
            command = read_line(raw)
            if command is not None and (answer := self._answer(*command)) is not None:
                return answer
        return None

    def _answer(self, name: str, arguments: list[str], identity: int | None) -> bytes | None:
        """Return the answer, or None if the command is held or its answer is not ready."""
        if name in self.slow:
            self._held = name, arguments, identity
            return None
        handler = self._handlers.get(name)
        if handler is None:
            return format_reply(Reply(False, "unknown command", identity))
        try:
            text = handler(arguments)
            if not isinstance(text, str):
                return self._poll(text, identity)
            answer = format_reply(Reply(True, text, identity))
        except Exception as error:
            return self._failure(error, identity)
        if name == "quit":
            self.closed = True
        return answer

    def _poll(self, later: Later, identity: int | None) -> bytes | None:
        self._later = None
        try:
            text = later()
            if text is not None:
                return format_reply(Reply(True, text, identity))
        except Exception as error:
            return self._failure(error, identity)
        self._later = later, identity
        return None

    def _failure(self, error: Exception, identity: int | None) -> bytes:
        """Return the answer for an exception: a bug in a handler must not end its user's session."""
        if isinstance(error, CommandFailed):
            return format_reply(Reply(False, _in_one_answer(str(error)), identity))
        if self._report is not None:
            self._report(error)
        text = _in_one_answer(f"internal error: {type(error).__name__}: {error}{place_of(error)}")
        return format_reply(Reply(False, text, identity))

    def _known_command(self, arguments: list[str]) -> str:
        return "true" if arguments and arguments[0] in self._handlers else "false"


def _in_one_answer(text: str) -> str:
    """Drop lines that would end the answer early once control characters are removed."""
    return "\n".join(line for line in text.split("\n") if line.strip(_BLANK))
