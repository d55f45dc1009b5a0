"""Peers for the tests of both ends of a conversation: a program with a few commands of no game, and scripted answers.

`python -m tests.support.answering_program` serves stdin; tests of the Responder call make_responder() in process.
"""

import os
import sys
import time

from ggp.protocol.channel import Channel
from ggp.protocol.connection import Connection, PeerRole, ReadLimits
from ggp.protocol.errors import CommandFailed, ProtocolError
from ggp.protocol.messages import Reply
from ggp.protocol.responder import Handler, Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from ggp.protocol.transports.pipe import report_on_stderr, serve_stdio

BOARD = "  A B\n2 . X\n1 # .\n  A B"


class Counter:
    """The state that a failed command must not change."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, arguments: list[str]) -> str:
        """Adds its number; a negative one is refused."""
        if int(arguments[0]) < 0:
            raise CommandFailed("illegal move: it is negative")
        self.value += int(arguments[0])
        return str(self.value)


def make_responder(**answers: str) -> Responder:
    """A Responder with its own state; `answers` are more commands that always answer the same."""

    def fail(arguments: list[str]) -> str:
        raise CommandFailed(" ".join(arguments).replace("|", "\n"))

    def stderr(arguments: list[str]) -> str:
        os.write(2, b"e" * int(arguments[0]))
        return ""

    def sleep(arguments: list[str]) -> str:
        time.sleep(float(arguments[0]))
        return ""

    def always(text: str) -> Handler:
        return lambda arguments: text

    handlers: dict[str, Handler] = {
        "add": Counter().add,
        "board": lambda arguments: "\n" + BOARD,
        "echo": " ".join,
        "empty-line": lambda arguments: "a\n\nb",
        "fail": fail,
        "many": lambda arguments: "x" * int(arguments[0]),
        "sleep": sleep,
        "stderr": stderr,
        "words": lambda arguments: "|".join(arguments),
        **{name: always(text) for name, text in answers.items()},
    }
    return Responder("Answerer", "1.0", handlers, report_on_stderr)


if __name__ == "__main__":
    serve_stdio(make_responder())
    sys.exit(0)


ENGINE, BOT = PeerRole.ENGINE, PeerRole.BOT


def hear(data: bytes, asked: int = 1, peer: PeerRole = ENGINE, limits: ReadLimits | None = None) -> list[Reply | str]:
    """What a Connection without ids makes of `data` and the end of the stream: replies, then the error's type."""
    connection = Connection(peer, limits)
    connection.send(*["name"] * asked)
    connection.receive(data)
    connection.receive(b"")
    return taken(connection)


def taken(connection: Connection) -> list[Reply | str]:
    heard: list[Reply | str] = []
    try:
        while (reply := connection.next_reply()) is not None:
            heard.append(reply)
    except ProtocolError as error:
        heard.append(type(error).__name__)
    return heard


def channel_to(*answers: bytes, peer: PeerRole = ENGINE) -> tuple[Channel, Memory]:
    """A channel to a peer that says one of `answers` to each write, and then is silent."""
    script = iter(answers)

    def answer(data: bytes) -> list[bytes]:
        said = next(script, None)
        return [] if said is None else [said]

    memory = Memory(answer)
    return Channel(memory, peer), memory


def ask(channel: Channel, line: str = "name") -> Reply:
    return run_blocking(channel.ask(line, channel.now() + 1))
