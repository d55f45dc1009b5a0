"""Connections and transactions of a store, SQLite or PostgreSQL, the errors of both, and the version of the tables.

One transaction at a time writes, over all processes. Readers and the writer do not block each other.
"""

import contextlib
import errno
import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Insert,
    Row,
    Select,
    Update,
    create_engine,
    event,
    inspect,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.pool import QueuePool

from ggp.protocol.printed import without_password
from ggp.protocol.records import RecordError
from ggp.protocol.safe_files import resolve_file
from ggp.referee.ladder.store.model import Full, Locked, StoreError, StoreGone
from ggp.referee.ladder.store.rescue import copy_database, remove_side_files
from ggp.referee.ladder.store.schema import meta, metadata
from ggp.referee.records import unpack

PATIENCE = 5  # seconds to wait for another process that writes
WRITING = 0x6767705F  # of PostgreSQL's advisory locks, the one that every writer holds
_CHECKPOINT_MS = 200  # that a checkpoint waits for readers; the next one comes in a minute
_STEPS = 10_000  # of SQLite's virtual machine, about a millisecond, between looks at the time
_NO_ROOM_BESIDE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_FORMS = "sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"


class Database:
    """The connections to one store. Raises StoreError for an invalid url, and for one whose driver is missing.

    read_time: seconds after which a query of `reading` is ended; None: never.
    """

    def __init__(self, url: str, read_time: float | None = None) -> None:
        self.url = _read_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.path = Path(self.url.database or "") if self.sqlite else None
        self._identity: tuple[int, int] | None = None  # of the file that was opened to write: device and inode
        self._size = 0  # bytes that it had when it was last looked at
        self.name = str(self.path) if self.sqlite else without_password(self.url.render_as_string())
        try:
            self._writer = _sqlite_writer(self.url) if self.sqlite else _postgresql_writer(self.url)
            self._reader = (_sqlite_reader if self.sqlite else _postgresql_reader)(self.url, read_time)
        except ModuleNotFoundError:
            raise StoreError("PostgreSQL needs a driver: pip install 'psycopg[binary]'", code="no-driver") from None

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is durable on leaving; an exception within undoes it.

        Raises:
            StoreGone: The file was removed, replaced or truncated; nothing was written.
            StoreError: The database does not take it.
        """
        if self._identity is not None:
            self._look()  # before a connection is made, which would create the file again
        with self._told(), self._writer.connect() as connection:
            try:
                with connection.begin():
                    self._check_file(connection)
                    yield connection
                    self._check_file(connection)
            except DBAPIError:
                connection.invalidate()  # after a full disk its cache may differ from the file
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open one snapshot. Raises StoreError."""
        with self._told(), self._reader.connect() as connection, connection.begin():
            yield connection

    def checkpoint(self) -> None:
        """Bring the write-ahead log of SQLite into the database and empty it, unless readers keep it for long.

        What is in a log that is damaged is lost. It must be empty afterwards: of a damaged log SQLite takes the whole
        frames at its begin, which would be older than the database.

        Raises:
            StoreError: The database does not take it now.
        """
        if not self.sqlite or self._identity is None:
            return
        self._look()
        with self._told(), self._writer.connect() as connection:
            driver: Any = connection.connection.driver_connection
            try:
                driver.execute(f"PRAGMA busy_timeout={_CHECKPOINT_MS}").fetchall()
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise meaning(OperationalError("", None, error), self.name) from None
            finally:
                driver.execute(f"PRAGMA busy_timeout={PATIENCE * 1000}").fetchall()

    def rescue(self) -> Path:
        """Copy the database that is still open, although its file is gone, to a new file beside it.

        Raises:
            StoreError, OSError: It cannot be copied.
        """
        assert self.path is not None, "only a file can be gone"
        with self._told(), self._writer.connect() as connection:
            driver: Any = connection.connection.driver_connection
            try:
                path = copy_database(driver, self.path)
            except sqlite3.Error as error:
                raise StoreError(f"{self.name} cannot be copied: {error}", code="no-rescue") from None
            remove_side_files(self.path)
        return path

    def _check_file(self, connection: Connection) -> None:
        """Raise StoreGone if the file is no longer the one that was opened, or has lost its end."""
        if self.path is None:
            return
        size = self._look()
        if size < self._size:  # VACUUM of another process makes it smaller, too
            try:
                whole = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() == "ok"
            except DBAPIError:
                whole = False
            if not whole:
                raise StoreGone(f"{self.name} was truncated while it was in use")
        self._size = size

    def _look(self) -> int:
        """Return the size of the file. Raises StoreGone if it is another file than before, or none."""
        assert self.path is not None, "only a file has an identity"
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise StoreGone(f"{self.name} was removed while it was in use") from None
        except OSError:  # SQLite says what is wrong
            return self._size
        identity = found.st_dev, found.st_ino
        if self._identity not in (None, identity):
            raise StoreGone(f"{self.name} was replaced by another file while it was in use")
        self._identity = identity
        return found.st_size

    def close(self) -> None:
        """Close every connection. The last one to an SQLite file leaves no other file beside it."""
        self._reader.dispose()
        self._writer.dispose()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise meaning(error, self.name) from error
        except NoConnection as error:
            raise Locked(f"{self.name} is busy: another thread of this process holds it", code="store-busy") from error


