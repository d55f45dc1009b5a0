"""`ggp match GAME[,name=value…] BOT BOT`: reads the command line, runs the series, shows how it went."""

import json
import os
import sys
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from protocol.printed import without_password
from protocol.records import Event
from protocol.transports.subreaper import adopting_orphans
from referee.cli import BAD_USAGE, HELP, make_folder, run_command
from referee.play.bot_spec import WordError, distinct, is_built_in, is_human, read_bot, read_engine, read_game
from referee.play.clock import FORMS, TimeControl
from referee.play.pool import SeriesReport, resume_series, run_series
from referee.play.process import ProcessLimits
from referee.play.record_file import Recorder
from referee.play.series import SeriesConfig, SeriesScore, SeriesTally, prepare
from referee.play.setting import Setting, Timeouts
from referee.terminal import clean

_DEATHS = 3  # times in a row that workers may die without a match in between
EPILOGUE = f"""\b
GAME is a name the engine knows, with options: yugo,size=7,komi=0
BOT  is a built-in with options (random, greedy:playouts=50), a command line in
     quotes ("gnugo --mode gtp"), tcp://host:port of a bot that listens, or
     `human`: you, at this terminal or from a pipe; NAME= before it names it.
--time is one of
     {FORMS.replace(", 600", "," + chr(10) + "     600")}
A human plays one match, without a clock, unless --games and --time are given.
The end of input resigns, Ctrl-C drops the match; :help at the prompt says more.
--from FILE[#MATCH][@PLY] begins at a position of a recorded match; GAME is its
game, with the record's options.

\b
The exit status is 0; 1 if games were void or a bot was suspended; 2 for a
usage error; 130 after Ctrl-C, 143 after SIGTERM. Matches that
were finished are then kept, and the same command with the same --record goes on.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(match, "ggp match", argv)


@click.command(epilog=EPILOGUE, context_settings=HELP)
@click.argument("game")
@click.argument("bots", metavar="BOT BOT", nargs=2)
@click.option("--games", type=click.IntRange(1, 10_000_000), help="Matches to play.  [default: 10]")
@click.option("--time", "control", help="Time control of each side.  [default: 10+0.1]")
@click.option(
    "--max-plies",
    type=click.IntRange(1, 10**7),
    help="Longer ones are scored as they stand, or void without a score.  [default: 20 times the cells]",
)
@click.option("--margin", type=click.IntRange(0, 60_000), default=50, show_default=True, help="ms of overrun forgiven.")
@click.option("--seed", type=int, default=1, show_default=True, help="What openings are drawn by.")
@click.option("--openings", type=click.IntRange(0, 1000), default=0, help="Random plies first, the same for a pair.")
@click.option("--from", "place", metavar="PLACE", help="Begin at a position of a record: FILE[#MATCH][@PLY].")
@click.option("--jobs", type=click.IntRange(1, 256), help="Matches at a time.  [default: one a core]")
@click.option("--pin/--no-pin", default=True, help="Keep a match's processes on one core (the default).")
@click.option("--restart", is_flag=True, help="Start the bots again for each match.")
@click.option("--memory", type=click.IntRange(0, 1 << 30), default=0, metavar="MIB", help="Address space of a process.")
@click.option("--budget", multiple=True, metavar="NAME=SECONDS", help="Seconds: start, command, new, agreement, …")
@click.option("--engine", metavar="COMMAND|URL", help="A foreign engine: a command line, or tcp://host:port.")
@click.option("--record", type=click.Path(path_type=Path), help="Append the matches to this file; go on where it ends.")
@click.option("--json", "as_object", is_flag=True, help="The result as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="No progress, no table.")
@click.option("--verbose", is_flag=True, help="Show the dialogue and what bots write to stderr, live.")
@click.option(
    "--log-stderr",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep what bots write to stderr.",
)
def match(
    game: str,
    bots: tuple[str, str],
    games: int | None,
    control: str | None,
    max_plies: int | None,
    margin: int,
    seed: int,
    openings: int,
    place: str | None,
    jobs: int | None,
    pin: bool,
    restart: bool,
    memory: int,
    budget: tuple[str, ...],
    engine: str | None,
    record: Path | None,
    as_object: bool,
    quiet: bool,
    verbose: bool,
    log_stderr: Path | None,
) -> int:
    """Play a series of matches of GAME between two BOTs; every two exchange the seats.

    Each match is judged by the rules engine, on its clock, and recorded whole.
    """
    (name, options), position = read_game(game), tuple[str, ...]()
    if place is not None:
        options, position = _read_position(place, name, options)
    first, second = distinct(read_bot(bots[0], human=True), read_bot(bots[1], human=True))
    by_hand = is_human(first) or is_human(second)
    if by_hand and (jobs or 1) > 1:
        raise click.UsageError("--jobs: a human plays one match at a time")
    setup = SeriesConfig(
        setting=Setting(name, options, {}, TimeControl.parse(control or ("none" if by_hand else "10+0.1"))),
        engine=read_engine(engine),
        bots=(first, second),
        games=games or (1 if by_hand else 10),
        max_plies=max_plies or 0,
        margin=margin,
        seed=seed,
        openings=openings,
        budgets=Timeouts.parse(budget),
        restart=restart,
        extras=ProcessLimits(memory, verbose, make_folder("--log-stderr", log_stderr)),
        pin=pin,
        record=str(record) if record else "",
        referee=f"general-game-protocol {version('general-game-protocol')}",
        position=position,
    )
    with adopting_orphans():  # only before there are workers, which would be taken for orphans
        setup, warnings = prepare(setup)
    tally, left, recorder = _resume(setup, warnings)
    tally.forget_voids()
    err = Console(stderr=True)
    for warning in [] if quiet else warnings:
        click.echo(f"ggp match: {warning}", err=True)
    jobs = min(jobs or (1 if verbose else len(os.sched_getaffinity(0))), max(1, len(left)))
    if by_hand:
        with recorder:
            report = _sit_down(setup, left, recorder, tally, as_object)
    else:
        terminal = None if quiet or verbose or not err.is_terminal else err
        report = _run(setup, left, jobs, recorder, SeriesReport(tally), terminal)
    status = _status(setup, report)
    if status == BAD_USAGE and report.suspended:
        raise WordError(": ".join(report.suspended))
    recorded = str(record) if record and record.exists() else ""  # a series without a game leaves no file
    _show(setup, report, recorded, warnings, as_object, quiet)
    return status


def _read_position(place: str, game: str, options: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options of the recorded match and its plies up to the place. `options` may only repeat them."""
    from referee.archive.places import open_match  # the store: most series need none

    source = open_match(place)
    start, place = source.record.start, without_password(place)
    if start.game != game:
        raise click.UsageError(f"--from {place}: the recorded game is {start.game}: write that instead of {game}")
    for name, value in options.items():
        if start.options.get(name) != value:
            raise click.UsageError(f"--from {place}: options come from the record: leave {name}={value} out")
    return dict(start.options), tuple(ply.move for ply in source.record.plies[: source.ply])


