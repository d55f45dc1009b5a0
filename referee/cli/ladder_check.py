"""`ggp ladder check`: compares the store with its records, `--repair` corrects it; `ggp ladder readmit`."""

import click

from ggp.protocol.printed import json_text
from ggp.referee.command_line import HELP
from ggp.referee.ladder import source
from ggp.referee.ladder.source import check_bots, open_ladder, split
from ggp.referee.terminal import escape_unprintable, progress_bar, say

_MOST = 100  # lines that are shown


def run_check(argv: list[str]) -> int:
    """The exit status: 1 if something differs, with --repair if something cannot be repaired."""
    return source.run_view(check, argv)


@click.command("check", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@click.option("--repair", is_flag=True, help="Make it what the records say; the ladder must not run.")
@click.option("--quiet", is_flag=True, help="No progress bar, and nothing to say if all is well.")
@source.json_option
def check(words: tuple[str, ...], repair: bool, quiet: bool, as_object: bool) -> int:
    """Check every record's hash chain, every game against its record, every count and pair against the games."""
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store, progress_bar("checking games", not (quiet or as_object)) as progress:
        found = store.repair(progress) if repair else store.check(progress)
    left = found.beyond if repair else len(found.lines)
    if as_object:
        said = {"games": found.matches, "differences": found.lines, "repaired": len(found.lines) - left}
        say(json_text(said))
        return 1 if left else 0
    say(*(escape_unprintable(line) for line in found.lines[:_MOST]))
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
    beyond = f", {left} cannot be: their records are damaged" if left else ""
    return f"{games} games, {differences} differences: {differences - left} repaired{beyond}"


# -- `ggp ladder readmit NAME`: lifts a bot's suspension from the next batch on.


def run_readmit(argv: list[str]) -> int:
    """The exit status."""
    return source.run_view(readmit, argv)


@click.command("readmit", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("NAME [LADDER]")
@click.option("--quiet", is_flag=True, help="Say nothing.")
def readmit(words: tuple[str, ...], quiet: bool) -> int:
    """Lift the suspension of a bot, once its cause is fixed. A bot that changed is a new version anyway."""
    ladder, (name,) = split(words, 1, 1)
    with open_ladder(ladder) as store:
        check_bots([seat for pool in store.pools() for seat in store.seats(pool.id)], name)
        lifted = store.readmit(name)
    if not quiet:
        say(
            escape_unprintable(
                f"{name} is paired again from the next batch on" if lifted else f"{name} was not suspended"
            )
        )
    return 0
