"""The commands that only go has: handicap by hand and SGF records. Its rules are elsewhere."""

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from ggp.bots.sdk import Bot
from ggp.referee.match.bot_spec import find_program
from tests.support.memory_session import MemorySession


def test_fixed_handicap_answers_the_points_and_gives_white_the_move() -> None:
    session = MemorySession("go size=9")
    assert set(session("fixed_handicap 4").split()) == {"C3", "G7", "C7", "G3"}
    assert session.fields() == {"phase": "play", "to_play": "white", "seat": "2", "ply": "0"}
    assert session("ggp-history") == ""
    assert session.fails("undo") == "cannot undo"
    assert session.fails("fixed_handicap 2") == "board not empty"


def test_fixed_handicap_makes_the_position_of_the_option() -> None:
    by_hand, by_option = MemorySession("go size=13"), MemorySession("go size=13 handicap=7")
    by_hand("fixed_handicap 7")
    assert by_hand("ggp-hash") == by_option("ggp-hash")
    by_hand("clear_board")
    assert by_hand.fields()["to_play"] == "black"  # it was not an option of the next game


@pytest.mark.parametrize(
    ("size", "number"), [(9, "1"), (9, "0"), (9, "10"), (8, "5"), (7, "5"), (5, "2"), (19, "9999999999")]
)
def test_an_invalid_number_of_stones(size: int, number: str) -> None:
    assert MemorySession(f"go size={size}").fails(f"fixed_handicap {number}") == "invalid number of stones"


def test_handicap_needs_an_empty_board() -> None:
    session = MemorySession("go size=9")
    session.play("D4")
    assert session.fails("fixed_handicap 2") == session.fails("set_free_handicap A1 B2") == "board not empty"
    assert MemorySession("go size=9 handicap=2").fails("set_free_handicap A1 B2") == "board not empty"
    session("ggp-new go size=9")
    session.play("pass")
    assert session.fails("fixed_handicap 2") == "board not empty"
    assert session.fails("fixed_handicap x") == "board not empty"
    assert MemorySession("go").fails("fixed_handicap x") == "syntax error: write fixed_handicap N"


def test_set_free_handicap_survives_undo_and_komi() -> None:
    session = MemorySession("go size=5")
    assert session("set_free_handicap a1 C3 E5") == ""
    start = session.picture()
    session.play("B2 D4")
    session("ggp-undo 2")
    assert session.picture() == start
    assert session.fields()["to_play"] == "white"
    session("komi 0.5")
    assert sorted(session("final_status_list alive").split("\n")) == ["A1", "C3", "E5"]
    session("clear_board")
    assert session("final_status_list alive") == ""


@pytest.mark.parametrize("points", ["", "A1", "A1 A1", "A1 Z9", "A1 pass", "A1 I2"])
def test_a_bad_vertex_list(points: str) -> None:
    assert MemorySession("go size=5").fails(f"set_free_handicap {points}").startswith("bad vertex list: ")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "game.sgf"
    path.write_text(
        "(;GM[1]FF[4]SZ[9]KM[5.5]C[a \\] in a comment];B[cc];W[gg](;B[cg];W[];B[tt])(;B[aa]))", encoding="utf-8"
    )
    return path


def test_loadsgf_plays_the_main_line(record: Path) -> None:
    session = MemorySession("go size=19 ko=simple")
    assert session(f"loadsgf {record}") == ""
    assert session("ggp-history") == "1 black C7\n2 white G3\n1 black C3\n2 white pass\n1 black pass"
    assert session.fields()["phase"] == "over"
    options = {"size": 9, "komi": 5.5, "handicap": 0, "ko": "simple", "agreement": "off"}
    assert session.session.options == options
    session("undo")
    assert session.fields()["to_play"] == "black"


@pytest.mark.parametrize(("until", "plies"), [("1", 0), ("3", 2), ("6", 5), ("99", 5)])
def test_loadsgf_stops_before_the_move_of_that_number(record: Path, until: str, plies: int) -> None:
    session = MemorySession("go")
    session(f"loadsgf {record} {until}")
    assert session.fields()["ply"] == str(plies)


