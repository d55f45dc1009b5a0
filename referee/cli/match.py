"""`ggp match GAME[,name=value…] BOT BOT…`: read the command line, play the series, show how they went."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import click

from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopting_orphans
from ggp.referee.cli.foreign_options import translate
from ggp.referee.command_line import BAD_USAGE, HELP, make_folder, run_command
from ggp.referee.match.adjudication import AdjudicationError, AdjudicationRule, Kind
from ggp.referee.match.bot_spec import (
    BotSpec,
    WordError,
    confined_engine,
    distinct,
    is_human,
    read_bot,
    read_engine,
    read_game,
    with_version,
)
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.judge import JUDGE, check_reports
from ggp.referee.match.options import sandbox_option
from ggp.referee.match.outcome import CannotStart
from ggp.referee.match.process import ALL, PLIES, ProcessLimits, available_cores
from ggp.referee.match.progress import Progress
from ggp.referee.match.report import as_json, exit_status, print_report, why_incomplete
from ggp.referee.match.sandbox.levels import APART, NONE, Cores, Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.series import SeriesConfig, prepare
from ggp.referee.match.series_run import SeriesReport, found_in_record, play_what_is_left, resume_series
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.sprt import Hypotheses, SprtError, read_hypotheses
from ggp.referee.terminal import can_redraw, escape_unprintable
from ggp.referee.tools.archive.openings import read_openings, read_position

_MOST_BOTS = 100
EPILOGUE = """\b
GAME  a name that the engine knows, with options: yugo,size=7,komi=0
BOT   random, greedy:playouts=50, a command line ("gnugo --mode gtp"), tcp://host:port, or `human`:
      you, at this terminal; NAME= before it names it
TIME  10+0.1 (seconds+increment), 40/600 (moves/seconds), 600+25/300 (main+moves/seconds),
      600+5x30 (main+periods x seconds), 1/move or none
cutechess and fastchess options are accepted. The same command with the same --record resumes.
The exit status is 0; 1 if games were void or a bot was suspended; 2 for a usage error; 130 after
Ctrl-C, 143 after SIGTERM.
"""


def main(argv: list[str]) -> int:
    """Run the command and return the exit status."""
    return run_command(match, "ggp match", argv)


class _MatchCommand(click.Command):
    """A command that accepts the options of cutechess and fastchess, too. Raises WordError."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, translate(args))


def _option(name: str, help: str, metavar: str | None = None, **more: Any) -> Callable[[Any], Any]:
    return click.option(*name.split(), help=help, metavar=metavar, **more)


def _number(name: str, help: str, least: int, most: int, metavar: str = "N", **more: Any) -> Callable[[Any], Any]:
    return _option(name, help, metavar, type=click.IntRange(least, most), **more)


_bare: dict[str, Any] = {"is_flag": False, "flag_value": PLIES}  # its value may be left out
_cores = click.Choice(get_args(Cores))
_path = click.Path(path_type=Path)
_folder = click.Path(path_type=Path, file_okay=False)


