"""Taigo at the engine's prompt: its drawing, its hash, its view for GTP; and random moves that are exactly uniform."""

import json
from typing import Any

import pytest

from ggp.engines import _core
from ggp.engines.games.taigo import GAME
from tests.support.memory_session import MemorySession
from tests.support.positions import FOUR, RING, TWO, chi_square, on, taigo_board, walls

Taigo = _core.Taigo


def session(moves: str = "", options: str = "") -> MemorySession:
    session = MemorySession(f"taigo {options}".strip())
    session.play(moves)
    return session


def scene(moves: str = "") -> Any:
    return session(moves).scene()


def test_the_drawing_shows_tiles_and_where_tiles_can_reach() -> None:
    drawing = scene("0,-1/1,-1")
    assert drawing["board"]["kind"] == "hex"
    assert {(p["at"], p["colour"], p["kind"], p["glyph"]) for p in drawing["pieces"]} == {
        ("0,0", "black", "tile", "X"),
        ("1,0", "white", "tile", "O"),
        ("0,-1", "black", "tile", "X"),
        ("1,-1", "white", "tile", "O"),
    }
    assert drawing["joins"] == [["0,0", "1,0"], ["0,-1", "1,-1"]]
    assert drawing["last"] == ["0,-1", "1,-1"]
    assert [(token["kind"], token["owner"], token["value"]) for token in drawing["tokens"]] == [
        ("cones", "black", 5),
        ("cones", "white", 5),
        ("tiles", "none", 38),
    ]
    cells = {cell["at"] for cell in drawing["cells"]}
    named = {half for move in session("0,-1/1,-1")("ggp-legal_moves").split() for half in move.split("/")}
    assert cells == named | {"0,0", "1,0", "0,-1", "1,-1"}


def test_the_drawing_shows_cones() -> None:
    state = GAME.new({"dark_cones": 1, "light_cones": 2, "tiles": 40})
    state.core.set_up(RING, "black")
    state.play("0,-1/1,-1+d:0,0")
    drawing = state.scene()
    assert [piece for piece in drawing["pieces"] if piece["kind"] == "cone"] == [
        {"at": "0,0", "colour": "black", "kind": "cone", "glyph": "#"}
    ]
    assert drawing["joins"] == [["0,-1", "1,-1"]]
    assert drawing["last"] == ["0,-1", "1,-1", "0,0"]
    assert state.groups() == [["-1,0"], ["-1,1"], ["0,-1", "1,-1"], ["0,0"], ["0,1"], ["1,0"]]


def test_gtp_sees_a_window_and_no_score() -> None:
    taigo = session("0,-1/1,-1")
    assert taigo("final_status_list alive") == "0,-1 1,-1\n0,0 1,0"
    assert taigo.fails("final_score") == "cannot score"
    assert json.loads(taigo("ggp-score")) == {
        "black": {"total": None, "longest_line": 2, "cones_left": 5},
        "white": {"total": None, "longest_line": 2, "cones_left": 5},
        "final": False,
    }
    for size in (9, 50, 52, -51):
        assert taigo.fails(f"boardsize {size}") == "unacceptable size"
    assert "ply=1" in taigo("ggp-status")
    taigo("komi 6.5")
    taigo("boardsize 51")
    assert "ply=0" in taigo("ggp-status")


def test_the_end_at_the_prompt() -> None:
    taigo = session("0,-1/1,-1", "tiles=2")
    assert taigo("ggp-status") == "phase=over to_play=none seat=0 ply=1 result=0 winner=0"
    assert taigo("final_score") == "0"
    assert taigo("ggp-legal_moves") == ""
    taigo("ggp-undo")
    assert taigo("ggp-status") == "phase=play to_play=black seat=1 ply=0"


# --- hashes: the colours of cells, options, cones, tiles, side, result ---------------------------------------------


def board(text: str, side: str = "black", **options: int) -> int:
    return int(taigo_board(Taigo, text, side, **options).hash())


def test_hashes_know_colours_and_places_and_nothing_else_of_the_board() -> None:
    assert board("0,0=X 1,0=O") == Taigo().hash() == board("1,0=O 0,0=X") == board("0,0=x 1,0=o")
    others = ["0,0=O 1,0=X", "0,0=X", "1,0=X 2,0=O", "0,1=X 1,0=O", "0,0=X 1,0=O 5,5=X", "-1,0=X 1,0=O"]
    assert len({board(text) for text in ["0,0=X 1,0=O", *others]}) == 1 + len(others)


def test_hashes_know_side_options_supply_and_tiles() -> None:
    hashes = [
        board("0,0=X 1,0=O", side, dark_cones=dark, light_cones=light, tiles=tiles)
        for side in ("black", "white")
        for dark in (4, 5)
        for light in (4, 5)
        for tiles in (39, 40)
    ]
    assert len(set(hashes)) == 16


