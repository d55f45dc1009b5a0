"""The description of a console command, used by help, completion and dispatch."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ggp.protocol.errors import CodedError

if TYPE_CHECKING:
    from ggp.referee.tools.console.console import Console


class ConsoleError(CodedError):
    """A failed command of the console; str() says what to write instead."""

    code = "console-command"


class OwnCommand(NamedTuple):
    """A command of the console."""

    usage: str  # name and arguments, optional ones in brackets; `…` repeats the arguments before it
    help: str
    run: "Callable[[Console, list[str]], str]"  # returns the text to show; raises ConsoleError
    engine: bool = False  # it needs a position on an engine
    changes: bool = False  # the position may change, so the board is drawn again
    quick: bool = False  # it does not wait for an answer, so the prompt can stay open

    @property
    def name(self) -> str:
        """Return the name of the command."""
        return self.usage.partition(" ")[0]

    @property
    def arguments(self) -> str:
        """Return the arguments in the usage."""
        return self.usage.partition(" ")[2]

    def check(self, words: list[str]) -> None:
        """Check the number of arguments.

        Raises:
            ConsoleError: There are too few or too many.
        """
        least = len(re.sub(r"\[.*?\]|…", "", self.arguments).split())
        most = 10_000 if "…" in self.arguments else len(self.arguments.split())
        if not least <= len(words) <= most:
            raise ConsoleError(f"write :{self.usage}" + ("" if self.arguments else " alone"), code="usage")
