"""Plays matches of a series at a table in this process: real engine, real bots, short budgets. No worker, no file."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from ggp.protocol.records import MatchEnded, Record, read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import BotSpec, distinct, read_bot, read_engine, read_game
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.match_runner import MatchRunner, Suspended
from ggp.referee.match.process import NO_LIMITS
from ggp.referee.match.series import GameResult, SeriesConfig, prepare
from ggp.referee.match.setting import Setting, Timeouts

SHORT = Timeouts(start=20, command=5, new=5, agreement=2, quit=0.5, grace=0.2, stall=0.4)


def make_setup(
    game: str, one: str | BotSpec, two: str | BotSpec = "random", *, time: str = "20", **more: object
) -> SeriesConfig:
    """A Setup of two bots, as the command line would make it."""
    name, options = read_game(game)
    first, second = (read_bot(bot) if isinstance(bot, str) else bot for bot in (one, two))
    defaults, max_plies = _asked(game)
    first, second = distinct(first, second)
    setup = unasked_setup(Setting(name, options, defaults, TimeControl.parse(time)), (first, second), max_plies)
    return replace(setup, **more)  # type: ignore[arg-type]


@cache
def _asked(game: str) -> tuple[dict[str, str], int]:
    """The game's defaults and its limit on plies, as the engine says them."""
    first, second = distinct(read_bot("random"), read_bot("random"))
    name, options = read_game(game)
    asked, _ = prepare(unasked_setup(Setting(name, options, {}, TimeControl.parse("none")), (first, second), 0))
    return asked.setting.defaults, asked.max_plies


def unasked_setup(setting: Setting, bots: tuple[BotSpec, BotSpec], max_plies: int) -> SeriesConfig:
    return SeriesConfig(
        setting=setting,
        engine=read_engine(None),
        bots=bots,
        games=2,
        max_plies=max_plies,
        margin=50,
        seed=1,
        openings=0,
        budgets=SHORT,
        restart=False,
        extras=NO_LIMITS,
        pin=False,
        record="",
        referee="test",
    )


def script(text: str, name: str = "scripted") -> BotSpec:
    """A bot that is a piece of Python. It has `ask()`, the next line without its id, and `say(text, mark)`."""
    head = (
        "import os, sys, time\n"
        "def ask():\n"
        "    global i\n"
        "    line = sys.stdin.readline()\n"
        "    if not line: sys.exit()\n"
        "    i, _, rest = line.strip().partition(' ')\n"
        "    if not i.isdigit(): i, rest = '', line.strip()\n"
        "    return rest\n"
        "def say(text='', mark='='): print(mark + i + ' ' + text + '\\n', flush=True)\n"
    )
    return BotSpec(name, "script", (sys.executable, "-S", "-E", "-c", head + text))


class AtTable:
    """The outcome: every attempt, its record, and the suspended bot."""

    def __init__(self) -> None:
        self.played: list[GameResult] = []
        self.kept: list[bytes] = []
        self.suspended: Suspended | None = None

    def keep(self, record: bytes, result: GameResult) -> None:
        self.kept.append(record)
        self.played.append(result)

    @property
    def records(self) -> list[Record]:
        return list(read_records(b"".join(self.kept).splitlines(keepends=True)))

    def end(self, index: int = 0) -> MatchEnded:
        end = self.records[index].end
        assert end is not None
        return end


def play(
    setup: SeriesConfig, numbers: Sequence[int] = (0, 1), *, before: Callable[[MatchRunner], None] | None = None
) -> AtTable:
    """Play these matches; every process is gone when it returns."""
    came = AtTable()
    table = MatchRunner(came.keep)
    try:
        for number in numbers:
            if before is not None:
                before(table)
            run_blocking(table.play(setup, number))
    except Suspended as suspended:
        came.suspended = suspended
    finally:
        run_blocking(table.close())
    return came