def _sit_down(
    setup: SeriesConfig, left: list[int], recorder: Recorder, tally: SeriesTally, as_object: bool
) -> SeriesReport:
    """The series with a human in it, here at the terminal."""
    from protocol.transports.subreaper import adopt_orphans
    from referee.play.human import announce, open_terminal, play_by_hand

    adopt_orphans()
    terminal = open_terminal(sys.stderr if as_object else sys.stdout)

    def seen(event: Event) -> None:
        if line := announce(event):
            terminal.show(line)

    return play_by_hand(setup, left, recorder, tally, terminal, seen)


def _resume(setup: SeriesConfig, warnings: list[str]) -> tuple[SeriesTally, list[int], Recorder]:
    """As resume_series; what was found in the record is added to the warnings."""
    tally, left, recorder = resume_series(setup)
    record, done = setup.record, setup.games - len(left)
    if recorder.dropped:
        warnings.append(f"{record}: cut off {recorder.dropped} bytes of a match that was not finished")
    warnings += [f"{record}: {torn}; a match that was not finished" for torn in recorder.torn]
    if done:
        warnings.append(f"{record} holds {done} of these {setup.games} matches already: they are not played again")
    return tally, left, recorder


def _run(
    setup: SeriesConfig, left: list[int], jobs: int, recorder: Recorder, report: SeriesReport, terminal: Console | None
) -> SeriesReport:
    """Play what is left; with a record, matches whose worker dies go on in another."""
    earlier, plies = report.tally.attempts, report.tally.plies
    while True:
        counted, deaths, report.deaths = report.tally.attempts, report.deaths, 0
        with recorder, progress_bar(terminal) if terminal else nullcontext() as bar:
            done = setup.games - len(left)
            task = bar.add_task(setup.setting.game, total=setup.games, completed=done, score="") if bar else None

            def seen(report: SeriesReport, bar: Progress | None = bar, task: TaskID | None = task) -> None:
                if bar and task is not None:
                    completed = report.tally.games + report.tally.lasting
                    bar.update(task, completed=completed, score=score_line(setup, report))

            run_series(setup, left, jobs, recorder, report, seen)
        if not (report.deaths and setup.record) or report.stopped or report.suspended:
            return report
        report.tally, left, recorder = resume_series(setup, earlier)
        report.plies = report.tally.plies - plies
        report.deaths += deaths if report.tally.attempts == counted else 0
        if report.deaths > _DEATHS:
            recorder.broken = True
            recorder.close()
            return report
        click.echo("ggp match: a worker process died: its matches go on in another", err=True)


