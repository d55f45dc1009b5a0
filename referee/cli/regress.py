"""`ggp regress FILES… -- COMMAND`: transcripts with expected answers, each said to a fresh program, and judged."""

import json
import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from ggp.protocol.messages import Reply
from ggp.protocol.regression import RegressionVerdict, Step, update
from ggp.protocol.safe_files import replace_file
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.bot_spec import BotSpec, LaunchError, WordError, read_bot
from ggp.referee.match.options import NumberRange, sandbox_option
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.tools.regress.run import CommandOutcome, FileReport, RegressLimits, SuiteError, TestFile, read_suite

EPILOG = """\b
Exit status:
  0    every test came out as expected (an unexpected pass is good news, unless --strict)
  1    unexpected failures, refused commands, a program that died or hung; with --strict also unexpected passes
  2    bad usage, or a file that cannot be read or written
  130  interrupted"""


def main(argv: list[str]) -> int:
    """The exit status: see EPILOG."""
    words = list(argv)
    if "--" in words:
        cut = words.index("--")
        program = words[cut + 1 :]
        # One word is a whole command line, or a built-in bot, as in `ggp match`.
        text = program[0] if len(program) == 1 else shlex.join(program)
        words = [*words[:cut], f"--command={text}"]
    # --update takes no word that stands behind it, for that is a file; its other form is --update=all.
    words = ["--update=failing" if word == "--update" else word for word in words]
    return run_command(regress, "ggp regress", words)


@click.command("regress", context_settings=HELP, epilog=EPILOG, options_metavar="[OPTIONS]")
@click.argument("files", nargs=-1, required=True, metavar="FILES… [-- COMMAND…]")
@click.option("--command", "text", hidden=True)
@click.option("--connect", metavar="URL", help="Test a program that listens at tcp://host:port instead of COMMAND.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Files at the same time.  [default: one a core]")
@click.option("--timeout", type=NumberRange(0.001, 86400), default=60.0, show_default=True, metavar="SECONDS",
              help="For each command; a program that loads may take 60 for its first answer.")  # fmt: skip
@click.option("--file-timeout", type=NumberRange(0.001, 864000), default=3600.0, show_default=True,
              metavar="SECONDS", help="For each file.")  # fmt: skip
@click.option("--memory", type=click.IntRange(1), metavar="MIB", help="Address space that each program may have.")
@sandbox_option("each program")
@click.option("--update", is_flag=False, flag_value="failing", type=click.Choice(["failing", "all"]),
              help="Rewrite the expectations of the failing tests from the answers; =all: of every test.")  # fmt: skip
@click.option("--strict", is_flag=True, help="An unexpected pass is a failure, too.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a JUnit report.")
@click.option(
    "--html", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write a summary to read."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep each dialogue there, as `ggp tap` writes it.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Print unexpected results only.")
