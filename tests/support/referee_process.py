"""A referee that runs in a test, and clients of it over ZeroMQ. No test is in here."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protocol.channel import Channel
from protocol.connection import PeerRole
from protocol.messages import Reply
from protocol.transports.blocking import run_blocking
from protocol.transports.zmq import Dealer
from tests.support.cli import Ggp, wait_until

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


@contextmanager
def on_stdin(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`ggp …` with pipes to its stdin and from its stdout."""
    process = subprocess.Popen(
        [sys.executable, "-m", "referee.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
