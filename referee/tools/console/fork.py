"""The console's commands to continue from a position: a match with other players, or a series.

They never write to the record of the match that is looked at.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ggp.protocol.entry_points import version
from ggp.protocol.records import Event, MatchStarted, MovePlayed
from ggp.referee.match.analysis import line_of
from ggp.referee.match.bot_spec import BotSpec, LaunchError, WordError, distinct, is_human, read_bot
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.human import announce, open_terminal, play_by_hand
from ggp.referee.match.process import NO_LIMITS
from ggp.referee.match.record_file import RecordFile, RecordFileError
from ggp.referee.match.report import effect_of, live_parts, score_line
from ggp.referee.match.series import PrepareError, SeriesConfig, prepare
from ggp.referee.match.series_run import SeriesReport, new_run, run_series
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.scale import in_elo
from ggp.referee.terminal import LiveLine, can_redraw, escape_unprintable
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.workbench import Workbench

_MOST_PLIES = 100_000  # games of a series
_OPTIONS = {"time", "games", "record"}
_TIME, _MARGIN = "10+0.1", 50  # as of ggp match


class _Asked(NamedTuple):
    """The arguments of :fork or :play: bots (none, or two), and options."""

    bots: list[str]
    options: dict[str, str]


def fork(bench: Workbench, engine: BotSpec, bots: list[BotSpec], words: list[str], show: Callable[[str], None]) -> str:
    """`[BOT BOT] [time=CONTROL] [games=N] [record=FILE]`: a new match from here. `engine`: it has a process of its own.

    Without bots those of the match play, else the first two `bots`.
    """
    asked = _read(words, "fork", _OPTIONS)
    setup = _setup(bench, engine, bots, asked, human=True)
    games = _games(asked.options.get("games", "1"))
    return _fork(replace(setup, games=games), _record(asked), show)


def play(bench: Workbench, engine: BotSpec, bots: list[BotSpec], words: list[str]) -> str:
    """`BOT BOT GAMES [time=CONTROL] [record=FILE]`: a series from here."""
    words = [*words[:2], *(f"games={word}" if word.isdecimal() else word for word in words[2:])]
    asked = _read(words, "play", _OPTIONS)
    if len(asked.bots) != 2 or "games" not in asked.options:
        raise OwnFailed("write :play BOT BOT GAMES [time=CONTROL] [record=FILE]", code="usage")
    setup = _setup(bench, engine, bots, asked, human=False)
    return _series(replace(setup, games=_games(asked.options["games"])), _record(asked))


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


def _with_control(bot: BotSpec, control: str) -> BotSpec:
    """The bot with the control of its own that a record tells, if there is one. Raises OwnFailed."""
    try:
        return replace(bot, control=TimeControl.parse(control)) if control else bot
    except ValueError as error:
        raise OwnFailed(escape_unprintable(str(error))) from None


def _setup(bench: Workbench, engine: BotSpec, bots: list[BotSpec], asked: _Asked, human: bool) -> SeriesConfig:
    """The series that begins here, by the rules of the match if there is one. Raises OwnFailed."""
    moves = tuple(node.move for node in bench.here().path)
    tree, start = bench.tree, bench.record.start if bench.record else None
    if asked.bots:
        two = [next((bot for bot in bots if bot.name == word), None) or _bot(word, human) for word in asked.bots]
    elif start is not None:
        commands = [f"{bot.name}={bot.command}" if bot.command else "" for bot in start.bots]
        if not all(commands):
            raise OwnFailed("the record does not say how its bots are started: name two")
        two = [_bot(word, human) for word in commands]
        if "time" not in asked.options and not any(map(is_human, two)):
            two = [_with_control(bot, party.control) for bot, party in zip(two, start.bots, strict=True)]
    else:
        two = bots[:2]
    if len(two) != 2:
        raise OwnFailed("name two bots, as in :fork greedy random", code="usage")
    first, second = distinct(*two)
    if (is_human(first) or is_human(second)) and not sys.stdin.isatty():
        raise OwnFailed("a human plays at a terminal, and here every line is a command")
    control = "none" if is_human(first) or is_human(second) else start.control if start else _TIME
    try:
        setup = SeriesConfig(
            setting=Setting(tree.game, tree.options, {}, TimeControl.parse(asked.options.get("time", control))),
            engine=engine,
            bots=(first, second),
            games=1,
            max_plies=0,
            margin=start.margin if start else _MARGIN,
            seed=1,
            openings=0,
            budgets=Timeouts(),
            restart=False,
            extras=NO_LIMITS,
            pin=True,
            record=asked.options.get("record", ""),
            referee=f"general-game-protocol {version('general-game-protocol')}",
            position=moves,
        )
        return prepare(setup)[0]
    except (ValueError, PrepareError) as error:
        raise OwnFailed(escape_unprintable(str(error))) from None


def _bot(word: str, human: bool) -> BotSpec:
    try:
        return read_bot(word, human=human)
    except (WordError, LaunchError) as error:
        raise OwnFailed(str(error)) from None


def _games(text: str) -> int:
    if not (text.isdecimal() and len(text) < 9 and 1 <= int(text) <= _MOST_PLIES):
        raise OwnFailed(f"{text!r} is no number of games between 1 and {_MOST_PLIES}", code="usage")
    return int(text)


def _record(asked: _Asked) -> RecordFile:
    """The record of the new matches, if any, in a new file."""
    name = asked.options.get("record")
    if name and Path(name).exists():
        raise OwnFailed(f"{name} is there already: name a new file to record to", code="file-exists")
    try:
        return RecordFile(Path(name) if name else None)
    except RecordFileError as error:
        raise OwnFailed(str(error)) from None


# -- playing --------------------------------------------------------------------------------------------


def _fork(setup: SeriesConfig, recorder: RecordFile, show: Callable[[str], None]) -> str:
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


def _series(setup: SeriesConfig, recorder: RecordFile) -> str:
    """As `ggp match` plays it: on every core, with a bar on a terminal."""
    report = SeriesReport([new_run(setup)])
    jobs = min(len(os.sched_getaffinity(0)), setup.games)
    with recorder, LiveLine() if can_redraw(sys.stderr) else nullcontext() as line:

        def seen(report: SeriesReport) -> None:
            if line is not None:
                line.update(live_parts(report))

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
        return escape_unprintable(f"{who} cannot play: {reason}")
    return report.failed or ("a worker process died" if report.deaths else "")


def _score(report: SeriesReport) -> str:
    """The score and the difference in Elo with its error, or a bound after a clean sweep."""
    black, white = report.tally.colours
    line = f"{score_line(report)}; black {black.points:g}, white {white.points:g}"
    if elo := in_elo(effect_of(report.tally), sign="+"):
        line += f"; {report.runs[0].setup.bots[0].name} {elo} Elo (95 %)"
    return escape_unprintable(line)
