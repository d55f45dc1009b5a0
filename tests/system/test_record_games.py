"""Records of every game, with random openings, swaps and bids: replayed, written as a script and as SGF, read again."""

import re
import tomllib
from pathlib import Path

import pytest

from ggp.protocol.records import Record, gtp_script, read_records
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.cli.import_ import main as main_import
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.engine import start_engine
from ggp.referee.match.record_forms import sgf
from ggp.referee.match.replay import verify
from tests.support import ROOT
from tests.support.memory_session import MemorySession
from tests.support.series import make_setup, play

pytestmark = pytest.mark.slow

OURS = sorted(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["ggp.games"]
)
SMALL = {
    "go": "size=4,agreement=on",
    "yugo": "size=4",
    "laido": "size=2,half_point=first",
    "taugo": "size=6",
    "stigmergy": "size=2",
    "taigo": "tiles=9",
}
WORDS = {"laido": {"swap-sides"}, "taugo": {"swap-sides"}, "stigmergy": {"swap-sides", "keep-sides"}}
"""What seat 2 says in some of the games."""


def records(game: str, openings: int) -> list[Record]:
    """Twelve matches between bots that play at random."""
    name = f"{game},{SMALL[game]}"
    setup = make_setup(name, "random:seed=1", "random:seed=2", openings=openings, games=12)
    kept = play(setup, tuple(range(12))).kept
    return list(read_records(b"".join(kept).splitlines(keepends=True)))


@pytest.mark.parametrize("openings", [0, 1, 4])
@pytest.mark.parametrize("game", OURS)
def test_records_come_out_as_they_were_played(game: str, openings: int) -> None:
    played = records(game, openings)
    assert len(played) == 12
    engine = run_blocking(start_engine(read_engine(None)))
    try:
        for record in played:
            assert record.end is not None and record.end.termination == "rules"
            moves = [ply.move for ply in record.plies]
            assert len(record.start.opening) == openings and moves[:openings] == list(record.start.opening)
            assert run_blocking(verify(record, engine, deep=True)) is None
    finally:
        run_blocking(engine.peer.stop())
    words = {ply.move for record in played for ply in record.plies}
    assert words >= (WORDS.get(game, set()) if openings < 4 else set())


@pytest.mark.parametrize("game", OURS)
def test_a_script_of_a_record_runs_in_the_engine(game: str) -> None:
    for record in records(game, 1):
        desk = MemorySession(game)
        for line in gtp_script(record).splitlines():
            answer = desk(line)
        assert record.end is not None
        assert answer == record.end.result or f"result={record.end.result} winner={record.end.winner}" in answer


@pytest.mark.parametrize("game", OURS)
def test_what_is_exported_as_sgf_is_imported_as_the_same_match(game: str, tmp_path: Path) -> None:
    """Bids, swaps, dead lists and all: the moves, options, seats, clocks, result and hash."""
    played = records(game, 1)
    (tmp_path / "games.sgf").write_text("".join(map(sgf, played)), encoding="utf-8")
    assert main_import([str(tmp_path / "games.sgf"), "-o", str(tmp_path / "games"), "--quiet"]) == 0
    back = list(read_records((tmp_path / "games").read_bytes().splitlines(keepends=True)))
    assert list(map(_kept, back)) == list(map(_kept, played))


def _kept(record: Record) -> object:
    start, end = record.start, record.end
    assert end is not None
    plies = [(ply.seq, ply.ply, ply.seat, ply.colour, ply.move, ply.left) for ply in record.plies]
    names = [bot.name for bot in start.bots]
    told = (end.result, end.winner, end.termination, end.plies, end.hash, end.score)
    return start.match, start.game, start.options, start.control, names, plies, told


@pytest.mark.parametrize("game", OURS)
def test_sgf_names_the_winner_by_the_colour_that_won(game: str) -> None:
    """PB and PW are who had the colours at the end: after a swap seat 1 was White."""
    swapped = 0
    for record in records(game, 0):
        root = dict(_properties(_nodes(sgf(record))[0]))
        one, two = (bot.name for bot in record.start.bots)
        assert one != two and record.end is not None
        last = record.plies[-1]
        assert root["PB" if last.colour == "black" else "PW"] == (one, two)[last.seat - 1]
        if record.end.winner:
            assert root["P" + record.end.result[0]] == (one, two)[record.end.winner - 1]
        swapped += (root["PB"], root["PW"]) == (two, one)
    assert (swapped > 0) == ("swap-sides" in WORDS.get(game, set()))


def _nodes(tree: str) -> list[str]:
    text = tree.strip()
    assert text.startswith("(;") and text.endswith(")")
    return re.findall(r";((?:[^;\[\]]|\[(?:\\.|[^\]\\])*\])*)", text[1:-1])


def _properties(node: str) -> list[tuple[str, str]]:
    found = re.findall(r"([A-Z]+)\[((?:\\.|[^\]\\])*)\]", node)
    return [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in found]
