"""Every sentence and worked example of the rules of Yugo, shown on the core and on the model alike; no walks."""

from typing import Any

import pytest

from ggp.engines import _core
from tests.rules.models import yugo as model
from tests.support.positions import Shown, check, played, shown, square_names

pytestmark = pytest.mark.parametrize("yugo", [_core.Yugo, model.YugoModel], ids=["core", "model"])

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
AFTER_A = "......... ......... XXX...... ..@XX.... .#@..X... X..@XX... .X#X..... ......... ........."
AFTER_B = "..... ..... OX... #.X.. @.X.."
BREATHES_AT_B1 = "O O . . X O . . X X O . . . X ."
EXAMPLES = [
    shown("a: Black removes the pawns and the kings stay", "", "B5", f"black {EXAMPLE_A}", board=AFTER_A),
    shown("a: White may not play there", "", "", f"white {EXAMPLE_A}", illegal="B5"),
    shown("b: White loses her own pawns", "", "A1", "white ..... ..... OX... #OX.. .OX..", board=AFTER_B),
    shown(
        *("c: a capture that removes nothing", "komi=0", "A2", f"white {'.' * 20} #O..."),
        board="@.... #O...",
        totals=(0, 25),
    ),
    shown(
        *("d: White comes back at once", "komi=0", "A2 A1", f"black {'.' * 10} O.... .O... OX..."),
        board="O.... #O... @X...",
        totals=(2, 3),
    ),
    shown(
        *("d: reached by plies", "size=5 komi=0", "B1 button pass A1 pass B2 pass A3 A2 A1"),
        board="O.... #O... @X...",
        totals=(2, 3.5),
    ),
    shown(
        *("e: before the passes", "size=5 komi=0", "button D1 B1 D2 B2 D3 B3 D4 B4 D5 B5 pass"),
        totals=(10.5, 10),
        phase="play",
        result="",
    ),
    shown(
        *("e: the button decides", "size=5 komi=0", "button D1 B1 D2 B2 D3 B3 D4 B4 D5 B5 pass pass"),
        over=("B+0.5", 1),
        ply=13,
    ),
]
TURN = [
    shown("the button comes before any pass", "size=2", only="A1 A2 B1 B2 button", illegal="pass"),
    shown("it is taken once, and is no move after that", "size=2", "button", only="A1 A2 B1 B2 pass", illegal="button"),
    shown("it is no pass", "size=2", "button pass", phase="play"),
    shown(
        "anything else is refused and changes nothing",
        "size=5",
        illegal=["", "A", "A0", "A01", "I1", "A6", "F1", "resign", "dead:", "A1,A2", "A1 ", "swap-sides"],
        board="." * 25,
    ),
    shown("no pawn inside living enemy groups", "", "", "white . . . X . . . X .", illegal="A1"),
    shown("no pawn on the last liberty of one's own group", "", "", "white . . . X X . O . X", illegal="B1"),
    shown("a pawn may join a group with another liberty", "", "A1", "black . . . X . . . X .", board="XX."),
    shown("beside a group that still breathes stands a pawn", "", "A1", f"white {BREATHES_AT_B1}", board="O.X."),
    shown(
        *("a king takes enemies before friends are looked at", "", "B1", "white O O . . X O . . X X O . O . X ."),
        board="OO.. .O.. ..O. O@X.",
    ),
    shown(
        *("surrounded kings count for the enemy", "komi=0", "", f"white # # O . O O . . {'.' * 8}"),
        totals=(0, 3 + 2 + 11),
    ),
    shown(
        *("a surrounded king keeps none of his pawns", "", "A3", f"white # X O . . O . . {'.' * 8}"),
        board=f"#.O. @O.. {'.' * 8}",
    ),
    shown(
        *("beside a king that is surrounded already stands a pawn", "komi=0", "B2", f"white {'.' * 8} @ . . . # @ . ."),
        board="@O.. #@..",
    ),
]
END = [
    shown("handicap may fill all points but one", "size=2 handicap=3", "A1 A2 B1", only="B2 button"),
    shown("White answers with a king", "size=2 handicap=3", "A1 A2 B1 B2", board=".@ .."),
    shown(
        *("two passes end it", "size=5", "button pass pass"),
        over=("W+6.5", 2),
    ),
    shown(
        "agreement on nothing", "size=5 komi=0 agreement=on", "button B1 A1 pass pass dead: dead:", over=("B+0.5", 1)
    ),
    shown(
        *("a refused agreement resumes play", "size=5 komi=0 agreement=on", "button B1 A1 pass pass dead:A1 dead:"),
        turn=("play", "white", 2, 7),  # she passed first, and Black passed last
        illegal="dead:",
    ),
    shown(
        "it is not asked for again",
        *("size=5 komi=0 agreement=on", "button B1 A1 pass pass dead:A1 dead: pass pass"),
        over=("B+0.5", 1),
    ),
    shown(
        "dead lists that cannot be are refused",
        *("size=5 agreement=on", "button B1 A1 pass pass"),
        illegal="dead:C3 dead:A1,A1 dead:A1,a1 dead:A1, dead:,A1 dead:A1;B1 dead dead:Z9",
    ),
]


