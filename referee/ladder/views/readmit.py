"""`ggp ladder readmit NAME`: lifts a bot's suspension; a ladder that runs pairs it again from its next batch on."""

import click

from referee.ladder.views import running
from referee.ladder.views.sheet import clean, say
from referee.ladder.views.source import check_bots, open_ladder, split


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(readmit, argv)


@click.command("readmit", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("NAME [LADDER]")
@click.option("--quiet", is_flag=True, help="Say nothing.")
def readmit(words: tuple[str, ...], quiet: bool) -> int:
    """Let a suspended bot play again, once what stopped it was mended. A bot that changed is a new version anyway."""
    ladder, (name,) = split(words, 1, 1)
    with open_ladder(ladder) as store:
        check_bots([seat for pool in store.pools() for seat in store.seats(pool.id)], name)
        lifted = store.readmit(name)
    if not quiet:
        say(clean(f"{name} is paired again from the next batch on" if lifted else f"{name} was not suspended"))
    return 0
