"""Every sentence and worked example of the rules of Taigo, on the core and on the model; the core's reasons."""

from itertools import pairwise
from typing import Any

import pytest

from ggp.engines import _core
from tests.rules.models.hexagon import STEPS, Cell
from tests.rules.models.taigo import AXES, TaigoModel, neighbours
from tests.support.positions import FOUR, RING, TWO, at, on, played, taigo_board, walls

EIGHT = {(-1, 0), (-1, 1), (0, 1), (1, 1), (2, 0), (2, -1), (1, -1), (0, -1)}
"""The cells round 0,0 and 1,0."""


@pytest.fixture(params=[_core.Taigo, TaigoModel], ids=["core", "model"])
def taigo(request: pytest.FixtureRequest) -> Any:
    return request.param


core_only = pytest.mark.parametrize("taigo", [_core.Taigo], ids=["core"])
slow_on_the_model = pytest.mark.parametrize(
    "taigo", [pytest.param(_core.Taigo, id="core"), pytest.param(TaigoModel, id="model", marks=pytest.mark.slow)]
)


def cells_of(state: Any) -> dict[str, str]:
    return dict(entry.split("=") for entry in state.board().split())


# --- the worked examples -------------------------------------------------------------------------------------------


def test_a_there_are_sixty_first_moves(taigo: Any) -> None:
    state = taigo()
    assert state.board() == "0,0=X 1,0=O"
    assert (state.phase, state.to_play, state.seat, state.ply) == ("play", "black", 1, 0)
    legal = state.legal_moves()
    assert len(legal) == len(set(legal)) == 60
    ways = set()
    for one in EIGHT:
        for two in neighbours(one):
            if two not in {(0, 0), (1, 0)}:
                ways |= {f"{at(one)}/{at(two)}", f"{at(two)}/{at(one)}"}
    assert legal == sorted(ways)


def test_b_a_closed_ring_is_a_hole_for_either_colour(taigo: Any) -> None:
    state = taigo_board(taigo, RING)
    assert on(state, "0,-1", "1,-1") == [
        "0,-1/1,-1+d:0,0",
        "0,-1/1,-1+l:0,0",
        "1,-1/0,-1+d:0,0",
        "1,-1/0,-1+l:0,0",
    ]
    assert state.play("0,-1/1,-1+l:0,0") == "0,-1/1,-1+l:0,0"
    assert cells_of(state)["0,0"] == "o"
    assert state.last_move() == ["0,-1", "1,-1", "0,0"]


def test_b_only_light_cones_are_left(taigo: Any) -> None:
    state = taigo_board(taigo, RING, dark_cones=0, light_cones=2)
    assert on(state, "0,-1", "1,-1") == ["0,-1/1,-1+l:0,0", "1,-1/0,-1+l:0,0"]


def test_b_only_dark_cones_are_left(taigo: Any) -> None:
    state = taigo_board(taigo, RING, dark_cones=1, light_cones=0)
    assert on(state, "0,-1", "1,-1") == ["0,-1/1,-1+d:0,0", "1,-1/0,-1+d:0,0"]


def test_b_without_cones_the_hole_stays_open(taigo: Any) -> None:
    state = taigo_board(taigo, RING, dark_cones=0, light_cones=0)
    assert on(state, "0,-1", "1,-1") == ["0,-1/1,-1", "1,-1/0,-1"]
    state.play("0,-1/1,-1")
    assert "0,0" not in cells_of(state)
    assert not any("0,0" in move.split("/") for move in state.legal_moves())


@pytest.mark.parametrize(("side", "result", "winner"), [("black", "W+", 2), ("white", "B+", 1)])
def test_c_lines_of_both_colours_are_the_opponents(taigo: Any, side: str, result: str, winner: int) -> None:
    board = " ".join(f"{q},0=X" for q in range(4)) + " " + " ".join(f"{q},1=O" for q in range(-1, 3))
    state = taigo_board(taigo, board, side)
    state.play("4,0/3,1")
    assert (state.phase, state.to_play, state.seat) == ("over", "none", 0)
    assert (state.result, state.winner) == (result, winner)
    assert state.legal_moves() == []


