"""`ggp match GAME[,name=value…] BOT BOT…`: reads the command line, runs the series, shows how they went."""

import json
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import click

from ggp.protocol.printed import without_password
from ggp.protocol.records import Event
from ggp.protocol.safe_files import without_mark
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.subreaper import adopting_orphans
from ggp.referee.cli.foreign_options import SPRT_WORD, translate
from ggp.referee.command_line import BAD_USAGE, HELP, make_folder, run_command
from ggp.referee.match.adjudication import AdjudicationError, AdjudicationRule, Kind
from ggp.referee.match.bot_spec import (
    BotSpec,
    WordError,
    confined_engine,
    distinct,
    is_built_in,
    is_human,
    knowing,
    read_bot,
    read_engine,
    read_game,
    with_version,
)
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.judge import JUDGE, check_reports
from ggp.referee.match.openings import BookChoice, BookError, OpeningBook, file_data, read_choice
from ggp.referee.match.options import sandbox_option
from ggp.referee.match.outcome import CannotStart
from ggp.referee.match.pool import PATIENCE as HOST_PATIENCE
from ggp.referee.match.process import ALL, PLIES, ProcessLimits, available_cores
from ggp.referee.match.record_file import RecordFile
from ggp.referee.match.report import (
    as_json,
    bots_of,
    effect_of_match,
    live_parts,
    print_report,
    status_line,
    stderr_kept,
)
from ggp.referee.match.sandbox.levels import APART, NONE, Cores, Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.series import SeriesConfig, prepare
from ggp.referee.match.series_run import SeriesReport, resume_series, run_series
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.sprt import MODELS, PRESETS, Hypotheses, SprtError
from ggp.referee.terminal import LiveLine, can_redraw, escape_unprintable

_DEATHS = 3  # times in a row that workers may die without a match in between
_MOST_BOTS = 100
_MOST_PLIES = 1000  # of an opening
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
    """The exit status."""
    return run_command(match, "ggp match", argv)