@pytest.mark.parametrize("case", [*EXAMPLES, *TURN, *END])
def test_the_rules(yugo: Any, case: Shown) -> None:
    case.hold(yugo)


def test_a_can_be_reached(yugo: Any) -> None:
    """The same board by legal plies alone. A king that stands on a board from which all has vanished around it has
    captured a group that filled the rest of the board."""
    state = played(yugo, "button")
    for colour, king, pawns in (("black", "C3", ""), ("white", "D4", ""), ("white", "C5", "C4"), ("white", "C6", "")):
        _let(state, colour, pawns)
        _let(state, "white" if colour == "black" else "black", _towards(king, state))
        _let(state, colour, king)
        assert _piece(state, king) == ("#" if colour == "black" else "@")
    _let(state, "white", "D5 E5 B4 A5 A6 B6")
    _let(state, "black", "A7 B7 C7 D6 E6 F5 A4 E4 F4 B3 D3")
    check(state, board=EXAMPLE_A)
    _let(state, "black", "B5")
    assert _piece(state, "B5") == "#"


def test_b_white_loses_her_own_pawns(yugo: Any) -> None:
    """Reached by plies: A1 B1 B2 were White's before, and the king A2 took them."""
    state = played(yugo, "button A1 C1 B1 C2 B2 B3 pass A2", size=5)
    check(state, board="#.X.. ..X..")
    _let(state, "white", "B1 B2 A3")
    check(state, board="..... ..... OX... #OX.. .OX..")
    _let(state, "white", "A1")
    check(state, board=AFTER_B)


def test_c_can_be_reached_but_for_the_button(yugo: Any) -> None:
    state = played(yugo, "button", size=5, komi=0)
    _let(state, "white", _towards("A1", state))
    for colour, name in (("black", "A1"), ("white", "B1"), ("white", "A2")):
        _let(state, colour, name)
    check(state, board="@.... #O...", totals=(0.5, 25))


def test_points_are_sorted_bytewise_and_skip_the_letter_i(yugo: Any) -> None:
    legal = yugo(size=11).legal_moves()
    assert (legal[:3], legal[-1], len(legal)) == (["A1", "A10", "A11"], "button", 122)
    assert "J1" in legal and not any(move.startswith("I") for move in legal)


def test_handicap_pawns_are_plies_of_black(yugo: Any) -> None:
    state = yugo(size=5, komi=0, handicap=3)
    for number, name in enumerate(("C3", "A1", "B1")):
        check(state, turn=("play", "black", 1, number), illegal="button pass")
        assert all(move[0].isupper() for move in state.legal_moves())
        state.play(name)
    check(state, turn=("play", "white", 2, 3), totals=(25 - 2, 0), legal="button")


def test_agreement_asks_the_first_passer_first(yugo: Any) -> None:
    state = played(yugo, "button B1 A1 B2 A2 B3 A3 E5 pass pass", size=5, agreement=True)
    check(state, turn=("agree", "black", 1, 10), only="dead:", illegal="pass C3")
    assert state.play("DEAD:a2") == "dead:A1,A2,A3"
    check(state, turn=("agree", "white", 2, 11))
    assert state.play("dead:A3,a1") == "dead:A1,A2,A3"
    check(state, over=("W+31.5", 2), board=".O... .O... .O...")


def test_dead_lists_name_groups_by_column_then_row(yugo: Any) -> None:
    state = played(yugo, "button A10 B9 K2 K10 pass pass", size=10, agreement=True)
    assert state.play("dead:k10,B9,k2,a10") == "dead:A10,B9,K2,K10"


def test_dead_kings_are_removed_too(yugo: Any) -> None:
    state = played(yugo, "B1 A1 button B2 pass D4 A2 pass pass", size=5, komi=0, agreement=True)
    check(state, board="#O... .X...")
    assert state.play("dead:A2") == state.play("dead:a2") == "dead:A2"
    assert "#" not in state.board() and state.result == "W+0.5"


def test_komi_may_be_negative_and_is_fixed_at_ply_0(yugo: Any) -> None:
    state = yugo(size=5)
    state.set_komi(-3)
    for move in ("button", "pass", "pass"):
        state.play(move)
    assert state.result == "B+3.5"
    with pytest.raises(ValueError, match=r"."):
        state.set_komi(0)


# --- how positions are reached by plies ----------------------------------------------------------------------------


def _piece(state: Any, name: str) -> str:
    return str(state.board()[square_names(state.size).index(name)])


def _let(state: Any, colour: str, names: str) -> None:
    """That colour plays there; if it is the other's turn, the other passes."""
    for name in names.split():
        if state.to_play != colour:
            state.play("pass")
        state.play(name)


def _towards(target: str, state: Any) -> str:
    """All empty points but the target, the farthest first: each keeps a liberty until the target is played."""
    column, row = "ABCDEFGHJ".index(target[0]), int(target[1:])
    names = square_names(state.size)
    free = sorted(name for name, piece in zip(names, state.board(), strict=True) if piece == "." and name != target)
    return " ".join(sorted(free, key=lambda name: -abs("ABCDEFGHJ".index(name[0]) - column) - abs(int(name[1:]) - row)))