def test_loadsgf_with_handicap_and_moves_out_of_turn(tmp_path: Path) -> None:
    path = tmp_path / "h.sgf"
    path.write_text("\n( ;SZ[5] HA[2]\nAB[aa] [ee];W[cc];W[bb];B[dd])", encoding="utf-8")
    session = MemorySession("go size=9 handicap=4 komi=0.5")
    session(f"loadsgf {path}")
    assert session("ggp-history") == "2 white C3\n2 white B4\n1 black D2"
    assert set(session("final_status_list alive").split()) == {"A5", "E1", "C3", "B4", "D2"}
    assert session.session.options["komi"] == 0.5 and session.session.options["handicap"] == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an SGF file"),
        ("hello", "not an SGF file"),
        ("(;SZ[9];B[aa", "the file ends inside the value"),
        ("(;GM[2]SZ[8])", "not a Go record: GM[2]"),
        ("(;SZ[9:13])", "the board is not square"),
        ("(;SZ[37])", "a Go board has at most 25 rows"),
        ("(;SZ[1])", "the board is 1x1"),
        ("(;SZ[9]KM[many])", "komi is not a number"),
        ("(;SZ[9];B[jj])", "not a point of a 9x9 board"),
        ("(;SZ[9];B[a])", "not a point of a 9x9 board"),
        ("(;GM[100]XG[yugo])", "not a Go record: GM[100]"),
        ("(;SZ[9]AB[aa:ab][ba:bb]AW[ca:cb][ac:bc])", "the position that is set up is impossible: A8 has no liberty"),
        ("(;SZ[9]AB[jj])", "not a point of a 9x9 board: [jj]"),
        ("(;SZ[9]AB[aa:j])", "not a point of a 9x9 board: [j]"),
        ("(;[aa])", "value without a property"),
        ("(;SZ[9];=)", "not an SGF file: unexpected '='"),
    ],
)
def test_a_record_that_cannot_be_represented_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.sgf"
    path.write_text(text, encoding="utf-8")
    session = MemorySession("go size=9")
    session.play("D4")
    answer = session.fails(f"loadsgf {path}")
    assert answer.startswith("cannot load file: ") and reason in answer


@pytest.mark.parametrize(
    ("text", "answer", "history"),
    [
        (
            "(;SZ[9];B[cg];W[ee];B[ee];W[cb])",
            "stopped before move 3, black E5: E5 is occupied",
            "1 black C3\n2 white E5",
        ),
        (
            "(;SZ[9];B[aa];W[aa])",
            "stopped before move 2, white A9: A9 is occupied",
            "1 black A9",
        ),
        ("(;SZ[9]AW[aa];B[aa])", "stopped before move 1, black A9: A9 is occupied", ""),
    ],
)
def test_loading_stops_before_a_move_on_an_occupied_point(tmp_path: Path, text: str, answer: str, history: str) -> None:
    (tmp_path / "x.sgf").write_text(text, encoding="utf-8")
    session = MemorySession("go")
    assert session(f"loadsgf {tmp_path / 'x.sgf'}") == answer
    assert session("ggp-history") == history
    assert session.fields()["to_play"] in answer, "the side whose move was left out is to play"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "shift_jis"])
def test_a_record_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    charset = "" if encoding.startswith("utf") else f"CA[{encoding}]"
    (tmp_path / "x.sgf").write_bytes(f"(;{charset}SZ[9]PB[表]C[ソ];B[aa];W[bb])".encode(encoding))
    session = MemorySession("go")
    session(f"loadsgf {tmp_path / 'x.sgf'}")
    assert session("ggp-history") == "1 black A9\n2 white B8"


def load(tmp_path: Path, text: str, until: str = "", game: str = "go") -> MemorySession:
    (tmp_path / "x.sgf").write_text(text, encoding="utf-8")
    session = MemorySession(game)
    assert session(f"loadsgf {tmp_path / 'x.sgf'} {until}".rstrip()) == ""
    return session


def stones(session: MemorySession) -> tuple[str, str]:
    """The points of Black's stones and of White's."""
    pieces = session.scene()["pieces"]
    black, white = (" ".join(sorted(p["at"] for p in pieces if p["colour"] == c)) for c in ("black", "white"))
    return black, white


@pytest.mark.parametrize(
    ("text", "until", "black", "white", "to_play", "plies"),
    [
        ("(;SZ[5]AB[aa][bb]AW[cc]PL[W])", "", "A5 B4", "C3", "white", 0),
        ("(;SZ[5]AB[aa][bb]AW[cc])", "", "A5 B4", "C3", "black", 0),
        ("(;SZ[5]AB[aa]PL[2])", "", "A5", "", "white", 0),
        ("(;SZ[5]HA[2]AB[aa][bb])", "", "A5 B4", "", "white", 0),
        ("(;SZ[7]HA[2])", "", "", "", "white", 0),
        ("(;SZ[7]HA[2];W[aa])", "", "C3 E5", "A7", "black", 1),
        ("(;SZ[7]HA[2]PL[W])", "", "C3 E5", "", "white", 0),
        ("(;SZ[5]HA[2];W[aa])", "", "", "A5", "black", 1),
        ("(;SZ[5];B[aa];B[bb];B[cc];W[dd];W[ee])", "", "A5 B4 C3", "D2 E1", "black", 5),
        ("(;SZ[5];B[aa];B[bb];W[cc])", "2", "A5", "", "black", 1),
        ("(;SZ[5];B[aa];PL[B])", "", "A5", "", "black", 1),
        ("(;SZ[5];B[aa];W[bb];AE[aa]AW[ab][ba:ca])", "", "", "A4 B4 B5 C5", "black", 0),
        ("(;SZ[5];B[aa];AB[bb]AW[bb];W[cc])", "", "A5", "B4 C3", "black", 1),
        ("(;SZ[5];B[aa];AB[bb];W[cc])", "2", "A5 B4", "", "white", 0),
        ("(;SZ[5];B[aa];AB[bb];W[cc])", "1", "", "", "black", 0),
        ("(;SZ[5];B[];W[];B[aa])", "", "A5", "", "white", 0),
        ("(;SZ[5];B[aa];W[bb]", "", "A5", "B4", "black", 2),
    ],
)
def test_set_ups_and_turns_of_a_record(
    tmp_path: Path, text: str, until: str, black: str, white: str, to_play: str, plies: int
) -> None:
    session = load(tmp_path, text, until)
    assert stones(session) == (black, white)
    fields = session.fields()
    assert (fields["to_play"], fields["ply"], fields["phase"]) == (to_play, str(plies), "play")
    assert session("ggp-history").count("\n") + bool(plies) == plies


