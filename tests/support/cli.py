"""Runs `ggp …` as a user does, and looks for what it leaves behind."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from referee.cli import main


class Ran(NamedTuple):
    """How the command ended and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


started: list["Ggp"] = []


def end_all() -> None:
    """Whatever a test that failed has left running would take the time of all others."""
    while started:
        running = started.pop()
        if running.process.returncode is None:
            running.process.kill()
            for pid in marked(running.mark):  # any of them may hold our pipes open
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            running.process.communicate(timeout=60)


class Ggp:
    """A running `ggp`; every process that it starts carries a mark in its environment."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.mark = f"GGP_TEST_MARK={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "referee.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(environment or {}), name: value},
            start_new_session=True,
        )
        started.append(self)

    def wait(self, seconds: float = 180) -> Ran:
        """Its end. Everything that it started has ended too, or an AssertionError names it."""
        out, err = self.process.communicate(timeout=seconds)
        wait_until(lambda: not self.running(), seen=self.running)
        return Ran(self.process.returncode, out, err)

    def running(self) -> list[str]:
        """The command lines of its processes that still run."""
        return [" ".join(words) for words in marked(self.mark).values()]


def ggp(*arguments: str, seconds: float = 180) -> Ran:
    return Ggp(*arguments).wait(seconds)


def ggp_in_process(*arguments: str) -> Ran:
    """Run a command that starts nothing in this process, which is quicker."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*arguments])
    return Ran(status, out.getvalue(), err.getvalue())


def marked(mark: str) -> dict[int, list[str]]:
    """The processes with this in their environment, NAME=VALUE, by pid: the words of their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
    return found


def wait_until(done: Callable[[], bool], seconds: float = 180, seen: Callable[[], object] = str) -> None:
    """`seen` is what to show of it where it does not come to that."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"it did not come to that in {seconds} s: {seen()}"
        time.sleep(0.02)
