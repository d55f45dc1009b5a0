"""Laido as an engine: its drawing, its groups, the width that boardsize takes. The rules are in tests/rules."""

import pytest

from tests.support.memory_session import MemorySession, scene_of


@pytest.mark.parametrize("side", [2, 5, 9, 13])
def test_the_drawing_is_a_hexagon_of_points(side: int) -> None:
    scene = scene_of(f"laido size={side}")
    assert scene["board"] == {"kind": "points", "width": 2 * side - 1, "height": 2 * side - 1}
    assert len(scene["lines"]) == 3 * (2 * side - 1)
    cells = {cell["at"] for cell in scene["cells"]}
    assert cells == set(MemorySession(f"laido size={side}")("ggp-legal_moves").split())
    assert (scene["pieces"], scene["tokens"], scene["last"]) == ([], [], [])


def test_pieces_and_the_last_ply() -> None:
    scene = scene_of("laido size=3", "C3 b4")
    assert sorted((entry["at"], entry["colour"], entry["glyph"]) for entry in scene["pieces"]) == [
        ("B4", "white", "O"),
        ("C3", "black", "X"),
    ]
    assert scene["last"] == ["B4"]
    scene = scene_of("laido size=3", "C3 swap-sides")
    assert (scene["to_play"], scene["seat"], scene["last"], scene["tokens"]) == ("white", 1, [], [])


@pytest.mark.parametrize(
    ("moves", "final", "first"),
    [
        ("C3", "", ""),
        ("C3 pass", "white", "white"),
        ("C3 pass B3", "", "white"),
        ("C3 pass B3 A3 pass", "black", "white"),
    ],
)
def test_the_half_point_is_a_token_when_another_has_it(moves: str, final: str, first: str) -> None:
    for rule, holder in (("final", final), ("first", first)):
        tokens = scene_of(f"laido size=3 half_point={rule}", moves)["tokens"]
        text = f"{holder.capitalize()} has the half point"
        wanted = [{"kind": "half-point", "owner": holder, "text": text, "value": 0.5}] if holder else []
        assert tokens == wanted


def test_groups_are_connected_along_all_three_lines() -> None:
    session = MemorySession("laido size=3 pie=off")
    session.play("C3 A3 D3 A4 C4 B3 C1 E3 D2 pass")
    assert session("final_status_list alive").split("\n") == ["A3 A4 B3", "C3 C4 D2 D3", "E3", "C1"]
    assert [session(f"final_status_list {word}") for word in ("dead", "seki")] == ["", ""]


def test_boardsize_takes_the_width() -> None:
    session = MemorySession("laido half_point=first pie=off")
    for width, cells in ((3, 7), (17, 217), (25, 469)):
        assert session(f"boardsize {width}") == ""
        assert len(session("ggp-legal_moves").split()) == cells + 1
        options = {"size": (width + 1) // 2, "pie": "off", "half_point": "first"}
        assert session.scene()["options"] == options
    for refused in ("1", "2", "16", "27", "-3", "0", "999999999"):
        assert session.fails(f"boardsize {refused}") == "unacceptable size"
