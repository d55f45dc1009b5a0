"""The commands of the referee and their answers: `key=value` words, one item a line.

What the published status answers is answered at once. Commands that read the store or the side files, or start an
engine, run in the threads of a Background; commands that change something run in the loop's thread.
"""

import inspect
import shlex
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ggp.protocol.commands import REFEREES, TABLE
from ggp.protocol.drawing import text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.entry_points import version
from ggp.protocol.errors import CommandFailed
from ggp.protocol.grammar import MAX_ANSWER_LINES, fit_lines
from ggp.protocol.records import Record, read_records
from ggp.protocol.responder import LateHandler, Later, Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.pipe import report_on_stderr
from ggp.protocol.transports.zmq import is_loopback
from ggp.referee.ladder.queries import PoolSummary, read_crosstable
from ggp.referee.ladder.standings import read_standings
from ggp.referee.ladder.store.model import Pool, PoolRow, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.bot_spec import (
    BotSpec,
    LaunchError,
    WordError,
    distinct,
    is_built_in,
    read_bot,
    read_engine,
    read_game,
    with_version,
)
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import Engine, GameRefused, start_engine
from ggp.referee.match.outcome import BotFault, EngineFailed
from ggp.referee.match.process import NO_LIMITS
from ggp.referee.match.record_file import RecordFileError
from ggp.referee.match.replay import Replayer
from ggp.referee.match.series import PrepareError, SeriesConfig, prepare
from ggp.referee.match.series_run import resume_series
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.scale import half
from ggp.referee.records import playing, unpack
from ggp.referee.server.control.control import (
    BUSY,
    CommandQueue,
    ControlStatus,
    ExtraSeries,
    MatchUnderWay,
    RunController,
)

NAME = "ggp-referee"
Make = Callable[[bool], Responder]
_LONGEST_WAIT = 3600.0  # seconds
_WAIT = "60"
_EVENTS = "20"
_THREADS, _WAITING = 4, 128  # for slow answers; that run or wait
_MOST_GAMES = 100_000
_OPTIONS = ("games", "time", "openings", "seed", "record")


def responders(commands: CommandQueue, store: Store | None, live: str, background: "Background") -> Make:
    """Return a function that makes the responder of a client.

    Its argument says whether the client is trusted: such a client may start programs and write files that the ladder
    does not name.

    Args:
        store: The store of the ladder, None without one.
        live: What the names of the workers' side files begin with.
    """
    return lambda trusted: Responder(
        NAME,
        version("general-game-protocol"),
        RefereeCommands(commands, store, live, trusted).handlers(background),
        report_on_stderr,
    )


def _checked(name: str, function: Callable[..., str | Later], background: "Background | None" = None) -> LateHandler:
    """Return a handler that calls the function, in the background if there is one.

    The signature of the function says how many arguments its command takes.
    """
    signature = inspect.signature(function)

    def answer(arguments: list[str]) -> str | Later:
        try:
            signature.bind(*arguments)
        except TypeError:
            raise _syntax_error(name) from None
        return function(*arguments) if background is None else background.submit(function, *arguments)

    return answer


def _syntax_error(name: str) -> CommandFailed:
    return CommandFailed(f"syntax error: {name} {(REFEREES.get(name) or TABLE[name]).arguments}".rstrip())


