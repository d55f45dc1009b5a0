"""`ggp console` as a filter: bytes through a pipe, the console's own lines, faults of the peer, the exit status."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chaos import CHAOS
from tests.support.cli import Ran
from tests.support.raw_peer import RawPeer

pytestmark = pytest.mark.slow

GGP = [sys.executable, "-m", "ggp.referee.cli", "console"]


def say(lines: str, *arguments: str) -> Ran:
    done = subprocess.run([*GGP, *arguments], input=lines.encode(), capture_output=True, timeout=120, check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def _listens(peer: RawPeer) -> None:
    peer.wait_for(lambda: b"\n" in peer.stderr)


def test_answers_come_out_byte_for_byte() -> None:
    lines = "name\n# a comment\n\n  \n7 ggp-status\nfoo\n\tplay b d5 # a move\n"
    said = say(lines, "yugo", "size=5")
    assert (said.status, said.err) == (1, "")
    assert said.out == ("= ggp-engine\n\n=7 phase=play to_play=black seat=1 ply=0\n\n? unknown command\n\n=\n\n")


def test_a_move_sent_as_a_command_is_answered_with_what_to_type() -> None:
    said = say("keep-sides\n", "stigmergy", "size=3")
    assert (said.status, said.out) == (1, "? unknown command\n\n")
    assert said.err == "ggp console: keep-sides is a move: type :keep-sides to play it\n"
    assert say("keep-sides\n", "stigmergy", "size=3", "--quiet").err == ""


def test_the_status_is_0_after_success_and_no_process_is_left() -> None:
    assert say("showboard\nquit\n", "go,size=5").status == 0
    assert say("", "go").status == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["chess"], "unknown game: chess"),
        (["yugo", "sise"], "'sise' is neither a program nor a built-in bot"),
        (["yugo", "size="], "'size=' is not an option"),
        (["yugo", "size=99"], "size"),
        (["--connect", "tcp://localhost:1", "--", "cat"], "not both"),
        (["--connect", "localhost"], "write tcp://HOST:PORT or ipc://PATH"),
        (["--"], "after -- comes the command line"),
        (["--", "no-such-program"], "no program called 'no-such-program'"),
        (["--timeout", "0"], "timeout"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], problem: str) -> None:
    said = say("name\n", *arguments)
    assert (said.status, said.out) == (2, "")
    assert problem in said.err and said.err.count("\n") == 1 and said.err.startswith("ggp console: ")


def test_commands_of_the_console_work_in_a_filter(tmp_path: Path) -> None:
    lines = ":help genmove\n!send 'name\\n3 version\\n'\n:nonsense\n:quit now\n:raw on\nname\n:svg x.svg\n:quit\nname\n"
    done = subprocess.run(
        [*GGP, "yugo", "size=5"],
        input=lines,
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith("genmove COLOUR — choose a move for a side and play it\n")
    assert "= ggp-engine\n\n=3 " in done.stdout
    assert "ggp console: there is no :nonsense; :help lists them\n" in done.stderr
    assert "ggp console: write :quit alone\n" in done.stderr
    assert "ggp console: > 'name\\n'\nggp console: < '= ggp-engine\\n\\n'\n" in done.stderr
    assert (tmp_path / "x.svg").read_text(encoding="utf-8").startswith("<svg")
    assert done.stdout.count("= ggp-engine") == 2


def test_json_is_an_object_a_line() -> None:
    said = say("4 name\nfoo\n:timeout 5\n", "go", "--json")
    first, second, own = [json.loads(line) for line in said.out.splitlines()]
    assert {**first, "ms": 0} == {"sent": "4 name", "ok": True, "text": "ggp-engine", "id": 4, "ms": 0}
    assert second["ok"] is False and second["text"] == "unknown command" and second["ms"] > 0
    assert own["text"] == "an answer may take 5 s"


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("crash", "the peer's fault: the peer's output ended (exit status 1)"),
        ("half_crash", "output since the last complete answer: '=9 "),
        ("garbage", "§2.10"),
        ("double", "§2.3: each command gets one answer"),
        ("wrong_id", "§2.2"),
        ("long_line", "§2.8: an answer is at most 1 MiB"),
        ("silent", "(1 s): the peer's fault; PROTOCOL §2.8: never a hang"),
        ("complain", "last line of its stderr: chaos: out of cheese"),
        ("fork", "the peer exited, but a process that it started"),
    ],
)
def test_a_fault_of_the_peer_names_its_rule(fault: str, problem: str) -> None:
    mb = ["mb=2"] if fault == "long_line" else []
    said = say("ggp-new yugo size=5\n9 genmove b\nname\nname\n", "--timeout", "1", "--", *CHAOS, f"fault={fault}", *mb)
    assert said.status == 3
    assert problem in said.err


ANALYSER = """import os, select, sys, time
def line():
    global rest
    while b"\\n" not in rest:
        data = os.read(0, 4096)
        if not data: sys.exit()
        rest += data
    one, _, rest = rest.partition(b"\\n")
    return one.decode()
