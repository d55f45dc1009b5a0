"""Every sentence and worked example of the rules of Stigmergy; reasons and whole games are in the files beside this."""

from typing import Any

import pytest

from engines import _core
from tests.support.stigmergy_positions import Axial, cells, name, played, set_up

IMPLEMENTATIONS = pytest.mark.parametrize("stigmergy", [_core.Stigmergy], ids=["core"])
pytestmark = IMPLEMENTATIONS


def control(state: Any, q: int, r: int) -> str:
    return str(state.control()[cells(state.size).index((q, r))])


def totals(state: Any) -> tuple[float, float]:
    """Black's and White's score as the position stands."""
    parts = state.score_parts()
    return parts["black"]["total"], parts["white"]["total"]


# --- the worked examples -------------------------------------------------------------------------------------------

A_BLACK, A_WHITE = [(1, 0), (-1, 0), (0, 1), (0, -3)], [(0, -2)]


def test_a_three_stones_do_not_control_a_cell_inside(stigmergy: Any) -> None:
    """Black sees (0,0) from three sides; the stone (0,-3) stands behind White's (0,-2)."""
    state = set_up(stigmergy, 5, A_BLACK, A_WHITE)
    assert control(state, 0, 0) == "."
    assert "E5" in state.legal_moves()
    assert "E5" in set_up(stigmergy, 5, A_BLACK, A_WHITE, "white").legal_moves()


def test_a_the_fourth_does_and_a_stone_between_takes_it_back(stigmergy: Any) -> None:
    state = set_up(stigmergy, 5, [*A_BLACK, (2, -2)], A_WHITE, "white")
    assert control(state, 0, 0) == "X"
    assert state.why_illegal("E5") == "E5 is controlled by black"
    state.play(name(5, 1, -1))
    assert control(state, 0, 0) == "."
    state.play(name(5, 1, 2))
    assert "E5" in state.legal_moves()


def test_b_a_corner_needs_two_and_an_edge_cell_three(stigmergy: Any) -> None:
    state = set_up(stigmergy, 4, [(0, 0), (3, -3)], [(2, 1)], "white")
    assert control(state, 3, 0) == "X"
    assert control(state, 3, -1) == "."
    legal = state.legal_moves()
    assert name(4, 3, 0) not in legal and name(4, 3, -1) in legal


C: list[Axial] = [(0, 0), (-1, 0), (1, 0), (0, -1), (-1, 1)]


def test_c_the_whole_game(stigmergy: Any) -> None:
    state = stigmergy(size=2, komi=0)
    for q, r in C:
        state.play(name(2, q, r))
    assert state.legal_moves() == ["pass"]
    state.play("pass")
    assert state.legal_moves() == sorted([name(2, -1, 0), name(2, 0, 1), name(2, 1, -1), "pass"])
    replace = state.copy()
    replace.play(name(2, -1, 0))
    assert replace.captured() == (0, 1)
    assert (state.phase, state.result) == ("play", "")
    state.play("pass")
    assert totals(state) == (5, 2)
    assert (state.phase, state.to_play, state.seat, state.result, state.winner) == ("over", "none", 0, "B+3", 1)
    assert state.legal_moves() == []


def test_d_the_same_with_a_button(stigmergy: Any) -> None:
    state = stigmergy(size=2, komi=3)
    for q, r in C:
        state.play(name(2, q, r))
    assert state.legal_moves() == ["button"]
    for move in ("button", "pass", "pass"):
        state.play(move)
    assert totals(state) == (5, 5.5)
    assert (state.result, state.winner) == ("W+0.5", 2)


# --- bids and sides ------------------------------------------------------------------------------------------------


def test_bids_go_from_0_to_the_cells_and_one_more(stigmergy: Any) -> None:
    for side in range(2, 14):
        state = stigmergy(size=side)
        most = len(cells(side)) + 1
        assert (state.phase, state.to_play, state.seat, state.ply) == ("bid", "black", 1, 0)
        assert state.legal_moves() == sorted(f"bid:{k}" for k in range(most + 1))
        assert state.play(f"BID:{most}") == f"bid:{most}"
        assert state.komi() == most


def test_seat_2_chooses_the_side(stigmergy: Any) -> None:
    state = played(stigmergy, "bid:7")
    assert (state.phase, state.to_play, state.seat, state.ply) == ("choose", "white", 2, 1)
    assert state.legal_moves() == ["keep-sides", "swap-sides"]
    kept, swapped = state.copy(), state.copy()
    kept.play("Keep-Sides")
    assert (kept.phase, kept.to_play, kept.seat, kept.ply) == ("play", "black", 1, 2)
    swapped.play("SWAP-SIDES")
    assert (swapped.phase, swapped.to_play, swapped.seat, swapped.ply) == ("play", "black", 2, 2)
    for state in (kept, swapped):
        assert state.board() == "." * 169
        state.play("H8")
    assert (kept.to_play, kept.seat) == ("white", 2)
    assert (swapped.to_play, swapped.seat) == ("white", 1)


