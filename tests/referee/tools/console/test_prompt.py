"""The console on a pseudo-terminal."""

import re
import signal
import sys
from pathlib import Path

import pytest

from tests.referee.tools.console.test_filter import ANALYSER
from tests.support.chaos import CHAOS
from tests.support.terminal import CTRL_C, CTRL_D, ENTER, TAB, UP, Terminal

pytestmark = pytest.mark.slow


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


def test_the_greeting_names_the_peer_the_game_and_help(tmp_path: Path) -> None:
    for term in ("xterm-256color", "dumb"):
        with Terminal("console", "yugo", "size=5", home=tmp_path, environment={"TERM": term}) as terminal:
            terminal.wait_for("This is ggp-engine (ggp engine): yugo size=5. :help lists the commands.")
            terminal.type(CTRL_D)
            assert terminal.end() == 0
    with Terminal("console", "--", *CHAOS, home=tmp_path, columns=300) as terminal:
        terminal.wait_for("This is chaos")
        terminal.wait_for(":help lists the commands.")
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_tab_ends_a_word_with_a_blank_that_is_not_typed_twice(tmp_path: Path) -> None:
    with Terminal("console", "go", "size=5", home=tmp_path) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type(f"ggp-ne{TAB}")
        terminal.wait_for("— start a game")
        terminal.type(f"yu{TAB}")
        terminal.wait_for("> ggp-new yugo ")
        terminal.wait_for("by default off")  # of its options, which the engine has said
        terminal.type(f"si{TAB}7{ENTER}")
        terminal.wait_for("> ggp-new yugo size=7")
        terminal.wait_for("7 . . . . . . . 7")
        terminal.type(f"ggp-his{TAB}{ENTER}")
        rows = terminal.wait_for(lambda rows: "> ggp-history" in rows)
        terminal.type(f"ggp-pla{TAB} bl{TAB} C3{ENTER}")  # by habit a blank behind Tab
        terminal.wait_for("(X)")
        rows = terminal.settle()
        assert "> ggp-play black C3" in rows
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_the_menu_hides_neither_the_hint_nor_the_notes_nor_the_board(tmp_path: Path) -> None:
    for columns, board in ((100, "5 . . . . . 5"), (50, "5 . . . . . 5")):
        with Terminal("console", "yugo", "size=5", home=tmp_path, columns=columns) as terminal:
            terminal.wait_for("Black to move (seat 1)")
            terminal.type("ggp-play black C")
            terminal.wait_for(lambda rows: any(row.startswith(" C1") for row in rows))
            rows = terminal.settle()
            for text in (
                "> ggp-play black C",
                "ggp-play COLOUR MOVE",
                "The button is free",
                "Komi: 7",
                "Black to move (seat 1)",
                board,
            ):
                assert any(text in row for row in rows), (text, rows)
            assert [row.split()[0] for row in rows if row.startswith(" C")] == ["C1", "C2", "C3", "C4", "C5"]
            terminal.type(f"{CTRL_C}{CTRL_D}")
            assert terminal.end() == 0


def test_a_command_that_the_peer_does_not_list_has_a_suggestion(tmp_path: Path) -> None:
    with Terminal("console", "go", "size=5", home=tmp_path) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type(f"7 shwboard{ENTER}")
        rows = terminal.wait_for("did you mean showboard?")
        assert any("?7 unknown command" in row for row in rows)
        terminal.type(f"play b Z99{ENTER}")
        assert not any("mean play" in row for row in terminal.wait_for("illegal move"))
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_long_lists_are_broken_at_blanks(tmp_path: Path) -> None:
    with Terminal("console", "go", "size=13", home=tmp_path, columns=60, rows=120) as terminal:
        terminal.wait_for("This is ggp-engine")
        terminal.type(f":board off{ENTER}ggp-legal_moves{ENTER}:help{ENTER}")
        terminal.wait_for("known_command")
        rows = terminal.settle()
        listed = " ".join(row for row in rows if re.match(r"(= )?[A-N]\d", row)).removeprefix("= ").split("   ")[0]
        assert listed.split() == [*sorted(f"{x}{y}" for x in "ABCDEFGHJKLMN" for y in range(1, 14)), "pass"]
        assert not any(len(row) == 60 and row[-1] != " " and row.startswith("  ggp-") for row in rows)
        names = " ".join(row.strip() for row in rows if row.startswith("  ") and not row.startswith("  :")).split()
        assert {"ggp-legal_moves", "ggp-playouts", "gogui-rules_captured_count", "final_status_list"} <= {*names}
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_a_lost_peer_is_explained_once_and_each_later_command_is_a_line(tmp_path: Path) -> None:
    # It exits at once after its last words: a line that came earlier would be shown, and then quoted as the last one.
    bot = "import os, time; time.sleep(1); os.write(2, b'first\\nboom\\n'); os._exit(3)"
    with Terminal("console", "--", sys.executable, "-c", bot, home=tmp_path, columns=120) as terminal:
        terminal.wait_for("last line of its stderr: boom")
        terminal.type(f"name{ENTER}:restrat{ENTER}")
        terminal.wait_for("there is no :restrat; did you mean :restart?")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        said = terminal.settle()
    text = "\n".join(said)
    assert [text.count(word) for word in ("boom", "stderr: first", "§2.5", "type :restart")] == [1, 1, 1, 2]
    assert said.index("the peer is lost, so nothing was sent; type :restart") > said.index("stderr: first")


