"""GoGui's ruler views, each as PROTOCOL §3 writes it, and what `pass` means under --gogui."""

import pytest

from tests.support.memory_session import MemorySession

RULER = [
    "gogui-rules_game_id",
    "gogui-rules_board_size",
    "gogui-rules_board",
    "gogui-rules_legal_moves",
    "gogui-rules_side_to_move",
    "gogui-rules_final_result",
    "gogui-rules_captured_count",
    "gogui-rules_board_gfx",
    "gogui-analyze_commands",
]


@pytest.mark.parametrize("command", RULER)
def test_none_takes_arguments(command: str) -> None:
    assert MemorySession("yugo").fails(f"{command} x") == f"syntax error: write {command}"


def test_the_id_has_one_capital() -> None:
    assert MemorySession("yugo")("gogui-rules_game_id") == "Yugo"
    assert MemorySession("go")("gogui-rules_game_id") == "Go"


def test_the_size_of_a_square_board() -> None:
    assert MemorySession("yugo size=9")("gogui-rules_board_size") == "9"
    assert MemorySession("go size=19")("gogui-rules_board_size") == "19"


def test_the_board_from_the_top() -> None:
    desk = MemorySession("yugo size=3")
    desk.play("B1 A1 A2")
    assert desk("gogui-rules_board") == "...\nX..\n.X."
    desk.play("C3")
    assert desk("gogui-rules_board") == "..O\nX..\n.X."


def test_legal_moves_list_pass_where_it_is_accepted() -> None:
    desk = MemorySession("yugo size=2")
    assert desk("gogui-rules_legal_moves") == "A1 A2 B1 B2"  # the button is free
    assert (
        MemorySession("yugo size=2", gogui=True)("gogui-rules_legal_moves") == "A1 A2 B1 B2 pass"
    )  # it takes the button
    for gogui in (False, True):
        assert MemorySession("yugo size=3 handicap=2", gogui)("gogui-rules_legal_moves").split()[-1] == "C3"
        assert MemorySession("laido size=2", gogui)("gogui-rules_legal_moves").split()[-1] == "C2"
        assert "pass" not in MemorySession("taigo", gogui)("gogui-rules_legal_moves")
    assert MemorySession("stigmergy size=2")("gogui-rules_legal_moves") == ""
    desk.play("button")
    assert desk("gogui-rules_legal_moves") == "A1 A2 B1 B2 pass"
    desk.play("pass pass")
    assert desk("gogui-rules_legal_moves") == ""
    agree = MemorySession("go size=2 agreement=on")
    agree.play("pass pass")
    assert agree("gogui-rules_legal_moves") == ""
    agree = MemorySession("go size=2 agreement=on", gogui=True)
    agree.play("pass pass")
    assert agree("gogui-rules_legal_moves") == "pass"


def test_the_side_to_move_and_the_result() -> None:
    desk = MemorySession("go size=3 komi=0.5")
    desk.play("B2")
    assert desk("gogui-rules_side_to_move") == "white"
    assert desk("gogui-rules_final_result") == "undecided"
    desk.play("pass pass")
    assert desk("gogui-rules_final_result") == "B+8.5"
    assert desk("gogui-rules_side_to_move") == "white"  # GoGui's manual allows nothing but a side, also at the end


@pytest.mark.parametrize("game", ["go size=2 agreement=on", "yugo size=2", "laido size=2", "taigo tiles=2"])
def test_the_side_to_move_is_a_side_also_at_the_end(game: str) -> None:
    desk = MemorySession(game)
    while moves := desk("ggp-legal_moves").split():
        side = desk.fields()["to_play"]
        desk.play(moves[-1])
    assert desk("gogui-rules_side_to_move") == ("white" if side == "black" else "black")


def test_captured_white_stones_come_first_as_gogui_reads_them() -> None:
    desk = MemorySession("go size=5")
    desk.play("B1 A1 A2")  # Black takes a white stone
    assert desk("gogui-rules_captured_count") == "1 0"
    desk.play("B2 A1 pass A3 pass A4 pass B3")
    desk("ggp-new go size=5")
    desk.play("A1 A2 C3 B1")  # White takes a black one
    assert desk("gogui-rules_captured_count") == "0 1"


def test_marks_show_kings_the_last_ply_and_the_status() -> None:
    desk = MemorySession("yugo size=3")
    desk.play("B1 A1 A2")
    assert desk("gogui-rules_board_gfx") == (
        "SQUARE A2\nCIRCLE A2\n"
        "TEXT Black has captured 1, White has captured 0, The button is free, Komi: 7, white to move"
    )
    desk.play("button pass pass")
    gfx = desk("gogui-rules_board_gfx").split("\n")
    assert gfx[0] == "SQUARE A2" and gfx[-1].endswith(f"Game over: {desk.fields()['result']}")
    assert "CIRCLE" not in "".join(gfx)


