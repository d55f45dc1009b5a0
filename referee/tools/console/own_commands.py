"""A command of the console itself: a row of the table that help, completion and dispatch read."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ggp.protocol.errors import CodedError


class OwnFailed(CodedError):
    """A command of the console failed; str() says what to write instead."""

    code = "console-command"


class OwnCommand(NamedTuple):
    """A command of the console.

    Attributes:
        usage: The name and the arguments, as help shows them and completion reads them.
        help: One line for `:help`.
        run: Takes the console and the arguments and returns the text to show; raises OwnFailed.
        changes: The position may change, so the board is drawn again.
        kinds: Kinds of the arguments for completion, if `usage` does not say them.
        engine: The command needs a position on an engine.
    """

    usage: str
    help: str
    run: Callable[[Any, list[str]], str]
    changes: bool = False
    kinds: str = ""
    engine: bool = False

    @property
    def name(self) -> str:
        return self.usage.partition(" ")[0]

    @property
    def arguments(self) -> str:
        return self.usage.partition(" ")[2]
