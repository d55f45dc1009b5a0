"""A command of the console itself: a row of the table that help, completion and dispatch read."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ggp.protocol.errors import CodedError


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


# -- the commands for the position on an engine (see workbench), which are imported when one is run ------------------


_BOTS = "BOT BOT BOT BOT"
_CONTROL = "[time=CONTROL] [games=N] [record=FILE]"
BENCH = (
    # usage, help, whether the position may change, other words for completion
    ("move MOVE …", "play moves for the side to move; `:D4` is short for :move D4", True, "MOVE"),
    ("back [N]", "N plies back (1)", True, ""),
    ("forward [N]", "N plies on (1), along the first continuation", True, ""),
    ("goto PLY", "to a ply: 17, -1 (the last), 17b or b of variation b; 0 is the start", True, ""),
    ("moves [PLY]", "the plies of this line; one with its time, analysis and comment", False, "PLAYED"),
    ("tree", "every line: the main one and the variations, with the names of their plies", False, ""),
    ("comment [TEXT]", "the comment on this position, or a new one; :comment - removes it", False, ""),
    ("info", "the game, the players, clocks, result, diagnostics of a fault", False, ""),
    ("why MOVE", "why a move is illegal here", True, ""),
    ("score", "the score of the position, and what it is made of", False, ""),
    (
        "ask [BOT …] [SECONDS]",
        "what the bots, or these, would play here, side by side",
        False,
        _BOTS,
    ),
    ("hint [BOT] [SECONDS]", "what a bot (the console's first) would play here, and why", False, ""),
    ("answer [BOT] [SECONDS]", "have a bot play the next ply", True, ""),
    ("eval", "what was said of this position", False, ""),
    (
        "graph [BOT] [SECONDS]",
        "Black's win rate along the line; SECONDS: ask BOT where it said nothing",
        True,
        "",
    ),
    ("bots [BOT …]", "the bots of the console; with words, more of them", False, _BOTS),
    (
        f"fork [BOT BOT] {_CONTROL}",
        "a new match from here; bots play, or a `human`",
        False,
        "PLAYER PLAYER",
    ),
    (
        "play BOT BOT GAMES [time=CONTROL] [record=FILE]",
        "a series from here in both seats",
        False,
        "",
    ),
    ("replay [SPEED]", "step through the line from here: as it was played, 10x, or 0.5 (seconds a ply)", True, ""),
    ("live", "follow the match while it is played; Ctrl-C ends that", True, ""),
)


def bench_rows(run: Callable[[str, list[str]], str]) -> list[OwnCommand]:
    """The rows of BENCH; `run` gets the name and the arguments."""
    return [
        OwnCommand(usage, help, partial(run, usage.partition(" ")[0]), changes, kinds)
        for usage, help, changes, kinds in BENCH
    ]
