"""`ggp console --match PLACE`: through a pipe, on a terminal, on a match while it is played."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import msgspec
import pytest

from ggp.bots.command import BOTS, OWN_OPTIONS
from ggp.protocol.records import Party, Record, read_records
from ggp.referee.cli.console import main
from ggp.referee.ladder.session import side_files
from ggp.referee.match.bot_spec import BUILT_IN
from ggp.referee.records import find_live, live_base, live_path, running
from ggp.referee.terminal import BoardText
from ggp.referee.tools.archive.places import open_match
from ggp.referee.tools.console.dialogue import read_bots
from ggp.referee.tools.console.match import caption
from ggp.referee.tools.console.prompt import arrange
from ggp.referee.tools.console.tree import GameTree
from tests.referee.tools.console.test_replay import MATCHES
from tests.support.cli import PYTHON, Ggp, end_all, wait_until
from tests.support.memory_console import memory_console
from tests.support.terminal import Terminal

SLOW = """import time
from ggp.bots.sdk import Position, run

def choose(position: Position) -> str:
    time.sleep(0.12)
    return position.legal_moves()[0]

run(choose)
"""
# It plays one move, and the next ones once a file is there.
HELD = """import time
from pathlib import Path
from ggp.bots.sdk import Position, run

moves = 0

def choose(position: Position) -> str:
    global moves
    moves += 1
    while moves > 1 and not Path({!r}).exists():
        time.sleep(0.01)
    return position.legal_moves()[0]

run(choose)
"""
LESSER = (sys.executable, "-m", "tests.support.foreign_engine", "without")


@pytest.fixture(autouse=True)
def nothing_left() -> object:
    yield
    end_all()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"".join(match.lines() for match in MATCHES[:1]))
    return path


@pytest.fixture
def slow(tmp_path: Path) -> str:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    return f"slow={PYTHON} {tmp_path / 'slow.py'}"


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
    ":hint human": "a human plays in",
    ":fork random": "two bots, for seat 1 and seat 2, and 1 were given",
    ":fork nobody random": "cannot play: does not start",
    ":fork random random time=x": "time control 'x'",
    ":fork random random games=0": "'0' is no number of games",
    ":fork random random record=games.jsonl": "is there already",
    ":fork random random record=/nowhere/x": "cannot write the record",
    ":fork human random": "a human plays at a terminal",
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
        (["--match", "{}#x"], "holds no match x; it holds m-1"),
        (["--match", "{}@7"], "ply 7: the match m-1 has the plies 0 to 6"),
        (["--match", "{}", "yugo"], "'yugo' is no program, and no built-in bot"),
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
def test_a_replay_on_a_terminal(file: Path, tmp_path: Path) -> None:
    """The board follows, a human plays on from there, Ctrl-C drops that; nothing is left behind."""
    before = file.read_bytes()
    with Terminal("console", "--match", f"{file}@2", home=tmp_path) as terminal:
        terminal.expect("A B C")
        terminal.type(":forward\r")
        terminal.expect("ply 3 of 6: black button")
        terminal.type(":fork random human\r")
        terminal.expect("white (human)>")
        terminal.type("C3\r")
        terminal.expect("black played ")  # the line with C3 is written once more before that, with its prompt
        terminal.expect("white (human)>")
        terminal.type("\x03")
        terminal.expect("dropped")
        terminal.type(":info\r")
        terminal.expect("ply 3 of 6: black button")
        terminal.type(":quit\r")
        assert terminal.end() == 0
    assert file.read_bytes() == before


@pytest.mark.slow
def test_the_match_is_in_the_caption_and_in_completion(file: Path, tmp_path: Path) -> None:
    with Terminal("console", "--match", f"{file}@2", home=tmp_path, columns=80, rows=24) as terminal:
        terminal.wait_for("ply 2 of 6: white B2  0.007 s")
        terminal.wait_for("black one  1.000 s left")
        terminal.type(":goto 0\r")
        terminal.wait_for(lambda rows: any(row.endswith("  ply 0 of 6") for row in rows))
        terminal.type("ggp-play black C3\r")
        terminal.wait_for("ply 1a, which leaves ply 0 of 6")
        terminal.type("ggp-new yugo size=5\r")
        terminal.wait_for("another game than the match")
        terminal.type(":goto 5")
        terminal.type("\r")
        terminal.wait_for("ply 5 of 6: black pass  0.007 s")
        terminal.type(":hint gr\t")
        terminal.wait_for("> :hint greedy")
        terminal.type("\x03:goto ")
        terminal.wait_for("black button")
        terminal.type("\x03:quit\r")
        assert terminal.end() == 0


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


def test_the_bots_of_a_completion(file: Path) -> None:
    """Bots as the record starts them, in quotes where the console's line needs them; none that cannot be started."""
    start = MATCHES[0].start
    parties = (Party(name="slow", command="python slow.py"), Party(name="someone"))
    record = Record(msgspec.structs.replace(start, bots=parties), (), None)
    console = memory_console(match=record, bots=read_bots(["mine=greedy:playouts=5"]))
    known = console.known()
    words = [bot.word for bot in known.bots]
    assert words == [*BUILT_IN, "'slow=python slow.py'", "mine", "human"] and known.plies == ("the start",)