class _MatchCommand(click.Command):
    """Understands the words of cutechess and fastchess, too. Raises WordError."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, translate(args))


@click.command(cls=_MatchCommand, epilog=EPILOGUE, context_settings=HELP)
@click.argument("game")
@click.argument("bots", metavar="BOT BOT…", nargs=-1, required=True)
@click.option(
    "--games", type=click.IntRange(1, 10_000_000), metavar="N", help="Matches of each two bots.  [default: 10]"
)
@click.option("--time", "control", metavar="TIME", help="Time control of each side.  [default: 10+0.1]")
@click.option(
    "--max-plies",
    type=click.IntRange(1, 10**7),
    metavar="N",
    help="End longer matches.  [default: 20 times the cells]",
)
@click.option(
    "--margin",
    type=click.IntRange(0, 60_000),
    default=50,
    show_default=True,
    metavar="MS",
    help="Milliseconds a bot may exceed its time.",
)
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Random seed for openings.")
@click.option(
    "--openings",
    "opening_words",
    metavar="N|FILE",
    default="0",
    help="N random plies, or FILE[,order=random][,start=N][,plies=N].",
)
@click.option("--from", "place", metavar="PLACE", help="Begin at a position of a record: FILE[#MATCH][@PLY].")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Matches at a time.  [default: one per core]")
@click.option("--pin/--no-pin", default=True, help="Keep the processes of a match on one core.  [default: pin]")
@click.option("--restart", is_flag=True, help="Start the bots again for each match.")
@click.option(
    "--bot",
    "bot_words",
    multiple=True,
    metavar="NAME,KEY=VALUE,…",
    help="Settings of one bot, or of * for all: time, nodes, wait, nice, …",
)
@click.option(
    "--memory", type=click.IntRange(0, 1 << 30), default=0, metavar="MIB", help="Address space of each process."
)
@sandbox_option("bots and engine")
@click.option(
    "--cores",
    "share",
    type=click.Choice(get_args(Cores)),
    default=APART,
    show_default=True,
    help="Cores of two strict bots: different or the same.",
)
@click.option("--budget", multiple=True, metavar="NAME=SECONDS", help="Seconds for start, command, new, agreement, …")
@click.option("--engine", metavar="COMMAND|URL", help="A foreign engine: a command line, or tcp://host:port.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Append the matches to FILE; resume where it ends.",
)
@click.option("--mix", is_flag=True, help="Count recorded games of an earlier version of a bot as its own.")
@click.option("--gauntlet", metavar="NAME", help="Only this bot plays the others.")
@click.option("--sprt", "tested", metavar="TEST", help="Stop when this test decides: elo0=0 elo1=5, or gate.")
@click.option("--resign", metavar="RULE", help="End a lost match: winrate=0.02 plies=6 after=20.")
@click.option("--draw", metavar="RULE", help="End an even match: winrate=0.02 plies=10 after=60.")
@click.option("--adjudicator", metavar="BOT", help="Bot that judges --resign and --draw instead of the players.")
@click.option("--interval", type=click.IntRange(1), metavar="N", help="Print the score every N games.")
@click.option("--json", "as_object", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress and no table.")
@click.option(
    "--verbose",
    metavar="[=WHAT]",
    is_flag=False,
    flag_value=PLIES,
    default="",
    help="Show plies, or the dialogue of NAME, of the engine or of all.",
)
@click.option(
    "--log-stderr",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep what bots write to stderr.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep all lines of bots and engines for ggp tap --show.",
)
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
    opening_words: str
    place: str | None
    jobs: int | None
    pin: bool
    restart: bool
    bot_words: tuple[str, ...]
    memory: int
    sandbox: Level
    share: Cores
    budget: tuple[str, ...]
    engine: str | None
    record: Path | None
    mix: bool
    gauntlet: str | None
    tested: str | None
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
        private = (str(self.record.absolute()),) if self.record else ()
        return Sandbox(self.sandbox, private=private, cores=self.share)


def play(options: MatchOptions) -> int:
    """Play the series and show how they went. Returns the exit status."""
    (name, given), position = read_game(options.game), tuple[str, ...]()
    if options.place is not None:
        given, position = _read_position(options.place, name, given)
    openings, book = _read_openings(options.opening_words, name, given)
    named = _read_bots(options)
    pairings = _pairings(named, options.gauntlet)
    by_hand = any(is_human(bot) for pairing in pairings for bot in pairing)
    hypotheses = read_test(options.tested) if options.tested is not None else None
    _check_together(options, by_hand, len(pairings), hypotheses)
    control = TimeControl.parse(options.control or ("none" if by_hand else "10+0.1"))
    setup = replace(
        _series(options, named, Setting(name, given, {}, control)),
        bots=pairings[0],
        games=options.games or (1 if by_hand else 10),
        openings=openings,
        book=book.choice if book else None,
        position=position,
    )
    jobs, cores = _places(setup, named, options.jobs or (1 if options.verbose or by_hand else None), options.confined)
    if hypotheses and setup.games % 2:
        raise click.UsageError("--sprt: --games must be even, for the test is on pairs of games")
    with adopting_orphans():  # only before there are workers, which would be taken for orphans
        setup, warnings = prepare(setup, book)
        if options.bot_words:
            _check_settings(named, setup.budgets)
        if setup.rules:
            _check_reports(setup, named)
    report, recorder = _resume(options, [replace(setup, bots=pair) for pair in pairings], hypotheses, book, warnings)
    for warning in [] if options.quiet else warnings:
        click.echo(f"ggp match: {warning}", err=True)
    if by_hand:
        with recorder:
            report = _sit_down(report, recorder, options.as_object)
    else:
        left = sum(len(run.left) for run in report.runs)
        report = _run(options, report, min(jobs, max(1, left)), cores, recorder)
    status = _status(report)
    if status == BAD_USAGE:
        raise WordError("; ".join(f"{who}: {reason}" for who, reason in report.suspended.items()))
    _show(options, report, warnings)
    return status


def _read_bots(options: MatchOptions) -> tuple[BotSpec, ...]:
    """The bots with their settings and versions. Raises UsageError, WordError, ConfigError."""
    named, confined = distinct(*(read_bot(bot, human=True) for bot in options.bots)), options.confined
    if options.bot_words:
        from ggp.referee.ladder.bot_settings import read_words  # most series need none of these

        named = read_words(options.bot_words, named, confined)
    named = tuple(map(with_version, named))
    for bot in named:
        check_level((bot.sandbox or confined).level if bot.argv else NONE, bot.name)
    _check_shown(options.verbose, named, options.adjudicator)
    return named


def _check_together(options: MatchOptions, by_hand: bool, pairings: int, hypotheses: Hypotheses | None) -> None:
    """Raise UsageError for options that contradict each other."""
    log, log_stderr = options.log, options.log_stderr
    if log is not None and log_stderr is not None and log.resolve() == log_stderr.resolve():
        raise click.UsageError("--log and --log-stderr: name two folders")
    if by_hand and (options.jobs or 1) > 1:
        raise click.UsageError("--jobs: a human plays one match at a time")
    if pairings > 1 and (by_hand or hypotheses):
        raise click.UsageError(f"{'human' if by_hand else '--sprt'}: name two bots, no more")


def _series(options: MatchOptions, named: tuple[BotSpec, ...], setting: Setting) -> SeriesConfig:
    """Build the series settings from the options; `play` adds the bots, the games and the openings."""
    return SeriesConfig(
        setting=setting,
        engine=confined_engine(read_engine(options.engine), options.confined),
        bots=(named[0], named[1]),
        games=1,
        max_plies=options.max_plies or 0,
        margin=options.margin,
        seed=options.seed,
        openings=0,
        rules=_read_rules(options.resign, options.draw),
        judge=_read_judge(options.adjudicator, named, options.resign or options.draw),
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


def _check_shown(what: str, bots: Sequence[BotSpec], adjudicator: str | None) -> None:
    """Raise UsageError unless --verbose names something that this match has."""
    names = ["engine", *(bot.name for bot in bots), *([JUDGE] if adjudicator else [])]
    if what not in ("", PLIES, ALL, *names):
        raise click.UsageError(
            f"--verbose={escape_unprintable(what[:80])}: nothing here has this name: "
            f"write {PLIES}, {ALL}, {', '.join(names[:-1])} or {names[-1]}"
        )


def _pairings(named: Sequence[BotSpec], gauntlet: str | None) -> list[tuple[BotSpec, BotSpec]]:
    """Every two bots, or the one named and each of the others."""
    if not 2 <= len(named) <= _MOST_BOTS:
        raise click.UsageError(f"name 2 to {_MOST_BOTS} bots after the game")
    if gauntlet is None:
        return list(combinations(named, 2))
    one = next((bot for bot in named if bot.name == gauntlet), None)
    if one is None:
        raise click.UsageError(f"--gauntlet {gauntlet}: the bots are {', '.join(bot.name for bot in named)}")
    return [pairing for pairing in combinations(named, 2) if one in pairing]  # as above: the series are the same


def _check_settings(bots: Sequence[BotSpec], budgets: Timeouts) -> None:
    """Raises ConfigError."""
    from ggp.referee.ladder.session import check_bots

    check_bots("", bots, budgets)


def _places(setup: SeriesConfig, bots: Sequence[BotSpec], jobs: int | None, confined: Sandbox) -> tuple[int, int]:
    """Matches at a time, and the cores of each. Raises ConfigError for settings that the series contradicts."""
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


def read_test(text: str) -> Hypotheses:
    """`elo0=0,elo1=5[,alpha=…,beta=…,model=…]`, with commas or blanks, or the name of a preset."""
    if text in PRESETS:
        return PRESETS[text]
    said = dict[str, str]()
    for word in re.split(r"[\s,]+", text.strip()):
        name, _, value = word.partition("=")
        if not SPRT_WORD.match(word) or name in said:
            raise click.UsageError(
                f"--sprt {text[:80]!r}: write elo0=0 elo1=5, then alpha=0.05 beta=0.05 model={MODELS[0]} if they "
                f"differ, or one of {', '.join(PRESETS)}"
            )
        said[name] = value
    if "elo0" not in said or "elo1" not in said:
        raise click.UsageError("--sprt: give both hypotheses, as in --sprt elo0=0 elo1=5")
    model = next((known for known in MODELS if known == said.get("model", MODELS[0])), None)
    try:
        if model is None:
            raise SprtError(f"model {said['model']!r} is none of {', '.join(MODELS)}")
        numbers = {name: float(value) for name, value in said.items() if name != "model"}
        return Hypotheses(**numbers, model=model)
    except ValueError as error:
        raise click.UsageError(f"--sprt: {error}") from None


def _read_rules(resign: str | None, draw: str | None) -> tuple[AdjudicationRule, ...]:
    """Raises AdjudicationError."""
    said: tuple[tuple[Kind, str | None], ...] = (("resign", resign), ("draw", draw))
    rules = list[AdjudicationRule]()
    for kind, text in said:
        try:
            rules += [AdjudicationRule.parse(kind, text)] if text is not None else []
        except AdjudicationError as error:
            raise AdjudicationError(f"--{kind}: {error}") from None
    return tuple(rules)


def _read_judge(adjudicator: str | None, bots: Sequence[BotSpec], rules: str | None) -> BotSpec | None:
    """The bot of --adjudicator. Raises UsageError, WordError, LaunchError."""
    if adjudicator is None:
        return None
    if rules is None:
        raise click.UsageError("--adjudicator: write what it is to judge by, as in --resign winrate=0.02 plies=6")
    if any(bot.name == JUDGE for bot in bots):
        raise click.UsageError(f"--adjudicator: give the bot {JUDGE} another name")
    return replace(read_bot(adjudicator), name=JUDGE)


def _check_reports(setup: SeriesConfig, bots: Sequence[BotSpec]) -> None:
    """Check that the judge, or every bot without one, reports what the rules need. Raises WordError."""
    for bot in [setup.judge] if setup.judge else bots:
        try:
            if is_human(bot):
                raise CannotStart(bot.name, "a human reports no win rate: leave --resign and --draw out")
            run_blocking(check_reports(knowing(bot, setup.engine), setup.setting, setup.rules, setup.budgets))
        except CannotStart as error:
            raise WordError(f"{bot.name}: {error}", code="no-reports") from None


def _read_openings(text: str, game: str, options: dict[str, str]) -> tuple[int, OpeningBook | None]:
    """Read --openings: a number of random plies, or a book. Raises BookError, UsageError."""
    if text.isdecimal():
        if len(text) > 4 or int(text) > _MOST_PLIES:
            raise click.UsageError(f"--openings {text[:20]}: at most {_MOST_PLIES} random plies")
        return int(text), None
    choice = read_choice(text)
    data = file_data(choice.path)
    begins = without_mark(data[:4])[:1]
    if begins in (b"{", b"("):
        return 0, _book_of_games(choice, begins == b"{", game, options)
    return 0, OpeningBook(choice, data)


def _book_of_games(choice: BookChoice, recorded: bool, game: str, options: dict[str, str]) -> OpeningBook:
    """The games of a record, or of SGF, as openings. Raises BookError."""
    from ggp.referee.tools.archive.game_files import CannotImport, file_games  # most series need neither
    from ggp.referee.tools.archive.places import open_matches

    lines, path = list[str](), choice.path

    def damaged(reason: str) -> None:
        raise BookError(f"{path}, game {len(lines) + 1}: {reason}: name a record that ggp verify accepts")

    def add(found: str, here: Mapping[str, str], moves: Iterable[str]) -> None:
        where = f"{path}, game {len(lines) + 1}"
        if found != game:
            raise BookError(f"{where}: a game of {found}, not of {game}")
        if (size := here.get("size", "")) != options.get("size", ""):
            played = f"{game},size={size}" if size else f"{game} of the default size"
            raise BookError(f"{where}: it is of another size: play {played}")
        lines.append(" ".join(moves))

    if recorded:
        for record in open_matches(path, None, lambda piece: None, damaged):
            add(record.start.game, record.start.options, (ply.move for ply in record.plies))
    else:
        for found in file_games(path):
            if isinstance(found, CannotImport):
                raise BookError(f"{path}, game {len(lines) + 1}: {found}")
            add(found.game, found.options, (move.move for move in found.moves))
    return OpeningBook(choice, "\n".join(lines).encode(), "game")


def _read_position(place: str, game: str, options: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options of the recorded match and its plies up to the place. `options` may only repeat them."""
    from ggp.referee.tools.archive.places import open_match  # the store: most series need none

    source = open_match(place)
    start, place = source.record.start, without_password(place)
    if start.game != game:
        raise click.UsageError(f"--from {place}: the recorded game is {start.game}: write that instead of {game}")
    for name, value in options.items():
        if start.options.get(name) != value:
            raise click.UsageError(f"--from {place}: options come from the record: leave {name}={value} out")
    return dict(start.options), tuple(ply.move for ply in source.record.plies[: source.ply])


