"""Every sentence and worked example of the rules of Yugo, shown on the core and on the model alike; no walks."""

from typing import Any

import pytest

from ggp.engines import _core
from tests.rules.models import yugo as model

IMPLEMENTATIONS = pytest.mark.parametrize("yugo", [_core.Yugo, model.YugoModel], ids=["core", "model"])
pytestmark = IMPLEMENTATIONS

EXAMPLE_A = """
    . . . . . . . . .
    . . . . . . . . .
    X X X . . . . . .
    O O @ X X . . . .
    O . @ O O X . . .
    X O O @ X X . . .
    . X # X . . . . .
    . . . . . . . . .
    . . . . . . . . .
"""


def set_up(yugo: Any, drawing: str, side: str = "black", **options: Any) -> Any:
    """A game that begins with the drawn board, and that side to move."""
    board = "".join(drawing.split())
    state = yugo(size=round(len(board) ** 0.5), **options)
    state.set_up(board, side)
    return state


def played(yugo: Any, moves: str, **options: Any) -> Any:
    """A game in which those moves have been played."""
    state = yugo(**options)
    for move in moves.split():
        assert state.play(move.lower()) == move
    return state


def rows(state: Any) -> list[str]:
    """The board, rows from the top."""
    board = state.board()
    return [board[i : i + state.size] for i in range(0, len(board), state.size)]


def piece(state: Any, name: str) -> str:
    return str(rows(state)[state.size - int(name[1:])]["ABCDEFGHJ".index(name[0])])


def totals(state: Any) -> tuple[float, float]:
    """Black's and White's score as the position stands."""
    if isinstance(state, model.YugoModel):
        return state.totals()
    parts = state.score_parts()
    return parts["black"]["total"], parts["white"]["total"]


# --- the worked examples -------------------------------------------------------------------------------------------


def test_a_black_removes_the_pawns_and_the_kings_stay(yugo: Any) -> None:
    state = set_up(yugo, EXAMPLE_A)
    assert state.play("b5") == "B5"
    assert rows(state) == [
        ".........",
        ".........",
        "X" * 3 + "......",
        "..@" + "XX....",
        ".#@..X...",
        "X..@" + "XX...",
        ".X#X.....",
        ".........",
        ".........",
    ]


def test_a_white_may_not_play_there(yugo: Any) -> None:
    state = set_up(yugo, EXAMPLE_A, "white")
    assert "B5" not in state.legal_moves()
    assert state.why_illegal("B5")
    with pytest.raises(ValueError, match=r"."):
        state.play("B5")
    assert piece(state, "B5") == "."


def test_a_can_be_reached(yugo: Any) -> None:
    """The same board by legal plies alone. A king that stands on a board from which all has vanished around it has
    captured a group that filled the rest of the board."""
    state = played(yugo, "button")
    for colour, king, pawns in (
        ("black", "C3", ""),
        ("white", "D4", ""),
        ("white", "C5", "C4"),
        ("white", "C6", ""),
    ):
        for name in pawns.split():
            _let(state, colour, name)
        prey = "white" if colour == "black" else "black"
        for name in _towards(king, state):
            _let(state, prey, name)
        _let(state, colour, king)
        assert piece(state, king) == ("#" if colour == "black" else "@")
    for name in ["D5", "E5", "B4", "A5", "A6", "B6"]:
        _let(state, "white", name)
    for name in ["A7", "B7", "C7", "D6", "E6", "F5", "A4", "E4", "F4", "B3", "D3"]:
        _let(state, "black", name)
    assert rows(state) == EXAMPLE_A.replace(" ", "").split()
    _let(state, "black", "B5")
    assert piece(state, "B5") == "#"


