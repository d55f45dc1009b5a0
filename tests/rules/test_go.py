"""Every sentence of the rules of Go, shown on core and model alike, with the classical ko shapes; no walks."""

from typing import Any

import pytest

from ggp.engines import _core
from tests.rules.models import go as model

IMPLEMENTATIONS = pytest.mark.parametrize("go", [_core.Go, model.GoModel], ids=["core", "model"])
pytestmark = IMPLEMENTATIONS
KO_RULES = ("simple", "positional", "situational")

# One ko: Black takes at C2, and White would take back at B2.
ONE_KO = """
    . . . . .
    . . . . .
    . X O . .
    X O . O .
    . X O . .
"""

# White sends two stones (A1 beside B1), Black takes both at C1, White returns one at B1 and takes C1.
SEND_TWO = """
    . . . . .
    . . . . .
    . . . . .
    X X O . .
    . O . O .
"""

# Three kos at once; neither side can win more than two of them.
THREE_KOS = """
    . . . . . . . . .
    . X O . . . . . .
    X . X O . . . . .
    . X O . . X O . .
    . . . . X O . O .
    . . . . . X O . .
    . X O . . . . . .
    X O . O . . . . .
    . X O . . . . . .
"""


def set_up(go: Any, drawing: str, side: str = "black", **options: Any) -> Any:
    """A game that begins with the drawn board, and that side to move."""
    board = "".join(drawing.split())
    state = go(size=round(len(board) ** 0.5), **options)
    state.set_up(board, side)
    return state


def play(state: Any, moves: str) -> Any:
    """Play them all."""
    for move in moves.split():
        assert state.play(move.lower()) == move
    return state


def rows(state: Any) -> list[str]:
    """The board, rows from the top."""
    board = state.board()
    return [board[i : i + state.size] for i in range(0, len(board), state.size)]


def totals(state: Any) -> tuple[float, float]:
    """Black's and White's score as the position stands."""
    if isinstance(state, model.GoModel):
        return state.totals()
    parts = state.score_parts()
    return parts["black"]["total"], parts["white"]["total"]


def stones(state: Any) -> set[str]:
    """The points with black stones."""
    return {
        f"{'ABCDEFGHJKLMNOPQRSTUVWXYZ'[x]}{state.size - y}"
        for y, row in enumerate(rows(state))
        for x, stone in enumerate(row)
        if stone == "X"
    }


# --- stones and areas ----------------------------------------------------------------------------------------------


def test_a_group_without_liberties_is_taken(go: Any) -> None:
    state = play(go(size=3), "A2 A1 B1")
    assert rows(state) == ["...", "X..", ".X."]
    state = set_up(go, "O O . X X O . X .", "black")
    state.play("C3")
    assert rows(state) == ["..X", "X" * 2 + "O", ".X."]


def test_two_groups_at_once(go: Any) -> None:
    state = set_up(go, "O . O X X X . . .", "black")
    state.play("B3")
    assert rows(state) == [".X.", "X" * 3, "..."]


@pytest.mark.parametrize("ko", KO_RULES)
def test_suicide_is_forbidden(go: Any, ko: str) -> None:
    """Of one stone and of several."""
    state = play(go(size=5, ko=ko), "A2 E5 B1")
    assert "A1" not in state.legal_moves()
    assert state.why_illegal("A1")
    state = set_up(go, "O . X X X X . . .", "white", ko=ko)
    assert state.why_illegal("B3")
    with pytest.raises(ValueError, match=r"."):
        state.play("B3")
    assert state.play("C1") == "C1"


def test_a_capture_is_no_suicide(go: Any) -> None:
    state = set_up(go, "X . . O X . . O .", "white")
    assert state.play("B3") == "B3"
    assert rows(state)[0] == ".O."


def test_areas(go: Any) -> None:
    """All stones are alive; empty points count for the only colour that they reach."""
    assert totals(go(size=5, komi=0.0)) == (0, 0)
    assert totals(play(go(size=5, komi=0.0), "C3")) == (25, 0)
    assert totals(play(go(size=5, komi=0.5), "C3 A1")) == (1, 1.5)
    assert totals(set_up(go, ". X O X X O . O .", komi=-2.0)) == (4, 5 - 2 - 1)


@pytest.mark.parametrize(
    ("komi", "result", "winner"),
    [(7.5, "W+7.5", 2), (-3.0, "B+3", 1), (0.0, "0", 0), (-0.5, "B+0.5", 1), (25.0, "W+25", 2)],
)
def test_results(go: Any, komi: float, result: str, winner: int) -> None:
    state = play(go(size=5, komi=komi), "pass pass")
    assert (state.phase, state.to_play, state.seat, state.ply) == ("over", "none", 0, 2)
    assert (state.result, state.winner) == (result, winner)
    assert state.legal_moves() == []
    assert state.why_illegal("pass")


