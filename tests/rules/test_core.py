"""The binding of the C++ core: its types, errors and copies. The rules are proved beside tests/rules/models."""

import copy
import math
import subprocess
import sys
from collections.abc import Callable

import pytest

from ggp.engines._core import Go, IllegalMove, Yugo
from tests.support.positions import Position, both, play


def board(rows: str) -> str:
    return "".join(rows.split())


# --- What comes back ---


@both
def test_the_properties_have_their_types(game: type[Position]) -> None:
    state = game(size=5)
    assert (state.phase, state.to_play, state.seat, state.ply) == ("play", "black", 1, 0)
    assert (state.result, state.winner, state.size) == ("", 0, 5)
    assert state.board() == "." * 25
    assert state.last_move() == []
    assert state.play("b2") == "B2"
    assert (state.to_play, state.seat, state.ply, state.last_move()) == ("white", 2, 1, ["B2"])
    assert state.board() == board("..... ..... ..... .X... .....")
    assert 0 <= state.hash() < 2**64
    assert state.captured() == (0, 0)


def test_legal_moves_are_sorted_bytewise() -> None:
    moves = Go(size=19).legal_moves()
    assert moves == sorted(moves)
    assert len(moves) == 362
    assert moves[:3] == ["A1", "A10", "A11"]
    assert moves[-1] == "pass"
    assert Yugo(size=2).legal_moves() == ["A1", "A2", "B1", "B2", "button"]


def test_score_parts_say_where_the_points_come_from_in_whole_numbers() -> None:
    yugo = play(Yugo(5, komi=0), "button D1 B1 D2 B2 D3 B3 D4 B4 D5 B5")
    assert repr(yugo.score_parts()["black"]) == (
        "{'total': 10.5, 'territory': 5, 'pieces': 5, 'surrounded_kings': 0, 'button': 0.5, 'handicap': 0}"
    )
    assert repr(yugo.score_parts()["white"]) == (
        "{'total': 10, 'territory': 5, 'pieces': 5, 'surrounded_kings': 0, 'button': 0, 'komi': 0}"
    )
    go = play(Go(3, komi=5.5), "A1")
    assert go.score_parts() == {
        "black": {"total": 9, "stones": 1, "territory": 8},
        "white": {"total": 5.5, "stones": 0, "territory": 0, "komi": 5.5},
    }


@pytest.mark.parametrize(
    ("komi", "result"),
    [
        (7.5, "B+1.5"),
        (6, "B+3"),
        (5.3, "B+3.7"),
        (9, "0"),
        (9.1, "W+0.1"),
        (-0.0, "B+9"),
        (1e17, "W+99999999999999984"),
    ],
)
def test_results_are_shortest_decimals(komi: float, result: str) -> None:
    state = play(Go(3, komi=komi), "B2 pass pass")
    assert state.result == result
    assert state.winner == {"B": 1, "W": 2, "0": 0}[result[0]]


# --- Errors ---


PASSED = "both sides have passed: answer dead: with the points of dead groups, or dead: alone for none"
NEITHER = (
    "neither a pawn (the number of surrounded groups would change) nor a king (no enemy group would be surrounded)"
)


@pytest.mark.parametrize(
    ("state", "move", "reason"),
    [
        (play(Go(9), "A1"), "a1", "A1 is occupied"),
        (Go(9), "J12", "J12 is not on the board: the board is 9x9"),
        (Go(9), "K1", "K1 is not on the board: the board is 9x9"),
        (Go(9), "i5", "there is no column I: the letters skip it"),
        (Go(9), "button", "not a move: a point is written like D4"),
        (Go(9), "D04", "not a move: a point is written like D4"),
        (Go(9), "", "not a move: a point is written like D4"),
        (Go(9), "D4 ", "not a move: a point is written like D4"),
        (Go(9), "Dé", "not a move: a point is written like D4"),
        (Go(9), "resign", "resign is an answer to genmove, not a move"),
        (Go(9), "dead:", "dead: lists belong to the agreement phase, after two passes"),
        (play(Go(9), "A2 pass B1"), "A1", "suicide: the group would have no liberty"),
        (play(Go(9), "pass pass"), "A1", "the game is over"),
        (play(Go(9, agreement=True), "A1 pass pass"), "pass", PASSED),
        (play(Go(9, agreement=True), "A1 pass pass"), "dead:B1", "B1 is empty: name a stone of a dead group"),
        (play(Go(9, agreement=True), "A1 pass pass"), "dead:A1,A1", "A1 is named twice"),
        (play(Go(9, agreement=True), "A1 pass pass"), "dead:A1,", "a point is missing after the last comma"),
        (play(Go(9, agreement=True), "A1 pass pass"), "dead:,A1", "not a move: a point is written like D4"),
        (Yugo(9), "pass", "the button must be taken before a pass"),
        (play(Yugo(9), "button"), "BUTTON", "the button is taken"),
        (play(Yugo(9, handicap=2), "A1"), "button", "handicap pawns come first: 1 left"),
        (play(Yugo(9), "A2 button B1"), "A1", NEITHER),
    ],
)
def test_an_illegal_move_is_explained_and_changes_nothing(state: Position, move: str, reason: str) -> None:
    before = (state.hash(), state.ply, state.board())
    assert state.why_illegal(move) == reason
    with pytest.raises(IllegalMove) as caught:
        state.play(move)
    assert str(caught.value) == reason
    assert isinstance(caught.value, ValueError)
    assert (state.hash(), state.ply, state.board()) == before


