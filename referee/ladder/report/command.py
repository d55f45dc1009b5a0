"""`ggp ladder report`: reads a ladder's store and writes a static site of it; what is on its pages, others say."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from referee.ladder.views import running
from referee.ladder.views.sheet import clean
from referee.ladder.views.source import chosen_pools, open_ladder, read_top, split

if TYPE_CHECKING:
    from referee.store.store import Store

EVENTS = 50  # that are listed
INDEX = "index.html"


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products; more threads only wait for one another
    try:
        return running.run_view(report, argv)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        click.echo(f"ggp ladder report: cannot write {error.filename or 'it'}: {error.strerror}", err=True)
        return running.TROUBLE


@click.command("report", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[LADDER]")
@click.option("-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Where to.")
@running.pool_option
@click.option("--quiet", is_flag=True, help="Say nothing.")
def report(words: tuple[str, ...], output: Path, pool_name: str | None, quiet: bool) -> int:
    """Write a static site of the ladder into DIR: standings, plots, crosstable, a page for each bot.

    DIR is a new or empty folder, or that of an earlier report, which is written again. The pages need no server and
    nothing from elsewhere: open DIR/index.html.
    """
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store:
        number = write_report(store, ladder, output, pool_name, _bar(quiet))
    if not quiet:
        click.echo(clean(f"{number} pages: {output / INDEX}"))
    return 0


def write_report(
    store: "Store", ladder: str, output: Path, pool_name: str | None, each: Callable[[Sequence[str]], Iterable[str]]
) -> int:
    """How many pages. `each` goes through the bots, and may show how far it is. ViewError, StoreError, OSError."""
    from referee.ladder.report.bot_page import bot_page
    from referee.ladder.report.facts import format_of, read_facts
    from referee.ladder.report.folder import Folder
    from referee.ladder.report.index_page import index_page, pool_page
    from referee.ladder.report.page import file_of

    folder, form = Folder(output), format_of(ladder)
    pools = [read_facts(store, pool, form) for pool in chosen_pools(store.pools(), pool_name)]
    bots = sorted({seat.name for facts in pools for seat in facts.standings.seats})
    name = name_of(ladder)
    of_pools = {f"pools/{file_of(facts.pool.name)}": facts for facts in pools if len(pools) > 1}
    folder.begin({INDEX, *of_pools, *(f"bots/{file_of(bot)}" for bot in bots)})
    for bot in each(bots):
        folder.write(f"bots/{file_of(bot)}", bot_page(store, name, pools, bot))
    for file, facts in of_pools.items():
        folder.write(file, pool_page(name, facts))
    folder.write(INDEX, index_page(name, pools, bots, store.events(EVENTS)))
    folder.close()
    return 1 + len(of_pools) + len(bots)


def name_of(word: str) -> str:
    """What a ladder is called: as its file says, or as its store is."""
    if "://" in word:
        return Path(urlsplit(word).path).stem or "ladder"
    if not word.endswith(".toml"):
        return Path(word).stem
    from referee.ladder.config import ladder_name

    return ladder_name(read_top(word), Path(word))


def _bar(quiet: bool) -> Callable[[Sequence[str]], Iterable[str]]:
    """Goes through the bots, with a bar on a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda bots: bots
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return lambda bots: track(bots, "bots", console=console, transient=True)
