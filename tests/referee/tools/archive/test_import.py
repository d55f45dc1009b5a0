"""`ggp import`: SGF of other programs and of ours, GTP scripts, one line for each error."""

import io
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from ggp.protocol.records import Record, gtp_script, read_records
from ggp.referee.cli.import_ import main
from ggp.referee.cli.verify import main as main_verify
from ggp.referee.match.bot_spec import find_program
from tests.support.memory_session import MemorySession

pytestmark = pytest.mark.slow

GNUGO = """(;GM[1]FF[4]
SZ[9]
GN[GNU Go 3.8 load and print]
DT[2026-11-22]
KM[0.5]HA[2]RU[Japanese]AP[GNU Go:3.8]AW[df]
AB[gc][ee][cg]
PL[B]
)
"""
KGS = """(;GM[1]FF[4]CA[UTF-8]AP[CGoban:3]ST[2]
RU[Japanese]SZ[9]HA[2]KM[0.50]TM[1800]OT[5x30 byo-yomi]
PW[weiß]PB[schwarz]WR[5k]BR[7k]DT[2009-05-12]PC[The KGS Go Server]C[hello \\[you\\]: 1]RE[W+Resign]AB[gc][cg]
;W[ee]WL[1795.241](;B[eg]BL[1790];W[]WL[1700.5];B[tt])(;B[aa]))
"""
SABAKI = "(;GM[1]FF[4]CA[UTF-8]AP[Sabaki:0.52.2]KM[6.5]SZ[5]DT[2026-01-02];B[cc];W[dd];B[];W[])"
MOVES_OF_KGS = ["W E5", "B E3", "W pass", "B pass"]


def moves(record: Record) -> list[str]:
    return [f"{ply.colour[0].upper()} {ply.move}" for ply in record.plies]


def imported(
    tmp_path: Path, content: str | bytes, *words: str, name: str = "game.sgf", status: int = 0
) -> list[Record]:
    source, target = tmp_path / name, tmp_path / "games.jsonl"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    target.unlink(missing_ok=True)
    assert main([str(source), "-o", str(target), *words]) == status
    return list(read_records(target.read_bytes().splitlines(keepends=True))) if target.exists() else []


def test_a_game_of_a_server_with_all_properties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = imported(tmp_path, KGS)
    assert capsys.readouterr().err == "ggp import: 1 game imported\n"
    assert moves(record) == MOVES_OF_KGS
    start, end = record.start, record.end
    assert end is not None
    assert (start.match, start.game, start.control, start.started) == ("game-1", "go", "1800+5x30", "2009-05-12")
    assert start.options == {"size": "9", "komi": "0.5", "ko": "simple", "handicap": "2"}
    assert [bot.name for bot in start.bots] == ["schwarz", "weiß"]
    assert [ply.left for ply in record.plies] == [1795241, 1790000, 1700500, None]
    assert "CGoban:3" in start.referee and "RU[Japanese]" in start.referee
    assert (end.result, end.winner, end.termination, end.plies) == ("W+R", 2, "resignation", 4)
    assert main_verify([str(tmp_path / "games.jsonl")]) == 0


def test_canadian_byoyomi_becomes_a_time_control(tmp_path: Path) -> None:
    for overtime, control in (("25/300 Canadian", "1800+25/300"), ("25/300 Coffee", "1800 25/300 Coffee")):
        (record,) = imported(tmp_path, KGS.replace("5x30 byo-yomi", overtime))
        assert record.start.control == control


