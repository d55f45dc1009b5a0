"""The commands of the console itself: the table that help, completion and dispatch read."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

# -- a command of the console -----------------------------------------------------------------------------------------


class ArgumentKind(StrEnum):
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


class OwnCommand(NamedTuple):
    """One command of the console. `arguments` as help shows them, `words` what completion offers for each in turn.

    `run` gets the arguments and returns what is shown ("" for nothing); it raises OwnFailed. `changes`: whether the
    position may be another one afterwards, so that the board is drawn again.
    """

    name: str
    arguments: str
    help: str
    run: Callable[[list[str]], str]
    words: tuple[ArgumentKind, ...] = ()
    changes: bool = False
