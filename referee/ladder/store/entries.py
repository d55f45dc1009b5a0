"""Which bots are entered in which pool, which are suspended, and the run lock. The caller opens the transaction."""

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, func, or_, select

from ggp.referee.ladder.store.database import truncate
from ggp.referee.ladder.store.model import Entrant, InUse, Ladder, Pool, PoolEntry, StoreError, Taken
from ggp.referee.ladder.store.schema import (
    ISSUED,
    NAME,
    TEXT,
    WITHDRAWN,
    entered,
    events,
    fronts,
    pairs,
    pools,
    run_lock,
    versions,
)


def enrol(connection: Connection, ladder: Ladder, more: bool = False) -> dict[str, int]:
    """Enter the pools and bots of a ladder, and return the ids of its pools by name.

    All other bots and pools stay in the store, inactive. With `more` they stay as they are.
    """
    for name in [ladder.name, *(pool.name for pool in ladder.pools), *(bot.name for bot in ladder.bots)]:
        _check_name(name)
    ids = {pool.name: _enrol_pool(connection, pool) for pool in ladder.pools}
    ours = _enrol_versions(connection, ladder)
    names = {bot.name for bot in ladder.bots} if more else None
    for pool in ladder.pools:
        entrants = {ours[bot.name]: bot for bot in ladder.bots if pool.name in bot.pools}
        _enter(connection, ids[pool.name], pool.name if pool.rated else "", entrants, names)
    if not more:
        columns = select(pools.c.id, pools.c.name, pools.c.rated)
        for row in connection.execute(columns.where(pools.c.id.not_in(ids.values()))).all():
            _enter(connection, row.id, row.name if row.rated else "", {})
    return ids


def seats(connection: Connection, pool: int) -> list[PoolEntry]:
    """Return every version that is or was entered in a pool, by id."""
    query = (
        select(versions, entered.c.active, entered.c.anchor, entered.c.suspended, entered.c.suspended_in)
        .join(entered, entered.c.version == versions.c.id)
        .where(entered.c.pool == pool)
        .order_by(versions.c.id)
    )
    return [
        PoolEntry(
            id=row.id,
            label=row.label,
            name=row.name,
            version=row.version,
            active=row.active and not row.suspended,
            parent=row.parent,
            anchor=row.anchor,
            suspended=row.suspended,
            since=row.suspended_in,
            entered=row.active,
        )
        for row in connection.execute(query)
    ]


def suspend(connection: Connection, version: int, reason: str, pool: int | None = None, batch: int = -1) -> None:
    """Suspend a version in one pool, or in all. It keeps the reason of the lowest batch, whichever is stored first."""
    reason = truncate(reason, TEXT) or "no reason was given"
    query = entered.update().where(entered.c.version == version)
    if pool is not None:
        query = query.where(entered.c.pool == pool)
    values = query.values(suspended=reason, suspended_in=batch)
    new = connection.execute(values.where(entered.c.suspended == "")).rowcount
    connection.execute(values.where(entered.c.suspended_in > batch))
    if new:
        place = "" if pool is None else _among_others(connection, version, pool)
        note(connection, "suspended", f"{_label(connection, version)}{place}: {reason}")


def readmit(connection: Connection, name: str) -> bool:
    """Readmit all versions of a name, or the one of a label. Returns whether one of them was suspended."""
    query = entered.update().where(entered.c.version.in_(_called(connection, name)), entered.c.suspended != "")
    if not connection.execute(query.values(suspended="", suspended_in=-1)).rowcount:
        return False
    note(connection, "readmitted", name)
    return True


def readmitted(connection: Connection, version: int) -> str:
    """Return when a version was last readmitted, in the form of `now`; "" for never."""
    name, number = connection.execute(select(versions.c.name, versions.c.version).where(versions.c.id == version)).one()
    said = select(events.c.at).where(events.c.kind == "readmitted", events.c.text.in_((name, f"{name}@{number}")))
    at: str | None = connection.execute(said.order_by(events.c.id.desc()).limit(1)).scalar_one_or_none()
    return at or ""


