"""The `ggp-` commands of an engine, each as PROTOCOL §3 writes it. GTP's and GoGui's views are elsewhere."""

import json
import re
from types import SimpleNamespace

import pytest

from ggp.engines import limits
from tests.support.memory_session import MemorySession

NO_GAME = "no game: use ggp-new"


def test_the_version_of_the_protocol() -> None:
    assert MemorySession()("ggp-version") == "1"


def test_games_are_listed_one_a_line() -> None:
    assert {"go", "yugo"} <= set(MemorySession()("ggp-games").split("\n"))


def test_options_of_a_game_by_name_and_of_the_game_at_hand() -> None:
    go = """\
size int 19 2..25
komi half 7.5 *
handicap int 0 0,2..9
ko enum positional simple,positional,situational
agreement enum off on,off"""
    yugo = "size int 9 2..25\nkomi int 7 *\nhandicap int 0 0,2..9\nagreement enum off on,off"
    session = MemorySession()
    assert session("ggp-options go") == go
    assert session("ggp-options yugo") == yugo
    assert session.fails("ggp-options") == NO_GAME
    session("ggp-new yugo size=5")
    assert session("ggp-options") == yugo


@pytest.mark.parametrize(
    "line",
    [
        *["ggp-status", "ggp-play black A1", "ggp-legal A1", "ggp-legal_moves", "ggp-undo", "ggp-history", "ggp-score"],
        *["ggp-scene", "ggp-hash", "ggp-rules", "ggp-perft 1", "ggp-playouts 1", "ggp-options", "boardsize 9"],
        *["clear_board", "komi 7", "play black A1", "undo", "showboard", "final_score", "final_status_list alive"],
        *["fixed_handicap 2", "set_free_handicap A1 B2", "loadsgf x.sgf", "gogui-rules_game_id"],
        *["gogui-rules_board_size", "gogui-rules_board", "gogui-rules_legal_moves", "gogui-rules_side_to_move"],
        *["gogui-rules_final_result", "gogui-rules_captured_count", "gogui-rules_board_gfx"],
        "gogui-play_sequence b A1",
    ],
)
def test_without_a_game_a_command_that_needs_one_says_so(line: str) -> None:
    assert MemorySession().answer(line) == f"? {NO_GAME}"


def test_a_new_game_answers_its_status() -> None:
    assert MemorySession()("ggp-new yugo") == "phase=play to_play=black seat=1 ply=0"
    assert MemorySession()("ggp-new go size=9 handicap=2 ko=SIMPLE") == "phase=play to_play=white seat=2 ply=0"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ggp-new chess", r"unknown game: chess; known games: .*\byugo\b"),
        ("ggp-new yugo size=1", "size=1: size must be an integer of 2..25"),
        ("ggp-new yugo komi=7.5", "komi=7.5: komi must be an integer"),
        ("ggp-new yugo size=9 size=9", "repeated option: size"),
        ("ggp-new yugo colour=red", "unknown option: colour"),
        ("ggp-new yugo size=2 handicap=4", "handicap"),
        ("ggp-new go size=8 handicap=5", "handicap must be 0 or 2..4 on 8x8"),
        ("ggp-new go size=5 handicap=2", "no fixed points on boards smaller than 7x7"),
        ("ggp-new", "syntax error: write ggp-new GAME"),
        ("ggp-new yugo " + "x" * 5000, "x{40} is not an option: write name=value"),
    ],
)
def test_a_bad_name_or_value_is_refused_and_the_current_game_stays(line: str, reason: str) -> None:
    session = MemorySession("go size=9")
    session.play("D4 E5")
    assert re.search(reason, session.fails(line))
    assert session.play("F6").startswith("move=F6 phase=play to_play=white seat=2 ply=3")


def test_a_new_game_forgets_the_options_of_the_last_one() -> None:
    session = MemorySession("yugo size=5 komi=0 agreement=on")
    session("ggp-new yugo")
    assert session.session.options == {"size": 9, "komi": 7, "handicap": 0, "agreement": "off"}