def _sit_down(report: SeriesReport, recorder: RecordFile, as_object: bool) -> SeriesReport:
    """The series with a human in it, here at the terminal."""
    from ggp.protocol.transports.subreaper import adopt_orphans
    from ggp.referee.match.analysis import show_plies
    from ggp.referee.match.human import announce, open_terminal, play_by_hand

    adopt_orphans()
    terminal = open_terminal(sys.stderr if as_object else sys.stdout)

    told = show_plies() if report.runs[0].setup.extras.shows_plies else None

    def seen(event: Event) -> None:
        if told is not None:
            told(event)
        if line := announce(event):
            terminal.show(line)

    return play_by_hand(report.runs[0], recorder, terminal, seen)


def _resume(
    options: MatchOptions,
    setups: list[SeriesConfig],
    hypotheses: Hypotheses | None,
    book: OpeningBook | None,
    warnings: list[str],
) -> tuple[SeriesReport, RecordFile]:
    """As resume_series, with a test if there is one; what was found in the record is added to the warnings."""
    runs, recorder = resume_series(setups, hypotheses, mix=options.mix)
    record, total, left = setups[0].record, sum(setup.games for setup in setups), sum(len(run.left) for run in runs)
    if recorder.dropped:
        warnings.append(f"{record}: cut off {recorder.dropped} bytes of a match that was not finished")
    warnings += [f"{record}: {torn}; a match that was not finished" for torn in recorder.torn]
    if left < total:
        warnings.append(f"{record} holds {total - left} of these {total} matches already: they are not played again")
    for run in runs:
        run.tally.forget_voids()
    return SeriesReport(runs, book), recorder


