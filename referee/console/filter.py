"""The console as a filter (each line of stdin to the peer, its answers to stdout unchanged), and on a dumb terminal."""

import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

from protocol.errors import PeerTimeout
from referee.console.console import Console
from referee.console.dialogue import MOMENT, Exchange, PeerLost, streams
from referee.console.own_commands import OwnFailed
from referee.console.screen import PROMPT, ConsoleView
from referee.terminal import quote, visible

REFUSED, BROKEN = 1, 3
_CHUNK = 64 * 1024
_LOOK = 0.05  # seconds between looks at stdin and at the peer
_FIRST = 2  # lines of an answer that goes on: the mark, and the first of its text
_LONGEST_LINE = 1024 * 1024  # bytes of a line of stdin; more of it is cut off


class PipeConsole:
    """`passed` is what the console's dialogue has to be given; `run` then says every line."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet
        self._console: Console | None = None
        self._status = 0
        self._stream: Exchange | None = None  # an answer that goes on until the next line
        self._came = b""  # of it, as far as its first lines matter

    def passed(self, mark: str, data: bytes, own: bool) -> None:
        """Bytes on their way: those that answer a line of stdin go to stdout as they are."""
        if mark == "<" and not own:
            self._came = (self._came + data)[-_CHUNK:] if self._stream is not None else b""
            if not self._as_json:
                _write(data)
        if self._console is not None and self._console.raw:
            self._note(f"{mark} {quote(data)}")

    def run(self, console: Console) -> int:
        """The exit status."""
        self._console = console
        console.begin()
        for line in _lines(self._pass_on):
            if console.is_own(line):
                self._end_stream(b"\n")
                self._do(line)
            else:
                self._send_line(line)
            self._pass_stderr()
            if console.ended:
                break
        self._end_stream(b"\n")
        return self._status

    def _send_line(self, line: str) -> None:
        console = self._console
        assert console is not None
        try:
            exchange = console.dialogue.send_line(line)
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

    # -- an answer that goes on until the next line ------------------------------------------------------------------

    def _begin_stream(self, exchange: Exchange) -> None:
        """Wait for its first line alone, so that a script without pauses sees something of it. Raises PeerLost."""
        assert self._console is not None
        dialogue = self._console.dialogue
        self._stream, self._came = exchange, b""
        deadline = dialogue.now() + MOMENT
        while exchange.reply is None and self._came.count(b"\n") < _FIRST and dialogue.now() < deadline:
            dialogue.pump(min(deadline, dialogue.now() + _LOOK))
        self._see_stream()

    def _pass_on(self) -> None:
        """Between lines of stdin: what has come since goes out (see passed)."""
        if self._stream is not None and self._console is not None:
            try:
                self._console.dialogue.pump(self._console.dialogue.now() + _LOOK)
                self._see_stream()
            except PeerLost as lost:
                self._break(self._stream.sent, str(lost))
                self._stream = None

    def _end_stream(self, line: bytes) -> None:
        """Have the peer end the answer: any line does that, an empty one too. Then wait for its end."""
        exchange, self._stream = self._stream, None
        if exchange is None or self._console is None:
            return
        dialogue = self._console.dialogue
        try:
            if line:
                dialogue.send(line)
                with contextlib.suppress(PeerTimeout):  # then the next command ends it, or the end of the console
                    dialogue.wait(exchange, dialogue.now() + MOMENT)
                    self._finish(exchange)
            else:
                self._await(exchange)
        except PeerLost as lost:
            self._break(exchange.sent, str(lost))

    def _see_stream(self) -> None:
        """Whether it has ended by itself, as when the peer does not know the command."""
        if self._console is not None and not self._as_json:
            self._console.dialogue.take_stream()  # it is on stdout: see passed
        if self._stream is not None and self._stream.reply is not None:
            exchange, self._stream = self._stream, None
            self._finish(exchange)

    def _await(self, exchange: Exchange) -> None:
        console = self._console
        assert console is not None
        dialogue = console.dialogue
        try:
            dialogue.wait(exchange, dialogue.now() + console.timeout)
        except PeerTimeout as error:
            dialogue.lost = f"{error} ({console.timeout:g} s): the peer's fault; PROTOCOL §2.8: never a hang"
            raise PeerLost(dialogue.lost) from None
        finally:
            for warning in dialogue.new_warnings():
                self._remark(f"{warning}; PROTOCOL §2.10: tolerated from a bot")
        self._finish(exchange)

    def _finish(self, exchange: Exchange) -> None:
        console, reply = self._console, exchange.reply
        assert console is not None and reply is not None
        console.learner.forget(exchange.sent)
        if not reply.ok:
            self._status = max(self._status, REFUSED)
        if self._as_json:
            self._object(exchange.sent, reply.ok, reply.text, reply.id, exchange.seconds)

    def _break(self, line: str, why: str) -> None:
        """Told once: the lines that follow are not even tried."""
        if self._status != BROKEN or self._as_json:
            if self._as_json:
                self._object(line.strip(), None, why, None, 0.0)
            self._pass_stderr()
            self._note(why)
        self._status = BROKEN

    def _do(self, line: str) -> None:
        console = self._console
        assert console is not None
        try:
            ok, text = True, console.run_own(line)
        except OwnFailed as failed:
            ok, text = False, str(failed)
            self._status = max(self._status, REFUSED)
        if self._as_json:
            self._object(line.strip(), ok, text, None, 0.0)
        elif not ok:
            self._note(text)
        elif text:
            _write(f"{visible(text)}\n".encode())
        if ok and console.dialogue.pending:  # what :send sent
            self._take_sent()

    def _take_sent(self) -> None:
        console = self._console
        assert console is not None
        try:
            for exchange in list(console.dialogue.pending):
                self._await(exchange)
        except PeerLost as lost:
            self._break(":send", str(lost))

    def _object(self, sent: str, ok: bool | None, text: str, identity: int | None, seconds: float) -> None:
        key = "error" if ok is None else "text"
        facts = {"sent": sent, "ok": ok, key: text, "id": identity, "ms": round(seconds * 1000, 3)}
        _write(f"{json.dumps(facts)}\n".encode())

    def _pass_stderr(self) -> None:
        assert self._console is not None
        news = self._console.dialogue.stderr_news()
        if news and not self._quiet:
            _note(visible(news if news.endswith("\n") else f"{news}\n"))

    def _remark(self, text: str) -> None:
        if not self._quiet:
            self._note(text)

    def _note(self, text: str) -> None:
        _note("".join(f"ggp console: {visible(line)}\n" for line in text.splitlines()))


def _lines(meanwhile: Callable[[], None]) -> Iterator[str]:
    """The lines of stdin as they come, the last also without LF; `meanwhile` is called again and again before each."""
    partial = b""
    while data := _read(meanwhile):
        *lines, partial = (partial + data).split(b"\n")
        partial = partial[:_LONGEST_LINE]
        for line in lines:
            yield line.decode("utf-8", "surrogateescape")
    if partial:
        yield partial.decode("utf-8", "surrogateescape")


def _read(meanwhile: Callable[[], None]) -> bytes:
    while not select.select([0], [], [], _LOOK)[0]:
        meanwhile()
    return os.read(0, _CHUNK)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _note(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


# -- plain console: a line at a time, no escapes ----------------------------------------------------------------------


_SLICE = 0.1  # seconds between looks at the keyboard's Ctrl-C
_BOARD = 1.0  # seconds that the board may take after the answer, before one is asked for the next line
_READ_AT_ONCE = 4096


class PlainConsole:
    """`passed` is what the console's dialogue has to be given; `run` then is the session."""

    def __init__(self) -> None:
        self._talk = ConsoleView()
        self._interrupted = False
        self._typed = b""
        self._drawn: object = None
        self.passed = self._talk.passed

    def run(self, console: Console) -> int:
        """The exit status."""
        self._talk.begin(console)
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            self._wait(echo=True)
            while not console.ended and (line := self._read()) is not None:
                if console.is_own(line):
                    self._do(line)
                elif line.strip():
                    self._talk.typed(line)
                    self._wait()
        finally:
            signal.signal(signal.SIGINT, before)
        return 0

    def _read(self) -> str | None:
        """The next line that is typed; None at the end."""
        self._talk.refresh(0.0)
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
        """What comes while a line is being typed stands on lines of its own."""
        self._talk.refresh(0.0)
        if self._talk.out:
            _write_text("\n")
            self._show()
            _write_text(PROMPT)

    def _do(self, line: str) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._talk.own(line)
        except KeyboardInterrupt:
            self._talk.out.append(("", "interrupted\n"))
        finally:
            signal.signal(signal.SIGINT, self._interrupt)
        self._show(echo=False)
        if self._talk.console.stale:  # the board comes before the next prompt, not after the next line
            self._wait(echo=True)

    def _wait(self, echo: bool = False) -> None:
        """For the answers to all that was typed, and the board; Ctrl-C leaves them to come later."""
        self._interrupted = False
        self._show(echo=echo)
        dialogue = self._talk.console.dialogue
        answered = dialogue.now()
        while self._talk.busy and dialogue.now() < answered + _BOARD:
            if self._talk.awaited is not None:
                answered = dialogue.now() + _SLICE
            self._talk.refresh(_SLICE)
            self._show()
            if self._interrupted:
                self._interrupted = False
                self._talk.interrupted()
                self._show()
                return

    def _show(self, echo: bool = True) -> None:
        """All that is to be shown; the line that was typed stands there already."""
        out, self._talk.out[:] = list(self._talk.out), []
        _write_text("".join(text for _, text in (out if echo else out[2:])))
        board = self._talk.board
        if board is not self._drawn:
            self._drawn = board
            lines = ["".join(piece for _, piece in line) for line in board.captioned().lines] + self._talk.notes()
            _write_text("".join(f"{line}\n" for line in lines))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True


def _write_text(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