def _show(
    setup: SeriesConfig, report: SeriesReport, record: str, warnings: list[str], as_object: bool, quiet: bool
) -> None:
    if as_object:
        click.echo(json.dumps(as_json(setup, report, record, warnings)))
    elif not quiet:
        print_report(Console(), setup, report, record)
    if report.suspended:
        who, reason = report.suspended
        click.echo(f"ggp match: {who} is suspended: {reason}", err=True)
    if failed := report.tally.faults["engine", "engine_failed"]:
        click.echo(f"ggp match: THE ENGINE FAILED in {failed} matches, which are void: see the record", err=True)
    if report.failed:
        click.echo(f"ggp match: cannot go on writing the record: {report.failed}; free space and repeat", err=True)
    if report.deaths:
        how = "the same command" if setup.record else "a command with --record FILE, given again,"
        who = f"worker processes died {report.deaths} times in a row" if report.deaths > 1 else "a worker process died"
        click.echo(f"ggp match: {who}; {how} goes on with what is left", err=True)
    if report.stopped:
        click.echo("ggp match: stopped; the matches that were finished are kept", err=True)


def _status(setup: SeriesConfig, report: SeriesReport) -> int:
    if report.stopped:
        return 128 + report.stopped
    if report.suspended and not report.tally.terminations:
        who, reason = report.suspended
        bot = next((bot for bot in setup.bots if bot.name == who), None)
        if bot and is_built_in(bot) and f"exit status {BAD_USAGE}" in reason:
            return BAD_USAGE  # there is no such built-in, or no such option
    return 1 if report.tally.void or report.suspended or report.deaths or report.failed else 0


_NAMED = 10  # suspect games in the line about them

_REASON = 400  # characters of why a bot was at fault


