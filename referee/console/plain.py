"""The console on a terminal that can do nothing: a line at a time, no escapes, no board but what the peer draws."""

import os
import select
import signal
import sys
from types import FrameType

from referee.console.console import Console
from referee.console.talk import PROMPT, Talk

_SLICE = 0.1  # seconds between looks at the keyboard's Ctrl-C
_BOARD = 1.0  # seconds that the board may take after the answer, before one is asked for the next line
_CHUNK = 4096


class Plain:
    """`passed` is what the console's dialogue has to be given; `run` then is the session."""

    def __init__(self) -> None:
        self._talk = Talk()
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
        self._talk.look(0.0)
        self._show()
        _write(PROMPT)
        while b"\n" not in self._typed:
            if self._interrupted:
                self._interrupted, self._typed = False, b""
                _write(f"\n{PROMPT}")
            if not select.select([0], [], [], _SLICE)[0]:
                self._look()
                continue
            data = os.read(0, _CHUNK)
            if not data:
                _write("\n")
                return None
            self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "surrogateescape")

    def _look(self) -> None:
        """What comes while a line is being typed stands on lines of its own."""
        self._talk.look(0.0)
        if self._talk.out:
            _write("\n")
            self._show()
            _write(PROMPT)

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
            self._talk.look(_SLICE)
            self._show()
            if self._interrupted:
                self._interrupted = False
                self._talk.interrupted()
                self._show()
                return

    def _show(self, echo: bool = True) -> None:
        """All that is to be shown; the line that was typed stands there already."""
        out, self._talk.out[:] = list(self._talk.out), []
        _write("".join(text for _, text in (out if echo else out[2:])))
        board = self._talk.board
        if board is not self._drawn:
            self._drawn = board
            lines = ["".join(piece for _, piece in line) for line in board.captioned().lines] + self._talk.notes()
            _write("".join(f"{line}\n" for line in lines))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
