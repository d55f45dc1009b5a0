"""`ggp export FILE`: records as JSON lines, as GTP scripts, as SGF."""

from collections.abc import Callable
from pathlib import Path

import click

from protocol.records import Record, gtp_script
from referee.archive.reading import records_in
from referee.archive.sgf import sgf
from referee.command_line import HELP, run_command

FORMS: dict[str, Callable[[Record], str | bytes]] = {"jsonl": Record.lines, "gtp": gtp_script, "sgf": sgf}


def main(argv: list[str]) -> int:
    """The exit status."""
    return run_command(export_file, "ggp export", argv)


@click.command("export", context_settings=HELP)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="jsonl", show_default=True)
@click.option("--match", "key", help="Only the match of this name.")
def export_file(file: Path, form: str, key: str | None) -> int:
    """Print the matches of FILE as JSON lines, as GTP scripts that an engine of the game can run, or as SGF."""
    found = False
    for record in records_in(file, _tell):
        if key in (None, record.start.match):
            found = True
            click.echo(written(record, form), nl=False)
    if not found:
        raise click.ClickException(f"{file} holds no match {key}" if key else f"{file} holds no match")
    return 0


def written(record: Record, form: str) -> str | bytes:
    """A record's chain says that it was not changed, not that we wrote it: its words may be no options and moves."""
    words = [*record.start.options, *record.start.options.values(), *(ply.move for ply in record.plies)]
    try:
        if form != "jsonl" and not all(word.isprintable() and " " not in word for word in words):
            raise ValueError("an option or a move is not one word")
        return FORMS[form](record)
    except ValueError as error:
        raise click.ClickException(f"{record.start.match} cannot be written as {form}: {error}") from None


def _tell(piece: str) -> None:
    click.echo(f"ggp export: skipped {piece}", err=True)
