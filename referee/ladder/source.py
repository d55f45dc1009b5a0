"""Finds the store of a ladder, its pools and its bots from words of the command line."""

import contextlib
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ggp.protocol.input_files import open_input, read_input
from ggp.protocol.printed import without_password
from ggp.referee.command_line import run_command
from ggp.referee.ladder.store.model import PoolEntry, PoolRow, StoreError

if TYPE_CHECKING:
    from ggp.referee.ladder.config import LadderTable
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ladder.toml_file import NoToml
    from ggp.referee.match.bot_spec import BotSpec


DEFAULT = "ladder.toml"
_SQLITE = b"SQLite format 3\0"
_SUFFIXES = (".toml", ".db", ".sqlite", ".sqlite3")


class Trouble(click.ClickException):
    """Something that is none of the command line's faults; the message names the remedy."""


class ViewError(click.ClickException):
    """What was asked for is not there; the message says what is."""


def open_ladder(word: str) -> "Store":
    """The store that a ladder's file, a store's file or a URL means. ViewError, ConfigError, StoreError."""
    from ggp.referee.ladder.store.store import Store

    return Store.open(store_url(word))


def store_url(word: str) -> str:
    """A URL of SQLAlchemy. ViewError, ConfigError."""
    if "://" in word:
        return word
    path = Path(word)
    if _is_sqlite(path):
        return f"sqlite:///{path.absolute()}"
    from ggp.referee.ladder.config import ladder_name, read_store

    values, broken = _read_values(path)
    top = _top(word, values)
    url = read_store(word, top.store or f"{ladder_name(word, top)}.db", path.absolute().parent)
    if broken is not None:
        if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).is_file():
            raise broken
        click.echo(f"{broken}; showing the store that the file names", err=True)
    return url


def read_top(word: str) -> "LadderTable":
    """The top of a ladder's file, or of a lobby's as far as it is a ladder's; of a file that is being edited, only
    `name` and `store`. ConfigError."""
    return _top(word, _read_values(Path(word))[0])


def engines_of(word: str) -> "dict[str, BotSpec]":
    """The engine of each game, as the pools of a ladder's or a lobby's file name them. Of a game without an entry it is
    the built-in one, or one that cannot be started here; a store names none. ConfigError."""
    if "://" in word or _is_sqlite(Path(word)):
        return {}
    from ggp.referee.ladder.config import PoolTable
    from ggp.referee.ladder.toml_file import ConfigError, decode, dotted
    from ggp.referee.match.bot_spec import LaunchError, WordError, read_engine, read_game

    top, folder = read_top(word), Path(word).absolute().parent
    engines: dict[str, BotSpec] = {}
    for name, values in top.pool.items():
        with contextlib.suppress(ConfigError, LaunchError, WordError):
            pool = decode(word, dotted("pool", name), values, PoolTable)
            if command := pool.engine or top.engine:
                engines.setdefault(read_game(pool.game)[0], read_engine(command, folder))
    return engines


def _top(word: str, values: "dict[str, Any]") -> "LadderTable":
    """Nothing below is checked: bots need not be installed where a ladder is looked at."""
    from ggp.referee.ladder.config import LadderTable
    from ggp.referee.ladder.toml_file import decode

    return decode(word, "", {key: values[key] for key in values if key not in ("lobby", "web", "front")}, LadderTable)


def _read_values(path: Path) -> "tuple[dict[str, Any], NoToml | None]":
    """What a ladder's file says. If it is no TOML, because it is being edited, only `name` and `store`, and why.

    These are then read line by line, up to the first table. NoToml if either of them is what cannot be read.
    """
    from ggp.referee.ladder.toml_file import LARGEST, NoToml, read_toml

    try:
        return read_toml(path), None
    except NoToml as error:
        values: dict[str, Any] = {}
        for line in read_input(path, LARGEST).decode("utf-8-sig", "replace").splitlines():
            if line.lstrip().startswith("["):
                break
            if re.match(r"""\s*["']?(store|name)\b""", line):
                try:
                    values |= tomllib.loads(line)
                except tomllib.TOMLDecodeError:
                    raise error from None
        return {key: value for key, value in values.items() if key in ("name", "store")}, error


