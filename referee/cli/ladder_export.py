"""`ggp ladder export [LADDER]`: write the matches of a ladder as records, results, SGF or scripts."""

from dataclasses import replace

import click

from ggp.referee.cli.ladder_games import filter_options
from ggp.referee.cli.ladder_view import TROUBLE, run_view, view
from ggp.referee.command_line import opened
from ggp.referee.ladder.export import exported
from ggp.referee.ladder.queries import read_game
from ggp.referee.ladder.source import Trouble, ViewError, open_ladder, the_pool
from ggp.referee.ladder.store.model import GameFilter
from ggp.referee.match.record_forms import as_form
from ggp.referee.terminal import on_terminal, progress_bar


@view("export", "[LADDER]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "sgf", "gtp"]),
    default="jsonl",
    show_default=True,
    help="jsonl for ggp verify and ggp show; csv (first,second,result) for ggp rate.",
)
@filter_options
@click.option("--key", metavar="KEY", help="Only the match with this key.")
@click.option("--played", is_flag=True, help="Only games decided by play, not by a fault.")
@click.option("-o", "--output", metavar="FILE", help="Output file, which appears once it is complete.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def export(
    ladder: str,
    form: str,
    wanted: GameFilter,
    key: str | None,
    played: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Write the matches of a ladder, newest first, to stdout or a file.

    csv omits void matches, and shows a forfeit as a win or a loss.
    """
    if key is not None and (wanted.any is False or played or form == "csv"):
        raise click.UsageError("--key is one match: leave out what chooses among many, and the format csv")
    with open_ladder(ladder) as store:
        if form == "csv":
            pool = the_pool(store.pools(), wanted.pool, "results of several may not be rated together")
            wanted = replace(wanted, pool=pool.name)
        damaged: list[str] = []
        if key is not None:
            pieces = iter([as_form(read_game(store, key), form)])
        else:
            pieces = exported(store, wanted, form, played, damaged)
        visible = not quiet and (output not in (None, "-") or not on_terminal())
        totals = store.totals()
        total = totals.games + totals.void if wanted.any else None
        with opened(output, ViewError, Trouble) as file, progress_bar("matches", visible) as progress:
            for number, piece in enumerate(pieces, 1):
                file.write(piece)
                progress(number, total, "matches")
            file.flush()
    for reason in damaged:
        click.echo(f"ggp ladder export: {reason}", err=True)
    return TROUBLE if damaged else 0


def main(argv: list[str]) -> int:
    """Run the command. Return its exit status."""
    return run_view(export, argv)
