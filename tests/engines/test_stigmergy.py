"""Stigmergy as an engine: its drawing, komi, widths, chance. The rules are in tests/rules."""

import json
from typing import Any

import pytest

from ggp.engines._core import Stigmergy
from tests.rules.models.hexagon import cells, name
from tests.support.memory_session import MemorySession, scene_of


@pytest.mark.parametrize("side", [2, 5, 8, 13])
def test_the_drawing_is_a_hexagon_of_cells(side: int) -> None:
    scene = scene_of(f"stigmergy size={side} komi=0")
    assert scene["board"] == {"kind": "hex", "width": 2 * side - 1, "height": 2 * side - 1}
    cells = {cell["at"] for cell in scene["cells"]}
    assert cells == set(MemorySession(f"stigmergy size={side} komi=0")("ggp-legal_moves").split())
    assert (scene["pieces"], scene["control"], scene["last"]) == ([], [], [])


def test_pieces_control_and_the_last_ply() -> None:
    """Black's three stones see the corner A2 twice, White's B3 from both neighbours."""
    scene = scene_of("stigmergy size=2 komi=0", "B2 A2 C2 B1 A3")
    pieces = {entry["at"]: (entry["colour"], entry["kind"], entry["glyph"]) for entry in scene["pieces"]}
    black, white = ("black", "stone", "X"), ("white", "stone", "O")
    assert pieces == {"B2": black, "C2": black, "A3": black, "A2": white, "B1": white}
    assert scene["last"] == ["A3"]
    control = {entry["at"]: entry["colour"] for entry in scene["control"]}
    text = MemorySession("stigmergy size=2 komi=0")
    text.play("B2 A2 C2 B1 A3 pass")
    replaceable = {move for move in text("ggp-legal_moves").split() if pieces.get(move) == white}
    assert replaceable == {"A2"} == {at for at in control if pieces.get(at) == white}  # controlled, though not empty
    assert {at for at in control if at not in pieces} == {"B3", "C1"}
    assert set(control.values()) == {"black"}


def test_tokens_lie_beside_the_board() -> None:
    def tokens(game: str, moves: str = "") -> list[str]:
        return [entry["text"] for entry in scene_of(f"stigmergy {game}", moves)["tokens"]]

    assert tokens("size=3") == ["Komi: no bid yet"]
    assert tokens("size=3", "bid:4") == ["Komi: 4"]
    assert tokens("size=3", "bid:5") == ["The button is free", "Komi: 5"]
    assert tokens("size=3", "bid:5 swap-sides button") == ["Black has the button", "Komi: 5"]
    assert tokens("komi=-5", "H8 button") == ["White has the button", "Komi: -5"]
    komi = scene_of("stigmergy komi=-4")["tokens"]
    assert komi == [{"kind": "komi", "owner": "white", "text": "Komi: -4", "value": -4}]


def test_boardsize_takes_the_width() -> None:
    session = MemorySession("stigmergy komi=3")
    for width, count in ((3, 7), (15, 169), (25, 469)):
        assert session(f"boardsize {width}") == ""
        assert len(session("ggp-legal_moves").split()) == count + 1
        assert session.scene()["options"] == {"size": (width + 1) // 2, "komi": 3}
    for wrong in ("1", "2", "16", "27", "-3", "0", "999999999"):
        assert session.fails(f"boardsize {wrong}") == "unacceptable size"


@pytest.mark.parametrize(("number", "komi"), [("7", 7), ("7.9", 7), ("-7.9", -7), ("-0.5", 0), ("1e30", 1_000_000)])
def test_gtp_komi_ends_the_bidding_before_ply_0(number: str, komi: int) -> None:
    session = MemorySession("stigmergy")
    assert session("ggp-status").startswith("phase=bid")
    assert session(f"komi {number}") == ""
    assert session("ggp-status") == "phase=play to_play=black seat=1 ply=0"
    assert json.loads(session("ggp-score"))["white"]["total"] == komi
    assert ("button" in session("ggp-legal_moves").split()) == (komi % 2 == 1)
    session("clear_board")
    assert session("ggp-status") == "phase=play to_play=black seat=1 ply=0"


def test_gtp_komi_after_a_bid_waits_for_the_next_board() -> None:
    session = MemorySession("stigmergy size=3")
    session.play("bid:4")
    assert session("komi 7") == ""
    assert session("ggp-status") == "phase=choose to_play=white seat=2 ply=1"
    session.play("swap-sides C3")
    assert session("komi 8.5") == ""
    assert json.loads(session("ggp-score"))["white"]["komi"] == 4
    session("clear_board")
    assert session("ggp-status") == "phase=play to_play=black seat=1 ply=0"
    assert json.loads(session("ggp-score"))["white"]["komi"] == 8
    assert session("ggp-new stigmergy size=3") == "phase=bid to_play=black seat=1 ply=0"


@pytest.mark.parametrize("option", ["size=1", "size=14", "komi=1.5", "komi=1000001", "komi=none", "pie=on"])
def test_bad_options_are_refused(option: str) -> None:
    assert option.split("=")[0] in MemorySession("stigmergy").fails(f"ggp-new stigmergy {option}")


# --- chance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("komi", "token"), [(3, "button"), (4, "pass")])
def test_rollouts_win_a_point_with_each_stone_and_then_take_the_button_or_pass(komi: int, token: str) -> None:
    state, seed = Stigmergy(4, komi), 0
    names, gains = [name(at, 4) for at in cells(4)], {"."}
    while gains:
        enemy = "O" if state.to_play == "black" else "X"
        what = dict(zip(names, zip(state.board(), state.control(), strict=True), strict=True))
        gains = {at for at in state.legal_moves() if what.get(at) == (".", ".") or what.get(at, " ")[0] == enemy}
        chosen = {state.random_move(seed + i, "rollout") for i in range(500)}
        assert chosen == gains or (not gains and chosen == {token})
        state.play(chosen.pop())
        seed += 1000


@pytest.mark.parametrize("policy", ["uniform", "rollout"])
def test_playouts_are_seeded_and_end_soon(policy: Any) -> None:
    plies, black, white, draws = Stigmergy(5).playouts(300, 42, policy)
    assert (black + white, draws) == (300, 0)
    assert 30 * 300 < plies < 2 * 61 * 300
    assert Stigmergy(5).playouts(300, 42, policy) == (plies, black, white, draws)
    assert Stigmergy(5).playouts(300, 43, policy) != (plies, black, white, draws)
