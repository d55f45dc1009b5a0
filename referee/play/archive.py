"""`ggp verify FILE` and `ggp export FILE`: what can be done with a file of records. Playing is in command.py."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from protocol.errors import LocalProtocolError
from protocol.records import Record, RecordError, gtp_script, read_records
from protocol.transports.blocking import run_blocking
from referee.config import Budgets
from referee.play.engine import Engine
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed
from referee.play.recorder import lines_of
from referee.play.replay import verify
from referee.play.seating import Extras, Start, start_engine
from referee.play.sgf import sgf
from referee.play.words import WordError, read_engine

BAD_USAGE = 2
FORMS: dict[str, Callable[[Record], str | bytes]] = {"jsonl": Record.lines, "gtp": gtp_script, "sgf": sgf}
_HELP = {"help_option_names": ["-h", "--help"]}
_FILE = click.argument("file", type=click.Path(path_type=Path))


def main_verify(argv: list[str]) -> int:
    """`ggp verify FILE [--engine …]`; the exit status is 1 if a match does not come out as it was recorded."""
    return run_command(verify_file, "ggp verify", argv)


def main_export(argv: list[str]) -> int:
    """`ggp export FILE [--format jsonl|gtp|sgf]`."""
    return run_command(export_file, "ggp export", argv)


@click.command("verify", context_settings=_HELP)
@_FILE
@click.option("--engine", metavar="COMMAND|URL", help="Compare another engine with ours, ply by ply.")
def verify_file(file: Path, engine: str | None) -> int:
    """Check the hash chain of every match in FILE and play each again on the engine."""
    return run_blocking(_verify_all(file, engine))


@click.command("export", context_settings=_HELP)
@_FILE
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


async def _verify_all(file: Path, text: str | None) -> int:
    matches = wrong = 0
    skipped: list[str] = []
    ours = await started(read_engine(None))
    other = await started(read_engine(text)) if text else None
    try:
        for record in records_in(file, skipped.append):
            matches += 1
            problem = await _verify_one(record, ours, other)
            if problem:
                wrong += 1
                click.echo(f"{record.start.match}: {problem}")
    finally:
        for engine in (ours, other):
            if engine is not None:
                await engine.peer.stop()
    for piece in skipped:
        click.echo(f"skipped {piece}")
    unfinished = f"; {len(skipped)} that were not finished are skipped" if skipped else ""
    click.echo(f"{file}: {matches} matches, {matches - wrong} as recorded, {wrong} not{unfinished}")
    return 1 if wrong else 0


async def _verify_one(record: Record, ours: Engine, other: Engine | None) -> str:
    """On our engine and the other; a game that ours does not know, on the other alone."""
    if record.start.game in await ours.games():
        return await verify(record, ours, other)
    if other is None:
        return f"our engine knows no game {record.start.game}: name one that does with --engine"
    return await verify(record, other)


async def started(start: Start) -> Engine:
    try:
        return await start_engine(start, Budgets(), Extras())
    except (EngineFailed, LaunchError) as error:
        raise click.ClickException(f"{start.command}: {error}") from None


def records_in(file: Path, skipped: Callable[[str], None], unfinished: bool = False) -> Iterator[Record]:
    """Every finished match of the file, read a line at a time; `skipped` is told of each that was cut off.

    With `unfinished` those come, too.
    """
    half: list[str] = []
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise click.ClickException(f"cannot read {file}: it is no regular file")
        with file.open("rb") as lines:
            for record in read_records(lines_of(lines), half.append):
                if record.end is not None or unfinished:
                    yield record
                else:
                    skipped("; ".join([f"{record.start.match}: {len(record.plies)} plies and no end", *half]))
                    half.clear()
            for piece in half:
                skipped(piece)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except RecordError as error:
        raise click.ClickException(f"{file} is not a whole record: {error}") from None


def _tell(piece: str) -> None:
    click.echo(f"ggp export: skipped {piece}", err=True)


def run_command(command: click.Command, name: str, argv: list[str]) -> int:
    """Run a click command under our rules: one line for what is wrong, the exit status returned."""
    try:
        return int(command.main(argv, prog_name=name, standalone_mode=False) or 0)
    except (WordError, LaunchError, LocalProtocolError) as error:
        click.echo(f"{name}: {error}", err=True)
    except click.ClickException as error:
        click.echo(f"{name}: {error.format_message()}", err=True)
    except (click.Abort, KeyboardInterrupt):
        return 130
    return BAD_USAGE
