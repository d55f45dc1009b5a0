"""`ggp openings make`: books that are balanced, the same for any number of jobs, and that ggp match plays."""

import signal
import time
from pathlib import Path

import pytest

from ggp.referee.match.balance import DrawnOpening, OpeningSelection
from tests.support.cli import PYTHON, Ggp, ggp

WORDS = ("openings", "make", "yugo,size=5", "--plies", "3", "--bot", "mcts:playouts=60")
SILENT = """\
import sys
for line in sys.stdin:
    word = line.split()[0] if line.split() else ""
    answer = {{"list_commands": "play\\ngenmove\\nggp-new{more}", "genmove": "A1", "name": "silent"}}.get(word, "")
    if word.startswith("ggp-genmove"):
        answer = "A1\\n{{}}"
    print(f"= {{answer}}\\n", flush=True)
    if word == "quit":
        break
"""


def test_what_is_kept() -> None:
    found = OpeningSelection(within=0.1)
    for number, (hash, chance) in enumerate(
        [("a", 0.5), ("a", 0.5), ("b", 0.45), ("c", 0.551), ("c", 0.5), ("d", None), ("e", 0.55), ("f", 0.449)]
    ):
        found.add(DrawnOpening(number, (f"M{number}",), hash, chance))
    assert [one.hash for one in found.kept] == ["a", "b", "e"]
    assert (found.drawn, found.twice, found.uneven, found.over) == (8, 2, 2, 1)
    without = OpeningSelection(within=1)
    for moves in (("A1", "B2"), ("B2", "A1"), ("A1", "B2")):
        without.add(DrawnOpening(0, moves, "", 0.5))
    assert len(without.kept) == 2, "an engine without hashes: the same moves are the same position"


@pytest.mark.slow
def test_a_book_does_not_depend_on_the_jobs_and_is_played(tmp_path: Path) -> None:
    book, other = tmp_path / "book.txt", tmp_path / "other.txt"
    made = ggp(*WORDS, "--count", "8", "--jobs", "1", "-o", str(book), "--json")
    assert made.status == 0, made.err
    again = ggp(*WORDS, "--count", "8", "--jobs", "3", "-o", str(other), "--quiet")
    assert again.status == 0 and again.out == again.err == ""
    assert book.read_text(encoding="utf-8") == other.read_text(encoding="utf-8")
    openings = made.json["openings"]
    assert len(openings) == len({one["hash"] for one in openings}) == 8
    assert all(len(one["moves"]) == 3 and abs(one["chance"] - 0.5) <= 0.05 + 1e-9 for one in openings)
    assert made.json["drawn"] == 8 + made.json["twice"] + made.json["uneven"] + made.json["over"]
    lines = [line for line in book.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert [line.partition("#")[0].split() for line in lines] == [one["moves"] for one in openings]
    played = ggp("match", "yugo,size=5", "random", "random", "--games", "16", "--openings", str(book), "--json")
    assert played.status == 0, played.err
    assert ggp(*WORDS, "--count", "8", "--seed", "2").out != book.read_text(encoding="utf-8")


@pytest.mark.slow
def test_too_few_are_written_and_counted(tmp_path: Path) -> None:
    """A board of 3x3 has nine first moves."""
    words = ("openings", "make", "yugo,size=3", "--plies", "1", "--bot", "mcts:playouts=20", "--within", "100")
    ran = ggp(*words, "--count", "10", "--tries", "200", "-o", str(tmp_path / "book.txt"), "--quiet")
    (line,) = ran.err.splitlines()
    assert ran.status == 1 and " of 10 openings among 200 that were drawn (" in line and "that is there" in line
    kept = int(line.split("found ")[1].split()[0])
    assert kept == len((tmp_path / "book.txt").read_text(encoding="utf-8").splitlines()) - 1 and 0 < kept < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["yugoo"], "the engine does not know the game 'yugoo'"),
        (["yugo,size=3", "--plies", "60"], "found 0 of 100 openings among 20 that were drawn (20 over before"),
        (["yugo", "--bot", "nothing-like-it"], "nothing-like-it"),
        (["yugo", "--bot", f"{PYTHON} silent.py"], "lists no ggp-genmove_analyze"),
        (["yugo", "--bot", f"{PYTHON} analyst.py"], "reports no winrate with its moves"),
        (["yugo", "--within", "nan"], "nan is not a number"),
        (["yugo", "--count", "1", "--within", "100", "-o", "no/book.txt"], "no/book.txt cannot be written"),
    ],
)
def test_what_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], problem: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("silent.py").write_text(SILENT.format(more=""), encoding="utf-8")
    Path("analyst.py").write_text(SILENT.format(more="\\nggp-genmove_analyze"), encoding="utf-8")
    ran = ggp("openings", "make", *words, "--tries", "20", "--jobs", "2")
    assert ran.status == (1 if "found" in problem else 2)
    assert len(ran.err.splitlines()) == 1 and problem in ran.err


@pytest.mark.slow
def test_a_search_that_is_stopped_writes_what_it_found(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    words = ("yugo,size=5", "--bot", "mcts:playouts=5", "--within", "40", "--count", "100000", "--jobs", "1")
    making = Ggp("openings", "make", *words, "-o", str(book))
    time.sleep(3)
    making.process.send_signal(signal.SIGINT)
    ended = making.wait(60)
    kept = [line for line in book.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert ended.status == 130 and f"stopped: {len(kept)} of 100000 openings were found and written" in ended.err
