"""The worked examples of RULES.md on the models alone: what the core is compared with must itself be right."""

from typing import Any

import pytest

from tests.rules.models.hexagon import name
from tests.rules.models.laido import LaidoModel
from tests.rules.models.stigmergy import StigmergyModel
from tests.rules.models.taigo import TaigoModel
from tests.rules.models.taugo import TaugoModel

Cells = dict[tuple[int, int], str]


def taugo(side: str = "black", size: int = 8, cut_from: str = "lateral", **stones: str) -> TaugoModel:
    """A position of Taugo; `black="D4 D5"`."""
    model = TaugoModel(size, cut_from, pie=False)
    for colour, names in stones.items():
        for word in names.split():
            model.stones_at[ord(word[0]) - ord("A"), int(word[1:]) - 1] = colour
    model.to_play = side
    return model


def runs(model: TaugoModel, first: str = "") -> set[str]:
    return {move for move in model.legal_moves() if "+" in move and move.startswith(first)}


def test_taugo_points() -> None:
    assert len(TaugoModel().board().replace("?", "")) == 252
    assert len(TaugoModel().legal_moves()) == 196
    assert len(TaugoModel(8).legal_moves()) == 36


def test_taugo_a_new_and_grown_stones() -> None:
    model = taugo(black="D4")
    grown = {"E4", "E4+F4", "E4+F4+G4", "C4", "C4+B4", "D5", "D5+D6", "D5+D6+D7", "D3", "D3+D2"}
    moves = set(model.legal_moves())
    assert grown <= moves and len(moves) == 42
    assert len(moves - grown - {"pass"}) == 31


def test_taugo_b_cuts() -> None:
    cuts = {"D5+D6", "D5+D6+D7"}
    model = taugo(white="C5 D5 E5", black="D3 D4")
    assert runs(model, "D5") == cuts and not {"D5", "D8"} & set(model.legal_moves())
    assert runs(taugo(white="C5 D5 E5", black="D4"), "D5") == set()
    model = taugo(white="C5 D5 E5", black="D3")
    assert {"D4", "D4+D5+D6", "D4+D5+D6+D7"} <= set(model.legal_moves())
    assert runs(model, "D4") == {"D4+D5+D6", "D4+D5+D6+D7"}


def test_taugo_b_without_the_condition_on_the_cutting_stone() -> None:
    assert runs(taugo(white="C5 D5 E5", black="D4", cut_from="any"), "D5") == {"D5+D6", "D5+D6+D7"}


def test_taugo_c_a_cut_to_the_edge() -> None:
    model = taugo(white="C7 D7 E7", black="D5 D6")
    assert runs(model, "D7") == {"D7+D8"}
    model.play("d7+d8")
    assert totals(model) == (2.5, 2)


def test_taugo_d_through_a_string_that_reached_the_edge() -> None:
    model = taugo("white", black="D5 D6 D7 D8 F4", white="B7 C7")
    assert runs(model, "D7") == {"D7+E7", "D7+E7+F7", "D7+E7+F7+G7"}
    model.play("D7+E7")
    assert totals(model) == (1, 10.5)


def test_taugo_e_central_before_the_turn() -> None:
    assert "D5+D6+D7" in taugo(white="C5 D5 D6 E6", black="D3 D4").legal_moves()


def test_taugo_f_knots() -> None:
    model = taugo(black="D4 E4 D5")
    assert not any("E5" in move.split("+") for move in model.legal_moves())


def totals(model: TaugoModel | StigmergyModel) -> tuple[Any, Any]:
    parts = model.parts()
    return parts["black"]["total"], parts["white"]["total"]


# --- Taigo ---

RING = {(1, 0): "X", (-1, 1): "X", (0, 1): "O", (-1, 0): "O"}


def taigo(cells: Cells, side: str = "black", **options: int) -> TaigoModel:
    model = TaigoModel(**options)
    model.cells, model.to_play = dict(cells), side
    return model


def test_taigo_a_first_move() -> None:
    assert len(TaigoModel().legal_moves()) == 60


@pytest.mark.parametrize(("dark", "light", "many"), [(5, 5, 4), (0, 2, 2), (0, 0, 2)])
def test_taigo_b_a_ring(dark: int, light: int, many: int) -> None:
    model = taigo(RING, dark_cones=dark, light_cones=light)
    closing = [move for move in model.legal_moves() if {*move.split("+")[0].split("/")} == {"0,-1", "1,-1"}]
    assert len(closing) == many
    assert all(("+" in move) == (dark + light > 0) for move in closing)


def test_taigo_c_both_lines_at_once() -> None:
    for side, other in (("black", "W+"), ("white", "B+")):
        cells = {(q, 0): "X" for q in range(4)} | {(q, 1): "O" for q in range(-1, 3)}
        model = taigo(cells, side)
        model.play("4,0/3,1")
        assert model.result == other


