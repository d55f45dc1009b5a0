"""`ggp ladder check` names what is not as the records say, mends it when asked, and says so by its exit status."""

import json
from pathlib import Path

import pytest

from ggp.referee.cli.ladder_check import run_check
from ggp.referee.ladder.store import schema
from ggp.referee.ladder.store.database import Database
from ggp.referee.ladder.store.store import Store
from tests.support.stores import ladder, match, pairings


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with four games."""
    with Store.open(f"sqlite:///{tmp_path}/ladder.db", create=True) as store:
        (id,) = store.enrol(ladder(["ann", "bob"])).values()
        names = {seat.id: seat.name for seat in store.seats(id)}
        for pair in store.issue(id, 0, pairings(store, id, 2)):
            store.add([match(pair, game, names=(names[pair.first], names[pair.second])) for game in (0, 1)])
    return str(tmp_path / "ladder.db")


def test_all_is_well(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check([path]) == 0
    assert capsys.readouterr().out == "4 games: all as their records say\n"
    assert run_check([path, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_what_differs_is_named_and_mended(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    _change(path, schema.games, plies=77)
    assert run_check([path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "test-1-0-1: plies is 77, by its record 2"
    assert lines[-1] == "4 games, 4 differences: --repair makes everything what the records say"
    assert run_check([path, "--repair"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 games, 4 differences: 4 repaired"
    assert run_check([path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"games": 4, "differences": [], "repaired": 0}


def test_what_cannot_be_mended_is_said(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    _change(path, schema.records, data=b"")
    for options in ([], ["--repair"]):
        assert run_check([path, "--json", *options]) == 1
        said = json.loads(capsys.readouterr().out)
        assert len(said["differences"]) == 4 and said["repaired"] == 0
    assert run_check([path, "--repair"]) == 1
    assert "0 repaired, 4 cannot be: their records are damaged" in capsys.readouterr().out


def test_what_is_no_store_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check([f"sqlite:///{tmp_path}/none.db"]) == 1
    assert capsys.readouterr().err.startswith("ggp ladder check: there is no store")
    assert run_check([str(tmp_path / "none.toml")]) == 2
    assert run_check(["--nonsense"]) == 2


def _change(path: str, table: object, **values: object) -> None:
    database = Database(f"sqlite:///{path}")
    with database.writing() as connection:
        connection.execute(table.update().values(values))  # type: ignore[attr-defined]
    database.close()
