"""`ggp ladder check` compares the store with its records or repairs it; `ggp ladder readmit` lifts a suspension."""

from functools import partial

import click

from ggp.protocol.printed import json_text
from ggp.referee.cli.ladder_view import json_option, run_view, view
from ggp.referee.ladder.source import check_bots, open_ladder
from ggp.referee.terminal import escape_unprintable, progress_bar, say

_MOST = 100  # lines that are shown


@view("check", "[LADDER]")
@click.option("--repair", is_flag=True, help="Correct the store by its records; the ladder must not run.")
@click.option("--quiet", is_flag=True, help="No progress bar, and no output without differences.")
@json_option
def check(ladder: str, repair: bool, quiet: bool, as_object: bool) -> int:
    """Check the hash chains of records, games against their records, and counts and pairs against games."""
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


run_check = partial(run_view, check)  # argv -> exit status: 1 if something differs, or cannot be repaired


def _summary(games: int, differences: int, left: int, repair: bool) -> str:
    if not differences:
        return f"{games} games: all as their records say"
    if not repair:
        return f"{games} games, {differences} differences: --repair makes everything what the records say"
    beyond = f", {left} cannot be: their records are damaged" if left else ""
    return f"{games} games, {differences} differences: {differences - left} repaired{beyond}"


@view("readmit", "NAME [LADDER]", 1, 1)
@click.option("--quiet", is_flag=True, help="No output.")
def readmit(ladder: str, name: str, quiet: bool) -> int:
    """Lift the suspension of a bot whose fault is fixed. A bot that changed is a new version anyway."""
    with open_ladder(ladder) as store:
        check_bots([seat for pool in store.pools() for seat in store.seats(pool.id)], name)
        lifted = store.readmit(name)
    if not quiet:
        what = "is paired again from the next batch on" if lifted else "was not suspended"
        say(escape_unprintable(f"{name} {what}"))
    return 0


run_readmit = partial(run_view, readmit)
