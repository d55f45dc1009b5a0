"""Reads files of records for the commands that go through them: every match, one by its place, an engine for it."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click

from protocol.drawing.scene import clean
from protocol.records import Record, RecordError, read_records
from referee.config import Budgets
from referee.play.engine import Engine
from referee.play.launch import LaunchError
from referee.play.outcome import EngineFailed
from referee.play.recorder import lines_of
from referee.play.seating import Extras, Start, start_engine

_PLACE = re.compile(r"(?P<file>.+?)(?:#(?P<key>[^@#]+))?(?:@(?P<ply>-?\d{1,9}))?", re.DOTALL)


class Place(NamedTuple):
    """A position of a record: the file, the match ("" is the first), after how many plies (None: all of them)."""

    file: Path
    key: str = ""
    ply: int | None = None


def read_place(text: str) -> Place:
    """`FILE[#MATCH][@PLY]`, as in `games.jsonl#a1b2c3d4-7@17`; -1 is the last ply, -2 the one before."""
    file, key, ply = split_place(text)
    return Place(Path(file), key, ply)


def split_place(text: str) -> tuple[str, str, int | None]:
    """The same, where the file may be something else, such as the URL of a store. UsageError."""
    if _exists(text):  # whose name may hold anything
        return text, "", None
    found = _PLACE.fullmatch(text)
    if found is None:
        raise click.UsageError("a place is FILE, FILE@PLY or FILE#MATCH@PLY")
    return found["file"], found["key"] or "", None if found["ply"] is None else int(found["ply"])


def find_record(file: Path, key: str | None) -> Record:
    """The match of that name, or the first; unfinished ones, too."""
    names = []
    for record in records_in(file, lambda piece: None, unfinished=True):
        if key in (None, "", record.start.match):
            return record
        names.append(record.start.match)
    if not names:
        raise click.ClickException(f"{file} holds no match")
    more = f" … ({len(names)} matches)" if len(names) > 5 else ""
    raise click.ClickException(clean(f"{file} holds no match {key}; it holds {', '.join(names[:5])}{more}"))


def count_plies(record: Record, ply: int | None) -> int:
    """How many plies to play; None is all of them, negative ones count from the end."""
    last = len(record.plies)
    number = last if ply is None else ply if ply >= 0 else last + 1 + ply
    if not 0 <= number <= last:
        raise click.ClickException(f"ply {ply}: the match {clean(record.start.match)} has the plies 0 to {last}")
    return number


def records_of(word: str, key: str | None, skipped: Callable[[str], None]) -> Iterator[Record]:
    """The finished matches that a word of the command line means: all of FILE or of `-`, or the one of FILE#MATCH.

    `key` names a match, too. Of FILE#MATCH@PLY (or FILE@PLY) the plies up to that one come, without an end, and of
    a match that was not finished its plies. Raises ClickException if there is none.
    """
    place = read_place(word)
    name = key or place.key
    if place.ply is not None:
        record = find_record(place.file, name)
        yield Record(record.start, record.plies[: count_plies(record, place.ply)], None)
        return
    found = False
    for record in records_in(place.file, skipped, unfinished=bool(name)):
        if not name or record.start.match == name:
            found = True
            yield record
    if not found:
        raise click.ClickException(clean(f"{word} holds no match" + (f" {name}" if name else "")))


def records_in(file: Path, skipped: Callable[[str], None], unfinished: bool = False) -> Iterator[Record]:
    """Every finished match of the file, read a line at a time; `skipped` is told of each that was cut off.

    With `unfinished` those come, too. The file `-` is standard input.
    """
    half: list[str] = []
    try:
        with _open(file) as lines:
            for record in read_records(lines_of(lines), half.append):
                if record.end is not None or unfinished:
                    yield record
                else:
                    skipped("; ".join([f"{clean(record.start.match)}: {len(record.plies)} plies and no end", *half]))
                    half.clear()
            for piece in half:
                skipped(piece)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None
    except RecordError as error:
        raise click.ClickException(f"{file} is not a whole record: {clean(str(error))}") from None


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise click.ClickException(f"cannot read {file}: it is no regular file")
    return file.open("rb")


async def started(start: Start, budgets: Budgets | None = None) -> Engine:
    """The engine, ready to be asked; a ClickException if it does not start."""
    try:
        return await start_engine(start, budgets or Budgets(), Extras())
    except (EngineFailed, LaunchError) as error:
        raise click.ClickException(f"{start.command}: {error}") from None


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # a name too long for a path, or none
        return False