def test_d_a_gap_of_two_cells_is_no_hole(taigo: Any) -> None:
    board = " ".join(f"{at(cell)}={'XO'[i // 2 % 2]}" for i, cell in enumerate(sorted(EIGHT - {(0, 1), (1, 1)})))
    state = taigo_board(taigo, board)
    assert on(state, "0,1", "1,1") == ["0,1/1,1", "1,1/0,1"]
    state.play("0,1/1,1")
    assert on(state, "0,0", "1,0") == ["0,0/1,0", "1,0/0,0"]
    state.play("1,0/0,0")
    assert cells_of(state)["0,0"] == "O"


# --- turns ---------------------------------------------------------------------------------------------------------


@core_only
def test_sides_alternate_and_tiles_are_counted(taigo: Any) -> None:
    state = taigo()
    assert state.tiles_left() == 39
    state.play("0,-1/1,-1")
    assert (state.to_play, state.seat, state.ply, state.tiles_left()) == ("white", 2, 1, 38)
    state.play("2,-1/2,0")
    assert (state.to_play, state.seat, state.ply, state.tiles_left()) == ("black", 1, 2, 37)
    assert state.tiles() == [("0,0", "1,0"), ("0,-1", "1,-1"), ("2,-1", "2,0")]
    assert state.board() == "0,-1=X 0,0=X 1,-1=O 1,0=O 2,-1=X 2,0=O"


def test_one_half_is_enough_to_touch(taigo: Any) -> None:
    assert played(taigo, "3,0/2,0").last_move() == ["3,0", "2,0"]


@core_only
def test_cones_leave_the_common_supply(taigo: Any) -> None:
    state = taigo_board(taigo, RING, "white", dark_cones=2, light_cones=3)
    assert state.cones_left() == (2, 3)
    state.play("0,-1/1,-1+d:0,0")
    assert state.cones_left() == (1, 3)
    assert state.captured() == (0, 0)


@core_only
def test_a_copy_is_independent(taigo: Any) -> None:
    state = played(taigo, "0,-1/1,-1")
    copy = state.copy()
    copy.play("2,-1/2,0")
    assert (state.ply, len(cells_of(state)), state.tiles_left()) == (1, 4, 38)
    assert state.legal_moves() == played(taigo, "0,-1/1,-1").legal_moves()


# --- holes ---------------------------------------------------------------------------------------------------------


def test_both_halves_may_close_the_same_hole(taigo: Any) -> None:
    state = taigo_board(taigo, walls({(0, 0), (1, 0), (0, 1)}, 3))
    assert len(on(state, "0,0", "1,0")) == len(on(state, "0,0", "0,1")) == len(on(state, "0,1", "1,0")) == 4
    assert on(state, "1,0", "0,1")[0] == "0,1/1,0+d:0,0"


@core_only
def test_two_holes_at_once(taigo: Any) -> None:
    state = taigo_board(taigo, walls(TWO, 4))
    assert on(state, "0,0", "1,0") == [
        f"{tile}+{one}:-1,0+{two}:2,0" for tile in ("0,0/1,0", "1,0/0,0") for one in "dl" for two in "dl"
    ]
    state.play("1,0/0,0+L:2,0+D:-1,0")
    assert state.last_move() == ["1,0", "0,0", "-1,0", "2,0"]
    assert (cells_of(state)["-1,0"], cells_of(state)["2,0"], state.cones_left()) == ("x", "o", (4, 4))


@pytest.mark.parametrize(
    ("dark", "light", "cones"),
    [
        (1, 1, ["+d:-1,0+l:2,0", "+l:-1,0+d:2,0"]),
        (2, 0, ["+d:-1,0+d:2,0"]),
        (1, 5, ["+d:-1,0+l:2,0", "+l:-1,0+d:2,0", "+l:-1,0+l:2,0"]),
        (1, 0, ["+d:-1,0", "+d:2,0"]),
        (0, 1, ["+l:-1,0", "+l:2,0"]),
        (0, 0, [""]),
    ],
)
def test_two_holes_and_few_cones(taigo: Any, dark: int, light: int, cones: list[str]) -> None:
    state = taigo_board(taigo, walls(TWO, 4), dark_cones=dark, light_cones=light)
    assert on(state, "0,0", "1,0") == [tile + cone for tile in ("0,0/1,0", "1,0/0,0") for cone in cones]