def _run(options: MatchOptions, report: SeriesReport, jobs: int, cores: int, recorder: RecordFile) -> SeriesReport:
    """Play what is left; with a record, matches whose worker dies go on in another."""
    live = can_redraw(sys.stderr) and not (options.quiet or options.verbose)
    interval = 0 if options.quiet else options.interval or 0
    setups = [run.setup for run in report.runs]
    earlier = {run.setup.series: run.tally.attempts for run in report.runs}
    plies = sum(run.tally.plies for run in report.runs)
    while True:
        counted, deaths, report.deaths = report.attempts, report.deaths, 0
        with recorder, LiveLine() if live else nullcontext() as line:
            seen = _Seen(line, interval, report, options.quiet)
            run_series(report, jobs, recorder, seen, cores)
        if not (report.deaths and setups[0].record) or report.over:
            return report
        hypotheses = report.tally.test.hypotheses if report.tally.test else None
        report.runs, recorder = resume_series(setups, hypotheses, earlier, mix=True)  # checked when this run began
        report.plies = sum(run.tally.plies for run in report.runs) - plies
        report.deaths += deaths if report.attempts == counted else 0
        if report.deaths > _DEATHS:
            recorder.broken = True
            recorder.close()
            return report
        click.echo("ggp match: a worker process died: its matches go on in another", err=True)


