"""Positions that are set up: core and model, given the board that a game reached, go on alike."""

from random import Random
from typing import Any

import pytest

from tests.support.model_walk import CORES, MODELS
from tests.support.walk_moves import choose

OPTIONS: dict[str, dict[str, Any]] = {
    "go": {"size": 4},
    "laido": {"size": 3},
    "stigmergy": {"size": 3, "komi": 3},
    "taigo": {"dark_cones": 2, "light_cones": 3},
    "taugo": {"size": 7},
    "yugo": {"size": 4},
}


@pytest.mark.parametrize("game", MODELS)
def test_a_position_is_set_up_alike(game: str) -> None:
    random, options = Random(game), OPTIONS[game]
    for _ in range(12):
        played = MODELS[game](**options)
        for _ in range(random.randint(0, 25)):
            if played.phase == "over":
                break
            played.play(choose(played, played, random, "rare"))
        side = random.choice(["black", "white"])
        core, model = CORES[game](**options), MODELS[game](**options)
        for one in (core, model):
            one.set_up(played.board(), side)
        for _ in range(3):
            assert core.board() == model.board()
            assert (core.phase, core.to_play, core.seat, core.ply) == (
                model.phase,
                model.to_play,
                model.seat,
                model.ply,
            )
            assert core.legal_moves() == model.legal_moves(), (played.board(), side)
            for colour, parts in model.parts().items():
                assert {name: core.score_parts()[colour][name] for name in parts} == parts
            if model.phase == "over":
                break
            move = random.choice(model.legal_moves())
            assert core.play(move) == model.play(move)
