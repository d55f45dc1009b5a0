"""Every sentence of the rules of Go, shown on core and model alike, with the classical ko shapes; no walks."""

from typing import Any

import pytest

from ggp.engines import _core
from tests.rules.models import go as model
from tests.support.positions import Shown, check, drawn, play, shown, square_names, stones

pytestmark = pytest.mark.parametrize("go", [_core.Go, model.GoModel], ids=["core", "model"])
KO_RULES = ("simple", "positional", "situational")
EACH_KO = pytest.mark.parametrize("ko", KO_RULES)

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
AGREED = "size=5 komi=0.5 agreement=on"
RULES = [
    shown("a group without liberties is taken", "size=3", "A2 A1 B1", board="... X.. .X."),
    shown("two stones are taken", "", "C3", "black O O . X X O . X .", board="..X XXO .X."),
    shown("two groups at once", "", "B3", "black O . O X X X . . .", board=".X. XXX ..."),
    shown("a capture is no suicide", "", "B3", "white X . . O X . . O .", board=".O. OX. .O."),
    *(shown(f"suicide of one stone, {ko} ko", f"size=5 ko={ko}", "A2 E5 B1", illegal="A1") for ko in KO_RULES),
    *(
        shown(f"suicide of several, {ko} ko", f"ko={ko}", "", "white O . X X X X . . .", illegal="B3", legal="C1")
        for ko in KO_RULES
    ),
    shown("an empty board is nobody's", "size=5 komi=0", totals=(0, 0)),
    shown("empty points count for the only colour that they reach", "size=5 komi=0", "C3", totals=(25, 0)),
    shown("points that reach both are nobody's", "size=5 komi=0.5", "C3 A1", totals=(1, 1.5)),
    shown("all stones are alive", "komi=-2", "", "black . X O X X O . O .", totals=(4, 5 - 2 - 1)),
    *(
        shown(f"two passes end it, komi {komi}", f"size=5 komi={komi}", "pass pass", ply=2, over=over)
        for komi, over in (
            *((7.5, ("W+7.5", 2)), (-3.0, ("B+3", 1)), (0.0, ("0", 0))),
            *((-0.5, ("B+0.5", 1)), (25.0, ("W+25", 2))),
        )
    ),
    shown("passes must follow each other", "size=5", "pass A1 pass B1 pass", turn=("play", "white", 2, 5)),
    shown(
        "only a stone makes a repetition",  # passing is never restricted, nor does it draw a game
        *("size=5 ko=simple agreement=on", "A1 pass C3 pass B5 pass pass"),
        phase="agree",
    ),
    shown(
        "the same board stands on, side by side",
        *("size=5 ko=simple agreement=on", "A1 pass C3 pass B5 pass pass dead:A1 dead: pass pass"),
        phase="over",
        result="B+17.5",
    ),
    shown("the first passer answers first", AGREED, "C3 A1 C4 A2 C2 pass pass", turn=("agree", "white", 2, 7)),
    shown("a dead list is one move of many", AGREED, "C3 A1 C4 A2 C2 pass pass", only="dead:"),
    shown(
        *("two equal lists remove the groups", AGREED, "C3 A1 C4 A2 C2 pass pass dead:A1,A2 dead:A1,A2"),
        over=("B+24.5", 1),
        board="..X.. .....",
    ),
    shown("different lists resume play", AGREED, "C3 A1 pass pass dead:A1 dead:", turn=("play", "black", 1, 6)),
    shown(
        *("after that two passes end it", AGREED, "C3 A1 pass pass dead:A1 dead: pass pass"),
        over=("W+0.5", 2),
    ),
]


@pytest.mark.parametrize("case", RULES)
def test_the_rules(go: Any, case: Shown) -> None:
    case.hold(go)


def test_a_dead_list_is_read_without_regard_to_case(go: Any) -> None:
    state = play(go(size=5, komi=0.5, agreement=True), "C3 A1 C4 A2 C2 pass pass")
    assert (state.play("dead:a2"), state.play("Dead:A1,A2")) == ("dead:A1,A2", "dead:A1,A2")


def test_komi_acts_at_any_time(go: Any) -> None:
    state = play(go(size=5), "C3 pass")
    state.set_komi(20.0)
    state.play("pass")
    assert state.result == "B+5"


# --- ko ------------------------------------------------------------------------------------------------------------


@EACH_KO
def test_no_ko_is_retaken_at_once(go: Any, ko: str) -> None:
    state = play(drawn(go, ONE_KO, ko=ko), "C2")
    check(state, board="X.XO. .XO..", illegal="B2")
    assert "ko" in state.why_illegal("B2") or "recreate" in state.why_illegal("B2")
    check(play(state, "E5 A5"), legal="B2")  # elsewhere the board has changed
    check(play(state, "B2"), board="XO.O. .XO..")


@EACH_KO
def test_simple_looks_one_move_back_only(go: Any, ko: str) -> None:
    """White's B1 makes the board of the beginning; then White was to move and now Black would be."""
    state = play(drawn(go, SEND_TWO, "white", ko=ko), "A1 C1")
    check(state, board="..XO.", **{"illegal" if ko == "positional" else "legal": "B1"})
    if ko != "positional":
        check(play(state, "B1"), board=".O.O.", to_play="black")


