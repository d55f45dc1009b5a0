"""`ggp match GAME[,name=value…] BOT BOT`: reads the command line, runs the series, shows how it went."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console

from protocol.orphans import adopting_orphans
from protocol.printed import without_password
from protocol.records import Event, Record
from referee.command_line import make_folder
from referee.config import Budgets, Setting
from referee.play.clock import FORMS, Control
from referee.play.launch import LaunchError
from referee.play.prepare import PrepareError, prepare
from referee.play.recorder import Recorder, RecorderError
from referee.play.report import as_json, print_report, progress_bar, score_line
from referee.play.run import Report, run_series
from referee.play.seating import Extras, is_human
from referee.play.series import Setup, Tally, played
from referee.play.words import WordError, distinct, is_built_in, read_bot, read_engine, read_game
from referee.spelling import message_of

BAD_USAGE = 2
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
command line that cannot be; 130 after Ctrl-C, 143 after SIGTERM. Matches that
were finished are then kept, and the same command with the same --record goes on.
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    try:
        status = match.main(argv, prog_name="ggp match", standalone_mode=False)
    except (WordError, LaunchError, PrepareError, RecorderError, ValueError) as error:
        click.echo(f"ggp match: {error}", err=True)
        return BAD_USAGE
    except click.ClickException as error:
        click.echo(f"ggp match: {message_of(error)} (ggp match --help)", err=True)
        return BAD_USAGE
    except (click.Abort, KeyboardInterrupt):
        return 130
    return int(status or 0)


@click.command(epilog=EPILOGUE, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
@click.option("--restart", is_flag=True, help="Start the bots anew for each match.")
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
    setup = Setup(
        setting=Setting(name, options, {}, Control.parse(control or ("none" if by_hand else "10+0.1"))),
        engine=read_engine(engine),
        bots=(first, second),
        games=games or (1 if by_hand else 10),
        max_plies=max_plies or 0,
        margin=margin,
        seed=seed,
        openings=openings,
        budgets=Budgets.parse(budget),
        restart=restart,
        extras=Extras(memory, verbose, make_folder("--log-stderr", log_stderr)),
        pin=pin,
        record=str(record) if record else "",
        referee=f"general-game-protocol {version('general-game-protocol')}",
        position=position,
    )
    with adopting_orphans():  # only before there are workers, which would be taken for orphans
        setup, warnings = prepare(setup)
    tally, left, recorder = _resume(setup, record, warnings)
    err = Console(stderr=True)
    for warning in [] if quiet else warnings:
        click.echo(f"ggp match: {warning}", err=True)
    jobs = min(jobs or (1 if verbose else len(os.sched_getaffinity(0))), max(1, len(left)))
    with recorder:
        if by_hand:
            report = _sit_down(setup, left, recorder, tally, as_object)
        else:
            report = _run(setup, left, jobs, recorder, tally, None if quiet or verbose or not err.is_terminal else err)
    status = _status(setup, report)
    if status == BAD_USAGE and report.suspended:
        raise WordError(": ".join(report.suspended))
    recorded = str(record) if record and record.exists() else ""  # a series without a game leaves no file
    _show(setup, report, recorded, warnings, as_object, quiet)
    return status


def _read_position(place: str, game: str, options: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options of the recorded match and its plies up to the place. `options` may only repeat them."""
    from referee.archive.places import open_match

    source = open_match(place)
    start, place = source.record.start, without_password(place)
    if start.game != game:
        raise click.UsageError(f"--from {place}: the recorded game is {start.game}: write that instead of {game}")
    for name, value in options.items():
        if start.options.get(name) != value:
            raise click.UsageError(f"--from {place}: options come from the record: leave {name}={value} out")
    return dict(start.options), tuple(ply.move for ply in source.record.plies[: source.ply])


def _sit_down(setup: Setup, left: list[int], recorder: Recorder, tally: Tally, as_object: bool) -> Report:
    """The series with a human in it, here at the terminal."""
    from protocol.orphans import adopt_orphans
    from referee.play.by_hand import announce, play_by_hand
    from referee.play.desk import open_desk

    adopt_orphans()
    desk = open_desk(sys.stderr if as_object else sys.stdout)

    def seen(event: Event) -> None:
        if line := announce(event):
            desk.show(line)

    return play_by_hand(setup, left, recorder, tally, desk, seen)


def _resume(setup: Setup, record: Path | None, warnings: list[str]) -> tuple[Tally, list[int], Recorder]:
    """What of this series the record holds already, the matches that are left, and the recorder."""
    tally, done = Tally(), set[int]()

    def keep(old: Record) -> None:
        number = setup.number(old.start.match)
        if number is not None and number < setup.games:
            facts = played(setup, number, old)
            tally.add(facts)
            if not facts.replayed:
                done.add(number)

    recorder = Recorder(record, keep)
    if recorder.dropped:
        warnings.append(f"{record}: cut off {recorder.dropped} bytes of a match that was not finished")
    warnings += [f"{record}: {torn}; a match that was not finished" for torn in recorder.torn]
    if done:
        warnings.append(f"{record} holds {len(done)} of these {setup.games} matches already: they are not played again")
    return tally, [number for number in range(setup.games) if number not in done], recorder


def _run(
    setup: Setup, left: list[int], jobs: int, recorder: Recorder, tally: Tally, terminal: Console | None
) -> Report:
    if terminal is None:
        return run_series(setup, left, jobs, recorder, tally, lambda report: None)
    with progress_bar(terminal) as bar:
        task = bar.add_task(setup.setting.game, total=setup.games, completed=setup.games - len(left), score="")

        def seen(report: Report) -> None:
            bar.update(task, completed=report.tally.games + report.tally.lasting, score=score_line(setup, report))

        return run_series(setup, left, jobs, recorder, tally, seen)


def _show(setup: Setup, report: Report, record: str, warnings: list[str], as_object: bool, quiet: bool) -> None:
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
    if report.broken:
        how = "the same command" if setup.record else "a command with --record FILE, given again,"
        click.echo(f"ggp match: a worker process died; {how} goes on with what is left", err=True)
    if report.stopped:
        click.echo("ggp match: stopped; the matches that were finished are kept", err=True)


def _status(setup: Setup, report: Report) -> int:
    if report.stopped:
        return 128 + report.stopped
    if report.suspended and not report.tally.terminations:
        who, reason = report.suspended
        bot = next((bot for bot in setup.bots if bot.name == who), None)
        if bot and is_built_in(bot) and f"exit status {BAD_USAGE}" in reason:
            return BAD_USAGE  # there is no such built-in, or no such option
    return 1 if report.tally.void or report.suspended or report.broken or report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
