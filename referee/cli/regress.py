"""`ggp regress FILES… -- COMMAND`: run regression transcripts against a program."""

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path

import click

from ggp.protocol.safe_files import replace_file
from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.bot_spec import BotSpec, LaunchError, WordError, read_bot
from ggp.referee.match.options import NumberRange, sandbox_option
from ggp.referee.match.sandbox.levels import Level, Sandbox
from ggp.referee.match.sandbox.machine import check_level
from ggp.referee.tools.regress.run import RegressLimits, SuiteError, read_suite

EPILOG = """\b
Exit status:
  0    every test came out as expected, or passed unexpectedly
  1    unexpected failures, refused commands, a program that died or hung; with --strict, unexpected passes, too
  2    bad usage, or a file that cannot be read or written
  130  interrupted"""


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    words = list(argv)
    if "--" in words:
        cut = words.index("--")
        program = words[cut + 1 :]
        # One word is a whole command line, or a built-in bot, as in `ggp match`.
        text = program[0] if len(program) == 1 else shlex.join(program)
        words = [*words[:cut], f"--command={text}"]
    # The word after --update is a file; the option's other form is --update=all.
    words = ["--update=failing" if word == "--update" else word for word in words]
    return run_command(regress, "ggp regress", words)


@click.command("regress", context_settings=HELP, epilog=EPILOG, options_metavar="[OPTIONS]")
@click.argument("files", nargs=-1, required=True, metavar="FILES… [-- COMMAND…]")
@click.option("--command", "text", hidden=True)
@click.option("--connect", metavar="URL", help="Test a program that listens at tcp://host:port instead of COMMAND.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Files at the same time.  [default: one a core]")
@click.option("--timeout", type=NumberRange(0.001, 86400), default=60.0, show_default=True, metavar="SECONDS",
              help="Time for each command; the first answer may take 60 seconds, because programs load.")  # fmt: skip
@click.option("--file-timeout", type=NumberRange(0.001, 864000), default=3600.0, show_default=True,
              metavar="SECONDS", help="Time for each file.")  # fmt: skip
@click.option("--memory", type=click.IntRange(1), metavar="MIB", help="Limit of the address space of each program.")
@sandbox_option("each program")
@click.option("--update", is_flag=False, flag_value="failing", type=click.Choice(["failing", "all"]),
              help="Rewrite the expectations of the failing tests from the answers; =all: of every test.")  # fmt: skip
@click.option("--strict", is_flag=True, help="Count an unexpected pass as a failure.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a JUnit report.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Record each dialogue there, as `ggp tap` does.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Print only unexpected results.")
def regress(
    files: tuple[str, ...], text: str | None, connect: str | None, jobs: int | None, timeout: float,
    file_timeout: float, memory: int | None, sandbox: Level, update: str | None, strict: bool,
    junit: Path | None, output: Path | None, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Send regression transcripts (*.tst, in the form of GoGui and GNU Go) to COMMAND and judge the answers.

    FILES are transcripts, folders of *.tst, or @FILE, a list of those, one a line. COMMAND is a built-in bot or a
    command line; each file gets a fresh one, which runs in the file's folder. `#? [A3|B4]` after a command is a
    regular expression for the whole answer: [!A3] means anything else, [A3]* is expected to fail, [A3]& is ignored,
    and [\\? illegal move] expects a refusal.
    """
    start = replace(_program(text, connect), sandbox=Sandbox(sandbox))
    check_level(sandbox, start.name)
    transcripts = read_suite(files)
    limits = RegressLimits(timeout, file_timeout, memory or 0)
    one_at_once = 1 if start.url else len(os.sched_getaffinity(0))
    # These take long to import, and a wrong command line should fail at once.
    from ggp.referee.tools.regress.report import as_facts, junit_xml, show, update_files
    from ggp.referee.tools.regress.run import run_all

    reports = run_all(transcripts, start, limits, jobs or one_at_once, output, shown=not (as_json or quiet))
    try:
        for line in update_files(reports, transcripts, every=update == "all") if update else ():
            click.echo(line, err=True)
        if junit:
            replace_file(junit, junit_xml(reports))
    except OSError as error:
        raise SuiteError(f"{error.filename} cannot be written: {error.strerror}") from None
    if as_json:
        click.echo(json.dumps(as_facts(reports, start.command), indent=1))
    else:
        show(reports, quiet)
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
