"""A `ggp` at a terminal, and a screen that shows what was written to one."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.cells import get_character_cell_size

from tests.support.cli import marked

ENTER, TAB, CTRL_C, CTRL_D, UP, DOWN = "\r", "\t", "\x03", "\x04", "\x1b[A", "\x1b[B"
_SEQUENCE = re.compile(rb"\x1b(?:\[[?>\d;]*[A-Za-z]|[=>])")
_WHERE = b"\x1b[6n"  # "where is the cursor?", which an editor of lines may ask


class Terminal:
    """A running `ggp` and what stands on its screen. A context manager: nothing of it is left running."""

    def __init__(
        self,
        *arguments: str,
        home: Path,
        columns: int = 100,
        rows: int = 40,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.screen = TerminalScreen(columns, rows)
        self.written = b""  # all that came
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._expected = 0  # characters of `text` up to what was expected last
        self.mark = f"GGP_TEST_MARK={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        given = {
            "HOME": str(home),
            "TERM": "xterm-256color",
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            name: value,
        }
        self._master, slave = pty.openpty()
        self._size(columns, rows)
        # By a program: what preexec_fn runs may wait for ever for a lock that another thread of ours has at the fork.
        program = ["setsid", "--ctty", sys.executable, "-m", "ggp.referee.cli", *arguments]
        self.process = subprocess.Popen(
            program, stdin=slave, stdout=slave, stderr=slave, env={**given, **(environment or {})}
        )
        os.close(slave)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        """Keys, as they reach the program."""
        os.write(self._master, text.encode())

    def wait_for(self, seen: "str | Callable[[list[str]], bool]", seconds: float = 60) -> list[str]:
        """The screen's rows once a text stands there, or a condition holds."""
        deadline = time.monotonic() + seconds
        while True:
            rows = self.screen.rows
            if (any(seen in row for row in rows)) if isinstance(seen, str) else seen(rows):
                return rows
            assert time.monotonic() < deadline, f"not seen: {seen!r}\n" + "\n".join(rows)
            self._read(0.1)

    @property
    def text(self) -> str:
        """All that came, without control sequences: also what has left the screen."""
        return _SEQUENCE.sub(b"", self.written).decode("utf-8", "ignore")

    def expect(self, text: str, seconds: float = 90) -> None:
        """Wait until this is written, after what was expected last."""
        deadline = time.monotonic() + seconds
        while (at := self.text.find(text, self._expected)) < 0:
            left = deadline - time.monotonic()
            assert left > 0 and self._read(left), f"no {text!r} came after {self.text[self._expected :][:500]!r}"
        self._expected = at + len(text)

    def settle(self, seconds: float = 0.3) -> list[str]:
        """The rows once nothing has come for so long."""
        while self._read(seconds):
            pass
        return self.screen.rows

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(columns, rows)
        self._size(columns, rows)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def end(self, seconds: float = 60) -> int:
        """Its exit status, once it and all that it started have ended."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "\n".join(["it goes on:", *self.screen.rows])
            self._read(0.05)
        while self._read(0):
            pass
        while self.running():
            assert time.monotonic() < deadline, self.running()
            time.sleep(0.02)
        return self.process.returncode

    def running(self) -> list[str]:
        """The command lines of its processes that still run."""
        return [" ".join(words) for words in marked(self.mark).values()]

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the program has closed its side
            return False
        if _WHERE in data:
            self.type("\x1b[1;1R")
        self.written += data
        self.screen.write(self._decoder.decode(data))  # a read may end in the middle of a character
        return bool(data)

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def shown_on_terminal(
    *arguments: str, home: Path, columns: int = 100, environment: Mapping[str, str] | None = None
) -> list[str]:
    """The lines that `ggp` writes on a terminal of so many columns, styles included, once it has ended well."""
    with Terminal(*arguments, home=home, columns=columns, environment=environment) as terminal:
        status = terminal.end()
        assert status == 0, terminal.text
        return terminal.written.decode().split("\r\n")


_TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|([\r\n\b\a])|([^\x1b\r\n])", re.DOTALL)

_BEGUN = re.compile(r"\x1b(\[[?\d;]*)?")


class TerminalScreen:
    """Rows of cells and a cursor; `write` takes text with control sequences."""

    def __init__(self, width: int, height: int) -> None:
        self.cursor_shown = True
        self._cut = ""
        self._row = self._column = 0
        self.resize(width, height)
        self._cells = [[" "] * width for _ in range(height)]

    def resize(self, width: int, height: int) -> None:
        """The text is not moved: the program must clear it."""
        self._width, self._height = width, height
        if hasattr(self, "_cells"):
            kept = self._cells[-height:] + [[]] * (height - len(self._cells))
            self._cells = [(row + [" "] * width)[:width] for row in kept]
            self._row, self._column = min(self._row, height - 1), min(self._column, width)

    @property
    def rows(self) -> list[str]:
        """From the top, without blanks at the ends; the empty ones at the bottom are left out."""
        return "\n".join("".join(row).rstrip() for row in self._cells).rstrip().split("\n")

    def write(self, text: str) -> None:
        """As a terminal would; AssertionError for what this one does not know."""
        at, text, self._cut = 0, self._cut + text, ""
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None and _BEGUN.fullmatch(text, at):  # the rest comes with what is read next
                self._cut = text[at:]
                return
            assert token is not None, f"unknown control sequence {text[at : at + 20]!r}"
            at = token.end()
            parameters, final, control, character = token.groups()
            if final:
                self._control(parameters, final)
            elif control == "\b":
                self._column = max(0, self._column - 1)
            elif control == "\a":
                pass
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._next_row()
            else:
                self._put(character)

    def _control(self, parameters: str, final: str) -> None:
        if final == "A":
            self._row = max(0, self._row - int(parameters or 1))
        elif final == "B":
            self._row = min(self._height - 1, self._row + int(parameters or 1))
        elif final == "C":
            self._column = min(self._width - 1, self._column + int(parameters or 1))
        elif final == "D":
            self._column = max(0, min(self._column, self._width - 1) - int(parameters or 1))
        elif final == "H":
            row, _, column = parameters.partition(";")
            self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
        elif final == "J":
            first = 0 if parameters == "2" else self._row + 1
            self._cells[first:] = [[" "] * self._width for _ in range(self._height - first)]
            if first:
                self._erase_line(self._column)
        elif final == "K":
            self._erase_line(0 if parameters == "2" else self._column)
        elif parameters == "?25":
            self.cursor_shown = final == "h"
        elif final == "n":
            assert parameters == "6", f"unknown question {parameters}"  # the terminal answers it
        elif final in "hl":
            assert parameters in ("?2004", "?7", "?1", "?12"), f"unknown mode {parameters}"
        else:
            assert final == "m", f"unknown control sequence {parameters}{final}"

    def _erase_line(self, column: int) -> None:
        row = self._cells[self._row]
        row[column:] = [" "] * (self._width - column)

    def _put(self, character: str) -> None:
        cells = get_character_cell_size(character)
        if self._column + cells > self._width:
            self._column = 0
            self._next_row()
        if cells:
            self._cells[self._row][self._column : self._column + cells] = [character, *[""] * (cells - 1)]
            self._column += cells

    def _next_row(self) -> None:
        self._row += 1
        if self._row == self._height:
            self._row -= 1
            self._cells = [*self._cells[1:], [" "] * self._width]
