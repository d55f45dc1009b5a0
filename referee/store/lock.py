"""The run lock: which process runs the ladder, and whether it still lives. Within the caller's transaction.

A process on this machine is looked up, by its number and by when it began; of one elsewhere only its heartbeat is
known. Process numbers mean something within one boot and one process namespace (a container has its own).
"""

import os
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, select

from referee.store.errors import Locked, Taken
from referee.store.schema import NAME, TEXT, run_lock
from referee.store.words import clean

SILENCE = 60  # seconds without a heartbeat after which a process elsewhere counts as dead
_ROW = 1
_START_TIME = 19  # of /proc/PID/stat, counted behind the name: field 22
_STATE = 0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that runs a ladder, or did."""

    host: str
    space: str
    pid: int
    started: int
    command: str = ""

    @classmethod
    def here(cls, command: str) -> "Holder":
        """This process."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
        pid = os.getpid()
        return cls(socket.gethostname()[:NAME], space, pid, start_of(pid) or 0, clean(command, TEXT))


def take(connection: Connection, me: Holder, name: str) -> None:
    """Raises Locked while another process lives that has it."""
    now = _clock(connection)
    row = connection.execute(run_lock.select()).one_or_none()
    if row is not None and not _is(row, me) and _lives(row, me, now):
        raise Locked(f"{name} is run by {_who(row)}: wait until it is done, or end it")
    connection.execute(run_lock.delete())
    values = {"host": me.host, "space": me.space, "pid": me.pid, "started": me.started, "command": me.command}
    connection.execute(run_lock.insert().values(id=_ROW, taken=now, beat=now, **values))


def beat(connection: Connection, me: Holder, name: str) -> None:
    """Say that this process lives. Raises Taken if another one has taken it for dead."""
    row = connection.execute(run_lock.select()).one_or_none()
    if row is None or not _is(row, me):
        other = f" and is run by {_who(row)} now" if row is not None else ""
        raise Taken(f"{name} was taken from this process, which was silent for {SILENCE} s{other}: start it again")
    connection.execute(run_lock.update().values(beat=_clock(connection)))


def release(connection: Connection, me: Holder) -> None:
    """Give it back, if it is ours."""
    row = connection.execute(run_lock.select()).one_or_none()
    if row is not None and _is(row, me):
        connection.execute(run_lock.delete())


def running(connection: Connection, me: Holder, others: bool = False) -> str:
    """Who runs the ladder now, "" for nobody; `others`: this process does not matter."""
    row = connection.execute(run_lock.select()).one_or_none()
    if row is None or (others and _is(row, me)) or not _lives(row, me, _clock(connection)):
        return ""
    return _who(row)


def start_of(pid: int) -> int | None:
    """When a process began, in ticks since boot; None if there is none, or only what is left of it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[_STATE] in "ZXx" else int(fields[_START_TIME])


def _is(row: Row[Any], me: Holder) -> bool:
    return bool((row.host, row.space, row.pid, row.started) == (me.host, me.space, me.pid, me.started))


def _lives(row: Row[Any], me: Holder, now: int) -> bool:
    if (row.host, row.space) == (me.host, me.space):
        return bool(start_of(row.pid) == row.started)
    return bool(abs(now - row.beat) <= SILENCE)  # a clock that was set back must not keep it for ever


def _who(row: Row[Any]) -> str:
    since = datetime.fromtimestamp(row.taken, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {row.pid} on {row.host} since {since} ({row.command})"


def _clock(connection: Connection) -> int:
    """Seconds since 1970, by one clock for all that use a server."""
    if connection.dialect.name == "sqlite":
        return int(time.time())
    return int(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
