"""`ggp export FILE…`: print records as JSON lines, GTP scripts, regression tests or SGF."""

import json
from collections.abc import Iterable
from typing import BinaryIO

import click

from ggp.protocol.errors import in_words
from ggp.protocol.records import Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.command_line import BAD_USAGE, HELP, opened, run_command
from ggp.referee.match.bot_spec import ENGINE, BotSpec
from ggp.referee.match.engine import GameRefused, start_engine
from ggp.referee.match.outcome import BotFault, EngineFailed
from ggp.referee.match.record_forms import FORMS, as_form
from ggp.referee.match.replay import Replayer
from ggp.referee.terminal import escape_unprintable, table_lines
from ggp.referee.tools.archive import model_answers
from ggp.referee.tools.archive.places import open_matches

OPENSPIEL = BotSpec("engine", "ggp engine openspiel", (*ENGINE, "openspiel"))
EPILOGUE = """\b
FILE is a record (- is standard input) or a ladder: its file, store or URL. FILE#MATCH
is one match, FILE#MATCH@PLY (or FILE@PLY) a match up to that ply.

\b
jsonl  the records themselves, whose chain ggp verify checks
gtp    a script that any engine of the game can run (go: any Go program)
tst    the same with the expected answer to each ply, a GTP regression test
sgf    SGF FF[4], which ggp import reads back

\b
In --table, rate is the share of answers that were illegal or could not be read; tokens
and cost are per game, s is seconds per answer.
"""


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(export_files, "ggp export", argv)


@click.command("export", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="jsonl", show_default=True)
@click.option("--transcript", is_flag=True, help="Print what models were asked and answered instead, as JSON lines.")
@click.option("--table", is_flag=True, help="Print a table of illegal answers, tokens and cost per model instead.")
@click.option("--openspiel", is_flag=True, help="Print the last position (FILE@N: after ply N) for OpenSpiel instead.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which appears when everything is written.")
def export_files(
    files: tuple[str, ...],
    form: str,
    transcript: bool,
    table: bool,
    openspiel: bool,
    output: str | None,
) -> int:
    """Print the matches of FILEs as JSON lines, GTP scripts, regression tests or SGF."""
    if transcript + table + openspiel > 1:
        raise click.UsageError("--transcript, --table and --openspiel are different outputs: choose one")
    if (transcript or table or openspiel) and form != "jsonl":
        others = "--transcript, --table and --openspiel"
        raise click.UsageError(f"--format {form} applies to whole matches: leave it out with {others}")
    damaged: list[str] = []
    with opened(output) as out:
        if transcript or table:
            _export_answers(files, table, out, damaged)
            files = ()
        for file in files:
            for record in open_matches(file, _tell, damaged.append):
                try:
                    out.write(run_blocking(openspiel_state(record)) if openspiel else as_form(record, form))
                except click.ClickException as error:
                    damaged.append(error.format_message())
        out.flush()
    for reason in damaged:
        click.echo(f"ggp export: {reason}", err=True)
    return BAD_USAGE if damaged else 0


def _export_answers(files: Iterable[str], table: bool, out: BinaryIO, damaged: list[str]) -> None:
    """Export the questions that models were asked in these matches: one line each, or a table."""
    sums = model_answers.ModelTable()
    for file in files:
        for record in open_matches(file, _tell, damaged.append):
            if table:
                sums.add(record)
            else:
                out.writelines(model_answers.transcript(record))
    if table:
        out.writelines(f"{line}\n".encode() for line in table_lines(sums.sheet()))


async def openspiel_state(record: Record) -> bytes:
    """Return the last position of a record in the form of OpenSpiel, from its engine. Raises ClickException."""
    try:
        engine = await start_engine(OPENSPIEL)
        try:
            await Replayer(engine).go_to(record.start, record.plies, len(record.plies))
            return str(json.loads(await engine.answer("openspiel-state"))).encode()
        finally:
            await engine.peer.stop()
    except (EngineFailed, GameRefused, BotFault, ValueError, RecursionError) as error:
        why = in_words(error)
        raise click.ClickException(
            escape_unprintable(f"{record.start.match} cannot be written for OpenSpiel: {why}")
        ) from None


def _tell(piece: str) -> None:
    click.echo(f"ggp export: skipped {piece}", err=True)