def regress(
    files: tuple[str, ...], text: str | None, connect: str | None, jobs: int | None, timeout: float,
    file_timeout: float, memory: int | None, sandbox: Level, update: str | None, strict: bool,
    junit: Path | None, html: Path | None, output: Path | None, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Say regression transcripts (*.tst, of GoGui's and GNU Go's form) to COMMAND and judge the answers.

    FILES are transcripts, folders of *.tst, or @FILE, which names such, one a line. COMMAND is a built-in bot or a
    command line; each file gets a fresh one, which runs in the file's folder. `#? [A3|B4]` after a command holds a
    regular expression for the whole answer: [!A3] anything else, [A3]* expected to fail, [A3]& never mind, and
    [\\? illegal move] expects a refusal.
    """
    start = replace(_program(text, connect), sandbox=Sandbox(sandbox))
    check_level(sandbox, start.name)
    transcripts = read_suite(files)
    limits = RegressLimits(timeout, file_timeout, memory or 0)
    one_at_once = 1 if start.url else len(os.sched_getaffinity(0))
    from ggp.referee.tools.regress.run import run_all  # what follows is for who gets this far

    reports = run_all(transcripts, start, limits, jobs or one_at_once, output, shown=not (as_json or quiet))
    _write(reports, transcripts, start, update, junit, html)
    if as_json:
        click.echo(json.dumps(as_facts(reports, start.command), indent=1))
    else:
        from ggp.referee.cli.regress_report import show

        show(reports, quiet)
    return status(reports, strict)


def status(reports: Iterable[FileReport], strict: bool) -> int:
    """0 or 1: see EPILOG."""
    return int(any(report.bad or (strict and report.surprises) for report in reports))


def _program(text: str | None, connect: str | None) -> BotSpec:
    if (text is None) == (connect is None):
        raise click.UsageError("name the program: FILES… -- COMMAND, or --connect URL")
    if connect is not None and not connect.startswith("tcp://"):
        raise click.UsageError(f"--connect {connect}: write tcp://host:port")
    try:
        return read_bot(connect or text or "", Path.cwd())
    except (WordError, LaunchError) as error:
        raise click.UsageError(str(error)) from None


def _write(
    reports: list[FileReport], transcripts: list[TestFile], start: BotSpec, update: str | None, junit: Path | None,
    html: Path | None,
) -> None:  # fmt: skip
    try:
        if update:
            for line in update_files(reports, transcripts, every=update == "all"):
                click.echo(line, err=True)
        if junit:
            from ggp.referee.cli.regress_report import junit_xml

            replace_file(junit, junit_xml(reports))
        if html:
            from ggp.referee.cli.regress_report import write_pages

            write_pages(html, reports, start.command)
    except OSError as error:
        raise SuiteError(f"{error.filename} cannot be written: {error.strerror}") from None


# -- Rewrites transcripts with what was answered, for --update; comments and layout stay.


def update_files(reports: list[FileReport], transcripts: list[TestFile], every: bool) -> Iterator[str]:
    """Rewrite each file whose expectations change; a line about each. `every`: also of the tests that passed.

    A test that passed unexpectedly loses its mark; one that is expected to fail keeps what it hopes for.
    Raises OSError.
    """
    for report, transcript in zip(reports, transcripts, strict=True):
        answers, passed = _changes(report, every)
        text = update(transcript.script, answers, passed)
        if text != transcript.text:
            replace_file(transcript.path, text.encode("utf-8", "surrogateescape"))
            yield f"{transcript.path}: {len(answers)} expectations rewritten, {len(passed)} marks taken away"
        if report.trouble:
            yield f"{transcript.path}: what was not answered stays as it was: {report.trouble}"


def _changes(report: FileReport, every: bool) -> tuple[dict[Step, Reply], list[Step]]:
    answers: dict[Step, Reply] = {}
    passed: list[Step] = []
    for outcome in report.outcomes:
        if outcome.reply is None:
            continue
        if outcome.bad or (every and outcome.step.is_test and outcome.verdict is RegressionVerdict.PASS):
            answers[outcome.step] = outcome.reply
        elif outcome.verdict is RegressionVerdict.UNEXPECTED_PASS:
            passed.append(outcome.step)
    return answers, passed


# -- A report as plain values, for --json; the field's counts have the names that a reader of GoGui's sum


COUNTED = {
    RegressionVerdict.PASS: "pass",
    RegressionVerdict.UNEXPECTED_PASS: "unexpected_pass",
    RegressionVerdict.EXPECTED_FAIL: "expected_fail",
    RegressionVerdict.FAIL: "unexpected_fail",
    RegressionVerdict.ERROR: "error",
}


def as_facts(reports: list[FileReport], command: str) -> dict[str, object]:
    """JSON values; seconds are rounded to microseconds."""
    return {
        "command": command,
        "files": [_file(report) for report in reports],
        "total": {name: sum(report.count(verdict) for report in reports) for verdict, name in COUNTED.items()},
    }


def _file(report: FileReport) -> dict[str, object]:
    return {
        "file": str(report.path),
        "name": report.name,
        "version": report.version,
        "tests": report.tests,
        **{name: report.count(verdict) for verdict, name in COUNTED.items()},
        "seconds": round(report.seconds, 6),
        "cpu_seconds": round(report.cpu, 6),
        "trouble": report.trouble,
        "exit": report.exit,
        "stderr": report.stderr,
        "commands": [_outcome(outcome) for outcome in report.outcomes],
    }


def _outcome(outcome: CommandOutcome) -> dict[str, object]:
    expected, reply = outcome.step.expectation, outcome.reply
    return {
        "line": outcome.step.line,
        "command": outcome.step.command,
        "expected": None if expected is None else expected.text,
        "verdict": COUNTED.get(outcome.verdict, "none"),
        "ok": None if reply is None else reply.ok,
        "answer": None if reply is None else reply.text,
        "seconds": round(outcome.seconds, 6),
        "why": outcome.why,
    }
