"""Bots in ten languages, GNU Go, `mcts` and `oneshot` play under the strictest level that is to be had here.

The sandbox ends none of their games, and what is drawn from seeds comes out as without it. `GGP_GAMES=50` makes it
shorter: so many games, of 500.
"""

import os
import shlex
import sys
from pathlib import Path
from shlex import quote

import pytest

from ggp.protocol.records import Record, read_records
from ggp.referee.match.sandbox.machine import this_machine
from tests.support import ROOT
from tests.support.cli import PYTHON, ggp
from tests.system.test_languages import EACH, made

pytestmark = pytest.mark.long

GAMES = int(os.environ.get("GGP_GAMES", "500"))
LEVEL = "strict" if not this_machine().missing else "default"
EACH_PROGRAM = -(-GAMES // 13 // 2) * 2
GNUGO = "gnugo --mode gtp --level 1 --seed 7 --chinese-rules --capture-all-dead --positional-superko"
ONESHOT = f"{PYTHON} -m ggp.bots oneshot -- sh {quote(str(ROOT / 'bots/examples/one_move.sh'))}"
SEEDED = [
    pytest.param("yugo,size=5", "mcts:playouts=40,seed=6", id="mcts"),
    pytest.param("go,size=7", GNUGO, id="gnugo", marks=pytest.mark.needs("gnugo")),
]


def play(folder: Path, level: str, game: str, bot: str, *words: str) -> list[Record]:
    """Every game of a match against `random`, whose draws are the same each time; the record is in this folder."""
    record = folder / f"{level}.jsonl"
    options = ("--games", str(EACH_PROGRAM), "--time", "none", "--sandbox", level, "--record", str(record), "--json")
    ran = ggp("match", game, f"bot={bot}", "random=random:seed=5", *options, *words, seconds=1800)
    assert ran.status == 0, ran
    return list(read_records(record.read_bytes().splitlines(keepends=True)))


def ends(records: list[Record]) -> set[tuple[str, str]]:
    """How they ended, and by whose fault."""
    return {(one.end.termination, one.end.culprit) if one.end else ("no end", "") for one in records}


@pytest.mark.parametrize("language", EACH)
def test_an_example_plays_in_the_sandbox(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own engine is a process that it starts there."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / "bot").mkdir()
    words = made(language, tmp_path / "bot")
    played = play(tmp_path, LEVEL, "yugo,size=4", shlex.join(words))
    assert len(played) == EACH_PROGRAM
    assert ends(played) == {("rules", "")}


def test_a_program_for_every_move_plays_in_the_sandbox(tmp_path: Path) -> None:
    played = play(tmp_path, LEVEL, "yugo,size=4", ONESHOT)
    assert (len(played), ends(played)) == (EACH_PROGRAM, {("rules", "")})


@pytest.mark.parametrize(("game", "bot"), SEEDED)
def test_games_are_those_that_are_played_without_a_sandbox(game: str, bot: str, tmp_path: Path) -> None:
    confined, free = (play(tmp_path, level, game, bot, "--jobs", "1") for level in (LEVEL, "none"))
    assert ends(confined) <= {("rules", ""), ("resignation", "")}
    assert [_played(one) for one in confined] == [_played(one) for one in free]


def _played(record: Record) -> tuple[list[str], str]:
    assert record.end is not None
    return [ply.move for ply in record.plies], record.end.result
