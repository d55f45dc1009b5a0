"""Every sentence and worked example of the rules of Taugo; why a move is refused; the order of the list."""

from typing import Any, Literal

import pytest

from ggp.engines import _core
from tests.rules.models.model import COLUMNS
from tests.rules.models.taugo import TaugoModel
from tests.support.positions import played as played_in
from tests.support.positions import runs, stones, taugo_board, totals


@pytest.fixture(params=[_core.Taugo, TaugoModel], ids=["core", "model"])
def taugo(request: pytest.FixtureRequest) -> Any:
    return request.param


def set_up(
    black: str = "", white: str = "", side: str = "black", size: int = 8, taugo: Any = _core.Taugo, **options: Any
) -> Any:
    return taugo_board(taugo, black, white, side, size, **options)


def played(moves: str, **options: Any) -> Any:
    return played_in(_core.Taugo, moves, **options)


# --- the worked examples ------------------------------------------------------------------------------------------


def test_a_one_stone_has_42_moves(taugo: Any) -> None:
    legal = set_up("D4", taugo=taugo).legal_moves()
    assert len(legal) == 42 and "pass" in legal
    grown = ["E4", "E4+F4", "E4+F4+G4", "C4", "C4+B4", "D5", "D5+D6", "D5+D6+D7", "D3", "D3+D2"]
    assert set(grown) < set(legal)
    assert set(runs(set_up("D4", taugo=taugo))) < set(grown)
    new = set(legal) - set(grown) - {"pass"}
    assert len(new) == 31 and not any("+" in move for move in new)


@pytest.mark.parametrize(("size", "count"), [(6, 16), (8, 36), (16, 196), (25, 529)])
def test_a_the_first_stone_is_on_any_inner_point(taugo: Any, size: int, count: int) -> None:
    legal = taugo(size=size).legal_moves()
    assert len(legal) == count
    assert not [move for move in legal if move[0] in ("A", COLUMNS[size - 1]) or move[1:] in ("1", str(size))]
    assert taugo(size=size, pie=False).legal_moves() == [*legal, "pass"]


def test_b_the_cuts_are_exactly_these(taugo: Any) -> None:
    state = set_up("D3 D4", "C5 D5 E5", taugo=taugo)
    assert [move for move in state.legal_moves() if "D5" in move] == ["D5+D6", "D5+D6+D7"]
    assert "D8" not in state.legal_moves()
    assert "D5+D6" not in set_up("D4", "C5 D5 E5", taugo=taugo).legal_moves()
    northward = [move for move in set_up("D3", "C5 D5 E5", taugo=taugo).legal_moves() if move.startswith("D4")]
    assert northward == ["D4", "D4+D5+D6", "D4+D5+D6+D7"]
    assert state.play("d5+D6") == "D5+D6"
    assert (stones(state, "X"), stones(state, "O")) == ({"D3", "D4", "D5", "D6"}, {"C5", "E5"})
    assert state.captured() == (0, 1)
    assert state.last_move() == ["D5", "D6"]


def test_c_a_cut_point_on_the_edge(taugo: Any) -> None:
    state = set_up("D5 D6", "C7 D7 E7", taugo=taugo)
    assert [move for move in state.legal_moves() if "D7" in move] == ["D7+D8"]
    state.play("D7+D8")
    assert totals(state) == (2.5, 2)


def test_d_beside_an_edge_stone(taugo: Any) -> None:
    state = set_up("D5 D6 D7 D8 F4", "B7 C7", "white", taugo=taugo)
    assert runs(state, "D7") == ["D7+E7", "D7+E7+F7", "D7+E7+F7+G7"]
    state.play("D7+E7")
    assert totals(state) == (1, 10.5)
    assert state.captured() == (1, 0)


def test_e_two_enemies_in_a_row(taugo: Any) -> None:
    state = set_up("D3 D4", "C5 D5 D6 E6", taugo=taugo)
    assert runs(state, "D5") == ["D5+D6+D7"]
    state.play("D5+D6+D7")
    assert (stones(state, "O"), state.captured()) == ({"C5", "E6"}, (0, 2))


def test_f_a_knot(taugo: Any) -> None:
    state = set_up("D4 E4 D5", taugo=taugo)
    assert not [move for move in state.legal_moves() if "E5" in move.split("+")]
    assert state.why_illegal("E5")


# --- the run ------------------------------------------------------------------------------------------------------


