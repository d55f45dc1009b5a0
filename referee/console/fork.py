"""The console's commands to continue from a position: a match with other players, a series, a hint.

They never write to the replayed record.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import click

from protocol.connection import PeerRole
from protocol.entry_points import version
from protocol.messages import Reply
from protocol.records import Event, MatchStarted, MovePlayed
from protocol.transports.blocking import run_blocking
from referee.archive.places import RecordSource, open_match
from referee.console.console import Console
from referee.console.dialogue import Target, listening, process
from referee.console.own_commands import OwnCommand, OwnFailed
from referee.console.replay import (
    ANOTHER_GAME,
    Ask,
    MatchCaption,
    ReplayCursor,
    ReplayPosition,
    analysis_lines,
    line_of,
)
from referee.console.replay import rows as travel_rows
from referee.match_command import progress_bar
from referee.match_report import effect_of, score_line, status_line
from referee.play.bot_spec import ENGINE, BotSpec, LaunchError, WordError, distinct, is_human, read_bot
from referee.play.clock import TimeControl
from referee.play.engine import AGREE, OVER, Status
from referee.play.human import announce, open_terminal, play_by_hand
from referee.play.outcome import BotFault, CannotStart
from referee.play.player import Player, start_bot
from referee.play.pool import SeriesReport, new_run, run_series
from referee.play.process import NO_LIMITS
from referee.play.record_file import Recorder, RecorderError
from referee.play.series import PrepareError, SeriesConfig, prepare
from referee.play.setting import Setting, Timeouts, new_game
from referee.ratings.scale import in_elo
from referee.terminal import clean

# -- hints ------------------------------------------------------------------------------------------------------------


_TIME = "5/move"  # for a bot that is asked without a time
_MOST_HINT_BOTS = 4  # bots kept alive at a time


class BotHints:
    """Asks bots for their moves, and keeps a few alive."""

    def __init__(self, ask: Ask) -> None:
        """`ask` asks the engine."""
        self._ask_engine = ask
        self._defaults: dict[str, str] | None = None  # of the game's options, which plain GTP bots have to be told
        self._players: dict[BotSpec, Player] = {}

    def ask(self, cursor: ReplayCursor, bot: BotSpec, control: str) -> str:
        """A bot's move here, its time and its analysis. Raises OwnFailed."""
        at, status = cursor.where(), cursor.status()
        if not at.known:
            raise OwnFailed(ANOTHER_GAME, code="another-game")
        if status.phase == OVER:
            raise OwnFailed("the game is over: there is nothing to play", code="game-over")
        setting = self._setting(cursor, control)
        try:
            reply, seconds, analyses = run_blocking(self._ask(bot, setting, at, cursor, status))
        except CannotStart as error:
            self._dismiss(bot)
            raise OwnFailed(clean(f"{error.who}: {error}")) from None
        except BotFault as fault:
            self._dismiss(bot)
            raise OwnFailed(clean(f"{bot.name}: {fault.termination}: {fault}")) from None
        except BaseException:  # Ctrl-C: it may still be thinking
            self._dismiss(bot)
            raise
        if not reply:
            raise OwnFailed(f"{bot.name} does not say which stones are dead")
        move, _, analysis = reply.partition("\n")
        legal = "" if move.lower() == "resign" else self._illegal(cursor, move)
        lines = [clean(f"{bot.name}: {move}, {seconds:.3f} s{legal}")]
        return "\n".join([*lines, *(analysis_lines(analysis) if analyses and analysis else [])])

    def close(self) -> None:
        """End every bot."""
        for bot in list(self._players):
            self._dismiss(bot)

    async def _ask(
        self, bot: BotSpec, setting: Setting, at: ReplayPosition, cursor: ReplayCursor, status: Status
    ) -> tuple[str, float, bool]:
        player = self._players.pop(bot, None)
        if player is not None and player.peer.exited():
            await player.peer.stop(kill=True)
            player = None
        player = self._players[bot] = player or await start_bot(bot)
        await self._make_room()
        await player.new_game(setting)
        for colour, move in cursor.coloured(at):
            player.tell(colour, move)
        began = time.monotonic()
        if status.phase == AGREE and not player.agrees_by_genmove:
            return await player.dead_stones() or "", time.monotonic() - began, False
        clock = setting.control.clock()
        reply, ms = await player.genmove(status.to_play, clock, setting.control.clock())
        if not reply.ok:
            raise OwnFailed(clean(f"{bot.name} answers `? {reply.text[:200]}`"))
        return reply.text, ms / 1000, player.analyses

    async def _make_room(self) -> None:
        while len(self._players) > _MOST_HINT_BOTS:
            await self._players.pop(next(iter(self._players))).peer.stop()

    def _dismiss(self, bot: BotSpec) -> None:
        if player := self._players.pop(bot, None):
            run_blocking(player.peer.stop(kill=True))

    def _setting(self, cursor: ReplayCursor, control: str) -> Setting:
        start = cursor.record.start
        if self._defaults is None:
            listed = self._ask_engine(f"ggp-options {start.game}")
            rows = [line.split() for line in listed.text.splitlines()] if listed.ok else []
            self._defaults = {row[0]: row[2] for row in rows if len(row) > 2}
        text = f"{control}/move" if control.replace(".", "", 1).isdecimal() else control or _TIME
        try:
            return Setting(start.game, start.options, self._defaults, TimeControl.parse(text))
        except ValueError as error:
            raise OwnFailed(str(error)) from None

    def _illegal(self, cursor: ReplayCursor, move: str) -> str:
        if len(move.split()) != 1:
            return ": not a move"
        reason = cursor.why(move)
        return f": illegal: {reason}" if reason else ""


