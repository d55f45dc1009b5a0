"""A program that answers the protocol with a few commands of no game, for the tests of both ends; it is no engine.

`python -m tests.support.answering_program` serves stdin; tests of the Responder call make_responder() in process.
"""

import os
import sys
import time

from protocol.errors import CommandFailed
from protocol.responder import Handler, Responder
from protocol.transports.pipe import report_on_stderr, serve_stdio

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