@click.command(cls=_MatchCommand, epilog=EPILOGUE, context_settings=HELP)
@click.argument("game")
@click.argument("bots", metavar="BOT BOT…", nargs=-1, required=True)
@_number("--games", "Matches of each two bots.  [default: 10]", 1, 10_000_000)
@_option("--time control", "Time control of each side.  [default: 10+0.1]", "TIME")
@_number("--max-plies", "End longer matches.  [default: 20 times the cells]", 1, 10**7)
@_number("--margin", "Milliseconds a bot may exceed its time.", 0, 60_000, "MS", default=50, show_default=True)
@_option("--seed", "Random seed for openings.", "N", type=int, default=1, show_default=True)
@_option("--openings", "N random plies, or FILE[,order=random][,start=N][,plies=N].", "N|FILE", default="0")
@_option("--from place", "Begin at a position of a record: FILE[#MATCH][@PLY].", "PLACE")
@_number("--jobs", "Matches at a time.  [default: one per core]", 1, 256)
@_option("--pin/--no-pin", "Keep the processes of a match on one core.  [default: pin]", default=True)
@_option("--restart", "Start the bots again for each match.", is_flag=True)
@_option("--bot", "Settings of one bot, or of * for all: time, nodes, wait, nice, …", "NAME,KEY=VALUE,…", multiple=True)
@_number("--memory", "Address space of each process.", 0, 1 << 30, "MIB", default=0)
@sandbox_option("bots and engine")
@_option("--cores", "Cores of two strict bots: different or the same.", type=_cores, default=APART, show_default=True)
@_option("--budget", "Seconds for start, command, new, agreement, …", "NAME=SECONDS", multiple=True)
@_option("--engine", "A foreign engine: a command line, or tcp://host:port.", "COMMAND|URL")
@_option("--record", "Append the matches to FILE; resume where it ends.", "FILE", type=_path)
@_option("--mix", "Count recorded games of an earlier version of a bot as its own.", is_flag=True)
@_option("--gauntlet", "Only this bot plays the others.", "NAME")
@_option("--sprt", "Stop when this test decides: elo0=0 elo1=5, or gate.", "TEST")
@_option("--resign", "End a lost match: winrate=0.02 plies=6 after=20.", "RULE")
@_option("--draw", "End an even match: winrate=0.02 plies=10 after=60.", "RULE")
@_option("--adjudicator", "Bot that judges --resign and --draw instead of the players.", "BOT")
@_option("--interval", "Print the score every N games.", "N", type=click.IntRange(1))
@_option("--json as_object", "Print the result as one JSON object.", is_flag=True)
@_option("--quiet", "Show no progress and no table.", is_flag=True)
@_option("--verbose", "Show plies, or the dialogue of NAME, of the engine or of all.", "[=WHAT]", default="", **_bare)
@_option("--log-stderr", "Keep what bots write to stderr.", "DIR", type=_folder)
@_option("--log", "Keep all lines of bots and engines for ggp tap --show.", "DIR", type=_folder)
def match(**options: Any) -> int:
    """Play a series of matches of GAME between two BOTs, or of every two of more.

    Two bots exchange the seats. The rules engine judges each match on its clock; it is recorded whole.
    """
    return play(MatchOptions(**options))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions:
    """The command line of `ggp match`, one field for each option."""

    game: str
    bots: tuple[str, ...]
    games: int | None
    control: str | None
    max_plies: int | None
    margin: int
    seed: int
    openings: str
    place: str | None
    jobs: int | None
    pin: bool
    restart: bool
    bot: tuple[str, ...]
    memory: int
    sandbox: Level
    cores: Cores
    budget: tuple[str, ...]
    engine: str | None
    record: Path | None
    mix: bool
    gauntlet: str | None
    sprt: str | None
    resign: str | None
    draw: str | None
    adjudicator: str | None
    interval: int | None
    as_object: bool
    quiet: bool
    verbose: str
    log_stderr: Path | None
    log: Path | None

    @property
    def confined(self) -> Sandbox:
        """Return the sandbox of bots that have none of their own."""
        private = (str(self.record.absolute()),) if self.record else ()
        return Sandbox(self.sandbox, private=private, cores=self.cores)


