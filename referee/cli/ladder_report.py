"""`ggp ladder report`: write the pages of a ladder as a static site."""

import os
import sys
from pathlib import Path

import click

from ggp.referee.cli.ladder_view import TROUBLE, pool_option, run_view, view
from ggp.referee.ladder.source import open_ladder
from ggp.referee.server.web.report import INDEX, Bar, write_report
from ggp.referee.terminal import can_redraw, escape_unprintable, rich_console


def main(argv: list[str]) -> int:
    """Run the command. Return its exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products; more threads only wait for one another
    try:
        return run_view(report, argv)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        click.echo(f"ggp ladder report: cannot write {error.filename or 'it'}: {error.strerror}", err=True)
        return TROUBLE


@view("report", "[LADDER]")
@click.option("-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Site's folder.")
@pool_option
@click.option(
    "--matches",
    type=click.IntRange(0),
    default=0,
    help="Newest matches of each pool that get a page.",
)
@click.option("--engine", metavar="COMMAND|URL", help="Engine that draws matches, as for ggp web.")
@click.option("--quiet", is_flag=True, help="No output.")
def report(ladder: str, output: Path, pool_name: str | None, matches: int, engine: str | None, quiet: bool) -> int:
    """Write a static site of the ladder into DIR: standings, plots, crosstable, and a page for each bot.

    With --matches, it also has pages that step through matches.

    DIR is a new or empty folder, or an earlier report, which is replaced. The pages need neither a server nor files
    from elsewhere: open DIR/index.html.
    """
    with open_ladder(ladder) as store:
        number = write_report(store, ladder, output, pool_name, _bar(quiet), matches, engine)
    if not quiet:
        click.echo(escape_unprintable(f"{number} pages: {output / INDEX}"))
    return 0


def _bar(quiet: bool) -> "Bar":
    """Return what iterates over names, with a bar on a terminal."""
    if quiet or not can_redraw(sys.stderr):
        return lambda names, what: names
    from rich.progress import track

    console = rich_console(stderr=True)
    return lambda names, what: track(names, what, console=console, transient=True)