_MOST_PLIES = 100_000  # games of a series
_OPTIONS = {"time", "games", "record"}


class _Asked(NamedTuple):
    """The arguments of :fork or :play: bots (none, or two), and options."""

    bots: list[str]
    options: dict[str, str]


def rows(cursor: ReplayCursor, engine: BotSpec, show: Callable[[str], None], hints: BotHints) -> list[OwnCommand]:
    """The commands :fork, :play and :hint. `engine`: each new match has a process of its own of it."""

    def fork(words: list[str]) -> str:
        asked = _read(words, "fork", _OPTIONS)
        setup = _setup(cursor, engine, asked, human=True)
        games = _games(asked.options.get("games", "1"))
        return _fork(replace(setup, games=games), _record(asked), show)

    def play(words: list[str]) -> str:
        asked = _read(
            [*words[:2], *(f"games={word}" if word.isdecimal() else word for word in words[2:])], "play", _OPTIONS
        )
        if len(asked.bots) != 2 or "games" not in asked.options:
            raise OwnFailed("write :play BOT BOT GAMES [time=CONTROL] [record=FILE]", code="usage")
        setup = _setup(cursor, engine, asked, human=False)
        return _series(replace(setup, games=_games(asked.options["games"])), _record(asked))

    def hint(words: list[str]) -> str:
        if not 1 <= len(words) <= 2:
            raise OwnFailed("write :hint BOT [SECONDS or another time control]", code="usage")
        return hints.ask(cursor, _bot(words[0], human=False), words[1] if len(words) > 1 else "")

    options = "[time=CONTROL] [games=N] [record=FILE]"
    own = "a new match from here; its own bots play, or yours, or a `human`"
    series = "a series from here, seats exchanged after each game"
    return [
        OwnCommand(f"fork [BOT BOT] {options}", own, fork, kinds="PLAYER PLAYER"),
        OwnCommand("play BOT BOT GAMES [time=CONTROL] [record=FILE]", series, play),
        OwnCommand("hint BOT [SECONDS]", "what it would play here, and why", hint),
    ]


