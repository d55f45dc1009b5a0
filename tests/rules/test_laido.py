"""Every sentence and worked example of the rules of Laido, on the core and on the model."""

from typing import Any

import pytest

from ggp.engines import _core
from tests.rules.models.hexagon import name
from tests.rules.models.laido import LaidoModel
from tests.support.positions import Shown, axial, on_hexagon, played, shown, turn


@pytest.fixture(params=[_core.Laido, LaidoModel], ids=["core", "model"])
def laido(request: pytest.FixtureRequest) -> Any:
    return request.param


core_only = pytest.mark.parametrize("laido", [_core.Laido], ids=["core"])


def set_up(laido: Any, side: int, black: str = "", white: str = "", to_play: str = "black") -> Any:
    return on_hexagon(laido, side, axial(black), axial(white), to_play)


def values(state: Any, colour: str = "black") -> list[int]:
    """The values of that side's groups, in descending order."""
    return list(state.score_parts()[colour]["groups"])


# --- the worked examples -------------------------------------------------------------------------------------------


def test_d_a_whole_game(laido: Any) -> None:
    state = laido(size=2)
    moves = [name((1, 0), 2), name((-1, 0), 2), name((0, 0), 2), name((0, -1), 2), name((-1, 1), 2), "pass", "pass"]
    assert moves[:5] == ["C2", "A2", "B2", "B1", "A3"]
    turns = []
    for move in moves:
        turns.append(turn(state))
        state.play(move)
    assert turns == [("play", ("black", "white")[ply % 2], 1 + ply % 2, ply) for ply in range(7)]
    assert turn(state) == ("over", "none", 0, 7)
    assert (values(state), values(state, "white")) == ([3], [2])
    assert (state.result, state.winner, state.legal_moves()) == ("B+1", 1, [])


# --- the opening and turns -----------------------------------------------------------------------------------------

ALL = "A2 A3 B1 B2 B3 C1 C2"
BUT_B2 = "A2 A3 B1 B3 C1 C2"
RULES = [
    shown("the first black stone goes anywhere and is not passed", "size=2", only=ALL, illegal="pass"),
    shown(
        *("seat 2 has every White move and the swap", "size=2", "B2"),
        turn=("play", "white", 2, 1),
        only=f"{BUT_B2} pass swap-sides",
    ),
    shown("who passes leaves the sides", "size=2", "B2 pass", turn=("play", "black", 1, 2), illegal="swap-sides"),
    shown(
        *("after the swap White is still to move as seat 1", "size=2", "B2 swap-sides"),
        turn=("play", "white", 1, 2),
        board="...X...",
        last_move=[],
        only=f"{BUT_B2} pass",
    ),
    shown("[-2] against [-1]: White is seat 1", "size=2", "B2 swap-sides A2 C2 pass pass", over=("W+1", 1)),
    shown("the same after a pass", "size=2", "B2 swap-sides pass A2 pass pass", winner=1),
    shown("a swap is no pass", "size=2", "B2 swap-sides pass", phase="play"),
    shown("a swap is no answer to a pass", "size=2", "B2 swap-sides pass pass", over=("W+1", 1)),
    shown("without the pie a pass is legal", "size=2 pie=off", only=f"{ALL} pass", illegal="swap-sides"),
    shown("without the pie two passes end it", "size=2 pie=off", "pass pass", over=("B+0.5", 1)),
    shown("without the pie there is no swap", "size=2 pie=off", "B2", only=f"{BUT_B2} pass"),
    shown("a full board is passed", "size=2", f"{BUT_B2} B2", only="pass", turn=("play", "white", 2, 7)),
    shown("two passes end it", "size=2", f"{BUT_B2} B2 pass pass", phase="over"),
    shown("one pass does not end it", "size=2", "A2 pass B2 pass C2 pass", turn=("play", "black", 1, 6)),
]


@pytest.mark.parametrize("case", RULES)
def test_the_rules(laido: Any, case: Shown) -> None:
    case.hold(laido)


def test_the_largest_board_of_the_rules_has_217_points(laido: Any) -> None:
    assert len(laido(size=9).legal_moves()) == 217
    assert laido(size=9).play("j9") == "J9"  # the centre, and column I is skipped


FIRST = "the first ply is a black stone: it may be swapped and cannot be passed"
LATE = "sides could be swapped only right after the first stone"