def test_a_set_up_begins_the_game_again(tmp_path: Path) -> None:
    """Undo goes back to it, komi and undo keep it, its hash is that of the position, and clear_board forgets it."""
    session = load(tmp_path, "(;SZ[5]KM[2.5];B[aa];AB[bb]AW[cc]PL[W];W[dd])")
    session.play("E5")
    session("ggp-undo 2")
    assert stones(session) == ("A5 B4", "C3") and session.fields()["to_play"] == "white"
    assert session.fails("undo") == "cannot undo"
    session("komi 0.5")
    assert stones(session) == ("A5 B4", "C3") and session.fields()["to_play"] == "white"
    by_hand = MemorySession("go size=5 komi=0.5")
    by_hand.play("A5 C3 B4")
    assert session("ggp-hash") == by_hand("ggp-hash")
    assert session.fails("fixed_handicap 2") == "board not empty"
    session("clear_board")
    assert stones(session) == ("", "") and session.fields()["to_play"] == "black"


def test_the_ko_rule_counts_from_the_set_up(tmp_path: Path) -> None:
    """The board before it is forgotten, the one that was set up stood."""
    ko = "(;SZ[5]AB[bb][ac][bd]AW[cb][dc][cd]PL[B];AW[bc];B[cc]"
    session = load(tmp_path, ko + ")")
    assert stones(session)[1] == "C2 C4 D3"
    assert "positional superko" in session.fails("ggp-play white B3")  # it would make the board at the start
    assert load(tmp_path, ko + ";AE[aa])").answer("ggp-play white B3").startswith("=")


def test_a_turn_that_is_out_of_order_lasts_until_a_move(tmp_path: Path) -> None:
    session = load(tmp_path, "(;SZ[5];B[aa];B[bb])", "2")
    assert session.fields()["to_play"] == "black"
    session("komi 3")
    assert session.fields()["to_play"] == "black"
    session("play white C3")
    assert session("ggp-history") == "1 black A5\n2 white C3"
    session("undo")
    assert session.fields()["to_play"] == "white"


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_moves_that_our_rules_forbid_are_executed_as_the_standard_says(tmp_path: Path, ko: str) -> None:
    """Suicide of one and of two stones, a ko that is taken back at once; what comes after is played on."""
    suicide = "(;SZ[5]AW[ba][bb][ac]AB[aa]PL[B];B[ab];W[dd])"
    session = load(tmp_path, suicide, game=f"go ko={ko}")
    assert stones(session) == ("", "A3 B4 B5 D2") and session("ggp-history") == "2 white D2"
    taken = "(;SZ[5];B[bb];W[cb];B[ac];W[dc];B[bd];W[cd];B[cc];W[bc];B[cc];W[ee])"
    session = load(tmp_path, taken, game=f"go ko={ko}")
    assert stones(session)[0] == "A3 B2 B4 C3" and session("ggp-history") == "2 white E1"


def test_a_bot_loads_what_an_engine_loads(tmp_path: Path) -> None:
    (tmp_path / "x.sgf").write_text("(;SZ[5]AB[aa]AW[bb];W[cc];W[dd])", encoding="utf-8")
    bot = Bot(lambda position: position.legal_moves()[0]).handlers()
    assert bot["loadsgf"]([str(tmp_path / "x.sgf")]) == ""
    assert bot["final_status_list"](["alive"]) == "A5\nB4\nC3\nD2"
    assert bot["genmove"](["black"]) == "A1"


