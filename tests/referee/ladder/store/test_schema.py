"""A new store has the tables of schema.py on both databases; one of another version is refused."""

from typing import Any

import pytest
from sqlalchemy import Connection, inspect, text

from ggp.referee.ladder.store.database import SCHEMA, Database, has_tables
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.schema import meta, metadata
from ggp.referee.ladder.store.store import Store
from tests.support.codes import raises


def test_a_new_store_has_the_declared_tables_and_indexes(url: str) -> None:
    Store.open(url, create=True).close()
    database = Database(url)
    with database.reading() as connection:
        assert has_tables(connection)
        found = {name: _columns(connection, name) for name in inspect(connection).get_table_names()}
        assert found == _declared(connection)
        assert _indexes(connection) == {
            index.name: [column.name for column in index.columns]
            for table in metadata.sorted_tables
            for index in table.indexes
        } | {"pairs_open": ["pool", "number"], "lines_repeated": ["pool"]}
    database.close()


@pytest.mark.parametrize(("by", "code"), [(-1, "store-too-old"), (1, "store-too-new")])
def test_a_store_of_another_version_is_refused(url: str, by: int, code: str) -> None:
    Store.open(url, create=True).close()
    database = Database(url)
    with database.writing() as connection:
        connection.execute(meta.update().values(value=str(SCHEMA + by)))
    database.close()
    for create in (False, True):
        with raises(StoreError, code):
            Store.open(url, create=create)


def test_postgresql_has_the_comments_of_the_tables(url: str) -> None:
    Store.open(url, create=True).close()
    database = Database(url)
    with database.writing() as connection:
        if connection.dialect.supports_comments:
            for table in metadata.sorted_tables:
                assert inspect(connection).get_table_comment(table.name)["text"] == table.comment
                there = {column["name"]: column["comment"] for column in inspect(connection).get_columns(table.name)}
                assert there == {column.name: column.comment for column in table.columns}
    database.close()


def test_every_table_and_column_has_a_comment() -> None:
    silent = [str(part) for table in metadata.sorted_tables for part in (table, *table.columns) if not part.comment]
    assert silent == []


def test_an_empty_database_is_not_a_store(url: str) -> None:
    database = Database(url)
    with database.writing() as connection:
        connection.execute(text("SELECT 1"))
    database.close()
    with raises(StoreError, "store-missing"):
        Store.open(url)


def test_the_version_is_kept_in_the_store(url: str) -> None:
    Store.open(url, create=True).close()
    database = Database(url)
    with database.reading() as connection:
        assert connection.execute(meta.select()).all() == [("schema", str(SCHEMA))]
    database.close()


def _columns(connection: Connection, table: str) -> dict[str, Any]:
    """Of a table as it is: name -> type, whether it may be empty, whether it is of the key."""
    keys = inspect(connection).get_pk_constraint(table)["constrained_columns"]
    return {
        column["name"]: (str(column["type"]), column["nullable"], column["name"] in keys)
        for column in inspect(connection).get_columns(table)
    }


def _declared(connection: Connection) -> dict[str, Any]:
    return {
        table.name: {
            column.name: (_type(column, connection), bool(column.nullable), column.primary_key)
            for column in table.columns
        }
        for table in metadata.sorted_tables
    }


def _type(column: Any, connection: Connection) -> str:
    said: str = column.type.compile(connection.dialect)
    return said


def _indexes(connection: Connection) -> dict[Any, list[Any]]:
    there = inspect(connection)
    return {
        index["name"]: index["column_names"]
        for table in metadata.sorted_tables
        for index in there.get_indexes(table.name)
        if not index["unique"]
    }
