"""GTP's view of an engine's game: sizes, komi, play, undo, scores, the exact texts of §2.4. No handicap, no SGF."""

import random
import re

import pytest

from ggp.engines.games.go import GoState
from ggp.engines.registry import Registry
from ggp.engines.service import RESPONDERS_OWN, engine_handlers
from ggp.protocol.commands import COMMANDS
from ggp.protocol.drawing import svg, text
from ggp.protocol.drawing.scene import read_scene
from tests.support.memory_session import MemorySession


def test_every_command_of_the_table_is_answered_and_no_other() -> None:
    table = {row.name for row in COMMANDS if row.engine is not None}
    assert table == {*engine_handlers(MemorySession().session), *RESPONDERS_OWN}


def test_list_commands_are_those_that_are_known() -> None:
    session = MemorySession()
    names = session("list_commands").split("\n")
    assert names == sorted(names)
    assert all(session(f"known_command {name}") == "true" for name in names)
    assert session("known_command") == session("known_command genmove") == session("known_command GGP-PLAY") == "false"
    assert session.answer("genmove b") == "? unknown command"
    assert session.answer("PLAY b A1") == "? unknown command"


def test_handicap_and_sgf_commands_are_go_only() -> None:
    own_to_go = {"fixed_handicap", "set_free_handicap", "loadsgf"}
    session = MemorySession("yugo size=5")
    assert not own_to_go & set(session("list_commands").split())
    for line in ("fixed_handicap 2", "set_free_handicap A1 B2", "loadsgf x.sgf", "loadsgf"):
        assert session.fails(line) == "unknown command"
        assert session("known_command " + line.split()[0]) == "false"
    session("ggp-new go")
    assert own_to_go <= set(session("list_commands").split())
    assert session("known_command loadsgf") == "true"


def test_name_version_and_protocol_version() -> None:
    session = MemorySession()
    assert session("name") == "ggp-engine"
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", session("version"))
    assert session("protocol_version") == "2"


def test_boardsize_is_a_new_game_with_the_current_options_and_another_size() -> None:
    session = MemorySession("yugo size=5 komi=3 agreement=on")
    session.play("C3 D4")
    assert session("boardsize 7") == ""
    assert session("ggp-history") == ""
    assert session.session.options == {"size": 7, "komi": 3, "handicap": 0, "agreement": "on"}
    assert len(session("ggp-legal_moves").split()) == 50


@pytest.mark.parametrize("size", ["1", "26", "0", "-9", "99999999999999999999"])
def test_an_unacceptable_size(size: str) -> None:
    session = MemorySession("go size=9")
    session.play("D4")
    assert session.fails(f"boardsize {size}") == "unacceptable size"


def test_a_size_that_the_handicap_does_not_fit_is_unacceptable() -> None:
    session = MemorySession("go size=9 handicap=5")
    assert session.fails("boardsize 8") == "unacceptable size"
    assert MemorySession("yugo size=9 handicap=9").fails("boardsize 3") == "unacceptable size"


@pytest.mark.parametrize("text", ["", "x", "9.5", "--9", "9 9", "٩"])
def test_boardsize_of_no_number_is_a_syntax_error(text: str) -> None:
    assert MemorySession("go").fails(f"boardsize {text}") == "syntax error: write boardsize N"


def test_clear_board_is_a_new_game_with_the_current_options_and_never_fails() -> None:
    session = MemorySession("go size=9 komi=0.5 handicap=3")
    start = session.picture()
    session.play("D4 E5 pass pass")
    assert session.fields()["phase"] == "over"
    assert session("clear_board") == ""
    assert session.picture() == start
    assert session("clear_board now please") == ""


def test_go_keeps_any_komi_at_any_time() -> None:
    session = MemorySession("go size=5")
    session.play("C3")
    for komi, result in [("0.5", "B+24.5"), ("-3", "B+28"), ("6.3", "B+18.7"), ("1e1", "B+15"), ("+7", "B+18")]:
        assert session(f"komi {komi}") == ""
        assert session("final_score") == result
    session.play("pass pass")
    assert session.fields()["result"] == "B+18"
    session("komi 30")
    assert session.fields()["result"] == "W+5" and session.fields()["winner"] == "2"
    session("ggp-undo 2")
    assert session("final_score") == "W+5"
    session("clear_board")
    assert session("final_score") == "W+30"


