"""`ggp export FILE…`: records as JSON lines, as GTP scripts, as regression tests, as SGF."""

from collections.abc import Callable

import click

from protocol.drawing.scene import clean
from protocol.records import Record, gtp_script
from referee.archive.output import opened
from referee.archive.places import open_matches
from referee.archive.regression import regression
from referee.archive.sgf import sgf
from referee.command_line import BAD_USAGE, HELP, run_command

FORMS: dict[str, Callable[[Record], str | bytes]] = {
    "jsonl": Record.lines,
    "gtp": gtp_script,
    "sgf": sgf,
    "tst": regression,
}
EPILOGUE = """\b
FILE is a record (- is standard input) or a ladder: its file, store or URL. It may be
a place: FILE#MATCH is one match, FILE#MATCH@PLY (or FILE@PLY) a match up to that ply.

\b
jsonl  the records themselves, whose chain ggp verify checks
gtp    a script that any engine of the game can run (go: any Go program)
tst    the same with the answer that each ply should get, a GTP regression test
sgf    SGF FF[4], which ggp import reads back
"""


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(export_files, "ggp export", argv)


@click.command("export", epilog=EPILOGUE, context_settings=HELP)
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="jsonl", show_default=True)
@click.option("--match", "key", metavar="NAME", help="Only the match of this name.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which appears when all is written.")
def export_files(files: tuple[str, ...], form: str, key: str | None, output: str | None) -> int:
    """Print the matches of FILEs as JSON lines, as GTP scripts that an engine of the game can run, or as SGF."""
    damaged: list[str] = []
    with opened(output) as out:
        for file in files:
            for record in open_matches(file, key, _tell, damaged.append):
                try:
                    out.write(written(record, form))
                except click.ClickException as error:
                    damaged.append(error.format_message())
        out.flush()
    for reason in damaged:
        click.echo(f"ggp export: {reason}", err=True)
    return BAD_USAGE if damaged else 0


def written(record: Record, form: str) -> bytes:
    """The record in that form. ClickException for one that cannot have it.

    A record's chain says that it was not changed, not that we wrote it: its words may be no options and moves."""
    words = [*record.start.options, *record.start.options.values(), *(ply.move for ply in record.plies)]
    try:
        if form != "jsonl" and not all(word.isprintable() and " " not in word for word in words):
            raise ValueError("an option or a move is not one word")
        text = FORMS[form](record)
    except ValueError as error:
        raise click.ClickException(clean(f"{record.start.match} cannot be written as {form}: {error}")) from None
    return text if isinstance(text, bytes) else text.encode()


def _tell(piece: str) -> None:
    click.echo(f"ggp export: skipped {piece}", err=True)