def test_a_new_stone_is_not_prolonged() -> None:
    state = set_up("D4")
    assert "F6" in state.legal_moves() and runs(state, "F6") == []


def test_a_run_ends_before_a_friend_and_before_the_edge() -> None:
    state = set_up("B4 E4")
    assert runs(state, "C4") == ["C4+D4"]  # from B4 eastward
    assert runs(state, "F4") == ["F4+G4"]
    assert "A4" not in state.legal_moves()


def test_a_point_beside_two_friends_is_one_move() -> None:
    assert set_up("D4 D6 C5").legal_moves().count("D5") == 1


def test_a_run_that_meets_a_friend_joins_strings() -> None:
    state = set_up("B4 F4")
    state.play("C4+D4+E4")
    assert state.score_parts()["black"]["string_values"] == [1]


def test_a_run_may_start_at_an_edge_stone() -> None:
    assert runs(set_up("D1"), "D2") == [f"D2+{'+'.join(f'D{row}' for row in range(3, n))}" for n in range(4, 9)]
    assert set_up("D1").legal_moves().count("D2") == 1
    cut = set_up("D1", "C2 D2 E2")
    assert cut.why_illegal("D2+D3").endswith("has degree 0, not 1")  # it has one neighbour, which is the enemy
    assert runs(set_up("D1", "C2 D2 E2", cut_from="any"), "D2")[0] == "D2+D3"


def test_nothing_runs_along_the_edge() -> None:
    state = set_up("D1", "F1 F3", size=9)
    assert not [move for move in state.legal_moves() if "E1" in move.split("+")]
    assert state.why_illegal("E1") == "E1 is an edge point: it can only be filled as a cut point"
    assert set_up("D1 E1").score_parts()["black"]["string_values"] == [0, 0]  # not adjacent


def test_edge_stones_have_degrees() -> None:
    """D2 is central by D1 alone with D3; and an edge stone beside the run's end counts against a cut."""
    assert runs(set_up("B2 C2", "D1 D2 D3"), "D2")[0] == "D2+E2"
    assert runs(set_up("B2 C2", "D2 D3"), "D2") == []
    assert runs(set_up("B2", "D1 D2 D3"), "C2") == ["C2+D2+E2", "C2+D2+E2+F2", "C2+D2+E2+F2+G2"]
    assert not [move for move in set_up("B2 C1", "D1 D2 D3").legal_moves() if "D2" in move]


def test_an_edge_stone_is_immune() -> None:
    """It has one neighbour, so it is never central."""
    state = set_up("D5 D6", "D7 D8 C7 E7")
    assert runs(state, "D7") == []
    assert state.why_illegal("D7+D8") == "the run would stop inside the enemy stones D7 D8"


@pytest.mark.parametrize(
    ("white", "reason"),
    [
        ("D5", "D5 is not central"),
        ("D5 E5", "D5 is not central"),
        ("D5 D6", "D5 D6 are not central"),
        ("C5 D5 D6", "D6 is not central"),
    ],
)
def test_isolated_and_lateral_stones_are_immune(white: str, reason: str) -> None:
    state = set_up("D3 D4", white)
    assert runs(state, "D5") == []
    move = "D5+D6+D7" if "D6" in white else "D5+D6"
    assert state.why_illegal(move).startswith(reason)


def test_a_central_stone_is_judged_before_the_turn() -> None:
    """The second block's stone E7 has one white neighbour left when the run arrives, and two before the turn."""
    state = set_up("E2 E3", "D4 E4 F4 E6 D6 F6")
    assert runs(state, "E4") == ["E4+E5", "E4+E5+E6+E7"]
    state = set_up("B4 C4", "D4 D5 D3 F4 F5 F3 E5")
    assert runs(state, "D4") == ["D4+E4", "D4+E4+F4+G4"]


def test_several_blocks_in_one_run() -> None:
    state = set_up("B5 C5", "D4 D5 D6 F4 F5 F6 H4 H5 H6", size=10)
    assert runs(state, "D5") == ["D5+E5", "D5+E5+F5+G5", "D5+E5+F5+G5+H5+J5"]
    state.play("D5+E5+F5+G5+H5+J5")
    assert state.captured() == (0, 3)
    assert state.last_move() == ["D5", "E5", "F5", "G5", "H5", "J5"]