def random_record(random: Random) -> str:
    """Stones that are set up, then moves of either side, suicide and ko among them, PL, and passes."""
    size = random.randint(3, 6)
    points = [a + b for a in "abcdef"[:size] for b in "abcdef"[:size]]
    random.shuffle(points)
    black, white = points[: random.randint(0, 4)], points[4 : random.randint(4, 8)]
    text = f"(;SZ[{size}]" + "".join(
        f"{name}[{']['.join(stones)}]" for name, stones in (("AB", black), ("AW", white)) if stones
    )
    for _ in range(random.randint(0, 25)):
        kind = random.random()
        text += random.choice([";PL[B]", ";PL[W]"]) if kind < 0.1 else f";{random.choice('BW')}"
        text += "" if kind < 0.1 else "[]" if kind < 0.2 else f"[{random.choice(points)}]"
    return text + ")"


@pytest.mark.slow
@pytest.mark.needs("gnugo")
def test_random_records_make_the_position_that_gnugo_makes(tmp_path: Path) -> None:
    """Where a move is on an occupied point, both stop before it."""
    random, found = Random(20), dict[int, tuple[MemorySession, str]]()
    for number in range(1500):
        path = tmp_path / f"{number}.sgf"
        path.write_text(random_record(random), encoding="utf-8")
        until = random.choice(["", "", f" {random.randint(1, 12)}"])
        session = MemorySession("go ko=" + random.choice(["simple", "positional", "situational"]))
        if session.answer(f"loadsgf {path}{until}").startswith("="):
            found[number] = session, until
    assert len(found) > 300
    lines = [f"loadsgf {tmp_path / str(n)}.sgf{until}" for n, (_, until) in found.items()]
    asked = "".join(f"{line}\nlist_stones black\nlist_stones white\n" for line in lines)
    ran = subprocess.run(
        [find_program("gnugo"), "--mode", "gtp"],
        input=asked,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    answers = iter(answer.removeprefix("=").split() for answer in ran.stdout.split("\n\n"))
    for number, (session, until) in found.items():
        (side,), *theirs = (next(answers) for _ in range(3))
        told = f"{(tmp_path / f'{number}.sgf').read_text(encoding='utf-8')}{until}"
        assert stones(session) == tuple(" ".join(sorted(points)) for points in theirs), told
        assert session.fields()["to_play"] in (side, "none"), told


def test_a_third_pass_at_the_end_is_tolerated(tmp_path: Path) -> None:
    path = tmp_path / "passes.sgf"
    path.write_text("(;SZ[9];B[];W[];B[])", encoding="utf-8")
    session = MemorySession("go")
    session(f"loadsgf {path}")
    assert session.fields()["ply"] == "2" and session.fields()["phase"] == "over"


def test_old_names_rectangles_and_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "old.sgf"
    path.write_bytes("(;GaMe[1]SiZe[9]AddBlack[aa:ba][ii]PlayerBlack[é];White[cc])".encode("latin-1"))
    session = MemorySession("go")
    session(f"loadsgf {path}")
    assert set(session("final_status_list alive").split()) == {"A9", "B9", "J1", "C7"}


def test_a_file_that_cannot_be_read_is_refused_at_once(tmp_path: Path) -> None:
    large = tmp_path / "large.sgf"
    large.write_text("(;C[" + "x" * 2_000_000 + "])", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.sgf")
    session = MemorySession("go")
    for path, reason in [
        (tmp_path / "none.sgf", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (tmp_path / "pipe.sgf", "it is a named pipe, not a regular file: name a regular file"),
        (Path("/dev/zero"), "it is a device, not a regular file: name a regular file"),
        (large, "it is larger than 1 MiB"),
    ]:
        assert session.fails(f"loadsgf {path}") == f"cannot load file: {reason}"
    assert session.fails("loadsgf") == "syntax error: write loadsgf FILE [MOVE]"
    assert session.fails("loadsgf x.sgf 0").startswith("syntax error: move number: ")


def test_a_record_within_its_bounds(tmp_path: Path) -> None:
    path = tmp_path / "long.sgf"
    path.write_text("(;SZ[19]" + ";B[]" * 10_001 + ")", encoding="utf-8")
    assert (
        MemorySession("go").fails(f"loadsgf {path}").startswith("cannot load file: more than 10000 moves and set-ups")
    )
    path.write_text("(;SZ[9]" + ";" * 100_001 + ")", encoding="utf-8")
    assert MemorySession("go").fails(f"loadsgf {path}").startswith("cannot load file: more than 100000 nodes")
    path.write_text("(" * 100_000 + ";SZ[9]" + ")" * 100_000, encoding="utf-8")  # depth costs nothing
    assert MemorySession("go")(f"loadsgf {path}") == ""
    path.write_text("(;SZ[9]" + "(;B[aa]" * 1 + "(;W[bb]" + ")))" + "(;B[cc])" * 50_000, encoding="utf-8")
    session = MemorySession("go")
    session(f"loadsgf {path}")
    assert session("ggp-history") == "1 black A9\n2 white B8"