def test_results_and_terminations(tmp_path: Path) -> None:
    for said, result, termination in (
        ("RE[B+Time]", "B+T", "time"),
        ("RE[W+F]", "W+F", "imported"),
        ("RE[B+3.50]", "B+3.5", "imported"),
        ("RE[0]", "0", "imported"),
        ("RE[Void]", "", "imported"),
        ("", "", "imported"),
    ):
        (record,) = imported(tmp_path, f"(;SZ[5]{said};B[cc];W[bb])")
        assert record.end is not None
        assert (record.end.result, record.end.termination) == (result, termination)
    (record,) = imported(tmp_path, SABAKI)  # over by the rules, and the file says no result: the engine's is taken
    assert (
        record.end is not None
        and record.end.termination == "rules"
        and record.end.result
        == MemorySession("go size=5 komi=6.5").play("C3 D2 pass pass").split("result=")[1].split()[0]
    )


def test_another_count_of_the_engine_is_noted(tmp_path: Path) -> None:
    (record,) = imported(tmp_path, SABAKI.replace("KM", "RE[W+99]KM"))
    assert record.end is not None and record.end.termination == "imported" and record.end.winner == 2
    assert "the file says W+99, the engine says " in record.end.detail
    assert main_verify([str(tmp_path / "games.jsonl")]) == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(;SZ[9]AB[aa:ab][ba:bb]AW[ca:cb][ac:bc];B[ee])", "the initial position is impossible: A9 has no liberty"),
        ("(;SZ[9];B[aa];W[aa])", "move 2, white A9: illegal move"),
        ("(;SZ[9];B[aa];B[bb])", "move 2, black B8: it is white's turn (--fill"),
        ("(;SZ[9];B[];W[];B[aa])", "move 3, black A9: the game was already over"),
        ("(;SZ[9];B[aa];AW[bb];B[cc])", "after move 1: AW[bb] places stones after a move"),
        ("(;SZ[9:13])", "the board is not square"),
        ("(;SZ[26])", "a Go board has at most 25 rows"),
        ("(;SZ[9]KM[lots])", "komi is not a number"),
        ("(;SZ[9]KM[3.75];B[aa])", "the engine refuses the game"),
        ("(;SZ[9];B[zz])", "move 1: not a point of a 9x9 board: [zz]"),
        ("(;GM[2]SZ[8])", "GM[2] is not go (GM[1]), and there is no XG that names the game"),
        ("(;GM[100]XG[chess];XB[e4])", "the engine does not know chess"),
        ("(;XG[yugo]XO[size=99];XB[A1])", "the engine refuses the game: size=99"),
        ("(;XG[yugo];XB[A1 B1])", "it is not one word"),
        ("(;XG[yu go];XB[A1])", "is not a word"),
        ("hello", "not an SGF file"),
        ("(;SZ[9];B[aa", "the file ends inside the value"),
        ("(;SZ[9]" + ";B[]" * 10_001 + ")", "more than 10000 moves"),
    ],
)
def test_games_that_no_record_can_hold(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(tmp_path, text, status=1) == []
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and reason in lines[0] and lines[0].isprintable()
    assert lines[0].startswith(f"ggp import: {tmp_path}/game.sgf, game 1: ") and lines[1].endswith(
        "0 games imported, 1 not"
    )


def test_lenient_keeps_the_plies_before_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = imported(tmp_path, "(;SZ[9]RE[B+R];B[aa];W[bb];B[bb];W[cc])", "--lenient", status=1)
    assert moves(record) == ["B A9", "W B8"] and record.end is not None and record.end.result == "B+R"
    assert "move 3, black B8: illegal move" in record.end.detail
    assert "1 game imported, 1 cut short" in capsys.readouterr().err
    assert main_verify([str(tmp_path / "games.jsonl")]) == 0


def test_fill_adds_passes(tmp_path: Path) -> None:
    (record,) = imported(tmp_path, "(;SZ[9];B[aa];W[dd];B[ee];B[ff])", "--fill")
    assert moves(record) == ["B A9", "W D6", "B E5", "W pass", "B F4"]


@pytest.mark.parametrize(
    ("text", "plies", "set_up"),
    [
        ("(;AB[ee]AW[cc]SZ[9];W[dd])", ["B pass", "W C7", "B E5", "W D6"], 3),
        ("(;SZ[9]AB[aa][bb][cc];W[dd])", ["B A9", "W pass", "B B8", "W pass", "B C7", "W D6"], 5),
        ("(;SZ[9]AB[aa];B[dd])", ["B A9", "W pass", "B D6"], 2),
        ("(;SZ[9]AW[aa][bb]PL[W];W[dd])", ["B pass", "W A9", "B pass", "W B8", "B pass", "W D6"], 5),
        ("(;SZ[9]AB[aa:ac]AW[ba];AE[ab];B[dd])", ["B A9", "W pass", "B A7", "W B9", "B D6"], 4),
        (GNUGO, ["B G7", "W pass", "B E5", "W pass", "B C3", "W D4"], 6),
    ],
)
def test_a_position_that_is_set_up_becomes_the_opening(
    text: str, plies: list[str], set_up: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (record,) = imported(tmp_path, text)
    assert moves(record) == plies
    assert record.start.opening == tuple(ply.split()[1] for ply in plies[:set_up])
    assert capsys.readouterr().err == "ggp import: 1 game imported\n"
    assert main_verify([str(tmp_path / "games.jsonl")]) == 0


def test_a_set_up_makes_the_position_that_loadsgf_makes(tmp_path: Path) -> None:
    random, whole = Random(25), 0
    for number in range(60):
        points = [a + b for a in "abcde" for b in "abcde"]
        random.shuffle(points)
        stones = "".join(
            f"{name}{''.join(f'[{p}]' for p in some)}"
            for name, some in (("AB", points[: random.randint(0, 6)]), ("AW", points[6 : random.randint(6, 12)]))
            if some
        )
        text = f"(;SZ[5]{stones}PL[{random.choice('BW')}])"
        path = tmp_path / f"{number}.sgf"
        path.write_text(text, encoding="utf-8")
        engine = MemorySession("go")
        if engine.answer(f"loadsgf {path}").startswith("?"):
            continue  # a group without a liberty
        whole += 1
        (record,) = imported(tmp_path, text)
        replayed = MemorySession(f"go size=5 komi={record.start.options['komi']} ko=simple")
        replayed.play(" ".join(ply.move for ply in record.plies))
        assert replayed.scene()["pieces"] == engine.scene()["pieces"], text
        assert replayed.fields()["to_play"] == engine.fields()["to_play"], text
    assert whole > 20


def test_passes_after_the_end_are_left_out_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = imported(tmp_path, "(;SZ[9];B[aa];W[];B[];W[])")
    assert moves(record) == ["B A9", "W pass", "B pass"]
    assert record.end is not None and "1 pass after the end left out" in record.end.detail
    assert "game 1: 1 pass after the end left out\n" in capsys.readouterr().err


def test_fixed_handicap_is_known_in_any_order_and_without_stones(tmp_path: Path) -> None:
    for stones in ("HA[4]AB[gg][gc][cc][cg]", "HA[4]", "AB[cc:cc][gg][gc][cg]"):
        (record,) = imported(tmp_path, f"(;SZ[9]{stones};W[ee])")
        assert record.start.options["handicap"] == "4" and moves(record) == ["W E5"]
    (record,) = imported(tmp_path, "(;SZ[9]HA[2];B[ee])")
    assert "handicap" not in record.start.options


def test_a_collection_keeps_the_good_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = imported(tmp_path, SABAKI + "(;SZ[99])" + KGS + SABAKI, status=1)
    assert [record.start.match for record in records] == ["game-1", "game-3", "game-4"]
    err = capsys.readouterr().err
    assert "game 2: a Go board has at most" in err and "3 games imported, 1 not" in err


def test_scripts_and_transcripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kgs,) = imported(tmp_path, KGS)
    (record,) = imported(tmp_path, gtp_script(kgs), name="game.gtp")
    assert moves(record) == MOVES_OF_KGS and record.start.options["handicap"] == "2"
    transcript = """1 boardsize 9
=1

2 clear_board
=2

genmove b
= E5

play w e5
? illegal move

10 genmove w
=10 C3

#? [C3]
play b d4
=

undo
=

showboard
= ...

clear_board
=

play b a1
=
"""
    first, second = imported(tmp_path, transcript, name="t.tst")
    assert moves(first) == ["B E5", "W C3"] and first.start.match == "t-1"
    assert moves(second) == ["B A1"] and second.start.options["size"] == "9"
    yugo = "ggp-new yugo size=4\nggp-play black A1\nggp-play white button\nggp-play black A1\n"
    (record,) = imported(tmp_path, yugo, "--lenient", name="y.txt", status=1)
    assert record.start.game == "yugo" and moves(record) == ["B A1", "W button"]
    capsys.readouterr()
    for text, reason in (
        ("boardsize 9\ngenmove b\n", "`genmove b` has no valid move"),
        ("boardsize 9\nloadsgf x.sgf\nplay b a1\n", "`loadsgf` sets up a position"),
        ("play purple a1\n", "has no valid colour"),
        ("what is this\n", "neither SGF"),
        ('{"event":"start"}\n', "this is already a record"),
        ("boardsize 9\n" + "play b a1\nplay w b1\n" * 5_001, "move 3, black a1: illegal move"),
    ):
        imported(tmp_path, text, name="bad.txt", status=1)
        assert reason in capsys.readouterr().err


@pytest.mark.needs("gnugo")
def test_a_game_written_by_gnugo(tmp_path: Path) -> None:
    """Its moves are all taken, and its own reading of the file leads to the same board."""
    source = tmp_path / "own.sgf"
    words = [find_program("gnugo"), "--mode", "ascii", "--boardsize", "7", "--level", "1", "--seed", "1"]
    talk = "d4\ne4\npass\nundo\nc3\npass\n" + f"save {source}\nquit\n"
    subprocess.run(words, input=talk, capture_output=True, encoding="utf-8", timeout=120, check=True)
    (record,) = imported(tmp_path, source.read_bytes())
    assert len(record.plies) >= 6 and "GNU Go" in record.start.referee
    script = (
        "".join(f"{line}\n" for line in gtp_script(record).splitlines()[:-1]) + "list_stones black\nlist_stones white\n"
    )
    load = f"loadsgf {source}\nlist_stones black\nlist_stones white\n"
    boards = [
        subprocess.run(
            [words[0], "--mode", "gtp"], input=text, capture_output=True, encoding="utf-8", timeout=120, check=True
        ).stdout.split("\n\n")[-3:-1]
        for text in (script, load)
    ]
    assert sorted(boards[0][0].split()) == sorted(boards[1][0].split()) and len(boards[0][0].split()) > 2
    assert sorted(boards[0][1].split()) == sorted(boards[1][1].split())


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SABAKI.encode()), encoding="utf-8"))
    assert main(["-", "--quiet"]) == 0
    (record,) = read_records(capfdbinary.readouterr().out.splitlines(keepends=True))
    assert record.start.match == "game-1"


def test_invalid_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "large.sgf").open("wb") as large:
        large.truncate(65 * 1024 * 1024)
    (tmp_path / "good.sgf").write_text(SABAKI, encoding="utf-8")
    for words, reason in (
        (["none.sgf"], "No such file"),
        (["."], "Is a directory"),
        (["/dev/zero"], "not a regular file"),
        (["large.sgf"], "larger than 64 MiB"),
        (["good.sgf", "-o", "/nowhere/x"], "cannot write /nowhere/x"),
        (["good.sgf", "--engine", "./nothing"], "does not exist"),
    ):
        assert main([str(tmp_path / words[0]), *words[1:]]) == 2
        err = capsys.readouterr().err
        assert err.startswith("ggp import: ") and reason in err and err.count("\n") == 1