def called(connection: Connection, name: str) -> list[int]:
    """Return the versions of a name: `NAME` means all of them, `NAME@VERSION` one. Raises StoreError."""
    found = list(_called(connection, name))
    if not found:
        known = connection.execute(select(versions.c.label).order_by(versions.c.label).limit(20)).scalars()
        raise StoreError(f"no bot is called {name!r}: there are {', '.join(known) or 'none yet'}", code="no-such-bot")
    return found


def note(connection: Connection, kind: str, text: str) -> None:
    """Store an event."""
    connection.execute(events.insert().values(at=now(), kind=truncate(kind, NAME), text=truncate(text, TEXT)))


def now() -> str:
    """Return the time in UTC, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _called(connection: Connection, name: str) -> Sequence[int]:
    bare, _, version = name.partition("@")
    query = select(versions.c.id).where(versions.c.name == bare).order_by(versions.c.id)
    return connection.execute(query.where(versions.c.version == version) if version else query).scalars().all()


def _label(connection: Connection, version: int) -> str:
    label: str = connection.execute(select(versions.c.label).where(versions.c.id == version)).scalar_one()
    return label


def _among_others(connection: Connection, version: int, pool: int) -> str:
    """Return " in POOL" if the version is also entered in other pools, otherwise ""."""
    others = (entered.c.version == version) & (entered.c.pool != pool) & entered.c.active
    if connection.execute(select(entered.c.pool).where(others).limit(1)).first() is None:
        return ""
    return f" in {connection.execute(select(pools.c.name).where(pools.c.id == pool)).scalar_one()}"


def _check_name(name: str) -> None:
    if not name or len(name) > NAME or not name.isprintable() or "@" in name or name != name.strip():
        raise StoreError(f"{name[:NAME]!r} is no name: 1 to {NAME} printable characters without @", code="bad-name")


def _enrol_pool(connection: Connection, pool: Pool) -> int:
    """Return the row with the key of a pool. Another pool that had its name is called NAME@KEY from now on."""
    others = pools.update().where(pools.c.name == pool.name, pools.c.key != pool.key)
    connection.execute(others.values(name=pools.c.name + "@" + pools.c.key))
    found: int | None = connection.execute(select(pools.c.id).where(pools.c.key == pool.key)).scalar_one_or_none()
    if found is not None:
        connection.execute(pools.update().where(pools.c.id == found).values(name=pool.name))
        return found
    row = {
        "key": pool.key,
        "name": pool.name,
        "game": pool.setting.game,
        "options": json.dumps(pool.setting.options, sort_keys=True),
        "control": str(pool.setting.control),
        "openings": pool.openings,
        "rated": pool.rated,
        "played": 0,
    }
    id: int = connection.execute(pools.insert().values(row).returning(pools.c.id)).scalar_one()
    return id


def _enrol_versions(connection: Connection, ladder: Ladder) -> dict[str, int]:
    """Return the ids of the file's versions by name. New ones get their parents, and all get their labels."""
    rows = connection.execute(select(versions.c.id, versions.c.name, versions.c.version, versions.c.label)).all()
    there = {(row.name, row.version): row.id for row in rows}
    before = {row.name: row.id for row in rows if row.label == row.name}  # who has the name now
    ours: dict[str, int] = {}
    new: list[Entrant] = []
    for bot in ladder.bots:
        id = there.get((bot.name, bot.version))
        if id is None:
            id = _insert_version(connection, bot)
            new.append(bot)
        elif before[bot.name] != id:
            _pass_on(connection, before[bot.name], id)
        ours[bot.name] = id
    for bot in new:
        parent = ours.get(bot.parent, before.get(bot.parent)) if bot.parent else before.get(bot.name)
        if bot.parent and parent is None:
            raise StoreError(
                f"{bot.name} has the parent {bot.parent}, which is not entered: enter it, or leave it out",
                code="no-such-parent",
            )
        connection.execute(versions.update().where(versions.c.id == ours[bot.name]).values(parent=parent))
    return ours