def test_komi_acts_at_any_time(go: Any) -> None:
    state = play(go(size=5), "C3 pass")
    state.set_komi(20.0)
    state.play("pass")
    assert state.result == "B+5"


def test_passes_must_follow_each_other(go: Any) -> None:
    state = play(go(size=5), "pass A1 pass B1 pass")
    assert (state.phase, state.to_play) == ("play", "white")


# --- ko ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ko", KO_RULES)
def test_no_ko_is_retaken_at_once(go: Any, ko: str) -> None:
    state = play(set_up(go, ONE_KO, ko=ko), "C2")
    assert rows(state)[3] == "X.XO."
    assert "B2" not in state.legal_moves()
    assert "ko" in state.why_illegal("B2") or "recreate" in state.why_illegal("B2")
    play(state, "E5 A5")
    assert "B2" in state.legal_moves()  # elsewhere the board has changed
    play(state, "B2")
    assert rows(state)[3] == "XO.O."


def test_simple_looks_one_move_back_only(go: Any) -> None:
    """White's B1 makes the board of the beginning; then White was to move and now Black would be."""
    for ko in KO_RULES:
        state = play(set_up(go, SEND_TWO, "white", ko=ko), "A1 C1")
        assert rows(state)[4] == "..XO."
        assert ("B1" in state.legal_moves()) is (ko != "positional")
        assert (state.why_illegal("B1") == "") is (ko != "positional")
    play(state, "B1")
    assert (state.to_play, rows(state)[4]) == ("black", ".O.O.")


@pytest.mark.parametrize("ko", KO_RULES)
def test_positions_after_passes_stand_too(go: Any, ko: str) -> None:
    """Black passes first: the board has stood with Black to move and with White to move."""
    state = play(set_up(go, SEND_TWO, "black", ko=ko), "pass A1 C1")
    assert ("B1" in state.legal_moves()) is (ko == "simple")


@pytest.mark.parametrize("agreement", [False, True])
def test_the_third_time_is_a_draw(go: Any, agreement: bool) -> None:
    """Three kos: each side retakes another one without end; a cycle has six stones."""
    state = set_up(go, THREE_KOS, ko="simple", komi=0.0, agreement=agreement)
    board, taken, at_home = state.board(), [], []
    while state.phase == "play":
        taken.append(state.play(_ko_captures(state)[0]))
        if state.board() == board:
            at_home.append(len(taken))
    assert taken == ["G5", "B7", "C2", "F5", "C7", "B2"] * 2
    assert at_home == [6, 12]
    assert (state.phase, state.result, state.winner, state.to_play) == ("over", "0", 0, "none")


@pytest.mark.parametrize("ko", ["positional", "situational"])
def test_three_kos_end_under_the_superko_rules(go: Any, ko: str) -> None:
    """The sixth stone would recreate the beginning, board and side to move: it is forbidden."""
    state = set_up(go, THREE_KOS, ko=ko)
    for _ in range(5):
        state.play(_ko_captures(state)[0])
    assert _ko_captures(state) == []
    assert "pass" in state.legal_moves()


def test_only_a_stone_makes_a_repetition(go: Any) -> None:
    """Passing is never restricted, nor does it draw a game: the same board stands on, side by side."""
    state = play(go(size=5, ko="simple", agreement=True), "A1 pass C3 pass B5 pass pass")
    assert state.phase == "agree"
    play(state, "dead:A1 dead:")
    assert state.phase == "play"
    play(state, "pass pass")
    assert (state.phase, state.result[0]) == ("over", "B")


# --- handicap, turns, agreement ------------------------------------------------------------------------------------

NINETEEN = {
    2: "D4 Q16",
    3: "D4 Q16 D16",
    4: "D4 Q16 D16 Q4",
    5: "D4 Q16 D16 Q4 K10",
    6: "D4 Q16 D16 Q4 D10 Q10",
    7: "D4 Q16 D16 Q4 D10 Q10 K10",
    8: "D4 Q16 D16 Q4 D10 Q10 K4 K16",
    9: "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10",
}


@pytest.mark.parametrize("handicap", NINETEEN)
def test_fixed_points_of_the_gtp_draft(go: Any, handicap: int) -> None:
    state = go(size=19, handicap=handicap)
    assert stones(state) == set(NINETEEN[handicap].split())
    assert (state.to_play, state.seat, state.ply) == ("white", 2, 0)


