"""What else a position of taugo can do: set_up, hashes, random moves, the drawing and the engine's answers."""

from typing import Any

import pytest

from ggp.engines._core import Taugo
from tests.support.memory_session import MemorySession
from tests.support.positions import chi_square, played, taugo_board


def test_what_cannot_be_set_up() -> None:
    for black, reason in [
        ("C3 D3 C4 D4", "knot at C3 D3 C4 D4"),
        ("D1 E1 D2 E2", "knot at D1 E1 D2 E2"),
        ("A1", "A1 is a corner, written [?]"),
    ]:
        with pytest.raises(ValueError, match=reason):
            taugo_board(Taugo, black)
    state = Taugo(size=6)
    empty = state.board()
    for board, reason in [
        (empty[1:], "size [*] size characters"),
        (empty.replace(".", "x", 1), "written with"),
        (empty.replace(".", "?", 1), "B6 is no corner"),
    ]:
        with pytest.raises(ValueError, match=reason):
            state.set_up(board)
    state.play("C3")
    with pytest.raises(ValueError, match="before"):
        state.set_up(empty)


@pytest.mark.parametrize("options", [{"size": 5}, {"size": 26}, {"size": -1}, {"cut_from": "central"}])
def test_options_out_of_their_domains(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Taugo(**options)


def test_equal_positions_have_equal_hashes() -> None:
    assert played(Taugo, "D4 B2 D5", size=8).hash() == played(Taugo, "D5 B2 D4", size=8).hash()
    assert played(Taugo, "D4 B2 D5+D6", size=8).hash() == taugo_board(Taugo, "D4 D5 D6", "B2", "white").hash()
    black_first = played(Taugo, "D4 C2 D5 B4 D6 B6 pass pass", size=8)
    white_first = played(Taugo, "D4 C2 pass B4 D5 B6 D6 pass pass", size=8)
    assert black_first.hash() == white_first.hash(), "who passed first plays no part"
    different = [
        played(Taugo, "D4", size=8),
        played(Taugo, "D4 swap-sides", size=8),
        played(Taugo, "D4 pass", size=8),
        played(Taugo, "D4", size=8, pie=False),
        played(Taugo, "D4", size=8, cut_from="any"),
        taugo_board(Taugo, "D4", side="white"),
        taugo_board(Taugo, "D4", side="black"),
        played(Taugo, "E4", size=8),
        Taugo(size=8),
        Taugo(size=9),
    ]
    assert len({state.hash() for state in different}) == len(different)


@pytest.mark.parametrize("black", ["B5 C5 M9", "E2 E3 J3 J4"])
def test_random_moves_are_exactly_uniform_over_long_runs_and_cuts(black: str) -> None:
    state = taugo_board(Taugo, black, "D4 D5 D6 F4 F5 F6 E6 K4 K5 K6 J6 L9", size=13)
    legal = state.legal_moves()
    assert sum(len(move.split("+")) > 5 for move in legal) > 5
    assert any("+D5+" in f"+{move}+" or "+E6+" in f"+{move}+" for move in legal)
    chi_square(state, 200 * len(legal))


def test_rollouts_pass_only_when_nothing_else_is_left() -> None:
    state = Taugo(size=6)
    seen = []
    for seed in range(200):
        legal = state.legal_moves()
        move = state.random_move(seed, "rollout")
        seen.append(move)
        assert (move == "pass") == (legal == ["pass"])
        if state.play(move) == "pass" and state.phase == "over":
            break
    assert seen[-2:] == ["pass", "pass"]
    assert "swap-sides" not in seen


def test_the_scene() -> None:
    session = MemorySession("taugo size=8")
    empty = session.scene()
    assert len(empty["cells"]) == 60 and len(empty["lines"]) == 12
    assert empty["board"] == {"kind": "square", "width": 8, "height": 8}
    session.play("D4 G4 D5+D6")
    scene = session.scene()
    assert {(piece["at"], piece["colour"]) for piece in scene["pieces"]} == {
        ("D4", "black"),
        ("D5", "black"),
        ("D6", "black"),
        ("G4", "white"),
    }
    assert scene["last"] == ["D5", "D6"]
    assert [(token["owner"], token["text"], token["value"]) for token in scene["tokens"]] == [
        ("black", "Black has 1 string", 1),
        ("white", "White has 1 string", 1),
    ]
    assert session("showboard").count("X") == 3 + 1  # and the legend


def test_the_engine_plays_and_scores() -> None:
    session = MemorySession("taugo size=8 cut_from=any pie=off")
    session.play("d2 pass pass")
    assert session("ggp-status").endswith("result=B+0.5 winner=1")  # White has fewer strings
    assert session("ggp-options taugo").split("\n") == [
        "size int 16 6..25",
        "cut_from enum lateral lateral,any",
        "pie enum on on,off",
    ]
