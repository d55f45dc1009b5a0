"""Commands of the console that play from a position: a match with other players, or a series.

They never write to the record of the current match.
"""

import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ggp.protocol.entry_points import version
from ggp.protocol.records import Event, MatchStarted, MovePlayed
from ggp.referee.match.analysis import line_of
from ggp.referee.match.bot_spec import BotSpec, distinct, is_human, read_bot
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.human import announce, open_terminal, play_by_hand
from ggp.referee.match.process import NO_LIMITS
from ggp.referee.match.record_file import RecordFile, RecordFileError
from ggp.referee.match.report import effect_of, live_parts, score_line
from ggp.referee.match.series import PrepareError, SeriesConfig, prepare
from ggp.referee.match.series_run import SeriesReport, new_run, run_series
from ggp.referee.match.setting import TIMEOUTS, Setting
from ggp.referee.ratings.scale import in_elo
from ggp.referee.terminal import LiveLine, can_redraw, escape_unprintable
from ggp.referee.tools.console.own_commands import ConsoleError

if TYPE_CHECKING:
    from ggp.referee.tools.console.console import Console

_MOST_GAMES = 100_000
_OPTIONS = ("time", "games", "record")
_TIME, _MARGIN = "10+0.1", 50  # as in ggp match


def fork(console: "Console", words: list[str]) -> str:
    """Play a new match from here in this process, and show each ply."""
    setup, recorder = _prepare(console, words, human=True)
    ends: list[str] = []

    def seen(event: Event) -> None:
        if isinstance(event, MovePlayed):
            if event.ply > len(setup.position) and not any(map(is_human, setup.bots)):
                click.echo(line_of(event))
        elif line := announce(event):
            ends[:] = [line]
            if isinstance(event, MatchStarted):
                click.echo(line)

    with recorder:
        report = play_by_hand(new_run(setup), recorder, open_terminal(sys.stdout), seen)
    if report.stopped == signal.SIGINT:
        return "the match was dropped; the record is unchanged"
    return "\n".join(_finish(report, setup.record, ends if setup.games == 1 else [_score(report)]))


def play(console: "Console", words: list[str]) -> str:
    """Play a series from here as `ggp match` does: on every core, with a progress line on a terminal."""
    setup, recorder = _prepare(console, [*words[:2], f"games={words[2]}", *words[3:]], human=False)
    report = SeriesReport([new_run(setup)])
    with recorder, LiveLine() if can_redraw(sys.stderr) else nullcontext() as line:

        def seen(report: SeriesReport) -> None:
            if line is not None:
                line.update(live_parts(report))

        run_series(report, min(len(os.sched_getaffinity(0)), setup.games), recorder, seen)
    ends = ", ".join(f"{what} {count}" for what, count in report.tally.terminations.most_common())
    lines = [*(["stopped"] if report.stopped else []), _score(report), *([f"ended by: {ends}"] if ends else [])]
    return "\n".join(_finish(report, setup.record, lines))


def _prepare(console: "Console", words: list[str], human: bool) -> tuple[SeriesConfig, RecordFile]:
    """Return the series that begins here, under the rules of the match if there is one.

    Raises:
        ConsoleError: A word is invalid, or the series cannot be played.
    """
    asked = {key: value for key, equals, value in (word.partition("=") for word in words) if key in _OPTIONS and equals}
    names = [word for word in words if word.partition("=")[0] not in asked]
    if len(names) not in (0, 2):
        raise ConsoleError(f"name two bots, for seat 1 and seat 2; {len(names)} were given", code="usage")
    tree, record = console.cursor.tree, console.cursor.record
    start = record.start if record else None
    moves = tuple(node.move for node in console.cursor.here().path)
    first, second = distinct(*_bots(console, names, human, "time" in asked))
    by_hand = is_human(first) or is_human(second)
    if by_hand and not sys.stdin.isatty():
        raise ConsoleError("a human can only play at a terminal, because here every line is a command")
    control = "none" if by_hand else start.control if start else _TIME
    games, name = asked.get("games", "1"), asked.get("record", "")
    if not (games.isdecimal() and len(games) < 9 and 1 <= int(games) <= _MOST_GAMES):
        raise ConsoleError(f"games={games}: write a number between 1 and {_MOST_GAMES}", code="usage")
    if name and Path(name).exists():
        raise ConsoleError(f"{name} already exists: name a new file", code="file-exists")
    try:
        setup = SeriesConfig(
            setting=Setting(tree.game, tree.options, {}, TimeControl.parse(asked.get("time", control))),
            engine=console.dialogue.target.engine,
            bots=(first, second),
            games=int(games),
            max_plies=0,
            margin=start.margin if start else _MARGIN,
            seed=1,
            openings=0,
            budgets=TIMEOUTS,
            restart=False,
            extras=NO_LIMITS,
            pin=True,
            record=name,
            referee=f"general-game-protocol {version('general-game-protocol')}",
            position=moves,
        )
        return prepare(setup)[0], RecordFile(Path(name) if name else None)
    except (ValueError, PrepareError, RecordFileError) as error:
        raise ConsoleError(escape_unprintable(str(error))) from None


def _bots(console: "Console", names: list[str], human: bool, timed: bool) -> list[BotSpec]:
    """Return the bots of these names, or those of the match, or the console's first two.

    Raises:
        ConsoleError: There are not enough bots.
    """
    record = console.cursor.record
    known = {bot.name: bot for bot in console.bots}
    if names:
        return [known.get(name) or read_bot(name, human=human) for name in names]
    if record is None:
        if len(console.bots) < 2:
            raise ConsoleError("name two bots, as in :fork greedy random", code="usage")
        return console.bots[:2]
    parties = record.start.bots
    if not all(party.command for party in parties):
        raise ConsoleError("the record does not say how its bots are started: name two bots")
    bots = [read_bot(f"{party.name}={party.command}", human=human) for party in parties]
    if timed or any(map(is_human, bots)):
        return bots
    try:  # the bots' own time controls
        controls = [TimeControl.parse(party.control) if party.control else None for party in parties]
    except ValueError as error:
        raise ConsoleError(escape_unprintable(str(error))) from None
    return [replace(bot, control=control) for bot, control in zip(bots, controls, strict=True)]


def _finish(report: SeriesReport, record: str, lines: list[str]) -> list[str]:
    """Return the lines, and the name of the record.

    Raises:
        ConsoleError: The series failed.
    """
    if report.stopped not in (0, signal.SIGINT):  # Ctrl-C ends only the series, any other signal the console
        signal.raise_signal(signal.Signals(report.stopped))
    for who, reason in report.suspended.items():
        raise ConsoleError(escape_unprintable(f"{who} cannot play: {reason}"))
    if reason := report.failed or ("a worker process died" if report.deaths else ""):
        raise ConsoleError(reason)
    return [*lines, *([f"record: {record}"] if record else [])]


def _score(report: SeriesReport) -> str:
    """Return the score, and the difference in Elo with its error, or a bound after a clean sweep."""
    black, white = report.tally.colours
    line = f"{score_line(report)}; black {black.points:g}, white {white.points:g}"
    if elo := in_elo(effect_of(report.tally), sign="+"):
        line += f"; {report.runs[0].setup.bots[0].name} {elo} Elo (95 %)"
    return escape_unprintable(line)