def _insert_version(connection: Connection, bot: Entrant) -> int:
    """Insert a new version, which takes the name from the one that had it."""
    if not bot.version or len(bot.version) > NAME:
        raise StoreError(f"{bot.name} has no version: find its version before it is entered", code="no-version")
    had = connection.execute(select(versions.c.id).where(versions.c.label == bot.name)).scalar_one_or_none()
    if had is not None:
        _pass_on(connection, had, None)
    row = {
        "name": bot.name,
        "version": bot.version,
        "label": bot.name,
        "command": truncate(bot.start.command or bot.start.url, TEXT),
        "since": now(),
    }
    id: int = connection.execute(versions.insert().values(row).returning(versions.c.id)).scalar_one()
    return id


def _pass_on(connection: Connection, had: int, has: int | None) -> None:
    """Pass the bare name from one version to another."""
    full = versions.c.name + "@" + versions.c.version
    connection.execute(versions.update().where(versions.c.id == had).values(label=full))
    if has is not None:
        connection.execute(versions.update().where(versions.c.id == has).values(label=versions.c.name))


def _enter(
    connection: Connection, pool: int, name: str, entrants: dict[int, Entrant], names: set[str] | None = None
) -> None:
    """Make these the active versions of a pool, withdraw the open pairs of the others, and note who joined and left.

    With `names`, versions of bots with other names stay as they are. Nothing is noted for an unrated pool, whose `name`
    is empty: its bots change with those of the rated pool.
    """
    query = select(
        entered.c.version, entered.c.active, entered.c.anchor, versions.c.name, versions.c.version.label("hash")
    )
    rows = connection.execute(query.join(versions).where(entered.c.pool == pool)).all()
    if names is not None:
        rows = [row for row in rows if row.name in names]
    there = {row.version: (row.active, row.anchor) for row in rows}
    were = {row.version: row for row in rows if row.active}
    for id, bot in entrants.items():
        if there.get(id) == (True, bot.anchor):
            continue  # like most: a thousand statements without effect take long
        if id in there:
            this = (entered.c.pool == pool) & (entered.c.version == id)
            connection.execute(entered.update().where(this).values(active=True, anchor=bot.anchor))
        else:
            new = {"pool": pool, "version": id, "active": True, "anchor": bot.anchor}
            connection.execute(entered.insert().values(**new, suspended="", suspended_in=-1))
    left = {id: row for id, row in were.items() if id not in entrants}
    by_name = {row.name: row for row in left.values()}
    for id, bot in entrants.items():
        if id not in were and name:
            old = by_name.pop(bot.name, None)
            if old is None:
                note(connection, "joined", f"{bot.name} ({bot.version}) in {name}")
            else:
                note(connection, "replaced", f"{bot.name} in {name}: {old.hash} by {bot.version}")
    for row in by_name.values() if name else ():
        note(connection, "left", f"{row.name} ({row.hash}) in {name}")
    if left:
        theirs = (entered.c.pool == pool) & entered.c.version.in_(list(left))
        connection.execute(entered.update().where(theirs).values(active=False))
        _withdraw(connection, pool, list(left))


def _withdraw(connection: Connection, pool: int, gone: list[int]) -> None:
    theirs = or_(pairs.c.first.in_(gone), pairs.c.second.in_(gone))
    query = pairs.update().where(pairs.c.pool == pool, pairs.c.state == ISSUED, theirs)
    if number := connection.execute(query.values(state=WITHDRAWN)).rowcount:
        note(connection, "withdrawn", f"{number} pairs that were not played yet")


# -- The run lock: which process runs the ladder, and whether it still runs.


