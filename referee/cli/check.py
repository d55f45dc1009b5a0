"""`ggp check`: check that a program obeys the protocol."""

import shlex
from functools import partial
from pathlib import Path

import click

from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict, catalogue, rule_of
from ggp.protocol.connection import PeerRole
from ggp.protocol.safe_files import replace_file
from ggp.protocol.standard_streams import write_stderr
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.bot_spec import find_program, read_engine, read_game
from ggp.referee.match.engine import start_engine
from ggp.referee.match.options import NumberRange, sandbox_option
from ggp.referee.match.process import Process, Remote
from ggp.referee.match.sandbox.levels import DEFAULT, NONE, Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.setting import Timeouts
from ggp.referee.terminal import escape_unprintable, progress_bar
from ggp.referee.tools.check.report import as_json, as_junit, loses_games, print_report, usable
from ggp.referee.tools.check.run import run_trial, takes
from ggp.referee.tools.check.trial import StepResult, Trial

EPILOG = (
    "Exit status: 0 if the referee can use the program, 1 if not, 2 for a usage error. "
    "The steps are listed in docs/reference/compliance.md."
)


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(check, "ggp check", argv)


@click.command("check", context_settings=HELP, epilog=EPILOG, no_args_is_help=False)
@click.option("--engine", "as_engine", is_flag=True, help="The program is an engine: it knows the rules of games.")
@click.option("--connect", metavar="URL", help="Check a service at tcp://host:port.")
@click.option("--game", "games", multiple=True, metavar="GAME[,NAME=VALUE]",
              help="Game to play.  [default: those that it lists]")  # fmt: skip
@click.option("--only", metavar="N[,N]", help="Check only these rules or steps: 2.3,4.2.1")
@click.option("--judge", metavar="COMMAND|URL",
              help="Engine that knows the games a bot plays.  [default: the built-in one]")  # fmt: skip
@click.option("--timeout", type=NumberRange(0.1, 600), default=10.0, show_default=True, help="Seconds for an answer.")
@click.option("--start", type=NumberRange(0.1, 3600), default=60.0, show_default=True, help="Seconds to load.")
@click.option("--list", "list_only", is_flag=True, help="List the steps and run none.")
@click.option("--json", "json_wanted", is_flag=True, help="Print the findings as JSON.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--all", "everything", is_flag=True, help="Show the steps that passed or do not apply, too.")
@sandbox_option("it", bare=DEFAULT)
@click.option("--strict", is_flag=True, help="Exit with status 1 for a failure that loses games, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict.")
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
    sandbox: Level,
    strict: bool,
    quiet: bool,
    verbose: bool,
    command: tuple[str, ...],
) -> int:
    """Check that a program obeys the protocol: `ggp check -- gnugo --mode gtp`.

    Every step that fails says what was sent, what came back, what was expected, which rule says so, and what to
    change. With --sandbox, the program is checked outside the sandbox as well, and the steps that fail only inside
    are named.

    A failure is required (the referee cannot use the program), forfeit (it loses the game in which it happens),
    recommended (GTP asks for it) or native (GGP alone does).
    """
    who = Who.ENGINE if as_engine else Who.BOT
    numbers = _numbers(only, who)
    lines = tuple(_line_of(game) for game in games)
    if list_only:
        for each in catalogue(who, game="GAME"):
            if takes(numbers, each.number):
                click.echo(f"{each.number:7}{each.demand:12} {each.title} ({rule_of(each.number).text})")
        return 0
    if bool(command) == bool(connect):
        raise click.UsageError("name one program: ggp check -- COMMAND …, or ggp check --connect tcp://host:port")
    if junit is not None and not junit.absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder for {junit}: make it first")
    if connect and sandbox != NONE:
        raise click.UsageError("--sandbox has no effect on a program that listens: leave --connect or --sandbox out")
    check_level(sandbox, command[0] if command else "")

    async def run(level: Level) -> list[StepResult]:
        trial = _trial(who, connect, command, timeout, max(timeout, start), verbose, level)
        if who is Who.BOT:
            trial.judge = await start_engine(read_engine(judge))
        try:
            return await run_trial(trial, numbers, lines, tell)
        finally:
            if trial.judge is not None:
                await trial.judge.peer.stop()

    inside_alone: list[str] | None = None
    with progress_bar("", not (json_wanted or quiet or verbose)) as tell:
        found = run_blocking(run(sandbox))
        if sandbox != NONE:
            inside_alone = fails_inside_alone(found, run_blocking(run(NONE)))
    program = connect or " ".join(command)
    if junit is not None:
        try:
            replace_file(junit, as_junit(program, found))
        except OSError as error:
            raise click.ClickException(f"cannot write {junit}: {error.strerror}; name another file") from None
    if json_wanted:
        click.echo(as_json(program, who, found, inside_alone))
    else:
        print_report(found, quiet, everything)
        if inside_alone is not None:
            steps = ", ".join(inside_alone)
            click.echo(
                f"sandbox {sandbox}: {f'fails inside alone: {steps}' if steps else 'nothing fails inside alone'}"
            )
    return 0 if usable(found) and not (strict and loses_games(found)) else 1


def _trial(
    who: Who, url: str | None, command: tuple[str, ...], timeout: float, first: float, verbose: bool, level: Level
) -> Trial:
    role = PeerRole.ENGINE if who is Who.ENGINE else PeerRole.BOT
    budgets = Timeouts(command=timeout, quit=min(timeout, 3.0))
    sink = _show if verbose else None
    if url:
        address = read_engine(url).url
        if not address:
            raise click.UsageError(f"{url!r} is no address: write tcp://host:port")
        dial = partial(Remote, address, role, budgets, sink=sink)
        return Trial(who, dial, timeout, first, remote=True, command=url, notify=_tell)
    find_program(command[0])
    start = partial(Process, command, role, budgets, sink=sink, sandbox=Sandbox(level))
    return Trial(who, start, timeout, first, command=shlex.join(command), notify=_tell)


def fails_inside_alone(inside: list[StepResult], outside: list[StepResult]) -> list[str]:
    """Return the numbers of the steps that fail in the sandbox and not without it."""
    within, without = (
        [one.check.number for one in found if one.verdict is CheckVerdict.FAIL] for found in (inside, outside)
    )
    return [number for number in within if number not in without]


def _tell(text: str) -> None:
    click.echo("\n".join(escape_unprintable(line) for line in f"ggp check: {text}".split("\n")), err=True)


def _show(mark: str, seconds: float, data: bytes) -> None:
    text = repr(data)[2:-1] if data else "(end of stream)"
    write_stderr(f"{seconds:.6f} {mark} {text}\n")


def _line_of(text: str) -> str:
    game, options = read_game(text)
    return " ".join([game, *(f"{name}={value}" for name, value in options.items())])


def _numbers(only: str | None, who: Who) -> tuple[str, ...]:
    wanted = tuple(word.strip() for word in (only or "").split(",") if word.strip())
    known = [check.number for check in catalogue(who, game="go")]
    for word in wanted:
        if not any(takes((word,), number) for number in known):
            raise click.UsageError(f"--only {word}: there is no such rule or step; ggp check --list shows them")
    return wanted
