"""`showboard` of every game, at its default, largest and smallest: legible in 100 columns, in every position."""

import random

import pytest

from engines.registry import Registry
from protocol.drawing import svg, text
from protocol.drawing.scene import read_scene
from tests.support.memory_session import MemorySession

LARGEST = {
    "go": "size=25 ko=simple",
    "yugo": "size=25",
    "taugo": "size=25",
    "laido": "size=13",
    "stigmergy": "size=13 komi=5",
    "taigo": "tiles=200 dark_cones=20 light_cones=20",
}
SMALLEST = {"stigmergy": "size=2 komi=3", "taugo": "size=6", "taigo": "tiles=2"}


@pytest.mark.parametrize("game", Registry().names())
@pytest.mark.parametrize("size", ["default", "largest", "smallest"])
def test_a_random_game_is_legible_to_its_end(game: str, size: str) -> None:
    options = {"default": "", "largest": LARGEST[game], "smallest": SMALLEST.get(game, "size=2")}[size]
    desk, chance = MemorySession(f"{game} {options}"), random.Random(f"{game} {size}")
    for ply in range(400):
        if ply < 12 or ply % 25 == 0 or desk.fields()["phase"] == "over":
            _check(desk)
        moves = desk("ggp-legal_moves").split()
        if not moves:
            break
        cells = [move for move in moves if move != "pass"] or moves
        desk.play(chance.choice(cells if ply < 300 else moves))
    assert desk.fields()["ply"] != "0"


def _check(desk: MemorySession) -> None:
    scene, shown = read_scene(desk("ggp-scene")), desk("showboard")
    assert max(map(len, shown.split("\n"))) <= 100
    board = text.draw(scene)
    assert shown == "\n".join(["", board, *text.describe(scene)])
    assert ("(" in board) == bool(scene.last)
    for glyph in "#@":  # which no label holds
        assert board.count(glyph) == sum(piece.glyph == glyph for piece in scene.pieces)
    picture = svg.draw(scene)
    assert picture.count('<g class="piece"') == len(scene.pieces)
    assert all(f' data-at="{piece.at}"' in picture for piece in scene.pieces)
