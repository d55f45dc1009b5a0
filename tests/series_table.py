"""Plays matches of a series at a table in this process: real engine, real bots, short budgets. No worker, no file."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from protocol.records import MatchEnded, Record, read_records
from protocol.transports.blocking import run_blocking
from referee.config import Budgets, Setting
from referee.play.clock import Control
from referee.play.prepare import prepare
from referee.play.seating import Extras, Start
from referee.play.series import Played, Setup
from referee.play.table import Suspended, Table
from referee.play.words import distinct, read_bot, read_engine, read_game

SHORT = Budgets(start=20, command=5, new=5, agreement=2, quit=0.5, grace=0.2, stall=0.4)


def make_setup(game: str, one: str | Start, two: str | Start = "random", *, time: str = "20", **more: object) -> Setup:
    """A Setup of two bots, as the command line would make it."""
    name, options = read_game(game)
    first, second = (read_bot(bot) if isinstance(bot, str) else bot for bot in (one, two))
    defaults, max_plies = _asked(game)
    setup = _setup(Setting(name, options, defaults, Control.parse(time)), distinct(first, second), max_plies)
    return replace(setup, **more)  # type: ignore[arg-type]


@cache
def _asked(game: str) -> tuple[dict[str, str], int]:
    """The game's defaults and its limit on plies, as the engine says them."""
    bots = distinct(read_bot("random"), read_bot("random"))
    name, options = read_game(game)
    asked, _ = prepare(_setup(Setting(name, options, {}, Control.parse("none")), bots, 0))
    return asked.setting.defaults, asked.max_plies


def _setup(setting: Setting, bots: tuple[Start, Start], max_plies: int) -> Setup:
    return Setup(
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
        extras=Extras(),
        pin=False,
        record="",
        referee="test",
    )


def script(text: str, name: str = "scripted") -> Start:
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
    return Start(name, "script", (sys.executable, "-S", "-E", "-c", head + text))


class AtTable:
    """What came of it: every attempt, its record, and who was suspended."""

    def __init__(self) -> None:
        self.played: list[Played] = []
        self.kept: list[bytes] = []
        self.suspended: Suspended | None = None

    def keep(self, record: bytes, facts: Played) -> None:
        self.kept.append(record)
        self.played.append(facts)

    @property
    def records(self) -> list[Record]:
        return list(read_records(b"".join(self.kept).splitlines(keepends=True)))

    def end(self, index: int = 0) -> MatchEnded:
        end = self.records[index].end
        assert end is not None
        return end


def play(setup: Setup, numbers: tuple[int, ...] = (0, 1), *, before: Callable[[Table], None] | None = None) -> AtTable:
    """Play these matches; every process is gone when it returns."""
    came = AtTable()
    table = Table(came.keep)
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