def test_the_hole_that_no_cone_was_left_for_cannot_be_filled_later(taigo: Any) -> None:
    state = taigo_board(taigo, walls(TWO, 4), dark_cones=1, light_cones=0)
    state.play("0,0/1,0+d:2,0")
    assert "-1,0" not in cells_of(state)
    assert not any("-1,0" in move.replace("+d:", "/").replace("+l:", "/").split("/") for move in state.legal_moves())


@pytest.mark.parametrize("holes", FOUR)
@pytest.mark.parametrize(
    ("dark", "light", "ways"),
    [(5, 5, 16), (4, 4, 16), (3, 4, 15), (2, 2, 6), (3, 0, 4), (2, 1, 12), (1, 1, 12), (1, 0, 4), (0, 0, 1)],
)
def test_four_holes_at_once(taigo: Any, holes: set[Cell], dark: int, light: int, ways: int) -> None:
    state = taigo_board(taigo, walls({(0, 0), (1, 0), *holes}, 5), dark_cones=dark, light_cones=light)
    moves = on(state, "0,0", "1,0")
    assert len(moves) == 2 * ways
    assert moves == sorted(set(moves))
    assert {move.count("+") for move in moves} == {min(4, dark + light)}
    for move in moves:
        assert move.count("+d") <= dark
        assert move.count("+l") <= light
        named = [tuple(map(int, cone[2:].split(","))) for cone in move.split("+")[1:]]
        assert set(named) <= holes
        assert named == sorted(named)
        assert state.copy().play(move.upper()) == move


def test_an_old_hole_of_a_set_up_board_is_not_filled(taigo: Any) -> None:
    state = taigo_board(taigo, walls({(0, 0)}, 1))
    assert not any("+" in move for move in state.legal_moves())
    assert not any("0,0" in move.split("/") for move in state.legal_moves())


# --- the end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("gap", range(5))
@pytest.mark.parametrize("side", ["black", "white"])
def test_five_in_a_row_on_every_axis(taigo: Any, axis: Cell, gap: int, side: str) -> None:
    """Dark lines of four and of a gap, closed by a tile whose light half turns away."""
    line = [(axis[0] * i, axis[1] * i) for i in range(5)]
    away = next(cell for cell in neighbours(line[gap]) if cell not in line and not {*neighbours(cell)} <= {*line})
    state = taigo_board(taigo, " ".join(f"{at(cell)}=X" for cell in line if cell != line[gap]), side)
    state.play(f"{at(line[gap])}/{at(away)}")
    assert (state.result, state.winner) == ("B+", 1)


def test_four_in_a_row_are_not_enough_and_six_are(taigo: Any) -> None:
    state = taigo_board(taigo, "0,0=X 1,0=X 2,0=X 4,0=X 5,0=X 6,0=X")
    four = state.copy()
    four.play("-1,0/-1,-1")
    assert (four.phase, four.result) == ("play", "")
    state.play("3,0/3,1")
    assert state.result == "B+"


def test_a_line_is_not_interrupted(taigo: Any) -> None:
    state = taigo_board(taigo, "0,0=X 1,0=X 2,0=O 3,0=X 4,0=X")
    state.play("5,0/5,1")
    assert state.result == ""


@pytest.mark.parametrize(("side", "tile"), [("black", "4,0/4,-1"), ("white", "4,-1/4,0")])
def test_your_own_line_wins(taigo: Any, side: str, tile: str) -> None:
    letter = "X" if side == "black" else "O"
    state = taigo_board(taigo, " ".join(f"{q},0={letter}" for q in range(4)), side)
    state.play(tile)
    assert state.result == ("B+" if side == "black" else "W+")


CONE_LINE = RING.replace("-1,0=O", "-1,0=X") + " 2,0=X -2,0=X"
"""Dark on -2..2,0 but for the hole 0,0."""


@pytest.mark.parametrize("side", ["black", "white"])
def test_a_cone_completes_a_line_of_tile_halves(taigo: Any, side: str) -> None:
    state = taigo_board(taigo, CONE_LINE, side)
    other = state.copy()
    state.play("0,-1/1,-1+d:0,0")
    assert state.result == "B+"
    other.play("0,-1/1,-1+l:0,0")
    assert other.result == ""


