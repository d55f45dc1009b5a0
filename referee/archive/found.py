"""A game as some file tells it, before an engine has looked at it: what sgf_games and scripts read, imported plays."""

from typing import NamedTuple

from protocol.drawing.scene import clean

MAX_FILE = 64 * 1024 * 1024
MAX_MOVES = 10_000


class CannotImport(Exception):
    """A game that no record can hold, or a file that holds none; str() says why and what to do.

    It may quote the file, so it is cleaned of what a terminal would obey.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(clean(reason))


class FoundMove(NamedTuple):
    """A move and who made it; `left` ms on that side's clock, None where the file does not say."""

    colour: str
    move: str
    left: int | None = None


class Found(NamedTuple):
    """A game, its moves as they are written in the file, and who says so.

    `players` by the colour they had in the end, black first. `result` as in RULES, "" for none. `problem`: why what
    comes after the moves cannot be held.
    """

    game: str
    options: dict[str, str]
    moves: tuple[FoundMove, ...]
    players: tuple[str, str] = ("", "")
    key: str = ""
    control: str = ""
    result: str = ""
    termination: str = ""
    date: str = ""
    source: str = ""
    problem: str = ""