def test_b_white_loses_her_own_pawns(yugo: Any) -> None:
    """Reached by plies: A1 B1 B2 were White's before, and the king A2 took them."""
    state = played(yugo, "button A1 C1 B1 C2 B2 B3 pass A2", size=5)
    assert rows(state)[3:] == ["#.X..", "..X.."]
    for name in ("B1", "B2", "A3"):
        _let(state, "white", name)
    assert rows(state) == [".....", ".....", "OX...", "#OX..", ".OX.."]
    _let(state, "white", "A1")
    assert rows(state) == [".....", ".....", "OX...", "#.X..", "@.X.."]


def test_b_set_up(yugo: Any) -> None:
    state = set_up(yugo, ". . . . . . . . . . O X . . . # O X . . . O X . .", "white")
    state.play("A1")
    assert rows(state) == [".....", ".....", "OX...", "#.X..", "@.X.."]


def test_c_a_capture_that_removes_nothing(yugo: Any) -> None:
    state = set_up(yugo, "." * 20 + "#O...", "white", komi=0)
    state.play("A2")
    assert rows(state)[3:] == ["@....", "#O..."]
    assert totals(state) == (0, 25)


def test_c_can_be_reached_but_for_the_button(yugo: Any) -> None:
    state = played(yugo, "button", size=5, komi=0)
    for name in _towards("A1", state):
        _let(state, "white", name)
    for colour, name in (("black", "A1"), ("white", "B1"), ("white", "A2")):
        _let(state, colour, name)
    assert rows(state)[3:] == ["@....", "#O..."]
    assert totals(state) == (0.5, 25)


def test_d_white_comes_back_at_once(yugo: Any) -> None:
    state = set_up(yugo, "." * 10 + "O.... .O... OX...", komi=0)
    state.play("A2")
    assert rows(state)[3:] == ["#O...", ".X..."]
    state.play("A1")
    assert rows(state)[2:] == ["O....", "#O...", "@X..."]
    assert totals(state) == (2, 3)


def test_d_reached_by_plies(yugo: Any) -> None:
    state = played(yugo, "B1 button pass A1 pass B2 pass A3 A2 A1", size=5, komi=0)
    assert rows(state)[2:] == ["O....", "#O...", "@X..."]
    assert totals(state) == (2, 3.5)


def test_e_the_button_decides(yugo: Any) -> None:
    state = played(yugo, "button D1 B1 D2 B2 D3 B3 D4 B4 D5 B5", size=5, komi=0)
    assert totals(state) == (10.5, 10)
    state.play("pass")
    assert (state.phase, state.result) == ("play", "")
    state.play("pass")
    assert (state.phase, state.to_play, state.seat, state.result, state.winner) == ("over", "none", 0, "B+0.5", 1)
    assert state.legal_moves() == []
    with pytest.raises(ValueError, match=r"."):
        state.play("A1")


# --- the turn ------------------------------------------------------------------------------------------------------


def test_the_button_comes_before_any_pass_and_is_not_one(yugo: Any) -> None:
    state = yugo(size=2)
    assert state.legal_moves() == ["A1", "A2", "B1", "B2", "button"]
    assert state.why_illegal("pass")
    state.play("Button")
    assert state.legal_moves() == ["A1", "A2", "B1", "B2", "pass"]
    assert state.why_illegal("button")
    state.play("pass")
    assert state.phase == "play"


def test_points_are_sorted_bytewise_and_skip_the_letter_i(yugo: Any) -> None:
    legal = yugo(size=11).legal_moves()
    assert legal[:3] == ["A1", "A10", "A11"]
    assert legal[-1] == "button"
    assert "J1" in legal
    assert not any(move.startswith("I") for move in legal)
    assert len(legal) == 122


@pytest.mark.parametrize(
    "text", ["", "A", "A0", "A01", "I1", "A6", "F1", "resign", "dead:", "A1,A2", "A1 ", "swap-sides"]
)
def test_anything_else_is_refused_and_changes_nothing(yugo: Any, text: str) -> None:
    state = yugo(size=5)
    assert state.why_illegal(text)
    with pytest.raises(ValueError, match=r"."):
        state.play(text)
    assert (state.ply, state.board()) == (0, "." * 25)


