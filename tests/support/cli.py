"""Runs `ggp …` as a user does, finds the processes that it leaves behind, and asks a referee that listens."""

import contextlib
import io
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ggp.protocol.channel import Channel
from ggp.protocol.connection import PeerRole
from ggp.protocol.messages import Reply
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.zmq import Dealer
from ggp.referee.cli.main import main

PYTHON = shlex.quote(sys.executable)  # as a word of a command line


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
            [sys.executable, "-m", "ggp.referee.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
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


def free_port() -> int:
    """A free port of 127.0.0.1, below those that the kernel assigns by default: it could assign one of those to another
    test before the caller listens."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="utf-8").split()[0])
    for _ in range(100):
        port = random.SystemRandom().randrange(10_000, max(lowest, 20_000))  # not seeded: tests run beside each other
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port of 127.0.0.1 is free")


def wait_until(done: Callable[[], bool], seconds: float = 180, seen: Callable[[], object] = str) -> None:
    """`seen` is what to show of it where it does not come to that."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"it did not come to that in {seconds} s: {seen()}"
        time.sleep(0.02)


SECONDS = 120.0


class Client:
    """Asks over ZeroMQ."""

    def __init__(self, url: str) -> None:
        self.channel = Channel(Dealer(url), PeerRole.ENGINE)

    def reply(self, line: str) -> Reply:
        return run_blocking(self.channel.ask(line, self.channel.now() + SECONDS))

    def ask(self, line: str) -> str:
        """The text of a success."""
        reply = self.reply(line)
        assert reply.ok, (line, reply.text)
        return reply.text

    def refused(self, line: str) -> str:
        """The text of a failure."""
        reply = self.reply(line)
        assert not reply.ok, (line, reply.text)
        return reply.text

    def facts(self, line: str) -> dict[str, str]:
        """The keys and values of an answer."""
        return read_facts(self.ask(line))

    def state(self) -> str:
        return self.facts("ggp-ladder")["state"]

    def close(self) -> None:
        self.channel.close()


def read_facts(text: str) -> dict[str, str]:
    """`key=value` words or lines; the last value of a line may hold blanks."""
    return dict(word.split("=", 1) for line in text.split("\n") for word in line.split(" ") if "=" in word)


class Referee(Ggp):
    """`ggp referee …` or another command of it that listens at an ipc address in this folder."""

    def __init__(self, folder: Path, *arguments: str, option: str = "--bind") -> None:
        self.url = f"ipc://{folder}/referee.ipc"
        super().__init__(*arguments, option, self.url)
        self.file = folder / "referee.ipc"

    def client(self) -> Client:
        """Once it listens."""
        wait_until(lambda: self.file.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.communicate()
        return Client(self.url)


def run_in(folder: Path, *words: str | Path, **environment: str) -> Ran:
    """Run a program in a folder; `environment` replaces the caller's, if there is any."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment or None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@contextmanager
def on_stdin(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`ggp …` with pipes to its stdin and from its stdout."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ggp.referee.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