@pytest.mark.parametrize(("komi", "kept"), [("3.9", 3), ("-3.9", -3), ("0.5", 0), ("-5", -5), ("7", 7)])
def test_yugo_takes_the_integer_part_toward_zero(komi: str, kept: int) -> None:
    session = MemorySession("yugo size=5")
    assert session(f"komi {komi}") == ""
    assert f'"komi": {kept}' in session("ggp-score")


def test_yugo_takes_komi_at_once_before_ply_0_and_otherwise_from_the_next_clear_board() -> None:
    session = MemorySession("yugo size=5")
    session("komi 3")
    assert '"komi": 3}' in session("ggp-score")
    session.play("C3")
    seen = session.picture()[:-1]
    assert session("komi 20") == ""
    assert session.picture()[:-1] == seen  # only the next game's options differ
    session("undo")
    assert '"komi": 3}' in session("ggp-score")
    session("clear_board")
    assert '"komi": 20}' in session("ggp-score")
    session("ggp-new yugo size=5")
    assert '"komi": 7}' in session("ggp-score")


@pytest.mark.parametrize("komi", ["1e300", "-1e300", "1e400", "-1E+99999", "9" * 23, "1" * 60_000, f"{'1' * 99}.5"])
def test_an_enormous_komi_still_succeeds(komi: str) -> None:
    for game in ("go size=5", "yugo size=5"):
        session = MemorySession(game)
        assert session(f"komi {komi}") == ""
        assert re.fullmatch(r"[BW]\+1000000", session("final_score"))


def test_a_komi_of_many_digits_is_a_number_too() -> None:
    session = MemorySession("go size=5")
    assert session(f"komi 5.5{'0' * 99}") == "" and session("final_score") == "W+5.5"
    assert session(f"komi {'0' * 99}.5") == "" and session("final_score") == "W+0.5"


@pytest.mark.parametrize("komi", ["-0", "-0.0", "-1e-999"])
def test_a_negative_zero_is_the_komi_0(komi: str) -> None:
    for game in ("go size=5 komi=0", "yugo size=5 komi=0"):
        session = MemorySession(game)
        seen = session.picture()
        assert session(f"komi {komi}") == "" and session.picture() == seen
        assert "-0" not in session("ggp-scene")


@pytest.mark.parametrize("komi", ["", "x", "nan", "inf", "-infinity", "1_0", "0x10", "1e", ".", "-", "7 7", "٧"])
def test_komi_of_no_number_is_a_syntax_error(komi: str) -> None:
    for game in ("go size=5", "yugo size=5"):
        assert MemorySession(game).fails(f"komi {komi}") == "syntax error: write komi NUMBER"


@pytest.mark.parametrize("colour", ["b", "B", "black", "BLACK", "bLaCk"])
def test_play_answers_empty_and_reads_colours_and_vertices_in_any_case(colour: str) -> None:
    session = MemorySession("yugo size=5")
    assert session.answer(f"play {colour} c3") == "="
    assert session("ggp-history") == "1 black C3"
    assert session.answer("play W PASS").startswith("? illegal move: ")


def test_plain_gtp_plays_out_of_turn_in_go_only() -> None:
    go, yugo = MemorySession("go size=5"), MemorySession("yugo size=5")
    assert go("play white C3") == go("play white D3") == go("play black A1") == ""
    assert go("ggp-history") == "2 white C3\n2 white D3\n1 black A1"
    assert go.fields()["to_play"] == "white"
    assert yugo.fails("play white C3") == "illegal move: it is black's turn"


