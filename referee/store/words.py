"""Statements that both databases understand only in their own words, and texts that both can keep."""

import json
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Insert, Row, Select, Table
from sqlalchemy.dialects import postgresql, sqlite

from referee.store.errors import StoreError

_PART = 500  # values in an IN list


def in_parts(
    connection: Connection, query: Select[Any], where: ColumnElement[Any], values: Collection[object]
) -> Iterator[Row[Any]]:
    """The rows of the query whose `where` is among the values, however many these are."""
    listed = list(values)
    for start in range(0, len(listed), _PART):
        yield from connection.execute(query.where(where.in_(listed[start : start + _PART])))


def add_up(connection: Connection, table: Table, rows: Sequence[dict[str, object]]) -> None:
    """Add the numbers of these rows, which have every column, to those with the same primary key."""
    if rows:
        connection.execute(_adding(table, connection.dialect.name), rows)


@cache
def _adding(table: Table, dialect: str) -> Insert:
    keys = [column.name for column in table.primary_key]
    insert = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    more = {column.name: column + insert.excluded[column.name] for column in table.columns if column.name not in keys}
    return insert.on_conflict_do_update(index_elements=keys, set_=more)


def clean(text: str, longest: int) -> str:
    """A text that a database can keep: no NUL, nothing that is not Unicode, not longer than this."""
    kept = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    return kept.replace("\0", "\N{REPLACEMENT CHARACTER}")[:longest]


def read_options(text: str, pool: str) -> dict[str, Any]:
    """Of a pool's game, from their JSON. StoreError if somebody made them something else."""
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise StoreError(f"the store is damaged (the options of pool {pool} are no JSON object): restore a copy of it")
    return options