def test_several_blocks_out_to_the_edge() -> None:
    state = set_up("B5 C5", "D4 D5 D6 F4 F5 F6 J4 J5 J6", size=10)
    assert runs(state, "D5")[-2:] == ["D5+E5+F5+G5+H5", "D5+E5+F5+G5+H5+J5+K5"]
    state.play("D5+E5+F5+G5+H5+J5+K5")
    assert state.score_parts()["black"]["edge_points"] == 1


def test_the_stone_behind_a_later_block_counts_its_sides() -> None:
    """E5 is filled in the turn: with a friend on its side it has degree 2, and the second block stays."""
    assert runs(set_up("B5 C5 E6", "D4 D5 D6 F4 F5 F6"), "D5") == ["D5+E5"]
    any_stone = set_up("B5 C5 E6", "D4 D5 D6 F4 F5 F6", cut_from="any")
    assert runs(any_stone, "D5") == ["D5+E5", "D5+E5+F5+G5"]


def test_cut_from_any() -> None:
    for black in ("D4", "D3 D4 C4"):
        assert runs(set_up(black, "C5 D5 E5"), "D5") == []
        assert runs(set_up(black, "C5 D5 E5", cut_from="any"), "D5") == ["D5+D6", "D5+D6+D7"]
    assert runs(set_up("D3 D4", "D5 E5", cut_from="any"), "D5") == []


def test_the_cut_point_must_be_empty() -> None:
    assert runs(set_up("D3 D4 D6", "C5 D5 E5"), "D5") == []
    assert runs(set_up("D5 D6 D8", "C7 D7 E7"), "D7") == []


def test_knots_stop_a_run() -> None:
    assert runs(set_up("B4 D5 E5"), "C4") == ["C4+D4"]  # D4 stands; E4 would make the knot D4 E4 D5 E5
    assert not [move for move in runs(set_up("B4 C3 D3"), "C4") if "D4" in move]
    assert "C4" in set_up("B4 C3 D3").legal_moves()
    assert "D4" not in set_up("B4 E4 D5 E5").legal_moves()  # before the friend E4
    assert runs(set_up("B4 E4 D5 E5"), "C4") == []


EDGE_KNOT_GAME = "G3 G7 E5 C4 F3 E6 G2 F7+E7 D6 D7+C7 F4+F5+F6+F7+F8 F6+G6"


def test_g_a_knot_with_edge_points(taugo: Any) -> None:
    state = taugo(size=8, pie=False)
    for move in EDGE_KNOT_GAME.split():
        state.play(move)
    assert "E6+E7" not in state.legal_moves()
    assert "E6+E7+E8" not in state.legal_moves(), "E7 F7 E8 F8 would be a knot"
    assert runs(state, "E6") == []


def test_g_why_a_knot_with_edge_points_is_refused() -> None:
    assert played(EDGE_KNOT_GAME, size=8, pie=False).why_illegal("E6+E7+E8") == "knot at E7 F7 E8 F8"


@pytest.mark.parametrize(
    ("edge", "point"),
    [("D1 E1 D2", "E2"), ("A4 A5 B4", "B5"), ("D8 E8 E7", "D7"), ("H4 H5 G5", "G4"), ("B1 B2 C1", "C2")],
)
def test_two_edge_stones_and_two_perimeter_stones_are_a_knot(taugo: Any, edge: str, point: str) -> None:
    assert not [move for move in set_up(edge, taugo=taugo).legal_moves() if point in move.split("+")]
    assert point in set_up(edge.split()[0], taugo=taugo).legal_moves()


def test_a_square_with_a_corner_is_never_a_knot(taugo: Any) -> None:
    assert "B2" in set_up("A2 B1", taugo=taugo).legal_moves()


def test_a_run_along_the_perimeter_stops_before_a_knot_with_the_edge(taugo: Any) -> None:
    """Black has E1 and F1: a run from B2 may fill E2, or F2 from the other side, but not both."""
    assert runs(set_up("B2 E1 F1", taugo=taugo), "C2") == ["C2+D2", "C2+D2+E2"]
    assert not [run for run in runs(set_up("G2 E1 F1", taugo=taugo), "F2") if "E2" in run]
    assert "F2" in set_up("G2 E1 F1", taugo=taugo).legal_moves()


def test_a_knot_in_a_cut() -> None:
    state = set_up("D3 D4 E5 E6", "C5 D5 D6 D7 C7", size=9)
    assert runs(state, "D5") == []
    assert state.why_illegal("D5+D6+D7+D8") == "knot at D5 E5 D6 E6"
    before = set_up("D3 D4 D7 E6 E7", "C5 D5 E5")  # the cut point D6 would make it
    assert before.why_illegal("D5+D6") == "knot at D6 E6 D7 E7"


