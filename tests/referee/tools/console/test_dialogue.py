"""The end of a console ends its peer, the bots that it asked, and all their processes."""

import signal
import sys
from pathlib import Path

import pytest

from ggp.protocol.connection import PeerRole
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.process import Remote
from ggp.referee.match.setting import Timeouts
from ggp.referee.tools.console.dialogue import Dialogue, PeerLost, Target
from tests.support.codes import raises
from tests.support.memory_console import MATCHES
from tests.support.terminal import ENTER, Terminal

STUCK = """import subprocess, sys, time
LIST = "= " + "\\n".join("play genmove name version known_command list_commands quit ggp-new".split())
for line in sys.stdin:
    if "genmove" in line:
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
        print("thinking", file=sys.stderr, flush=True)
        child.wait()
    print((LIST if "list" in line else "=") + "\\n", flush=True)
"""


@pytest.fixture
def stuck(tmp_path: Path) -> str:
    path = tmp_path / "stuck.py"
    path.write_text(STUCK, encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_bytes(MATCHES[0].lines())
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("term", "options", "number"),
    [("xterm", [], signal.SIGHUP), ("dumb", [], signal.SIGTERM), ("xterm", ["--json", "--quiet"], signal.SIGTERM)],
)
def test_a_signal_while_the_peer_thinks(
    stuck: str, tmp_path: Path, term: str, options: list[str], number: signal.Signals
) -> None:
    words = ("console", *options, "--", sys.executable, stuck)
    with Terminal(*words, home=tmp_path, environment={"TERM": term}) as terminal:
        terminal.type(f"name{ENTER}genmove b{ENTER}")
        terminal.wait_for(lambda rows: any(line.startswith("sleep") for line in terminal.running()))
        terminal.process.send_signal(number)
        assert terminal.end() == 128 + number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "begun"),
    [
        (":hint 'stuck={python} {stuck}' 300", "sleep"),
        (":play random random 50000", "bots random"),
        (":fork human random", "black (human)>"),
    ],
)
def test_a_signal_while_the_console_is_at_work(file: Path, stuck: str, tmp_path: Path, typed: str, begun: str) -> None:
    with Terminal("console", "--match", f"{file}@2", home=tmp_path) as terminal:
        terminal.expect("A B C")
        terminal.type(typed.format(python=sys.executable, stuck=stuck) + ENTER)
        terminal.wait_for(lambda rows: any(begun in line for line in (*rows, *terminal.running())))
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 143


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_human_types(tmp_path: Path, number: signal.Signals) -> None:
    with Terminal("match", "yugo,size=4", "human", "random", home=tmp_path) as terminal:
        terminal.expect("black (human)>")
        terminal.type("A")
        terminal.process.send_signal(number)
        assert terminal.end() == 128 + number
    assert "Traceback" not in terminal.text


@pytest.mark.slow
def test_the_echo_of_a_command_comes_before_its_output(file: Path, tmp_path: Path) -> None:
    with Terminal("console", "--match", f"{file}@2", home=tmp_path, rows=150) as terminal:
        terminal.expect("A B C")
        terminal.type(f":fork random random{ENTER}")
        rows = terminal.wait_for(lambda rows: any(row.startswith("Result: ") for row in rows))
        typed = next(at for at, row in enumerate(rows) if row.startswith("> :fork"))
        assert rows[typed + 1].startswith("yugo size=") and "random-1 (seat 1)" in rows[typed + 1]
        terminal.type(f":quit{ENTER}")
        assert terminal.end() == 0


@pytest.mark.slow
def test_the_first_lines_of_a_flood_are_shown(tmp_path: Path) -> None:
    flood = "import sys\nfor line in sys.stdin:\n  print('junk\\n' * 150 + '=\\n', flush=True)\n"
    (tmp_path / "flood.py").write_text(flood, encoding="utf-8")
    with Terminal("console", "--", sys.executable, str(tmp_path / "flood.py"), home=tmp_path) as terminal:
        terminal.type(f"name{ENTER}")
        terminal.wait_for("more such lines")
        terminal.type(f":quit{ENTER}")
        assert terminal.end() == 0
    assert terminal.text.count("skipped a line") < 100


def test_no_listener_is_reported() -> None:
    url = "tcp://127.0.0.1:1"
    spec = read_engine(url)
    target = Target(url, lambda sink: Remote(url, PeerRole.BOT, Timeouts(command=0.1), sink=sink), spec)
    dialogue = Dialogue(target)
    with raises(PeerLost, "peer-lost") as lost:
        exchange = dialogue.send_line("name")
        assert exchange is not None
        dialogue.wait(exchange, dialogue.now() + 60)
    assert url in str(lost.value)
    dialogue.close()
