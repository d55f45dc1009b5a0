"""Moves that lead to the same position: the bot `random` counts them once."""

import pytest

from ggp.bots.clock import BotClock
from ggp.bots.position import Position
from ggp.bots.random import make_choose
from ggp.bots.rng import BotRng
from ggp.engines.game import read_options
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry

GAMES = Registry().names()


def position(game: str, moves: str = "", options: str = "") -> Position:
    line = GameHistory(Registry().load(game), read_options(Registry().load(game), options.split()))
    for move in moves.split():
        line.play(line.state.to_play, move)
    return Position(line, line.state.copy(), BotClock())


def test_two_runs_that_fill_the_same_points_count_once() -> None:
    at = position("taugo", "D2 G7 D6 G5", "size=8")
    assert {"D3+D4+D5", "D5+D4+D3"} < set(at.legal_moves())
    distinct = at.distinct_moves()
    assert "D3+D4+D5" in distinct and "D5+D4+D3" not in distinct
    assert set(distinct) < set(at.legal_moves()) and distinct == sorted(distinct)


def test_random_never_plays_the_second_way() -> None:
    seen: set[str] = set()
    chance = BotRng(1)
    for seed in range(400):
        chance.begin_match(seed)
        seen.add(make_choose(chance)(position("taugo", "D2 G7 D6 G5", "size=8")))
    assert "D3+D4+D5" in seen and "D5+D4+D3" not in seen


@pytest.mark.parametrize("game", GAMES)
def test_moves_have_the_same_effect_exactly_where_they_lead_to_the_same_position(game: str) -> None:
    kind = Registry().load(game)
    at = position(game, options="" if game == "taigo" else f"size={6 if game == 'taugo' else 4}")
    for seed in range(12):
        if at.phase == "over":
            break
        hashes: dict[object, set[int]] = {}
        moves = at.legal_moves()[:80]
        for move in moves:
            after = at.copy()
            after.play(move)
            hashes.setdefault(kind.effect(move), set()).add(after.hash())
        assert all(len(found) == 1 for found in hashes.values())
        assert len(hashes) == len({next(iter(found)) for found in hashes.values()}), "different effects differ"
        at.play(moves[seed * 7 % len(moves)])
