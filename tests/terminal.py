"""Runs a command in a pseudo-terminal, as a person would: keys in, what stands on the screen out as plain text."""

import fcntl
import os
import re
import select
import struct
import sys
import termios
import time
import uuid
from pathlib import Path
from subprocess import Popen

_SEQUENCE = re.compile(r"\x1b(?:\[[?>\d;]*[A-Za-z]|\][^\x07]*\x07|[=>()][A-Z0-9]?)")
_WHERE = b"\x1b[6n"  # "where is the cursor?", which an editor of lines may ask


class Terminal:
    """A running `ggp …` on a terminal of its own. `with` ends it."""

    def __init__(self, *arguments: str, folder: Path | None = None, **environment: str) -> None:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        self._mark = f"GGP_TEST_MARK={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._process = Popen(
            [sys.executable, "-m", "referee.cli", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", **environment, name: value},
            cwd=folder,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self._terminal = ours
        self.text = ""  # all that was written so far, without control sequences
        self._seen = 0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Keys as a keyboard sends them: `\\r` is Enter, `\\x03` Ctrl-C."""
        os.write(self._terminal, keys.encode())

    def expect(self, text: str, seconds: float = 90) -> None:
        """Wait until this is written, after what was expected last."""
        deadline = time.monotonic() + seconds
        while (at := self.text.find(text, self._seen)) < 0:
            assert self._read(deadline - time.monotonic()), f"no {text!r} came after {self.text[self._seen :][:500]!r}"
        self._seen = at + len(text)

    def wait(self, seconds: float = 90) -> int:
        """The exit status; every process that it started has ended, too."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        status = self._process.wait(max(1.0, deadline - time.monotonic()))
        while left := self._left():
            assert time.monotonic() < deadline, left
            time.sleep(0.05)
        return status

    def _read(self, seconds: float) -> bool:
        """Take what comes; False at the end, or when nothing came in time."""
        if not select.select([self._terminal], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # nobody holds the other end any more
            return False
        if _WHERE in data:
            os.write(self._terminal, b"\x1b[1;1R")
        self.text += _SEQUENCE.sub("", data.decode("utf-8", "replace"))
        return bool(data)

    def _left(self) -> list[str]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


def _take_terminal() -> None:
    """Make it the one that Ctrl-C comes from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