@pytest.mark.parametrize(
    ("size", "handicap", "points"),
    [
        (7, 4, "C3 E5 C5 E3"),
        (8, 2, "C3 F6"),
        (9, 5, "C3 G7 C7 G3 E5"),
        (9, 9, "C3 G7 C7 G3 C5 G5 E3 E7 E5"),
        (11, 2, "C3 J9"),
        (12, 4, "D4 J9 D9 J4"),
        (13, 2, "D4 K10"),
        (25, 3, "D4 W22 D22"),
    ],
)
def test_fixed_points_of_other_boards(go: Any, size: int, handicap: int, points: str) -> None:
    """The third line up to 11x11, the fourth beyond; as GNU Go has them."""
    assert stones(go(size=size, handicap=handicap)) == set(points.split())


@pytest.mark.parametrize(("size", "handicap"), [(5, 2), (6, 2), (7, 5), (8, 5), (18, 9), (19, 1), (19, 10), (9, -2)])
def test_no_fixed_points(go: Any, size: int, handicap: int) -> None:
    with pytest.raises(ValueError, match="handicap"):
        go(size=size, handicap=handicap)


def test_handicap_by_hand(go: Any) -> None:
    state = go(size=5, komi=0.5)
    state.place_handicap(["A1", "c3", "E5"])
    assert (stones(state), state.to_play, state.ply) == ({"A1", "C3", "E5"}, "white", 0)
    with pytest.raises(ValueError, match=r"."):
        state.place_handicap(["B1", "B2"])


@pytest.mark.parametrize("points", [[], ["A1"], ["A1", "A1"], ["A1", "a1"], ["A1", "F6"], ["A1", "pass"]])
def test_bad_handicaps(go: Any, points: list[str]) -> None:
    state = go(size=5)
    with pytest.raises(ValueError, match=r"."):
        state.place_handicap(points)
    assert (state.board(), state.to_play) == ("." * 25, "black")
    state.play("pass")
    with pytest.raises(ValueError, match=r"."):
        state.place_handicap(["A1", "B2"])


def test_out_of_turn(go: Any) -> None:
    state = play(go(size=5), "A1")
    state.set_to_play("black")
    assert (state.to_play, state.seat, state.ply) == ("black", 1, 1)
    play(state, "B1 pass")
    assert stones(state) == {"A1", "B1"}
    state.set_to_play("white")
    state.play("pass")
    assert state.phase == "over"
    with pytest.raises(ValueError, match=r"."):
        state.set_to_play("black")


def test_a_turn_that_was_given_away_counts_for_situational(go: Any) -> None:
    """White gives the turn to Black and Black gives it back: the board occurred with each side to move."""
    for given in ("", "black white"):
        state = set_up(go, SEND_TWO, "white", ko="situational")
        for colour in given.split():
            state.set_to_play(colour)
        play(state, "A1 C1")
        assert ("B1" in state.legal_moves()) is (given == "")


def test_the_same_seat_may_pass_twice_out_of_turn(go: Any) -> None:
    """The agreement begins with the seat that passed first, and play goes on with the opponent of the last passer."""
    state = play(go(size=5, agreement=True), "pass")
    state.set_to_play("black")
    state.play("pass")
    assert (state.phase, state.to_play) == ("agree", "black")
    play(state, "dead:")
    assert state.to_play == "white"
    state = play(go(size=5, agreement=True), "A1 B1 pass")
    state.set_to_play("black")
    play(state, "pass dead:A1 dead:")
    assert (state.phase, state.to_play) == ("play", "white")


def test_agreement(go: Any) -> None:
    state = play(go(size=5, komi=0.5, agreement=True), "C3 A1 C4 A2 C2 pass pass")
    assert (state.phase, state.to_play, state.seat) == ("agree", "white", 2)
    assert state.legal_moves() == ["dead:"]
    assert state.play("dead:a2") == "dead:A1,A2"
    assert state.play("Dead:A1,A2") == "dead:A1,A2"
    assert (state.phase, state.result) == ("over", "B+24.5")
    assert rows(state)[3:] == ["..X..", "....."]


def test_agreement_refused(go: Any) -> None:
    state = play(go(size=5, komi=0.5, agreement=True), "C3 A1 pass pass dead:A1 dead:")
    assert (state.phase, state.to_play, state.seat) == ("play", "black", 1)
    play(state, "pass pass")
    assert (state.phase, state.result) == ("over", "W+0.5")


# --- helpers -------------------------------------------------------------------------------------------------------


def _ko_captures(state: Any) -> list[str]:
    """Which kos of THREE_KOS the player may take now."""
    left, right = ("B7", "F5", "B2"), ("C7", "G5", "C2")
    mine, theirs = (right, left) if state.to_play == "black" else (left, right)
    taken = {"black": "X", "white": "O"}[state.to_play]
    return [
        move
        for move, prey in zip(mine, theirs, strict=True)
        if move in state.legal_moves() and _stone(state, prey) not in (".", taken)
    ]


def _stone(state: Any, name: str) -> str:
    return str(rows(state)[state.size - int(name[1:])]["ABCDEFGHJ".index(name[0])])