@EACH_KO
def test_positions_after_passes_stand_too(go: Any, ko: str) -> None:
    """Black passes first: the board has stood with Black to move and with White to move."""
    state = play(drawn(go, SEND_TWO, "black", ko=ko), "pass A1 C1")
    check(state, **{"legal" if ko == "simple" else "illegal": "B1"})


@pytest.mark.parametrize("agreement", [False, True])
def test_the_third_time_is_a_draw(go: Any, agreement: bool) -> None:
    """Three kos: each side retakes another one without end; a cycle has six stones."""
    state = drawn(go, THREE_KOS, ko="simple", komi=0.0, agreement=agreement)
    board, taken, at_home = state.board(), [], []
    while state.phase == "play":
        taken.append(state.play(_ko_captures(state)[0]))
        if state.board() == board:
            at_home.append(len(taken))
    assert taken == ["G5", "B7", "C2", "F5", "C7", "B2"] * 2
    assert at_home == [6, 12]
    check(state, over=("0", 0))


@pytest.mark.parametrize("ko", ["positional", "situational"])
def test_three_kos_end_under_the_superko_rules(go: Any, ko: str) -> None:
    """The sixth stone would recreate the beginning, board and side to move: it is forbidden."""
    state = drawn(go, THREE_KOS, ko=ko)
    for _ in range(5):
        state.play(_ko_captures(state)[0])
    assert _ko_captures(state) == []
    check(state, legal="pass")


def _ko_captures(state: Any) -> list[str]:
    """Which kos of THREE_KOS the player may take now."""
    left, right = ("B7", "F5", "B2"), ("C7", "G5", "C2")
    mine, theirs = (right, left) if state.to_play == "black" else (left, right)
    enemies = stones(state, {"black": "O", "white": "X"}[state.to_play])
    both = zip(mine, theirs, strict=True)
    return [move for move, prey in both if move in state.legal_moves() and prey in enemies]


# --- handicap and turns --------------------------------------------------------------------------------------------

NINETEEN = "D4 Q16 D16 Q4 D10 Q10 K4 K16"


@pytest.mark.parametrize("handicap", range(2, 10))
def test_fixed_points_of_the_gtp_draft(go: Any, handicap: int) -> None:
    """The middle has the odd stone of 5, 7 and 9."""
    points = NINETEEN.split()[: handicap - (handicap in (5, 7, 9))] + ["K10"] * (handicap in (5, 7, 9))
    state = go(size=19, handicap=handicap)
    assert stones(state) == set(points)
    check(state, turn=("play", "white", 2, 0))


@pytest.mark.parametrize(
    ("size", "handicap", "points"),
    [
        *((7, 4, "C3 E5 C5 E3"), (8, 2, "C3 F6"), (9, 5, "C3 G7 C7 G3 E5"), (9, 9, "C3 G7 C7 G3 C5 G5 E3 E7 E5")),
        *((11, 2, "C3 J9"), (12, 4, "D4 J9 D9 J4"), (13, 2, "D4 K10"), (25, 3, "D4 W22 D22")),
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
    assert stones(state) == {"A1", "C3", "E5"}
    check(state, turn=("play", "white", 2, 0))
    with pytest.raises(ValueError, match=r"."):
        state.place_handicap(["B1", "B2"])


@pytest.mark.parametrize("points", ["", "A1", "A1 A1", "A1 a1", "A1 F6", "A1 pass", " ".join(square_names(5))])
def test_bad_handicaps(go: Any, points: str) -> None:
    state = go(size=5)
    with pytest.raises(ValueError, match=r"."):
        state.place_handicap(points.split())
    check(state, board="." * 25, turn=("play", "black", 1, 0))
    state.play("pass")
    with pytest.raises(ValueError, match=r"."):
        state.place_handicap(["A1", "B2"])


def test_out_of_turn(go: Any) -> None:
    state = play(go(size=5), "A1")
    state.set_to_play("black")
    check(state, turn=("play", "black", 1, 1))
    assert stones(play(state, "B1 pass")) == {"A1", "B1"}
    state.set_to_play("white")
    state.play("pass")
    assert state.phase == "over"
    with pytest.raises(ValueError, match=r"."):
        state.set_to_play("black")


@pytest.mark.parametrize("given", ["", "black white"])
def test_a_turn_that_was_given_away_counts_for_situational(go: Any, given: str) -> None:
    """White gives the turn to Black and Black gives it back: the board occurred with each side to move."""
    state = drawn(go, SEND_TWO, "white", ko="situational")
    for colour in given.split():
        state.set_to_play(colour)
    check(play(state, "A1 C1"), **{"illegal" if given else "legal": "B1"})


def test_the_same_seat_may_pass_twice_out_of_turn(go: Any) -> None:
    """The agreement begins with the seat that passed first, and play goes on with the opponent of the last passer."""
    state = play(go(size=5, agreement=True), "pass")
    state.set_to_play("black")
    check(play(state, "pass"), phase="agree", to_play="black")
    check(play(state, "dead:"), to_play="white")
    state = play(go(size=5, agreement=True), "A1 B1 pass")
    state.set_to_play("black")
    check(play(state, "pass dead:A1 dead:"), phase="play", to_play="white")