def test_play_answers_the_canonical_move_and_the_status() -> None:
    session = MemorySession("yugo size=5")
    assert session("ggp-play black c3") == "move=C3 phase=play to_play=white seat=2 ply=1"
    assert session("ggp-play W BUTTON") == "move=button phase=play to_play=black seat=1 ply=2"
    assert session("ggp-play b Pass") == "move=pass phase=play to_play=white seat=2 ply=3"
    assert session("ggp-play wHiTe pass") == ("move=pass phase=over to_play=none seat=0 ply=4 result=B+17.5 winner=1")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("ggp-play white C3", "illegal move: it is black's turn"),
        ("ggp-play black pass", "illegal move: "),
        ("ggp-play black Z9", "illegal move: "),
        ("ggp-play black A1x", "illegal move: "),
        ("ggp-play black I1", "illegal move: "),
        ("ggp-play black resign", "illegal move: resign is an answer to genmove, not a move"),
        ("ggp-play black RESIGN", "illegal move: resign is an answer to genmove, not a move"),
        ("ggp-play black dead:", "illegal move: "),
        ("ggp-play red C3", "syntax error: red is not a colour: write black or white"),
        ("ggp-play black", "syntax error: write ggp-play COLOUR MOVE"),
        ("ggp-play black C3 C4", "syntax error: write ggp-play COLOUR MOVE"),
        ("ggp-play", "syntax error: write ggp-play COLOUR MOVE"),
    ],
)
def test_play_is_strict(line: str, answer: str) -> None:
    reason = MemorySession("yugo size=5").fails(line)
    assert reason.startswith(answer) and len(reason) > len("illegal move: ")


def test_play_is_strict_in_go_too() -> None:
    session = MemorySession("go size=5")
    assert session.fails("ggp-play white C3") == "illegal move: it is black's turn"
    session.play("pass pass")
    assert session.fails("ggp-play black C3") == "illegal move: the game is over"


def test_a_reason_is_short_whatever_the_move() -> None:
    assert len(MemorySession("go size=5").fails("ggp-play black " + "x" * 60_000)) <= 320


def test_legal_says_why_not() -> None:
    session = MemorySession("yugo size=5")
    session.play("C3")
    assert session("ggp-legal c4") == "true"
    assert session("ggp-legal button") == "true"
    assert re.fullmatch(r"false .*C3.*", session("ggp-legal C3"))
    assert re.fullmatch(r"false .+", session("ggp-legal pass"))
    assert session("ggp-legal resign") == "false resign is an answer to genmove, not a move"
    assert session.fails("ggp-legal") == "syntax error: write ggp-legal MOVE"


def test_legal_moves_are_sorted_bytewise_and_empty_when_over() -> None:
    session = MemorySession("go size=2")
    assert session("ggp-legal_moves") == "A1 A2 B1 B2 pass"
    session.play("pass pass")
    assert session("ggp-legal_moves") == ""
    moves = MemorySession("yugo size=11")("ggp-legal_moves").split()
    assert moves == sorted(moves) and len(moves) == 122 and moves.index("A10") < moves.index("A2")


def test_undo_takes_back_plies_of_every_kind_and_after_the_end() -> None:
    session = MemorySession("yugo size=5 agreement=on")
    pictures = [session.picture()]
    for move in ["C3", "button", "B2", "pass", "pass", "dead:", "dead:c3", "pass", "pass"]:
        session.play(move)
        pictures.append(session.picture())
    assert session.fields()["phase"] == "over"
    session("ggp-undo")
    assert session.picture() == pictures[-2]
    session("ggp-undo 3")
    assert session.picture() == pictures[-5]
    assert session("ggp-undo 5") == "phase=play to_play=black seat=1 ply=0"
    assert session.picture() == pictures[0]


def test_undo_of_more_plies_than_there_are_changes_nothing() -> None:
    session = MemorySession("go size=5")
    session.play("C3 B2")
    assert session.fails("ggp-undo 3") == "cannot undo"
    assert session.fails(f"ggp-undo {10**9}") == "cannot undo"
    for count in ("0", "-1", "x", "1.5", "9" * 99):
        assert session.fails(f"ggp-undo {count}").startswith("syntax error: ")
    assert session.fails("ggp-undo 1 1") == "syntax error: write ggp-undo [N]"


def test_undo_restores_a_capture_and_what_ko_remembers() -> None:
    session = MemorySession("go size=5 ko=positional")
    session.play("B1 C1 A2 D2 B3 C3 C2 B2")  # White takes C2, and the ko is hot
    assert "false" in session("ggp-legal C2")
    session.play("E5 E1")
    session("ggp-undo 2")
    assert "false" in session("ggp-legal C2")
    session("ggp-undo")
    assert session("ggp-legal B2") == "true"