def test_a_line_of_cones_alone_wins(taigo: Any) -> None:
    state = taigo_board(taigo, CONE_LINE.replace("-2,0=X -1,0=X 1,0=X 2,0=X", "").replace("0=X", "0=x"))
    state.play("0,-1/1,-1+d:0,0")
    assert state.result == "B+"


def test_the_supply_may_force_the_opponents_line(taigo: Any) -> None:
    state = taigo_board(taigo, CONE_LINE, "white", dark_cones=1, light_cones=0)
    state.play("0,-1/1,-1+d:0,0")
    assert state.result == "B+"


def test_the_opponents_line_by_a_cone_goes_before_your_own_by_a_tile(taigo: Any) -> None:
    """White's tile completes a light line on -3..1,-1, the dark cone the dark one."""
    light = " ".join(f"{q},-1=O" for q in range(-3, 1))
    board = CONE_LINE + " " + light
    for cone, result in (("d", "B+"), ("l", "W+")):
        state = taigo_board(taigo, board, "white")
        state.play(f"2,-1/1,-1+{cone}:0,0")
        assert state.result == result


@core_only
def test_the_last_tile_ends_the_game_without_a_winner(taigo: Any) -> None:
    state = played(taigo, "0,-1/1,-1", tiles=2)
    assert (state.phase, state.result, state.winner, state.tiles_left()) == ("over", "0", 0, 0)
    state = played(taigo, "0,-1/1,-1", tiles=3)
    assert state.phase == "play"
    state.play("2,-1/2,0")
    assert state.result == "0"


def test_a_line_of_the_last_tile_counts(taigo: Any) -> None:
    state = taigo_board(taigo, "0,0=X 1,0=X 2,0=X 3,0=X", tiles=2)
    state.play("4,0/4,-1")
    assert state.result == "B+"


def test_a_line_that_was_set_up_counts_after_the_turn(taigo: Any) -> None:
    five = " ".join(f"{q},0=X" for q in range(5))
    for side in ("black", "white"):
        state = taigo_board(taigo, five, side)
        assert (state.phase, state.result) == ("play", "")
        state.play("6,-1/5,-1")
        assert state.result == "B+"


# --- options and reach ---------------------------------------------------------------------------------------------


