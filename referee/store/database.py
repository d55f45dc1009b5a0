"""Connections and transactions of a store, SQLite or PostgreSQL, and what their errors mean. It knows no table.

Writing is one transaction at a time, over all processes. Reading waits for nobody and nobody waits for it.
"""

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.pool import QueuePool

from protocol.printed import without_password
from protocol.safe_files import resolve_file
from referee.store.errors import Locked, StoreError
from referee.store.meaning import meaning

PATIENCE = 5  # seconds to wait for another process that writes
WRITING = 0x6767705F  # of PostgreSQL's advisory locks, the one that every writer holds
_NO_ROOM_BESIDE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_FORMS = "sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"


class Database:
    """Where a store is. Raises StoreError for a url that cannot be one, or whose driver is missing."""

    def __init__(self, url: str) -> None:
        self.url = _read_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.path = Path(self.url.database or "") if self.sqlite else None
        self.name = str(self.path) if self.sqlite else without_password(self.url.render_as_string())
        try:
            self._writer = _sqlite_writer(self.url) if self.sqlite else _postgresql_writer(self.url)
            self._reader = _sqlite_reader(self.url) if self.sqlite else _postgresql_reader(self.url)
        except ModuleNotFoundError:
            raise StoreError("PostgreSQL needs a driver: pip install '.[postgresql]' in the project's folder") from None

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, durable on leaving; whatever is raised within undoes it. Raises StoreError."""
        with self._told(), self._writer.connect() as connection:
            try:
                with connection.begin():
                    yield connection
            except DBAPIError:
                connection.invalidate()  # after a disk that was full, what it remembers may not be what is stored
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot. Raises StoreError."""
        with self._told(), self._reader.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """End every connection; the last one to an SQLite file leaves the file alone in its folder."""
        self._reader.dispose()
        self._writer.dispose()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise meaning(error, self.name) from error
        except NoConnection as error:
            raise Locked(f"{self.name} is busy: another thread of this process holds it") from error


def _read_url(text: str) -> URL:
    shown = without_password(text)
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise StoreError(f"store {shown!r} is no url: {_FORMS}") from None
    if backend == "postgresql" and url.drivername in ("postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise StoreError(f"store {shown!r} is of another database: {_FORMS}")
    if not url.database or url.database == ":memory:" or url.query:
        raise StoreError(f"store {shown!r} names no file: {_FORMS}")
    return url.set(drivername="sqlite+pysqlite")


def _sqlite_writer(url: URL) -> Engine:
    """SQLAlchemy would have the driver begin its transactions; it begins them too late to be IMMEDIATE."""
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
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "cache_size=-32768"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _sqlite_reader(url: URL) -> Engine:
    path = Path(url.database or "").absolute()

    def connect() -> sqlite3.Connection:
        connection = _open_to_read(path)
        for pragma in ("query_only=ON", "mmap_size=268435456", "cache_size=-32768"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    engine = create_engine("sqlite+pysqlite://", creator=connect, pool_size=4, max_overflow=16, poolclass=QueuePool)

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _open_to_write(path: Path) -> sqlite3.Connection:
    """Raises StoreError where another user's link leads elsewhere; for all else SQLite says what is wrong."""
    try:
        path = resolve_file(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise StoreError(f"{path} cannot be opened: {error.strerror}") from None
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    if connection.execute("PRAGMA database_list").fetchone()[2] != str(path.absolute()):  # SQLite follows links
        connection.close()
        raise StoreError(f"{path} became a link while it was opened: see who writes its folder")
    return connection


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Read-only. SQLite wants shared memory beside the file; where it may not, and nobody writes, it does without."""
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


def _postgresql_reader(url: URL) -> Engine:
    engine = create_engine(url, pool_size=4, max_overflow=16, connect_args=_patient())
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _patient() -> dict[str, object]:
    return {"connect_timeout": PATIENCE * 2, "options": f"-c lock_timeout={PATIENCE}s -c synchronous_commit=on"}
