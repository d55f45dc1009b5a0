"""The commands that only go has: handicap by hand and SGF records. Its rules are elsewhere."""

import os
from pathlib import Path

import pytest

from tests.desk import Desk


def test_fixed_handicap_answers_the_points_and_gives_white_the_move() -> None:
    desk = Desk("go size=9")
    assert set(desk("fixed_handicap 4").split()) == {"C3", "G7", "C7", "G3"}
    assert desk.fields() == {"phase": "play", "to_play": "white", "seat": "2", "ply": "0"}
    assert desk("ggp-history") == ""
    assert desk.fails("undo") == "cannot undo"
    assert desk.fails("fixed_handicap 2") == "board not empty"


def test_fixed_handicap_makes_the_position_of_the_option() -> None:
    by_hand, by_option = Desk("go size=13"), Desk("go size=13 handicap=7")
    by_hand("fixed_handicap 7")
    assert by_hand("ggp-hash") == by_option("ggp-hash")
    by_hand("clear_board")
    assert by_hand.fields()["to_play"] == "black"  # it was not an option of the next game


@pytest.mark.parametrize(
    ("size", "number"), [(9, "1"), (9, "0"), (9, "10"), (8, "5"), (7, "5"), (5, "2"), (19, "9999999999")]
)
def test_an_invalid_number_of_stones(size: int, number: str) -> None:
    assert Desk(f"go size={size}").fails(f"fixed_handicap {number}") == "invalid number of stones"


def test_handicap_needs_an_empty_board() -> None:
    desk = Desk("go size=9")
    desk.play("D4")
    assert desk.fails("fixed_handicap 2") == desk.fails("set_free_handicap A1 B2") == "board not empty"
    assert Desk("go size=9 handicap=2").fails("set_free_handicap A1 B2") == "board not empty"
    desk("ggp-new go size=9")
    desk.play("pass")
    assert desk.fails("fixed_handicap 2") == "board not empty"
    assert desk.fails("fixed_handicap x") == "board not empty"
    assert Desk("go").fails("fixed_handicap x") == "syntax error: write fixed_handicap N"


def test_set_free_handicap_survives_undo_and_komi() -> None:
    desk = Desk("go size=5")
    assert desk("set_free_handicap a1 C3 E5") == ""
    start = desk.picture()
    desk.play("B2 D4")
    desk("ggp-undo 2")
    assert desk.picture() == start
    assert desk.fields()["to_play"] == "white"
    desk("komi 0.5")
    assert sorted(desk("final_status_list alive").split("\n")) == ["A1", "C3", "E5"]
    desk("clear_board")
    assert desk("final_status_list alive") == ""


@pytest.mark.parametrize("points", ["", "A1", "A1 A1", "A1 Z9", "A1 pass", "A1 I2"])
def test_a_bad_vertex_list(points: str) -> None:
    assert Desk("go size=5").fails(f"set_free_handicap {points}").startswith("bad vertex list: ")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "game.sgf"
    path.write_text("(;GM[1]FF[4]SZ[9]KM[5.5]C[a \\] in a comment];B[cc];W[gg](;B[cg];W[];B[tt])(;B[aa]))")
    return path


def test_loadsgf_plays_the_main_line(record: Path) -> None:
    desk = Desk("go size=19 ko=simple")
    assert desk(f"loadsgf {record}") == ""
    assert desk("ggp-history") == "1 black C7\n2 white G3\n1 black C3\n2 white pass\n1 black pass"
    assert desk.fields()["phase"] == "over"
    options = {"size": 9, "komi": 5.5, "handicap": 0, "ko": "simple", "agreement": "off"}
    assert desk.session.options == options
    desk("undo")
    assert desk.fields()["to_play"] == "black"


@pytest.mark.parametrize(("until", "plies"), [("1", 0), ("3", 2), ("6", 5), ("99", 5)])
def test_loadsgf_stops_before_the_move_of_that_number(record: Path, until: str, plies: int) -> None:
    desk = Desk("go")
    desk(f"loadsgf {record} {until}")
    assert desk.fields()["ply"] == str(plies)


