"""A command of the console itself: a row of the table that help, completion and dispatch read."""

from collections.abc import Callable
from typing import NamedTuple

from protocol.errors import CodedError


class OwnFailed(CodedError):
    """A command of the console failed; str() says what to write instead."""

    code = "console-command"


class OwnCommand(NamedTuple):
    """`usage` is the name and the arguments, as help shows them and completion reads them; `kinds`: other words for
    completion (see completion).

    `run` gets the arguments and returns the text to show; it raises OwnFailed. `changes`: the position may change, so
    the board is drawn again.
    """

    usage: str
    help: str
    run: Callable[[list[str]], str]
    changes: bool = False
    kinds: str = ""

    @property
    def name(self) -> str:
        return self.usage.partition(" ")[0]

    @property
    def arguments(self) -> str:
        return self.usage.partition(" ")[2]