def test_no_pawn_without_a_liberty(yugo: Any) -> None:
    """A point inside living enemy groups, and the last liberty of one's own group."""
    state = set_up(yugo, ". . . X . . . X .", "white")
    assert "A1" not in state.legal_moves()
    state = set_up(yugo, ". . . X X . O . X", "white")
    assert "B1" not in state.legal_moves()


def test_a_pawn_may_join_a_group_that_has_another_liberty(yugo: Any) -> None:
    state = set_up(yugo, ". . . X . . . X .", "black")
    state.play("A1")
    assert rows(state)[2] == "X" * 2 + "."


def test_a_king_takes_enemies_before_friends_are_looked_at(yugo: Any) -> None:
    """The capture opens liberties for the capturer: his own pawns stay."""
    state = set_up(yugo, "O O . . X O . . X X O . . . X .", "white")
    assert rows(state) == ["OO..", "XO..", "XX" + "O.", "..X."]
    state.play("A1")  # the group A2 A3 B2 still breathes at B1: a pawn
    assert rows(state)[3] == "O.X."
    state = set_up(yugo, "O O . . X O . . X X O . O . X .", "white")
    state.play("B1")
    assert rows(state) == ["OO..", ".O..", "..O.", "O@X."]


def test_kings_and_pawns_are_one_group(yugo: Any) -> None:
    """A pawn that hangs on a king shares his liberties; a surrounded king keeps none of his pawns."""
    state = set_up(yugo, "# # O . O O . . . . . . . . . .", "white", komi=0)
    assert totals(state) == (0, 3 + 2 + 11)  # surrounded kings count for the enemy
    state = set_up(yugo, "# X O . . O . . . . . . . . . .", "white")
    state.play("A3")
    assert rows(state)[:2] == ["#.O.", "@O.."]


def test_a_group_that_is_already_surrounded_does_not_make_a_capture(yugo: Any) -> None:
    """Only growth counts: beside a surrounded king a further stone is a pawn."""
    state = set_up(yugo, ". . . . . . . . @ . . . # @ . .", "white", komi=0)
    state.play("B2")
    assert piece(state, "B2") == "O"


# --- handicap, agreement, end --------------------------------------------------------------------------------------


def test_handicap_pawns_are_plies_of_black(yugo: Any) -> None:
    state = yugo(size=5, komi=0, handicap=3)
    for number, name in enumerate(("C3", "A1", "B1")):
        assert (state.to_play, state.seat, state.ply) == ("black", 1, number)
        assert state.why_illegal("button")
        assert state.why_illegal("pass")
        assert all(move[0].isupper() for move in state.legal_moves())
        state.play(name)
    assert (state.to_play, state.seat, state.ply) == ("white", 2, 3)
    assert totals(state) == (25 - 2, 0)
    assert "button" in state.legal_moves()


def test_handicap_may_fill_all_points_but_one(yugo: Any) -> None:
    state = played(yugo, "A1 A2 B1", size=2, handicap=3)
    assert state.legal_moves() == ["B2", "button"]
    state.play("B2")
    assert rows(state) == [".@", ".."]


def test_agreement_asks_the_first_passer_first(yugo: Any) -> None:
    state = yugo(size=5, agreement=True)
    for move in ["button", "B1", "A1", "B2", "A2", "B3", "A3", "E5", "pass", "pass"]:
        state.play(move)
    assert (state.phase, state.to_play, state.seat, state.ply) == ("agree", "black", 1, 10)
    assert state.legal_moves() == ["dead:"]
    assert state.why_illegal("pass")
    assert state.why_illegal("C3")
    assert state.play("DEAD:a2") == "dead:A1,A2,A3"
    assert (state.phase, state.to_play, state.seat, state.ply) == ("agree", "white", 2, 11)
    assert state.play("dead:A3,a1") == "dead:A1,A2,A3"
    assert (state.phase, state.to_play, state.result, state.winner) == ("over", "none", "W+31.5", 2)
    assert rows(state)[2:] == [".O...", ".O...", ".O..."]


