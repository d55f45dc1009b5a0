"""Records named by a PLACE on a command line: `FILE[#MATCH][@PLY]`.

FILE is a record file, or a ladder: its file, its store's file or URL. A match may still be in progress.
"""

import contextlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from ggp.protocol.input_files import open_input
from ggp.protocol.printed import without_password
from ggp.protocol.records import MatchStarted, Record
from ggp.referee.match.bot_spec import OUR_ENGINE
from ggp.referee.match.resume import interrupted
from ggp.referee.records import LiveHead, LiveMatch, find_live, live_base, records_in, running
from ggp.referee.terminal import escape_unprintable

_STORES = (".toml", ".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
_SHOWN = 10  # matches listed when one is not found
_PLACE = re.compile(r"(?P<source>.+?)(?:#(?P<key>[^@#]+))?(?:@(?P<ply>-?\d{1,9}))?", re.DOTALL)


class RecordPlace(NamedTuple):
    """A file, store or URL; the match ("" for the first of a file); the number of plies (None for all)."""

    source: str
    key: str = ""
    ply: int | None = None


class RecordSource(NamedTuple):
    """A match that a place names.

    Attributes:
        ply: The number of plies that the place names.
        again: Reads a running match again; returns None if it cannot have changed.
        playing: Returns True while the match is being played.
    """

    place: RecordPlace
    record: Record
    ply: int
    again: Callable[[], Record | None] = lambda: None
    playing: Callable[[], bool] = lambda: False


def read_place(text: str) -> RecordPlace:
    """Parse `FILE[#MATCH][@PLY]`, such as `games.jsonl#a1b2c3d4-7@17`; -1 is the last ply.

    Raises:
        UsageError: The text is not a place.
    """
    if _exists(text):  # a file name may contain # and @
        return RecordPlace(text)
    found = _PLACE.fullmatch(text)
    if found is None:
        raise click.UsageError("invalid place: write FILE, FILE@PLY or FILE#MATCH@PLY")
    return RecordPlace(found["source"], found["key"] or "", None if found["ply"] is None else int(found["ply"]))


def is_ladder(word: str) -> bool:
    """Return True if a word names a ladder rather than a record file."""
    if "://" in word or word.endswith(_STORES):
        return True
    with contextlib.suppress(OSError, ValueError):
        if (path := Path(word)).is_file():  # reading a pipe would block
            with open_input(path) as file:
                return file.read(len(_MAGIC)) == _MAGIC
    return False


def recorded_engine(start: MatchStarted) -> str:
    """Return the command line or address of the foreign engine that judged a match; "" for the built-in engine.

    The author of the record chose it, so it must not run without the consent of the user.
    """
    command = start.engine.command
    return "" if command == OUR_ENGINE or not command.isprintable() else command


def how_to_name_engine(start: MatchStarted, option: str = "--engine") -> str:
    """Return how to repeat a command whose engine does not know the game of a record.

    Args:
        start: The start of the recorded match.
        option: The option that takes an engine on that command line.
    """
    if command := recorded_engine(start):
        word = command if option == "--" else shlex.quote(command)
        return f"if you trust the record, repeat with its engine: {option} {word}"
    return f"name an engine that knows it with {option}"


def count_plies(record: Record, ply: int | None) -> int:
    """Return how many plies to play: all for None; a negative number counts from the end.

    Raises:
        ClickException: The match has no such ply.
    """
    last = len(record.plies)
    number = last if ply is None else ply if ply >= 0 else last + 1 + ply
    if not 0 <= number <= last:
        raise click.ClickException(
            f"there is no ply {ply}: the match {escape_unprintable(record.start.match)} has plies 0 to {last}"
        )
    return number


def open_match(text: str) -> RecordSource:
    """Return the match that a place names.

    Raises:
        ClickException: There is no such match, or it cannot be read.
    """
    place = read_place(text)
    record, live, stored = (_of_ladder if is_ladder(place.source) else _of_file)(place.source, place.key)
    ply = count_plies(record, place.ply)
    if live is None:
        return RecordSource(place, record, ply)
    name = record.start.match

    def again() -> Record | None:
        found = live.read()
        if found is not None and (found.end is not None or live.playing()):
            return found
        with contextlib.suppress(click.ClickException):  # the side file may end early if the disk was full
            return stored(name)
        return found

    return RecordSource(place, record, ply, again, live.playing)


def open_matches(text: str, skipped: Callable[[str], None], damaged: Callable[[str], None]) -> Iterator[Record]:
    """Yield every match of a place: the finished ones of a file (`-` is standard input), or a ladder's, last one first.

    FILE#MATCH yields only that match, finished or not. With @PLY its plies end there, without an end of the match.

    Args:
        text: The place.
        skipped: Called with a description of each incomplete match of a file.
        damaged: Called with the reason for each damaged record.

    Raises:
        ClickException: There is no such match.
    """
    place = read_place(text)
    if place.ply is not None or (place.key and is_ladder(place.source)):
        record, ply = (source := open_match(text)).record, source.ply
        yield record if place.ply is None else Record(record.start, record.plies[:ply], None)
    elif is_ladder(place.source):
        yield from _all_of_ladder(place.source, damaged)
    else:
        found, broken = 0, list[str]()

        def tell(reason: str) -> None:
            broken.append(reason)
            damaged(reason)

        for record in records_in(Path(place.source), skipped, bool(place.key), tell):
            if place.key in ("", record.start.match):
                found += 1
                yield record
        if not found and not broken:
            raise click.ClickException(escape_unprintable(f"{place.source} has no match {place.key}".rstrip()))


# -- One match: its record, or its side file while it is being played.

_Found = tuple[Record, LiveMatch | None, Callable[[str], Record]]


def _of_file(file: str, key: str) -> _Found:
    def stored(name: str) -> Record:
        return _find_in_file(Path(file), name)

    live = find_live(file, key) if key else None
    if live is None:
        try:
            return stored(key), None, stored
        except click.ClickException as error:
            live = find_live(file, key)
            if live is None:
                raise _missing(error, running(file)) from None
    return _read_live(live, key), live, stored


def _of_ladder(word: str, key: str) -> _Found:
    from ggp.referee.ladder.source import store_url
    from ggp.referee.ladder.store.model import StoreError
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ladder.toml_file import ConfigError  # slow to import, and only needed for ladders

    def stored(name: str) -> Record:
        from ggp.referee.ladder.queries import read_game

        try:
            with Store.open(url) as store:
                if not name:
                    keys = [row.key for _, row in zip(range(_SHOWN), store.games(None), strict=False)]
                    raise click.ClickException(f"{shown}: name a match: {_listed(keys, 'the last are ')}")
                return read_game(store, name)
        except StoreError as error:
            raise click.ClickException(str(error)) from None

    shown = without_password(word)
    try:
        url = store_url(word)
    except ConfigError as error:
        raise click.ClickException(str(error)) from None
    base = live_base(url)
    live = find_live(base, key) if key else None
    if live is not None and live.playing():
        return _read_live(live, key), live, stored
    try:
        return stored(key), None, stored
    except click.ClickException as error:
        if live is not None:  # it is over, but its worker delivers matches in pairs
            return _read_live(live, key), live, stored
        finished = interrupted(base).get(key)
        if finished is not None and finished.end is not None:  # its worker has begun the next match of the pair
            return finished, None, stored
        raise _missing(error, running(base)) from None


def _find_in_file(file: Path, key: str) -> Record:
    """Return the match with this key, or the first, finished or not.

    Raises:
        ClickException: There is none.
    """
    names = []
    for record in records_in(file, lambda piece: None, unfinished=True):
        if key in ("", record.start.match):
            return record
        names.append(record.start.match)
    if not names:
        raise click.ClickException(f"{file} has no match")
    more = f" … ({len(names)} matches)" if len(names) > 5 else ""
    raise click.ClickException(escape_unprintable(f"{file} has no match {key}, only {', '.join(names[:5])}{more}"))


def _all_of_ladder(word: str, damaged: Callable[[str], None]) -> Iterator[Record]:
    from ggp.referee.ladder.queries import read_one
    from ggp.referee.ladder.source import Trouble, open_ladder
    from ggp.referee.ladder.store.model import StoreError
    from ggp.referee.ladder.toml_file import ConfigError

    def tell(reason: str) -> None:
        damaged(f"{without_password(word)}: {reason}")

    try:
        with open_ladder(word) as store:
            for row, lines in store.records(None, damaged=tell):
                try:
                    record = read_one(lines, row.key)
                except Trouble as trouble:
                    tell(trouble.format_message())
                else:
                    yield record
    except (ConfigError, StoreError) as error:
        raise click.ClickException(str(error)) from None


def _read_live(live: LiveMatch, key: str) -> Record:
    record = live.read()
    if record is None:  # it was readable a moment ago
        raise click.ClickException(escape_unprintable(f"the side file of {key or 'the match'} can no longer be read"))
    return record


def _missing(error: click.ClickException, heads: list[LiveHead]) -> click.ClickException:
    """Add the running matches to the message that a match was not found."""
    playing = _listed([f"#{head.match} ({' - '.join(head.bots)}, ply {head.ply})" for head in heads], "now playing: ")
    return click.ClickException(escape_unprintable(f"{error.format_message()}{f'; {playing}' if heads else ''}"))


def _listed(words: Iterable[str], what: str) -> str:
    found = list(words)
    more = " …" if len(found) > _SHOWN else ""
    return f"{what}{', '.join(found[:_SHOWN])}{more}" if found else "there are none yet"


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long or invalid as a path
        return False