# --- opening, passing, end ----------------------------------------------------------------------------------------


def test_the_pie() -> None:
    state = _core.Taugo(size=8)
    assert state.why_illegal("pass") == "the first ply is a black stone: it may be swapped and cannot be passed"
    assert state.why_illegal("swap-sides") == "sides are swapped by seat 2, after the first stone"
    state.play("D4")
    assert (state.to_play, state.seat) == ("white", 2)
    assert state.legal_moves()[-2:] == ["pass", "swap-sides"] and len(state.legal_moves()) == 35 + 2
    board = state.board()
    assert state.play("SWAP-sides") == "swap-sides"
    assert (state.to_play, state.seat, state.ply, state.board(), state.phase) == ("white", 1, 2, board, "play")
    assert state.why_illegal("swap-sides") == "sides could be swapped only right after the first stone"
    assert (len(state.legal_moves()), state.last_move()) == (35 + 1, [])
    for move in ("pass", "pass"):
        state.play(move)
    assert (state.result, state.winner, state.seat, state.to_play) == ("W+0.5", 1, 0, "none")


def test_without_the_pie() -> None:
    state = _core.Taugo(size=8, pie=False)
    assert state.why_illegal("swap-sides") == "sides cannot be swapped: the game is played with pie=off"
    for move in ("pass", "pass"):
        state.play(move)
    assert (state.phase, state.result, state.winner, state.legal_moves()) == ("over", "0", 0, [])
    assert state.why_illegal("D4") == "the game is over"


def test_passes_count_only_in_a_row() -> None:
    state = played("D4 pass E4 pass G7 G4 pass", size=8)
    assert (state.phase, state.ply) == ("play", 7)
    state.play("pass")
    assert state.phase == "over"


def test_the_score_and_what_it_is_made_of() -> None:
    state = set_up("B2 C2 D2 D3 D1 F1 G4 G6", "B7 D7 B6 A5 E5", cut_from="any")
    parts = state.score_parts()
    assert parts["black"] == {
        "total": 6 + 1 + 1 + 3,
        "string_points": 8,
        "edge_points": 3,
        "fewer_strings": 0,
        "string_values": [6, 1, 1, 0],  # F1 is a string of its own
    }
    assert parts["white"] == {
        "total": 3 + 1 + 1,
        "string_points": 4,
        "edge_points": 1,
        "fewer_strings": 0,
        "string_values": [3, 1, 0, 0],
    }
    state = set_up("B2 C2 D2 D3 D1 G4 G6", "B7 D7 B6 A5 E5", cut_from="any")
    assert state.score_parts()["black"]["fewer_strings"] == 0.5
    for move in ("pass", "pass"):
        state.play(move)
    assert state.result == "B+4.5"


def test_a_ring_is_one_string() -> None:
    ring = "C3 D3 E3 C4 E4 C5 D5 E5"
    assert set_up(ring).score_parts()["black"]["string_values"] == [0]
    perimeter = " ".join([f"{c}2 {c}7" for c in "BCDEFG"] + [f"B{r} G{r}" for r in range(3, 7)])
    assert set_up(perimeter).score_parts()["black"]["string_values"] == [210]  # 4 * (8 - 3) perimeter points


# --- reasons ---


@pytest.mark.parametrize("size", [6, 8, 11, 12, 21, 25])
def test_legal_moves_are_sorted_bytewise(size: int) -> None:
    state = _core.Taugo(size=size, cut_from="any")
    for number in range(4 * size):
        legal = state.legal_moves()
        assert legal == sorted(set(legal))
        assert [move for move in legal if state.why_illegal(move) or state.why_illegal(move.lower())] == []
        placed = [move for move in legal if move[0].isupper()]
        if placed:
            state.play(placed[number * 7919 % len(placed)])


FIGHT: dict[str, Any] = {"black": "D3 D4 F3 F4", "white": "C5 D5 E5 G4 A4"}