def play(options: MatchOptions) -> int:
    """Play the series and show how they went. Returns the exit status."""
    (game, given), position = read_game(options.game), tuple[str, ...]()
    if options.place is not None:
        given, position = read_position(options.place, game, given)
    openings, book = read_openings(options.openings, game, given)
    bots = _read_bots(options)
    pairings = _pairings(bots, options.gauntlet)
    by_hand = any(map(is_human, bots))
    test = _read_test(options.sprt)
    _check_together(options, by_hand, len(pairings), test)
    control = TimeControl.parse(options.control or ("none" if by_hand else "10+0.1"))
    setup = replace(
        _series(options, bots, Setting(game, given, {}, control)),
        bots=pairings[0],
        games=options.games or (1 if by_hand else 10),
        openings=openings,
        book=book.choice if book else None,
        position=position,
    )
    jobs, cores = _places(setup, bots, options.jobs or (1 if options.verbose or by_hand else None), options.confined)
    if test and setup.games % 2:
        raise click.UsageError("--sprt: --games must be even, for the test is on pairs of games")
    with adopting_orphans():  # only before there are workers, which would be taken for orphans
        setup, warnings = prepare(setup, book)
        _check_bots(options, setup, bots)
    runs, file = resume_series([replace(setup, bots=pair) for pair in pairings], test, mix=options.mix)
    report = SeriesReport(runs, book)
    warnings += found_in_record(report, file)
    for warning in [] if options.quiet else warnings:
        click.echo(f"ggp match: {warning}", err=True)
    for run in runs:
        run.tally.forget_voids()
    if by_hand:
        from ggp.referee.match.human import play_at_terminal

        report = play_at_terminal(runs[0], file, sys.stderr if options.as_object else sys.stdout)
    else:
        live = can_redraw(sys.stderr) and not (options.quiet or options.verbose)
        with Progress(report, live, 0 if options.quiet else options.interval or 0, options.quiet) as seen:
            died = partial(seen.say, "ggp match: a worker process died: its matches go on in another")
            play_what_is_left(report, min(jobs, max(1, sum(len(run.left) for run in runs))), file, seen, cores, died)
    if (status := exit_status(report)) == BAD_USAGE:
        raise WordError("; ".join(f"{who}: {reason}" for who, reason in report.suspended.items()))
    _show(options, report, warnings)
    return status


def _read_bots(options: MatchOptions) -> tuple[BotSpec, ...]:
    """Return the bots with their settings and versions. Raises UsageError, WordError, ConfigError."""
    bots, confined = distinct(*(read_bot(bot, human=True) for bot in options.bots)), options.confined
    if options.bot:
        from ggp.referee.ladder.bot_settings import read_words  # most series need none of these

        bots = read_words(options.bot, bots, confined)
    bots = tuple(map(with_version, bots))
    for bot in bots:
        check_level((bot.sandbox or confined).level if bot.argv else NONE, bot.name)
    return bots


def _read_test(text: str | None) -> Hypotheses | None:
    try:
        return None if text is None else read_hypotheses(text)
    except SprtError as error:
        raise click.UsageError(f"--sprt: {error}") from None


def _check_together(options: MatchOptions, by_hand: bool, pairings: int, test: Hypotheses | None) -> None:
    """Raise UsageError for options that contradict each other."""
    log, log_stderr = options.log, options.log_stderr
    if log is not None and log_stderr is not None and log.resolve() == log_stderr.resolve():
        raise click.UsageError("--log and --log-stderr: name two folders")
    if by_hand and (options.jobs or 1) > 1:
        raise click.UsageError("--jobs: a human plays one match at a time")
    if pairings > 1 and (by_hand or test):
        raise click.UsageError(f"{'human' if by_hand else '--sprt'}: name two bots, no more")


def _series(options: MatchOptions, bots: tuple[BotSpec, ...], setting: Setting) -> SeriesConfig:
    """Build the series settings from the options; `play` adds the bots, the games and the openings."""
    judge = _read_judge(options, bots)
    names = ["engine", *(bot.name for bot in bots), *([JUDGE] if judge else [])]
    if options.verbose not in ("", PLIES, ALL, *names):
        raise click.UsageError(
            f"--verbose={escape_unprintable(options.verbose[:80])}: nothing here has this name: "
            f"write {PLIES}, {ALL}, {', '.join(names[:-1])} or {names[-1]}"
        )
    return SeriesConfig(
        setting=setting,
        engine=confined_engine(read_engine(options.engine), options.confined),
        bots=(bots[0], bots[1]),
        games=1,
        max_plies=options.max_plies or 0,
        margin=options.margin,
        seed=options.seed,
        openings=0,
        rules=tuple(_read_rules(resign=options.resign, draw=options.draw)),
        judge=judge,
        budgets=Timeouts.parse(options.budget),
        restart=options.restart,
        extras=ProcessLimits(
            options.memory,
            options.verbose,
            make_folder("--log-stderr", options.log_stderr),
            make_folder("--log", options.log),
            options.confined,
        ),
        pin=options.pin,
        record=str(options.record) if options.record else "",
        referee=f"general-game-protocol {version('general-game-protocol')}",
    )