def test_restart_on_a_terminal_brings_the_board_back(tmp_path: Path) -> None:
    with Terminal("console", "yugo", "size=5", home=tmp_path) as terminal:
        terminal.wait_for("5 . . . . . 5")
        terminal.type(f"ggp-play black C3{ENTER}")
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(f":restart{ENTER}")
        terminal.wait_for("ggp engine was restarted; 2 commands were sent again")
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(f":restart --f{TAB}{ENTER}")
        terminal.wait_for(lambda rows: "ggp engine was restarted" in rows)
        terminal.wait_for("3 . . . . . 3")
        terminal.type(CTRL_D)
        assert terminal.end() == 0


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
        terminal.wait_for("`genmove b` is not answered yet")
        terminal.type(f":restart{ENTER}")
        terminal.wait_for("restarted; 1 command")
        terminal.type(f"name{ENTER}")
        terminal.wait_for("= chaos")
        terminal.type(f":quit{ENTER}")
        assert terminal.end() == 0


def test_late_and_unexpected_answers_name_the_fault(tmp_path: Path) -> None:
    with Terminal("console", "--", *CHAOS, "fault=late", "ms=1500", home=tmp_path) as terminal:
        terminal.wait_for(">")
        terminal.type(f"ggp-new yugo size=5{ENTER}genmove b{ENTER}")
        terminal.wait_for("waiting for genmove b")
        terminal.type(f"name{ENTER}")
        rows = terminal.wait_for("= chaos")
        late = rows.index("answer to genmove b")
        assert rows[late - 1] == "> name" and rows[late + 1].startswith("= ")
        terminal.wait_for("black: 1.")  # of its clock
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    with Terminal("console", "--", *CHAOS, "fault=double", home=tmp_path) as terminal:
        terminal.wait_for(">")
        terminal.type(f":raw on{ENTER}ggp-new yugo size=5{ENTER}9 genmove b{ENTER}")
        terminal.wait_for("the peer's fault: desynchronised: unsolicited response; PROTOCOL §2.3")
        terminal.wait_for("output since the last complete answer:")
        terminal.wait_for("> '9 genmove b\\n'")
        terminal.type(f"name{ENTER}:restart{ENTER}name{ENTER}")
        terminal.wait_for("= chaos")
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_the_board_moves_with_the_size_of_the_terminal(tmp_path: Path) -> None:
    with Terminal("console", "go", "size=9", home=tmp_path) as terminal:
        rows = terminal.wait_for("A B C D E F G H J")
        assert not any(row.startswith("9 . .") for row in rows)
        terminal.resize(60, 40)
        terminal.wait_for(lambda rows: any(row.startswith("9 . .") for row in rows))
        terminal.resize(60, 12)
        terminal.wait_for("(the board needs 21 columns and 12 lines)")
        terminal.resize(100, 40)
        terminal.wait_for(lambda rows: any(row.endswith("  9 . . . . . . . . . 9") for row in rows))
        terminal.type(f":board off{ENTER}")
        terminal.wait_for(lambda rows: not any("9 . . . . . . . . . 9" in row for row in rows))
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_history_lasts_and_needs_no_folder(tmp_path: Path) -> None:
    history = tmp_path / ".local" / "state" / "ggp" / "console-history"
    for typed in ("name", "version"):
        with Terminal("console", home=tmp_path) as terminal:
            terminal.wait_for(">")
            terminal.type(f"{typed}{ENTER}")
            terminal.wait_for("= ")
            terminal.type(CTRL_D)
            assert terminal.end() == 0
    assert history.read_text(encoding="utf-8") == "name\nversion\n" and history.stat().st_mode & 0o777 == 0o600
    history.write_text("".join(f"line {number}\n" for number in range(3000)) + "name\nversion\n", encoding="utf-8")
    with Terminal("console", home=tmp_path) as terminal:
        terminal.wait_for(">")
        terminal.type(f"{UP}{UP}")
        terminal.wait_for("> name")
        terminal.type(ENTER)
        terminal.wait_for("= ggp-engine")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert len(history.read_text(encoding="utf-8").splitlines()) == 2001
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with Terminal("console", home=tmp_path, environment={"XDG_STATE_HOME": str(blocked)}) as terminal:
        terminal.wait_for(">")
        terminal.type(f"name{ENTER}")
        terminal.wait_for("= ggp-engine")
        terminal.settle()
        terminal.type(f"{UP}")
        terminal.wait_for(lambda rows: [row for row in rows if row.startswith("> name")][1:] != [])
        terminal.type(f"{CTRL_C}{CTRL_D}")
        assert terminal.end() == 0