def test_history_names_seat_colour_and_move() -> None:
    session = MemorySession("yugo size=5")
    assert session("ggp-history") == ""
    session.play("c3 button pass")
    assert session("ggp-history") == "1 black C3\n2 white button\n1 black pass"


def test_history_that_does_not_fit_in_an_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.engines.service.MAX_ANSWER_LINES", 2)
    session = MemorySession("go size=5")
    session.play("A1 B2")
    assert session("ggp-history") == "1 black A1\n2 white B2"
    session.play("C3")
    assert session.fails("ggp-history") == "3 plies do not fit into an answer of 2 lines"


def test_a_game_without_end_is_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.engines.history.MAX_PLIES", 2)
    session = MemorySession("go size=5")
    session.play("A1 B2")
    assert session.fails("ggp-play black C3").startswith("illegal move: a game has at most 2 plies here")
    assert session.fails("play white C3").startswith("illegal move: ")
    session("undo")
    session.play("C3")


def test_score_is_one_line_of_json_at_any_time() -> None:
    session = MemorySession("yugo size=5")
    session.play("C3 button")
    text = session("ggp-score")
    score = json.loads(text)
    assert "\n" not in text and score["final"] is False
    assert score["black"]["total"] == 25 and score["white"]["total"] == 7.5
    for colour in ("black", "white"):
        parts = {name: value for name, value in score[colour].items() if name != "total"}
        assert sum(parts.values()) == score[colour]["total"]
    session.play("pass pass")
    assert json.loads(session("ggp-score"))["final"] is True


def test_hash_is_equal_for_equal_positions_only() -> None:
    def reached(game: str, moves: str) -> str:
        session = MemorySession(game)
        session.play(moves)
        return session("ggp-hash")

    one = reached("go size=9", "D4 E5 C3 F6")
    assert re.fullmatch("[0-9a-f]{16}", one)
    assert one == reached("go size=9", "C3 F6 D4 E5")  # another way to the same board, side and ply
    others = {
        reached("go size=9", "D4 E5 C3"),  # another board and side
        reached("go size=9", "D4 E5 C3 F6 pass"),  # a pass before it
        reached("go size=9 komi=6.5", "D4 E5 C3 F6"),  # other options
        reached("go size=9 ko=simple", "D4 E5 C3 F6"),
        reached("go size=9 agreement=on", "D4 E5 C3 F6"),
        reached("yugo size=9", "D4 E5 C3 F6"),  # another game
        reached("yugo size=9 komi=6", "D4 E5 C3 F6"),
    }
    assert one not in others and len(others) == 7


def test_hash_tells_who_holds_the_button_and_which_list_was_given() -> None:
    def reached(moves: str) -> str:
        session = MemorySession("yugo size=3 agreement=on")
        session.play(moves)
        return session("ggp-hash")

    assert reached("button A1 B2 C3") != reached("A1 button C3 B2")
    assert reached("A1 button pass pass dead:") != reached("A1 button pass pass dead:A1")


def test_the_ply_number_is_not_in_the_hash() -> None:
    long, short = MemorySession("go size=5"), MemorySession("go size=5")
    long.play("A1 B1 pass A2 B3")  # White takes A1
    short.play("B3 B1")
    short("play white A2")
    assert long.scene()["pieces"] == short.scene()["pieces"]
    long("play white pass")
    short("play white pass")
    assert long.fields()["ply"] != short.fields()["ply"]
    assert long("ggp-hash") == short("ggp-hash")


def test_rules_are_the_games_page_without_empty_lines() -> None:
    session = MemorySession()
    rules = session("ggp-rules yugo").split("\n")
    assert rules[0] == "# Yugo" and all(line.strip() for line in rules)
    assert any("Luis Bolaños Mures" in line for line in rules)
    assert "Tromp" in session("ggp-rules go")
    session("ggp-new go")
    assert session("ggp-rules") == session("ggp-rules go")
    assert session.fails("ggp-rules chess").startswith("unknown game: chess")


def test_rules_as_json_are_the_games_page_with_its_empty_lines() -> None:
    session = MemorySession()
    answer = session("ggp-rules yugo json")
    assert "\n" not in answer
    rules = json.loads(answer)["markdown"]
    assert rules.startswith("# Yugo\n\nA finite") and "\n\n| name | default |" in rules
    assert [line.rstrip() for line in rules.split("\n") if line.strip()] == session("ggp-rules yugo").split("\n")
    session("ggp-new yugo")
    assert session("ggp-rules json") == answer
    for line in ("ggp-rules yugo JSON", "ggp-rules json yugo", "ggp-rules yugo json json", "ggp-rules chess json"):
        session.fails(line)


