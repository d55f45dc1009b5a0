"""GoGui's ruler views, each as PROTOCOL §3 writes it, and what `pass` means under --gogui."""

import random

import pytest

from ggp.engines.games.taigo import GAME as TAIGO
from ggp.engines.games.yugo import GAME as YUGO
from ggp.engines.gogui_input import cell_of, column_name, place, point_of
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
    session = MemorySession("yugo size=3")
    session.play("B1 A1 A2")
    assert session("gogui-rules_board") == "...\nX..\n.X."
    session.play("C3")
    assert session("gogui-rules_board") == "..O\nX..\n.X."


def test_legal_moves_list_pass_where_it_is_accepted() -> None:
    session = MemorySession("yugo size=2")
    assert session("gogui-rules_legal_moves") == "A1 A2 B1 B2"  # the button is free
    assert (
        MemorySession("yugo size=2", gogui=True)("gogui-rules_legal_moves") == "A1 A2 B1 B2 pass"
    )  # it takes the button
    for gogui in (False, True):
        assert MemorySession("yugo size=3 handicap=2", gogui)("gogui-rules_legal_moves").split()[-1] == "C3"
        assert MemorySession("laido size=2", gogui)("gogui-rules_legal_moves").split()[-1] == "C2"
        assert "pass" not in MemorySession("taigo", gogui)("gogui-rules_legal_moves")
    assert MemorySession("stigmergy size=2")("gogui-rules_legal_moves") == ""
    session.play("button")
    assert session("gogui-rules_legal_moves") == "A1 A2 B1 B2 pass"
    session.play("pass pass")
    assert session("gogui-rules_legal_moves") == ""
    agree = MemorySession("go size=2 agreement=on")
    agree.play("pass pass")
    assert agree("gogui-rules_legal_moves") == ""
    agree = MemorySession("go size=2 agreement=on", gogui=True)
    agree.play("pass pass")
    assert agree("gogui-rules_legal_moves") == "pass"


def test_the_side_to_move_and_the_result() -> None:
    session = MemorySession("go size=3 komi=0.5")
    session.play("B2")
    assert session("gogui-rules_side_to_move") == "white"
    assert session("gogui-rules_final_result") == "undecided"
    session.play("pass pass")
    assert session("gogui-rules_final_result") == "B+8.5"
    assert session("gogui-rules_side_to_move") == "white"  # GoGui's manual allows nothing but a side, also at the end


@pytest.mark.parametrize("game", ["go size=2 agreement=on", "yugo size=2", "laido size=2", "taigo tiles=2"])
def test_the_side_to_move_is_a_side_also_at_the_end(game: str) -> None:
    session = MemorySession(game)
    while moves := session("ggp-legal_moves").split():
        side = session.fields()["to_play"]
        session.play(moves[-1])
    assert session("gogui-rules_side_to_move") == ("white" if side == "black" else "black")


def test_captured_white_stones_come_first_as_gogui_reads_them() -> None:
    session = MemorySession("go size=5")
    session.play("B1 A1 A2")  # Black takes a white stone
    assert session("gogui-rules_captured_count") == "1 0"
    session.play("B2 A1 pass A3 pass A4 pass B3")
    session("ggp-new go size=5")
    session.play("A1 A2 C3 B1")  # White takes a black one
    assert session("gogui-rules_captured_count") == "0 1"


def test_marks_show_kings_the_last_ply_and_the_status() -> None:
    session = MemorySession("yugo size=3")
    session.play("B1 A1 A2")
    assert session("gogui-rules_board_gfx") == (
        "SQUARE A2\nCIRCLE A2\n"
        "TEXT Black has captured 1, White has captured 0, The button is free, Komi: 7, white to move"
    )
    session.play("button pass pass")
    gfx = session("gogui-rules_board_gfx").split("\n")
    assert gfx[0] == "SQUARE A2" and gfx[-1].endswith(f"Game over: {session.fields()['result']}")
    assert "CIRCLE" not in "".join(gfx)