def test_absurdly_long_texts_are_refused() -> None:
    assert Go(9).why_illegal("x" * 10_000_000) == "not a move: a point is written like D4"
    agree = play(Go(9, agreement=True), "A1 pass pass")
    assert agree.why_illegal("dead:" + "A1," * 10_000_000) == "the list of dead groups is too long"


def test_ko_is_explained_by_its_rule() -> None:
    ko = "B1 C1 A2 D2 B3 C3 D4 B2 C2"  # Black C2 takes B2
    reasons = {
        "positional": "positional superko: the board stood like this after ply 8",
        "situational": "situational superko: the board stood with the same side to move after ply 8",
        "simple": "ko: this would recreate the board before the opponent's last move",
    }
    assert play(Go(5, ko="simple"), ko).captured() == (0, 1)
    assert play(Go(5, ko="simple"), ko).why_illegal("b2") == reasons["simple"]
    assert play(Go(5, ko="positional"), ko).why_illegal("b2") == reasons["positional"]
    assert play(Go(5, ko="situational"), ko).why_illegal("b2") == reasons["situational"]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Go(1), "size must be 2..25"),
        (lambda: Yugo(26), "size must be 2..25"),
        (lambda: Go(9, komi=math.nan), "komi must be a number"),
        (lambda: Yugo(9, komi=10**30), "komi must be an integer of at most 15 digits"),
        (lambda: Go(9, handicap=10), "handicap must be 0 or 2..9"),
        (lambda: Go(9, handicap=1), "handicap must be 0 or 2..9"),
        (lambda: Go(5, handicap=2), "handicap: there are no fixed points on boards smaller than 7x7, this is 5x5"),
        (lambda: Go(7, handicap=5), "handicap must be 0 or 2..4 on 7x7"),
        (lambda: Go(18, handicap=5), "handicap must be 0 or 2..4 on 18x18: a board of even size has no middle line"),
        (lambda: Yugo(2, handicap=4), "handicap must be less than the number of points"),
        (lambda: Go(9, ko="no"), "ko must be one of: simple, positional, situational"),  # type: ignore[arg-type]
        (lambda: Go(9).playouts(1, 0, "best"), "policy must be one of: uniform, rollout"),  # type: ignore[arg-type]
        (lambda: Go(9).playouts(-1), "n must not be negative"),
        (lambda: Go(9).perft(-1), "depth must not be negative"),
        (lambda: Go(2).set_up("...X."), "a board has size * size characters"),
        (lambda: Go(2).set_up("XXOO"), "A1 has no liberty"),
        (lambda: Yugo(2).set_up("XX@@"), "A2 is a pawn without a liberty"),
        (lambda: play(Yugo(9), "A1").set_komi(3), "komi is settled before the first move"),
    ],
)
def test_wrong_options_are_explained(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == reason


# --- Copies, hashes, set-up ---


@both
def test_a_copy_is_independent(game: type[Position]) -> None:
    state = play(game(size=5), "A1 B1")
    for twin in (state.copy(), copy.copy(state), copy.deepcopy(state)):
        assert type(twin) is game
        assert twin.hash() == state.hash()
        twin.play("C3")
        assert twin.hash() != state.hash()
        assert state.ply == 2


@both
def test_looking_changes_nothing(game: type[Position]) -> None:
    state = play(game(size=5), "A1 B1")
    before = (state.hash(), state.legal_moves(), state.playouts(20, 7))
    state.perft(2), state.playouts(50, 1, "rollout"), state.random_move(3), state.score_parts()
    assert (state.hash(), state.legal_moves(), state.playouts(20, 7)) == before


@pytest.mark.slow
@both
def test_hashes_are_the_same_in_every_process_and_by_every_way(game: type[Position]) -> None:
    moves = "[s.play(move) for move in ('A1', 'B2', 'C3')]"
    script = f"from ggp.engines._core import {game.__name__} as G; s = G(9); {moves}; print(s.hash())"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True, timeout=60
    )
    assert int(answer.stdout) == play(game(size=9), "C3 B2 A1").hash()
    assert game(size=9).hash() != game(size=9, agreement=True).hash()


def test_handicap_stones_stand_before_ply_0() -> None:
    fixed = Go(9, handicap=2)
    assert (fixed.to_play, fixed.seat, fixed.ply) == ("white", 2, 0)
    free = Go(9)
    free.place_handicap(Go.fixed_handicap_points(9, 2))
    assert free.hash() == fixed.hash()
    with pytest.raises(IllegalMove, match="C3"):
        Go(9).place_handicap(["C3", "c3"])
    with pytest.raises(IllegalMove, match="empty"):
        free.place_handicap(["A1", "B1"])


def test_plain_gtp_may_play_out_of_turn() -> None:
    state = Go(9)
    state.play("A1")
    state.set_to_play("black")
    state.play("B1")
    assert (state.to_play, state.board().count("X"), state.ply) == ("white", 2, 2)
