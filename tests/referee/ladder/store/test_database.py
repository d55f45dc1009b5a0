"""Faults of the database: one line with the remedy, and no loss."""

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder.store import database
from ggp.referee.ladder.store.model import FormatKind, Locked, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ratings.standings import RatingTable
from tests.support.codes import raises
from tests.support.stores import ladder, match, pairings

_PROGRAM = [sys.executable, "-m", "tests.support.stores"]


def test_a_database_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0)
    path = tmp_path / "store.db"
    with Store.open(f"sqlite:///{path}", create=True) as store, _sqlite(path) as other:
        (id,) = store.enrol(ladder()).values()
        (pair,) = store.issue(id, 0, pairings(store, id, 1))
        other.execute("BEGIN IMMEDIATE")
        for write in (lambda: store.add([match(pair, 0)]), lambda: store.note("kind", "text")):
            with raises(Locked, "store-locked"):
                write()
        assert store.open_pairs(id) == [pair], "a reader does not wait for writers"
        other.execute("ROLLBACK")
        store.add([match(pair, 0)])
        assert store.totals().games == 1


@pytest.mark.slow
@pytest.mark.needs("postgres")
def test_a_postgresql_database_that_another_process_holds(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    monkeypatch.setattr(database, "PATIENCE", 1)
    with Store.open(postgres_url, create=True) as store:
        (id,) = store.enrol(ladder()).values()
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as other:
            other.execute(f"SELECT pg_advisory_xact_lock({database.WRITING})".encode())
            with raises(Locked, "store-locked"):
                store.note("kind", "text")
            assert len(store.seats(id)) == 4
        store.note("kind", "text")


_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.mark.slow
def test_a_query_that_takes_too_long_is_ended(url: str) -> None:
    """In the database, too, so that it holds neither a thread nor a processor."""
    Store.open(url, create=True).close()
    with Store.open(url, read_time=0.3) as store:
        began = time.monotonic()
        with raises(Locked, "store-slow"), store.database.reading() as connection:
            connection.exec_driver_sql(_ENDLESS)
        assert time.monotonic() - began < 10
        with store.database.reading() as connection:
            time.sleep(0.4)  # what the reader does between two queries is its own affair
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
        assert store.pools() == []


def test_a_reader_does_not_hold_up_the_writer(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    (pair,) = store.issue(id, 0, pairings(store, id, 1))
    store.add([match(pair, 0)])
    listed = store.games(newest=False)
    assert next(listed).game == 0
    store.add([match(pair, 1)])
    assert store.totals().games == 2


@pytest.mark.slow
@pytest.mark.parametrize("room", [400_000, 1_000_000])
def test_a_full_disk_loses_nothing(tmp_path: Path, room: int) -> None:
    """The file may not grow beyond `room`: what was acknowledged is there, and the rest can be added afterwards."""
    said = _fill_up(tmp_path, f"--room={room}")
    _holds_what_was_said(tmp_path, said)


@pytest.mark.long
@pytest.mark.needs("mount")
def test_a_small_disk_that_is_full_loses_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        said = _fill_up(small)
        subprocess.run(["mount", "-o", "remount,size=16m", str(small)], check=True)
        _holds_what_was_said(small, said)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def _fill_up(folder: Path, *options: str) -> int:
    """Add games until there is no room; how many games were acknowledged."""
    command = [*_PROGRAM, f"sqlite:///{folder}/store.db", "--until-full", *options]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    *_, count, error = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert "Full" in error and "free space" in error and "Traceback" not in error
    return int(count)


def _holds_what_was_said(folder: Path, said: int) -> None:
    with Store.open(f"sqlite:///{folder}/store.db") as store:
        assert said > 0 and store.totals().games == said
        assert store.check().lines == []
        (pool,) = store.pools()
        (pair, *_) = store.open_pairs(pool.id) or store.issue(
            pool.id, store.past(pool.id, FormatKind.LADDER).batches, pairings(store, pool.id, 1)
        )
        left = [match(pair, game) for game in (0, 1) if game not in pair.played]
        assert len(store.add(left)) == 1, "it goes on where there is room"


@pytest.mark.parametrize("content", [b"not a database", b"x" * 10_000])
def test_a_file_that_is_not_a_store_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    for create in (False, True):
        with raises(StoreError, "not-a-store"):
            Store.open(f"sqlite:///{path}", create=create)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with _sqlite(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with raises(StoreError, "not-a-store"):
        Store.open(f"sqlite:///{path}", create=True)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_damaged_store_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.open(f"sqlite:///{path}", create=True) as store:
        (id,) = store.enrol(ladder()).values()
        for pair in store.issue(id, 0, pairings(store, id, 200)):
            store.add([match(pair, 0), match(pair, 1)])
    content = bytearray(path.read_bytes())
    content[8192 : len(content) // 2] = b"\xff" * (len(content) // 2 - 8192)
    path.write_bytes(content)
    with (
        raises(StoreError, "store-damaged"),
        Store.open(f"sqlite:///{path}") as store,
    ):
        list(store.games())
        store.seats(1)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE pools SET options = '{'", "the options of pool "),
        ("DROP TABLE ratings", "no such table: ratings"),
        ("ALTER TABLE entered DROP COLUMN anchor", "no such column"),
    ],
)
def test_a_store_changed_by_hand_is_reported(tmp_path: Path, damage: str, said: str) -> None:
    path = tmp_path / "store.db"
    with Store.open(f"sqlite:///{path}", create=True) as store:
        store.enrol(ladder())
    with _sqlite(path) as hand:
        hand.execute(damage)
    damaged = raises(StoreError, "store-damaged")
    with Store.open(f"sqlite:///{path}") as store, damaged as error:
        for pool in store.pools():
            store.seats(pool.id)
            store.fit(pool.id)
            store.save_fit(pool.id, RatingTable(0, "davidson", 0, 0, 0))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("nonsense", "bad-url"),
        ("mysql://host/db", "bad-url"),
        ("sqlite://", "bad-url"),
        ("sqlite:///:memory:", "bad-url"),
        ("sqlite:////nowhere/at/all.db", "no-such-folder"),
        ("postgresql://ggp@127.0.0.1:1/none", "unreachable"),
    ],
)
def test_an_invalid_url_is_refused(url: str, code: str) -> None:
    with raises(StoreError, code) as error:
        Store.open(url, create=True)
    assert "\n" not in str(error.value)