def test_the_status_says_what_the_side_decides() -> None:
    session = MemorySession("stigmergy size=2")
    assert session("gogui-rules_board_gfx") == "TEXT Komi: no bid yet, black to bid"
    session.play("bid:4")
    assert session("gogui-rules_board_gfx") == "TEXT Komi: 4, white to choose a side"
    session.play("swap-sides")
    assert session("gogui-rules_board_gfx") == "TEXT Komi: 4, The sides were swapped, black to move"
    session = MemorySession("yugo size=2 agreement=on")
    session.play("button pass pass")
    assert session("gogui-rules_board_gfx").endswith(", white to name the dead stones")


def test_menu_entries_are_known_and_change_nothing() -> None:
    """GoGui runs them in the program that plays, and does not learn of a move that one of them made."""
    session = MemorySession("yugo")
    commands = [entry.split("/", 2)[2] for entry in session("gogui-analyze_commands").split("\n")]
    assert {"final_score", "gogui-rules_board_gfx"} <= {*commands}
    for command in commands:
        before = session.picture()
        assert session.answer(command).startswith("=") and session.picture() == before


@pytest.mark.parametrize("game", ["laido size=2", "taugo size=6"])
def test_the_first_stone_is_clicked_to_swap_sides(game: str) -> None:
    session = MemorySession(game, gogui=True)
    first = session("gogui-rules_legal_moves").split()[0]
    session.play(first)
    assert first in session("gogui-rules_legal_moves").split()
    before = session("gogui-rules_board")
    assert session(f"play w {first.lower()}") == ""
    assert session("ggp-history").endswith("2 white swap-sides") and session("gogui-rules_board") == before
    assert first not in session("gogui-rules_legal_moves").split()
    assert session.fails(f"play w {first}").startswith("illegal move: ")
    session("undo")
    assert session("ggp-history") == f"1 black {first}"
    assert session(f"gogui-play_sequence w {first}") == ""
    plain = MemorySession(game)
    plain.play(first)
    assert plain.fails(f"play w {first}").startswith("illegal move: ")


def test_a_cell_of_row_n_bids_n_and_any_cell_swaps_sides() -> None:
    session = MemorySession("stigmergy size=3", gogui=True)
    for cell, bid in (("A3", 3), ("E1", 1), ("C5", 5)):
        session(f"play b {cell}")
        session("play w C3")
        assert session("ggp-history") == f"1 black bid:{bid}\n2 white swap-sides"
        assert session("gogui-rules_board").count("X") == 0
        session("undo")
        session("undo")
    assert session.fails("play b A1").startswith("illegal move: ")  # no cell
    assert MemorySession("stigmergy size=3").fails("play b A3").startswith("illegal move: ")


def test_a_sequence_is_played_whole_or_not_at_all() -> None:
    session = MemorySession("yugo size=5")
    assert session("gogui-play_sequence b C3 white D4 BLACK button w pass") == ""
    assert session("ggp-history") == "1 black C3\n2 white D4\n1 black button\n2 white pass"
    assert session("gogui-play_sequence") == ""
    answer = session.fails("gogui-play_sequence b B2 w B2")
    assert answer.startswith("illegal move: ") and answer.endswith("(move 2 of the sequence)")
    assert session.fails("gogui-play_sequence b") == "syntax error: write gogui-play_sequence COLOUR MOVE …"
    assert session.fails("gogui-play_sequence b B2 x B3").startswith("syntax error: x is not a colour")


def test_under_gogui_pass_is_the_first_of_pass_button_and_dead() -> None:
    session = MemorySession("yugo size=5 agreement=on", gogui=True)
    for colour in "bwbwb":
        session(f"play {colour} PASS")
    assert session("ggp-history").split("\n") == [
        "1 black button",
        "2 white pass",
        "1 black pass",
        "2 white dead:",
        "1 black dead:",
    ]
    assert session.fails("play w pass") == "illegal move: the game is over"


def test_under_gogui_a_sequence_passes_the_same_way() -> None:
    session = MemorySession("yugo size=5", gogui=True)
    session("gogui-play_sequence b pass w pass b pass")
    assert session("ggp-history") == "1 black button\n2 white pass\n1 black pass"


