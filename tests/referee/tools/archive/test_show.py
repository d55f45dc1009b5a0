"""`ggp show`: a position of a recorded match, in text and in SVG; one line for each error."""

import fcntl
import os
import pty
import re
import stat
import struct
import subprocess
import sys
import termios
from pathlib import Path
from shlex import quote
from xml.etree import ElementTree

import pytest
from msgspec import structs

from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.cli.console import main as console_main
from ggp.referee.cli.show import main
from ggp.referee.cli.verify import main as verify_main
from tests.support import TESTS
from tests.support.cli import PYTHON, ggp
from tests.support.sample_records import CUT_OFF

ENGINE = TESTS / "support" / "foreign_engine.py"


def record(match: str = "m-1", game: str = "yugo", moves: str = "D4 D5 button", **options: str) -> Record:
    """A match that was cut off after these moves, colours in turn."""
    start = MatchStarted(
        match=match,
        game=game,
        options=options,
        bots=(Party(name="Zoë"), Party(name="me\x1b[2J")),
        engine=Party(name="engine"),
        control="none",
    )
    colours = ("black", "white")
    plies = (MovePlayed(n, match, n, 2 - n % 2, colours[1 - n % 2], move, 0) for n, move in enumerate(moves.split(), 1))
    return Record(start, tuple(plies), None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_bytes(record("m-1", size="5").lines() + record("m-2", "go", "A1", size="3").lines())
    return path


BOARD = """yugo size=5
m-1: Zoë (black) - me\\x1b[2J (white)
ply 2 of 3: white D5
the match was not finished

  A B C D E
5 . . .(O). 5
4 . . . X . 4
3 . . . . . 3
2 . . . . . 2
1 . . . . . 1
  A B C D E

X black pawn, O white pawn
Black has captured 0
White has captured 0
The button is free
Komi: 7
Black to move (seat 1)
"""


@pytest.mark.slow
def test_a_board_with_its_captions(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ply in ("2", "-2"):
        assert main([str(file), "--ply", ply]) == 0
        assert capsys.readouterr().out == BOARD


@pytest.mark.slow
def test_the_default_is_the_last_ply_of_the_first_match(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file)]) == 0
    out = capsys.readouterr().out
    assert "ply 3 of 3: black button" in out and "White to move (seat 2)" in out and "(" not in out.split("\n")[6]
    assert main([str(file), "--ply", "0"]) == 0
    assert "ply 0 of 3\n" in capsys.readouterr().out


@pytest.mark.slow
def test_a_place_names_match_and_ply(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([f"{file}#m-1@2"], [f"{file}@-2"], [f"{file}#m-1@3", "--ply", "2"]):
        assert main(words) == 0
        assert capsys.readouterr().out == BOARD
    assert main([f"{file}#m-2"]) == 0
    assert "go size=3" in (out := capsys.readouterr().out) and "1(X). . 1" in out


@pytest.mark.slow
def test_several_plies_and_all(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, plies in ((["--all"], [0, 1, 2, 3]), (["--ply", "-1,1..2"], [3, 1, 2])):
        assert main([str(file), *words]) == 0
        out = capsys.readouterr().out
        assert [int(line.split()[1]) for line in out.splitlines() if line.startswith("ply ")] == plies
        assert out.count("yugo size=5") == out.count("Komi: 7") == 1 and out.count("A B C D E\n5") == len(plies)


@pytest.mark.slow
def test_time_and_analysis_of_a_ply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    cut = record("m-1", moves="D4")
    ply = MovePlayed(1, "m-1", 1, 1, "black", "D4", 1250, 8750, '{"winrate": 0.5}' + "x" * 300)
    path.write_bytes(Record(cut.start, (ply,), None).lines())
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    head = "ply 1 of 1: black D4 (1.25 s, 8.75 s left)\nanalysis:\n  "
    assert head + '{"winrate": 0.5}xxx' in out and max(map(len, out.splitlines())) <= 100
    said = '{"winrate": 0.5312, "visits": 800, "pv": ["D4", "E5"], "mood": "calm"}'
    path.write_bytes(Record(cut.start, (structs.replace(ply, analysis=said),), None).lines())
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert head + "win rate: 53.1 %\n  visits: 800\n  pv: D4 E5\n  mood: calm\nthe match" in out


@pytest.mark.slow
def test_colours_on_a_terminal_unless_they_are_disabled(file: Path) -> None:
    words = [sys.executable, "-m", "ggp.referee.cli", "show", f"{file}@2"]
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | more
        subprocess.run(words, stdout=theirs, env=environment, timeout=120, check=True)
        os.close(theirs)
        said = b""
        while not said.endswith(b"(seat 1)\r\n"):
            said += os.read(ours, 65536)
        os.close(ours)
        assert (b"\x1b[1;34mX" in said, b"\x1b[1;32m(" in said) == (coloured, coloured)
        plain = re.sub(rb"\x1b\[[\d;]*m", b"", said).decode().replace("\r\n", "\n")
        assert plain == BOARD


@pytest.mark.slow
def test_a_narrow_page(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), "--width", "20"]) == 0
    out = capsys.readouterr().out
    assert "White to move (seat\n2)" in out and all(len(line) <= 20 for line in out.splitlines()[5:])


