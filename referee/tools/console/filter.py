"""The console one line at a time: as a filter with unchanged answers, and on a dumb terminal."""

import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from types import FrameType

from ggp.protocol.errors import PeerTimeout
from ggp.protocol.safe_files import without_mark
from ggp.protocol.standard_streams import OutputError
from ggp.referee.terminal import quote, visible
from ggp.referee.tools.console.console import Console
from ggp.referee.tools.console.dialogue import MOMENT, Exchange, PeerLost, streams
from ggp.referee.tools.console.own_commands import ConsoleError
from ggp.referee.tools.console.view import PROMPT, ConsoleView

REFUSED, BROKEN = 1, 3
_CHUNK = 64 * 1024
_LOOK = 0.05  # seconds between checks of stdin and of the peer
_FIRST = 2  # lines of a stream: the mark, and the first of its text
_LONGEST_LINE = 1024 * 1024  # bytes of a line of stdin; the rest is cut off


class _Lines:
    """The lines of stdin as they arrive, the last one even without LF."""

    def __init__(self) -> None:
        self.partial = b""
        self._ended = self._begun = False

    def next(self, meanwhile: Callable[[], None]) -> str | None:
        """Return the next line, None at the end. Call `meanwhile` while waiting."""
        while b"\n" not in self.partial and not self._ended:
            if not select.select([0], [], [], _LOOK)[0]:
                meanwhile()
                continue
            data = os.read(0, _CHUNK)
            self._ended = not data
            if len(self.partial) < _LONGEST_LINE or b"\n" in data:
                self.partial += data
        if not self.partial:
            return None
        line, _, self.partial = self.partial.partition(b"\n")
        line, self._begun = line if self._begun else without_mark(line), True
        return line.decode("utf-8", "surrogateescape")


class PipeConsole:
    """The console as a filter; `run` sends every line of stdin."""

    def __init__(self, console: Console, *, as_json: bool, quiet: bool) -> None:
        self.console, self.dialogue = console, console.dialogue
        self.dialogue.passed = self._passed
        self._as_json, self._quiet = as_json, quiet
        self._status = 0
        self._stream: Exchange | None = None  # an answer that streams until the next line
        self._came = b""  # the latest bytes of the stream

    def run(self) -> int:
        """Run the filter, and return the exit status."""
        self.console.begin()
        lines = _Lines()
        while not self.console.ended and (line := lines.next(self._pass_on)) is not None:
            if self.console.is_own(line):
                self._end_stream(b"\n")
                self._run_own(line)
            else:
                self._send_line(line)
            self._pass_stderr()
        self._end_stream(b"\n")
        return self._status

    def _passed(self, mark: str, data: bytes, own: bool) -> None:
        """Copy the bytes that answer a line of stdin to stdout, unchanged."""
        if mark == "<" and not own:
            self._came = (self._came + data)[-_CHUNK:] if self._stream is not None else b""
            if not self._as_json:
                _write(data)
        if self.console.raw:
            _note(f"{mark} {quote(data)}")

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

    def _run_own(self, line: str) -> None:
        try:
            ok, text = True, self.console.run_own(line)
        except ConsoleError as failed:
            ok, text = False, str(failed)
            self._status = max(self._status, REFUSED)
        if self._as_json:
            self._object(line, ok, text)
        elif not ok:
            _note(text)
        elif text:
            _write(f"{visible(text)}\n".encode())
        try:
            for exchange in list(self.dialogue.pending) if ok else ():  # the commands of :send
                self._await(exchange)
        except PeerLost as lost:
            self._break(":send", str(lost))

    # -- an answer that streams until the next line ------------------------------------------------------------------

    def _begin_stream(self, exchange: Exchange) -> None:
        """Wait for the first line of a stream, so that a script without pauses sees a part of it.

        Raises:
            PeerLost: The peer is lost.
        """
        self._stream, self._came = exchange, b""
        deadline = self.dialogue.now() + MOMENT
        while exchange.reply is None and self._came.count(b"\n") < _FIRST and self.dialogue.now() < deadline:
            self.dialogue.pump(min(deadline, self.dialogue.now() + _LOOK))
        self._see_stream(exchange)

    def _pass_on(self) -> None:
        """Read the new part of the stream, which _passed copies."""
        if exchange := self._stream:
            try:
                self.dialogue.pump(self.dialogue.now() + _LOOK)
                self._see_stream(exchange)
            except PeerLost as lost:
                self._stream = None
                self._break(exchange.sent, str(lost))

    def _see_stream(self, exchange: Exchange) -> None:
        """Finish a stream that the peer ended, as after an unknown command."""
        if not self._as_json:
            self.dialogue.take_stream()  # already written to stdout: see _passed
        if exchange.reply is not None:
            self._stream = None
            self._finish(exchange)

    def _end_stream(self, line: bytes) -> None:
        """End the stream with a line, which may be empty, and wait for the end of the answer."""
        exchange, self._stream = self._stream, None
        if exchange is None:
            return
        try:
            if not line:
                self._await(exchange)
                return
            self.dialogue.send(line)
            with contextlib.suppress(PeerTimeout):  # the next command, or the end of the console, will end it
                self.dialogue.wait(exchange, self.dialogue.now() + MOMENT)
                self._finish(exchange)
        except PeerLost as lost:
            self._break(exchange.sent, str(lost))

    # -- answers and faults ------------------------------------------------------------------------------------------

    def _await(self, exchange: Exchange) -> None:
        """Wait for an answer, and finish it.

        Raises:
            PeerLost: The peer is lost or late.
        """
        try:
            self.dialogue.wait(exchange, self.dialogue.now() + self.console.timeout)
        except PeerTimeout as error:
            self.dialogue.lost = f"{error} ({self.console.timeout:g} s): the peer's fault; PROTOCOL §2.8: never a hang"
            raise PeerLost(self.dialogue.lost) from None
        finally:
            for warning in self.dialogue.new_warnings():
                self._remark(warning)
        self._finish(exchange)

    def _finish(self, exchange: Exchange) -> None:
        reply = exchange.reply
        assert reply is not None
        self.console.answered(exchange.sent)
        if not reply.ok:
            self._status = max(self._status, REFUSED)
            self._remark(self.console.how_to_play(exchange.sent))
        if self._as_json:
            self._object(exchange.sent, reply.ok, reply.text, reply.id, exchange.seconds)

    def _break(self, line: str, why: str) -> None:
        """Report once that the peer is lost. No more lines are sent."""
        if self._as_json:
            self._object(line, None, why)
        if self._status != BROKEN or self._as_json:
            self._pass_stderr()
            _note(why)
        self._status = BROKEN

    def _object(self, sent: str, ok: bool | None, text: str, identity: int | None = None, seconds: float = 0.0) -> None:
        key = "error" if ok is None else "text"
        facts = {"sent": sent.strip(), "ok": ok, key: text, "id": identity, "ms": round(seconds * 1000, 3)}
        _write(f"{json.dumps(facts)}\n".encode())

    def _pass_stderr(self) -> None:
        news = self.dialogue.stderr_news()
        if news and not self._quiet:
            _note(news, "")

    def _remark(self, text: str) -> None:
        if not self._quiet:
            _note(text)


