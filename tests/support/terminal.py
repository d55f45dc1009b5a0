"""Runs `ggp …` in a pseudo-terminal, types, and looks at the screen as a person would (see screen)."""

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
from types import TracebackType

from tests.support.cli import marked
from tests.support.screen import TerminalScreen

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
        program = ["setsid", "--ctty", sys.executable, "-m", "referee.cli", *arguments]
        self.process = subprocess.Popen(
            program, stdin=slave, stdout=slave, stderr=slave, env={**given, **(environment or {})}
        )
        os.close(slave)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def answer_to(self, key: str) -> float:
        """Seconds from a key to the first that the program writes."""
        began = time.perf_counter()
        self.type(key)
        assert self._read(60), "nothing came"
        return time.perf_counter() - began

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