class _Seen:
    """Shows the progress of a run: on the live line of a terminal, and as lines after every `interval` games."""

    def __init__(self, line: LiveLine | None, interval: int, report: SeriesReport, quiet: bool = False) -> None:
        self._quiet = quiet
        self._line, self._interval = line, interval
        done = sum(run.done for run in report.runs)
        self._next = done - done % interval + interval if interval else 0
        self._before, self._began = done, time.monotonic()
        self._waits = ""
        self._noticed = 0  # notices that were shown
        if line is not None:
            line.update(live_parts(report))

    def __call__(self, report: SeriesReport) -> None:
        if report.waits != self._waits:
            self._waits = report.waits
            self._say(f"ggp match: {report.waits or 'this machine starts processes again'}")
        done = sum(run.done for run in report.runs)
        self._show_notices(report.notices)
        if self._line is not None:
            self._line.update(live_parts(report, *self._pace(done, report)))
        if self._interval and done >= self._next:
            self._next = done - done % self._interval + self._interval
            lines = [] if len(report.runs) > 1 else effect_of_match(report)
            lines.append(", ".join(self._pace(done, report)))
            self._say(
                *map(
                    escape_unprintable, [f"after {done} games: {status_line(report)}", *(f"  {line}" for line in lines)]
                )
            )

    def _show_notices(self, notices: Sequence[str]) -> None:
        """Say at once, above the live line, why a bot gives no valid answer: its time may be a minute."""
        for text in notices[self._noticed :]:
            lines = [escape_unprintable(line) for line in f"ggp match: {text}".split("\n")]
            if not self._quiet:
                self._say(*lines)
        self._noticed = len(notices)

    def _say(self, *lines: str) -> None:
        if self._line is not None:
            self._line.print_above(*lines)
        else:
            click.echo("\n".join(lines), err=True)

    def _pace(self, done: int, report: SeriesReport) -> tuple[str, str]:
        """Games a second of this run, and how long the rest takes at most: a test may stop it before."""
        rate = (done - self._before) / max(time.monotonic() - self._began, 1e-3)
        left = sum(run.setup.games for run in report.runs) - done
        return f"{rate:.1f} games/s", f"{timedelta(seconds=round(left / rate)) if rate else '?'} left"


