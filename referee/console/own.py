"""What a command of the console itself is: a row with a name, its help and what it does. Which there are, others say.

A line that begins with `:` or `!` is the console's own; every other line goes to the peer as it was typed.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple


class Word(StrEnum):
    """What may stand in an argument's place: what completion offers there."""

    MOVE = "move"
    PLY = "ply"
    PLAYED = "played ply"  # not the start
    BOT = "bot"
    PLAYER = "player"  # a bot, or a human
    FILE = "file"
    COMMAND = "command"
    TEXT = "text"


class OwnFailed(Exception):
    """A command of the console could not do what was asked; str() says what to write instead."""


class Own(NamedTuple):
    """One command of the console. `arguments` as help shows them, `words` what completion offers for each in turn.

    `run` gets the arguments and returns what is shown ("" for nothing); it raises OwnFailed. `changes`: whether the
    position may be another one afterwards, so that the board is drawn again.
    """

    name: str
    arguments: str
    help: str
    run: Callable[[list[str]], str]
    words: tuple[Word, ...] = ()
    changes: bool = False