@pytest.mark.parametrize("game", ["go", "yugo"])
def test_rules_name_every_option_and_its_default(game: str) -> None:
    session = MemorySession()
    rules = session(f"ggp-rules {game}")
    for option in session(f"ggp-options {game}").split("\n"):
        name, _, default, _ = option.split()
        assert f"| `{name}` | {default} |" in rules


@pytest.mark.parametrize("game", ["go size=5", "yugo size=5"])
def test_a_copy_of_a_state_is_independent(game: str) -> None:
    session = MemorySession(game)
    session.play("C3")
    copy = session.session.need().state.copy()
    seen, drawn = session.picture(), copy.scene()
    assert copy.play("d4") == "D4"
    assert session.picture() == seen and drawn != copy.scene()
    session.play("B2")
    assert (copy.ply, session.fields()["ply"]) == (2, "2") and copy.hash() != session.session.need().state.hash()
    assert copy.winner == 0 and copy.result == ""


def test_perft_counts_move_sequences() -> None:
    session = MemorySession("go size=2 ko=positional")
    assert session("ggp-perft 0") == "1"
    assert session("ggp-perft 1") == "5"
    children = 0
    for move in session("ggp-legal_moves").split():
        session.play(move)
        children += len(session("ggp-legal_moves").split())
        session("ggp-undo")
    assert session("ggp-perft 2") == str(children)
    session.play("pass pass")
    assert [session(f"ggp-perft {depth}") for depth in (0, 1, 2)] == ["1", "0", "0"]


def test_perft_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SECONDS", 0.2)
    assert re.fullmatch(
        r"too deep: depth \d+ would take about \d+ s; the limit is 0", MemorySession("go").fails("ggp-perft 100")
    )


@pytest.mark.parametrize("depth", ["-1", "101", "x", "1.0", ""])
def test_perft_refuses_absurd_depths(depth: str) -> None:
    assert MemorySession("go").fails(f"ggp-perft {depth}").startswith("syntax error: ")


@pytest.mark.parametrize("arguments", ["20", "20 7", "20 uniform", "20 rollout", "20 7 Rollout"])
def test_playouts_answer_what_came_of_them(arguments: str) -> None:
    session = MemorySession("yugo size=5")
    before = session.picture()
    pattern = r"games=20 plies=(\d+) seconds=(\d+\.\d+) black=(\d+) white=(\d+) draws=(\d+)"
    match = re.fullmatch(pattern, session(f"ggp-playouts {arguments}"))
    assert match
    assert sum(map(int, match.group(3, 4, 5))) == 20 and int(match[1]) > 20 * 10
    assert session.picture() == before


def test_playouts_are_the_same_for_the_same_seed() -> None:
    def outcome(arguments: str) -> str:
        return re.sub(r"seconds=\S+ ", "", MemorySession("go size=5")(f"ggp-playouts {arguments}"))

    assert outcome("50 7") == outcome("50 7 uniform")
    assert len({outcome(arguments) for arguments in ("50 7", "50 8", f"50 {2**64 - 1}", "50 7 rollout")}) == 4


def test_playouts_from_a_finished_game_have_no_plies() -> None:
    session = MemorySession("go size=5 komi=0.5")
    session.play("pass pass")
    assert re.sub(r"seconds=\S+ ", "", session("ggp-playouts 3")) == "games=3 plies=0 black=0 white=3 draws=0"


@pytest.mark.parametrize(
    "arguments", ["", "0", "-1", "1.5", "99999999999", "10 x", "10 -1", f"10 {2**64}", "10 7 7", "10 7 uniform uniform"]
)
def test_playouts_refuse_absurd_numbers(arguments: str) -> None:
    assert MemorySession("go size=5").fails(f"ggp-playouts {arguments}").startswith("syntax error: ")


def test_playouts_that_would_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SECONDS", 0.2)
    assert MemorySession("go").fails("ggp-playouts 10000000").startswith("too many: 10000000 games would take about ")


def test_one_slow_sample_refuses_no_playouts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 9, 9, 9.001, 10, 10.001, 20, 25])
    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert "games=2000 " in (said := MemorySession("go size=5")("ggp-playouts 2000")) and "seconds=5.0" in said
