"""`ggp console --match PLACE` through a pipe and on a terminal; the folder of side files."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ggp.bots.command import BOTS, OWN_OPTIONS
from ggp.protocol.records import read_records
from ggp.referee.cli.console import main
from ggp.referee.ladder.session import side_files
from ggp.referee.match.bot_spec import BUILT_IN
from ggp.referee.records import live_base, running
from tests.support.cli import end_all
from tests.support.memory_console import MATCHES
from tests.support.terminal import Terminal

LESSER = (sys.executable, "-m", "tests.support.foreign_engine", "without")


@pytest.fixture(autouse=True)
def nothing_left() -> object:
    yield
    end_all()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_bytes(MATCHES[0].lines())
    return path


def console(*arguments: str, typed: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ggp.referee.cli", "console", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, encoding="utf-8", timeout=180, check=False)


@pytest.mark.slow
def test_a_session_through_a_pipe(file: Path, tmp_path: Path) -> None:
    """Nothing that is tried reaches the record that is looked at."""
    before, new, more = file.read_bytes(), tmp_path / "new.jsonl", tmp_path / "more.jsonl"
    ran = console(
        *("--match", f"{file}@2"),
        typed=f":info\n:hint greedy 1\n:hint greedy:playouts=1\nggp-play black C1\n:fork random random record={new}\n"
        f":play random greedy:playouts=1 2 time=5 record={more}\n:goto 1\n:fork\n",
    )
    assert ran.returncode == 0, ran.stderr
    out = ran.stdout
    assert out.index("ply 2 of 6: white B2") < out.index("greedy: ") < out.index("move=C1")
    assert "win rate: " in out and "4 white " in out and f"record: {new}" in out
    assert " greedy; black " in out
    assert "one (seat 1) - two (seat 2)" in out.split("ply 1 of 6")[1]
    assert file.read_bytes() == before
    (forked,) = read_records(new.read_bytes().splitlines(keepends=True))
    series = sorted(read_records(more.read_bytes().splitlines(keepends=True)), key=lambda record: record.start.match)
    assert forked.start.opening == ("A1", "B2", "C1") == series[0].start.opening and len(series) == 2
    assert [record.start.bots[0].name for record in series] == ["random", "greedy"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games.jsonl", "more.jsonl", "new.jsonl"]


WRONG = {
    ":hint nobody": "nobody: does not start",
    ":hint": "write :hint BOT",
    ":hint random soon": "time control 'soon'",
    ':hint "gnugo --mode gtp"': "gnugo",
    ":hint human": "a human can play only in",
    ":fork random": "name two bots, for seat 1 and seat 2; 1 were given",
    ":fork nobody random": "cannot play: does not start",
    ":fork random random time=x": "unknown time control 'x'",
    ":fork random random games=0": "games=0: write a number",
    ":fork random random record=games.jsonl": "already exists",
    ":fork random random record=/nowhere/x": "cannot write the record",
    ":fork human random": "a human can only play at a terminal",
    ":play random random": "write :play BOT BOT GAMES",
    ":play nobody random 2": "cannot play: does not start",
}


@pytest.mark.slow
def test_invalid_commands_are_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line each, and the console goes on."""
    monkeypatch.chdir(file.parent)
    ran = console("--match", f"{file}@2", typed="\n".join([*WRONG, ":info\n"]))
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    said = [line for line in ran.stderr.splitlines() if line.startswith("ggp console: ")]
    assert len(said) == len(WRONG), said
    assert [(reason, line) for reason, line in zip(WRONG.values(), said, strict=True) if reason not in line] == []
    assert ran.stdout.endswith("ply 2 of 6: white B2\n")


@pytest.mark.slow
def test_a_position_after_the_end(file: Path) -> None:
    ran = console("--match", str(file), typed=":hint random\n:fork\n:play random random 2\n:forward\n")
    assert ran.returncode == 1 and ran.stderr.count("over") == 3 and "ply 6 is the last" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--match", "nothing.jsonl"], "cannot read nothing.jsonl"),
        (["--match", "{}#x"], "has no match x, only m-1"),
        (["--match", "{}@7"], "there is no ply 7: the match m-1 has plies 0 to 6"),
        (["--match", "{}", "yugo"], "'yugo' is neither a program nor a built-in bot"),
        (["--match", "{}", "--", "/bin/true"], "ggp-new yugo size=3"),
        (["--match", "{}", "--", "./nothing"], "./nothing does not exist"),
    ],
)
def test_missing_places_and_engines(
    words: list[str], reason: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(file) for word in words]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.slow