class Background:
    """A few threads for answers that take long."""

    def __init__(self) -> None:
        block = (signal.SIG_SETMASK, signal.valid_signals())  # signals belong to the run loop
        self._threads = ThreadPoolExecutor(_THREADS, "answers", signal.pthread_sigmask, block)
        self._work: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], *arguments: str) -> Later:
        """Call the function in one of the threads. A refusal by the store is the answer."""

        def work() -> Any:
            try:
                return function(*arguments)
            except StoreError as error:
                raise CommandFailed(str(error)) from None

        self._work = [future for future in self._work if not future.done()]
        if len(self._work) >= _WAITING:
            raise CommandFailed(BUSY, code="busy")
        future = self._threads.submit(work)
        self._work.append(future)
        return lambda: future.result() if future.done() else None

    def close(self) -> None:
        """Start nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class RefereeCommands:
    """The commands of a client, but for those that Responder answers itself. An omitted argument is "".

    All methods for commands raise CommandFailed.
    """

    def __init__(self, commands: CommandQueue, store: Store | None, live: str = "", trusted: bool = False) -> None:
        """See responders."""
        self._commands, self._store, self._live, self._trusted = commands, store, live, trusted

    def handlers(self, background: Background) -> dict[str, LateHandler]:
        """Return the handlers by command."""
        slow: dict[str, Callable[..., str]] = {
            "ggp-standings": self.standings,
            "ggp-crosstable": self.crosstable,
            "ggp-bots": self.bots,
            "ggp-events": self.events,
            "ggp-matches": self.matches,
            "ggp-game": self.game,
            "ggp-history": self.history,
            "ggp-scene": self.scene,
            "showboard": self.showboard,
            "ggp-games": self.games,
            "ggp-options": self.options,
            "ggp-match": self.match,
        }
        later = self._commands.later
        quick: dict[str, Callable[..., str | Later]] = {
            "ggp-version": lambda: "1",
            "ggp-ladder": self.ladder,
            "ggp-result": self.result,
            "ggp-wait": self.wait,
            "ggp-pause": lambda: later(RunController.pause),
            "ggp-resume": lambda: later(RunController.resume),
            "ggp-stop": self.stop,
            "ggp-abort": lambda key: later(lambda controller: controller.abort(key)),
            "ggp-suspend": lambda bot, reason, *more: later(
                lambda controller: controller.suspend(bot, " ".join((reason, *more)))
            ),
            "ggp-readmit": lambda bot: later(lambda controller: controller.readmit(bot)),
            "ggp-reload": lambda: later(RunController.reload),
        }
        in_thread = {name: _checked(name, function, background) for name, function in slow.items()}
        return in_thread | {name: _checked(name, function) for name, function in quick.items()}

    # -- the ladder ------------------------------------------------------------------------------------------------

    def ladder(self) -> str:
        """Return the state of the run, a key a line. `error` is the rest of its line."""
        status = self._commands.status
        return (
            f"name={status.name}\nstate={status.state}\nchange={status.change}\nstored={status.stored}\n"
            f"games={status.games}\nplies={status.plies}\nmatches={len(status.under_way)}\nworkers={status.jobs}\n"
            f"seconds={time.monotonic() - status.began:.1f}\nerror={_one_line(status.message)}"
        )

    def standings(self, pool_name: str = "") -> str:
        """Return a line for each bot of a pool or of all pools, best first."""
        lines = []
        for pool in self._pools(pool_name):
            found = read_standings(self._need_store(), pool)
            zero = "anchors" if found.fit and found.fit.anchors else "mean"
            for rank, place in enumerate(found.places, 1):
                score, error = place.score, half(place.se) or "-"
                lines.append(
                    f"pool={pool.name} rank={rank} name={place.seat.label} elo={place.elo:z.1f} error={error}"
                    f" games={score.games} score={score.share:.4f} wins={score.wins} ties={score.ties}"
                    f" losses={score.losses} forfeits={score.forfeits} zero={zero}"
                )
        return fit_lines(lines)

    def crosstable(self, pool_name: str = "") -> str:
        """Return a line for every two bots that met. The points are the first one's."""
        return fit_lines(
            f"pool={pool.name} first={first.label} second={second.label} games={score.games} points={score.points:g}"
            f" wins={score.wins} ties={score.ties} losses={score.losses}"
            for pool in self._pools(pool_name)
            for first, second, score in read_crosstable(self._need_store(), pool).pairs
        )

    def bots(self) -> str:
        """Return the entries, pool by pool. `reason` is the rest of its line."""
        return fit_lines(
            f"pool={pool.pool.name} name={seat.label} state={'suspended' if seat.suspended else 'active'}"
            f" version={seat.version} games={pool.bot(seat).score.games} faults={pool.faults[seat.label]}"
            + (f" reason={_one_line(seat.suspended)}" if seat.suspended else "")
            for pool in (PoolSummary(self._need_store(), row) for row in self._need_store().pools())
            for seat in pool.standings.seats
            if seat.entered
        )

    def events(self, number: str = _EVENTS) -> str:
        """Return the last events of the ladder."""
        found = self._need_store().events(_count(number, 1, MAX_ANSWER_LINES))
        return fit_lines(f"{event.at} {event.kind} {_one_line(event.text)}" for event in found)

    # -- matches ---------------------------------------------------------------------------------------------------

    def matches(self) -> str:
        """Return a line for each running match, and for each that waits in a worker's batch (`ply=-`)."""
        now = time.monotonic()
        found: dict[str, Record] = {}
        for record in playing(self._live):
            found[_pair_of(record.start.match)] = record
            found[record.start.match.partition(".")[0]] = record
        return fit_lines(_match_line(match, found.get(match.key), now) for match in self._commands.status.under_way)

    def game(self, key: str) -> str:
        """Return the facts of a match, a key a line. `detail` is the rest of its line."""
        record = self._record(key)
        start, end = record.start, record.end
        options = "".join(f",{name}={value}" for name, value in start.options.items())
        facts: dict[str, object] = {"key": start.match, "game": f"{start.game}{options}", "time": start.control}
        for seat, bot in enumerate(start.bots, 1):
            facts[f"seat{seat}"] = bot.name
            facts[f"ms{seat}"] = sum(ply.ms for ply in record.plies if ply.seat == seat)
        facts |= {"plies": len(record.plies), "state": "playing" if end is None else "over"}
        if end is not None:
            facts |= {"result": end.result or "void", "winner": end.winner, "termination": end.termination}
            facts |= {"culprit": end.culprit} if end.culprit else {}
            facts |= {"ended": end.ended}
            facts |= {"detail": _one_line(end.detail)} if end.detail else {}
        return _words(facts, "\n")

    def history(self, key: str) -> str:
        """Return the moves of a match, a line each."""
        record = self._record(key)
        if len(record.plies) > MAX_ANSWER_LINES - 2:
            raise CommandFailed(f"{len(record.plies)} plies do not fit in an answer of {MAX_ANSWER_LINES} lines")
        return fit_lines(f"{ply.seat} {ply.colour} {ply.move}" for ply in record.plies)

    def scene(self, key: str, ply: str = "") -> str:
        """Return the drawing after so many plies (all by default), as one line of JSON."""
        record = self._record(key)
        last = len(record.plies)
        plies = _count(ply, 0, last) if ply else last
        return self._ask_engine(record.start.game, lambda engine: _scene(engine, record, plies))

    def showboard(self, key: str, ply: str = "") -> str:
        """Return the board after so many plies, as text without empty lines."""
        try:
            drawn = read_scene(self.scene(key, ply))
            lines = [*text.draw(drawn).splitlines(), *text.describe(drawn)]
        except DrawingError as error:
            raise CommandFailed(str(error)) from None
        return "\n".join(line for line in lines if line.strip())

    def result(self, key: str, seconds: str = "0") -> Later:
        """Return the score of a series, once it is over or after so many seconds. `reason` is the rest of its line."""
        commands = self._commands
        if key not in commands.status.series:
            raise CommandFailed(f"no series {key} was asked for here: ggp-match answers its key")
        until = time.monotonic() + _seconds(seconds)

        def answer() -> str | None:
            series = commands.status.series.get(key)
            if series is None:
                raise CommandFailed(f"the series {key} is over and forgotten")
            if series.state == "playing" and time.monotonic() < until and not commands.closed:
                return None
            facts = asdict(series) | {"reason": _one_line(series.reason)}
            return _words({name: value for name, value in facts.items() if name != "reason" or value})

        return answer

    # -- the rest --------------------------------------------------------------------------------------------------

    def wait(self, seconds: str = _WAIT, change: str = "") -> Later:
        """Return `change=N state=…` once the change differs from this one (by default the current one)."""
        commands = self._commands
        until = time.monotonic() + _seconds(seconds)
        since = _count(change, 0, 2**63) if change else commands.status.change

        def answer() -> str | None:
            now = commands.status
            if now.change == since and time.monotonic() < until and not commands.closed:
                return None
            return f"change={now.change} state={now.state} stored={now.stored} games={now.games}"

        return answer

    def games(self) -> str:
        """Return the games of the engine."""

        async def ask(engine: Engine) -> str:
            return "\n".join(await engine.games())

        return self._ask_engine("", ask)

    def options(self, game: str = "") -> str:
        """Return the options of a game."""
        if not game:
            raise CommandFailed("name a game: ggp-games lists them")
        return self._ask_engine(game, lambda engine: engine.option_lines(game))

    # -- commands that change something ---------------------------------------------------------------------------

    def stop(self, after: str = "") -> Later:
        """End the run now, or `after` the running matches."""
        if after not in ("", "after"):
            raise _syntax_error("ggp-stop")
        return self._commands.later(lambda controller: controller.stop(bool(after)))

    def match(self, *line: str) -> str:
        """Start a series of `GAME FIRST SECOND [OPTION…]` and return its key.

        The words are read as a shell reads them, but several blanks in quotes count as one.
        """
        try:
            words = shlex.split(" ".join(line))
        except ValueError as error:
            raise CommandFailed(f"{str(error).lower()}: a command line stands in quotes") from None
        if len(words) < 3:
            raise _syntax_error("ggp-match")
        options = _read_options(words[3:])
        taken = self._commands.status.series
        try:
            setup, _ = prepare(self._setup(words[0], words[1], words[2], options))
            while setup.series in taken:
                if "seed" in options:
                    raise CommandFailed(f"{setup.series} is such a series already: choose another seed=N")
                setup = replace(setup, seed=setup.seed + 1)
            (run,), recorder = resume_series([setup])
        except (WordError, LaunchError, PrepareError, RecordFileError, ValueError) as error:
            raise CommandFailed(_one_line(str(error))) from None
        try:
            return self._commands.ask(lambda c: c.begin(ExtraSeries(setup, run.left, run.tally, recorder)))
        except CommandFailed:
            recorder.close()
            raise

    # --------------------------------------------------------------------------------------------------------------

    def _setup(self, game: str, one: str, two: str, options: dict[str, str]) -> SeriesConfig:
        """Return the series that the words describe, without what the engine adds. Raises CommandFailed, Problem."""
        status, record = self._commands.status, options.get("record", "")
        ladder = status.ladder
        pool = next((pool for pool in ladder.pools if pool.name == game), None) if ladder else None
        if record and not self._trusted:
            raise CommandFailed("record=FILE is for clients on standard input or ipc://: others write no files")
        first, second = distinct(self._bot(one), self._bot(two))
        return SeriesConfig(
            setting=_setting(game, pool, options.get("time")),
            engine=pool.engine if pool else _engine_for(status, game.partition(",")[0]),
            bots=(first, second),
            games=_count(options.get("games", "2"), 1, _MOST_GAMES, "games="),
            max_plies=pool.max_plies if pool else 0,
            margin=pool.margin if pool else 50,
            seed=_count(options.get("seed", "1"), 0, 2**31 - 1, "seed="),
            openings=_count(options.get("openings", str(pool.openings if pool else 0)), 0, 1000, "openings="),
            budgets=ladder.budgets if ladder else Timeouts(),
            restart=False,
            extras=NO_LIMITS,
            pin=True,
            record=str(Path(record).absolute()) if record else "",
            referee=f"general-game-protocol {version('general-game-protocol')}",
        )

    def _bot(self, word: str) -> BotSpec:
        """Find a bot of the ladder by its name, or read a built-in, tcp://HOST:PORT or a command line."""
        ladder = self._commands.status.ladder
        for bot in ladder.bots if ladder else ():
            if bot.name == word:
                return bot.start
        start = with_version(read_bot(word))
        if self._trusted or is_built_in(start) or (start.url.startswith("tcp://") and is_loopback(start.url)):
            return start
        problem = "is on another machine or at ipc://" if start.url else "is no bot of the ladder and no built-in one"
        raise CommandFailed(f"{word[:80]!r} {problem}: such bots are for clients on standard input or over ipc://")

    def _ask_engine(self, game: str, ask: Callable[[Engine], Awaitable[str]]) -> str:
        """Start an engine, ask it, and end it. Raises CommandFailed."""
        ladder = self._commands.status.ladder
        spec, budgets = _engine_for(self._commands.status, game), ladder.budgets if ladder else Timeouts()

        async def session() -> str:
            engine = await start_engine(spec, budgets)
            try:
                return await ask(engine)
            finally:
                await engine.peer.stop(kill=True)

        try:
            return run_blocking(session())
        except (EngineFailed, GameRefused, BotFault) as error:
            raise CommandFailed(_one_line(str(error))) from None

    def _need_store(self) -> Store:
        if self._store is None:
            raise CommandFailed("there is no ladder: this referee plays matches only")
        return self._store

    def _pools(self, name: str) -> Sequence[PoolRow]:
        """Return the pool of this name or key, all for ""."""
        pools = self._need_store().pools()
        found = [pool for pool in pools if name in ("", pool.name, pool.key)]
        if name and not found:
            raise CommandFailed(f"no pool {name}: there are {', '.join(pool.name for pool in pools) or 'none'}")
        return found

    def _record(self, key: str) -> Record:
        """Return the record of a running match, of one of an extra series, or of a stored one. Raises CommandFailed."""
        for record in playing(self._live):
            if key in (record.start.match, _pair_of(record.start.match)):
                return record
        packed = self._commands.status.records.get(key)
        data = None if packed is None else unpack(packed)
        if data is None and self._store is not None:
            data = self._store.record(key)
        if data is None:
            raise CommandFailed(f"no match {key}: ggp-matches lists those that are being played")
        (record,) = read_records(data.splitlines(keepends=True))
        return record