def test_a_password_is_not_shown() -> None:
    with pytest.raises(StoreError) as error:
        Store.open("postgresql://ggp:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)


@pytest.mark.slow
def test_a_store_in_a_read_only_folder_can_be_read() -> None:
    """As another user, since root may write everywhere; not in pytest's folder, which other users may not enter."""
    with tempfile.TemporaryDirectory(prefix="ggp-test-") as folder:
        _read_as_another_user(Path(folder))


def _read_as_another_user(folder: Path) -> None:
    with Store.open(f"sqlite:///{folder}/store.db", create=True) as store:
        store.enrol(ladder())
    program = (
        "import os, sys, sqlite3\n"
        "from ggp.referee.ladder.store.model import StoreError\n"
        "from ggp.referee.ladder.store.store import Store\n"
        "import tests.support.stores\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "store = Store.open(sys.argv[1])\n"
        "print(len(store.pools()))\n"
        "try: store.note('a', 'b')\n"
        "except StoreError as error: print(error)\n"
    )
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    done = subprocess.run(
        [sys.executable, "-c", program, f"sqlite:///{folder}/store.db"], capture_output=True, encoding="utf-8"
    )
    folder.chmod(0o755)
    assert done.stdout.splitlines()[:1] == ["1"], done.stderr
    assert "is not writable" in done.stdout or "cannot be opened" in done.stdout


def _sqlite(path: Path) -> "_Closing":
    return _Closing(path)


class _Closing:
    """A connection of our own, closed behind."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=0)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *error: object) -> None:
        self._connection.close()


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from request.getfixturevalue("postgres").database()