def test_undo_of_moves_out_of_turn() -> None:
    session = MemorySession("go size=5")
    pictures = [session.picture()]
    for line in ("white B1", "white C2", "black A1", "black E5", "white A2", "white pass", "white pass"):
        session(f"play {line}")  # the fifth takes A1, the last ends the game
        pictures.append(session.picture())
    assert session.fields()["phase"] == "over"
    for picture in reversed(pictures[:-1]):
        session("undo")
        assert session.picture() == picture


def test_an_illegal_move_out_of_turn_changes_nothing() -> None:
    session = MemorySession("go size=5")
    session("play black C3")
    assert session.fails("play black C3").startswith("illegal move: ")
    session.play("pass pass")
    assert session.fails("play black A1") == "illegal move: the game is over"


def test_out_of_turn_is_not_for_the_agreement_phase() -> None:
    session = MemorySession("go size=5 agreement=on")
    session.play("C3 pass pass")
    assert session.fields()["phase"] == "agree" and session.fields()["to_play"] == "white"
    assert session.fails("play black dead:") == "illegal move: it is white's turn"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("play", "syntax error: write play COLOUR MOVE"),
        ("play black", "syntax error: write play COLOUR MOVE"),
        ("play C3 black", "syntax error: C3 is not a colour: write black or white"),
        ("play black resign", "illegal move: resign is an answer to genmove, not a move"),
        ("undo 2", "syntax error: write undo"),
        ("showboard 1", "syntax error: write showboard"),
    ],
)
def test_bad_arguments_are_refused(line: str, text: str) -> None:
    session = MemorySession("go size=5")
    session.play("C3")
    assert session.fails(line) == text


def test_undo_one_ply_or_cannot() -> None:
    session = MemorySession("go size=5")
    assert session.fails("undo") == "cannot undo"
    session.play("C3 pass pass")
    assert session("undo") == ""
    assert session.fields()["phase"] == "play" and session.fields()["ply"] == "2"
    session("undo")
    session("undo")
    assert session.fails("undo") == "cannot undo"


def test_showboard_is_legible() -> None:
    session = MemorySession("yugo size=10 komi=-3")
    session.play("C3 button K10")
    assert session("showboard").split("\n") == [
        "",
        "   A B C D E F G H J K",
        "10 . . . . . . . . .(X)10",
        " 9 . . . . . . . . . . 9",
        " 8 . . . . . . . . . . 8",
        " 7 . . . . . . . . . . 7",
        " 6 . . . . . . . . . . 6",
        " 5 . . . . . . . . . . 5",
        " 4 . . . . . . . . . . 4",
        " 3 . . X . . . . . . . 3",
        " 2 . . . . . . . . . . 2",
        " 1 . . . . . . . . . . 1",
        "   A B C D E F G H J K",
        "X black pawn",
        "Black has captured 0",
        "White has captured 0",
        "White has the button",
        "Komi: -3",
        "White to move (seat 2)",
    ]


def test_showboard_shows_captures_kings_and_the_end() -> None:
    session = MemorySession("yugo size=2 komi=0")
    session.play("A1 B1 A2")
    assert "Black to move" not in session("showboard")
    session("ggp-new yugo size=3")
    session.play("B1 A1 A2")  # a black king captures the pawn in the corner
    board = session("showboard")
    assert "2(#). . 2" in board and "1 . X . 1" in board and "Black has captured 1" in board
    session.play("button pass pass")
    assert session("showboard").split("\n")[-1] == f"Game over: {session.fields()['result']}"


def test_showboard_says_what_a_scene_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    session = MemorySession("go size=3")
    monkeypatch.setattr(GoState, "scene", lambda state: {"cells": [], "pieces": []})
    assert session.fails("showboard") == "invalid scene: Object missing required field `board`"


def test_showboard_in_the_agreement_phase() -> None:
    session = MemorySession("go size=3 agreement=on")
    session.play("pass pass")
    assert session("showboard").split("\n")[-1] == "Black to name the dead stones (seat 1)"