def test_loadsgf_with_handicap_and_moves_out_of_turn(tmp_path: Path) -> None:
    path = tmp_path / "h.sgf"
    path.write_text("\n( ;SZ[5] HA[2]\nAB[aa] [ee];W[cc];W[bb];B[dd])")
    desk = Desk("go size=9 handicap=4 komi=0.5")
    desk(f"loadsgf {path}")
    assert desk("ggp-history") == "2 white C3\n2 white B4\n1 black D2"
    assert set(desk("final_status_list alive").split()) == {"A5", "E1", "C3", "B4", "D2"}
    assert desk.session.options["komi"] == 0.5 and desk.session.options["handicap"] == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an SGF file"),
        ("hello", "not an SGF file"),
        ("(;SZ[9];B[aa]", "the file ends before its game does"),
        ("(;SZ[9];B[aa", "the file ends inside a value"),
        ("(;GM[2]SZ[8])", "not a record of go: GM[2]"),
        ("(;SZ[9:13])", "the board is not square"),
        ("(;SZ[37])", "the board is larger than 25x25"),
        ("(;SZ[1])", "the board is 1x1"),
        ("(;SZ[9]KM[many])", "komi is not a number"),
        ("(;SZ[9];B[jj])", "not a point of a 9x9 board"),
        ("(;SZ[9];B[a])", "not a point of a 9x9 board"),
        ("(;SZ[9]AB[aa][bb]AW[cc])", "a set-up that is not black stones cannot be represented: AW[cc]"),
        ("(;SZ[9];B[aa];AE[aa])", "a set-up after a move cannot be represented: AE[aa]"),
        ("(;SZ[9];B[aa];AB[bb])", "a set-up after a move cannot be represented: AB[bb]"),
        ("(;SZ[9]AB[aa])", "handicap: "),
        ("(;SZ[9];B[aa];W[aa])", "move 2, white A9: "),
        ("(;SZ[9];B[];W[];B[aa])", "move 3, black A9: the game is over"),
        ("(;[aa])", "a value without a property"),
        ("(;SZ[9];=)", "not an SGF file: unexpected '='"),
    ],
)
def test_a_record_that_cannot_be_represented_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.sgf"
    path.write_text(text)
    desk = Desk("go size=9")
    desk.play("D4")
    answer = desk.fails(f"loadsgf {path}")
    assert answer.startswith("cannot load file: ") and reason in answer


def test_a_third_pass_at_the_end_is_borne_with(tmp_path: Path) -> None:
    path = tmp_path / "passes.sgf"
    path.write_text("(;SZ[9];B[];W[];B[])")
    desk = Desk("go")
    desk(f"loadsgf {path}")
    assert desk.fields()["ply"] == "2" and desk.fields()["phase"] == "over"


def test_old_names_rectangles_and_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "old.sgf"
    path.write_bytes("(;GaMe[1]SiZe[9]AddBlack[aa:ba][ii]PlayerBlack[é];White[cc])".encode("latin-1"))
    desk = Desk("go")
    desk(f"loadsgf {path}")
    assert set(desk("final_status_list alive").split()) == {"A9", "B9", "J1", "C7"}


def test_a_file_that_cannot_be_read_is_refused_at_once(tmp_path: Path) -> None:
    large = tmp_path / "large.sgf"
    large.write_text("(;C[" + "x" * 2_000_000 + "])")
    os.mkfifo(tmp_path / "pipe.sgf")
    desk = Desk("go")
    for path, reason in [
        (tmp_path / "none.sgf", "No such file or directory"),
        (tmp_path, "not a regular file"),
        (tmp_path / "pipe.sgf", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (large, "larger than 1048576 bytes"),
    ]:
        assert desk.fails(f"loadsgf {path}") == f"cannot load file: {reason}"
    assert desk.fails("loadsgf") == "syntax error: write loadsgf FILE [MOVE]"
    assert desk.fails("loadsgf x.sgf 0").startswith("syntax error: move number: ")


def test_a_record_within_its_bounds(tmp_path: Path) -> None:
    path = tmp_path / "long.sgf"
    path.write_text("(;SZ[19]" + ";B[]" * 10_001 + ")")
    assert Desk("go").fails(f"loadsgf {path}").startswith("cannot load file: more than 10000 moves")
    path.write_text("(;SZ[9]" + ";" * 100_001 + ")")
    assert Desk("go").fails(f"loadsgf {path}").startswith("cannot load file: more than 100000 nodes")
    path.write_text("(" * 100_000 + ";SZ[9]" + ")" * 100_000)  # depth costs nothing
    assert Desk("go")(f"loadsgf {path}") == ""
    path.write_text("(;SZ[9]" + "(;B[aa]" * 1 + "(;W[bb]" + ")))" + "(;B[cc])" * 50_000)
    desk = Desk("go")
    desk(f"loadsgf {path}")
    assert desk("ggp-history") == "1 black A9\n2 white B8"
