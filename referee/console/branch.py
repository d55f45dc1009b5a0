"""The console's commands for going on from a position: a match with other players, a series, a hint. The record that is
looked at is never written to.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from protocol.drawing.scene import clean
from protocol.installed import version
from protocol.records import Event, MatchStarted, MovePlayed
from referee.config import Budgets, Setting
from referee.console.hints import Hints
from referee.console.journey import Journey
from referee.console.own import Own, OwnFailed, Word
from referee.console.travel import line_of
from referee.play.by_hand import announce, play_by_hand
from referee.play.clock import Control
from referee.play.desk import open_desk
from referee.play.launch import LaunchError
from referee.play.prepare import PrepareError, prepare
from referee.play.recorder import Recorder, RecorderError
from referee.play.run import Report, run_series
from referee.play.seating import Extras, Start, is_human
from referee.play.series import Setup, Tally
from referee.play.words import WordError, distinct, read_bot

_MOST = 100_000  # games of a series
_OPTIONS = {"time", "games", "record"}


class _Asked(NamedTuple):
    """What stands behind :fork or :play: bots (none, or two), and options."""

    bots: list[str]
    options: dict[str, str]


def rows(journey: Journey, engine: Start, show: Callable[[str], None], hints: Hints) -> list[Own]:
    """`engine` judges what is played on; each match has a process of its own of it."""

    def fork(words: list[str]) -> str:
        asked = _read(words, "fork", _OPTIONS)
        setup = _setup(journey, engine, asked, human=True)
        games = _games(asked.options.get("games", "1"))
        return _fork(replace(setup, games=games), _record(asked), show)

    def play(words: list[str]) -> str:
        asked = _read(
            [*words[:2], *(f"games={word}" if word.isdecimal() else word for word in words[2:])], "play", _OPTIONS
        )
        if len(asked.bots) != 2 or "games" not in asked.options:
            raise OwnFailed("write :play BOT BOT GAMES [time=CONTROL] [record=FILE]")
        setup = _setup(journey, engine, asked, human=False)
        return _series(replace(setup, games=_games(asked.options["games"])), _record(asked))

    def hint(words: list[str]) -> str:
        if not 1 <= len(words) <= 2:
            raise OwnFailed("write :hint BOT [SECONDS or another time control]")
        return hints.ask(journey, _bot(words[0], human=False), words[1] if len(words) > 1 else "")

    bots, players = (Word.BOT, Word.BOT, Word.TEXT), (Word.PLAYER, Word.PLAYER, Word.TEXT)
    return [
        Own(
            "fork",
            "[BOT BOT] [time=CONTROL] [games=N] [record=FILE]",
            "a new match from here; its own bots play, or yours, or a `human`",
            fork,
            players,
        ),
        Own(
            "play",
            "BOT BOT GAMES [time=CONTROL] [record=FILE]",
            "a series from here, seats exchanged after each game",
            play,
            bots,
        ),
        Own("hint", "BOT [SECONDS]", "what it would play here, and why", hint, (Word.BOT, Word.TEXT)),
    ]


# -- what is asked for -------------------------------------------------------------------------------------------


def _read(words: list[str], name: str, known: set[str]) -> _Asked:
    """`name=value` of a known name is an option, every other word a bot."""
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


def _setup(journey: Journey, engine: Start, asked: _Asked, human: bool) -> Setup:
    """The series that begins here, by the rules of the match that is looked at. Raises OwnFailed."""
    at, start = journey.where(), journey.record.start
    if not at.known:
        raise OwnFailed("the engine has another game before it: :goto PLY returns to the match")
    words = asked.bots or [f"{bot.name}={bot.command}" if bot.command else "" for bot in start.bots]
    if not all(words):
        raise OwnFailed("the record does not say how its bots are started: name two")
    first, second = distinct(_bot(words[0], human), _bot(words[1], human))
    if (is_human(first) or is_human(second)) and not sys.stdin.isatty():
        raise OwnFailed("a human plays at a terminal, and here every line is a command")
    control = "none" if is_human(first) or is_human(second) else start.control
    try:
        setup = Setup(
            setting=Setting(start.game, start.options, {}, Control.parse(asked.options.get("time", control))),
            engine=engine,
            bots=(first, second),
            games=1,
            max_plies=0,
            margin=start.margin,
            seed=1,
            openings=0,
            budgets=Budgets(),
            restart=False,
            extras=Extras(),
            pin=True,
            record=asked.options.get("record", ""),
            referee=f"general-game-protocol {version('general-game-protocol')}",
            position=at.moves,
        )
        return prepare(setup)[0]
    except (ValueError, PrepareError) as error:
        raise OwnFailed(clean(str(error))) from None


def _bot(word: str, human: bool) -> Start:
    try:
        return read_bot(word, human=human)
    except (WordError, LaunchError) as error:
        raise OwnFailed(str(error)) from None


def _games(text: str) -> int:
    if not (text.isdecimal() and len(text) < 9 and 1 <= int(text) <= _MOST):
        raise OwnFailed(f"{text!r} is no number of games between 1 and {_MOST}")
    return int(text)


def _record(asked: _Asked) -> Recorder:
    """Where the new matches are kept, if anywhere: a file that is not there yet, so no other record is added to."""
    name = asked.options.get("record")
    if name and Path(name).exists():
        raise OwnFailed(f"{name} is there already: name a new file to record to")
    try:
        return Recorder(Path(name) if name else None)
    except RecorderError as error:
        raise OwnFailed(str(error)) from None


# -- playing -----------------------------------------------------------------------------------------------------


def _fork(setup: Setup, recorder: Recorder, show: Callable[[str], None]) -> str:
    """Play here, ply by ply before our eyes."""
    desk = open_desk(sys.stdout)
    humans = any(map(is_human, setup.bots))
    begun = len(setup.position)

    def seen(event: Event) -> None:
        if isinstance(event, MatchStarted):
            show(announce(event))
        elif isinstance(event, MovePlayed) and event.ply > begun and not humans:
            show(line_of(event))

    ends: list[str] = []

    def told(event: Event) -> None:
        seen(event)
        if line := announce(event):
            ends[:] = [line]

    tally = Tally()
    with recorder:
        report = play_by_hand(setup, list(range(setup.games)), recorder, tally, desk, told)
    _obey(report)
    if report.stopped:
        return "dropped; the record that you look at is as it was"
    if reason := _failure(report):
        raise OwnFailed(reason)
    lines = ends[-1:] if setup.games == 1 else [_score(setup, report)]
    return "\n".join([*lines, *([f"record: {setup.record}"] if setup.record else [])])


def _series(setup: Setup, recorder: Recorder) -> str:
    """As `ggp match` plays it: on every core, with a bar on a terminal."""
    from rich.console import Console

    from referee.play.report import progress_bar, score_line

    tally, terminal = Tally(), Console(stderr=True)
    numbers, jobs = list(range(setup.games)), min(len(os.sched_getaffinity(0)), setup.games)
    with recorder, progress_bar(terminal) if terminal.is_terminal else nullcontext() as bar:
        task = bar.add_task(setup.setting.game, total=setup.games, score="") if bar else None

        def seen(report: Report) -> None:
            if bar and task is not None:
                bar.update(task, completed=report.tally.games + report.tally.lasting, score=score_line(setup, report))

        report = run_series(setup, numbers, jobs, recorder, tally, seen)
    _obey(report)
    if reason := _failure(report):
        raise OwnFailed(reason)
    lines = ["stopped"] if report.stopped else []
    lines += [_score(setup, report)]
    ends = ", ".join(f"{what} {count}" for what, count in tally.terminations.most_common())
    lines += [f"ended by: {ends}"] if ends else []
    return "\n".join([*lines, *([f"record: {setup.record}"] if setup.record else [])])


def _obey(report: Report) -> None:
    """What was played on has taken a signal for itself: only Ctrl-C is meant for it alone."""
    if report.stopped not in (0, signal.SIGINT):
        signal.raise_signal(signal.Signals(report.stopped))


def _failure(report: Report) -> str:
    if report.suspended:
        return clean(f"{report.suspended[0]} cannot play: {report.suspended[1]}")
    return report.failed or ("a worker process died" if report.broken else "")


def _score(setup: Setup, report: Report) -> str:
    """The score and the difference in Elo with its error; of a clean sweep, its bound."""
    from referee.play.report import score_line
    from referee.ratings.scale import in_elo
    from referee.ratings.sprt import effect

    first, tally = report.tally.bots[0], report.tally
    black, white = tally.colours
    line = f"{score_line(setup, report)}; black {black.points:g}, white {white.points:g}"
    if elo := in_elo(effect([first.losses, first.draws, first.wins]), sign="+"):
        line += f"; {setup.bots[0].name} {elo} Elo (95 %)"
    return clean(line)
