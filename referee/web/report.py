"""`ggp ladder report`: writes a static site from a ladder's store."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from protocol.safe_files import replace_file
from referee.cli import HELP
from referee.ladder import source
from referee.ladder.queries import PoolSummary, format_of
from referee.ladder.source import ViewError, chosen_pools, open_ladder, read_top, split
from referee.terminal import clean
from referee.web.pages import file_of, render

if TYPE_CHECKING:
    from referee.store.store import Store


EVENTS = 50  # that are listed
INDEX = "index.html"


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products; more threads only wait for one another
    try:
        return source.run_view(report, argv)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        click.echo(f"ggp ladder report: cannot write {error.filename or 'it'}: {error.strerror}", err=True)
        return source.TROUBLE


@click.command("report", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@click.option("-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Where to.")
@source.pool_option
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
    folder, form, name = Folder(output), format_of(ladder), name_of(ladder)
    pools = [PoolSummary(store, pool, form) for pool in chosen_pools(store.pools(), pool_name)]
    bots = sorted({seat.name for pool in pools for seat in pool.standings.seats})
    of_pools = {f"pools/{file_of(pool.pool.name)}": pool for pool in pools if len(pools) > 1}
    folder.begin({INDEX, *of_pools, *(f"bots/{file_of(bot)}" for bot in bots)})
    for bot in each(bots):
        folder.write(f"bots/{file_of(bot)}", render("bot.html", ladder=name, pools=pools, name=bot))
    for file, pool in of_pools.items():
        folder.write(file, render("pool_page.html", ladder=name, pool=pool))
    events = store.events(EVENTS)
    folder.write(INDEX, render("index.html", ladder=name, pools=pools, bots=bots, events=events))
    folder.close()
    return 1 + len(of_pools) + len(bots)


def name_of(word: str) -> str:
    """What a ladder is called: as its file says, or as its store is."""
    if "://" in word:
        return Path(urlsplit(word).path).stem or "ladder"
    if not word.endswith(".toml"):
        return Path(word).stem
    from referee.ladder.config import ladder_name

    return ladder_name(word, read_top(word))


def _bar(quiet: bool) -> Callable[[Sequence[str]], Iterable[str]]:
    """Goes through the bots, with a bar on a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda bots: bots
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return lambda bots: track(bots, "bots", console=console, transient=True)


# -- The output folder: only files of the report; each is replaced atomically, and stale ones are removed.


MARKER = ".ggp-report"
_FIRST_LINE = "Files of `ggp ladder report`: it writes them again, and takes away those that it does not need any more."
_OURS = re.compile(r"index\.html|(?:bots|pools)/[^/]+\.html")


class Folder:
    """Raises ViewError for a folder that holds other files, OSError where nothing can be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _listed(path)
        self._pages: set[str] = set()

    def begin(self, pages: set[str]) -> None:
        """Say which pages will be written, so that a report that is cut off is known as one."""
        self._pages = pages
        self._path.mkdir(parents=True, exist_ok=True)
        self._mark(self._before | pages)

    def write(self, name: str, text: str) -> None:
        """A page; one that says the same stays as it is."""
        data = text.encode()
        path = self._path / name
        path.parent.mkdir(exist_ok=True)
        if not _holds(path, data):
            replace_file(path, data)

    def close(self) -> None:
        """Take away what was of an earlier report alone."""
        for name in sorted(self._before - self._pages):
            (self._path / name).unlink(missing_ok=True)
        self._mark(self._pages)

    def _mark(self, names: set[str]) -> None:
        replace_file(self._path / MARKER, "\n".join([_FIRST_LINE, *sorted(names), ""]).encode())


def _listed(path: Path) -> set[str]:
    """What an earlier report left. ViewError if there is anything and no report made it."""
    if path.exists() and not path.is_dir():
        raise ViewError(f"{path} is no folder: name another with -o")
    marker = path / MARKER
    if marker.is_file():
        lines = marker.read_text(encoding="utf-8", errors="replace").splitlines()
        return {line for line in lines if _OURS.fullmatch(line) and ".." not in line.split("/")}
    if path.is_dir() and any(path.iterdir()):
        raise ViewError(f"{path} holds files that are not of a report: name a new folder or an empty one with -o")
    return set()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except FileNotFoundError:
        return False
