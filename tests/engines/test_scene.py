"""Scenes say everything that a viewer needs, in one shape."""

import math

import pytest

from ggp.engines.scene import hexagon, lattice, open_square, piece
from ggp.protocol.drawing.scene import as_scene
from tests.support.memory_session import MemorySession, scene_of

KEYS = {"board", "cells", "lines", "dots", "labels", "pieces", "tokens", "last"}
STATUS = {"game", "options", "phase", "to_play", "seat", "ply", "result", "winner"}


@pytest.mark.parametrize("game", ["go size=9", "yugo size=9", "yugo size=2", "go size=25"])
def test_a_scene_has_one_shape_for_all_games(game: str) -> None:
    scene = scene_of(game)
    assert set(scene) == KEYS | STATUS
    size = scene["options"]["size"]
    assert scene["board"] == {"kind": "square", "width": size, "height": size}
    assert len(scene["cells"]) == size * size and len(scene["lines"]) == 2 * size
    assert scene["cells"][0] == {"at": f"A{size}", "x": 0, "y": 0}  # x to the right, y down
    assert {(label["x"], label["y"]) for label in scene["labels"]} == {
        *((x, y) for x in range(size) for y in (-1, size)),
        *((x, y) for x in (-1, size) for y in range(size)),
    }


def test_every_legal_point_is_a_cell_of_the_scene() -> None:
    session = MemorySession("go size=13")
    cells = {cell["at"] for cell in session.scene()["cells"]}
    assert cells == set(session("ggp-legal_moves").split()) - {"pass"}


def test_pieces_have_colour_kind_and_place() -> None:
    scene = scene_of("yugo size=3", "B1 A1 A2 C3")
    assert sorted(scene["pieces"], key=lambda entry: entry["at"]) == [
        {"at": "A2", "colour": "black", "kind": "king", "glyph": "#"},
        {"at": "B1", "colour": "black", "kind": "pawn", "glyph": "X"},
        {"at": "C3", "colour": "white", "kind": "pawn", "glyph": "O"},
    ]
    assert scene["last"] == ["C3"]
    assert scene_of("go size=5", "C3")["pieces"] == [piece("C3", "black", "stone", "X")]


def test_tokens_lie_beside_the_board() -> None:
    def tokens(game: str, moves: str) -> dict[tuple[str, str], float | None]:
        return {(entry["kind"], entry["owner"]): entry.get("value") for entry in scene_of(game, moves)["tokens"]}

    start: dict[tuple[str, str], float | None] = {
        ("captured", "black"): 0,
        ("captured", "white"): 0,
        ("komi", "white"): 7,
    }
    assert tokens("yugo", "") == {**start, ("button", "none"): None}
    assert tokens("yugo", "button") == {**start, ("button", "black"): None}
    assert tokens("yugo", "E5 button") == {**start, ("button", "white"): None}
    assert tokens("go komi=-0.5", "") == {**start, ("komi", "white"): -0.5}
    assert tokens("go size=5", "A2 A1 B1")["captured", "black"] == 1
    assert all(entry["text"] for entry in scene_of("yugo")["tokens"])


def test_the_status_is_in_the_scene() -> None:
    scene = scene_of("go size=5 komi=0.5 agreement=on", "C3 pass pass dead: dead:")
    status = {key: scene[key] for key in STATUS - {"options"}}
    assert status == {
        "game": "go",
        "phase": "over",
        "to_play": "none",
        "seat": 0,
        "ply": 5,
        "result": "B+24.5",
        "winner": 1,
    }
    assert scene["options"]["komi"] == 0.5 and scene["last"] == []


def test_dots_are_the_handicap_points_of_go() -> None:
    for size, stones in [(7, 4), (8, 4), (9, 9), (12, 4), (13, 9), (19, 9)]:
        scene = scene_of(f"go size={size} handicap={stones}")
        at = {cell["at"]: [cell["x"], cell["y"]] for cell in scene["cells"]}
        assert sorted(scene["dots"]) == sorted(at[entry["at"]] for entry in scene["pieces"])
    assert scene_of("go size=6")["dots"] == []


def test_one_position_does_not_show_in_another() -> None:
    session = MemorySession("go size=5")
    before = session("ggp-scene")
    session.play("C3")
    assert session("ggp-scene") != before
    assert MemorySession("go size=5")("ggp-scene") == before


def test_every_kind_of_board_is_a_scene() -> None:
    for scene, kind, cells in (
        (open_square(16), "square", 252),
        (hexagon(9, "points"), "points", 217),
        (hexagon(8, "hex"), "hex", 169),
        (lattice([(0, 0), (-1, 2)]), "hex", 2),
    ):
        assert as_scene(scene).board.kind == kind
        assert len({(cell["x"], cell["y"]) for cell in scene["cells"]}) == len(scene["cells"]) == cells


def test_the_columns_of_a_hexagon_slant_and_their_labels_say_where_they_begin() -> None:
    for side in range(2, 14):
        scene = hexagon(side, "points")
        at = {(cell["x"], cell["y"]): cell["at"] for cell in scene["cells"]}
        for label in scene["labels"]:
            if "to" in label:
                x, y = label["to"]
                assert at[x, y][0] == label["text"]
                assert math.hypot(x - label["x"], y - label["y"]) == pytest.approx(1, abs=1e-4)
            else:
                beside = [name for (x, y), name in at.items() if y == label["y"] and abs(x - label["x"]) == 1]
                assert [name[1:] for name in beside] == [label["text"]]


def test_no_line_is_drawn_where_the_board_has_none() -> None:
    scene = open_square(6)
    ends = {(x, y) for x1, y1, x2, y2 in scene["lines"] for x, y in ((x1, y1), (x2, y2))}
    edge = {(cell["x"], cell["y"]) for cell in scene["cells"] if {cell["x"], cell["y"]} & {0, 5}}
    assert ends == edge and len(edge) == 16
    assert all(x1 == x2 not in (0, 5) or y1 == y2 not in (0, 5) for x1, y1, x2, y2 in scene["lines"])
