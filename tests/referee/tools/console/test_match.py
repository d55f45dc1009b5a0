"""A recorded match in the console: its caption, and how it is followed while it is played."""

import os
import signal
from pathlib import Path

import click
import msgspec
import pytest

from ggp.protocol.records import Party, Record
from ggp.referee.match.analysis import line_of
from ggp.referee.match.bot_spec import BUILT_IN
from ggp.referee.match.record_file import RecordWriter
from ggp.referee.match.resume import SideFile
from ggp.referee.records import find_live, live_base, live_path, running
from ggp.referee.terminal import BoardText
from ggp.referee.tools.archive.places import open_match
from ggp.referee.tools.console.cursor import Cursor
from ggp.referee.tools.console.dialogue import read_bots
from ggp.referee.tools.console.match import caption, follow
from ggp.referee.tools.console.prompt import arrange
from ggp.referee.tools.console.tree import GameTree
from tests.referee.tools.console.test_fork import console
from tests.support.cli import PYTHON, Ggp, end_all, wait_until
from tests.support.memory_console import MATCHES, memory_console, record
from tests.support.terminal import Terminal

# It plays its first move at once, and the others once a file is there; or each one after a moment.
SLOW = """import time
from pathlib import Path
from ggp.bots.sdk import Position, run

moves = 0

def choose(position: Position) -> str:
    global moves
    moves += 1
    time.sleep(0.12)
    while {gate!r} and moves > 1 and not Path({gate!r}).exists():
        time.sleep(0.01)
    return position.legal_moves()[0]

run(choose)
"""


@pytest.fixture(autouse=True)
def nothing_left() -> object:
    yield
    end_all()


@pytest.fixture
def slow(tmp_path: Path) -> str:
    (tmp_path / "slow.py").write_text(SLOW.format(gate=""), encoding="utf-8")
    return f"{PYTHON} {tmp_path / 'slow.py'}"


def test_clocks_and_colours_of_a_place() -> None:
    match = MATCHES[0]
    start, tree = msgspec.structs.replace(match.start, control="5+1"), GameTree("yugo", {})
    tree.see_match(match.plies)
    unlimited = tuple(msgspec.structs.replace(ply, left=None) for ply in match.plies)
    untimed = Record(msgspec.structs.replace(start, control="none"), unlimited, match.end)
    odd = Record(msgspec.structs.replace(start, control="soon"), (), None)
    for shown, at, lines in (
        (
            Record(start, match.plies, None),
            tree.root,
            "black one  5.000 s left|white two  5.000 s left|ply 0 of 6 so far",
        ),
        (match, tree.main_line[0], "black one  1.000 s left|white two  10.000 s left|ply 1 of 6: black A1  0.007 s"),
        (untimed, tree.main_line[-1], "black one|white two|ply 6 of 6: white pass  0.007 s"),
        (odd, GameTree("yugo", {}).root, "seat 1 one|seat 2 two|ply 0 of 0 so far"),
        (match, None, "not the game of the match"),
    ):
        assert "|".join(caption(shown, at)) == lines


def test_a_caption_without_room_is_left_to_the_notes() -> None:
    board = BoardText([[("", "x" * 10)]] * 19, caption=("y" * 50, "ply 1"))
    assert arrange(board, 100, 24).board.lines[:2] == [[("", "y" * 33 + "…")], [("", "ply 1")]]
    assert arrange(board, 100, 21).board is board and arrange(board, 79, 24).board is board
    assert arrange(BoardText([], caption=("ply 1",)), 100, 24).left_over == ("ply 1",)


def test_the_bots_of_a_completion() -> None:
    """Bots as the record starts them, in quotes where the console's line needs them; none that cannot be started."""
    parties = (Party(name="slow", command="python slow.py"), Party(name="someone"))
    match = Record(msgspec.structs.replace(MATCHES[0].start, bots=parties), (), None)
    known = memory_console(match=match, bots=read_bots(["mine=greedy:playouts=5"])).known()
    assert [bot.word for bot in known.bots] == [*BUILT_IN, "'slow=python slow.py'", "mine", "human"]
    assert known.plies == ("the start",)


