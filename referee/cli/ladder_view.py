"""The parts shared by the commands that read a ladder's store: arguments, options, one-line errors, exit status."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from ggp.protocol.printed import json_text, without_password
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ladder.source import DEFAULT, Trouble
from ggp.referee.ladder.standings import pools_json
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.terminal import say

TROUBLE = 1  # exit status for a store or an output that cannot be used now
NO_POOL = "the ladder has no pool yet: ggp ladder run begins it"
EPILOGUE = """\b
LADDER is a ladder's file (ladder.toml, the default), its store (ladder.db), or
the URL of one (sqlite:///…, postgresql+psycopg://…). A running ladder may be
looked at.
"""
_SUFFIXES = (".toml", ".db", ".sqlite", ".sqlite3")
T = TypeVar("T")

pool_option = click.option("--pool", "pool_name", metavar="NAME", help="Only this pool.")
json_option = click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")


def view(name: str, metavar: str, least: int = 0, most: int = 0) -> Callable[[Callable[..., int]], click.Command]:
    """Make `ggp ladder NAME` of a function that gets the ladder, then `least` to `most` other words, then the options.

    Args:
        name: Name of the command.
        metavar: The words as the help shows them.
        least: The least number of words besides the ladder.
        most: The largest number of these.
    """

    def made(function: Callable[..., int]) -> click.Command:
        @wraps(function)
        def with_ladder(words: tuple[str, ...], **given: Any) -> int:
            ladder, names = split(words, least, most)
            return function(ladder, *names, **given)

        words = click.argument("words", metavar=metavar, nargs=-1)
        return click.command(name, epilog=EPILOGUE, context_settings=HELP)(words(with_ladder))

    return made


def run_view(command: click.Command, argv: list[str]) -> int:
    """Run the command. Return its exit status: TROUBLE, or 2 for a usage error."""
    return run_command(command, f"ggp ladder {command.name}", argv, (StoreError, Trouble))


def split(words: Sequence[str], least: int, most: int) -> tuple[str, list[str]]:
    """Return the word that means a ladder, by default ladder.toml, and the `least` to `most` other words.

    The ladder is the last or the first word.

    Raises:
        UsageError: There are too many or too few words.
    """
    found, ladder = list(words), DEFAULT
    if len(found) > most or (len(found) > least and any(map(_means_ladder, (found[-1], found[0])))):
        ladder = found.pop(-1 if _means_ladder(found[-1]) or not _means_ladder(found[0]) else 0)
    if not least <= len(found) <= most:
        told = f"got {' '.join(map(without_password, words))!r}" if words else "got none"
        count = str(most) if least == most else f"{least} to {most}"
        plural = "" if most == 1 else "s"
        raise click.UsageError(f"it takes {count} word{plural} and the ladder's file or store, and {told}")
    return ladder, found


def _means_ladder(word: str) -> bool:
    return "://" in word or word.endswith(_SUFFIXES) or (("/" in word or "." in word) and Path(word).is_file())


def say_pools(objects: dict[str, dict[str, Any]]) -> None:
    """Print the object of the only pool, or those of all pools by their names, as JSON."""
    say(json_text(pools_json(objects)))


def show_each(found: Sequence[T], show_one: Callable[[T], None]) -> None:
    """Show what was found in each pool, with an empty line between."""
    for number, one in enumerate(found):
        say(*[""] * bool(number))
        show_one(one)
    if not found:
        say(NO_POOL)
