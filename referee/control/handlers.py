"""The commands of the referee and their answers: `key=value` words, one item a line.

Queries are answered in the client's thread from the published status, the store and the side files; commands that
change something run in the loop's thread.
"""

import shlex
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from protocol.commands import REFEREES, TABLE
from protocol.drawing import text
from protocol.drawing.scene import DrawingError, read_scene
from protocol.errors import CommandFailed
from protocol.grammar import MAX_ANSWER, MAX_ANSWER_LINES
from protocol.installed import version
from protocol.records import Record, read_records
from protocol.responder import Handler, Responder
from protocol.transports.blocking import run_blocking
from protocol.transports.pipe import report_on_stderr
from protocol.transports.zmq import is_loopback
from referee.control.control import CommandQueue, ControlStatus, MatchUnderWay, Series, SeriesRequest
from referee.ladder.views import read_crosstable, read_standings
from referee.play.bot_spec import (
    BotSpec,
    ProcessLimits,
    WordError,
    distinct,
    is_built_in,
    read_bot,
    read_engine,
    read_game,
    start_engine,
)
from referee.play.clock import ControlKind, TimeControl
from referee.play.engine import Engine, GameRefused
from referee.play.outcome import BotFault, EngineFailed
from referee.play.process import LaunchError
from referee.play.record_file import Recorder, RecorderError
from referee.play.series import PrepareError, SeriesConfig, SeriesTally, played, prepare
from referee.play.setting import Setting, Timeouts
from referee.ratings.scale import half
from referee.records import playing
from referee.store.model import Pool, PoolRow, StoreError
from referee.store.store import Store

_LONGEST_WAIT = 3600.0  # seconds
_WAIT = 60.0
_EVENTS = 20
_ROOM = MAX_ANSWER - 1000  # bytes of text in an answer


