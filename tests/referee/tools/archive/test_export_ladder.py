"""`ggp ladder export`: other commands read its output; its memory is bounded."""

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.protocol.records import read_records
from ggp.referee.cli import ladder_export, ladder_standings
from ggp.referee.cli.rate import run_rate as main_rate
from ggp.referee.cli.verify import main as main_verify
from ggp.referee.match.record_forms import sgf
from tests.support.chaos import chaos
from tests.support.memory_session import MemorySession
from tests.support.stores import LOST, TIED, WON, Filled, ladder, pool, real_setup

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with Filled(tmp_path_factory.mktemp("club"), ladder(pools=[pool(size="3", control="20")])) as filled:
        filled.play(real_setup("ann", "bob"))
        filled.play(real_setup("bob", chaos("fault=illegal,move=2", "dan")))
        yield filled


@pytest.mark.slow
def test_records_are_verified(played: Filled, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "all.jsonl"
    assert ladder_export.main([str(played.path), "-o", str(out)]) == 0
    assert capsys.readouterr().out == "" and [path.name for path in tmp_path.iterdir()] == ["all.jsonl"]
    assert main_verify([str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 4 matches, 4 as recorded, 0 not\n"


def test_a_record_is_exported_unchanged(played: Filled, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    stored = played.store.record("club-fast-0-2")
    assert stored is not None and ladder_export.main([str(played.path), "--key", "club-fast-0-2"]) == 0
    assert capfdbinary.readouterr().out == stored
    assert ladder_export.main([str(played.path), "--key", "club-fast-0-2", "--format", "sgf"]) == 0
    (record,) = read_records(stored.splitlines(keepends=True))
    assert capfdbinary.readouterr().out.decode() == sgf(record)


def test_scripts_bring_an_engine_to_the_result(played: Filled, capsys: Capture) -> None:
    assert ladder_export.main([str(played.path), "--format", "gtp", "--key", "club-fast-0-1"]) == 0
    session = MemorySession("yugo")
    *_, last = [session(line) for line in capsys.readouterr().out.splitlines()]
    (row,) = [row for row in played.store.games() if row.key == "club-fast-0-1"]
    assert row.result in last


def test_all_of_a_kind(played: Filled, capsys: Capture) -> None:
    assert ladder_export.main([str(played.path), "--format", "sgf"]) == 0
    assert capsys.readouterr().out.count("(;FF[4]") == 4
    assert ladder_export.main([str(played.path), "--played"]) == 0
    matches = [json.loads(line)["match"] for line in capsys.readouterr().out.splitlines() if '"event":"end"' in line]
    assert matches == ["club-fast-0-2", "club-fast-0-1"]
    for words, count in ((["--bot", "dan"], 2), (["--since", "2999-01-01"], 0), (["--termination", "illegal_move"], 2)):
        assert ladder_export.main([str(played.path), *words]) == 0
        assert capsys.readouterr().out.count('"event":"end"') == count


def test_results_are_rated_as_the_ladder_rates_them(season: Filled, tmp_path: Path, capsys: Capture) -> None:
    """Forfeits are weighed by the ladder alone: by play, the two agree."""
    with Filled(_folder(tmp_path)) as honest:
        honest.meet("ann", "bob", WON, WON, WON, TIED, WON, LOST)
        honest.meet("bob", "cat", WON, LOST, TIED, WON)
        honest.meet("cat", "dan", LOST, LOST, WON, LOST, WON, (-1, "ply_limit"))
        out = tmp_path / "results.csv"
        assert ladder_export.main([str(honest.path), "--format", "csv", "-o", str(out)]) == 0
        rated, shown = (
            _json(capsys, main_rate, str(out)),
            _json(capsys, ladder_standings.run_standings, str(honest.path)),
        )
        assert (
            out.read_text(encoding="utf-8").startswith("first,second,result\n")
            and out.read_text(encoding="utf-8").count("\n") == 16
        )
        for one, other in zip(rated["ratings"], shown["ratings"], strict=True):
            assert (one["name"], one["games"], one["score"]) == (other["name"], other["games"], other["score"])
            assert one["elo"] == pytest.approx(other["elo"], abs=1e-4)
            assert one["se"] == pytest.approx(other["se"], abs=1e-4)
        assert rated["advantage"] == pytest.approx(shown["advantage"], abs=1e-4)
        assert rated["deviance"] == pytest.approx(shown["deviance"], abs=1e-4)


def test_forfeits_are_results_unless_left_out(season: Filled, capsys: Capture) -> None:
    for words, count in (([], 19), (["--played"], 16), (["--bot", "dan"], 5), (["--bot", "dan", "--played"], 2)):
        assert ladder_export.main([str(season.path), "--format", "csv", *words]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 1 + count


def test_a_file_appears_when_it_is_complete(season: Filled, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "here").mkdir()
    assert ladder_export.main([str(season.path), "-o", str(tmp_path / "here")]) == 2
    assert "here: Is a directory" in capsys.readouterr().err
    there = tmp_path / "there.jsonl"
    there.write_text("what I had\n", encoding="utf-8")
    season.store.close()
    assert ladder_export.main([str(season.path), "--key", "none", "-o", str(there)]) == 2
    assert there.read_text(encoding="utf-8") == "what I had\n" and not list(tmp_path.glob("*.part"))


def test_a_full_disk_is_reported(season: Filled, capsys: Capture) -> None:
    assert ladder_export.main([str(season.path), "-o", "/dev/full"]) == 1
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(season: Filled) -> None:
    """As `… | head -1` closes it; a season is more than a pipe holds."""
    season.many("ann", "bob", 40, plies=100)
    program = (
        "import sys; from ggp.referee.cli import ladder_export, main as cli\n"
        "point = type('Point', (), {'name': 'export', 'load': lambda self: ladder_export.main})\n"
        "cli.entry_points = lambda group: [point()]\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", program, "export", str(season.path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b'{"bots":')
        process.stdout.close()
        assert process.wait(120) == 141 and process.stderr.read() == b""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_games(tmp_path: Path) -> None:
    """Ten times the matches, the same peak: nothing is collected."""
    with Filled(tmp_path) as filled:
        peaks = []
        for pairs in (150, 1350):
            filled.many("ann", "bob", pairs)
            tracemalloc.start()
            assert ladder_export.main([str(filled.path), "-o", os.devnull]) == 0
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] < 2 * peaks[0]


def _folder(path: Path) -> Path:
    folder = path / "honest"
    folder.mkdir()
    return folder


def _json(capsys: Capture, main: Any, *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)
