"""`ggp ladder export`: the matches of a ladder as records, results, SGF or scripts, one at a time."""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from protocol.records import escaped_line
from referee.archive.export import written
from referee.archive.output import opened
from referee.ladder.views import running
from referee.ladder.views.game import read_game, read_one
from referee.ladder.views.games import (
    Filter,
    check_filter,
    ended_after,
    filter_options,
    long_before,
    matching,
    since_when,
)
from referee.ladder.views.source import Trouble, ViewError, open_ladder, split, the_pool
from referee.store.counting import BY_PLAY
from referee.store.rows import GameRow

if TYPE_CHECKING:
    from referee.store.store import Store


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(export, argv)


@click.command("export", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[LADDER]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "sgf", "gtp"]),
    default="jsonl",
    show_default=True,
    help="jsonl: for ggp verify and ggp show; csv: first,second,result for ggp rate.",
)
@filter_options
@click.option("--key", metavar="KEY", help="Only the match of this key.")
@click.option("--played", is_flag=True, help="Only games that were decided by play, not by a fault.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which appears when all is written.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def export(
    words: tuple[str, ...],
    form: str,
    pool_name: str | None,
    bot: str | None,
    against: str | None,
    termination: str | None,
    since: str | None,
    key: str | None,
    played: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Write the matches of a ladder, newest first, to stdout or a file.

    Void matches are left out of csv, which has results alone; a forfeit is there as a win or a loss.
    """
    ladder, _ = split(words, 0, 0)
    wanted = Filter(pool_name, bot, against, termination, since_when(since))
    if key is not None and (wanted.any is False or played or form == "csv"):
        raise click.UsageError("--key is one match: leave out what chooses among many, and the format csv")
    with open_ladder(ladder) as store:
        if form == "csv":
            pool = the_pool(store.pools(), pool_name, "results of several may not be rated together")
            wanted = replace(wanted, pool=pool.name)
        damaged: list[str] = []
        pieces = _one(store, key, form) if key is not None else _pieces(store, wanted, form, played, damaged)
        with opened(output, ViewError, Trouble) as file:
            counted = _with_progress(store, wanted, pieces) if _watched(output, quiet) else pieces
            for piece in counted:
                file.write(piece)
            file.flush()
    for reason in damaged:
        click.echo(f"ggp ladder export: {reason}", err=True)
    return running.TROUBLE if damaged else 0


def _one(store: "Store", key: str, form: str) -> Iterator[bytes]:
    yield written(read_game(store, key), form)


def _pieces(store: "Store", wanted: Filter, form: str, played: bool, damaged: list[str]) -> Iterator[bytes]:
    """What to write, a piece a match; b"" for one that is left out. `damaged` gets why a record cannot be written."""
    if form == "csv":
        yield b"first,second,result\n"
        for row in matching(store, wanted):
            yield _csv_line(row) if row.result and not (played and row.termination not in BY_PLAY) else b""
        return
    pool = check_filter(store, wanted)
    found = store.records(pool, wanted.bot, wanted.against, wanted.termination, damaged=damaged.append)
    for row, lines in found:
        if wanted.since is not None and long_before(row, wanted.since):
            return
        early = wanted.since is not None and not ended_after(row, wanted.since)
        if early or (played and row.termination not in BY_PLAY):
            yield b""
            continue
        try:
            record = read_one(lines, row.key)
            yield escaped_line(lines) if form == "jsonl" else written(record, form)
        except click.ClickException as error:
            damaged.append(error.format_message())
            yield b""


def _csv_line(row: GameRow) -> bytes:
    line = io.StringIO()
    result = ("0.5", "1", "0")[row.winner]
    csv.writer(line, lineterminator="\n").writerow((row.first, row.second, result))
    return line.getvalue().encode()


def _watched(output: str | None, quiet: bool) -> bool:
    """Whether a bar on stderr would be seen, and disturb nothing."""
    return not quiet and sys.stderr.isatty() and (output not in (None, "-") or not sys.stdout.isatty())


def _with_progress(store: "Store", wanted: Filter, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, counted before the eyes of the user."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    totals = store.totals()
    total = totals.games + totals.void if wanted.any else None
    console = Console(stderr=True)
    with Progress(
        TextColumn("matches"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        yield from bar.track(pieces, total=total)