REASONS = [
    ("", "not a move: a point is written like D4"),
    ("D4+", "not a move: a point is written like D4"),
    ("D4 D5", "not a move: a point is written like D4"),
    ("I4", "there is no column I: the letters skip it"),
    ("J9", "J9 is not on the board: the board is 8x8"),
    ("resign", "resign is an answer to genmove, not a move"),
    ("keep-sides", "keep-sides answers a bid; who keeps a side here plays on"),
    ("BID:3", "this game has no komi to bid for"),
    ("button", "this game has no button"),
    ("dead:D4", "no stone is dead in this game: there is no agreement"),
    ("A1", "A1 is a corner: the board has no corner points"),
    ("B8+A8", "A8 is a corner: the board has no corner points"),
    ("C3+E3", "E3 does not follow C3: the points of a run lie side by side in one line, in the order of filling"),
    ("C3+B3+B2", "B2 does not follow B3: the points of a run lie side by side in one line, in the order of filling"),
    ("C3+B3+C3", "C3 does not follow B3: the points of a run lie side by side in one line, in the order of filling"),
    ("D4", "D4 is occupied"),
    ("A4", "A4 is occupied"),
    ("G4", "the run would stop inside the enemy stones G4"),
    ("E5", "E5 is occupied"),
    ("D5", "the run would stop inside the enemy stones D5"),
    ("A5", "A5 is an edge point: it can only be filled as a cut point"),
    ("A5+B5", "A5 is an edge point: it can only be filled as a cut point"),
    ("C3+B3+A3", "A3 is an edge point: it can only be filled as a cut point"),
    ("A4+B4", "A4 is occupied"),
    ("A4+A5", "no run goes along the edge: edge points are not adjacent"),
    ("G7+F7", "new stones are not prolonged in the same turn: nothing black is adjacent to G7"),
    ("C3+C2", "a run through C3 and C2 grows from a black stone at C4, and there is none"),
    ("E4+F4", "F4 is black: a run ends before a friendly stone"),
    ("G4+H4", "G4 is not central: only central stones can be cut"),
    ("E4+E5", "a run through E4 and E5 grows from a black stone at E3, and there is none"),
]


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_reasons(text: str, reason: str) -> None:
    state = set_up(**FIGHT)
    assert state.why_illegal(text) == reason
    assert state.why_illegal(text.lower()) == reason
    before = (state.board(), state.ply, state.hash())
    with pytest.raises(_core.IllegalMove):
        state.play(text)
    assert (state.board(), state.ply, state.hash()) == before
    assert "D5+D6" in state.legal_moves()


@pytest.mark.parametrize(
    ("black", "white", "text", "reason"),
    [
        ("D3 D4 C4", "C5 D5 E5", "D5+D6", "the stone D4 behind the enemy stones D5 has degree 2, not 1"),
        ("D4", "C5 D5 E5", "D5+D6", "the stone D4 behind the enemy stones D5 has degree 0, not 1"),
        ("B5 C5 E6", "D4 D5 D6 F4 F5 F6", "D5+E5+F5+G5", "the stone E5 behind the enemy stones F5 has degree 2, not 1"),
        ("D3 D4 D6", "C5 D5 E5", "D5+D6", "D6 right after the enemy stones D5 is not empty: there is no cut point"),
        ("D3 D4", "C5 D5 D6 E6", "D5+D6", "the run would stop inside the enemy stones D5 D6"),
        ("D3 D4", "D5 D6", "D5+D6+D7", "D5 D6 are not central: only central stones can be cut"),
        ("C3 D3 C4", "", "D4", "knot at C3 D3 C4 D4"),
    ],
)
def test_reasons_of_cuts_and_knots(black: str, white: str, text: str, reason: str) -> None:
    assert set_up(black, white).why_illegal(text) == reason
    assert len(reason) < 200


def test_every_run_that_is_not_listed_has_a_reason() -> None:
    """All straight texts on a board, in positions of played games."""
    kinds: tuple[Literal["lateral", "any"], ...] = ("lateral", "any")
    for seed, cut_from in enumerate(kinds):
        state = _core.Taugo(size=7, cut_from=cut_from)
        texts = {"+".join(line[start:end]) for line in _lines(7) for start in range(7) for end in range(start + 1, 8)}
        while state.phase != "over":
            refused = {text for text in texts if state.why_illegal(text)}
            assert refused == texts - set(state.legal_moves())
            state.play(state.random_move(seed := seed + 2))


def _lines(size: int) -> list[list[str]]:
    """Every row and column, in both directions."""
    rows = [[f"{column}{row}" for column in COLUMNS[:size]] for row in range(1, size + 1)]
    across = [*rows, *([f"{column}{row}" for row in range(1, size + 1)] for column in COLUMNS[:size])]
    return across + [line[::-1] for line in across]