def test_ggp_play_and_an_engine_without_gogui_stay_strict() -> None:
    assert MemorySession("yugo", gogui=True).fails("ggp-play black pass").startswith("illegal move: ")
    assert MemorySession("yugo").fails("play black pass").startswith("illegal move: ")


# --- whole games, boards, points of compound moves ---

STARTS = {
    "go size=3": 6,
    "go size=2 agreement=on": 4,
    "yugo size=4": 6,
    "yugo size=3 agreement=on handicap=2": 4,
    "laido size=3": 6,
    "laido size=2 pie=off half_point=first": 4,
    "stigmergy size=2": 6,
    "stigmergy size=3 komi=3": 4,
    "stigmergy size=4 komi=-2": 2,
    "taugo size=6": 2,
    "taugo size=7 pie=off cut_from=any": 1,
    "taigo": 3,
    "taigo tiles=100 dark_cones=20 light_cones=20": 1,
    "taigo tiles=60 dark_cones=0 light_cones=2": 3,
}
"""Games and how many of them are played."""


def test_every_game_is_here() -> None:
    games = set(MemorySession()("ggp-games").split())
    assert games == {start.split()[0] for start in STARTS}


def view(session: MemorySession) -> tuple[str, ...]:
    """What GoGui sees."""
    looks = ("board", "legal_moves", "side_to_move", "final_result", "captured_count", "board_gfx")
    return (*(session(f"gogui-rules_{look}") for look in looks), session("ggp-history"), session("showboard"))


@pytest.mark.slow
@pytest.mark.parametrize(("start", "games"), STARTS.items(), ids=STARTS)
def test_whole_games_by_the_ruler_commands_alone(start: str, games: int) -> None:
    """What GoGui does: ask what is legal, play it, look at the board; now and then go back and forth.

    The game that comes of it is the one that a second engine plays from its history, and every undo is the exact
    inverse of a play.
    """
    session = MemorySession(start, gogui=True)
    for seed in range(games):
        chance = random.Random(f"{start} {seed}")
        session("clear_board")
        plays, views = list[str](), [view(session)]
        while points := session("gogui-rules_legal_moves").split():
            assert session("gogui-rules_final_result") == "undecided"
            side = session("gogui-rules_side_to_move")
            passes = points[-1] == "pass"
            if not passes:
                assert session.answer(f"play {side} pass").startswith("? illegal move")
                assert view(session) == views[-1]
            points = points[: len(points) - passes]
            assert points == sorted(set(points))
            move = chance.choice(points) if points and not (passes and chance.random() < 0.2) else "pass"
            play = f"{side} {move}"
            session(f"play {play}")
            plays.append(play)
            views.append(view(session))
            if chance.random() < 0.1:
                back = chance.randint(1, min(6, len(plays)))
                for count in range(1, back + 1):
                    session("undo")
                    assert view(session) == views[-1 - count]
                session(f"gogui-play_sequence {' '.join(plays[-back:])}")
                assert view(session) == views[-1]
        check_the_end(session, start)


@pytest.mark.parametrize("gogui", [False, True], ids=["words", "gogui"])
@pytest.mark.parametrize("start", STARTS)
def test_legal_moves_are_those_that_play_accepts(start: str, gogui: bool) -> None:
    """In every phase: of the listed ones each of a sample is accepted, of the points that are not listed none."""
    chance = random.Random(f"{start} {gogui}")
    session = MemorySession(start, gogui)
    seen = 0
    while session.fields()["phase"] != "over" and seen < 80:
        seen += 1
        side, listed = session("gogui-rules_side_to_move"), session("gogui-rules_legal_moves").split()
        others = sorted({*board_points(session), "pass"} - {*listed})
        tried = {*chance.sample(listed, min(3, len(listed))), *listed[-1:]}
        refused = {*chance.sample(others, min(3, len(others))), *({"pass"} - {*listed})}
        for move in sorted(tried | refused):
            accepted = session.answer(f"play {side} {move}").startswith("=")
            assert accepted == (move in listed), f"{move} after {session('ggp-history')}"
            if accepted:
                session("undo")
        if gogui:
            session(f"play {side} {chance.choice(listed)}")
        else:
            session.play(chance.choice(session("ggp-legal_moves").split()))


