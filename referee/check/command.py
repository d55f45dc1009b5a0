"""`ggp check`: the words of the command line, the program that they mean, and how the findings are told."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from protocol.commands import Who
from protocol.conformance import catalogue, rule_of
from protocol.connection import PeerRole
from protocol.safe_files import replace_file
from protocol.transports.blocking import run_blocking
from referee.check.report import as_json, as_junit, loses_games, print_report, usable
from referee.check.run import Wanted, run_trial
from referee.check.trial import Found, Trial
from referee.command_line import HELP, run_command
from referee.config import Budgets
from referee.play.launch import Peer, Process, Remote, find_program
from referee.play.outcome import EngineFailed
from referee.play.seating import Extras, start_engine
from referee.play.words import read_engine, read_game

Tell = Callable[[int, int, str], None]
EPILOG = (
    "Exit status: 0 if the referee can use the program, 1 if not, 2 for a command line that cannot be. "
    "The steps are listed in docs/reference/compliance.md."
)


def main(argv: list[str]) -> int:
    """The exit status; see EPILOG."""
    return run_command(check, "ggp check", argv, EngineFailed)


@click.command("check", context_settings=HELP, epilog=EPILOG, no_args_is_help=False)
@click.option("--engine", "as_engine", is_flag=True, help="It is an engine: it knows the rules of games.")
@click.option("--connect", metavar="URL", help="Check a service at tcp://host:port.")
@click.option(
    "--game", "games", multiple=True, metavar="GAME[,NAME=VALUE]", help="What to play; by default, what it lists."
)
@click.option("--only", metavar="N[,N]", help="Rules or steps alone: 2.3,4.2.1")
@click.option(
    "--judge", metavar="COMMAND|URL", help="The engine that knows the rules of what a bot plays; ours if none."
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), default=10.0, show_default=True, help="Seconds for an answer."
)
@click.option("--start", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True, help="Seconds to load in.")
@click.option("--list", "list_only", is_flag=True, help="List the steps and run none.")
@click.option("--json", "json_wanted", is_flag=True, help="Print the findings as JSON.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--all", "everything", is_flag=True, help="Show the steps that passed or do not apply, too.")
@click.option("--strict", is_flag=True, help="Exit with status 1 also for a failure that loses games.")
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict alone.")
@click.option("-v", "--verbose", is_flag=True, help="Show all bytes that pass, on stderr.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def check(
    as_engine: bool,
    connect: str | None,
    games: tuple[str, ...],
    only: str | None,
    judge: str | None,
    timeout: float,
    start: float,
    list_only: bool,
    json_wanted: bool,
    junit: Path | None,
    everything: bool,
    strict: bool,
    quiet: bool,
    verbose: bool,
    command: tuple[str, ...],
) -> int:
    """Check that a program obeys the protocol: `ggp check -- gnugo --mode gtp`.

    Every step that fails says what was sent, what came back, what was expected, which rule says so, and what to
    change. A failure is required (the referee cannot use the program), forfeit (it loses the game in which it happens),
    recommended (GTP asks for it) or native (GGP alone does).
    """
    who = Who.ENGINE if as_engine else Who.BOT
    wanted = Wanted(_numbers(only, who), tuple(_line_of(game) for game in games))
    if list_only:
        _list(who, wanted)
        return 0
    if bool(command) == bool(connect):
        raise click.UsageError("name one program: ggp check -- COMMAND …, or ggp check --connect tcp://host:port")
    if junit is not None and not junit.absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder for {junit}: make it first")
    trial = _trial(who, connect, command, timeout, max(timeout, start), verbose)
    with _progress(json_wanted or quiet or verbose) as tell:
        found = run_blocking(_run(trial, wanted, judge, tell))
    program = connect or " ".join(command)
    if junit is not None:
        try:
            replace_file(junit, as_junit(program, found).encode())
        except OSError as error:
            raise click.ClickException(f"cannot write {junit}: {error.strerror}; name another file") from None
    if json_wanted:
        click.echo(as_json(program, who, found))
    else:
        print_report(found, quiet, everything)
    return 0 if usable(found) and not (strict and loses_games(found)) else 1


async def _run(trial: Trial, wanted: Wanted, judge: str | None, tell: Tell) -> list[Found]:
    if trial.who is Who.BOT:
        trial.judge = await start_engine(read_engine(judge), Budgets(), Extras())
    try:
        return await run_trial(trial, wanted, tell)
    finally:
        if trial.judge is not None:
            await trial.judge.peer.stop()


def _trial(who: Who, url: str | None, command: tuple[str, ...], timeout: float, first: float, verbose: bool) -> Trial:
    role = PeerRole.ENGINE if who is Who.ENGINE else PeerRole.BOT
    budgets = Budgets(command=timeout, quit=min(timeout, 3.0))
    sink = _show if verbose else None
    if url:
        address = read_engine(url).url
        if not address:
            raise click.UsageError(f"{url!r} is no address: write tcp://host:port")

        def dial() -> Peer:
            return Remote(address, role, budgets, sink=sink)

        return Trial(who, dial, timeout, first, remote=True)
    find_program(command[0])
    return Trial(who, partial(Process, command, role, budgets, sink=sink), timeout, first)


def _show(mark: str, seconds: float, data: bytes) -> None:
    text = repr(data)[2:-1] if data else "(end of stream)"
    os.write(2, f"{seconds:.6f} {mark} {text}\n".encode())


def _line_of(text: str) -> str:
    game, options = read_game(text)
    return " ".join([game, *(f"{name}={value}" for name, value in options.items())])


def _numbers(only: str | None, who: Who) -> tuple[str, ...]:
    wanted = tuple(word.strip() for word in (only or "").split(",") if word.strip())
    known = [check.number for check in catalogue(who, game="go")]
    for word in wanted:
        if not any(number == word or number.startswith(word + ".") for number in known):
            raise click.UsageError(f"--only {word}: there is no such rule or step; ggp check --list shows them")
    return wanted


def _list(who: Who, wanted: Wanted) -> None:
    for check in catalogue(who, game="GAME"):
        if not wanted.only or any(f"{check.number}.".startswith(f"{only}.") for only in wanted.only):
            click.echo(f"{check.number:7}{check.demand:12} {check.title} ({rule_of(check.number).text})")


@contextlib.contextmanager
def _progress(silent: bool) -> Iterator[Tell]:
    """A bar on stderr, on a terminal."""
    if silent or not sys.stderr.isatty():
        yield lambda done, total, title: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total, title: bar.update(task, completed=done, total=total, description=title[:40])
