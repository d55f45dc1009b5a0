"""`ggp verify` over several files, pipes, matches at a time, and other engines that die, hang or lie."""

import io
import json
import sys
from pathlib import Path
from shlex import quote

import msgspec
import pytest

from ggp.protocol.records import Record, read_records
from ggp.referee.cli.verify import main
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.setting import Timeouts
from ggp.referee.records import records_in
from ggp.referee.tools.archive.verify import Checker, VerifiedMatch
from tests.support import TESTS
from tests.support.cli import PYTHON
from tests.support.series import make_setup, play

pytestmark = pytest.mark.slow

LIAR = TESTS / "support" / "foreign_engine.py"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "games.jsonl"
    setup = make_setup("yugo,size=3", "random:seed=1", "random:seed=2", games=12)
    path.write_bytes(b"".join(play(setup, tuple(range(12))).kept))
    return path


def records(path: Path) -> list[Record]:
    return list(read_records(path.read_bytes().splitlines(keepends=True)))


def foreign(fault: str, ply: int) -> str:
    return f"{PYTHON} {quote(str(LIAR))} wrong {fault} {ply}"


def test_many_at_a_time_come_out_in_their_order(file: Path) -> None:
    checker = Checker(read_engine(None), None, 3, False)
    try:
        found = list(checker.all(("f", record) for record in records_in(file, pytest.fail)))
    finally:
        checker.close()
    assert found == [VerifiedMatch("f", record.start.match, None) for record in records(file)]


def test_files_matches_and_standard_input(file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    name = records(file)[3].start.match
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes()), encoding="utf-8"))
    assert main([str(file), f"{file}#{name}", "-", "--jobs", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: 12 matches, 12 as recorded, 0 not",
        f"{file}#{name}: 1 match, 1 as recorded, 0 not",
        "-: 12 matches, 12 as recorded, 0 not",
    ]
    assert main([str(file), "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_a_broken_file_does_not_hide_the_others(file: Path, tmp_path: Path, capsys: Capture) -> None:
    bad = tmp_path / "bad"
    lines = file.read_bytes().splitlines(keepends=True)
    bad.write_bytes(b"".join(lines[:-2] + lines[-1:]))
    assert main([str(bad), str(file), str(tmp_path / "none")]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{bad}: 11 matches, 11 as recorded, 0 not; 1 that is not whole (below)",
        f"{file}: 12 matches, 12 as recorded, 0 not",
    ]
    assert "does not belong here" in err and "No such file" in err and err.count("\n") == 2


def test_a_deviation_is_shown_with_its_place(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """A whole chain proves that the file is unchanged, not that the moves are legal."""
    one, two, *_ = records(file)
    illegal = one.plies[0].move
    plies = list(one.plies)
    plies[2] = msgspec.structs.replace(plies[2], move=illegal)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(Record(one.start, tuple(plies), one.end).lines() + two.lines())
    assert main([str(bad)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"{bad}#{one.start.match}@3: the record says {illegal}, the engine: illegal move")
    assert out[1:3] == ["    before ply 3:", "      A B C"] and out[-1] == f"{bad}: 2 matches, 1 as recorded, 1 not"
    assert main([str(bad), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    (deviation,) = said.pop("deviations")
    assert said == {"matches": 2, "as_recorded": 1, "deviating": 1, "skipped": [], "unreadable": []}
    assert (deviation["who"], deviation["ply"], deviation["match"], deviation["failed"]) == (
        "record",
        3,
        one.start.match,
        False,
    )
    assert deviation["board"].splitlines()[0] == "  A B C"


def test_a_correct_other_engine(file: Path, capsys: Capture) -> None:
    assert main([str(file), "--engine", foreign("nothing", 99), "--deep"]) == 0
    assert "12 as recorded" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dies", "the other engine fails at `ggp-play"),
        ("hangs", "the other engine hangs at `ggp-play"),
        ("lies", "legal for the engine only: "),
    ],
)
def test_faults_of_the_other_engine_are_its_own(file: Path, fault: str, said: str) -> None:
    """And the next match gets a new one."""
    short = Timeouts(start=30, command=1, new=10, quit=1, grace=0.2)
    checker = Checker(read_engine(None), read_engine(foreign(fault, 4)), 1, False, short)
    two = records(file)[:2]
    try:
        found = list(checker.all(("f", record) for record in two))
    finally:
        checker.close()
    assert [checked.match for checked in found] == [record.start.match for record in two]
    for checked in found:
        deviation = checked.deviation
        assert deviation is not None and said in deviation.what
        assert (deviation.who, deviation.ply, deviation.failed) == ("other", 4, fault != "lies")
    if fault == "dies":
        assert "it has had enough" in (found[0].deviation.what if found[0].deviation else "")


def test_an_engine_that_always_fails_is_given_up(file: Path, capsys: Capture) -> None:
    assert main([str(file), "--engine", foreign("dies", 1), "--jobs", "1"]) == 2
    assert "given up after 10 failures" in capsys.readouterr().err
