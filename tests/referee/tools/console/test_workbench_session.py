"""A whole session at a workbench on a terminal: moves, bots, variations, a hung bot and Ctrl-C, files, the end."""

from pathlib import Path

import pytest

from ggp.protocol.records import read_records
from tests.referee.tools.console.test_workbench import BOT
from tests.support.cli import PYTHON
from tests.support.terminal import CTRL_C, CTRL_D, ENTER, TAB, Terminal

pytestmark = pytest.mark.slow


def _hangs(terminal: Terminal) -> bool:
    return any(line.rstrip().endswith("tiny.py hang") and "console" not in line for line in terminal.running())


def test_a_session(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(BOT, encoding="utf-8")
    tiny = f"{PYTHON} {tmp_path / 'tiny.py'}"
    words = ("console", "yugo", "size=5", "greedy:playouts=5", f"tiny={tiny} B2", f"hung={tiny} hang")
    with Terminal(*words, home=tmp_path, columns=120, rows=60) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type(f":C3{ENTER}")
        terminal.expect("ply 1 of 1: black C3")
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(f":ask greedy tiny 1{ENTER}")
        terminal.expect("bot     move  winrate  score  depth  playouts")
        terminal.expect("tiny    B2     25.0 %")
        terminal.type(f":ans{TAB}ti{TAB}{ENTER}")
        terminal.expect("ply 2 of 2: white B2")
        terminal.wait_for("2 .(O). . . 2")
        terminal.type(f":hint hung{ENTER}")
        terminal.wait_for(lambda rows: _hangs(terminal))
        terminal.settle(1)
        terminal.type(CTRL_C)
        terminal.expect("interrupted")
        assert not _hangs(terminal)
        terminal.type(f":back{ENTER}")
        terminal.expect("ply 1 of 2: black C3")
        terminal.type(f"ggp-play white D4{ENTER}")
        terminal.expect("= move=D4")
        terminal.type(f":comment a try{ENTER}:tree{ENTER}")
        terminal.expect("ply 2a, which leaves ply 1 of 2: the comment is kept")
        terminal.expect("a, which leaves ply 1: [2a D4*]")
        terminal.type(f":graph greedy 0.1{ENTER}")
        terminal.expect("greedy: Black's win rate")
        terminal.expect("█")
        terminal.type(f":replay 0{ENTER}")
        terminal.expect("2 white D4")
        terminal.expect("ply 2a")
        terminal.type(f":save {tmp_path}/a.sgf{ENTER}")
        terminal.expect("a.sgf written: 3 plies, 1 variation")
        terminal.type(f":save {tmp_path}/a.jsonl{ENTER}")
        terminal.expect("a.jsonl written: a record of 2 plies")
        terminal.type(f":restart{ENTER}")
        terminal.expect("ggp engine was restarted")
        terminal.type(f":restart tiny{ENTER}:eval{ENTER}")
        terminal.expect("tiny is started again when it is next asked")
        terminal.expect("greedy (black): ")
        terminal.settle()
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    (record,) = read_records((tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True))
    assert [ply.move for ply in record.plies] == ["C3", "D4"]
    with Terminal("console", "--match", f"{tmp_path}/a.sgf@1", "greedy", home=tmp_path) as terminal:
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(f":goto a{ENTER}")
        terminal.expect("ply 2a, which leaves ply 1 of 2: white D4")
        terminal.expect("a try")
        terminal.type(f":hint 0.1{ENTER}")
        terminal.expect("greedy: ")
        terminal.type(f":quit{ENTER}")
        assert terminal.end() == 0


def test_plain_bars_without_colours(tmp_path: Path) -> None:
    with Terminal("console", "yugo", "size=5", "greedy", home=tmp_path, environment={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type(f":C3 D4{ENTER}:graph greedy 0.1{ENTER}")
        terminal.expect("100 % |")
        terminal.expect("#")
        terminal.settle()
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert "█" not in terminal.text and "│" not in terminal.text