def after(moves: str) -> Any:
    state = Taigo()
    for move in moves.split():
        state.play(move)
    return state


def test_hashes_know_neither_order_nor_which_halves_are_one_tile() -> None:
    """Dark 2,0 and 3,-2, light 2,-1 and 3,-1: each dark cell is adjacent to each light one."""
    one, crossed, turned = after("2,0/2,-1 3,-2/3,-1"), after("2,0/3,-1 3,-2/2,-1"), after("2,-1/2,0 3,-2/3,-1")
    assert one.board() == crossed.board() != turned.board()
    assert one.tiles() != crossed.tiles()
    assert one.hash() == crossed.hash() != turned.hash()
    other_order = after("2,-1/1,-1 2,0/3,-1")
    assert other_order.hash() == after("2,0/3,-1 2,-1/1,-1").hash()
    assert other_order.last_move() != after("2,0/3,-1 2,-1/1,-1").last_move()


def test_hashes_know_how_many_cones_of_which_colour_are_left() -> None:
    states = [taigo_board(Taigo, RING) for _ in range(2)]
    states[0].play("0,-1/1,-1+d:0,0")
    states[1].play("0,-1/1,-1+l:0,0")
    assert states[0].cones_left() != states[1].cones_left()
    assert states[0].hash() != states[1].hash()


# --- set up boards -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at least one occupied cell"),
        ("  ", "at least one occupied cell"),
        ("0,0", "written like"),
        ("0,0=.", "written like"),
        ("0,0=XX", "written like"),
        ("0,0=", "written like"),
        ("0,0=X,1,0=O", "written like"),
        ("0,0=X 0,0=O", "0,0 is named twice"),
        ("0,0=X 101,0=O", "101,0 is too far away"),
        ("0,-101=X", "0,-101 is too far away"),
        ("0,9999999999=X", "farther from 0,0"),
        ("a,b=X", "written like"),
    ],
)
def test_boards_that_cannot_be_set_up(text: str, reason: str) -> None:
    state = Taigo()
    with pytest.raises(ValueError, match=reason):
        state.set_up(text)
    assert state.board() == "0,0=X 1,0=O"


def test_a_board_is_set_up_before_the_first_move() -> None:
    state = Taigo()
    state.play("0,-1/1,-1")
    with pytest.raises(ValueError, match="before"):
        state.set_up("0,0=X")


# --- chance --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dark_cones": 0},
        {"light_cones": 0},
        {"dark_cones": 1, "light_cones": 1},
        {"dark_cones": 1, "light_cones": 0},
        {"dark_cones": 0, "light_cones": 0},
    ],
    ids=["both", "light", "dark", "one each", "one", "none"],
)
@pytest.mark.parametrize(
    "empty", [TWO, {(0, 0), (1, 0), *FOUR[0]}, {(0, 0), (1, 0), *FOUR[1]}, {(0, 0), (0, 1), (1, 0)}]
)
def test_random_moves_are_uniform_where_tiles_leave_holes(empty: set[tuple[int, int]], options: dict[str, Any]) -> None:
    state = taigo_board(Taigo, walls(empty, 3), **options)
    assert on(state, "0,0", "1,0")
    chi_square(state, 30_000)


def test_random_moves_are_uniform_in_the_open() -> None:
    chi_square(Taigo())
    chi_square(taigo_board(Taigo, RING))


def test_rollouts_prefer_to_win_and_not_to_lose() -> None:
    state = taigo_board(Taigo, " ".join(f"{q},0=X" for q in range(4)))
    wins = {"uniform": 0, "rollout": 0}
    for policy in wins:
        for seed in range(2_000):
            copy = state.copy()
            copy.play(state.random_move(seed, "rollout" if policy == "rollout" else "uniform"))
            wins[policy] += copy.result == "B+"
    assert wins["rollout"] > 2.5 * wins["uniform"] > 0
    state = taigo_board(Taigo, " ".join(f"{q},0=X" for q in range(4)), "white")
    losses = 0
    for seed in range(2_000):
        copy = state.copy()
        copy.play(state.random_move(seed, "rollout"))
        losses += copy.result == "B+"
    assert losses < wins["uniform"] / 10


def test_playouts_are_whole_games_and_seeded() -> None:
    plies, black, white, draws = Taigo().playouts(300, 5)
    assert black + white + draws == 300
    assert min(black, white, draws) > 0
    assert 300 * 4 < plies <= 300 * 39
    assert Taigo().playouts(300, 5) == (plies, black, white, draws)
    assert Taigo(tiles=2).playouts(10) == (10, 0, 0, 10)
    assert Taigo(tiles=200).playouts(50, 1)[3] < 50
