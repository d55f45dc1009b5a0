"""Reads files of records for the commands that go through them, and starts the engine that plays them again."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from protocol.drawing.scene import clean
from protocol.records import Record, RecordError, read_records
from referee.config import Budgets
from referee.play.engine import Engine
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed
from referee.play.recorder import lines_of
from referee.play.seating import Extras, Start, start_engine


def records_in(
    file: Path,
    skipped: Callable[[str], None],
    unfinished: bool = False,
    damaged: Callable[[str], None] | None = None,
) -> Iterator[Record]:
    """Every finished match of the file, read a line at a time; `skipped` is called for each that was cut off.

    With `unfinished` those come, too. The file `-` is standard input. A record that was changed since it was written
    raises ClickException; with `damaged`, that gets the reason instead, and reading goes on with the next match.
    """
    tell = damaged and (lambda reason: damaged(_not_whole(file, reason)))
    half: list[str] = []
    try:
        with _open(file) as lines:
            for record in read_records(lines_of(lines), half.append, tell):
                if record.end is not None or unfinished:
                    yield record
                else:
                    skipped("; ".join([f"{clean(record.start.match)}: {len(record.plies)} plies and no end", *half]))
                    half.clear()
            for piece in half:
                skipped(piece)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except RecordError as error:
        raise click.ClickException(_not_whole(file, str(error))) from None


def _not_whole(file: Path, reason: str) -> str:
    return f"{file} is not a whole record: {clean(reason)}"


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise click.ClickException(f"cannot read {file}: it is no regular file")
    return file.open("rb")


async def started(start: Start, budgets: Budgets | None = None) -> Engine:
    """The engine, ready to be asked; a ClickException if it does not start."""
    try:
        return await start_engine(start, budgets or Budgets(), Extras())
    except (EngineFailed, LaunchError) as error:
        raise click.ClickException(f"{start.command}: {error}") from None