@core_only
@pytest.mark.parametrize(
    ("moves", "move", "reason"),
    [
        ("", "pass", FIRST),
        ("", "swap-sides", "sides are swapped by seat 2, after the first stone"),
        ("E5", "e5", "E5 is occupied"),
        ("E5", "F10", "F10 is not on the board: a hexagon with 5 on a side"),
        ("E5", "A1", "A1 is not on the board: a hexagon with 5 on a side"),
        ("E5", "K5", "K5 is not on the board: a hexagon with 5 on a side"),
        ("E5", "i5", "there is no column I: the letters skip it"),
        ("E5", "E05", "not a move: a point is written like D4"),
        ("E5", "", "not a move: a point is written like D4"),
        ("E5", "E5 ", "not a move: a point is written like D4"),
        ("E5", "0,0", "not a move: a point is written like D4"),
        ("E5", "D4+D5", "not a move: a point is written like D4"),
        ("E5 D5", "swap-sides", LATE),
        ("E5 pass", "swap-sides", LATE),
        ("E5 swap-sides", "SWAP-sides", LATE),
        ("E5", "keep-sides", "keep-sides answers a bid; who keeps a side here plays on"),
        ("", "bid:7", "this game has no komi to bid for"),
        ("E5", "dead:", "no stone is dead in this game: there is no agreement"),
        ("E5", "button", "this game has no button"),
        ("E5", "resign", "resign is an answer to genmove, not a move"),
        ("E5 pass pass", "A5", "the game is over"),
        ("E5 pass pass", "pass", "the game is over"),
    ],
)
def test_an_illegal_move_is_explained_and_changes_nothing(laido: Any, moves: str, move: str, reason: str) -> None:
    state = played(laido, moves, size=5)
    before = (state.hash(), state.board(), turn(state), state.legal_moves())
    assert move.upper() not in state.legal_moves() and move.lower() not in state.legal_moves()
    assert state.why_illegal(move) == reason
    with pytest.raises(ValueError) as caught:
        state.play(move)
    assert str(caught.value) == reason
    assert (state.hash(), state.board(), turn(state), state.legal_moves()) == before


@core_only
def test_the_swap_is_refused_without_the_pie(laido: Any) -> None:
    state = played(laido, "E5", size=5, pie=False)
    assert state.why_illegal("swap-sides") == "sides cannot be swapped: the game is played with pie=off"


@core_only
@pytest.mark.parametrize("side", [1, 14, 0, -3])
def test_the_side_is_2_to_13(laido: Any, side: int) -> None:
    with pytest.raises(ValueError, match=r"size must be 2\.\.13"):
        laido(size=side)
    assert laido(size=2).size == 2 and len(laido(size=13).legal_moves()) == 469


@core_only
def test_the_half_point_is_final_or_first(laido: Any) -> None:
    with pytest.raises(ValueError, match="half_point"):
        laido(half_point="last")


# --- the half point ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "result"), [("final", "W+0.5"), ("first", "B+0.5")])
def test_all_equal_the_half_point_decides(laido: Any, rule: str, result: str) -> None:
    """Black made the first pass of the game, White the first of the two final ones."""
    state = played(laido, "A2 C2 pass C1 A3 pass pass", size=2, half_point=rule)
    assert values(state) == values(state, "white") == [2]
    assert (state.result, state.winner) == (result, 1 if result[0] == "B" else 2)
    assert values_of_half_points(state) == ((0.5, 0) if result[0] == "B" else (0, 0.5))


@pytest.mark.parametrize(("rule", "winner"), [("final", 1), ("first", 2)])
def test_the_half_point_is_a_colours_and_the_win_is_the_seats(laido: Any, rule: str, winner: int) -> None:
    state = played(laido, "A2 swap-sides C2 pass C1 A3 pass pass", size=2, half_point=rule)
    assert state.result == {"final": "W+0.5", "first": "B+0.5"}[rule]
    assert state.winner == winner


@core_only
@pytest.mark.parametrize("rule", ["final", "first"])
def test_the_holder_of_the_half_point_before_the_end(laido: Any, rule: str) -> None:
    state = laido(size=2, half_point=rule, pie=False)
    assert (state.half_point(), values_of_half_points(state), state.standing()) == ("none", (0, 0), "0")
    for move, final in (("pass", "B"), ("A2", ""), ("pass", "B"), ("C2", ""), ("B2", ""), ("pass", "W"), ("pass", "W")):
        state.play(move)
        holder = final if rule == "final" else "B"
        assert state.half_point() == {"B": "black", "W": "white", "": "none"}[holder]
        assert values_of_half_points(state) == (0.5 * (holder == "B"), 0.5 * (holder == "W"))


@core_only
@pytest.mark.parametrize(("rule", "standing"), [("final", ["B+0.5", "0"]), ("first", ["B+0.5", "B+0.5"])])
def test_equal_values_stand_for_the_holder_of_the_half_point(laido: Any, rule: str, standing: list[str]) -> None:
    """Before the end the position is answered as it stands; `0` without a half point."""
    state = played(laido, "A2 C2 A3 C1", size=2, half_point=rule)
    assert (state.standing(), state.result, state.winner) == ("0", "", 0)
    state = played(laido, "pass A2", size=2, half_point=rule, pie=False)
    assert state.standing() == "B+1"  # [] against [-1]
    state = played(laido, "A3 C1 A4 D1 pass", size=3, half_point=rule)
    assert state.standing() == standing[0]
    state = played(laido, "pass A3 E3 A4 E2", size=3, half_point=rule, pie=False)
    assert values(state) == values(state, "white")
    assert state.standing() == standing[1]