def as_json(setup: SeriesConfig, report: SeriesReport, record: str, warnings: list[str]) -> dict[str, Any]:
    """The report as plain values; scores are wins, draws, losses and points."""
    tally = report.tally
    bots = [
        {
            "name": bot.name,
            "command": bot.command,
            **_score(tally.bots[index]),
            "seat1": _score(tally.seats[index][0]),
            "seat2": _score(tally.seats[index][1]),
            "time_ms": tally.used[index],
            "faults": {what: count for (who, what), count in tally.faults.items() if who == bot.name},
            "reasons": {what: why for (who, what), why in tally.reasons.items() if who == bot.name},
        }
        for index, bot in enumerate(setup.bots)
    ]
    return {
        "game": setup.setting.game,
        "options": setup.setting.values,
        "series": setup.series,
        "seed": setup.seed,
        "time": str(setup.setting.control),
        "bots": bots,
        "black": _score(tally.colours[0]),
        "white": _score(tally.colours[1]),
        "games": tally.games,
        "void": tally.void,
        "suspect": tally.suspect,
        "suspect_games": tally.suspects,
        "plies": report.plies,
        "seconds": round(report.seconds, 6),
        "plies_per_second": round(_rate(report), 1),
        "cpu_us_per_ply": round(report.cpu / report.plies * 1e6, 2) if report.plies else 0.0,
        "worker_rss_mb": round(report.rss / 1024, 1),
        "terminations": dict(tally.terminations),
        "engine_failed": tally.faults["engine", "engine_failed"],
        "suspended": {"who": report.suspended[0], "reason": report.suspended[1]} if report.suspended else None,
        "interrupted": report.stopped,
        "record": record,
        "warnings": warnings,
    }


def progress_bar(console: Console) -> Progress:
    """The bar, with the score so far after it; drawn on a terminal only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[score]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def score_line(setup: SeriesConfig, report: SeriesReport) -> str:
    """`random 3 - 5 greedy`, void games after it."""
    one, two = setup.bots
    (left, right), void = report.tally.bots, report.tally.void
    text = f"{one.name} {left.points:g} - {right.points:g} {two.name}"
    return text + (f", {void} void" if void else "")


def print_report(console: Console, setup: SeriesConfig, report: SeriesReport, record: str) -> None:
    """The final table, then one line each for what else there is to say."""
    tally = report.tally
    table = Table(title=f"{setup.setting.new_game.removeprefix('ggp-new ')}, time {setup.setting.control}")
    table.add_column("bot")
    for heading in ("score", "+", "=", "-", "seat 1", "seat 2", "time used"):
        table.add_column(heading, justify="right")
    for index, bot in enumerate(setup.bots):
        score = tally.bots[index]
        table.add_row(
            Text(bot.name),
            f"{score.points:g}/{score.games}",
            *(str(number) for number in (score.wins, score.draws, score.losses)),
            *(f"{seat.points:g}/{seat.games}" for seat in tally.seats[index]),
            _duration(tally.used[index] / 1000),
        )
    console.print(table)
    black, white = tally.colours
    _say(console, f"black {black.points:g}, white {white.points:g} of {tally.games} games")
    ends = ", ".join(f"{what} {count}" for what, count in tally.terminations.most_common())
    _say(console, f"ended by: {ends or 'nothing'}")
    if report.plies:
        _say(console, f"{report.plies} plies in {_duration(report.seconds)}, {_rate(report):,.0f} plies/s")
    for (who, what), count in sorted(tally.faults.items()):
        why = clean(tally.reasons.get((who, what), "")).strip()
        _say(console, f"fault: {clean(who)} {what} {count}" + (f": {why[:_REASON]}" if why else ""))
    if tally.suspect:
        _say(console, suspects(tally))
    if record:
        _say(console, f"record: {record}")


def suspects(tally: SeriesTally) -> str:
    """Which games are suspect, and what follows from it."""
    named = ", ".join(tally.suspects[:_NAMED]) + (f" and {tally.suspect - _NAMED} more" * (tally.suspect > _NAMED))
    lost = f"; {tally.late} of them ended by time, which may not be the bot's fault" if tally.late else ""
    return (
        f"suspect: {tally.suspect} games in which this machine kept an answer waiting: {named}; they count{lost}; "
        "fewer --jobs or a larger --margin make them fewer"
    )


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _score(score: SeriesScore) -> dict[str, float]:
    return {"wins": score.wins, "draws": score.draws, "losses": score.losses, "points": score.points}


def _rate(report: SeriesReport) -> float:
    return report.plies / report.seconds if report.seconds else 0.0


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d} min"
