"""Compound moves entered cell by cell under --gogui: what may come next, how a turn ends, what takes it back."""

import pytest

from tests.support.memory_session import MemorySession


def taigo(moves: str = "", options: str = "") -> MemorySession:
    session = MemorySession(f"taigo {options}", gogui=True)
    session.play(moves)
    return session


def legal(session: MemorySession) -> list[str]:
    return session("gogui-rules_legal_moves").split()


def test_a_turn_is_a_dark_cell_a_light_cell_and_pass() -> None:
    session = taigo()
    assert len(legal(session)) > 10
    assert session("play b aa25") == ""
    assert legal(session) == ["AA24", "AB24", "AB25", "Z25", "Z26"]
    assert session("ggp-history") == "" and session("ggp-status").endswith("to_play=black seat=1 ply=0")
    assert session("play black AB25") == ""
    assert legal(session) == ["pass"]
    assert session("gogui-rules_side_to_move") == "black"
    assert session("play b pass") == ""
    assert session("ggp-history") == "1 black 0,-1/1,-1"
    assert session("gogui-rules_side_to_move") == "white"


def test_an_entry_appears_on_boards_for_people_and_not_in_ggp_commands() -> None:
    session = taigo()
    before = session.picture()
    session("play b AA25")
    session("play b AB25")
    rows = session("gogui-rules_board").split("\n")
    assert rows[51 - 25] == "." * 25 + "XO" + "." * 24
    assert session("gogui-rules_board_gfx") == (
        "CIRCLE AA25 AB25\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 39, "
        "Entered so far: AA25 AB25; pass ends the turn, black to move"
    )
    assert "Entered so far: AA25 AB25; pass ends the turn" in session("showboard")
    assert session.picture() == before


def test_reasons_name_the_points() -> None:
    session = taigo()
    assert session.fails("play b A1") == "illegal move: no turn begins with A1"
    assert session.fails("play w AA25") == "illegal move: it is black's turn"
    assert session.fails("play b pass").startswith("illegal move: ")
    assert session.fails("play b BB1").startswith("illegal move: ")
    session("play b AA25")
    assert session.fails("play b pass") == (
        "illegal move: AA25 is not a complete turn; the next cell may be AA24 AB24 AB25 Z25 Z26"
    )
    assert session.fails("play b A1") == (
        "illegal move: A1 cannot follow AA25; the next cell may be AA24 AB24 AB25 Z25 Z26"
    )
    assert session.fails("play b 0,-1/1,-1") == "illegal move: the turn AA25 is not finished: write pass, or undo"
    session("play b AB25")
    assert session.fails("play b Z25") == "illegal move: Z25 cannot follow AA25 AB25; the next cell may be pass only"
    assert session.fails("play w pass") == "illegal move: it is black's turn"


def test_a_whole_move_and_ggp_play_are_as_ever() -> None:
    session = taigo()
    assert session("play b 0,-1/1,-1") == ""
    session("play w Z25")
    session("ggp-play white 0,1/1,1")
    assert session("ggp-history") == "1 black 0,-1/1,-1\n2 white 0,1/1,1"
    assert "Entered" not in session("showboard") and len(legal(session)) > 10
    assert MemorySession("taigo").fails("play b AA25").startswith("illegal move: ")
    assert MemorySession("taigo")("gogui-rules_legal_moves") == ""


def test_undo_takes_back_one_point_or_the_pass_that_ended_a_turn() -> None:
    session = taigo()
    assert session.fails("undo") == "cannot undo"
    seen = []
    for play in ("b AA25", "b AB25", "b pass", "w AA27", "w Z27", "w pass", "b AC25"):
        seen.append((session("gogui-rules_board"), legal(session), session("ggp-history")))
        session(f"play {play}")
    while seen:
        session("undo")
        assert (session("gogui-rules_board"), legal(session), session("ggp-history")) == seen.pop()
    assert session.fails("undo") == "cannot undo"


def test_ggp_undo_takes_back_whole_plies() -> None:
    session = taigo()
    start = session("gogui-rules_board")
    for play in ("b AA25", "b AB25", "b pass", "w AA27"):
        session(f"play {play}")
    session("ggp-undo")
    assert session("gogui-rules_board") == start
    session("ggp-play black 0,-1/1,-1")
    session("undo")
    assert session("gogui-rules_board") == start


@pytest.mark.parametrize("command", ["clear_board", "boardsize 51", "ggp-new taigo", "ggp-undo"])
def test_a_new_beginning_forgets_what_was_entered(command: str) -> None:
    session = taigo("0,-1/1,-1")
    session("play w AA27")
    session(command)
    assert "Entered" not in session("showboard")
    assert len(legal(session)) > 10


def test_a_sequence_is_entered_whole_or_not_at_all() -> None:
    session = taigo()
    session("play b AA25")
    assert session("gogui-play_sequence b AB25 b pass w AA27") == ""
    assert session("ggp-history") == "1 black 0,-1/1,-1"
    view = session("gogui-rules_board")
    refusal = session.fails("gogui-play_sequence w Z27 w pass b A1")
    assert refusal.endswith("no turn begins with A1 (move 3 of the sequence)")
    assert session("gogui-rules_board") == view and session("ggp-history") == "1 black 0,-1/1,-1"
    session("undo")
    session("undo")
    assert legal(session) == ["pass"] and session("ggp-history") == ""


def test_holes_come_in_any_order_dark_once_light_twice() -> None:
    session = taigo("0,1/0,2 2,0/2,-1 2,1/3,1 3,2/2,3")
    for point in ("AB28", "AB29"):
        session(f"play b {point}")
    assert legal(session) == ["AB27", "AC28"]  # the holes 1,1 and 2,2
    assert (
        session.fails("play b pass") == "illegal move: AB28 AB29 is not a complete turn; the next cell may be AB27 AC28"
    )
    session("play b AC28")
    assert legal(session) == ["AB27", "AC28"]
    session("play b AB27")
    assert board(session, "1,1") == board(session, "2,2") == "X"
    session("play b AB27")
    assert (board(session, "1,1"), board(session, "2,2")) == ("O", "X")
    assert legal(session) == ["AC28", "pass"]
    session("play b AC28")
    assert legal(session) == ["pass"] and board(session, "2,2") == "O"
    session("undo")
    session("play b pass")
    assert session("ggp-history").split("\n")[-1] == "1 black 1,2/1,3+l:1,1+d:2,2"
    assert "SQUARE AB27 AC28" in session("gogui-rules_board_gfx")


def board(session: MemorySession, cell: str) -> str:
    q, r = map(int, cell.split(","))
    return session("gogui-rules_board").split("\n")[25 - r][25 + q]


def test_a_short_supply_fills_some_of_the_holes() -> None:
    session = taigo("0,1/0,2 2,0/2,-1 2,1/3,1 3,2/2,3", "dark_cones=1 light_cones=0")
    for point in ("AB28", "AB29"):
        session(f"play b {point}")
    assert legal(session) == ["AB27", "AC28"]
    session("play b AC28")
    assert legal(session) == ["pass"]
    session("play b pass")
    assert session("ggp-history").split("\n")[-1] == "1 black 1,2/1,3+d:2,2"