def test_no_colours_with_no_color_or_on_a_dumb_terminal(tmp_path: Path) -> None:
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        with Terminal("console", "yugo", "size=5", home=tmp_path, environment=environment) as terminal:
            terminal.wait_for("5 . . . . . 5")
            terminal.type(f"ggp-play black C3{ENTER}")
            terminal.wait_for("(X)")
            terminal.type(CTRL_D)
            assert terminal.end() == 0
            assert bool(re.search(rb"\x1b\[[\d;]*[349]\d[;m]", terminal.written)) is coloured
    with Terminal("console", "yugo", "size=5", home=tmp_path, environment={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Black to move (seat 1)")
        terminal.type("ggp-play black C3\n")
        terminal.wait_for("3 . .(X). . 3")
        terminal.type(":help play\nfoo\n")
        terminal.wait_for("? unknown command")
        terminal.type("button\n")
        terminal.wait_for("button is a move: type :button to play it")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert b"\x1b" not in terminal.written


def test_a_plain_terminal_leaves_a_silent_peer_too(tmp_path: Path) -> None:
    with Terminal("console", "--", *CHAOS, "fault=silent", home=tmp_path, environment={"TERM": "dumb"}) as terminal:
        terminal.wait_for(">")
        terminal.type("ggp-new yugo size=5\ngenmove b\n")
        terminal.wait_for("genmove b")
        terminal.settle(0.5)
        terminal.type(CTRL_C)
        terminal.wait_for("`genmove b` is not answered yet")
        terminal.type(":restart\nname\n")
        terminal.wait_for("= chaos")
        terminal.type(":quit\n")
        assert terminal.end() == 0


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_an_analysis_streams_while_a_line_is_typed(term: str, tmp_path: Path) -> None:
    (tmp_path / "analyser.py").write_text(ANALYSER, encoding="utf-8")
    words = ("console", "--", sys.executable, str(tmp_path / "analyser.py"))
    with Terminal(*words, home=tmp_path, environment={"TERM": term}) as terminal:
        terminal.expect("commands.")
        terminal.expect(">")
        terminal.type("kata-analyze\r")
        terminal.expect("kata-analyze")
        for number in range(1, 9):
            terminal.expect(f"info move D4 visits {number}")
        terminal.type("name\r")
        terminal.expect("= ok")
        assert terminal.text.count("visits 8\r") == 1
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_no_sequence_of_a_peer_reaches_the_terminal(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import sys\nfor line in sys.stdin:\n  print('= \\x1b]0;evil\\x07\\x1b[2J\\u202e\\n', flush=True)\n"
        "  print('\\x1b[2Jworse', file=sys.stderr, flush=True)\n",
        encoding="utf-8",
    )
    for term in ("xterm", "dumb"):
        with Terminal("console", "--", sys.executable, str(bad), home=tmp_path, environment={"TERM": term}) as terminal:
            terminal.wait_for(">")
            terminal.type("name\r")
            terminal.wait_for("stderr: \\x1b[2Jworse")
            terminal.type(f"{CTRL_D}")
            terminal.end()
            assert b"\x1b]0" not in terminal.written and b"\x1b[2J" not in terminal.written
            assert "\u202e".encode() not in terminal.written


def test_a_refused_game_and_a_signal_end_the_console(tmp_path: Path) -> None:
    with Terminal("console", "chess", home=tmp_path) as terminal:
        assert terminal.end() == 2
        assert terminal.screen.rows[-1].startswith("ggp console: unknown game: chess")
    with Terminal("console", "go", home=tmp_path) as terminal:
        terminal.wait_for("19 .")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 143
