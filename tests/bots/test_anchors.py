"""The anchors: their ladder is one that runs, and the page about it is about these bots and pools and adds up."""

import math
import re

import pytest

from ggp.bots.clock import BotClock
from ggp.bots.position import Position
from ggp.engines.game import read_options
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry
from ggp.referee.ladder.config import read_ladder
from tests.support import ROOT

LADDER = read_ladder(ROOT / "bots" / "anchors.toml")
GAMES = 2 * (LADDER.format.pairs or 0)  # of each two
BOTS = [bot.name for bot in LADDER.bots]
PAGE = (ROOT / "docs" / "reference" / "anchors.md").read_text(encoding="utf-8")
SECTIONS = [section for section in PAGE.split("\n## ") if "| bot |" in section]


@pytest.mark.needs("gnugo")
def test_the_file_against_gnu_go_has_mcts_meet_both() -> None:
    outside = read_ladder(ROOT / "bots" / "gnugo.toml")
    assert [bot.name for bot in outside.bots] == ["mcts", "gnugo-1", "gnugo-10"]
    assert [pool.name for pool in outside.pools] == ["go9", "go13"] and "ggp ladder run bots/gnugo.toml" in PAGE


def test_the_file_against_openspiel_has_mcts_meet_its_search() -> None:
    outside = read_ladder(ROOT / "bots" / "openspiel.toml")
    assert [bot.name for bot in outside.bots] == ["mcts", "openspiel"]
    assert 2 * (outside.format.pairs or 0) == 200 and "ggp ladder run bots/openspiel.toml" in PAGE


@pytest.mark.needs("pyspiel")
def test_openspiels_search_plays_our_go() -> None:
    from tests.bench.openspiel_go import TimedSearch, state_of

    game = Registry().load("go")
    line = GameHistory(game, read_options(game, ["size=5", "komi=3.5"]))
    search = TimedSearch(0.001)
    search.begin_match(1)
    for ply in range(12):
        position = Position(line, line.state.copy(), BotClock())
        state = state_of(position)
        assert state.current_player() == ply % 2 and len(state.history()) == ply
        line.play(position.to_play, search.choose(position))


def test_each_pool_has_a_table() -> None:
    assert [re.findall(r"\(`(\w+)`\)", section)[0] for section in SECTIONS] == [pool.name for pool in LADDER.pools]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.split(",")[0].split()[0])
def test_the_table_adds_up(section: str) -> None:
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert [words[0].strip("`") for words in lines] == BOTS
    cells = [[None if cell == "·" else cell.split("/") for cell in words[2 : 2 + len(BOTS)]] for words in lines]
    for i, row in enumerate(cells):
        assert row[i] is None
        for j, cell in enumerate(row):
            if cell is not None:
                points, games = map(float, cell)
                other = cells[j][i]
                assert other is not None and float(other[0]) == games - points and float(other[1]) == games == GAMES
        if i > 0:
            step = row[i - 1]
            assert step is not None and lines[i][-1] == shown(float(step[0]), int(step[1]))
            assert float(step[0]) >= 0.75 * GAMES, "each step is one"


def test_the_scores_against_gnu_go_add_up() -> None:
    rows = re.findall(r"^\| (level \d+|\d+×\d+) \| ([\d.]+)/(\d+) \| (.*) \|$", PAGE, re.M)
    assert [(row[0], int(row[2])) for row in rows] == [("9×9", 100), ("13×13", 29), ("level 1", 100), ("level 10", 100)]
    for _, points, games, step in rows:
        assert step == shown(float(points), int(games))


def shown(points: float, games: int) -> str:
    """The score with its 95 % interval: Wilson 1927."""
    z, share = 1.96, points / games
    middle = (share + z * z / 2 / games) / (1 + z * z / games)
    half = z * math.sqrt(share * (1 - share) / games + z * z / 4 / games**2) / (1 + z * z / games)
    return f"{100 * share:.1f} % [{100 * (middle - half):.1f}, {100 * (middle + half):.1f}]"
