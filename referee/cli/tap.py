"""`ggp tap [-o FILE] [--] COMMAND…`: run a program and record its dialogue with the caller."""

import json
import shlex
from pathlib import Path

import click

from ggp.referee.command_line import HELP, run_command
from ggp.referee.match.bot_spec import read_bot

EPILOG = """\b
Exit status: the program's own; 128 + n if signal n ended it; 2 for bad usage."""


def main(argv: list[str]) -> int:
    """Run the command and return the program's exit status, or that of --show."""
    return run_command(tap, "ggp tap", argv)


@click.command("tap", context_settings={**HELP, "allow_interspersed_args": False}, epilog=EPILOG)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND…")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="File to record to.  [default: tap-DATE-TIME-PID.log here]")  # fmt: skip
@click.option("--show", is_flag=True, help="Print the records named instead of COMMAND.")
@click.option("--tst", is_flag=True, help="Print them as a regression transcript that expects these answers.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def tap(words: tuple[str, ...], output: Path | None, show: bool, tst: bool, as_json: bool) -> int:
    """Run COMMAND and record the dialogue. No byte is changed, delayed or reordered.

    It works wherever a program is named, as in `ggp match go "ggp tap -o x.log -- ./bot" random` or in GoGui. An
    existing record is continued; any other file is refused. If FILE cannot be written, a line on stderr says so and
    the dialogue continues. COMMAND is a built-in bot or a command line.
    """
    if show or tst or as_json:
        return _print(words, tst, as_json)
    if not words:
        raise click.UsageError("name the program: [-o FILE] [--] COMMAND…")
    start = read_bot(words[0] if len(words) == 1 else shlex.join(words))
    if start.url:
        raise click.UsageError(f"{start.url} is no program: name the one that connects there")
    from ggp.referee.tools.tap.run import default_path, run_tapped

    return run_tapped(start.argv, output or default_path())


def _print(words: tuple[str, ...], tst: bool, as_json: bool) -> int:
    from ggp.protocol.regression import write
    from ggp.referee.tools.tap.recording import answered, read_sessions
    from ggp.referee.tools.tap.show import facts, show

    if not words:
        raise click.UsageError("name the record: --show FILE")
    try:
        sessions = [session for word in words for session in read_sessions(Path(word))]
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}") from None
    if tst:
        click.echo(write(answered(sessions)), nl=False)
    elif as_json:
        click.echo(json.dumps(facts(sessions), indent=1))
    else:
        show(sessions)
    return 0