@pytest.mark.parametrize(("choice", "winner"), [("keep-sides", 1), ("swap-sides", 2)])
def test_the_winner_is_a_seat(stigmergy: Any, choice: str, winner: int) -> None:
    state = played(stigmergy, f"bid:0 {choice} B2 A2 C2 B1 A3 pass pass", size=2)
    assert (state.result, state.winner) == ("B+3", winner)


def test_a_bid_is_the_komi(stigmergy: Any) -> None:
    assert stigmergy().komi() is None
    assert totals(stigmergy()) == (0, 0)
    assert totals(played(stigmergy, "bid:12")) == (0, 12)
    assert "button" not in played(stigmergy, "bid:12 keep-sides").legal_moves()
    assert "button" in played(stigmergy, "bid:13 keep-sides").legal_moves()


def test_a_fixed_komi_begins_with_black(stigmergy: Any) -> None:
    for komi in (-1_000_000, -5, 0, 8, 1_000_000):
        state = stigmergy(komi=komi)
        assert (state.phase, state.to_play, state.seat, state.ply, state.komi()) == ("play", "black", 1, 0, komi)
        assert totals(state) == (0, komi)
        assert ("button" in state.legal_moves()) == (komi % 2 == 1)


# --- the turn ------------------------------------------------------------------------------------------------------


def test_a_minus_five_is_odd(stigmergy: Any) -> None:
    state = played(stigmergy, "button", size=3, komi=-5)
    assert state.button() == "black"
    assert totals(state) == (0.5, -5)
    assert "button" not in state.legal_moves() and state.to_play == "white"
    assert state.last_move() == []


def test_replacing_makes_the_stone_ones_own(stigmergy: Any) -> None:
    """Four black stones see the white one at D4."""
    state = set_up(stigmergy, 4, [(1, 0), (0, 1), (-1, 1), (-1, 0)], [(0, 0)])
    assert "D4" in state.legal_moves()
    assert state.play("d4") == "D4"
    assert state.board().count("X") == 5 and "O" not in state.board()
    assert (state.captured(), state.last_move(), state.to_play) == ((0, 1), ["D4"], "white")


def test_a_cells_own_stone_does_not_block(stigmergy: Any) -> None:
    """Black sees (0,0) from four sides, whoever stands there."""
    black = [(1, 0), (-2, 0), (0, 1), (0, -2)]
    assert control(set_up(stigmergy, 4, black, []), 0, 0) == "X"
    assert control(set_up(stigmergy, 4, black, [(0, 0)]), 0, 0) == "X"
    assert control(set_up(stigmergy, 4, [*black, (0, 0)], []), 0, 0) == "X"


def test_ones_own_controlled_cell_may_be_filled(stigmergy: Any) -> None:
    state = set_up(stigmergy, 4, [(0, 0), (3, -3)], [])
    assert control(state, 3, 0) == "X"
    state.play(name(4, 3, 0))
    assert totals(state)[0] > 3


def test_passing_needs_every_empty_cell_controlled(stigmergy: Any) -> None:
    """After four stones both of the empty cells are nobody's, after the fifth both are Black's."""
    state = stigmergy(size=2, komi=0)
    for number, (q, r) in enumerate(C):
        assert "pass" not in state.legal_moves()
        state.play(name(2, q, r))
        empty = [control(state, *at) for at in cells(2) if at not in C[: number + 1]]
        assert ("." in empty) == (number < 4)
    assert empty == ["X", "X"]
    assert "pass" in state.legal_moves()


def test_passing_is_legal_on_a_full_board(stigmergy: Any) -> None:
    ring = [at for at in cells(2) if at != (0, 0)]
    state = set_up(stigmergy, 2, [(0, 0)], ring)
    assert "." not in state.board()
    assert state.legal_moves() == ["pass"]
    state.play("pass")
    assert "pass" in state.legal_moves()
    state.play("pass")
    assert (state.phase, state.result) == ("over", "W+5")


def test_a_board_move_between_two_passes(stigmergy: Any) -> None:
    """Passes end the game only when they are consecutive."""
    state = stigmergy(size=2, komi=0)
    for q, r in C:
        state.play(name(2, q, r))
    state.play("pass")
    state.play(name(2, -1, 0))
    state.play("pass")
    assert state.phase == "play"
    state.play("pass")
    assert state.phase == "over"
