"""A store whose file is removed, replaced or truncated while it is in use says so, and loses nothing."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ggp.referee.ladder.store.model import FormatKind, Pair, Pairing, StoreGone
from ggp.referee.ladder.store.store import Store
from tests.support.cli import Ggp, wait_until
from tests.support.ladders import first_line, games_stored, open_store, write_ladder
from tests.support.stores import ladder, match


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    other = path.with_suffix(".other")
    shutil.copy(path, other)
    other.replace(path)


def begun(path: Path) -> tuple[Store, list[Pair]]:
    """A store with a game, and the pairs that were issued."""
    store = Store.open(f"sqlite:///{path}", create=True)
    pool = store.enrol(ladder())["fast"]
    ids = [seat.id for seat in store.seats(pool)]
    pairs = list(store.issue(pool, 0, [Pairing(ids[0], ids[1]), Pairing(ids[2], ids[3])]))
    store.add([match(pairs[0], 0)])
    return store, pairs


@pytest.mark.parametrize("happens", [removed, replaced])
def test_a_file_that_is_gone_takes_no_commit_and_all_of_it_is_rescued(
    tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    path = tmp_path / "club.db"
    store, pairs = begun(path)
    happens(path)
    with pytest.raises(StoreGone, match=r"club\.db was re(mov|plac)ed .*while it was in use"):
        store.add([match(pairs[0], 1)])
    with pytest.raises(StoreGone):
        store.beat()
    said = store.rescue([match(pairs[0], 1)], gone=True)
    store.close()
    assert f"1 games that were only in memory, are in {tmp_path / 'club.rescued.db'}" in said
    assert not list(tmp_path.glob("club.db-*")), "the next store of this name would take its log for its own"
    with Store.open(f"sqlite:///{tmp_path / 'club.rescued.db'}") as copy:
        assert copy.totals().games == 2 and copy.check().lines == []
        assert copy.running() == "" and copy.past(1, FormatKind.LADDER).issued == 2


def test_a_file_that_lost_its_end_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "club.db"
    store, pairs = begun(path)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    store.add([match(pairs[1], 0, names=("cat", "dan"))])
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreGone, match="truncated"):
        store.add([match(pairs[0], 1)])
    assert "1 games that were only in memory are in" in store.rescue([match(pairs[0], 1)], gone=False)
    assert (tmp_path / "club.rescued.jsonl").read_bytes().startswith(b'{"bots":')
    store.close()


def test_a_vacuum_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "club.db"
    store, pairs = begun(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE filler AS SELECT randomblob(2000000) AS data")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        store.add([match(pairs[1], 0, names=("cat", "dan"))])
        before = path.stat().st_size
        other.execute("DROP TABLE filler")
        other.execute("VACUUM")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert path.stat().st_size < before
    store.add([match(pairs[0], 1)])
    assert store.totals().games == 3
    store.close()


@pytest.mark.slow
def test_a_ladder_whose_store_is_removed_ends_and_says_where_its_games_are(tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    path = file.with_suffix(".db")
    running = Ggp("ladder", "run", str(file), "--games", "5000", "--quiet", "--jobs", "1")
    wait_until(lambda: path.exists() and games_stored(file) > 10)
    before = games_stored(file)
    path.unlink()
    assert "was removed while it was in use" in first_line(running, "removed")
    ran = running.wait(60)
    rescued = tmp_path / "ladder.rescued.db"
    assert ran.status == 1 and str(rescued) in ran.err and not path.exists()
    rescued.replace(path)
    with open_store(file) as store:
        assert store.totals().games >= before and store.repair().lines == []


_TRUNCATES = """
import os, sys
from sqlalchemy import text
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store

store = Store.open(sys.argv[1])
database = store.database
try:
    with database.reading() as connection:
        connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar()
        os.truncate(database.path, 4096)
        print(connection.execute(text("SELECT sum(length(data)) FROM filler")).scalar())
except StoreError as error:
    print("refused:", error)
"""


def test_a_file_that_is_truncated_while_it_is_read_kills_no_process(tmp_path: Path) -> None:
    """A page of a mapped file that is gone would be SIGBUS."""
    path = tmp_path / "club.db"
    begun(path)[0].close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE filler AS SELECT randomblob(2000000) AS data")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    ran = subprocess.run(
        [sys.executable, "-c", _TRUNCATES, f"sqlite:///{path}"], capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0 and ran.stdout.startswith("refused: "), (ran.returncode, ran.stdout, ran.stderr)