def values_of_half_points(state: Any) -> tuple[float, float]:
    parts = state.score_parts()
    assert parts["black"]["total"] is None and parts["white"]["total"] is None
    return parts["black"]["half_point"], parts["white"]["half_point"]


# --- positions -----------------------------------------------------------------------------------------------------


def test_a_board_is_set_up_after_the_opening(laido: Any) -> None:
    state = set_up(laido, 3, "0,0", "1,0", "white")
    assert turn(state) == ("play", "white", 2, 0)
    assert state.board() == "." * 9 + "XO" + "." * 8 and state.last_move() == []
    assert state.legal_moves()[-1] == "pass" and len(state.legal_moves()) == 18
    state.set_up("." * 19, "black")  # still before the first move
    assert len(state.legal_moves()) == 20
    state.play("pass")
    state.play("pass")
    assert state.result == "B+0.5"


@core_only
@pytest.mark.parametrize(
    ("board", "reason"),
    [("." * 18, "a board has 19 characters"), ("." * 18 + "#", "a board is written with .XO")],
)
def test_a_board_that_is_none(laido: Any, board: str, reason: str) -> None:
    state = laido(size=3)
    with pytest.raises(ValueError, match=reason):
        state.set_up(board, "black")
    assert state.why_illegal("pass") == FIRST
    state.play("C3")
    with pytest.raises(ValueError, match="before"):
        state.set_up("." * 19, "black")


def test_nothing_is_ever_captured(laido: Any) -> None:
    assert played(laido, "C3 D3 B3 A3", size=3).captured() == (0, 0)


# --- values of groups ---

ROW = "-2,0 -1,0 0,0 1,0 2,0"
ARCH = "-3,0 -2,0 -1,0 1,0 2,0 3,0 -1,-1 0,-2 1,-2 1,-1"


@pytest.mark.parametrize(
    ("side", "stones", "value"),
    [
        (3, ROW, [5]),
        (3, f"{ROW} 0,1", [4]),
        (3, f"{ROW} -2,1", [-2]),
        (3, "0,0", [-1]),
        (3, "2,0", [-1]),
        (3, "0,0 1,0 2,0", [-3]),
        (3, "2,0 2,-1", [2]),
        (3, "2,0 2,-1 2,-2", [1]),
        (4, ARCH, [8]),
        (4, f"{ARCH} 0,0", [3]),
        (3, "", []),
    ],
)
def test_the_values_of_the_examples(laido: Any, side: int, stones: str, value: list[int]) -> None:
    assert values(set_up(laido, side, stones)) == value
    assert values(set_up(laido, side, white=stones), "white") == value


def test_lists_are_padded_with_zeros_at_the_end(laido: Any) -> None:
    """[5, -1] loses to [5]; [5, 2] beats [5]; [-1] loses to []."""
    row, other = "-2,4 -1,3 0,2 1,1 2,0 3,-1 4,-2", "-4,2 -3,1 -2,0 -1,-1 0,-2 1,-3 2,-4"
    assert values(set_up(laido, 5, row)) == [7] and values(set_up(laido, 5, white=other), "white") == [7]
    for more, result in (("", "0"), ("0,0", "W+1"), ("4,0", "W+1")):
        state = set_up(laido, 5, f"{row} {more}", other)
        assert state.standing() == result, (more, values(state), values(state, "white"))
    assert set_up(laido, 5, f"{row} 4,-4 3,-4", other).standing() == "B+2"
    assert set_up(laido, 5, row, f"{other} 4,-1 4,0").standing() == "W+2"
    assert set_up(laido, 5, "0,0").standing() == "W+1"
    assert set_up(laido, 5, "", "0,0").standing() == "B+1"
    assert set_up(laido, 5, "0,0 1,0", "-3,0").standing() == "W+1"  # [-2] against [-1]
    assert set_up(laido, 5, "0,0 2,0", "-3,0").standing() == "W+1"  # [-1, -1] against [-1]


def test_zero_is_a_value_like_any_other(laido: Any) -> None:
    """Two edge stones and two more are worth 0: as good as nothing there, better than a lone stone."""
    zero = "3,0 3,-1 2,0 2,-1"
    assert values(set_up(laido, 4, zero)) == [0]
    assert set_up(laido, 4, zero).standing() == "0"
    assert set_up(laido, 4, zero, "-1,0").standing() == "B+1"


def test_a_comb_of_the_largest_board(laido: Any) -> None:
    """One group of side 13 whose edge stones are far apart: p and g by hand."""
    side = 13
    row = " ".join(f"{q},0" for q in range(-12, 13))
    assert values(set_up(laido, side, row)) == [25]
    teeth = " ".join(f"{q},{r}" for q in range(-10, 11, 2) for r in range(-1, -8, -1) if abs(q + r) < 12)
    stones = len(teeth.split())
    assert stones == 65  # the seven of a tooth, fewer where the edge is near: it is not touched
    assert values(set_up(laido, side, f"{row} {teeth}")) == [25 - stones]