def test_a_refused_agreement_resumes_play_and_is_not_asked_again(yugo: Any) -> None:
    state = played(yugo, "button B1 A1 pass pass", size=5, komi=0, agreement=True)
    assert (state.to_play, state.seat) == ("white", 2)  # she passed first
    assert state.play("dead:a1") == "dead:A1"
    assert state.play("dead:") == "dead:"
    assert (state.phase, state.to_play, state.seat, state.result) == ("play", "white", 2, "")  # Black passed last
    assert state.why_illegal("dead:")
    state.play("pass")
    assert state.phase == "play"
    state.play("pass")
    assert (state.phase, state.result) == ("over", "B+0.5")


def test_agreement_on_nothing(yugo: Any) -> None:
    state = played(yugo, "button B1 A1 pass pass dead: dead:", size=5, komi=0, agreement=True)
    assert (state.phase, state.result) == ("over", "B+0.5")


def test_dead_lists_name_groups_by_column_then_row(yugo: Any) -> None:
    state = played(yugo, "button A10 B9 K2 K10 pass pass", size=10, agreement=True)
    assert state.play("dead:k10,B9,k2,a10") == "dead:A10,B9,K2,K10"


@pytest.mark.parametrize(
    "text", ["dead:C3", "dead:A1,A1", "dead:A1,a1", "dead:A1,", "dead:,A1", "dead:A1;B1", "dead", "dead:Z9"]
)
def test_bad_dead_lists(yugo: Any, text: str) -> None:
    state = played(yugo, "button B1 A1 pass pass", size=5, agreement=True)
    assert state.why_illegal(text)
    with pytest.raises(ValueError, match=r"."):
        state.play(text)
    assert (state.phase, state.to_play, state.ply) == ("agree", "white", 5)


def test_dead_kings_are_removed_too(yugo: Any) -> None:
    state = played(yugo, "B1 A1 button B2 pass D4 A2 pass pass", size=5, komi=0, agreement=True)
    assert rows(state)[3:] == ["#O...", ".X..."]
    assert state.play("dead:A2") == state.play("dead:a2") == "dead:A2"
    assert "#" not in state.board()
    assert state.result == "W+0.5"


def test_without_agreement_two_passes_end_it(yugo: Any) -> None:
    state = played(yugo, "button pass pass", size=5)
    assert (state.phase, state.result, state.winner) == ("over", "W+6.5", 2)


def test_komi_may_be_negative_and_is_fixed_at_ply_0(yugo: Any) -> None:
    state = yugo(size=5)
    state.set_komi(-3)
    for move in ["button", "pass", "pass"]:
        state.play(move)
    assert state.result == "B+3.5"
    with pytest.raises(ValueError, match=r"."):
        state.set_komi(0)


# --- how positions are reached by plies ----------------------------------------------------------------------------


def _let(state: Any, colour: str, name: str) -> None:
    """That colour plays there; if it is the other's turn, the other passes."""
    if state.to_play != colour:
        state.play("pass")
    state.play(name)


def _towards(target: str, state: Any) -> list[str]:
    """All empty points but the target, the farthest first: each keeps a liberty until the target is played."""
    column, row = "ABCDEFGHJ".index(target[0]), int(target[1:])
    free = [move for move in _empty(state) if move != target]
    return sorted(free, key=lambda name: -abs("ABCDEFGHJ".index(name[0]) - column) - abs(int(name[1:]) - row))


def _empty(state: Any) -> list[str]:
    return [
        f"{c}{r}" for c in "ABCDEFGHJ"[: state.size] for r in range(1, state.size + 1) if piece(state, f"{c}{r}") == "."
    ]