def split(words: Sequence[str], least: int, most: int) -> tuple[str, list[str]]:
    """The word that means a ladder, the last or the first of these, and the others: `least` to `most` of them.

    Without one it is ladder.toml. UsageError for too many or too few words.
    """
    found, ladder = list(words), DEFAULT
    if len(found) > most or (len(found) > least and any(map(_means_ladder, (found[-1], found[0])))):
        ladder = found.pop(-1 if _means_ladder(found[-1]) or not _means_ladder(found[0]) else 0)
    if not least <= len(found) <= most:
        told = f"got {' '.join(map(without_password, words))!r}" if words else "got none"
        raise click.UsageError(f"it takes {_number(least, most)} and the ladder's file or store, and {told}")
    return ladder, found


def chosen_pools(pools: Sequence[PoolRow], name: str | None) -> list[PoolRow]:
    """All pools, or the one of that name or key."""
    if name is None:
        return list(pools)
    chosen = [pool for pool in pools if name in (pool.name, pool.key)]
    if not chosen:
        raise ViewError(unknown("pool", name, [pool.name for pool in pools]))
    return chosen


def the_pool(pools: Sequence[PoolRow], name: str | None, why: str) -> PoolRow:
    """The only pool there is, or the one of that name."""
    chosen = chosen_pools(pools, name)
    if len(chosen) != 1:
        raise ViewError(f"choose one of the pools {', '.join(pool.name for pool in chosen)} with --pool: {why}")
    return chosen[0]


def seat_of(seats: Iterable[PoolEntry], name: str) -> PoolEntry | None:
    """The version of this label, or NAME@VERSION; a bot's name alone is the label of its latest version."""
    return next((seat for seat in seats if name in (seat.label, exact(seat))), None)


def exact(seat: PoolEntry) -> str:
    """NAME@VERSION, which means this version whatever comes after it."""
    return f"{seat.name}@{seat.version}"


def check_bots(seats: Iterable[PoolEntry], *names: str | None) -> None:
    """ViewError for the first that is neither a bot's name nor a version's label."""
    there = list(seats)
    known = {word for seat in there for word in (seat.label, seat.name)}
    for name in names:
        if name is not None and name not in known and seat_of(there, name) is None:
            raise ViewError(unknown("bot", name, sorted(known)))


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """`there is no bot 'rnadom': did you mean random?`"""
    close = get_close_matches(name, known, 1, 0.5)
    if close:
        return f"there is no {what} {name!r}: did you mean {close[0]}?"
    listed = ", ".join(known[:10]) + (" …" if len(known) > 10 else "")
    return f"there is no {what} {name!r}: there {'is' if len(known) == 1 else 'are'} {listed or 'none yet'}"


def _means_ladder(word: str) -> bool:
    return "://" in word or word.endswith(_SUFFIXES) or (("/" in word or "." in word) and Path(word).is_file())


def _number(least: int, most: int) -> str:
    count = str(most) if least == most else f"{least} to {most}"
    return f"{count} word{'' if most == 1 else 's'}"


def _is_sqlite(path: Path) -> bool:
    try:
        if path.is_file():
            with open_input(path) as file:
                return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ViewError(f"cannot read {str(path)!r}: {reason}") from None
    return False


# -- What the commands that read a ladder's store share: options, errors in one line, the exit status.


TROUBLE = 1
EPILOGUE = """\b
LADDER is a ladder's file (ladder.toml, the default), its store (ladder.db), or
the URL of one (sqlite:///…, postgresql+psycopg://…). A running ladder may be
looked at.
"""

Command = TypeVar("Command", bound=Callable[..., Any])


def run_view(command: click.Command, argv: list[str]) -> int:
    """The exit status: 1 for a store or an output that cannot be used now, 2 for a usage error."""
    return run_command(command, f"ggp ladder {command.name}", argv, (StoreError, Trouble))


def words(text: str) -> Callable[[Command], Command]:
    """The words of the command line; which of them is the ladder, source.split says."""
    return click.argument("words", metavar=text, nargs=-1)


def pool_option(command: Command) -> Command:
    """--pool NAME"""
    return click.option("--pool", "pool_name", metavar="NAME", help="Only this pool.")(command)


def json_option(command: Command) -> Command:
    """--json"""
    return click.option("--json", "as_object", is_flag=True, help="One JSON object on stdout.")(command)