def _read_url(text: str) -> URL:
    shown = without_password(text)
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise StoreError(f"store {shown!r} is not a URL: {_FORMS}", code="bad-url") from None
    if backend == "postgresql" and url.drivername in ("postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise StoreError(f"store {shown!r} needs another database: {_FORMS}", code="bad-url")
    if not url.database or url.database == ":memory:" or url.query:
        raise StoreError(f"store {shown!r} names no file: {_FORMS}", code="bad-url")
    return url.set(drivername="sqlite+pysqlite")


def _sqlite_writer(url: URL) -> Engine:
    """Return the engine that writes. SQLAlchemy begins its transactions: the driver would begin them too late."""
    path = Path(url.database or "")
    engine = create_engine(
        url, creator=lambda: _open_to_write(path), pool_size=1, max_overflow=0, pool_timeout=PATIENCE
    )

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None
        # First of all: to change to WAL may have to wait, too.
        for pragma in (f"busy_timeout={PATIENCE * 1000}", "journal_mode=WAL", "journal_size_limit=67108864"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        # A checkpoint of 8,000 pages, 32 MiB, writes a page once that eight of 1,000 write again and again.
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "cache_size=-32768", "wal_autocheckpoint=8000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _sqlite_reader(url: URL, read_time: float | None) -> Engine:
    path = Path(url.database or "").absolute()

    def connect() -> sqlite3.Connection:
        connection = _open_to_read(path)
        # Nothing is mapped: a file that was truncated would end this process by SIGBUS, without a word.
        for pragma in ("query_only=ON", "mmap_size=0", "cache_size=-32768"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    engine = create_engine("sqlite+pysqlite://", creator=connect, pool_size=4, max_overflow=16, poolclass=QueuePool)

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    if read_time is not None:

        @event.listens_for(engine, "before_cursor_execute")
        def executes(connection: Connection, *_: object) -> None:
            end = time.monotonic() + read_time
            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(lambda: time.monotonic() > end, _STEPS)

    return engine


def _open_to_write(path: Path) -> sqlite3.Connection:
    """Open an SQLite file to write. Raises StoreError for a link of another user; SQLite reports all other problems."""
    try:
        path = resolve_file(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise StoreError(f"{path} cannot be opened: {error.strerror}", code="cannot-open") from None
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    if connection.execute("PRAGMA database_list").fetchone()[2] != str(path.absolute()):  # SQLite follows links
        connection.close()
        raise StoreError(f"{path} became a link while it was opened: see who writes its folder", code="became-a-link")
    return connection


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open an SQLite file read-only, as immutable if shared memory cannot be created beside it."""
    for mode in ("mode=ro", "immutable=1"):
        connection = sqlite3.connect(
            f"{path.as_uri()}?{mode}", timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.OperationalError as error:
            connection.close()
            wal = path.with_name(f"{path.name}-wal")
            if mode != "mode=ro" or error.sqlite_errorcode & 0xFF not in _NO_ROOM_BESIDE or wal.exists():
                raise
        else:
            break
    return connection


def _postgresql_writer(url: URL) -> Engine:
    engine = create_engine(url, pool_size=1, max_overflow=0, pool_timeout=PATIENCE, connect_args=_patient())

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITING})")

    return engine


def _postgresql_reader(url: URL, read_time: float | None) -> Engine:
    engine = create_engine(url, pool_size=4, max_overflow=16, connect_args=_patient(read_time))
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _patient(query_time: float | None = None) -> dict[str, object]:
    options = f"-c lock_timeout={PATIENCE}s -c synchronous_commit=on"
    if query_time is not None:
        options += f" -c statement_timeout={int(query_time * 1000)}"
    return {"connect_timeout": PATIENCE * 2, "options": options}


# -- Errors of SQLite and PostgreSQL as errors of the store.


_LOCKED = Locked, "{0} is locked by another process: wait until it is done, or end it", ""
_NO_ROOM = Full, "{0} cannot grow: free space on its disk", ""
_SLOW = Locked, "{0} took too long to answer a query, which was ended: try again", "store-slow"
_DAMAGED = StoreError, "{0} is damaged ({1}): restore a copy of it", "store-damaged"
_FORBIDDEN = StoreError, "{0} cannot be opened: check its permissions", "cannot-open"
_SQLITE: dict[int, tuple[type[StoreError], str, str]] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_INTERRUPT: _SLOW,
    sqlite3.SQLITE_FULL: _NO_ROOM,
    sqlite3.SQLITE_IOERR: (Full, "{0} cannot be read or written ({1}): free space, or repair the disk", ""),
    sqlite3.SQLITE_NOTADB: (StoreError, "{0} is not an SQLite database: name another file", "not-a-store"),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_READONLY: (
        StoreError,
        "{0} is not writable ({1}): check its permissions, or name another file",
        "cannot-write",
    ),
    sqlite3.SQLITE_CANTOPEN: (StoreError, "{0} cannot be opened: check its folder and permissions", "cannot-open"),
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_AUTH: _FORBIDDEN,
}
_POSTGRESQL: dict[str, tuple[type[StoreError], str, str]] = {
    "55P03": _LOCKED,
    "57014": _SLOW,
    "40P01": _LOCKED,
    "53100": _NO_ROOM,
    "53200": (Full, "{0} has no memory left: free some", ""),
    "42501": (StoreError, "this user may not use {0} ({1}): grant access", "not-permitted"),
    "25006": (StoreError, "{0} is read-only ({1}): name another server", "cannot-write"),
}
_LACKS = ("no such table", "no such column")  # of SQLite: another program changed the tables


def meaning(error: DBAPIError, name: str) -> Exception:
    """Return the StoreError for what a driver raised; an error of this program is returned unchanged."""
    told = " ".join(str(error.orig).split())
    if isinstance(error.orig, sqlite3.Error):
        row = _SQLITE.get(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF)
    else:
        row = _POSTGRESQL.get(getattr(error.orig, "sqlstate", None) or "")
        if row is None and (isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated):
            row = StoreError, "{0} cannot be reached ({1}): start the server or correct the url", "unreachable"
    if row is None and told.startswith(_LACKS):
        row = _DAMAGED
    if row is None:
        return error
    kind, text, code = row
    return kind(text.format(name, told), code=code)


# -- Long lists of values, and texts that both databases can store.


_PART = 500  # values in an IN list
T = TypeVar("T")


def in_parts(
    connection: Connection, query: Select[Any], where: ColumnElement[Any], values: Collection[object]
) -> Iterator[Row[Any]]:
    """Yield the rows of a query for which `where` is among the values, however many values there are."""
    for part in parts(values):
        yield from connection.execute(query.where(where.in_(part)))


def parts(values: Iterable[T]) -> Iterator[list[T]]:
    """Split values into lists that are short enough for an IN list."""
    listed = list(values)
    return (listed[start : start + _PART] for start in range(0, len(listed), _PART))


def execute_many(connection: Connection, statement: Insert | Update, rows: Sequence[Mapping[str, Any]]) -> None:
    """Execute a statement for each row, in a third of the time that `connection.execute` takes.

    Args:
        connection: An open transaction.
        statement: Give the same object each time: its text is cached by it.
        rows: At least one. All have the same names, which are those of the parameters of the statement. They go to the
            driver as they are, without defaults and conversions.
    """
    plain = isinstance(statement, Insert) and statement.select is None
    text, names, constants = _compiled(statement, tuple(rows[0]) if plain else None, connection.dialect)
    if constants:
        rows = [{**constants, **row} for row in rows]
    connection.exec_driver_sql(text, [tuple(row[name] for name in names) for row in rows] if names else list(rows))


@lru_cache(64)
def _compiled(
    statement: Insert | Update, columns: tuple[str, ...] | None, dialect: Dialect
) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Return the text, the names of its parameters in order (none if the driver takes them by name), and constants."""
    how = {"render_postcompile": True}
    compiled = statement.compile(dialect=dialect, column_keys=columns and list(columns), compile_kwargs=how)
    names = tuple(compiled.positiontup or ()) if compiled.positional else ()
    return str(compiled), names, {name: value for name, value in compiled.params.items() if value is not None}


def truncate(text: str, longest: int) -> str:
    """Return the first characters of the text as a database can store them: Unicode without NUL."""
    kept = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    return kept.replace("\0", "\N{REPLACEMENT CHARACTER}")[:longest]


def read_options(text: str, pool: str) -> dict[str, Any]:
    """Parse the options of a pool's game. Raises StoreError if they are not a JSON object."""
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        options = None
    if not isinstance(options, dict):
        raise StoreError(
            f"the store is damaged (the options of pool {pool} are not a JSON object): restore a copy of it",
            code="store-damaged",
        )
    return options


def unpacked(data: bytes, key: str) -> bytes:
    """Unpack the record of a match to JSON lines. Raises StoreError for a damaged one."""
    try:
        return unpack(data)
    except RecordError as error:
        raise StoreError(
            f"the record of {key} is damaged ({error}): see ggp ladder check", code="store-damaged"
        ) from None


# -- The version of the tables.


SCHEMA = 6  # the version of schema.py


def create_tables(connection: Connection) -> None:
    """Create the tables of schema.py in an empty database."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(meta.insert().values(key="schema", value=str(SCHEMA)))


def has_tables(connection: Connection) -> bool:
    """Return True if the database is a store, and False if it is empty.

    Raises:
        StoreError: It is a store of another version, or holds the tables of another program.
    """
    names = set(inspect(connection).get_table_names())
    if meta.name not in names:
        if names if connection.dialect.name == "sqlite" else names & metadata.tables.keys():
            raise StoreError("the database holds tables of another program: name another one", code="not-a-store")
        return False
    version = int(connection.execute(meta.select().where(meta.c.key == "schema")).one().value)
    if version > SCHEMA:
        raise StoreError(
            f"the store has schema {version} and this program needs {SCHEMA}: update the program", code="store-too-new"
        )
    if version < SCHEMA:
        raise StoreError(
            f"the store has schema {version} and this program needs {SCHEMA}: start a new store", code="store-too-old"
        )
    return True