def _show(options: MatchOptions, report: SeriesReport, warnings: list[str]) -> None:
    record = str(options.record) if options.record and options.record.exists() else ""  # no game leaves no file
    if options.as_object:
        click.echo(json.dumps(as_json(report, record, warnings)))
    elif not options.quiet and any(run.tally.attempts for run in report.runs):  # else there is nothing to say of games
        print_report(report, record)
    for who, reason in report.suspended.items():
        click.echo(f"ggp match: {who} is suspended: {reason}", err=True)
    if told := sorted({bot.name for bot in bots_of(report)} & report.suspended.keys()):
        click.echo(f"ggp match: {stderr_kept(report, told)}", err=True)
    if failed := sum(run.tally.faults["engine", "engine_failed"] for run in report.runs):
        click.echo(f"ggp match: THE ENGINE FAILED in {failed} matches, which are void: see the record", err=True)
    if report.gave_up:
        click.echo(f"ggp match: {report.waits}; no process could be started for {HOST_PATIENCE:.0f} s", err=True)
    if report.gone:
        click.echo(f"ggp match: {report.failed}", err=True)
    elif report.failed:
        click.echo(f"ggp match: cannot go on writing the record: {report.failed}; free space and repeat", err=True)
    if report.deaths:
        recorded = report.runs[0].setup.record
        how = "the same command" if recorded else "a command with --record FILE, given again,"
        who = f"worker processes died {report.deaths} times in a row" if report.deaths > 1 else "a worker process died"
        click.echo(f"ggp match: {who}; {how} goes on with what is left", err=True)
    if report.stopped:
        click.echo("ggp match: stopped; the matches that were finished are kept", err=True)


def _status(report: SeriesReport) -> int:
    if report.stopped:
        return 128 + report.stopped
    if report.suspended and not any(run.tally.terminations for run in report.runs):
        bots = {bot.name: bot for run in report.runs for bot in run.setup.bots}
        for who, reason in report.suspended.items():
            if who in bots and is_built_in(bots[who]) and f"exit status {BAD_USAGE}" in reason:
                return BAD_USAGE  # there is no such built-in, or no such option
    void = any(run.tally.void for run in report.runs)
    return 1 if void or report.suspended or report.deaths or report.failed or report.gave_up else 0
