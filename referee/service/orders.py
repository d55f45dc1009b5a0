"""What clients may order: the handlers of the commands that change something. Each is done by the loop, or refused.

What can be found out beforehand, such as whether a game has that option, is found out in the client's thread.
"""

import shlex
from collections import deque
from dataclasses import replace
from pathlib import Path

from protocol.commands import TABLE
from protocol.errors import CommandFailed
from protocol.installed import version
from protocol.records import Record
from protocol.transports.zmq import is_loopback
from referee.config import Budgets, Setting
from referee.ladder.entries import Pool
from referee.play.clock import Control
from referee.play.launch import LaunchError
from referee.play.prepare import PrepareError, prepare
from referee.play.recorder import Recorder, RecorderError
from referee.play.seating import Extras, Start
from referee.play.series import Setup, Tally, played
from referee.play.words import WordError, distinct, is_built_in, read_bot, read_engine, read_game
from referee.service.desk import Desk
from referee.service.series import Order

_MOST_GAMES = 100_000
_OPTIONS = ("games", "time", "openings", "seed", "record")
_SYNTAX = f"syntax error: ggp-match {TABLE['ggp-match'].arguments}"


class Orders:
    """The handlers. `trusted`: the client may have programs started and files written that the ladder does not name."""

    def __init__(self, desk: Desk, trusted: bool) -> None:
        self._desk = desk
        self._trusted = trusted

    def pause(self, arguments: list[str]) -> str:
        self._desk.ask(lambda steering: steering.pause())
        return ""

    def resume(self, arguments: list[str]) -> str:
        self._desk.ask(lambda steering: steering.resume())
        return ""

    def stop(self, arguments: list[str]) -> str:
        if arguments not in ([], ["after"]):
            raise CommandFailed("syntax error: ggp-stop [after]")
        self._desk.ask(lambda steering: steering.stop(bool(arguments)))
        return ""

    def abort(self, arguments: list[str]) -> str:
        self._desk.ask(lambda steering: steering.abort(arguments[0]))
        return ""

    def suspend(self, arguments: list[str]) -> str:
        bot, *reason = arguments
        self._desk.ask(lambda steering: steering.suspend(bot, " ".join(reason)))
        return ""

    def readmit(self, arguments: list[str]) -> str:
        self._desk.ask(lambda steering: steering.readmit(arguments[0]))
        return ""

    def reload(self, arguments: list[str]) -> str:
        self._desk.ask(lambda steering: steering.reload())
        return ""

    def match(self, arguments: list[str]) -> str:
        """The key of the series. Words are read as a shell reads them; many blanks in quotes are one."""
        try:
            words = shlex.split(" ".join(arguments))
        except ValueError as error:
            raise CommandFailed(f"{str(error).lower()}: a command line stands in quotes") from None
        if len(words) < 3:
            raise CommandFailed(_SYNTAX)
        options = _read_options(words[3:])
        try:
            asked, _ = prepare(self._setup(words[0], words[1], words[2], options))
            setup = asked if "seed" in options else self._another(asked)
            self._desk.ask(lambda steering: steering.extras.check(setup.series))
            order = _order(setup)
        except (WordError, LaunchError, PrepareError, RecorderError, ValueError) as error:
            raise CommandFailed(" ".join(str(error).split())) from None
        try:
            return self._desk.ask(lambda steering: steering.begin(order))
        except CommandFailed:
            order.recorder.close()
            raise

    # --------------------------------------------------------------------------------------------------------------

    def _setup(self, game: str, one: str, two: str, options: dict[str, str]) -> Setup:
        """As the words say, without what the engine adds."""
        ladder = self._desk.news.ladder
        pool = next((pool for pool in ladder.pools if pool.name == game), None) if ladder else None
        record = options.get("record", "")
        if record and not self._trusted:
            raise CommandFailed("record=FILE is for who asks on standard input or over ipc://: others write no files")
        return Setup(
            setting=_setting(game, pool, options.get("time")),
            engine=self._engine(game, pool),
            bots=distinct(self._bot(one), self._bot(two)),
            games=_number(options, "games", 1, _MOST_GAMES, 2),
            max_plies=pool.max_plies if pool else 0,
            margin=pool.margin if pool else 50,
            seed=_number(options, "seed", 0, 2**31 - 1, 1),
            openings=_number(options, "openings", 0, 1000, pool.openings if pool else 0),
            budgets=ladder.budgets if ladder else Budgets(),
            restart=False,
            extras=Extras(),
            pin=True,
            record=str(Path(record).absolute()) if record else "",
            referee=f"general-game-protocol {version('general-game-protocol')}",
        )

    def _another(self, setup: Setup) -> Setup:
        """With the first seed that makes it another series than those that there are."""
        taken = {series.key for series in self._desk.news.series}
        while setup.series in taken:
            setup = replace(setup, seed=setup.seed + 1)
        return setup

    def _engine(self, game: str, pool: Pool | None) -> Start:
        ladder = self._desk.news.ladder
        if pool is not None:
            return pool.engine
        name = game.partition(",")[0]
        found = [pool.engine for pool in ladder.pools if pool.setting.game == name] if ladder else []
        return found[0] if found else read_engine(None)

    def _bot(self, word: str) -> Start:
        """A bot of the ladder by its name, a built-in, tcp://HOST:PORT, or a command line."""
        ladder = self._desk.news.ladder
        for bot in ladder.bots if ladder else ():
            if bot.name == word:
                return bot.start
        start = read_bot(word)
        if not (self._trusted or start.url or is_built_in(start)):
            raise CommandFailed(
                f"{word[:80]!r} is no bot of the ladder and no built-in one: command lines are for who asks on standard"
                " input or over ipc://"
            )
        if start.url and not self._trusted and not (start.url.startswith("tcp://") and is_loopback(start.url)):
            raise CommandFailed(
                f"{word[:80]!r} is elsewhere: bots on other machines and at ipc:// are for who asks on standard input"
                " or over ipc://"
            )
        return start


def _read_options(words: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in _OPTIONS or not (equals and value) or name in options:
            raise CommandFailed(f"{word[:80]!r}: {_SYNTAX}")
        options[name] = value
    return options


def _setting(game: str, pool: Pool | None, time: str | None) -> Setting:
    if pool is not None:
        setting = pool.setting
        return Setting(setting.game, setting.options, {}, Control.parse(time) if time else setting.control)
    name, options = read_game(game)
    return Setting(name, options, {}, Control.parse(time or "10+0.1"))


def _order(setup: Setup) -> Order:
    """With what its record file holds already. Raises RecorderError."""
    tally, done = Tally(), set[int]()

    def keep(old: Record) -> None:
        number = setup.number(old.start.match)
        if number is not None and number < setup.games:
            facts = played(setup, number, old)
            tally.add(facts)
            if not facts.replayed:
                done.add(number)

    recorder = Recorder(Path(setup.record) if setup.record else None, keep)
    return Order(setup, deque(number for number in range(setup.games) if number not in done), tally, recorder)


def _number(options: dict[str, str], name: str, least: int, most: int, otherwise: int) -> int:
    text = options.get(name, str(otherwise))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise CommandFailed(f"{name}={text[:40]}: a number from {least} to {most}")
    return int(text)