def _read_rules(**said: str | None) -> Iterator[AdjudicationRule]:
    """Read --resign and --draw. Raises AdjudicationError."""
    for kind in get_args(Kind):
        try:
            if (text := said[kind]) is not None:
                yield AdjudicationRule.parse(kind, text)
        except AdjudicationError as error:
            raise AdjudicationError(f"--{kind}: {error}") from None


def _read_judge(options: MatchOptions, bots: Sequence[BotSpec]) -> BotSpec | None:
    """Read --adjudicator. Raises UsageError, WordError, LaunchError."""
    if options.adjudicator is None:
        return None
    if not (options.resign or options.draw):
        raise click.UsageError("--adjudicator: write what it is to judge by, as in --resign winrate=0.02 plies=6")
    if any(bot.name == JUDGE for bot in bots):
        raise click.UsageError(f"--adjudicator: give the bot {JUDGE} another name")
    return replace(read_bot(options.adjudicator), name=JUDGE)


def _pairings(bots: Sequence[BotSpec], gauntlet: str | None) -> list[tuple[BotSpec, BotSpec]]:
    """Return every two bots, or those with the bot of --gauntlet. Raises UsageError."""
    if not 2 <= len(bots) <= _MOST_BOTS:
        raise click.UsageError(f"name 2 to {_MOST_BOTS} bots after the game")
    if gauntlet is not None and gauntlet not in (names := [bot.name for bot in bots]):
        raise click.UsageError(f"--gauntlet {gauntlet}: the bots are {', '.join(names)}")
    return [pair for pair in combinations(bots, 2) if gauntlet is None or gauntlet in (pair[0].name, pair[1].name)]


def _places(setup: SeriesConfig, bots: Sequence[BotSpec], jobs: int | None, confined: Sandbox) -> tuple[int, int]:
    """Return the matches at a time, and the cores of each. Raises ConfigError for contradictory settings."""
    sandboxes = [bot.sandbox or confined for bot in bots if bot.argv]
    if not any(bot.ponder or bot.budget for bot in bots) and not any(sandbox.apart for sandbox in sandboxes):
        return jobs or len(available_cores()), 1
    from ggp.referee.ladder.bot_settings import apart, check_move_limit, cores_of_match, places

    for bot in bots:
        if any(name == "move" for name, _ in bot.budget):
            check_move_limit(f"bot {bot.name}", "budget", bot.control or setup.setting.control)
    ponders = [bot.name for bot in bots if bot.ponder]
    if not ponders or any(map(is_human, bots)):
        jobs, cores = apart(sandboxes, jobs, setup.pin)
        return jobs or len(available_cores()), cores
    cores = cores_of_match(bots)
    return places("", ponders[0], cores, jobs, setup.pin), cores


def _check_bots(options: MatchOptions, setup: SeriesConfig, bots: Sequence[BotSpec]) -> None:
    """Check that bots take their limits, and report what the rules need. Raises ConfigError, WordError."""
    if options.bot:
        from ggp.referee.ladder.session import check_bots

        check_bots("", bots, setup.budgets)
    try:
        run_blocking(check_reports(setup, bots))
    except CannotStart as error:
        raise WordError(f"{error.who}: {error}", code="no-reports") from None


def _show(options: MatchOptions, report: SeriesReport, warnings: list[str]) -> None:
    record = str(options.record) if options.record and options.record.exists() else ""  # no game leaves no file
    if options.as_object:
        click.echo(json.dumps(as_json(report, record, warnings)))
    elif not options.quiet and report.attempts:  # else there is nothing to say of games
        print_report(report, record)
    for line in why_incomplete(report):
        click.echo(f"ggp match: {line}", err=True)
