"""Games that a damaged write-ahead log has swallowed are counted as gone; a checkpoint keeps the others."""

import os
import shutil
from pathlib import Path

import pytest

from ggp.referee.cli.ladder_check import run_check
from ggp.referee.ladder.store.store import Store
from tests.support.stores import ladder, match, pairings

PAIRS = 6


def copied(tmp_path: Path, checkpoint_after: int | None = None, damaged: bool = True) -> Path:
    """A store as a killed process leaves it, with its log, in which 200 bytes in the middle are wrong."""
    path = tmp_path / "club.db"
    copy = tmp_path / "killed" / "club.db"
    copy.parent.mkdir()
    with Store.open(f"sqlite:///{path}", create=True) as store:
        (pool,) = store.enrol(ladder(["ann", "bob"])).values()
        names = {seat.id: seat.name for seat in store.seats(pool)}
        for number, pair in enumerate(store.issue(pool, 0, pairings(store, pool, PAIRS))):
            store.add([match(pair, game, names=(names[pair.first], names[pair.second])) for game in (0, 1)])
            if number == checkpoint_after:
                store.checkpoint()
                assert not path.with_name("club.db-wal").stat().st_size, "a log with old frames would be taken as new"
        for file in tmp_path.glob("club.db*"):
            shutil.copy(file, copy.parent / file.name)
    wal = copy.with_name("club.db-wal")
    if damaged:
        data = bytearray(wal.read_bytes())
        middle = len(data) // 2
        data[middle : middle + 200] = os.urandom(200)
        wal.write_bytes(data)
    copy.with_name("club.db-shm").unlink()
    return copy


def test_a_whole_log_loses_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check([str(copied(tmp_path, damaged=False))]) == 0
    assert f"{2 * PAIRS} games: all as their records say" in capsys.readouterr().out


def test_games_behind_a_damaged_frame_are_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copied(tmp_path)
    with Store.open(f"sqlite:///{path}") as store:
        there = store.totals().games
        assert there < 2 * PAIRS, "the damage is in the log"
    assert run_check([str(path)]) == 1
    said = capsys.readouterr().out
    assert f"{2 * PAIRS - there} games that were stored in {path} are gone: its write-ahead log was damaged" in said
    assert run_check([str(path), "--repair"]) == 1, "they cannot be repaired, and are said once more"
    assert run_check([str(path)]) == 0


def test_what_a_checkpoint_brought_home_stays(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{copied(tmp_path, checkpoint_after=PAIRS - 3)}") as store:
        there = store.totals().games
        assert 2 * (PAIRS - 2) <= there < 2 * PAIRS and store.lost() == 2 * PAIRS - there


def test_a_new_store_of_the_same_name_has_lost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "club.db"
    copied(tmp_path)
    path.unlink()
    with Store.open(f"sqlite:///{path}", create=True) as store:
        assert store.lost() == 0 and store.check().lines == []