async def _scene(engine: Engine, record: Record, plies: int) -> str:
    if "ggp-scene" in engine.lacks:
        raise CommandFailed("the engine lists no ggp-scene: it cannot say what to draw")
    await Replayer(engine).go_to(record.start, record.plies, plies)
    return await engine.scene()


def _engine_for(status: ControlStatus, game: str) -> BotSpec:
    """Return the engine of the pool that plays the game, else of the first pool, else ours."""
    pools = status.ladder.pools if status.ladder else ()
    found = [pool.engine for pool in pools if pool.setting.game == game] or [pool.engine for pool in pools]
    return found[0] if found else read_engine(None)


def _match_line(match: MatchUnderWay, record: Record | None, now: float) -> str:
    facts: dict[str, object] = {"key": record.start.match if record else match.key}
    facts |= {"pool": match.pool} if match.pool else {}
    facts |= {"game": record.start.game} if record else {}
    first, second = (bot.name for bot in record.start.bots) if record else (match.first, match.second)
    facts |= {"first": first, "second": second, "ply": len(record.plies) if record else "-"}
    return _words(facts | {"since": f"{now - match.since:.1f}"})


def _pair_of(key: str) -> str:
    return key.rpartition("-")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _words(facts: Mapping[str, object], between: str = " ") -> str:
    """`key=value` words."""
    return between.join(f"{key}={value}" for key, value in facts.items())


def _count(text: str, least: int, most: int, name: str = "") -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise CommandFailed(f"{name + text[:40]!r} is no number from {least} to {most}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise CommandFailed(f"{text[:40]!r} is no number of seconds from 0 to {_LONGEST_WAIT:.0f}")
    return seconds


def _read_options(words: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in _OPTIONS or not (equals and value) or name in options:
            raise CommandFailed(f"{word[:80]!r}: {_syntax_error('ggp-match')}")
        options[name] = value
    return options


def _setting(game: str, pool: Pool | None, time: str | None) -> Setting:
    if pool is not None:
        return replace(pool.setting, defaults={}, control=TimeControl.parse(time) if time else pool.setting.control)
    name, options = read_game(game)
    return Setting(name, options, {}, TimeControl.parse(time or "10+0.1"))