rest, number = b"", 0
while True:
    words = line().split()
    if words == ["kata-analyze"]:
        print("=", flush=True)
        while not rest and not select.select([0], [], [], 0.02)[0]:
            number += 1
            print(f"info move D4 visits {number}", flush=True)
        print(flush=True)
    elif words:
        print("= ok\\n" if words[0] in ("name", "quit") else "? unknown command\\n", flush=True)
    if words == ["quit"]: break
"""


def test_an_analysis_streams_until_the_next_line_and_blocks_nothing(tmp_path: Path) -> None:
    """It blocked until --timeout: its answer ends only when the next line comes, which waited for that."""
    (tmp_path / "analyser.py").write_text(ANALYSER, encoding="utf-8")
    command = ["--timeout", "50", "--", sys.executable, str(tmp_path / "analyser.py")]
    said = say("kata-analyze\nname\nkata-analyze\n", *command)
    assert (said.status, said.err) == (0, "")
    assert re.fullmatch(r"=\n(info move D4 visits \d+\n)+\n= ok\n\n=\n(info move D4 visits \d+\n)+\n", said.out)
    said = say("kata-analyze\nlz-analyze\nname\n", "--json", *command)
    first, second, third = [json.loads(line) for line in said.out.splitlines()]
    assert first["ok"] and first["text"].strip().startswith("info move D4") and first["sent"] == "kata-analyze"
    assert (second["text"], third["text"]) == ("unknown command", "ok") and said.status == 1


def test_an_analysis_is_copied_while_it_streams(tmp_path: Path) -> None:
    (tmp_path / "analyser.py").write_text(ANALYSER, encoding="utf-8")
    process = subprocess.Popen(
        [*GGP, "--", sys.executable, str(tmp_path / "analyser.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,  # communicate does not see what a buffered reader has read ahead
    )
    assert process.stdin and process.stdout
    process.stdin.write(b"kata-analyze\n")
    lines = [process.stdout.readline() for _ in range(20)]
    assert lines[0] == b"=\n" and lines[-1].startswith(b"info move D4")
    out, _ = process.communicate(b"name\n", timeout=60)
    assert out.endswith(b"\n\n= ok\n\n") and process.returncode == 0


def test_restart_brings_the_position_back(tmp_path: Path) -> None:
    lines = ["ggp-new yugo size=5", "play b C3", "genmove w", "play w A1", "undo", ":restart", "ggp-history"]
    said = say("\n".join([*lines, ":restart --fresh", "ggp-history\n"]), "go,size=3")
    assert said.out.count("= 1 black C3\n\n") == 1, said.out
    assert "ggp engine was restarted; 2 commands were sent again\n" in said.out
    assert said.out.endswith("ggp engine was restarted\n=\n\n")
    bot = [sys.executable, "-m", "ggp.bots", "random", "seed=1"]
    said = say("ggp-new yugo size=3\ngenmove b\n:restart\nundo\nundo\n", "--", *bot)
    assert said.out.count("=\n\n") == 2 and said.out.endswith("? cannot undo\n\n")
    said = say(":restart now\n", "go")
    assert said.err == "ggp console: write :restart, :restart --fresh or :restart BOT\n"


def test_restart_says_which_command_is_not_accepted_again(tmp_path: Path) -> None:
    (tmp_path / "once.py").write_text(
        "import os, sys\nfor line in sys.stdin:\n"
        "  new = not os.path.exists('seen')\n  open('seen', 'w').close()\n"
        "  print('=\\n' if new or 'play' not in line else '? no\\n', flush=True)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [*GGP, "--", sys.executable, "once.py"],
        input="play b C3\n:restart\n",
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.stderr.endswith("restarted, but the position is not restored: `play b C3` is answered `? no`\n")


def test_restart_continues_after_a_fault() -> None:
    lines = "ggp-new yugo size=5\ngenmove b\nname\n:restart\nname\n:stderr\n"
    said = say(lines, "--", *CHAOS, "fault=crash")
    assert said.status == 3
    assert said.out == "=\n\nchaos was restarted\n= chaos\n\nnothing\n" or said.out.endswith("= chaos\n\nnothing\n")


def test_sequences_for_a_terminal_are_shown_escaped_but_pass_through_a_pipe(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import sys\nfor line in sys.stdin:\n  print('= \\x1b[2Jx\\n', flush=True)\n", encoding="utf-8")
    said = say("name\nname\n:raw on\nname\n", "--", sys.executable, str(bad))
    assert said.out == "= \x1b[2Jx\n\n" * 2 + "raw bytes are shown\n" + "= \x1b[2Jx\n\n"
    assert "\x1b" not in said.err and "\\x1b[2Jx" in said.err


def test_a_service_at_an_address(tmp_path: Path) -> None:
    for address in ("tcp://127.0.0.1:*", f"ipc://{tmp_path}/engine"):
        with RawPeer([sys.executable, "-m", "ggp.engines", "go", "size=5", "--bind", address]) as peer:
            _listens(peer)
            url = peer.stderr.decode().split()[-1]
            said = say("ggp-status\n", "--connect", url)
            assert (said.status, said.out) == (0, "= phase=play to_play=black seat=1 ply=0\n\n"), said.err


def test_a_closed_pipe_ends_the_console() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*GGP, "go"],
        input="name\n" * 50,
        stdout=write,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")
