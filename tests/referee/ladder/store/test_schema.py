"""A new store has the tables of schema.py on both databases; steps change the tables of an older version."""

from typing import Any

import pytest
from sqlalchemy import Connection, inspect, text

from ggp.referee.ladder.store import database as migrations
from ggp.referee.ladder.store.database import NEWEST, OLDEST, STEPS, Database, migrate, version_of
from ggp.referee.ladder.store.model import Locked, StoreError, TooNew
from ggp.referee.ladder.store.schema import endings, meta, metadata
from ggp.referee.ladder.store.store import Store
from tests.support.codes import raises
from tests.support.stores import ladder, match, pairings


def _next(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE events ADD COLUMN more INTEGER"))


def _breaks(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE events ADD COLUMN half INTEGER"))
    connection.execute(text("SELECT * FROM no_such_table"))


def test_a_new_store_has_the_declared_tables_and_indexes(url: str) -> None:
    Store.open(url, create=True).close()
    database = Database(url)
    with database.reading() as connection:
        assert version_of(connection) == NEWEST
        found = {name: _columns(connection, name) for name in inspect(connection).get_table_names()}
        assert found == _declared(connection)
        assert _indexes(connection) == {
            index.name: [column.name for column in index.columns]
            for table in metadata.sorted_tables
            for index in table.indexes
        }
    database.close()


def test_a_store_of_an_older_version_is_refused(url: str) -> None:
    Store.open(url, create=True).close()
    database = Database(url)
    with database.writing() as connection:
        connection.execute(meta.update().values(value=str(OLDEST - 1)))
    database.close()
    for create in (False, True):
        with raises(StoreError, "store-too-old"):
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


def test_a_later_program_migrates_an_earlier_store(url: str) -> None:
    with Store.open(url, create=True) as store:
        store.enrol(ladder())
    database = Database(url)
    with database.writing() as connection:
        migrate(connection, (*STEPS, _next))
        assert version_of(connection, NEWEST + 1) == NEWEST + 1
        assert "more" in _columns(connection, "events")
    database.close()
    with raises(TooNew, "store-too-new"):
        Store.open(url)


def test_an_earlier_store_gets_its_endings_by_result(url: str) -> None:
    with Store.open(url, create=True) as store:
        (pool,) = store.enrol(ladder(["ann", "bob"])).values()
        (pair, *_) = store.issue(pool, 0, pairings(store, pool, 2))
        store.add([match(pair, 0, 0), match(pair, 1, 1, "resignation")])
        totals = store.totals(pool)
    database = Database(url)
    with database.writing() as connection:
        endings.drop(connection)
        keys = "pool BIGINT, termination VARCHAR(40), culprit BIGINT"
        connection.execute(text(f"CREATE TABLE endings ({keys}, games BIGINT, void BIGINT)"))
        _without_fronts(connection)
        connection.execute(meta.update().values(value="2"))
    database.close()
    with Store.open(url) as store:
        assert store.totals(pool) == totals and totals.games == 2 and store.check().lines == []


def test_an_earlier_store_gets_the_tables_of_fronts(url: str) -> None:
    with Store.open(url, create=True) as store:
        (pool,) = store.enrol(ladder(["ann", "bob"])).values()
        (pair, *_) = store.issue(pool, 0, pairings(store, pool, 2))
    database = Database(url)
    with database.writing() as connection:
        _without_fronts(connection)
        connection.execute(meta.update().values(value="3"))
    database.close()
    with Store.open(url) as store, store.database.reading() as connection:
        found = {name: _columns(connection, name) for name in inspect(connection).get_table_names()}
        assert found == _declared(connection)
        store.join_front("a", "serve")
        assert store.claim("a", [pair.id]) == {pair.id} and store.check().lines == []


def _without_fronts(connection: Connection) -> None:
    """The tables of version 3."""
    for name in ("fronts", "present"):
        connection.execute(text(f"DROP TABLE {name}"))
    connection.execute(text("ALTER TABLE pairs DROP COLUMN front"))


def test_a_failed_step_changes_nothing(url: str) -> None:
    with Store.open(url, create=True) as store:
        store.enrol(ladder())
    database = Database(url)
    with pytest.raises(Exception, match="no_such_table"), database.writing() as connection:
        migrate(connection, (*STEPS, _next, _breaks))
    with database.writing() as connection:
        assert not {"more", "half"} & _columns(connection, "events").keys()
    database.close()
    with Store.open(url) as store:
        assert len(store.pools()) == 1


def test_no_tables_are_changed_under_a_running_ladder(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(url, create=True) as store:
        store.take_lock("run")
        monkeypatch.setattr("ggp.referee.ladder.store.store.NEWEST", NEWEST + 1)
        monkeypatch.setattr(migrations, "NEWEST", NEWEST + 1)
        monkeypatch.setattr(migrations, "STEPS", (*STEPS, _next))
        with raises(Locked, "store-locked"):
            Store.open(url)
        store.release_lock()
    Store.open(url).close()
    database = Database(url)
    with database.writing() as connection:
        assert "more" in _columns(connection, "events")
    database.close()


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
        assert connection.execute(meta.select()).all() == [("schema", str(NEWEST))]
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
