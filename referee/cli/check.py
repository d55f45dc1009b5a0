"""`ggp check`: the command line, the program under check, and the report."""

import json
import shlex
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import click

from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict, Demand, RuleSource, catalogue, rule_of
from ggp.protocol.connection import PeerRole
from ggp.protocol.printed import counted
from ggp.protocol.safe_files import replace_file
from ggp.protocol.standard_streams import write_stderr
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.bot_spec import find_program, read_engine, read_game
from ggp.referee.match.engine import start_engine
from ggp.referee.match.options import NumberRange, sandbox_option
from ggp.referee.match.process import Peer, Process, Remote
from ggp.referee.match.sandbox.levels import DEFAULT, NONE, Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.match.setting import Timeouts
from ggp.referee.terminal import ShowProgress, escape_unprintable, progress_bar, rich_console
from ggp.referee.tools.check.run import Wanted, run_trial
from ggp.referee.tools.check.trial import CheckContext, StepResult

EPILOG = (
    "Exit status: 0 if the referee can use the program, 1 if not, 2 for a usage error. "
    "The steps are listed in docs/reference/compliance.md."
)


def main(argv: list[str]) -> int:
    """The exit status; see EPILOG."""
    return run_command(check, "ggp check", argv)


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
@click.option("--timeout", type=NumberRange(0.1, 600), default=10.0, show_default=True, help="Seconds for an answer.")
@click.option("--start", type=NumberRange(0.1, 3600), default=60.0, show_default=True, help="Seconds to load in.")
@click.option("--list", "list_only", is_flag=True, help="List the steps and run none.")
@click.option("--json", "json_wanted", is_flag=True, help="Print the findings as JSON.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--all", "everything", is_flag=True, help="Show the steps that passed or do not apply, too.")
@sandbox_option("it", bare=DEFAULT)
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
    sandbox: Level,
    strict: bool,
    quiet: bool,
    verbose: bool,
    command: tuple[str, ...],
) -> int:
    """Check that a program obeys the protocol: `ggp check -- gnugo --mode gtp`.

    Every step that fails says what was sent, what came back, what was expected, which rule says so, and what to
    change. With --sandbox the checks are done outside, too, and what fails inside alone is named.

    A failure is required (the referee cannot use the program), forfeit (it loses the game in which it happens),
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
    if connect and sandbox != NONE:
        raise click.UsageError("--sandbox has no effect on a program that listens: leave --connect or --sandbox out")
    check_level(sandbox, command[0] if command else "")
    inside_alone: list[StepResult] | None = None
    with progress_bar("", not (json_wanted or quiet or verbose)) as tell:
        trial = _trial(who, connect, command, timeout, max(timeout, start), verbose, sandbox)
        found = run_blocking(_run(trial, wanted, judge, tell))
        if sandbox != NONE:
            trial = _trial(who, connect, command, timeout, max(timeout, start), verbose, NONE)
            inside_alone = fails_inside_alone(found, run_blocking(_run(trial, wanted, judge, tell)))
    program = connect or " ".join(command)
    if junit is not None:
        try:
            replace_file(junit, as_junit(program, found).encode())
        except OSError as error:
            raise click.ClickException(f"cannot write {junit}: {error.strerror}; name another file") from None
    if json_wanted:
        click.echo(as_json(program, who, found, inside_alone))
    else:
        print_report(found, quiet, everything)
        if inside_alone is not None:
            click.echo(_said_inside(sandbox, inside_alone))
    return 0 if usable(found) and not (strict and loses_games(found)) else 1


async def _run(trial: CheckContext, wanted: Wanted, judge: str | None, tell: ShowProgress) -> list[StepResult]:
    if trial.who is Who.BOT:
        trial.judge = await start_engine(read_engine(judge))
    try:
        return await run_trial(trial, wanted, tell)
    finally:
        if trial.judge is not None:
            await trial.judge.peer.stop()


def _trial(
    who: Who,
    url: str | None,
    command: tuple[str, ...],
    timeout: float,
    first: float,
    verbose: bool,
    sandbox: Level,
) -> CheckContext:
    role = PeerRole.ENGINE if who is Who.ENGINE else PeerRole.BOT
    budgets = Timeouts(command=timeout, quit=min(timeout, 3.0))
    sink = _show if verbose else None
    if url:
        address = read_engine(url).url
        if not address:
            raise click.UsageError(f"{url!r} is no address: write tcp://host:port")

        def dial() -> Peer:
            return Remote(address, role, budgets, sink=sink)

        return CheckContext(who, dial, timeout, first, remote=True, command=url, notify=_tell)
    find_program(command[0])
    start = partial(Process, command, role, budgets, sink=sink, sandbox=Sandbox(sandbox))
    return CheckContext(who, start, timeout, first, command=shlex.join(command), notify=_tell)


def _tell(text: str) -> None:
    click.echo("\n".join(escape_unprintable(line) for line in f"ggp check: {text}".split("\n")), err=True)


def fails_inside_alone(inside: list[StepResult], outside: list[StepResult]) -> list[StepResult]:
    """The steps that fail in the sandbox, and do not without it."""
    failed = {result.check.number for result in outside if result.verdict is CheckVerdict.FAIL}
    return [result for result in inside if result.verdict is CheckVerdict.FAIL and result.check.number not in failed]


def _said_inside(level: Level, alone: list[StepResult]) -> str:
    steps = ", ".join(result.check.number for result in alone)
    return f"sandbox {level}: " + (f"fails inside alone: {steps}" if alone else "nothing fails inside alone")


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
        if not any(map(Wanted((word,)).takes, known)):
            raise click.UsageError(f"--only {word}: there is no such rule or step; ggp check --list shows them")
    return wanted


def _list(who: Who, wanted: Wanted) -> None:
    for check in catalogue(who, game="GAME"):
        if wanted.takes(check.number):
            click.echo(f"{check.number:7}{check.demand:12} {check.title} ({rule_of(check.number).text})")


# -- The report, for people, programs and build servers.


PAGE = "docs/reference/protocol.md"
_CLIP = 240  # bytes shown of one side of an exchange
_HEADS = {"2": "Framing", "3": "Engine commands", "4": "Bot commands", "5": "Clocks", "7": "ZeroMQ"}
_MARKS = {
    CheckVerdict.PASS: ("ok", "green"),
    CheckVerdict.FAIL: ("FAIL", "bold red"),
    CheckVerdict.NOT_TRIED: ("?", "yellow"),
    CheckVerdict.NOT_APPLICABLE: ("-", "dim"),
}
_MISSED = (CheckVerdict.FAIL, CheckVerdict.NOT_TRIED)
_FAILURES = (Demand.REQUIRED, Demand.FORFEIT)  # what is a failure for a build server


def usable(found: list[StepResult]) -> bool:
    """Return True if the referee can use the program: every required step was tried and passed."""
    return not any(one.verdict in _MISSED and one.check.demand is Demand.REQUIRED for one in found)


def loses_games(found: list[StepResult]) -> bool:
    """Return True if a step failed that forfeits the game in which it happens."""
    return any(one.verdict is CheckVerdict.FAIL and one.check.demand is Demand.FORFEIT for one in found)


def count(found: list[StepResult], source: RuleSource) -> tuple[int, int]:
    """Return how many steps of this source passed, and how many apply."""
    judged = [one for one in found if one.check.source is source and one.verdict is not CheckVerdict.NOT_APPLICABLE]
    return sum(one.verdict is CheckVerdict.PASS for one in judged), len(judged)


def summary(found: list[StepResult]) -> list[str]:
    """The verdict."""
    gtp, ggp = count(found, RuleSource.GTP), count(found, RuleSource.GGP)
    answer = "no" if not usable(found) else "yes, but it loses games" if loses_games(found) else "yes"
    return [
        f"usable by the referee: {answer}",
        f"GTP 2: {gtp[0]} of {gtp[1]}",
        f"native GGP: {ggp[0]} of {ggp[1]}",
        *(
            ["no game was played: name one with --game, and an engine that knows it with --judge"]
            if any(one.check.number == "4.1.4" and one.verdict is CheckVerdict.NOT_APPLICABLE for one in found)
            else ()
        ),
    ]


def to_change(found: list[StepResult]) -> list[str]:
    """The last lines: steps not tried, with the cause, then the failures with their remedies, required ones first."""
    failures = [one for one in found if one.verdict is CheckVerdict.FAIL]
    lines = []
    for cause, steps in _grouped(found, CheckVerdict.NOT_TRIED, lambda one: one.note).items():
        others = len(steps) + len(failures) == len(found) > 1
        lines.append(f"not tried: {cause}: {'all other steps' if others else _numbered(steps)}")
    if failures:
        lines.append(f"failed: {counted(len(failures), 'step')}; what to change:")
    for demand in Demand:
        steps = [one for one in failures if one.check.demand is demand]
        for remedy, same in _grouped(steps, CheckVerdict.FAIL, lambda one: one.remedy).items():
            lines.append(f"  {_numbered(same)} [{demand}]: {remedy}")
    return lines


def print_report(found: list[StepResult], quiet: bool, everything: bool) -> None:
    """Print the report; `everything`: the steps that passed or do not apply, too."""
    from rich.text import Text  # imported for output to people only

    console = rich_console(soft_wrap=True)
    shown = [one for one in found if everything or one.verdict is CheckVerdict.FAIL]
    for section, group in groupby([] if quiet else shown, key=lambda one: one.check.number.partition(".")[0]):
        console.print(Text(f"{section}. {_HEADS[section]}", style="bold"))
        for one in group:
            mark, style = _MARKS[one.verdict]
            demand = f" [{one.check.demand}]" if one.verdict is CheckVerdict.FAIL else ""
            note = f" ({_note(one)})" if one.note and one.verdict is not CheckVerdict.FAIL else ""
            console.print(
                Text.assemble((f"  {mark:4} ", style), f"{one.check.number:7}{one.check.title}{demand}{note}")
            )
            if one.verdict is CheckVerdict.FAIL:
                for line in details(one):
                    console.print(Text(f"         {line}"))
    for line in summary(found):
        console.print(Text(line, style="bold"))
    for line in to_change(found):
        console.print(Text(line))


def _note(one: StepResult) -> str:
    return f"not tried: {one.note}" if one.verdict is CheckVerdict.NOT_TRIED else one.note


def _grouped(
    found: list[StepResult], verdict: CheckVerdict, key: Callable[[StepResult], str]
) -> dict[str, list[StepResult]]:
    """The steps with that verdict by key, in order."""
    groups: dict[str, list[StepResult]] = {}
    for one in found:
        if one.verdict is verdict:
            groups.setdefault(key(one), []).append(one)
    return groups


def _numbered(found: list[StepResult]) -> str:
    return " ".join(one.check.number for one in found)


def details(one: StepResult) -> list[str]:
    """The bytes sent, received and expected, the rule, and the remedy."""
    rule = rule_of(one.check.number)
    return [
        f"sent      {shown(one.sent)}",
        f"got       {shown(one.got)}",
        f"expected  {one.expected}",
        *([f"where     {one.note}"] if one.note else []),
        f"rule      {rule.number} ({one.check.source}): {rule.text}; {PAGE}#{rule.anchor}",
        *([f"change    {one.remedy}"] if one.remedy else []),
    ]


def shown(data: bytes) -> str:
    """Bytes as a line of text: escapes, clipped in the middle."""
    if not data:
        return "(nothing)"
    if len(data) > _CLIP:
        left = len(data) - _CLIP
        return f"{_escaped(data[: _CLIP // 2])} … {left} bytes … {_escaped(data[-_CLIP // 2 :])}"
    return _escaped(data)


def as_json(program: str, who: str, found: list[StepResult], inside_alone: list[StepResult] | None = None) -> str:
    """One object; bytes as text with escapes."""
    alone = {} if inside_alone is None else {"inside_alone": [one.check.number for one in inside_alone]}
    gtp, ggp = count(found, RuleSource.GTP), count(found, RuleSource.GGP)
    return json.dumps(
        {
            "program": program,
            "as": who,
            "usable": usable(found),
            "loses_games": loses_games(found),
            "gtp": {"passed": gtp[0], "of": gtp[1]},
            "ggp": {"passed": ggp[0], "of": ggp[1]},
            **alone,
            "steps": [_row(one) for one in found],
        },
        indent=1,
    )


def as_junit(program: str, found: list[StepResult]) -> str:
    """JUnit XML. A failed step that is required or loses games is a failure; any other that did not pass is skipped."""
    rows = []
    for one in found:
        name = quoteattr(f"{one.check.number} {one.check.title}")
        group = quoteattr(f"{program}.{one.check.number.partition('.')[0]}")
        text = escape("\n".join(details(one)))
        if one.verdict is CheckVerdict.PASS:
            inside = ""
        elif one.verdict is CheckVerdict.FAIL and one.check.demand in _FAILURES:
            inside = f"<failure message={quoteattr(one.expected)}>{text}</failure>"
        elif one.verdict is CheckVerdict.FAIL:
            inside = (
                f"<skipped message={quoteattr(f'{one.check.demand}: {one.expected}')}/><system-out>{text}</system-out>"
            )
        else:
            inside = f"<skipped message={quoteattr(_note(one))}/>"
        rows.append(f"  <testcase classname={group} name={name}>{inside}</testcase>")
    failures = sum(one.verdict is CheckVerdict.FAIL and one.check.demand in _FAILURES for one in found)
    head = f'<testsuite name={quoteattr(f"ggp check {program}")} tests="{len(found)}" failures="{failures}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *rows, "</testsuite>", ""])


def _row(one: StepResult) -> dict[str, str]:
    rule = rule_of(one.check.number)
    return {
        "number": one.check.number,
        "title": one.check.title,
        "demand": one.check.demand,
        "source": one.check.source,
        "verdict": one.verdict,
        "sent": _escaped(one.sent[:4096]),
        "got": _escaped(one.got[:4096]),
        "expected": one.expected,
        "note": one.note,
        "rule": rule.text,
        "link": f"{PAGE}#{rule.anchor}",
        "remedy": one.remedy,
    }


def _escaped(data: bytes) -> str:
    return repr(data)[2:-1].replace("\\'", "'")
