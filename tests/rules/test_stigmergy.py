"""Every sentence and worked example of the rules of Stigmergy, on the core and on the model; the core's reasons."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from ggp.engines._core import IllegalMove, Stigmergy
from tests.rules.models.hexagon import Cell, cells, name
from tests.rules.models.stigmergy import StigmergyModel
from tests.support.positions import on_hexagon, played, totals


@pytest.fixture(params=[Stigmergy, StigmergyModel], ids=["core", "model"])
def stigmergy(request: pytest.FixtureRequest) -> Any:
    return request.param


core_only = pytest.mark.parametrize("stigmergy", [Stigmergy], ids=["core"])


def set_up(stigmergy: Any, side: int, black: list[Cell], white: list[Cell], to_play: str = "black") -> Any:
    return on_hexagon(stigmergy, side, black, white, to_play, komi=0)


def control(state: Any, q: int, r: int) -> str:
    return str(state.control()[cells(state.size).index((q, r))])


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
    assert state.why_illegal("E5") and "E5" not in state.legal_moves()
    state.play(name((1, -1), 5))
    assert control(state, 0, 0) == "."
    state.play(name((1, 2), 5))
    assert "E5" in state.legal_moves()


def test_b_a_corner_needs_two_and_an_edge_cell_three(stigmergy: Any) -> None:
    state = set_up(stigmergy, 4, [(0, 0), (3, -3)], [(2, 1)], "white")
    assert control(state, 3, 0) == "X"
    assert control(state, 3, -1) == "."
    legal = state.legal_moves()
    assert name((3, 0), 4) not in legal and name((3, -1), 4) in legal


C: list[Cell] = [(0, 0), (-1, 0), (1, 0), (0, -1), (-1, 1)]


def test_c_the_whole_game(stigmergy: Any) -> None:
    state = stigmergy(size=2, komi=0)
    for q, r in C:
        state.play(name((q, r), 2))
    assert state.legal_moves() == ["pass"]
    state.play("pass")
    assert state.legal_moves() == sorted([name((-1, 0), 2), name((0, 1), 2), name((1, -1), 2), "pass"])
    replace = state.copy()
    replace.play(name((-1, 0), 2))
    assert replace.captured() == (0, 1)
    assert (state.phase, state.result) == ("play", "")
    state.play("pass")
    assert totals(state) == (5, 2)
    assert (state.phase, state.to_play, state.seat, state.result, state.winner) == ("over", "none", 0, "B+3", 1)
    assert state.legal_moves() == []


def test_d_the_same_with_a_button(stigmergy: Any) -> None:
    state = stigmergy(size=2, komi=3)
    for q, r in C:
        state.play(name((q, r), 2))
    assert state.legal_moves() == ["button"]
    for move in ("button", "pass", "pass"):
        state.play(move)
    assert totals(state) == (5, 5.5)
    assert (state.result, state.winner) == ("W+0.5", 2)


# --- bids and sides ------------------------------------------------------------------------------------------------


@core_only
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


@core_only
def test_a_bid_is_the_komi(stigmergy: Any) -> None:
    assert stigmergy().komi() is None
    assert totals(stigmergy()) == (0, 0)
    assert totals(played(stigmergy, "bid:12")) == (0, 12)
    assert "button" not in played(stigmergy, "bid:12 keep-sides").legal_moves()
    assert "button" in played(stigmergy, "bid:13 keep-sides").legal_moves()


@core_only
def test_a_fixed_komi_begins_with_black(stigmergy: Any) -> None:
    for komi in (-1_000_000, -5, 0, 8, 1_000_000):
        state = stigmergy(komi=komi)
        assert (state.phase, state.to_play, state.seat, state.ply, state.komi()) == ("play", "black", 1, 0, komi)
        assert totals(state) == (0, komi)
        assert ("button" in state.legal_moves()) == (komi % 2 == 1)


# --- the turn ------------------------------------------------------------------------------------------------------


@core_only
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
    """Black sees (0,0) from four sides, whatever stone is there."""
    black = [(1, 0), (-2, 0), (0, 1), (0, -2)]
    assert control(set_up(stigmergy, 4, black, []), 0, 0) == "X"
    assert control(set_up(stigmergy, 4, black, [(0, 0)]), 0, 0) == "X"
    assert control(set_up(stigmergy, 4, [*black, (0, 0)], []), 0, 0) == "X"


def test_ones_own_controlled_cell_may_be_filled(stigmergy: Any) -> None:
    state = set_up(stigmergy, 4, [(0, 0), (3, -3)], [])
    assert control(state, 3, 0) == "X"
    state.play(name((3, 0), 4))
    assert totals(state)[0] > 3


def test_passing_needs_every_empty_cell_controlled(stigmergy: Any) -> None:
    """After four stones no side controls the two empty cells, after the fifth Black controls both."""
    state = stigmergy(size=2, komi=0)
    for number, (q, r) in enumerate(C):
        assert "pass" not in state.legal_moves()
        state.play(name((q, r), 2))
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
        state.play(name((q, r), 2))
    state.play("pass")
    state.play(name((-1, 0), 2))
    state.play("pass")
    assert state.phase == "play"
    state.play("pass")
    assert state.phase == "over"


# --- reasons ---

BID = "komi is not settled: bid an integer from 0 to 170, written like bid:7"
RANGE = "bid an integer from 0 to 170, written like bid:7"
VERTEX = "not a move: a point is written like D4"


@pytest.mark.parametrize(
    ("state", "move", "reason"),
    [
        (Stigmergy(), "H8", BID),
        (Stigmergy(), "pass", BID),
        (Stigmergy(), "button", BID),
        (Stigmergy(), "keep-sides", BID),
        (Stigmergy(), "bid", BID),
        (Stigmergy(), "", BID),
        (Stigmergy(), "bid:171", RANGE),
        (Stigmergy(), "bid:-1", RANGE),
        (Stigmergy(), "bid:+7", RANGE),
        (Stigmergy(), "bid:07", RANGE),
        (Stigmergy(), "bid:00", RANGE),
        (Stigmergy(), "bid:", RANGE),
        (Stigmergy(), "bid:7.5", RANGE),
        (Stigmergy(), "bid:7 ", RANGE),
        (Stigmergy(), "bid:99999999999999999999", RANGE),
        (Stigmergy(), "bid:\u0663", RANGE),
        (Stigmergy(2), "bid:9", "bid an integer from 0 to 8, written like bid:7"),
        (played(Stigmergy, "bid:7"), "bid:8", "komi is settled: it is 7"),
        (played(Stigmergy, "bid:7"), "H8", "the bid is 7: answer swap-sides or keep-sides"),
        (played(Stigmergy, "bid:7"), "pass", "the bid is 7: answer swap-sides or keep-sides"),
        (played(Stigmergy, "bid:7 keep-sides"), "bid:7", "komi is settled: it is 7"),
        (played(Stigmergy, "bid:7 keep-sides"), "keep-sides", "the sides are settled"),
        (Stigmergy(komi=-4), "swap-sides", "the sides are settled"),
        (Stigmergy(komi=-4), "bid:4", "komi is settled: it is -4"),
        (Stigmergy(komi=-4), "button", "komi is even: there is no button"),
        (Stigmergy(komi=3), "pass", "the button must be taken before a pass"),
        (played(Stigmergy, "button", komi=3), "BUTTON", "the button is taken"),
        (played(Stigmergy, "H8", komi=4), "h9", ""),
        (played(Stigmergy, "H8 H9", komi=4), "h8", "H8 holds your own stone"),
        (played(Stigmergy, "H8", komi=4), "H8", "you do not control H8: it sees 0 of your stones and needs 4"),
        (played(Stigmergy, "A8 B8 H8", komi=4), "A8", "you do not control A8: it sees 1 of your stones and needs 2"),
        (played(Stigmergy, "A9 B9 H8", komi=4), "A9", "you do not control A9: it sees 1 of your stones and needs 3"),
        (Stigmergy(komi=4), "A1", "A1 is not on the board: a hexagon with 8 on a side"),
        (Stigmergy(komi=4), "I8", "there is no column I: the letters skip it"),
        (Stigmergy(komi=4), "H08", VERTEX),
        (Stigmergy(komi=4), "dead:", VERTEX),
        (Stigmergy(komi=4), "+7", VERTEX),
        (Stigmergy(komi=4), "x" * 1_000_000, VERTEX),
        (set_up(Stigmergy, 5, [*A_BLACK, (2, -2)], A_WHITE, "white"), "E5", "E5 is controlled by black"),
        (Stigmergy(), "resign", "resign is an answer to genmove, not a move"),
        (played(Stigmergy, "B2 A2 C2 B1 A3 pass pass", size=2, komi=0), "pass", "the game is over"),
        (played(Stigmergy, "B2 A2 C2 B1 A3 pass pass", size=2, komi=0), "B3", "the game is over"),
    ],
)
def test_reasons(state: Stigmergy, move: str, reason: str) -> None:
    before = (state.hash(), state.ply, state.board())
    assert state.why_illegal(move) == reason
    if reason:
        with pytest.raises(IllegalMove) as caught:
            state.play(move)
        assert str(caught.value) == reason
    assert (state.hash(), state.ply, state.board()) == before


def test_the_reason_against_a_pass_names_cells() -> None:
    state = set_up(Stigmergy, 2, [(0, 0), (1, 0), (-1, 1)], [(-1, 0)])
    left = [at for at in cells(2) if state.control()[cells(2).index(at)] == state.board()[cells(2).index(at)] == "."]
    names = " ".join(sorted(name((q, r), 2) for q, r in left))
    assert len(left) == 1
    assert state.why_illegal("pass") == f"{names} is empty and uncontrolled: fill or control it before you pass"
    two = Stigmergy(2, 0)
    assert two.why_illegal("pass") == (
        "A2 A3 B1 B2 B3 and 2 more are empty and uncontrolled: fill or control them before you pass"
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Stigmergy(1), "size must be 2..13"),
        (lambda: Stigmergy(14), "size must be 2..13"),
        (lambda: Stigmergy(8, 1_000_001), "komi must be an integer from -1000000 to 1000000, or none: it is bid"),
        (lambda: Stigmergy(8, -(10**30)), "komi must be an integer from -1000000 to 1000000, or none: it is bid"),
        (lambda: Stigmergy().set_up("." * 169), "a position is set up before the first move, with a fixed komi"),
        (
            lambda: played(Stigmergy, "H8", komi=0).set_up("." * 169),
            "a position is set up before the first move, with a fixed komi",
        ),
        (lambda: Stigmergy(2, 0).set_up("." * 8), "a board has 7 characters"),
        (lambda: Stigmergy(2, 0).set_up("......#"), "a board is written with .XO"),
    ],
)
def test_wrong_options_are_explained(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(reason) + "$"):
        make()


# --- whole games ---


@pytest.mark.parametrize(("side", "komi"), [(2, 0), (2, 1), (3, -5), (4, 8), (5, 11), (8, 0), (13, 3)])
def test_no_game_is_drawn_or_endless(side: int, komi: int) -> None:
    plies, black, white, draws = Stigmergy(side, komi).playouts(50, 1)
    assert (black + white, draws) == (50, 0)
    assert 50 * len(cells(side)) < plies <= 50 * 2 * (5 * len(cells(side)) - 6 * side + 6)
