"""`ggp bisect`: the first ply that differs, answers by chance or memory, the first version that changed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ggp.protocol.records import Record, read_records
from ggp.referee.tools.archive.bisect import main
from tests.support import TESTS
from tests.support.cli import ggp
from tests.support.memory_match import MemoryMatch, bot
from tests.support.series import make_setup, play

pytestmark = pytest.mark.slow

BOT = TESTS / "support" / "version_bot.py"
Capture = pytest.CaptureFixture[str]
MOVES = ["A1", "B1", "C1", "D1", "E1", "A2", "B2", "C2"]


def version(*words: object) -> str:
    return " ".join([sys.executable, str(BOT), *map(str, words)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A match that the first version played against itself, eight plies long."""
    path = tmp_path / "games.jsonl"
    one, two = bot([*MOVES[::2], "resign"]), bot(MOVES[1::2])
    path.write_bytes(MemoryMatch("go size=5 komi=0.5", one, two).run().record.lines())
    return path


def found(capsys: Capture, *words: object) -> Any:
    status = main([*map(str, words), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert status == (1 if result["ply"] else 0)
    return result


def test_versions_that_answer_alike(file: Path, capsys: Capture) -> None:
    assert main([str(file), "--good", version(), "--bad", version("small", 3)]) == 0
    assert capsys.readouterr().out == f"{file}#memory-1: they answer alike, all 8 times\n"


@pytest.mark.parametrize(
    ("ply", "seat", "first"), [(1, "both", 1), (4, "both", 4), (4, "1", 5), (7, "2", 8), (9, "both", 0)]
)
def test_the_first_ply_that_differs(file: Path, capsys: Capture, ply: int, seat: str, first: int) -> None:
    result = found(capsys, file, "--good", version(), "--bad", version("other", ply), "--seat", seat)
    assert result["ply"] == first
    if first:
        good, bad = result["answers"]
        assert (result["seat"], result["recorded"]) == (2 - first % 2, MOVES[first - 1])
        assert (good["move"], good["recorded"], good["illegal"]) == (MOVES[first - 1], True, "")
        assert (bad["move"], bad["recorded"], bad["alone"]) == (([*MOVES, "D2"])[first], False, ([*MOVES, "D2"])[first])
        assert good["by_chance"] == bad["by_chance"] == 0 and result["place"] == f"{file}#memory-1@{first - 1}"


def test_the_text_report(file: Path, capsys: Capture) -> None:
    assert main([f"{file}#memory-1", "--good", version(), "--bad", version("other", 4)]) == 1
    assert (
        capsys.readouterr().out
        == f"""{file}#memory-1: ply 4 of 8 (seat 2, white): the answers differ

      A B C D E
    5 . . . . . 5
    4 . . . . . 4
    3 . . . . . 3
    2 . . . . . 2
    1 X O(X). . 1
      A B C D E

recorded: D1
good:     D1 (as recorded)
          it lists no set_random_seed, and answered the same twice
bad:      E1
          it lists no set_random_seed, and answered the same twice
It is so in this position alone, too.
Look at it: ggp show {file}#memory-1@3, ggp console --match {file}#memory-1@3
"""
    )


def test_both_follow_the_record_when_neither_plays_it(file: Path, capsys: Capture) -> None:
    result = found(capsys, file, "--good", version("other", 3), "--bad", version("illegal", 6))
    assert result["ply"] == 3  # seat 1
    result = found(capsys, file, "--good", version("other", 2), "--bad", version("other", 2))
    assert (result["ply"], result["asked"]) == (0, 8)


def test_faults_are_answers(file: Path, capsys: Capture) -> None:
    for fault, said in (("illegal", "Z9"), ("resigns", "resign"), ("dies", "(disconnected: ")):
        result = found(capsys, file, "--good", version(), "--bad", version(fault, 4))
        assert result["ply"] == 4
        bad = result["answers"][1]
        assert bad["move"].startswith(said) and bad["alone"].startswith(said) and bad["by_chance"] == 0
        assert bad["illegal"].startswith("illegal move" if fault == "illegal" else "")


def test_an_answer_that_needs_the_game_before_it(file: Path, capsys: Capture) -> None:
    assert main([str(file), "--good", version(), "--bad", version("mindful", 5), "--seat", "1"]) == 1
    out = capsys.readouterr().out
    assert "bad:      A2 (set up here alone: E1)" in out
    assert "It takes what came before: set up here alone, they answer alike." in out


def test_an_answer_by_chance_is_reported(file: Path, tmp_path: Path, capsys: Capture) -> None:
    words = [str(file), "--good", version(), "--bad", version("chance", 5, tmp_path / "starts"), "--seat", "1"]
    result = found(capsys, *words)
    assert result["ply"] == 5 and [bot["by_chance"] for bot in result["answers"]] == [0, 5]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "by chance: led there again it answered otherwise at ply 5 (it got no seed: give it one" in out
    assert "in this position alone" not in out


def test_the_seed_of_the_match_is_reported(file: Path, capsys: Capture) -> None:
    one = found(capsys, file, "--good", version(), "--bad", version("seeded", 1), "--seed", "5")
    assert one["answers"][1]["move"] == "A2" and one["seed"] == 5
    assert [bot["seeded"] for bot in one["answers"]] == [False, True]
    other = found(capsys, file, "--good", version(), "--bad", version("seeded", 1), "--seed", "none")
    assert other["ply"] == 0  # its own is 0
    assert main([str(file), "--good", "random", "--bad", "random", "--seed", "many"]) == 2


def test_the_first_version_that_changed_is_found_by_halving(file: Path, capsys: Capture) -> None:
    between = [word for ply in (99, 98, 97, 5, 5) for word in ("--version", version("other", ply))]
    words = [file, "--good", version(), "--bad", version("other", 5), "--seat", "1", *between]
    result = found(capsys, *words)
    assert result["ply"] == 5 and result["first_changed"] == version("other", 5)
    assert len(result["versions"]) == 2  # of five
    assert main(list(map(str, words))) == 1
    assert f"The first version that answers otherwise: {version('other', 5)}" in capsys.readouterr().out


def test_a_match_of_a_ladder_is_replayed_with_its_seeds(tmp_path: Path, capsys: Capture) -> None:
    setup = make_setup("yugo,size=4", "random", "random", seeded=True, name="club-fast")
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"".join(play(setup).kept))
    last: Record
    *_, last = read_records(path.read_bytes().splitlines(keepends=True))
    for place in (path, f"{path}#{last.start.match}"):
        assert main([str(place), "--check-replay", "random"]) == 0
        assert "it plays what the record says, all " in capsys.readouterr().out
    result = found(capsys, path, "--check-replay", "random", "--seed", "7")
    assert result["ply"] and not result["answers"][0]["recorded"]
    assert found(capsys, f"{path}@-3", "--check-replay", "random")["asked"] <= 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "two versions are compared"),
        (["--good", "random"], "two versions are compared"),
        (["--check-replay", "random", "--good", "random"], "asks one bot"),
        (["--good", "random", "--bad", "./nothing"], "./nothing does not exist"),
        (["--good", "random", "--bad", "random", "--time", "soon"], "time control 'soon'"),
        (["--good", "random", "--bad", "/bin/true"], "does not start"),
        (["--good", "random", "--bad", "random", "--engine", "/bin/true"], "the engine does not start"),
    ],
)
def test_invalid_requests_are_one_line(file: Path, words: list[str], reason: str, capsys: Capture) -> None:
    assert main([str(file), *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("ggp bisect: ") and reason in err and err.count("\n") == 1
    assert main([f"{file}@99", "--check-replay", "random"]) == 2


def test_nothing_is_left_running(file: Path) -> None:
    ran = ggp("bisect", str(file), "--good", version(), "--bad", version("dies", 3), "--json", "--time", "10+1")
    assert ran.status == 1 and ran.json["ply"] == 3
