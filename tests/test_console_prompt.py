"""The console on a terminal: what a person sees and types there, in a real pseudo-terminal."""

import sys
from pathlib import Path

from tests.on_screen import CTRL_C, CTRL_D, ENTER, TAB, Terminal

CHAOS = [sys.executable, "-m", "bots", "chaos"]


def test_a_game_with_completion_and_the_board_beside(tmp_path: Path) -> None:
    with Terminal("console", "yugo", "size=5", home=tmp_path) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type("ggp-pl")
        terminal.wait_for("— play a move, strictly by turn and phase")
        terminal.type(TAB)
        terminal.wait_for("> ggp-play ")
        terminal.type(f" bl{TAB} c")
        rows = terminal.wait_for(lambda rows: any(" C1 " in row for row in rows))
        assert not any(" B1 " in row for row in rows)
        terminal.type(f"3{ENTER}")
        rows = terminal.wait_for("3 . .(X). . 3")
        assert any("= move=C3 phase=play to_play=white seat=2 ply=1" in row for row in rows)
        assert [row for row in rows if row.startswith("> ggp-play black c3")]
        terminal.type(f":help genmove{ENTER}")
        terminal.wait_for("genmove COLOUR — choose a move for a side and play it")
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert not any("(X)" in row for row in terminal.screen.rows)


def test_ctrl_c_drops_the_line_and_leaves_a_silent_peer(tmp_path: Path) -> None:
    with Terminal("console", "--", *CHAOS, "fault=silent", home=tmp_path) as terminal:
        terminal.wait_for(">")
        terminal.type("nam")
        terminal.wait_for("> nam")
        terminal.type(CTRL_C)
        terminal.wait_for(lambda rows: "> nam" not in "\n".join(rows))
        terminal.type(f"ggp-new yugo size=5{ENTER}genmove b{ENTER}")
        terminal.wait_for("waiting for genmove b")
        terminal.type(CTRL_C)
        terminal.wait_for("`genmove b` is still to be answered")
        terminal.type(f":restart{ENTER}")
        terminal.wait_for("was started anew")
        terminal.type(f"name{ENTER}")
        terminal.wait_for("= chaos")
        terminal.type(f":quit{ENTER}")
        assert terminal.end() == 0