def test_an_engine_that_dies_under_the_replay(file: Path) -> None:
    typed = ":goto 1\nggp-rules\n:goto 3\n:restart\n:info\n:goto 3\n:why A1\n"
    ran = console("--match", str(file), "--", *LESSER, "ggp-undo", "ggp-legal", "dies", typed=typed)
    assert "exit status 1" in ran.stderr and ran.returncode != 0
    assert "ply 1 of 6: black A1" in ran.stdout


@pytest.mark.slow
def test_a_match_on_a_terminal(file: Path, tmp_path: Path) -> None:
    """The board, the caption and completion follow; a human plays on from there, Ctrl-C drops that."""
    before = file.read_bytes()
    with Terminal("console", "--match", f"{file}@2", home=tmp_path, columns=80, rows=24) as terminal:
        terminal.wait_for("ply 2 of 6: white B2  0.007 s")
        terminal.wait_for("black one  1.000 s left")
        terminal.type(":forward\r")
        terminal.expect("ply 3 of 6: black button")
        terminal.type(":fork random human\r")
        terminal.expect("white (human)>")
        terminal.type("C3\r")
        terminal.expect("black played ")  # the line with C3 is written once more before that, with its prompt
        terminal.expect("white (human)>")
        terminal.type("\x03")
        terminal.expect("dropped")
        terminal.type(":goto 0\r")
        terminal.wait_for(lambda rows: any(row.endswith("  ply 0 of 6") for row in rows))
        terminal.type("ggp-play black C3\r")
        terminal.wait_for("ply 1a, which leaves ply 0 of 6")
        terminal.type("ggp-new yugo size=5\r")
        terminal.wait_for("not the game of the match")
        terminal.type(":goto 5\r")
        terminal.wait_for("ply 5 of 6: black pass  0.007 s")
        terminal.type(":hint gr\t")
        terminal.wait_for("> :hint greedy")
        terminal.type("\x03:goto ")
        terminal.wait_for("black button")
        terminal.type("\x03:quit\r")
        assert terminal.end() == 0
    assert file.read_bytes() == before


@pytest.mark.slow
def test_a_plain_terminal_has_the_board_of_each_place_at_once(file: Path, tmp_path: Path) -> None:
    with Terminal("console", "--match", f"{file}@2", home=tmp_path, environment={"TERM": "dumb"}) as terminal:
        terminal.expect("ply 2 of 6: white B2  0.007 s")
        terminal.expect("> ")
        terminal.type(":goto 1\n")
        terminal.expect("black one  1.000 s left")
        terminal.expect("ply 1 of 6: black A1  0.007 s")
        terminal.expect("A B C")
        terminal.type(":quit\n")
        assert terminal.end() == 0


def test_built_in_bots_exist() -> None:
    assert tuple(name for name in BOTS if name not in OWN_OPTIONS) == BUILT_IN, "those are nothing without words"


def test_where_a_store_has_its_side_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert live_base("sqlite:////a/b.db") == "/a/b.db"
    there = live_base("postgresql+psycopg://u:secret@h/d")
    assert "secret" not in there and there == live_base("postgresql+psycopg://u:secret@h/d")
    assert there != live_base("postgresql+psycopg://u@h/e")
    assert running("") == running("\0") == running("/nowhere/at/all") == []


@pytest.mark.parametrize(
    "planted", [pytest.param("another user's", marks=pytest.mark.needs("root")), "writable for all", "a link", "a file"]
)
def test_a_folder_of_side_files_that_others_may_write_is_not_used(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user who writes there could add results to a ladder: what its workers had finished is read from these files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    url = "postgresql+psycopg://u@h/d"
    folder = Path(live_base(url)).parent
    folder.rmdir()
    if planted == "a link":
        (tmp_path / "theirs").mkdir()
        folder.symlink_to(tmp_path / "theirs")
    elif planted == "a file":
        folder.touch()
    else:
        folder.mkdir(0o700)
        if planted == "writable for all":
            folder.chmod(0o777)
        else:
            os.chown(folder, 65534, 65534)
    assert live_base(url) == ""
    with side_files(live_base(url)):
        assert str(folder) in capsys.readouterr().err