def board_points(session: MemorySession) -> list[str]:
    """Every point of GoGui's board that is a cell."""
    rows = session("gogui-rules_board").split("\n")
    return [
        f"{column_name(x)}{len(rows) - y}" for y, row in enumerate(rows) for x, cell in enumerate(row) if cell != "?"
    ]


def check_the_end(session: MemorySession, start: str) -> None:
    """The result stands, and a second engine that plays the history comes to the same position."""
    result = session("gogui-rules_final_result")
    assert result == session.fields()["result"]
    second = MemorySession(start)
    for ply in session("ggp-history").split("\n"):
        second(f"ggp-play {ply.partition(' ')[2]}")
    for look in ("ggp-hash", "ggp-score", "gogui-rules_final_result", "gogui-rules_board"):
        assert second(look) == session(look)


# --- boards and their names -------------------------------------------------------------------------------------------


def test_columns_go_on_after_z_with_two_letters() -> None:
    assert [column_name(column) for column in (0, 7, 8, 24, 25, 49, 50, 51)] == [
        "A",
        "H",
        "J",
        "Z",
        "AA",
        "AZ",
        "BA",
        "BB",
    ]
    assert [place(point) for point in ("A1", "Z25", "AA26", "BB52")] == [(0, 0), (24, 24), (25, 25), (51, 51)]
    for column in range(52):
        assert place(f"{column_name(column)}7") == (column, 6)


def test_taigo_has_a_window_round_the_first_tile() -> None:
    assert [point_of(TAIGO, cell) for cell in ("0,0", "1,0", "0,-1", "-25,-25", "25,25")] == [
        "AA26", "AB26", "AA25", "A1", "BA51"]  # fmt: skip
    assert [point_of(TAIGO, cell) for cell in ("26,0", "-26,0", "0,26", "0,-26")] == [""] * 4
    for cell in ("0,0", "-25,25", "3,-7"):
        assert cell_of(TAIGO, point_of(TAIGO, cell).lower()) == cell
    assert [cell_of(TAIGO, text) for text in ("BB1", "A52", "0,0", "pass", "I5", "AI5", "A0", "")] == [""] * 8
    assert point_of(YUGO, "D4") == cell_of(YUGO, "d4") == "D4" and cell_of(YUGO, "button") == ""
    session = MemorySession("taigo")
    assert session("gogui-rules_board_size") == "51 hex"
    rows = session("gogui-rules_board").split("\n")
    assert [len(row) for row in rows] == [51] * 51
    assert rows[51 - 26] == "." * 25 + "XO" + "." * 24
    assert "".join(rows).count(".") == 51 * 51 - 2


def test_a_hexagon_is_a_rhombus_without_two_corners() -> None:
    session = MemorySession("laido size=3 pie=off")
    session.play("A3 E3 C1")
    assert session("gogui-rules_board_size") == "5 hex"
    assert session("gogui-rules_board") == "...??\n....?\nX...O\n?....\n??X.."
    assert session("gogui-rules_legal_moves") == "A4 A5 B2 B3 B4 B5 C2 C3 C4 C5 D1 D2 D3 D4 E1 E2 pass"


def test_taugo_has_no_corners_and_enters_a_cut_point_by_point() -> None:
    session = MemorySession("taugo size=8 pie=off", gogui=True)
    session.play("D3 C5 D4 D5 pass E5")
    before = session("gogui-rules_board")
    assert before == "?......?\n........\n........\n..OOO...\n...X....\n...X....\n........\n?......?"
    session("play b D5")
    assert session("gogui-rules_legal_moves") == "D6"
    assert session.fails("play b pass") == "illegal move: D5 is not a complete turn; the next cell may be D6"
    session("play b D6")
    assert session("gogui-rules_legal_moves") == "D7 pass"
    assert session("gogui-rules_board").split("\n")[2:4] == ["...X....", "..OXO..."]
    session("play b pass")
    assert session("ggp-history").endswith("1 black D5+D6") and session("gogui-rules_captured_count") == "1 0"
    for _ in range(3):
        session("undo")
    assert session("gogui-rules_board") == before
