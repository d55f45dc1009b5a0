"""Where seat and colour part: a series of a pie game, with scores by seat and by colour and forfeits after the swap."""

from pathlib import Path

import pytest

from ggp.engines.registry import GROUP
from ggp.protocol.records import read_records
from tests.engines.test_registry import distribute
from tests.support import ROOT
from tests.support.cli import PYTHON, Ran, ggp

pytestmark = pytest.mark.slow

SCRIPTED = """
import sys, time
moves, seat, ply = sys.argv[1].split(","), 0, 0
for line in sys.stdin:
    words = line.split()
    id = words.pop(0) if words[0].isdigit() else ""
    text = {"list_commands": "name version list_commands quit play genmove ggp-new"}.get(words[0], "")
    if words[0] == "ggp-new":
        ply = 0
    if words[0] == "play":
        ply += 1
    if words[0] == "genmove":
        text = moves[ply]
        ply += 1
        if text == "sleep":
            time.sleep(1)
            text = "C3"
    print(f"={id} {text}\\n", flush=True)
"""


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    distribute(site, "pie", f"[{GROUP}]\npie = tests.third_party.pie:GAME\n")
    monkeypatch.setenv("PYTHONPATH", f"{site}:{ROOT}")
    (tmp_path / "scripted.py").write_text(SCRIPTED, encoding="utf-8")
    return tmp_path


def play(folder: Path, moves: str) -> Ran:
    """Two games; both bots play the same moves, by ply."""
    command = f"{PYTHON} {folder / 'scripted.py'} {moves}"
    return ggp("match", "pie", f"a={command}", f"b={command}", "--games", "2", "--time", "0.4/move", "--jobs", "1",
               "--json", "--record", str(folder / "games"))  # fmt: skip


@pytest.mark.parametrize(
    ("moves", "result", "winner", "culprit"),
    [
        ("B2,swap-sides,A1,B1,A2,B3", "B+", 2, ""),  # black's stone is seat 1's, the game seat 2's
        ("B2,swap-sides,sleep", "B+T", 2, "seat1"),  # seat 1 is white, right after the swap
        ("B2,swap-sides,B2", "B+F", 2, "seat1"),
        ("B2,swap-sides,resign", "B+R", 2, ""),
        ("B2,swap-sides,A1,sleep", "W+T", 1, "seat2"),
        ("B2,sleep", "B+T", 1, "seat2"),
    ],
)
def test_results_name_colours_and_winners_seats(
    scripts: Path, moves: str, result: str, winner: int, culprit: str
) -> None:
    ran = play(scripts, moves)
    with (scripts / "games").open("rb") as file:
        ends = [record.end for record in read_records(file) if record.end]
    assert [(end.result, end.winner, end.culprit) for end in ends] == [(result, winner, culprit)] * 2, ran.err
    won = {"wins": 1, "draws": 0, "losses": 0, "points": 1.0}
    lost = {"wins": 0, "draws": 0, "losses": 1, "points": 0.0}
    for bot in ran.json["bots"]:
        assert (bot["seat1"], bot["seat2"]) == ((won, lost) if winner == 1 else (lost, won))
        assert bot["points"] == 1
    assert (ran.json["black"]["points"], ran.json["white"]["points"]) == ((2, 0) if result[0] == "B" else (0, 2))
    assert ggp("verify", str(scripts / "games")).status == 0