@pytest.mark.slow
def test_a_picture_is_written_in_one_step(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "board.svg"
    target.write_text("old", encoding="utf-8")
    assert main([str(file), "-o", str(target)]) == 0
    root = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    assert root[0].text == "yugo size=5; m-1: Zoë (black) - me\\x1b[2J (white); ply 3 of 3: black button; " + (
        "the match was not finished"
    )
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.svg", "games.jsonl"]
    capsys.readouterr()
    assert main([str(file), "-o", "-"]) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_end_of_a_match(tmp_path: Path) -> None:
    path = str(tmp_path / "games.jsonl")
    assert ggp("match", "yugo,size=3", "random", "random", "--games", "1", "--record", path).status == 0
    ran = ggp("show", path)
    lines = ran.out.split("\n")
    assert ran.status == 0 and lines[-2].startswith("Game over: ")
    assert lines[1].endswith("random-1 (black) - random-2 (white)")
    assert lines[3] == f"result: {lines[-2].removeprefix('Game over: ')}, rules"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--ply", "4"], "there is no ply 4: the match m-1 has plies 0 to 3"),
        (["--ply", "-5"], "there is no ply -5: the match m-1 has plies 0 to 3"),
        (["--ply", "x"], "'x' is no ply: write 3, -1"),
        (["--ply", "2..1"], "the first of a range stands before the last"),
        (["--ply", "0,9"], "there is no ply 9: the match m-1 has plies 0 to 3"),
        (["--all", "-o", "x.svg"], "a picture is of one ply, and these are 4"),
        (["-o", "board.png"], "-o board.png: pictures are SVG"),
        (["-o", "/nowhere/board.svg"], "cannot write /nowhere/board.svg: No such file"),
        (["--engine", "./nothing"], "./nothing does not exist"),
        (["--engine", "/bin/true"], "the engine does not start"),
    ],
)
def test_invalid_requests_are_one_line(
    words: list[str], reason: str, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([str(file), *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("ggp show: ") and reason in err and err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record(game="chess"), "it does not know chess"),
        (record(size="99"), "the engine refuses the game: size=99"),
        (record(moves="D4 D4"), "ply 2: illegal move"),
        (record(moves="D4\u2028quit"), "D4"),
        (CUT_OFF, "ply 2"),
    ],
)
def test_a_record_that_cannot_be_replayed(
    bad: Record, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(bad.lines())
    if bad is not CUT_OFF:
        assert main([str(path)]) == 2
        err = capsys.readouterr().err
        assert reason in err and err.count("\n") == 1 and err.strip().isprintable()
    else:
        assert main([str(path)]) == 0  # a move that is not canonical, from an engine that was kinder
        assert reason in capsys.readouterr().out


def test_a_file_without_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").touch()
    assert main([str(tmp_path / "empty")]) == 2
    assert "has no match" in capsys.readouterr().err
    path = tmp_path / "many"
    path.write_bytes(b"".join(record(f"m-{n}").lines() for n in range(9)))
    assert main([f"{path}#x"]) == 2
    assert "m-0, m-1, m-2, m-3, m-4 … (9 matches)" in capsys.readouterr().err


def judged_by(command: str, tmp_path: Path) -> str:
    path, played = tmp_path / "theirs.jsonl", record(game="stones", moves="")
    start = structs.replace(played.start, engine=Party(name="engine", command=command))
    end = MatchEnded(seq=1, match="m-1", result="W+R", winner=2, termination="resignation")
    path.write_bytes(Record(start, (), end).lines())
    return str(path)


@pytest.mark.slow
def test_the_engine_that_a_record_names_is_offered_and_not_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    path = judged_by(f"touch {ran}", tmp_path)
    offer = f"if you trust the record, repeat with its engine: --engine 'touch {ran}'"
    for command in (main, verify_main):
        command([path])
        captured = capfd.readouterr()
        assert offer in captured.out + captured.err, command
    assert console_main(["--match", path]) == 2 and f"its engine: -- touch {ran}" in capfd.readouterr().err
    assert not ran.exists()
    assert main([judged_by("x\x1b[2J", tmp_path)]) == 2
    assert "name an engine that knows it with --engine" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_show_asks_whether_to_run_it(
    answer: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = judged_by(foreign("good"), tmp_path)
    asked = list[str]()

    def confirm(text: str, err: bool) -> bool:
        asked.append(text)
        return answer

    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", confirm)
    assert main([path]) == (0 if answer else 2)
    out, err = capsys.readouterr()
    assert asked and foreign("good") in err and ("a # O b" in out) == answer


@pytest.mark.parametrize("scene", ["none", "refused"])
def test_a_game_without_a_scene_lists_its_moves(scene: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(record(game="stones", moves="a swap-sides " + "b" * 90).lines())
    engine = ["--engine", foreign(scene)]
    assert main([str(path), *engine]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == ["", "1 a  2 swap-sides", f"3 {'b' * 90}"]
    assert main([f"{path}@1", *engine]) == 0
    assert capsys.readouterr().out.endswith("ply 1 of 3: black a\nthe match was not finished\n\n1 a\n")
    assert main([str(path), *engine, "--all"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "ply 2 of 3: white swap-sides",
        "",
        f"ply 3 of 3: black {'b' * 90}",
    ]
    assert main([str(path), *engine, "-o", "-"]) == 2
    assert "it cannot draw" in capsys.readouterr().err


def foreign(scene: str) -> str:
    return f"{PYTHON} {quote(str(ENGINE))} stones {scene}"


@pytest.mark.slow
def test_foreign_engines_are_drawn_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(record(game="stones", moves="").lines())
    assert main([str(path), "--engine", foreign("good")]) == 0
    assert "\na # O b\n\n# black tower, O white stone\n" in capsys.readouterr().out
    for scene, reason in (
        ("broken", "invalid scene: "),
        ("hostile", "invalid scene: last names \ufffd[2J"),
    ):
        assert main([str(path), "--engine", foreign(scene)]) == 2
        err = capsys.readouterr().err
        assert reason in err and err.count("\n") == 1 and err.strip().isprintable()