def _write(data: bytes) -> None:
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from None


def _note(text: str, who: str = "ggp console: ") -> None:
    sys.stderr.write("".join(f"{who}{visible(line)}\n" for line in text.splitlines()))
    sys.stderr.flush()


# -- a dumb terminal: no escapes ---------------------------------------------------------------------------------------


_SLICE = 0.1  # seconds between checks for Ctrl-C
_BOARD = 1.0  # seconds to wait for the board after an answer, before the next prompt


class PlainConsole:
    """The console on a terminal without a movable cursor; `run` is the session."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._view = ConsoleView(console)
        self._interrupted = False
        self._lines = _Lines()
        self._drawn: object = None

    def run(self) -> int:
        """Run the session, and return the exit status."""
        self._view.begin()
        self._view.echo = False  # the terminal shows what is typed
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            self._wait()
            while not self.console.ended and (line := self._read()) is not None:
                if self.console.is_own(line):
                    self._run_own(line)
                elif line.strip():
                    self._view.typed(line)
                    self._wait()
        finally:
            signal.signal(signal.SIGINT, before)
        return 0

    def _read(self) -> str | None:
        """Return the next typed line, None at the end."""
        self._view.refresh(0.0)
        self._show(PROMPT)
        line = self._lines.next(self._while_typing)
        self._show("\n" if line is None else "")
        return line

    def _while_typing(self) -> None:
        """Show new output on separate lines. Ctrl-C discards what was typed."""
        if self._interrupted:
            self._interrupted, self._lines.partial = False, b""
            self._show(f"\n{PROMPT}")
        self._view.refresh(0.0)
        if self._view.out:
            self._view.out.insert(0, ("", "\n"))
            self._show(PROMPT)

    def _run_own(self, line: str) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._view.own(line)
        except KeyboardInterrupt:
            self._view.out.append(("", "interrupted\n"))
        finally:
            signal.signal(signal.SIGINT, self._interrupt)
        self._show()
        if self.console.stale:  # show the board before the next prompt, not after the next line
            self._wait()

    def _wait(self) -> None:
        """Wait for all answers and the board. Ctrl-C ends the wait; the answers are shown later."""
        self._interrupted = False
        dialogue = self.console.dialogue
        answered = dialogue.now()
        while self._view.busy and dialogue.now() < answered + _BOARD and not self._interrupted:
            if dialogue.awaited:
                answered = dialogue.now() + _SLICE
            self._show()
            self._view.refresh(_SLICE)
        if self._interrupted:
            self._interrupted = False
            self._view.interrupted()
        self._show()

    def _show(self, then: str = "") -> None:
        """Show the output, the board if it has changed, and a text."""
        out, self._view.out[:] = "".join(text for _, text in self._view.out), []
        lines = []
        if self._view.board is not self._drawn:
            self._drawn = board = self._view.board
            lines = ["".join(piece for _, piece in line) for line in board.captioned().lines] + self._view.notes()
        sys.stdout.write("".join([out, *(f"{line}\n" for line in lines), then]))
        sys.stdout.flush()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