# -- what is asked for ----------------------------------------------------------------------------------


def _read(words: list[str], name: str, known: set[str]) -> _Asked:
    """`name=value` with a known name is an option, every other word a bot."""
    options: dict[str, str] = {}
    bots = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key in known:
            options[key] = value
        else:
            bots.append(word)
    if len(bots) not in (0, 2):
        raise OwnFailed(f":{name} takes two bots, for seat 1 and seat 2, and {len(bots)} were given")
    return _Asked(bots, options)


def _setup(cursor: ReplayCursor, engine: BotSpec, asked: _Asked, human: bool) -> SeriesConfig:
    """The series that begins here, by the rules of the replayed match. Raises OwnFailed."""
    at, start = cursor.where(), cursor.record.start
    if not at.known:
        raise OwnFailed(ANOTHER_GAME, code="another-game")
    words = asked.bots or [f"{bot.name}={bot.command}" if bot.command else "" for bot in start.bots]
    if not all(words):
        raise OwnFailed("the record does not say how its bots are started: name two")
    first, second = distinct(_bot(words[0], human), _bot(words[1], human))
    if (is_human(first) or is_human(second)) and not sys.stdin.isatty():
        raise OwnFailed("a human plays at a terminal, and here every line is a command")
    control = "none" if is_human(first) or is_human(second) else start.control
    try:
        setup = SeriesConfig(
            setting=Setting(start.game, start.options, {}, TimeControl.parse(asked.options.get("time", control))),
            engine=engine,
            bots=(first, second),
            games=1,
            max_plies=0,
            margin=start.margin,
            seed=1,
            openings=0,
            budgets=Timeouts(),
            restart=False,
            extras=NO_LIMITS,
            pin=True,
            record=asked.options.get("record", ""),
            referee=f"general-game-protocol {version('general-game-protocol')}",
            position=at.moves,
        )
        return prepare(setup)[0]
    except (ValueError, PrepareError) as error:
        raise OwnFailed(clean(str(error))) from None


def _bot(word: str, human: bool) -> BotSpec:
    try:
        return read_bot(word, human=human)
    except (WordError, LaunchError) as error:
        raise OwnFailed(str(error)) from None


def _games(text: str) -> int:
    if not (text.isdecimal() and len(text) < 9 and 1 <= int(text) <= _MOST_PLIES):
        raise OwnFailed(f"{text!r} is no number of games between 1 and {_MOST_PLIES}", code="usage")
    return int(text)


def _record(asked: _Asked) -> Recorder:
    """The record of the new matches, if any, in a new file."""
    name = asked.options.get("record")
    if name and Path(name).exists():
        raise OwnFailed(f"{name} is there already: name a new file to record to", code="file-exists")
    try:
        return Recorder(Path(name) if name else None)
    except RecorderError as error:
        raise OwnFailed(str(error)) from None


# -- playing --------------------------------------------------------------------------------------------


def _fork(setup: SeriesConfig, recorder: Recorder, show: Callable[[str], None]) -> str:
    """Play in this process, and show each ply."""
    terminal = open_terminal(sys.stdout)
    humans = any(map(is_human, setup.bots))
    begun = len(setup.position)

    ends: list[str] = []

    def seen(event: Event) -> None:
        if isinstance(event, MovePlayed):
            if event.ply > begun and not humans:
                show(line_of(event))
        elif line := announce(event):
            ends[:] = [line]
            if isinstance(event, MatchStarted):
                show(line)

    with recorder:
        report = play_by_hand(new_run(setup), recorder, terminal, seen)
    _obey(report)
    if report.stopped:
        return "dropped; the record is unchanged"
    if reason := _failure(report):
        raise OwnFailed(reason)
    lines = ends[-1:] if setup.games == 1 else [_score(report)]
    return "\n".join([*lines, *([f"record: {setup.record}"] if setup.record else [])])


