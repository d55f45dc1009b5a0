"""Errors of SQLite and PostgreSQL as errors of the store: what happened, and the remedy. It does nothing else."""

import sqlite3

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from referee.store.errors import Full, Locked, StoreError

_SQLITE: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (Locked, "{0} is locked by another process: wait until it is done, or end it"),
    sqlite3.SQLITE_LOCKED: (Locked, "{0} is locked by another process: wait until it is done, or end it"),
    sqlite3.SQLITE_FULL: (Full, "{0} cannot grow, the disk is full: make room and go on, nothing is lost"),
    sqlite3.SQLITE_IOERR: (Full, "{0} cannot be written or read ({1}): make room or mend the disk, nothing is lost"),
    sqlite3.SQLITE_NOTADB: (StoreError, "{0} is no SQLite database: name another file"),
    sqlite3.SQLITE_CORRUPT: (StoreError, "{0} is damaged ({1}): restore a copy of it"),
    sqlite3.SQLITE_READONLY: (StoreError, "{0} may not be written ({1}): see to its permissions, or name another file"),
    sqlite3.SQLITE_CANTOPEN: (StoreError, "{0} cannot be opened: see to its folder and its permissions"),
    sqlite3.SQLITE_PERM: (StoreError, "{0} may not be opened: see to its permissions"),
    sqlite3.SQLITE_AUTH: (StoreError, "{0} may not be opened: see to its permissions"),
}
_POSTGRESQL: dict[str, tuple[type[StoreError], str]] = {
    "55P03": (Locked, "{0} is locked by another process: wait until it is done, or end it"),
    "57014": (Locked, "{0} is locked by another process: wait until it is done, or end it"),
    "40P01": (Locked, "{0} is locked by another process: wait until it is done, or end it"),
    "53100": (Full, "{0} cannot grow, its disk is full: make room and go on, nothing is lost"),
    "53200": (Full, "{0} has no memory left: free some and go on, nothing is lost"),
    "42501": (StoreError, "{0} may not be used by this user ({1}): grant it"),
    "25006": (StoreError, "{0} may not be written ({1}): name another server"),
}
_LACKS = ("no such table", "no such column")  # of SQLite: somebody changed the tables


def meaning(error: DBAPIError, name: str) -> Exception:
    """The StoreError for what a driver raised; anything that is a slip of ours stays as it is."""
    told = " ".join(str(error.orig).split())
    if isinstance(error.orig, sqlite3.Error):
        row = _SQLITE.get(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF)
    else:
        row = _POSTGRESQL.get(getattr(error.orig, "sqlstate", None) or "")
        if row is None and (isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated):
            row = StoreError, "{0} cannot be reached ({1}): start the server or mend the url"
    if row is None and told.startswith(_LACKS):
        row = StoreError, "{0} is damaged ({1}): restore a copy of it"
    if row is None:
        return error
    kind, text = row
    return kind(text.format(name, told))