def test_taigo_d_a_gap_of_two_cells() -> None:
    ring = {(1, -1), (2, -1), (2, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (0, -1)}
    model = taigo(dict.fromkeys(ring - {(0, 1), (1, 1)}, "X"))
    closing = [move for move in model.legal_moves() if {*move.split("+")[0].split("/")} == {"0,1", "1,1"}]
    assert sorted(closing) == ["0,1/1,1", "1,1/0,1"]
    model.play("0,1/1,1")
    assert {"0,0/1,0", "1,0/0,0"} <= set(model.legal_moves())


# --- Laido ---


@pytest.mark.parametrize(
    ("side", "stones", "value"),
    [
        (3, [(-2, 0), (-1, 0), (0, 0), (1, 0), (2, 0)], 5),
        (3, [(-2, 0), (-1, 0), (0, 0), (1, 0), (2, 0), (0, 1)], 4),
        (3, [(-2, 0), (-1, 0), (0, 0), (1, 0), (2, 0), (-2, 1)], -2),
        (3, [(0, 0)], -1),
        (3, [(2, 0)], -1),
        (3, [(0, 0), (1, 0), (2, 0)], -3),
        (3, [(2, 0), (2, -1)], 2),
        (3, [(2, 0), (2, -1), (2, -2)], 1),
        (4, [(-3, 0), (-2, 0), (-1, 0), (1, 0), (2, 0), (3, 0), (-1, -1), (0, -2), (1, -2), (1, -1)], 8),
        (4, [(-3, 0), (-2, 0), (-1, 0), (1, 0), (2, 0), (3, 0), (-1, -1), (0, -2), (1, -2), (1, -1), (0, 0)], 3),
    ],
)
def test_laido_values(side: int, stones: list[tuple[int, int]], value: int) -> None:
    model = LaidoModel(side)
    model.stones_at = dict.fromkeys(stones, "black")
    assert model.values("black") == [value]


def test_laido_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for black, white, result in (([5, -1], [5], "W+1"), ([5, 2], [5], "B+2"), ([-1], [], "W+1"), ([], [], "0")):
        lists = {"black": black, "white": white}
        monkeypatch.setattr(LaidoModel, "values", lambda self, colour, lists=lists: lists[colour])
        assert LaidoModel(3).finish() == result


def test_laido_a_whole_game() -> None:
    model = LaidoModel(2)
    for place in ((1, 0), (-1, 0), (0, 0), (0, -1), (-1, 1)):
        model.play(name(place, 2))
    model.play("pass")
    model.play("PASS")
    assert (model.values("black"), model.values("white")) == ([3], [2])
    assert (model.result, model.winner) == ("B+1", 1)


@pytest.mark.parametrize(("rule", "result"), [("final", "W+0.5"), ("first", "B+0.5")])
def test_laido_half_points(rule: str, result: str) -> None:
    model = LaidoModel(2, pie=False, half_point=rule)
    for move in ("pass", "A3", "C1", "pass", "pass"):  # two lone stones; Black passed first, White first at the end
        model.play(move)
    assert (model.result, model.values("black"), model.values("white")) == (result, [-1], [-1])


# --- Stigmergy ---


def stigmergy(side: int, black: list[tuple[int, int]], white: list[tuple[int, int]]) -> StigmergyModel:
    model = StigmergyModel(side, 0)
    model.stones_at = dict.fromkeys(black, "black") | dict.fromkeys(white, "white")
    return model


def test_stigmergy_a_control_in_the_interior() -> None:
    black = [(1, 0), (-1, 0), (0, 1), (0, -3)]
    model = stigmergy(5, black, [(0, -2)])
    assert [model.seen((0, 0)).count(colour) for colour in ("black", "white")] == [3, 1]
    assert model.controller((0, 0)) == ""
    model = stigmergy(5, [*black, (2, -2)], [(0, -2)])
    assert model.controller((0, 0)) == "black"
    model.to_play = "white"
    model.play(name((1, -1), 5))
    assert model.controller((0, 0)) == ""


def test_stigmergy_b_corners_and_edges() -> None:
    model = stigmergy(4, [(0, 0), (3, -3)], [(2, 1)])
    assert (model.controller((3, 0)), model.controller((3, -1))) == ("black", "")


def small_game(komi: int) -> StigmergyModel:
    model = StigmergyModel(2, komi)
    for place in ((0, 0), (-1, 0), (1, 0), (0, -1), (-1, 1)):
        model.play(name(place, 2))
    return model


def test_stigmergy_c_a_small_game() -> None:
    model = small_game(0)
    assert model.legal_moves() == ["pass"]
    model.play("pass")
    assert set(model.legal_moves()) == {name((-1, 0), 2), name((0, 1), 2), name((1, -1), 2), "pass"}
    model.play("pass")
    assert totals(model) == (5, 2) and model.result == "B+3"


def test_stigmergy_d_the_button() -> None:
    model = small_game(3)
    assert model.legal_moves() == ["button"]
    for move in ("button", "pass", "pass"):
        model.play(move)
    assert totals(model) == (5, 5.5) and model.result == "W+0.5"


@pytest.mark.parametrize(("choice", "seats"), [("keep-sides", (1, 2)), ("swap-sides", (2, 1))])
def test_stigmergy_bids(choice: str, seats: tuple[int, int]) -> None:
    model = StigmergyModel(2)
    assert len(model.legal_moves()) == 7 + 2
    assert (model.phase, model.to_play, model.seat) == ("bid", "black", 1)
    model.play("BID:3")
    assert (model.phase, model.to_play, model.seat) == ("choose", "white", 2)
    model.play(choice)
    assert (model.phase, model.to_play, model.seat) == ("play", "black", seats[0])
    assert (model.seat_of("white"), model.komi) == (seats[1], 3)