def _series(setup: SeriesConfig, recorder: Recorder) -> str:
    """As `ggp match` plays it: on every core, with a bar on a terminal."""
    from rich.console import Console

    report, terminal = SeriesReport([new_run(setup)]), Console(stderr=True)
    jobs = min(len(os.sched_getaffinity(0)), setup.games)
    with recorder, progress_bar(terminal) if terminal.is_terminal else nullcontext() as bar:
        task = bar.add_task(setup.setting.game, total=setup.games, score="") if bar else None

        def seen(report: SeriesReport) -> None:
            if bar and task is not None:
                bar.update(task, completed=report.runs[0].done, score=status_line(report))

        run_series(report, jobs, recorder, seen)
    _obey(report)
    if reason := _failure(report):
        raise OwnFailed(reason)
    lines = ["stopped"] if report.stopped else []
    lines += [_score(report)]
    ends = ", ".join(f"{what} {count}" for what, count in report.tally.terminations.most_common())
    lines += [f"ended by: {ends}"] if ends else []
    return "\n".join([*lines, *([f"record: {setup.record}"] if setup.record else [])])


def _obey(report: SeriesReport) -> None:
    """Raise again a signal that ended the new match, except Ctrl-C, which is for that match alone."""
    if report.stopped not in (0, signal.SIGINT):
        signal.raise_signal(signal.Signals(report.stopped))


def _failure(report: SeriesReport) -> str:
    for who, reason in report.suspended.items():
        return clean(f"{who} cannot play: {reason}")
    return report.failed or ("a worker process died" if report.deaths else "")


def _score(report: SeriesReport) -> str:
    """The score and the difference in Elo with its error, or a bound after a clean sweep."""
    black, white = report.tally.colours
    line = f"{score_line(report)}; black {black.points:g}, white {white.points:g}"
    if elo := in_elo(effect_of(report.tally), sign="+"):
        line += f"; {report.runs[0].setup.bots[0].name} {elo} Elo (95 %)"
    return clean(line)


# -- `ggp console --match PLACE` --------------------------------------------------------------------------------------


@dataclass
class OpenMatch:
    """A match and its engine; `close` ends the bots that were asked for hints."""

    target: Target
    source: RecordSource
    engine: BotSpec
    _hints: list[BotHints] = field(default_factory=list)

    def more(self, console: Console) -> Iterable[OwnCommand]:
        """The commands for a match."""

        def ask(line: str) -> Reply:
            return console.dialogue.ask(line, console.timeout)

        cursor, hints = ReplayCursor(self.source.record, ask, self.source.again), BotHints(ask)
        self._hints.append(hints)
        caption = console.match = MatchCaption(cursor)
        beside = (lambda: caption.ask(ask)) if sys.stdout.isatty() else tuple[str, ...]
        travel = travel_rows(cursor, self.source, ask, click.echo, beside)
        return [*travel, *rows(cursor, self.engine, click.echo, hints)]

    def close(self) -> None:
        for hints in self._hints:
            hints.close()


def open_past(place: str, words: tuple[str, ...], command: tuple[str, ...], url: str, budgets: Timeouts) -> OpenMatch:
    """The place on our engine, or on that of a command line or an address. ClickException, WordError, LaunchError."""
    if words or (command and url):
        raise WordError("--match goes with -- COMMAND or --connect URL of an engine, and not with a GAME")
    source = open_match(place)
    start = source.record.start
    if url:
        target, engine = listening(url, PeerRole.ENGINE, budgets), BotSpec("engine", url, url=url)
    else:
        argv = command or ENGINE
        name = " ".join(command) or "ggp engine"
        target, engine = process(name, argv, PeerRole.ENGINE, budgets), BotSpec("engine", name, argv)
    lines = [f"ggp-play {ply.colour} {ply.move}" for ply in source.record.plies[: source.ply]]
    first = new_game(start.game, start.options)
    return OpenMatch(target._replace(first=first, then=tuple(lines)), source, engine)
