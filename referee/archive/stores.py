"""A ladder's store as a source of records: which words mean one, and the records in it, newest first."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from protocol.records import Record, RecordError, read_records

_SQLITE = b"SQLite format 3\0"
_URL = re.compile(r"[a-z0-9+]+://.*", re.DOTALL)


def is_store(word: str) -> bool:
    """A ladder's TOML file, a file of SQLite, or a URL."""
    path = Path(word)
    if not path.is_file():
        return bool(_URL.fullmatch(word))
    with path.open("rb") as file:
        return path.suffix == ".toml" or file.read(len(_SQLITE)) == _SQLITE


def records_of_store(word: str) -> Iterator[Record]:
    """Every match, void ones too. ClickException for a store that cannot be read, a record that was changed."""
    from referee.ladder.toml_section import ConfigError
    from referee.ladder.views.source import open_ladder
    from referee.store.errors import StoreError

    try:
        with open_ladder(word) as store:
            for row, lines in store.records(None):
                try:
                    yield from read_records(lines.splitlines(keepends=True))
                except RecordError as error:
                    raise click.ClickException(f"{word}: the record of {row.key} is not whole: {error}") from None
    except (ConfigError, StoreError) as error:
        raise click.ClickException(str(error)) from None