@core_only
@pytest.mark.parametrize(
    "options",
    [{"dark_cones": -1}, {"dark_cones": 21}, {"light_cones": -1}, {"light_cones": 21}, {"tiles": 1}, {"tiles": 201}],
)
def test_options_out_of_their_domains(taigo: Any, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        taigo(**options)


@slow_on_the_model
@pytest.mark.parametrize("way", STEPS)
def test_two_hundred_tiles_fit_on_the_lattice_in_every_direction(taigo: Any, way: Cell) -> None:
    """As far as tiles can go: halves of alternating colours in one row, so that neither side ever has a line."""
    state = taigo(tiles=200)
    head = (1, 0) if way == (1, 0) else (0, 0)
    dark_next = way == (1, 0)
    for _ in range(199):
        one = (head[0] + way[0], head[1] + way[1])
        head = (one[0] + way[0], one[1] + way[1])
        dark, light = (one, head) if dark_next else (head, one)
        state.play(f"{at(dark)}/{at(light)}")
    assert (state.result, len(cells_of(state))) == ("0", 400)
    assert max(abs(head[0]), abs(head[1])) in {398, 399}


def test_far_from_the_centre_the_moves_are_the_same(taigo: Any) -> None:
    """What can be played about a tile does not depend on where it lies."""

    def moves(q: int, r: int) -> list[str]:
        state = taigo_board(taigo, f"{q},{r}=X {q + 1},{r}=O")
        legal = state.legal_moves()
        assert legal == sorted(legal)
        return sorted(
            "/".join(at((int(half.split(",")[0]) - q, int(half.split(",")[1]) - r)) for half in move.split("/"))
            for move in legal
        )

    here = moves(0, 0)
    assert len(here) == 60
    for q, r in ((9, 9), (-9, 10), (12, -12), (99, -100), (-100, 99), (29, 0), (0, -61)):
        assert moves(q, r) == here


def test_moves_are_in_bytewise_order_also_beyond_ten(taigo: Any) -> None:
    state = taigo(tiles=60)
    for q in range(2, 60, 2):
        legal = state.legal_moves()
        assert legal == sorted(set(legal))
        state.play(f"{q},0/{q + 1},0")
    assert all(one < two for one, two in pairwise(state.legal_moves()))
    assert {"10,1/9,1", "9,1/10,0", "-1,0/-2,0"} & set(state.legal_moves()) == {"10,1/9,1", "-1,0/-2,0"}


# --- reading and reasons ---


@core_only
def test_letter_case_and_the_order_of_cones_are_free(taigo: Any) -> None:
    for text in ("0,0/1,0+d:-1,0+l:2,0", "0,0/1,0+L:2,0+D:-1,0", "0,0/1,0+l:2,0+d:-1,0"):
        assert taigo_board(taigo, walls(TWO, 4)).play(text) == "0,0/1,0+d:-1,0+l:2,0"


@core_only
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,-1/2,-1", "0,-1 and 2,-1 are not adjacent"),
        ("0,-1/0,-1", "0,-1 and 0,-1 are not adjacent"),
        ("1,-1/1,0", "1,0 is occupied"),
        ("0,0/0,-1", "0,0 is occupied"),
        ("5,5/5,6", "a tile at 5,5 and 5,6 touches nothing: it must lie beside an occupied cell"),
        ("400,0/401,0", "a tile at 400,0 and 401,0 touches nothing: it must lie beside an occupied cell"),
        ("508,-508/507,-508", "a tile at 508,-508 and 507,-508 touches nothing: it must lie beside an occupied cell"),
        ("509,0/508,0", "509 is farther from 0,0 than any tile can lie"),
        ("0,-1/1,-999", "-999 is farther from 0,0 than any tile can lie"),
        ("0,-1/1,-99999999999999999999", "-99999999999... is farther from 0,0 than any tile can lie"),
        ("0,-1/1,-1+d:0,0", "0,0 is not a hole"),
        ("0,-1/1,-1+d:1,-1", "1,-1 is not a hole"),
        ("0,-1/1,-1+l:500,7", "500,7 is not a hole"),
        ("pass", "pass is not a move of taigo: every turn places a tile"),
        ("PASS", "pass is not a move of taigo: every turn places a tile"),
        ("resign", "resign is an answer to genmove, not a move"),
    ],
)
def test_why_the_first_tile_cannot_lie_there(taigo: Any, text: str, reason: str) -> None:
    _refused(taigo(), text, reason)


@core_only
@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "0", "D4", "button", "swap-sides", "0,-1", "0,-1/", "0,-1/1", "0,-1/1,", "/0,-1", "0,-1/1,-1/"),
        *(
            "+0,-1/1,-1",
            "0,-1/+1,-1",
            "-0,-1/1,-1",
            "00,-1/1,-1",
            "0,-01/1,-1",
            "0,--1/1,-1",
            "0,-/1,-1",
            "0.0,-1/1,-1",
        ),
        *("0,-1/1,-1+", "0,-1/1,-1+d", "0,-1/1,-1+d:", "0,-1/1,-1+d:0", "0,-1/1,-1+x:0,0", "0,-1/1,-1d:0,0"),
        *(
            "0,-1/1,-1+d0,0",
            "0,-1/1,-1++d:0,0",
            "0,-1/1,-1+d:0,0+",
            "0,-1/1,-1 ",
            " 0,-1/1,-1",
            "0,-1/1,-1,",
            "0,-1/1,-1\0",
        ),
        *("0, -1/1,-1", "0,−1/1,−1", "0,1e0/1,1", "0x0,-1/1,-1", "\x00", "é,0/1,1"),
    ],
)
def test_what_cannot_be_read(taigo: Any, text: str) -> None:
    reason = "not a move: a tile is written dark/light, like 0,-1/1,-1, and each cone after it +d:0,0 or +l:0,0"
    _refused(taigo(), text, reason)


@core_only
def test_very_long_texts_are_refused_shortly(taigo: Any) -> None:
    for text in ("9" * 60_000, "0,-1/1,-1" + "+d:0,0" * 10_000, "0," * 30_000, "-" * 60_000):
        reason = taigo().why_illegal(text)
        assert 0 < len(reason) < 200


ONE_HOLE = (RING, "0,-1/1,-1")  # a board, and a tile that makes so many holes
TWO_HOLES = (walls(TWO, 4), "0,0/1,0")
FOUR_HOLES = (walls({(0, 0), (1, 0), *FOUR[0]}, 5), "0,0/1,0")


