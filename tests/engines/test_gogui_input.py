"""Compound moves entered cell by cell under --gogui: what may come next, how a turn ends, what takes it back."""

import pytest

from tests.support.memory_session import MemorySession


def taigo(moves: str = "", options: str = "") -> MemorySession:
    desk = MemorySession(f"taigo {options}", gogui=True)
    desk.play(moves)
    return desk


def legal(desk: MemorySession) -> list[str]:
    return desk("gogui-rules_legal_moves").split()


def test_a_turn_is_a_dark_cell_a_light_cell_and_pass() -> None:
    desk = taigo()
    assert len(legal(desk)) > 10
    assert desk("play b aa25") == ""
    assert legal(desk) == ["AA24", "AB24", "AB25", "Z25", "Z26"]
    assert desk("ggp-history") == "" and desk("ggp-status").endswith("to_play=black seat=1 ply=0")
    assert desk("play black AB25") == ""
    assert legal(desk) == ["pass"]
    assert desk("gogui-rules_side_to_move") == "black"
    assert desk("play b pass") == ""
    assert desk("ggp-history") == "1 black 0,-1/1,-1"
    assert desk("gogui-rules_side_to_move") == "white"


def test_what_is_entered_stands_on_the_boards_of_people_and_not_in_ggp_commands() -> None:
    desk = taigo()
    before = desk.picture()
    desk("play b AA25")
    desk("play b AB25")
    rows = desk("gogui-rules_board").split("\n")
    assert rows[51 - 25] == "." * 25 + "XO" + "." * 24
    assert desk("gogui-rules_board_gfx") == (
        "CIRCLE AA25 AB25\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 39, "
        "Entered so far: AA25 AB25; pass ends the turn, black to move"
    )
    assert "Entered so far: AA25 AB25; pass ends the turn" in desk("showboard")
    assert desk.picture() == before


def test_reasons_name_the_points() -> None:
    desk = taigo()
    assert desk.fails("play b A1") == "illegal move: no turn begins at A1"
    assert desk.fails("play w AA25") == "illegal move: it is black's turn"
    assert desk.fails("play b pass").startswith("illegal move: ")
    assert desk.fails("play b BB1").startswith("illegal move: ")
    desk("play b AA25")
    assert desk.fails("play b pass") == ("illegal move: AA25 is no whole turn; next may come AA24 AB24 AB25 Z25 Z26")
    assert desk.fails("play b A1") == ("illegal move: A1 cannot follow AA25; next may come AA24 AB24 AB25 Z25 Z26")
    assert desk.fails("play b 0,-1/1,-1") == "illegal move: the turn AA25 is not ended: write pass, or undo"
    desk("play b AB25")
    assert desk.fails("play b Z25") == "illegal move: Z25 cannot follow AA25 AB25; next may come pass only"
    assert desk.fails("play w pass") == "illegal move: it is black's turn"


def test_a_whole_move_and_ggp_play_are_as_ever() -> None:
    desk = taigo()
    assert desk("play b 0,-1/1,-1") == ""
    desk("play w Z25")
    desk("ggp-play white 0,1/1,1")
    assert desk("ggp-history") == "1 black 0,-1/1,-1\n2 white 0,1/1,1"
    assert "Entered" not in desk("showboard") and len(legal(desk)) > 10
    assert MemorySession("taigo").fails("play b AA25").startswith("illegal move: ")
    assert MemorySession("taigo")("gogui-rules_legal_moves") == ""


def test_undo_takes_back_one_point_or_the_pass_that_ended_a_turn() -> None:
    desk = taigo()
    assert desk.fails("undo") == "cannot undo"
    seen = []
    for play in ("b AA25", "b AB25", "b pass", "w AA27", "w Z27", "w pass", "b AC25"):
        seen.append((desk("gogui-rules_board"), legal(desk), desk("ggp-history")))
        desk(f"play {play}")
    while seen:
        desk("undo")
        assert (desk("gogui-rules_board"), legal(desk), desk("ggp-history")) == seen.pop()
    assert desk.fails("undo") == "cannot undo"


def test_ggp_undo_takes_back_whole_plies() -> None:
    desk = taigo()
    start = desk("gogui-rules_board")
    for play in ("b AA25", "b AB25", "b pass", "w AA27"):
        desk(f"play {play}")
    desk("ggp-undo")
    assert desk("gogui-rules_board") == start
    desk("ggp-play black 0,-1/1,-1")
    desk("undo")
    assert desk("gogui-rules_board") == start


@pytest.mark.parametrize("command", ["clear_board", "boardsize 51", "ggp-new taigo", "ggp-undo"])
def test_a_new_beginning_forgets_what_was_entered(command: str) -> None:
    desk = taigo("0,-1/1,-1")
    desk("play w AA27")
    desk(command)
    assert "Entered" not in desk("showboard")
    assert len(legal(desk)) > 10


def test_a_sequence_is_entered_whole_or_not_at_all() -> None:
    desk = taigo()
    desk("play b AA25")
    assert desk("gogui-play_sequence b AB25 b pass w AA27") == ""
    assert desk("ggp-history") == "1 black 0,-1/1,-1"
    view = desk("gogui-rules_board")
    assert desk.fails("gogui-play_sequence w Z27 w pass b A1").endswith("no turn begins at A1 (move 3 of the sequence)")
    assert desk("gogui-rules_board") == view and desk("ggp-history") == "1 black 0,-1/1,-1"
    desk("undo")
    desk("undo")
    assert legal(desk) == ["pass"] and desk("ggp-history") == ""


def test_holes_come_in_any_order_dark_once_light_twice() -> None:
    desk = taigo("0,1/0,2 2,0/2,-1 2,1/3,1 3,2/2,3")
    for point in ("AB28", "AB29"):
        desk(f"play b {point}")
    assert legal(desk) == ["AB27", "AC28"]  # the holes 1,1 and 2,2
    assert desk.fails("play b pass") == "illegal move: AB28 AB29 is no whole turn; next may come AB27 AC28"
    desk("play b AC28")
    assert legal(desk) == ["AB27", "AC28"]
    desk("play b AB27")
    assert board(desk, "1,1") == board(desk, "2,2") == "X"
    desk("play b AB27")
    assert (board(desk, "1,1"), board(desk, "2,2")) == ("O", "X")
    assert legal(desk) == ["AC28", "pass"]
    desk("play b AC28")
    assert legal(desk) == ["pass"] and board(desk, "2,2") == "O"
    desk("undo")
    desk("play b pass")
    assert desk("ggp-history").split("\n")[-1] == "1 black 1,2/1,3+l:1,1+d:2,2"
    assert "SQUARE AB27 AC28" in desk("gogui-rules_board_gfx")


def board(desk: MemorySession, cell: str) -> str:
    q, r = map(int, cell.split(","))
    return desk("gogui-rules_board").split("\n")[25 - r][25 + q]


def test_a_short_supply_fills_some_of_the_holes() -> None:
    desk = taigo("0,1/0,2 2,0/2,-1 2,1/3,1 3,2/2,3", "dark_cones=1 light_cones=0")
    for point in ("AB28", "AB29"):
        desk(f"play b {point}")
    assert legal(desk) == ["AB27", "AC28"]
    desk("play b AC28")
    assert legal(desk) == ["pass"]
    desk("play b pass")
    assert desk("ggp-history").split("\n")[-1] == "1 black 1,2/1,3+d:2,2"
