"""Taking back: after any number of plies of any kind the position is the one that stood, by its hash and its moves."""

from random import Random

import pytest

from ggp.engines.game import read_options
from ggp.engines.history import GameHistory
from ggp.engines.registry import Registry
from tests.support.model_walk import MODELS, SMALL, choose, random_options

GAMES = tuple(MODELS)


def take_back_games(game: str, seeds: range, max_plies: int) -> int:
    """Random games of all styles, each taken back ply by ply and in leaps; the number of plies."""
    rules, plies = Registry().load(game), 0
    for seed in seeds:
        random = Random(f"{game} {seed}")
        options = random_options(game, random, SMALL[game])
        line = GameHistory(rules, read_options(rules, [f"{name}={_word(value)}" for name, value in options.items()]))
        model = MODELS[game](**options)
        before = model.copy()
        stood = [(line.state.hash(), line.state.legal_moves())]
        while model.phase != "over" and model.ply < max_plies:
            move = choose(model, before, random, random.choice(["rare", "wordy", "uniform"]))
            before = model.copy()
            line.play(line.state.to_play, move)
            model.play(move)
            stood.append((line.state.hash(), line.state.legal_moves()))
        plies += len(line.plies)
        for count in random.sample(range(len(stood)), min(len(stood), 5)):  # leaps
            state = line.taken_back(count).state
            assert (state.hash(), state.legal_moves()) == stood[-1 - count], (seed, options, line.plies, count)
        while line.plies:
            line = line.taken_back(1)
            stood.pop()
            assert (line.state.hash(), line.state.legal_moves()) == stood[-1], (seed, options, line.plies)
    return plies


def _word(value: object) -> str:
    """An option of a model as it is written on the wire."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "bid" if value is None else str(value)


@pytest.mark.parametrize("game", GAMES)
def test_every_ply_can_be_taken_back(game: str) -> None:
    assert take_back_games(game, range(15), 60) > 100


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_every_ply_of_many_games_can_be_taken_back(game: str) -> None:
    assert take_back_games(game, range(1_000, 1_500), 150) > 4_000