def test_clocks_and_colours_of_a_place() -> None:
    match = MATCHES[0]
    start, tree = msgspec.structs.replace(match.start, control="5+1"), GameTree("yugo", {})
    tree.see_match(match.plies)
    assert caption(Record(start, match.plies, None), tree.root) == (
        "black one  5.000 s left",
        "white two  5.000 s left",
        "ply 0 of 6 so far",
    )
    assert caption(match, tree.main_line[0])[2] == "ply 1 of 6: black A1  0.007 s"
    unlimited = tuple(msgspec.structs.replace(ply, left=None) for ply in match.plies)
    record = Record(msgspec.structs.replace(start, control="none"), unlimited, match.end)
    assert caption(record, tree.main_line[-1])[:2] == ("black one", "white two")
    odd = Record(msgspec.structs.replace(start, control="soon"), (), None)
    assert caption(odd, GameTree("yugo", {}).root) == ("seat 1 one", "seat 2 two", "ply 0 of 0 so far")
    assert caption(match, None) == ("another game than the match",)


def test_a_caption_without_room_is_left_to_the_notes() -> None:
    board = BoardText([[("", "x" * 10)]] * 19, caption=("y" * 50, "ply 1"))
    assert arrange(board, 100, 24).board.lines[:2] == [[("", "y" * 33 + "…")], [("", "ply 1")]]
    assert arrange(board, 100, 21).board is board and arrange(board, 79, 24).board is board
    assert arrange(BoardText([], caption=("ply 1",)), 100, 24).left_over == ("ply 1",)


@pytest.mark.slow
def test_a_match_that_is_being_played(tmp_path: Path) -> None:
    path, gate, script = tmp_path / "games.jsonl", tmp_path / "go", tmp_path / "held.py"
    script.write_text(HELD.format(str(gate)), encoding="utf-8")
    series = ("--games", "1", "--time", "600", "--record", str(path), "--quiet")
    match = Ggp("match", "yugo,size=3", f"held={PYTHON} {script}", "random", *series)
    wait_until(lambda: bool(running(str(path))))
    (head,) = running(str(path))
    assert (head.game, head.options, head.bots) == ("yugo", {"size": "3"}, ("held", "random"))
    source = open_match(str(path))
    assert source.record.start.match == head.match and source.playing() and source.record.end is None
    with pytest.raises(click.ClickException, match=f"#{head.match}"):
        open_match(f"{path}#other")
    with Terminal("console", "--match", f"{path}#{head.match}@0", home=tmp_path) as terminal:
        terminal.expect("A B C")
        terminal.type(":live\r")
        terminal.expect(" s left")
        terminal.expect("so far: ")
        gate.touch()
        terminal.expect("over: ")
        terminal.type(":goto 1\r")
        terminal.expect("ply 1 of ")
        terminal.type(":quit\r")
        assert terminal.end() == 0
    assert match.wait().status == 0 and running(str(path)) == []
    finished = source.again()
    assert finished is not None and finished.end is not None and not source.playing()
    assert find_live(str(path), head.match) is None


@pytest.mark.slow
def test_a_ladder_that_is_being_played(tmp_path: Path, slow: str) -> None:
    """Its workers' side files are found, and are gone after the next run when this one is killed."""
    _, _, command = slow.partition("=")
    bots = f'[bot.slow]\ncommand = "{command}"\n[bot.random]\ncommand = "random"\n'
    ladder = tmp_path / "ladder.toml"
    ladder.write_text(f'[pool.a]\ngame = "yugo"\ncontrol = "20"\noptions = {{ size = 3 }}\n{bots}', encoding="utf-8")
    base = live_base(f"sqlite:///{tmp_path}/ladder.db")
    run = Ggp("ladder", "run", str(ladder), "--jobs", "1", "--quiet")
    wait_until(lambda: any(head.ply for head in running(base)))
    (head,) = running(base)
    source = open_match(f"{ladder}#{head.match}")
    assert source.playing() and source.record.start.match == head.match
    with pytest.raises(click.ClickException, match=f"#{head.match}"):
        open_match(f"{ladder}#other")
    os.kill(run.process.pid, signal.SIGKILL)
    run.wait()
    side = Path(live_path(base, 1))
    assert side.exists() and running(base) == [] and not source.playing()
    assert open_match(f"{ladder}#{head.match}").record.start.match == head.match
    assert Ggp("ladder", "run", str(ladder), "--jobs", "1", "--games", "2", "--quiet").wait().status == 0
    assert [path.name for path in tmp_path.iterdir() if ".live-" in path.name] == []
    with pytest.raises(click.ClickException, match=head.match):
        open_match(str(ladder))


@pytest.mark.slow
def test_the_first_match_of_a_pair_is_followed_to_its_end(tmp_path: Path, slow: str) -> None:
    """Its worker begins the second at once, and delivers both records when that is over."""
    _, _, command = slow.partition("=")
    bots = f'[bot.slow]\ncommand = "{command}"\n[bot.random]\ncommand = "random"\n'
    ladder = tmp_path / "ladder.toml"
    ladder.write_text(f'[pool.a]\ngame = "yugo"\ncontrol = "20"\noptions = {{ size = 3 }}\n{bots}', encoding="utf-8")
    base = live_base(f"sqlite:///{tmp_path}/ladder.db")
    run = Ggp("ladder", "run", str(ladder), "--jobs", "1", "--games", "2", "--quiet")
    wait_until(lambda: any(head.ply for head in running(base)))
    (head,) = running(base)
    ran = console("--match", f"{ladder}#{head.match}", typed=":live\n:info\n")
    assert run.wait().status == 0
    record = open_match(f"{ladder}#{head.match}").record
    assert record.end is not None and head.ply < len(record.plies)
    said = f"the match is over: {record.end.result}, rules; ply {len(record.plies)} of {len(record.plies)}: "
    assert said in ran.stdout and f"result: {record.end.result}, rules, " in ran.stdout


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