class QueryHandlers:
    """The handlers of the commands that look. `store`: of the ladder, None without one; `live`: what the names of the
    workers' side files begin with."""

    def __init__(self, desk: CommandQueue, store: Store | None, live: str) -> None:
        self._desk = desk
        self._store = store
        self._live = live

    # -- the ladder ------------------------------------------------------------------------------------------------

    def ladder(self, arguments: list[str]) -> str:
        """`name=… state=…`, a key a line; `error` is the rest of its line."""
        news = self._desk.news
        lines = [
            f"name={news.name}",
            f"state={news.state}",
            f"change={news.change}",
            f"stored={news.stored}",
            f"games={news.games}",
            f"plies={news.plies}",
            f"matches={len(news.under_way)}",
            f"workers={news.jobs}",
            f"seconds={time.monotonic() - news.began:.1f}",
        ]
        return "\n".join([*lines, f"error={_one_line(news.said)}"])

    def standings(self, arguments: list[str]) -> str:
        store = self._need_store()
        lines = []
        for pool in self._pools(store, arguments):
            found = read_standings(store, pool)
            zero = "anchors" if found.fit and found.fit.anchors else "mean"
            for rank, place in enumerate(found.places, 1):
                row, score, seat = place.row, place.score, place.seat
                lines.append(
                    f"pool={pool.name} rank={rank} name={seat.label} elo={row.elo:z.1f} error={half(row.se) or '-'}"
                    f" games={score.games} score={score.share:.4f} wins={score.wins} ties={score.ties}"
                    f" losses={score.losses} forfeits={score.forfeits} zero={zero}"
                )
        return _lines(lines)

    def crosstable(self, arguments: list[str]) -> str:
        """A line for every two that met, once: the points are of the first."""
        store = self._need_store()
        lines = []
        for pool in self._pools(store, arguments):
            table = read_crosstable(store, pool)
            order = {bot.id: rank for rank, bot in enumerate(table.bots)}
            labels = {bot.id: bot.label for bot in table.bots}
            for (one, two), score in sorted(table.cells.items(), key=lambda cell: [order[bot] for bot in cell[0]]):
                if order[one] < order[two]:
                    lines.append(
                        f"pool={pool.name} first={labels[one]} second={labels[two]} games={score.games}"
                        f" points={score.points:g} wins={score.wins} ties={score.ties} losses={score.losses}"
                    )
        return _lines(lines)

    def bots(self, arguments: list[str]) -> str:
        """The entries, pool by pool; `reason` is the rest of its line."""
        store = self._need_store()
        lines = []
        for pool in store.pools():
            faults: dict[str, int] = {}
            for (who, _), number in store.totals(pool.id).faults.items():
                faults[who] = faults.get(who, 0) + number
            scores = store.scores(pool.id)
            for seat in store.seats(pool.id):
                if not seat.entered:
                    continue
                state = "suspended" if seat.suspended else "active"
                games = sum(scores.get(seat.id, (0, 0, 0))[:3])
                reason = f" reason={_one_line(seat.suspended)}" if seat.suspended else ""
                lines.append(
                    f"pool={pool.name} name={seat.label} state={state} version={seat.version} games={games}"
                    f" faults={faults.get(seat.label, 0)}{reason}"
                )
        return _lines(lines)

    def events(self, arguments: list[str]) -> str:
        number = _EVENTS if not arguments else _count(arguments[0], 1, MAX_ANSWER_LINES)
        found = self._need_store().events(number)
        return _lines(f"{event.at} {event.kind} {_one_line(event.text)}" for event in found)

    # -- matches ---------------------------------------------------------------------------------------------------

    def matches(self, arguments: list[str]) -> str:
        """A line for each that is being played, and for each that waits in a worker's chunk (`ply=-`)."""
        now = time.monotonic()
        found: dict[str, Record] = {}
        for record in playing(self._live):
            found[_series(record.start.match)] = record
            found[record.start.match.partition(".")[0]] = record
        return _lines(_match_line(match, found.get(match.key), now) for match in self._desk.news.under_way)

    def game(self, arguments: list[str]) -> str:
        """The facts of a match; `detail` is the rest of its line."""
        record = self._record(arguments[0])
        start, end = record.start, record.end
        options = "".join(f",{name}={value}" for name, value in start.options.items())
        lines = [f"key={start.match}", f"game={start.game}{options}", f"time={start.control}"]
        for seat, bot in enumerate(start.bots, 1):
            ms = sum(ply.ms for ply in record.plies if ply.seat == seat)
            lines += [f"seat{seat}={bot.name}", f"ms{seat}={ms}"]
        lines.append(f"plies={len(record.plies)}")
        if end is None:
            return _lines([*lines, "state=playing"])
        lines += [
            "state=over",
            f"result={end.result or 'void'}",
            f"winner={end.winner}",
            f"termination={end.termination}",
        ]
        lines += [f"culprit={end.culprit}"] if end.culprit else []
        return _lines([*lines, f"ended={end.ended}", *([f"detail={_one_line(end.detail)}"] if end.detail else [])])

    def history(self, arguments: list[str]) -> str:
        record = self._record(arguments[0])
        if len(record.plies) > MAX_ANSWER_LINES - 2:
            raise CommandFailed(f"{len(record.plies)} plies do not fit in an answer of {MAX_ANSWER_LINES} lines")
        return _lines(f"{ply.seat} {ply.colour} {ply.move}" for ply in record.plies)

    def scene(self, arguments: list[str]) -> str:
        record, plies = self._position(arguments)
        return scene(self._engine(record.start.game), self._budgets, record, plies)

    def showboard(self, arguments: list[str]) -> str:
        record, plies = self._position(arguments)
        return board(self._engine(record.start.game), self._budgets, record, plies)

    def result(self, arguments: list[str]) -> str:
        """How a series stands; with SECONDS once it is over, or after so long. `reason` is the rest of its line."""
        key = arguments[0]
        if _find(self._desk.news, key) is None:
            raise CommandFailed(f"no series {key} was asked for here: ggp-match answers its key")
        seconds = _seconds(arguments[1]) if len(arguments) > 1 else 0.0
        news = self._desk.wait(lambda news: (one := _find(news, key)) is None or one.state != "playing", seconds)
        one = _find(news, key)
        if one is None:
            raise CommandFailed(f"the series {key} is over and forgotten")
        return (
            f"key={one.key} state={one.state} game={one.game} first={one.first} second={one.second} games={one.games}"
            f" played={one.played} wins={one.wins} draws={one.draws} losses={one.losses} void={one.void}"
            + f" reason={_one_line(one.reason)}"
            * bool(one.reason)
        )

    # -- the rest --------------------------------------------------------------------------------------------------

    def wait(self, arguments: list[str]) -> str:
        """`change=N state=…`, once the change is another than CHANGE, or than it is now."""
        seconds = _seconds(arguments[0]) if arguments else _WAIT
        since = _count(arguments[1], 0, 2**63) if len(arguments) > 1 else self._desk.news.change
        news = self._desk.wait(lambda news: news.change != since, seconds)
        return f"change={news.change} state={news.state} stored={news.stored} games={news.games}"

    def games(self, arguments: list[str]) -> str:
        return games(self._engine(""), self._budgets)

    def options(self, arguments: list[str]) -> str:
        if not arguments:
            raise CommandFailed("name a game: ggp-games lists them")
        return options(self._engine(arguments[0]), self._budgets, arguments[0])

    # --------------------------------------------------------------------------------------------------------------

    @property
    def _budgets(self) -> Timeouts:
        ladder = self._desk.news.ladder
        return ladder.budgets if ladder else Timeouts()

    def _engine(self, game: str) -> BotSpec:
        """That of the pool that plays the game, else of the first one, else ours."""
        ladder = self._desk.news.ladder
        pools = ladder.pools if ladder else ()
        found = [pool.engine for pool in pools if pool.setting.game == game] or [pool.engine for pool in pools]
        return found[0] if found else read_engine(None)

    def _need_store(self) -> Store:
        if self._store is None:
            raise CommandFailed("there is no ladder: this referee plays matches only")
        return self._store

    def _pools(self, store: Store, arguments: list[str]) -> Sequence[PoolRow]:
        pools = store.pools()
        if not arguments:
            return pools
        found = [pool for pool in pools if arguments[0] in (pool.name, pool.key)]
        if not found:
            raise CommandFailed(f"no pool {arguments[0]}: there are {', '.join(pool.name for pool in pools) or 'none'}")
        return found

    def _record(self, key: str) -> Record:
        """Of a match that is being played, was played for a client, or is stored."""
        for record in playing(self._live):
            if key in (record.start.match, _series(record.start.match)):
                return record
        data = self._desk.ask(lambda steering: steering.extras.record(key))
        if data is None and self._store is not None:
            data = self._store.record(key)
        if data is None:
            raise CommandFailed(f"no match {key}: ggp-matches lists those that are being played")
        (record,) = read_records(data.splitlines(keepends=True))
        return record

    def _position(self, arguments: list[str]) -> tuple[Record, int]:
        record = self._record(arguments[0])
        last = len(record.plies)
        return record, _count(arguments[1], 0, last) if len(arguments) > 1 else last


