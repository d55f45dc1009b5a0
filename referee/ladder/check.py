"""`ggp ladder check`: whether what is stored is as the records say; `--repair` makes it so. It plays nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from protocol.printed import json_text
from referee.ladder.views import running
from referee.ladder.views.sheet import clean, say
from referee.ladder.views.source import open_ladder, split

if TYPE_CHECKING:
    from referee.store.rebuild import Progress

_MOST = 100  # lines that are shown
_STEP = 500  # matches between two steps of the bar


def main(argv: list[str]) -> int:
    """The exit status: 1 if something differs, with --repair if something cannot be mended."""
    return running.run_view(check, argv)


@click.command("check", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[LADDER]")
@click.option("--repair", is_flag=True, help="Make it what the records say; the ladder must not run.")
@click.option("--quiet", is_flag=True, help="No progress bar, and nothing to say if all is well.")
@running.json_option
def check(words: tuple[str, ...], repair: bool, quiet: bool, as_object: bool) -> int:
    """Check every record's hash chain, every game against its record, every count and pair against the games."""
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store, _progress(quiet or as_object) as progress:
        found = store.repair(progress) if repair else store.check(progress)
    left = found.beyond if repair else len(found.lines)
    if as_object:
        said = {"games": found.matches, "differences": found.lines, "repaired": len(found.lines) - left}
        say(json_text(said))
        return 1 if left else 0
    say(*(clean(line) for line in found.lines[:_MOST]))
    if (more := len(found.lines) - _MOST) > 0:
        say(f"… and {more} more (--json lists all)")
    if found.lines or not quiet:
        say(_summary(found.matches, len(found.lines), left, repair))
    return 1 if left else 0


def _summary(games: int, differences: int, left: int, repair: bool) -> str:
    if not differences:
        return f"{games} games: all as their records say"
    if not repair:
        return f"{games} games, {differences} differences: --repair makes everything what the records say"
    beyond = f", {left} cannot be: the records themselves are not right" if left else ""
    return f"{games} games, {differences} differences: {differences - left} mended{beyond}"


@contextmanager
def _progress(quiet: bool) -> Iterator["Progress"]:
    """A bar on stderr, where somebody looks at it."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("checking games"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("games")

        def step(done: int, total: int) -> None:
            if done % _STEP == 0 or done == total:
                bar.update(task, completed=done, total=total)

        yield step
