"""The console as a filter (each line of stdin to the peer, its answers to stdout unchanged), and on a dumb terminal."""

import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

from ggp.protocol.errors import PeerTimeout
from ggp.protocol.safe_files import without_mark
from ggp.protocol.standard_streams import OutputError
from ggp.referee.terminal import quote, visible
from ggp.referee.tools.console.console import Console
from ggp.referee.tools.console.dialogue import MOMENT, Exchange, PeerLost, streams
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.screen import PROMPT, ConsoleView

REFUSED, BROKEN = 1, 3
_CHUNK = 64 * 1024
_LOOK = 0.05  # seconds between looks at stdin and at the peer
_FIRST = 2  # lines of a stream: the mark, and the first of its text
_LONGEST_LINE = 1024 * 1024  # bytes of a line of stdin; more of it is cut off


class PipeConsole:
    """`run` sends every line of stdin."""

    def __init__(self, console: Console, *, as_json: bool, quiet: bool) -> None:
        self.console, self.dialogue = console, console.dialogue
        self.dialogue.passed = self._passed
        self._as_json, self._quiet = as_json, quiet
        self._status = 0
        self._stream: Exchange | None = None  # an answer that streams until the next line
        self._came = b""  # the beginning of the stream

    def _passed(self, mark: str, data: bytes, own: bool) -> None:
        """Copy the bytes that answer a line of stdin to stdout, unchanged."""
        if mark == "<" and not own:
            self._came = (self._came + data)[-_CHUNK:] if self._stream is not None else b""
            if not self._as_json:
                _write(data)
        if self.console.raw:
            self._note(f"{mark} {quote(data)}")

    def run(self) -> int:
        """The exit status."""
        self.console.begin()
        for line in _lines(self._pass_on):
            if self.console.is_own(line):
                self._end_stream(b"\n")
                self._do(line)
            else:
                self._send_line(line)
            self._pass_stderr()
            if self.console.ended:
                break
        self._end_stream(b"\n")
        return self._status

    def _send_line(self, line: str) -> None:
        try:
            exchange = self.dialogue.send_line(line)
            if exchange is None:
                return
            self._end_stream(b"")
            if streams(exchange.sent):
                self._begin_stream(exchange)
            else:
                self._await(exchange)
        except PeerLost as lost:
            self._stream = None
            self._break(line, str(lost))

    # -- an answer that streams until the next line ------------------------------------------------------------------

    def _begin_stream(self, exchange: Exchange) -> None:
        """Wait for its first line, so that a script without pauses sees a part of it. Raises PeerLost."""
        self._stream, self._came = exchange, b""
        deadline = self.dialogue.now() + MOMENT
        while exchange.reply is None and self._came.count(b"\n") < _FIRST and self.dialogue.now() < deadline:
            self.dialogue.pump(min(deadline, self.dialogue.now() + _LOOK))
        self._see_stream()

    def _pass_on(self) -> None:
        """Between lines of stdin: read the new part of the stream (see _passed)."""
        if self._stream is not None:
            try:
                self.dialogue.pump(self.dialogue.now() + _LOOK)
                self._see_stream()
            except PeerLost as lost:
                self._break(self._stream.sent, str(lost))
                self._stream = None

    def _end_stream(self, line: bytes) -> None:
        """End the stream by a line, which may be empty, and wait for the end of the answer."""
        exchange, self._stream = self._stream, None
        if exchange is None:
            return
        try:
            if line:
                self.dialogue.send(line)
                with contextlib.suppress(PeerTimeout):  # then the next command ends it, or the end of the console
                    self.dialogue.wait(exchange, self.dialogue.now() + MOMENT)
                    self._finish(exchange)
            else:
                self._await(exchange)
        except PeerLost as lost:
            self._break(exchange.sent, str(lost))

    def _see_stream(self) -> None:
        """Finish a stream that the peer ended, as after an unknown command."""
        if not self._as_json:
            self.dialogue.take_stream()  # it is on stdout: see passed
        if self._stream is not None and self._stream.reply is not None:
            exchange, self._stream = self._stream, None
            self._finish(exchange)

    def _await(self, exchange: Exchange) -> None:
        try:
            self.dialogue.wait(exchange, self.dialogue.now() + self.console.timeout)
        except PeerTimeout as error:
            self.dialogue.lost = f"{error} ({self.console.timeout:g} s): the peer's fault; PROTOCOL §2.8: never a hang"
            raise PeerLost(self.dialogue.lost) from None
        finally:
            for warning in self.dialogue.new_warnings():
                self._remark(f"{warning}; PROTOCOL §2.10: tolerated from a bot")
        self._finish(exchange)

    def _finish(self, exchange: Exchange) -> None:
        reply = exchange.reply
        assert reply is not None
        self.console.learner.forget(exchange.sent)
        if not reply.ok:
            self._status = max(self._status, REFUSED)
            if how := self.console.how_to_play(exchange.sent):
                self._remark(how)
        if self._as_json:
            self._object(exchange.sent, reply.ok, reply.text, reply.id, exchange.seconds)

    def _break(self, line: str, why: str) -> None:
        """Report once; the next lines are not sent."""
        if self._status != BROKEN or self._as_json:
            if self._as_json:
                self._object(line.strip(), None, why, None, 0.0)
            self._pass_stderr()
            self._note(why)
        self._status = BROKEN

    def _do(self, line: str) -> None:
        try:
            ok, text = True, self.console.run_own(line)
        except OwnFailed as failed:
            ok, text = False, str(failed)
            self._status = max(self._status, REFUSED)
        if self._as_json:
            self._object(line.strip(), ok, text, None, 0.0)
        elif not ok:
            self._note(text)
        elif text:
            _write(f"{visible(text)}\n".encode())
        if ok and self.dialogue.pending:  # what :send sent
            self._take_sent()

    def _take_sent(self) -> None:
        try:
            for exchange in list(self.dialogue.pending):
                self._await(exchange)
        except PeerLost as lost:
            self._break(":send", str(lost))

    def _object(self, sent: str, ok: bool | None, text: str, identity: int | None, seconds: float) -> None:
        key = "error" if ok is None else "text"
        facts = {"sent": sent, "ok": ok, key: text, "id": identity, "ms": round(seconds * 1000, 3)}
        _write(f"{json.dumps(facts)}\n".encode())

    def _pass_stderr(self) -> None:
        news = self.dialogue.stderr_news()
        if news and not self._quiet:
            _note(visible(news if news.endswith("\n") else f"{news}\n"))

    def _remark(self, text: str) -> None:
        if not self._quiet:
            self._note(text)

    def _note(self, text: str) -> None:
        _note("".join(f"ggp console: {visible(line)}\n" for line in text.splitlines()))