def test_final_score_before_and_after_the_end() -> None:
    session = MemorySession("go size=5 komi=0.5")
    assert session("final_score") == "W+0.5"
    session.play("C3")
    assert session("final_score") == "B+24.5"
    session.play("pass pass")
    assert session("final_score") == "B+24.5" == session.fields()["result"]
    assert MemorySession("go size=5 komi=0")("final_score") == "0"


def test_a_draw_by_repetition_is_a_draw_on_any_board() -> None:
    session = MemorySession("go size=2 ko=simple komi=0")
    while session.fields()["phase"] != "over" and int(session.fields()["ply"]) < 100:
        stones = [move for move in session("ggp-legal_moves").split() if move != "pass"]
        session.play(stones[0] if stones else "pass")
    assert session("final_score") == session.fields()["result"]


def test_final_status_list() -> None:
    session = MemorySession("go size=5")
    session.play("A1 E5 A2 E4 C3 pass")
    assert sorted(session("final_status_list alive").split("\n")) == ["A1 A2", "C3", "E4 E5"]
    assert session("final_status_list dead") == session("final_status_list seki") == ""
    for argument in ("", "living", "dead alive"):
        line = f"final_status_list {argument}".strip()
        assert session.fails(line) == "syntax error: write final_status_list alive|dead|seki"


@pytest.mark.parametrize("game", ["go", "yugo"])
def test_the_dead_are_those_that_both_sides_named(game: str) -> None:
    session = MemorySession(f"{game} size=5 agreement=on komi=0")
    session.play("C3 A1 C4 A2" + (" pass pass" if game == "go" else " button pass pass"))
    assert session("final_status_list dead") == ""
    session.play("dead:A1")
    assert session("final_status_list dead") == "" and "A1 A2" in session("final_status_list alive")
    session.play("dead:a2")
    assert session.fields()["phase"] == "over"
    assert session("final_status_list dead") == "A1 A2"
    assert session("final_status_list alive") == "C3 C4"
    assert session("final_status_list seki") == ""


def test_lists_that_differ_remove_nothing() -> None:
    session = MemorySession("go size=5 agreement=on")
    session.play("C3 A1 pass pass dead:A1 dead: pass pass")
    assert session.fields()["phase"] == "over"
    assert session("final_status_list dead") == "" and "A1" in session("final_status_list alive")


# --- showboard ---

LARGEST = {
    "go": "size=25 ko=simple",
    "yugo": "size=25",
    "taugo": "size=25",
    "laido": "size=13",
    "stigmergy": "size=13 komi=5",
    "taigo": "tiles=200 dark_cones=20 light_cones=20",
}
SMALLEST = {"stigmergy": "size=2 komi=3", "taugo": "size=6", "taigo": "tiles=2"}


@pytest.mark.parametrize("game", Registry().names())
@pytest.mark.parametrize("size", ["default", "largest", "smallest"])
def test_a_random_game_is_legible_to_its_end(game: str, size: str) -> None:
    options = {"default": "", "largest": LARGEST[game], "smallest": SMALLEST.get(game, "size=2")}[size]
    session, chance = MemorySession(f"{game} {options}"), random.Random(f"{game} {size}")
    for ply in range(400):
        if ply < 12 or ply % 25 == 0 or session.fields()["phase"] == "over":
            _check(session)
        moves = session("ggp-legal_moves").split()
        if not moves:
            break
        cells = [move for move in moves if move != "pass"] or moves
        session.play(chance.choice(cells if ply < 300 else moves))
    assert session.fields()["ply"] != "0"


def _check(session: MemorySession) -> None:
    scene, shown = read_scene(session("ggp-scene")), session("showboard")
    assert max(map(len, shown.split("\n"))) <= 100
    board = text.draw(scene)
    assert shown == "\n".join(["", board, *text.describe(scene)])
    assert ("(" in board) == bool(scene.last)
    for glyph in "#@":  # which no label holds
        assert board.count(glyph) == sum(piece.glyph == glyph for piece in scene.pieces)
    picture = svg.draw(scene)
    assert picture.count(' data-at="') == len(scene.pieces)
    assert all(f' data-at="{piece.at}"' in picture for piece in scene.pieces)