@core_only
@pytest.mark.parametrize(
    ("holes", "dark", "light", "cones", "reason"),
    [
        (ONE_HOLE, 5, 5, "", "0,0 is a hole: add +d:0,0 or +l:0,0"),
        (ONE_HOLE, 0, 2, "", "0,0 is a hole: add +l:0,0"),
        (ONE_HOLE, 1, 0, "", "0,0 is a hole: add +d:0,0"),
        (ONE_HOLE, 0, 2, "+d:0,0", "no dark cones are left"),
        (ONE_HOLE, 2, 0, "+l:0,0", "no light cones are left"),
        (ONE_HOLE, 0, 0, "+l:0,0", "no light cones are left"),
        (ONE_HOLE, 5, 5, "+l:0,0+d:0,0", "the hole 0,0 is named twice"),
        (ONE_HOLE, 5, 5, "+l:0,0+l:0,0", "the hole 0,0 is named twice"),
        (ONE_HOLE, 5, 5, "+l:0,0+d:5,5", "5,5 is not a hole"),
        (ONE_HOLE, 5, 5, "+l:0,-1", "0,-1 is not a hole"),
        (TWO_HOLES, 5, 5, "", "-1,0 2,0 are holes: fill all of them, like +d:-1,0 or +l:-1,0"),
        (TWO_HOLES, 5, 5, "+l:-1,0", "2,0 is a hole: add +d:2,0 or +l:2,0"),
        (TWO_HOLES, 0, 5, "+l:2,0", "-1,0 is a hole: add +l:-1,0"),
        (TWO_HOLES, 1, 1, "+l:2,0", "-1,0 is a hole: add +d:-1,0"),
        (TWO_HOLES, 1, 0, "", "-1,0 2,0 are holes and only 1 cone is left: fill 1 of them, like +d:-1,0"),
        (TWO_HOLES, 1, 0, "+d:-1,0+d:2,0", "too many cones: only 1 dark cone is left"),
        (TWO_HOLES, 0, 1, "+l:-1,0+l:2,0", "too many cones: only 1 light cone is left"),
        (FOUR_HOLES, 5, 5, "+d:-1,0+l:0,1+d:1,-1+l:2,0+d:9,9", "too many cones: a tile makes four holes at most"),
        (
            *(FOUR_HOLES, 2, 1, ""),
            "-1,0 0,1 1,-1 2,0 are holes and only 3 cones are left: fill 3 of them, like +d:-1,0 or +l:-1,0",
        ),
        (
            *(FOUR_HOLES, 2, 1, "+d:-1,0+d:1,-1"),
            "0,1 2,0 are holes and only 1 cone is left: fill 1 of them, like +l:0,1",
        ),
        (FOUR_HOLES, 2, 1, "+d:-1,0+d:0,1+d:1,-1", "too many cones: only 2 dark cones are left"),
    ],
)
def test_why_the_cones_are_wrong(
    taigo: Any, holes: tuple[str, str], dark: int, light: int, cones: str, reason: str
) -> None:
    board, tile = holes
    _refused(taigo_board(taigo, board, dark_cones=dark, light_cones=light), tile + cones, reason)


@core_only
def test_why_an_old_hole_is_not_filled(taigo: Any) -> None:
    state = taigo_board(taigo, walls(TWO, 4), dark_cones=0, light_cones=1)
    state.play("0,0/1,0+l:2,0")
    _refused(state, "5,0/6,0+l:-1,0", "-1,0 is not a hole of this turn: it was left open earlier and stays open")


@core_only
def test_why_nothing_is_played_after_the_end(taigo: Any) -> None:
    state = played(taigo, "0,-1/1,-1", tiles=2)
    for text in ("2,-1/2,0", "pass", "nonsense"):
        _refused(state, text, "the game is over")


def _refused(state: Any, text: str, reason: str) -> None:
    before = (state.board(), state.ply, state.to_play, state.hash(), state.cones_left())
    assert state.why_illegal(text) == reason
    assert len(reason) < 200
    with pytest.raises(ValueError, match=r"."):
        state.play(text)
    assert (state.board(), state.ply, state.to_play, state.hash(), state.cones_left()) == before