def _match_line(match: MatchUnderWay, record: Record | None, now: float) -> str:
    pool = f" pool={match.pool}" if match.pool else ""
    if record is None:
        return f"key={match.key}{pool} first={match.first} second={match.second} ply=- since={now - match.since:.1f}"
    start = record.start
    first, second = (bot.name for bot in start.bots)
    return (
        f"key={start.match}{pool} game={start.game} first={first} second={second} ply={len(record.plies)}"
        f" since={now - match.since:.1f}"
    )


def _find(news: ControlStatus, key: str) -> Series | None:
    return next((one for one in news.series if one.key == key), None)


def _series(key: str) -> str:
    return key.rpartition("-")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lines(lines: Iterable[str]) -> str:
    """The lines that fit into an answer; the last line counts the others."""
    fit: list[str] = []
    size, every = 0, list(lines)
    for line in every:
        size += len(line.encode()) + 1
        if size > _ROOM or len(fit) == MAX_ANSWER_LINES - 2:
            return "\n".join([*fit, f"cut={len(every) - len(fit)}"])
        fit.append(line)
    return "\n".join(fit)


def _count(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise CommandFailed(f"{text[:40]!r} is no number from {least} to {most}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise CommandFailed(f"{text[:40]!r} is no number of seconds from 0 to {_LONGEST_WAIT:.0f}")
    return seconds


# -- commands that change something -----------------------------------------------------------------------------------


_MOST_GAMES = 100_000
_OPTIONS = ("games", "time", "openings", "seed", "record")
_SYNTAX = f"syntax error: ggp-match {TABLE['ggp-match'].arguments}"


class CommandHandlers:
    """The handlers. `trusted`: the client may have programs started and files written that the ladder does not name."""

    def __init__(self, desk: CommandQueue, trusted: bool) -> None:
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

    def _setup(self, game: str, one: str, two: str, options: dict[str, str]) -> SeriesConfig:
        """As the words say, without what the engine adds."""
        ladder = self._desk.news.ladder
        pool = next((pool for pool in ladder.pools if pool.name == game), None) if ladder else None
        record = options.get("record", "")
        if record and not self._trusted:
            raise CommandFailed("record=FILE is for who asks on standard input or over ipc://: others write no files")
        return SeriesConfig(
            setting=_setting(game, pool, options.get("time")),
            engine=self._engine(game, pool),
            bots=distinct(self._bot(one), self._bot(two)),
            games=_number(options, "games", 1, _MOST_GAMES, 2),
            max_plies=pool.max_plies if pool else 0,
            margin=pool.margin if pool else 50,
            seed=_number(options, "seed", 0, 2**31 - 1, 1),
            openings=_number(options, "openings", 0, 1000, pool.openings if pool else 0),
            budgets=ladder.budgets if ladder else Timeouts(),
            restart=False,
            extras=ProcessLimits(),
            pin=True,
            record=str(Path(record).absolute()) if record else "",
            referee=f"general-game-protocol {version('general-game-protocol')}",
        )

    def _another(self, setup: SeriesConfig) -> SeriesConfig:
        """With the first seed that makes it another series than those that there are."""
        taken = {series.key for series in self._desk.news.series}
        while setup.series in taken:
            setup = replace(setup, seed=setup.seed + 1)
        return setup

    def _engine(self, game: str, pool: Pool | None) -> BotSpec:
        ladder = self._desk.news.ladder
        if pool is not None:
            return pool.engine
        name = game.partition(",")[0]
        found = [pool.engine for pool in ladder.pools if pool.setting.game == name] if ladder else []
        return found[0] if found else read_engine(None)

    def _bot(self, word: str) -> BotSpec:
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
        return Setting(setting.game, setting.options, {}, TimeControl.parse(time) if time else setting.control)
    name, options = read_game(game)
    return Setting(name, options, {}, TimeControl.parse(time or "10+0.1"))


def _order(setup: SeriesConfig) -> SeriesRequest:
    """With what its record file holds already. Raises RecorderError."""
    tally, done = SeriesTally(), set[int]()

    def keep(old: Record) -> None:
        number = setup.number(old.start.match)
        if number is not None and number < setup.games:
            facts = played(setup, number, old)
            tally.add(facts)
            if not facts.replayed:
                done.add(number)

    recorder = Recorder(Path(setup.record) if setup.record else None, keep)
    return SeriesRequest(setup, deque(number for number in range(setup.games) if number not in done), tally, recorder)


def _number(options: dict[str, str], name: str, least: int, most: int, otherwise: int) -> int:
    text = options.get(name, str(otherwise))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise CommandFailed(f"{name}={text[:40]}: a number from {least} to {most}")
    return int(text)


# -- the responder of one client --------------------------------------------------------------------------------------


NAME = "ggp-referee"
_MANY = 10_000  # words: a reason, a command line
Make = Callable[[bool], Responder]


def responders(desk: CommandQueue, store: Store | None, live: str = "") -> Make:
    """Makes the responder of a client, which is trusted or not (see CommandHandlers). `live`: see QueryHandlers."""
    answers = QueryHandlers(desk, store, live)
    return lambda trusted: Responder(
        NAME, version("general-game-protocol"), handlers(answers, CommandHandlers(desk, trusted)), report_on_stderr
    )


def handlers(answers: QueryHandlers, orders: CommandHandlers) -> dict[str, Handler]:
    """Every command of the referee but those that Responder answers itself."""
    return _checked(
        {
            "ggp-version": (0, 0, lambda arguments: "1"),
            "ggp-ladder": (0, 0, answers.ladder),
            "ggp-standings": (0, 1, answers.standings),
            "ggp-crosstable": (0, 1, answers.crosstable),
            "ggp-bots": (0, 0, answers.bots),
            "ggp-events": (0, 1, answers.events),
            "ggp-matches": (0, 0, answers.matches),
            "ggp-game": (1, 1, answers.game),
            "ggp-history": (1, 1, answers.history),
            "ggp-scene": (1, 2, answers.scene),
            "showboard": (1, 2, answers.showboard),
            "ggp-result": (1, 2, answers.result),
            "ggp-wait": (0, 2, answers.wait),
            "ggp-games": (0, 0, answers.games),
            "ggp-options": (0, 1, answers.options),
            "ggp-pause": (0, 0, orders.pause),
            "ggp-resume": (0, 0, orders.resume),
            "ggp-stop": (0, 1, orders.stop),
            "ggp-abort": (1, 1, orders.abort),
            "ggp-suspend": (2, _MANY, orders.suspend),
            "ggp-readmit": (1, 1, orders.readmit),
            "ggp-reload": (0, 0, orders.reload),
            "ggp-match": (3, _MANY, orders.match),
        }
    )


def _checked(rows: Mapping[str, tuple[int, int, Handler]]) -> dict[str, Handler]:
    """Handlers with the least and the most number of their arguments -> handlers that refuse others."""

    def check(name: str, least: int, most: int, handler: Handler) -> Handler:
        def answer(arguments: list[str]) -> str:
            if not least <= len(arguments) <= most:
                raise CommandFailed(f"syntax error: {name} {_usage(name)}".rstrip())
            try:
                return handler(arguments)
            except StoreError as error:
                raise CommandFailed(str(error)) from None

        return answer

    return {name: check(name, *row) for name, row in rows.items()}


def _usage(name: str) -> str:
    return (REFEREES.get(name) or TABLE[name]).arguments


# -- engines for board and drawing ------------------------------------------------------------------------------------


T = TypeVar("T")
_one = threading.Lock()


def games(start: BotSpec, budgets: Timeouts) -> str:
    """The games that the engine knows, one a line. Raises CommandFailed, as all here."""

    async def ask(engine: Engine) -> str:
        return "\n".join(await engine.games())

    return _asked(start, budgets, ask)


def options(start: BotSpec, budgets: Timeouts, game: str) -> str:
    """As the engine answers ggp-options."""
    return _asked(start, budgets, lambda engine: engine.option_lines(game))


def scene(start: BotSpec, budgets: Timeouts, record: Record, plies: int) -> str:
    """The drawing after so many plies, as one line of JSON."""
    return _asked(start, budgets, lambda engine: _scene(engine, record, plies))


def board(start: BotSpec, budgets: Timeouts, record: Record, plies: int) -> str:
    """The board after so many plies, as text without empty lines."""
    try:
        drawn = read_scene(scene(start, budgets, record, plies))
        lines = [*text.draw(drawn).splitlines(), *text.describe(drawn)]
    except DrawingError as error:
        raise CommandFailed(str(error)) from None
    return "\n".join(line for line in lines if line.strip())


async def _scene(engine: Engine, record: Record, plies: int) -> str:
    start = record.start
    if "ggp-scene" in engine.lacks:
        raise CommandFailed("the engine lists no ggp-scene: it cannot say what to draw")
    await engine.new_game(Setting(start.game, start.options, {}, TimeControl(ControlKind.NONE)).new_game)
    for ply in record.plies[:plies]:
        await engine.play(ply.colour, ply.move)
    return await engine.scene()


def _asked(start: BotSpec, budgets: Timeouts, ask: Callable[[Engine], Awaitable[T]]) -> T:
    async def session() -> T:
        engine = await start_engine(start, budgets, ProcessLimits())
        try:
            return await ask(engine)
        finally:
            await engine.peer.stop(kill=True)

    with _one:
        try:
            return run_blocking(session())
        except (EngineFailed, LaunchError, GameRefused, BotFault) as error:
            raise CommandFailed(" ".join(str(error).split())) from None
