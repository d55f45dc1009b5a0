"""Every position of the smallest hexagons, in core and model: what is legal, how it ends, which ones are equal."""

from typing import Any

import pytest

from tests.support.model_walk import CORES, MODELS, WalkCount

pytestmark = pytest.mark.slow

WHOLE_GAMES: list[tuple[str, dict[str, Any], int]] = [
    ("stigmergy", {"size": 2, "komi": 0}, 2_459),
    ("stigmergy", {"size": 2, "komi": -3}, 5_933),
    ("laido", {"size": 2, "pie": False, "half_point": "final"}, 12_357),
    ("laido", {"size": 2, "pie": True, "half_point": "first"}, 26_481),
]


@pytest.mark.parametrize(("game", "options", "positions"), WHOLE_GAMES)
def test_every_position_that_can_be_reached(game: str, options: dict[str, Any], positions: int) -> None:
    """Each position once, by the model's key; core and model agree there on all that the rules say."""
    seen = WalkCount()
    todo = [(CORES[game](**options), MODELS[game](**options))]
    seen.check(todo[0][1].key(), todo[0][0].hash())
    while todo:
        core, model = todo.pop()
        legal = model.legal_moves()
        assert core.legal_moves() == legal, core.board()
        for name in ("phase", "to_play", "seat", "result", "winner"):
            assert getattr(core, name) == getattr(model, name), (name, core.board())
        assert core.score_parts() == model.parts(), core.board()
        for move in legal:
            after = core.copy(), model.copy()
            for position in after:
                position.play(move)
            known = len(seen.hash_of)
            seen.check(after[1].key(), after[0].hash())
            if len(seen.hash_of) > known:
                todo.append(after)
    assert len(seen.hash_of) == positions
