"""The search of games without a compiled core: it finds a win, blocks a loss, and answers as the core's does."""

import pytest

from ggp.bots.tree_search import TreeSearch
from ggp.engines.game import IllegalMove, State
from tests.third_party import tictactoe


def after(*moves: str) -> State:
    state = tictactoe.GAME.new({"wild": "off"})
    for move in moves:
        state.play(move)
    return state


def search(state: State, playouts: int = 200, megabytes: int = 1) -> TreeSearch:
    made = TreeSearch(state, 1, megabytes)
    made.run(playouts)
    return made


def test_a_move_that_wins_is_proven_and_first() -> None:
    votes = search(after("A1", "B1", "A2", "B2")).votes()
    assert votes[0][0] == "A3" and votes[0][3] == "win" and votes[0][2] == 1.0
    assert sum(visits for _, visits, _, _ in votes) == 200


def test_a_loss_is_blocked() -> None:
    assert search(after("A1", "B2", "A2"), 400).votes()[0][0] == "A3"


def test_what_was_found_is_kept_when_the_game_goes_on() -> None:
    found = search(after(), 300)
    line, before = found.line(), found.nodes
    assert line[0] == found.votes()[0][0] and before > 9
    found.play(line[0].lower())
    assert 1 < found.nodes < before and found.hash() == after(line[0]).hash()
    found.play(found.votes()[-1][0])
    with pytest.raises(IllegalMove):
        found.play(line[0])
    assert not found.swap_follows


def test_it_stops_at_its_limits() -> None:
    with pytest.raises(ValueError, match="a number of playouts or a time"):
        TreeSearch(after(), 1, 1).run()
    small = TreeSearch(after(), 1, 1)
    small._most = 20
    small.run(500)
    assert small.nodes <= 20 and sum(visits for _, visits, _, _ in small.votes()) == 500
    timed = TreeSearch(after(), 1, 1)
    timed.run(seconds=0.001)
    assert timed.votes() and timed.votes()[0][1] >= 1


def test_the_same_seed_finds_the_same() -> None:
    assert search(after("B2")).votes() == search(after("B2")).votes()
