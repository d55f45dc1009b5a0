"""`FILE[#MATCH][@PLY]` -> the record that is meant, finished, cut off or still being played. It replays nothing."""

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import click

from protocol.drawing.scene import clean
from protocol.records import Record
from referee.archive.live import Head, find_live, is_played, live_base, read_live, running
from referee.archive.reading import count_plies, find_record, split_place

_STORES = (".toml", ".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
_SHOWN = 10  # matches named where one is not found


class Source(NamedTuple):
    """A match, the ply that was asked for, and how to read it again: None where nothing can have changed.

    `playing` says whether somebody still plays it.
    """

    record: Record
    ply: int
    again: Callable[[], Record | None] = lambda: None
    playing: Callable[[], bool] = lambda: False


def open_place(text: str) -> Source:
    """A place in a record file, or in a ladder's file, store or URL. ClickException says what is there instead."""
    file, key, ply = split_place(text)
    record, base, stored = _open_ladder(file, key) if is_ladder(file) else _open_file(file, key)
    if base is None:
        return Source(record, count_plies(record, ply))
    path, name = Path(base), record.start.match

    def again() -> Record | None:
        if (found := read_live(path, name)) is not None:
            return found
        with contextlib.suppress(click.ClickException):  # it is nowhere: what was read is all there is
            return stored(name)
        return None

    def playing() -> bool:
        return is_played(path) and (found := read_live(path, name)) is not None and found.end is None

    return Source(record, count_plies(record, ply), again, playing)


def is_ladder(word: str) -> bool:
    """Whether it means a ladder, and not a file of records."""
    if "://" in word or word.endswith(_STORES):
        return True
    with contextlib.suppress(OSError, ValueError), Path(word).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
    return False


def _open_file(file: str, key: str) -> tuple[Record, Path | None, Callable[[str], Record]]:
    """The record; its side file if it is one that is being played; where it will be once it is finished."""
    path = Path(file)

    def stored(name: str) -> Record:
        return find_record(path, name)

    live = find_live(file, key) if key else None
    if live is None:
        try:
            return stored(key), None, stored
        except click.ClickException as error:
            live = find_live(file, key)
            if live is None:
                raise _missing(error, running(file)) from None
    return live[1], live[0], stored


def _open_ladder(word: str, key: str) -> tuple[Record, Path | None, Callable[[str], Record]]:
    """As _open_file; only who looks at a ladder waits for what reads its store."""
    from referee.ladder.toml_section import ConfigError
    from referee.ladder.views.game import read_game
    from referee.ladder.views.source import store_url
    from referee.store.errors import StoreError
    from referee.store.store import Store

    def stored(name: str) -> Record:
        try:
            with Store.open(url) as store:
                if not name:
                    keys = [row.key for _, row in zip(range(_SHOWN), store.games(None), strict=False)]
                    raise click.ClickException(f"{word}: name a match: {_listed(keys, 'of the last are ')}")
                return read_game(store, name)
        except StoreError as error:
            raise click.ClickException(str(error)) from None

    try:
        url = store_url(word)
    except ConfigError as error:
        raise click.ClickException(str(error)) from None
    base = live_base(url)
    live = find_live(base, key) if key else None
    if live is not None and live[1].end is None:
        return live[1], live[0], stored
    try:
        return stored(key), None, stored
    except click.ClickException as error:
        raise _missing(error, running(base)) from None


def _missing(error: click.ClickException, heads: list[Head]) -> click.ClickException:
    """What is not there, and what is being played instead."""
    playing = _listed([f"#{head.match} ({' - '.join(head.bots)}, ply {head.ply})" for head in heads], "being played: ")
    return click.ClickException(clean(f"{error.format_message()}{f'; {playing}' if heads else ''}"))


def _listed(words: Iterable[str], what: str) -> str:
    found = list(words)
    more = " …" if len(found) > _SHOWN else ""
    return f"{what}{', '.join(found[:_SHOWN])}{more}" if found else "there is none yet"