# -- following a match, of which 2 plies are played ---------------------------------------------------------------


def emit(tape: RecordWriter, match: Record, first: int, last: int) -> None:
    """Write the events of these numbers, as a worker does; 0 is the start, the one after the plies the end."""
    for event in [match.start, *match.plies, match.end][first : last + 1]:
        assert event is not None
        tape.emit(event)


FULL = MATCHES[0]
assert FULL.end is not None
VOID = Record(FULL.start, FULL.plies[:2], msgspec.structs.replace(FULL.end, result="", winner=0, seq=3))
OVER = "over: W+7.5, rules; ply 6 of 6: white pass"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("nothing", OVER),
        ("the next match", OVER),
        ("gone", OVER),
        ("short, but stored", OVER),
        ("dropped", "dropped before its end; ply 2 of 2: white B2, the last so far"),
        ("void, then replayed", "over: void, rules; ply 2 of 2: white B2"),
    ],
)
def test_a_match_is_followed_to_its_last_event(
    end: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker plays its next match at once, and delivers its records later."""
    base, shown = tmp_path / "games.jsonl", list[str]()
    live = SideFile(str(base), 1)
    tape = RecordWriter(live.begin())
    emit(tape, FULL, 0, 2)
    source, looks = open_match(f"{base}#m-1"), [0.0]

    def played_on(seconds: float) -> None:
        looks.pop()  # it looks once more, and no more, after the match has ended
        if end.startswith("void"):
            emit(tape, VOID, 3, 3)
        elif end not in ("dropped", "short, but stored"):
            emit(tape, FULL, 3, 7)
        if not end.startswith("void"):
            live.close()
        if end == "gone":
            Path(f"{base}.live-1").unlink()
        elif end == "short, but stored":
            base.write_bytes(FULL.lines())
        elif end in ("the next match", "void, then replayed"):
            emit(RecordWriter(live.begin()), record("yugo size=3", "C3", match="m-1.1"), 0, 1)

    monkeypatch.setattr("ggp.referee.tools.console.match.time.sleep", played_on)
    cursor = Cursor(memory_console("").ask, record=source.record, again=source.again)
    assert follow(cursor, source, lambda: None, shown.append).endswith(said)
    assert shown == [line_of(ply) for ply in FULL.plies[2 : 6 if said == OVER else 2]]
    live.close()


@pytest.mark.slow
def test_a_match_that_is_being_played(tmp_path: Path) -> None:
    path, gate, script = tmp_path / "games.jsonl", tmp_path / "go", tmp_path / "held.py"
    script.write_text(SLOW.format(gate=str(gate)), encoding="utf-8")
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


def _ladder(folder: Path, slow: str) -> Path:
    bots = f'[bot.slow]\ncommand = "{slow}"\n[bot.random]\ncommand = "random"\n'
    text = f'[pool.a]\ngame = "yugo"\ncontrol = "20"\noptions = {{ size = 3 }}\n{bots}'
    (folder / "ladder.toml").write_text(text, encoding="utf-8")
    return folder / "ladder.toml"


@pytest.mark.slow
def test_a_ladder_that_is_being_played(tmp_path: Path, slow: str) -> None:
    """Its workers' side files are found, and are gone after the next run when this one is killed."""
    ladder, base = _ladder(tmp_path, slow), live_base(f"sqlite:///{tmp_path}/ladder.db")
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
    ladder, base = _ladder(tmp_path, slow), live_base(f"sqlite:///{tmp_path}/ladder.db")
    run = Ggp("ladder", "run", str(ladder), "--jobs", "1", "--games", "2", "--quiet")
    wait_until(lambda: any(head.ply for head in running(base)))
    (head,) = running(base)
    ran = console("--match", f"{ladder}#{head.match}", typed=":live\n:info\n")
    assert run.wait().status == 0
    found = open_match(f"{ladder}#{head.match}").record
    assert found.end is not None and head.ply < len(found.plies)
    said = f"the match is over: {found.end.result}, rules; ply {len(found.plies)} of {len(found.plies)}: "
    assert said in ran.stdout and f"result: {found.end.result}, rules, " in ran.stdout
