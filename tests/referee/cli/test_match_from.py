"""Matches that begin at a position of a record: `ggp match … --from PLACE`."""

from dataclasses import replace
from pathlib import Path

import pytest

from ggp.protocol.records import Record, read_records
from ggp.referee.cli.match import main
from tests.support.series import make_setup, play

pytestmark = pytest.mark.slow

GAME = "yugo,size=5"


def records(path: Path) -> list[Record]:
    return list(read_records(path.read_bytes().splitlines(keepends=True)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "games.jsonl"
    main([GAME, "random", "random", "--games", "1", "--record", str(path), "--quiet", "--jobs", "1"])
    return path


def test_every_match_begins_there(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    words = ["yugo", "random", "greedy:playouts=1", "--from", f"{recorded}@1", "--games", "2", "--record", str(path)]
    assert main([*words, "--openings", "2", "--quiet", "--jobs", "1"]) == 0
    (old,), (one, two) = records(recorded), records(path)
    begun = tuple(ply.move for ply in old.plies[:1])
    assert one.start.opening == two.start.opening and one.start.opening[:1] == begun and len(one.start.opening) == 3
    assert one.start.options == old.start.options and one.plies[1].seat == old.plies[1].seat
    assert [one.start.bots[0].name, two.start.bots[1].name] == ["random", "random"]


def test_the_position_is_part_of_what_a_series_is() -> None:
    setup = make_setup(GAME, "random", "greedy")
    there = replace(setup, position=("A1",))
    assert len({setup.series, there.series, replace(there, position=("A2",)).series}) == 3
    assert replace(there, position=("A1",)).series == there.series
    came = play(replace(there, bots=setup.bots), (0, 1))
    assert {record.plies[0].move for record in came.records} == {"A1"}
    assert {record.start.opening for record in came.records} == {("A1",)}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["yugo", "--from", "nothing.jsonl"], "cannot read nothing.jsonl"),
        (["yugo", "--from", "{}#x"], "has no match x"),
        (["yugo", "--from", "{}@999"], "ply 999: the match"),
        (["yugo", "--from", "{}"], "the game is over after ply"),
        (["go", "--from", "{}@1"], "the recorded game is yugo"),
        (["yugo,size=4", "--from", "{}@1"], "remove size=4"),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str], reason: str, recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, *rest = (word.format(recorded) for word in words)
    assert main([game, "random", "random", *rest]) == 2
    err = capsys.readouterr().err
    assert reason in err and err.count("\n") == 1