def test_the_status_says_what_the_side_decides() -> None:
    desk = MemorySession("stigmergy size=2")
    assert desk("gogui-rules_board_gfx") == "TEXT Komi: no bid yet, black to bid"
    desk.play("bid:4")
    assert desk("gogui-rules_board_gfx") == "TEXT Komi: 4, white to choose a side"
    desk.play("swap-sides")
    assert desk("gogui-rules_board_gfx") == "TEXT Komi: 4, The sides were swapped, black to move"
    desk = MemorySession("yugo size=2 agreement=on")
    desk.play("button pass pass")
    assert desk("gogui-rules_board_gfx").endswith(", white to name the dead stones")


def test_menu_entries_are_known_and_change_nothing() -> None:
    """GoGui runs them in the program that plays, and does not learn of a move that one of them made."""
    desk = MemorySession("yugo")
    commands = [entry.split("/", 2)[2] for entry in desk("gogui-analyze_commands").split("\n")]
    assert {"final_score", "gogui-rules_board_gfx"} <= {*commands}
    for command in commands:
        before = desk.picture()
        assert desk.answer(command).startswith("=") and desk.picture() == before


@pytest.mark.parametrize("game", ["laido size=2", "taugo size=6"])
def test_the_first_stone_is_clicked_to_swap_sides(game: str) -> None:
    desk = MemorySession(game, gogui=True)
    first = desk("gogui-rules_legal_moves").split()[0]
    desk.play(first)
    assert first in desk("gogui-rules_legal_moves").split()
    before = desk("gogui-rules_board")
    assert desk(f"play w {first.lower()}") == ""
    assert desk("ggp-history").endswith("2 white swap-sides") and desk("gogui-rules_board") == before
    assert first not in desk("gogui-rules_legal_moves").split()
    assert desk.fails(f"play w {first}").startswith("illegal move: ")
    desk("undo")
    assert desk("ggp-history") == f"1 black {first}"
    assert desk(f"gogui-play_sequence w {first}") == ""
    plain = MemorySession(game)
    plain.play(first)
    assert plain.fails(f"play w {first}").startswith("illegal move: ")


def test_a_cell_of_row_n_bids_n_and_any_cell_swaps_sides() -> None:
    desk = MemorySession("stigmergy size=3", gogui=True)
    for cell, bid in (("A3", 3), ("E1", 1), ("C5", 5)):
        desk(f"play b {cell}")
        desk("play w C3")
        assert desk("ggp-history") == f"1 black bid:{bid}\n2 white swap-sides"
        assert desk("gogui-rules_board").count("X") == 0
        desk("undo")
        desk("undo")
    assert desk.fails("play b A1").startswith("illegal move: ")  # no cell
    assert MemorySession("stigmergy size=3").fails("play b A3").startswith("illegal move: ")


def test_a_sequence_is_played_whole_or_not_at_all() -> None:
    desk = MemorySession("yugo size=5")
    assert desk("gogui-play_sequence b C3 white D4 BLACK button w pass") == ""
    assert desk("ggp-history") == "1 black C3\n2 white D4\n1 black button\n2 white pass"
    assert desk("gogui-play_sequence") == ""
    answer = desk.fails("gogui-play_sequence b B2 w B2")
    assert answer.startswith("illegal move: ") and answer.endswith("(move 2 of the sequence)")
    assert desk.fails("gogui-play_sequence b") == "syntax error: write gogui-play_sequence COLOUR MOVE …"
    assert desk.fails("gogui-play_sequence b B2 x B3").startswith("syntax error: x is no colour")


def test_under_gogui_pass_is_the_first_of_pass_button_and_dead() -> None:
    desk = MemorySession("yugo size=5 agreement=on", gogui=True)
    for colour in "bwbwb":
        desk(f"play {colour} PASS")
    assert desk("ggp-history").split("\n") == [
        "1 black button",
        "2 white pass",
        "1 black pass",
        "2 white dead:",
        "1 black dead:",
    ]
    assert desk.fails("play w pass") == "illegal move: the game is over"


def test_under_gogui_a_sequence_passes_the_same_way() -> None:
    desk = MemorySession("yugo size=5", gogui=True)
    desk("gogui-play_sequence b pass w pass b pass")
    assert desk("ggp-history") == "1 black button\n2 white pass\n1 black pass"


def test_ggp_play_and_an_engine_without_gogui_stay_strict() -> None:
    assert MemorySession("yugo", gogui=True).fails("ggp-play black pass").startswith("illegal move: ")
    assert MemorySession("yugo").fails("play black pass").startswith("illegal move: ")
