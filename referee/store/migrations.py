"""How a database comes to have the tables of schema.py: numbered steps, each made once. It opens no connection."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, inspect, text
from sqlalchemy.schema import SetColumnComment, SetTableComment

from referee.store.errors import StoreError, TooNew
from referee.store.first_schema import SQL
from referee.store.schema import meta, metadata

_CHALLENGES = """\
CREATE TABLE challenges (
    id {int} NOT NULL,
    pool {int} NOT NULL,
    batch {int} NOT NULL,
    owner VARCHAR(100) NOT NULL,
    asked VARCHAR(40) NOT NULL,
    until VARCHAR(40) NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT challenges_pool_batch UNIQUE (pool, batch),
    FOREIGN KEY(pool) REFERENCES pools (id)
)"""
Step = Callable[[Connection], None]
_WORDS = {
    "sqlite": {"id": "INTEGER NOT NULL", "int": "INTEGER", "real": "DOUBLE", "blob": "BLOB"},
    "postgresql": {"id": "BIGSERIAL NOT NULL", "int": "BIGINT", "real": "DOUBLE PRECISION", "blob": "BYTEA"},
}


def migrate(connection: Connection, steps: Sequence[Step] | None = None) -> None:
    """Make the steps that this database lacks, within the caller's transaction. Raises TooNew."""
    steps = STEPS if steps is None else steps
    at = version_of(connection, len(steps))
    for number, step in enumerate(steps[at:], at + 1):
        step(connection)
        connection.execute(meta.delete().where(meta.c.key == "schema"))
        connection.execute(meta.insert().values(key="schema", value=str(number)))
    if at < len(steps) and connection.dialect.supports_comments:
        _comment(connection)


def version_of(connection: Connection, newest: int | None = None) -> int:
    """How many steps were made. Raises TooNew for more than `newest`, which are those that there are."""
    newest = NEWEST if newest is None else newest
    there = set(inspect(connection).get_table_names())
    if meta.name not in there:
        if there if connection.dialect.name == "sqlite" else there & metadata.tables.keys():
            raise StoreError("the database holds tables of another program: name another one")
        return 0
    value = connection.execute(meta.select().where(meta.c.key == "schema")).one().value
    if int(value) > newest:
        raise TooNew(f"the store has schema {value} and this program knows up to {newest}: update the program")
    return int(value)


def _first(connection: Connection) -> None:
    for statement in SQL.split(";\n"):
        if statement:
            connection.execute(text(statement.format(**_WORDS[connection.dialect.name])))


def _challenges(connection: Connection) -> None:
    """Games that count for nothing, and who asked for them."""
    words = _WORDS[connection.dialect.name]
    connection.execute(text("ALTER TABLE pools ADD COLUMN rated BOOLEAN NOT NULL DEFAULT TRUE"))
    connection.execute(text(_CHALLENGES.format(**words)))


def _comment(connection: Connection) -> None:
    """What schema.py says of tables and columns, where the database can keep it."""
    there = inspect(connection)
    for table in metadata.sorted_tables:
        if there.has_table(table.name):
            connection.execute(SetTableComment(table))
            have = {column["name"] for column in there.get_columns(table.name)}
            for column in (one for one in table.columns if one.name in have):
                connection.execute(SetColumnComment(column))


STEPS: tuple[Step, ...] = (_first, _challenges)
NEWEST = len(STEPS)
