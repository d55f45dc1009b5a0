"""Find the store of a ladder, its pools and its bots by words of the command line."""

import contextlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.protocol.input_files import open_input, read_input
from ggp.referee.ladder.store.model import PoolEntry, PoolRow

if TYPE_CHECKING:
    from ggp.referee.ladder.config import LadderTable
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ladder.toml_file import NoToml
    from ggp.referee.match.bot_spec import BotSpec


DEFAULT = "ladder.toml"
_SQLITE = b"SQLite format 3\0"


class Trouble(click.ClickException):
    """An error not caused by the command line. The message names the remedy."""


class ViewError(click.ClickException):
    """Something that the user asked for does not exist. The message says what does."""


def open_ladder(word: str) -> "Store":
    """Open the store that a ladder's file, a store's file or a URL means.

    Raises:
        ViewError, ConfigError, StoreError: It does not exist or cannot be used.
    """
    from ggp.referee.ladder.store.store import Store

    return Store.open(store_url(word))


def store_url(word: str) -> str:
    """Return the URL of such a store for SQLAlchemy.

    Raises:
        ViewError, ConfigError: It does not exist.
    """
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
    """Return the top of a ladder's file, or the part of a lobby's file that a ladder has, too.

    Of a file that is being edited, only `name` and `store` are read.

    Raises:
        ConfigError: The file is invalid.
    """
    return _top(word, _read_values(Path(word))[0])


def engines_of(word: str) -> "dict[str, BotSpec]":
    """Return the engine of each game that the pools of a ladder's or a lobby's file name; {} for a store.

    A game without an entry has the built-in engine, or one that cannot be started here.

    Raises:
        ConfigError: The file is invalid.
    """
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
    """Decode the top without the tables below it: bots need not be installed where a ladder is looked at."""
    from ggp.referee.ladder.config import LadderTable
    from ggp.referee.ladder.toml_file import decode

    return decode(word, "", {key: values[key] for key in values if key not in ("lobby", "web", "front")}, LadderTable)


def _read_values(path: Path) -> "tuple[dict[str, Any], NoToml | None]":
    """Return the content of a ladder's file.

    If it is not TOML, because somebody is editing it, return only `name` and `store`, and the error. These are then
    read line by line, up to the first table.

    Raises:
        NoToml: One of these two cannot be read.
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


def chosen_pools(pools: Sequence[PoolRow], name: str | None) -> list[PoolRow]:
    """Return all pools, or the one with this name or key. Raise ViewError for an unknown name."""
    if name is None:
        return list(pools)
    chosen = [pool for pool in pools if name in (pool.name, pool.key)]
    if not chosen:
        raise ViewError(unknown("pool", name, [pool.name for pool in pools]))
    return chosen


def the_pool(pools: Sequence[PoolRow], name: str | None, why: str) -> PoolRow:
    """Return the only pool, or the one with this name. Raise ViewError with `why` if several are left."""
    chosen = chosen_pools(pools, name)
    if len(chosen) != 1:
        raise ViewError(f"choose one of the pools {', '.join(pool.name for pool in chosen)} with --pool: {why}")
    return chosen[0]


def seat_of(seats: Iterable[PoolEntry], name: str) -> PoolEntry | None:
    """Return the version with this label or NAME@VERSION; a bot's name alone is the label of its latest version."""
    return next((seat for seat in seats if name in (seat.label, exact(seat))), None)


def exact(seat: PoolEntry) -> str:
    """Return NAME@VERSION, which means this version even after it is replaced."""
    return f"{seat.name}@{seat.version}"


def check_bots(seats: Iterable[PoolEntry], *names: str | None) -> None:
    """Raise ViewError for the first name that is neither a bot nor the label of a version."""
    there = list(seats)
    known = {word for seat in there for word in (seat.label, seat.name)}
    for name in names:
        if name is not None and name not in known and seat_of(there, name) is None:
            raise ViewError(unknown("bot", name, sorted(known)))


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """Return a message such as `there is no bot 'rnadom': did you mean random?`."""
    close = get_close_matches(name, known, 1, 0.5)
    if close:
        return f"there is no {what} {name!r}: did you mean {close[0]}?"
    listed = ", ".join(known[:10]) + (" …" if len(known) > 10 else "")
    return f"there is no {what} {name!r}: there {'is' if len(known) == 1 else 'are'} {listed or 'none yet'}"


def _is_sqlite(path: Path) -> bool:
    try:
        if path.is_file():
            with open_input(path) as file:
                return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ViewError(f"cannot read {str(path)!r}: {reason}") from None
    return False
