"""Our games as games of OpenSpiel: its own algorithms play them, and every position is the one of our rules."""

import random
from typing import Any

import pytest

from ggp.engines.game import read_options
from ggp.engines.registry import Registry

pytestmark = pytest.mark.needs("pyspiel")

CASES = [
    ("go", {"size": 3}),
    ("go", {"size": 2, "komi": 0.5, "ko": "simple"}),
    ("laido", {"size": 3}),
    ("laido", {"size": 3, "pie": "off", "half_point": "first"}),
    ("stigmergy", {"size": 3}),
    ("stigmergy", {"size": 2, "komi": "4"}),
    ("taugo", {"size": 7}),
    ("taugo", {"size": 6, "cut_from": "any", "pie": "off"}),
    ("yugo", {"size": 4}),
    ("yugo", {"size": 3, "komi": 3, "handicap": 2}),
]


def load(name: str, options: dict[str, Any]) -> Any:
    import pyspiel

    from ggp.engines.adapters.openspiel_games import register

    register()
    return pyspiel.load_game(f"ggp_{name}", options)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_positions_are_those_of_our_rules(name: str, options: dict[str, Any]) -> None:
    game, ours = load(name, options), Registry().load(name)
    for seed in range(3):
        chance, state = random.Random(seed), game.new_initial_state()
        home = ours.new(read_options(ours, [f"{key}={value}" for key, value in options.items()]))
        plies = 0
        while not state.is_terminal():
            player, actions = state.current_player(), state.legal_actions()
            words = [state.action_to_string(player, action) for action in actions]
            assert sorted(words) == home.legal_moves() and player == home.seat - 1
            assert max(actions) < game.num_distinct_actions()
            action = chance.choice(actions)
            twin = state.clone()
            state.apply_action(action)
            assert len(twin.history()) == plies and twin.legal_actions() == actions  # a clone is a clone
            home.play(words[actions.index(action)])
            plies += 1
        assert plies <= game.max_game_length()
        wins = {0: [0.0, 0.0], 1: [1.0, -1.0], 2: [-1.0, 1.0]}
        assert state.returns() == wins[home.winner] and home.phase == "over"
        assert "Game over" not in str(state) and str(state)


def test_a_state_is_written_and_read_back() -> None:
    import pyspiel

    game = load("yugo", {"size": 4})
    state = game.new_initial_state()
    for _ in range(3):
        state.apply_action(state.legal_actions()[0])
    again, read = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))
    assert read.history() == state.history() and str(read) == str(state) and str(again) == str(game)
    assert read.legal_actions() == state.legal_actions()


def test_pieces_are_planes_of_the_tensor() -> None:
    game = load("yugo", {"size": 3})
    observer, state = game.make_py_observer(), game.new_initial_state()
    state.apply_action(next(a for a in state.legal_actions() if state.action_to_string(0, a) == "B2"))
    observer.set_from(state, 0)
    planes = observer.dict["observation"]
    assert planes.shape == (5, 9) and planes[0].sum() == 1 and planes[1:4].sum() == 0 and planes[4].sum() == 0
    assert "X" in observer.string_from(state, 0)


def test_algorithms_of_openspiel_play_them() -> None:
    import numpy as np
    from open_spiel.python.algorithms import mcts

    game = load("taugo", {"size": 6})
    chance = np.random.RandomState(1)
    bot = mcts.MCTSBot(game, 2.0, 10, mcts.RandomRolloutEvaluator(1, chance), random_state=chance)
    state = game.new_initial_state()
    assert bot.step(state) in state.legal_actions()


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("go", {"size": 5}, "too long for OpenSpiel"),
        ("yugo", {"agreement": "on"}, "too many possible moves"),
        ("yugo", {"size": 99}, "size must be an integer"),
    ],
)
def test_what_openspiel_cannot_have_is_refused_with_the_reason(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        load(name, options)


def test_registering_again_is_no_error_and_taigo_is_not_there() -> None:
    from ggp.engines.adapters.openspiel_games import register

    assert register() == register() == ["ggp_go", "ggp_laido", "ggp_stigmergy", "ggp_taugo", "ggp_yugo"]