def _lines(meanwhile: Callable[[], None]) -> Iterator[str]:
    """The lines of stdin as they come, the last also without LF; `meanwhile` is called while none comes."""
    partial = b""
    first = True
    while data := _read(meanwhile):
        *lines, partial = (partial + data).split(b"\n")
        partial = partial[:_LONGEST_LINE]
        for line in lines:
            yield (without_mark(line) if first else line).decode("utf-8", "surrogateescape")
            first = False
    if partial:
        yield (without_mark(partial) if first else partial).decode("utf-8", "surrogateescape")


def _read(meanwhile: Callable[[], None]) -> bytes:
    while not select.select([0], [], [], _LOOK)[0]:
        meanwhile()
    return os.read(0, _CHUNK)


def _write(data: bytes) -> None:
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from None


def _note(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


# -- plain console: a line at a time, no escapes ----------------------------------------------------------------------


_SLICE = 0.1  # seconds between looks at the keyboard's Ctrl-C
_BOARD = 1.0  # seconds that the board may take after the answer, before one is asked for the next line
_READ_AT_ONCE = 4096


class PlainConsole:
    """`run` is the session."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._view = ConsoleView(console)
        self._interrupted = False
        self._typed = b""
        self._drawn: object = None

    def run(self) -> int:
        """The exit status."""
        self._view.begin()
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            self._wait(echo=True)
            while not self.console.ended and (line := self._read()) is not None:
                if self.console.is_own(line):
                    self._do(line)
                elif line.strip():
                    self._view.typed(line)
                    self._wait()
        finally:
            signal.signal(signal.SIGINT, before)
        return 0

    def _read(self) -> str | None:
        """The next line that is typed; None at the end."""
        self._view.refresh(0.0)
        self._show()
        _write_text(PROMPT)
        while b"\n" not in self._typed:
            if self._interrupted:
                self._interrupted, self._typed = False, b""
                _write_text(f"\n{PROMPT}")
            if not select.select([0], [], [], _SLICE)[0]:
                self._read_waiting()
                continue
            data = os.read(0, _READ_AT_ONCE)
            if not data:
                _write_text("\n")
                return None
            self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "surrogateescape")

    def _read_waiting(self) -> None:
        """Show what comes while a line is being typed, on lines of its own."""
        self._view.refresh(0.0)
        if self._view.out:
            _write_text("\n")
            self._show()
            _write_text(PROMPT)

    def _do(self, line: str) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._view.own(line)
        except KeyboardInterrupt:
            self._view.out.append(("", "interrupted\n"))
        finally:
            signal.signal(signal.SIGINT, self._interrupt)
        self._show(echo=False)
        if self.console.stale:  # the board comes before the next prompt, not after the next line
            self._wait(echo=True)

    def _wait(self, echo: bool = False) -> None:
        """Wait for all answers and the board; Ctrl-C ends the wait, and they come later."""
        self._interrupted = False
        self._show(echo=echo)
        dialogue = self.console.dialogue
        answered = dialogue.now()
        while self._view.busy and dialogue.now() < answered + _BOARD:
            if self._view.awaited is not None:
                answered = dialogue.now() + _SLICE
            self._view.refresh(_SLICE)
            self._show()
            if self._interrupted:
                self._interrupted = False
                self._view.interrupted()
                self._show()
                return

    def _show(self, echo: bool = True) -> None:
        """Show the output; `echo`: with the typed line, which the terminal shows already."""
        out, self._view.out[:] = list(self._view.out), []
        _write_text("".join(text for _, text in (out if echo else out[2:])))
        board = self._view.board
        if board is not self._drawn:
            self._drawn = board
            lines = ["".join(piece for _, piece in line) for line in board.captioned().lines] + self._view.notes()
            _write_text("".join(f"{line}\n" for line in lines))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True


def _write_text(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