SILENCE = 60  # seconds without a heartbeat after which a process elsewhere counts as dead
FRONT_SILENCE = 20  # the same of a front of a lobby
_ROW = 1
_START_TIME = 19  # of /proc/PID/stat, counted behind the name: field 22
_STATE = 0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that runs or ran a ladder; `taken` and `beat` are by the database's clock."""

    host: str
    space: str
    pid: int
    started: int
    command: str = field(default="", compare=False)
    taken: int = field(default=0, compare=False)
    beat: int = field(default=0, compare=False)

    @classmethod
    def here(cls, command: str) -> "Holder":
        """Return this process."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        space = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
        pid = os.getpid()
        return cls(socket.gethostname()[:NAME], space, pid, start_of(pid) or 0, truncate(command, TEXT))

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.taken, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.pid} on {self.host} since {since} ({self.command})"

    def near(self, me: "Holder") -> bool:
        """Return whether it is a process of this machine, which can be inspected."""
        return (self.host, self.space) == (me.host, me.space)

    def lives(self, me: "Holder", now: int, silence: int = SILENCE) -> bool:
        """Return whether it runs. A process elsewhere is judged by its heartbeat."""
        if self.near(me):
            return start_of(self.pid) == self.started
        return abs(now - self.beat) <= silence  # a clock that is set back must not hold the lock for ever


def take(connection: Connection, me: Holder, name: str) -> None:
    """Take the run lock. Raises InUse while the process that holds it lives."""
    now = clock(connection)
    check_free(connection, me, now, name)
    for front, (its, _) in fronts_of(connection).items():
        if its.lives(me, now, FRONT_SILENCE):
            raise InUse(f"front {front} of {name} is run by {its}: wait until it is done, or end it")
    connection.execute(run_lock.delete())
    connection.execute(run_lock.insert().values(id=_ROW, **asdict(replace(me, taken=now, beat=now))))


def check_free(connection: Connection, me: Holder, now: int, name: str) -> None:
    """Raise InUse while another process that lives holds the lock."""
    holder = _holder(connection)
    if holder is not None and holder != me and holder.lives(me, now):
        raise InUse(f"{name} is run by {holder}: wait until it is done, or end it")


def beat(connection: Connection, me: Holder, name: str) -> None:
    """Record that this process lives. Raises Taken if another process took the lock."""
    holder = _holder(connection)
    if holder != me:
        other = f"; it is run by {holder} now" if holder else ""
        raise Taken(f"{name}: this process lost its lock after {SILENCE} s without a heartbeat{other}: start it again")
    connection.execute(run_lock.update().values(beat=clock(connection)))


def release(connection: Connection, me: Holder) -> None:
    """Release the lock, if this process holds it."""
    if _holder(connection) == me:
        connection.execute(run_lock.delete())


def forget_runner(connection: Connection) -> None:
    """Release the run lock of any process: this is a copy that no process runs."""
    connection.execute(run_lock.delete())


def running(connection: Connection, me: Holder, others: bool = False) -> str:
    """Return the process that runs the ladder now, "" for none; with `others` this process does not count."""
    now, found = clock(connection), [(_holder(connection), SILENCE)]
    found += [(its, FRONT_SILENCE) for its, _ in fronts_of(connection).values()]
    living = (one for one, silence in found if one is not None and one.lives(me, now, silence))
    return next((str(one) for one in living if not (others and one == me)), "")


def fronts_of(connection: Connection) -> dict[str, tuple[Holder, str]]:
    """Return every front of a lobby by name: who runs or ran it, and where bots dial it."""
    columns = (fronts.c[each.name] for each in fields(Holder))
    rows = connection.execute(select(fronts.c.name, fronts.c.url, *columns))
    return {name: (Holder(*values), url) for name, url, *values in rows}


def _holder(connection: Connection) -> Holder | None:
    row = connection.execute(select(*(run_lock.c[each.name] for each in fields(Holder)))).one_or_none()
    return None if row is None else Holder(*row)


def start_of(pid: int) -> int | None:
    """Return when a process began, in ticks since boot; None if it does not exist or is a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if words[_STATE] in b"ZXx" else int(words[_START_TIME])


def clock(connection: Connection) -> int:
    """Return seconds since 1970. All that use a server get them from its clock."""
    if connection.dialect.name == "sqlite":
        return int(time.time())
    return int(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
