"""Processes: started with all they should have, ended with all they started, nothing left open, zombie or running."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ggp.protocol.connection import PeerRole
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.bot_spec import LaunchError, executable_hash, find_program
from ggp.referee.match.process import Process
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.setting import Timeouts
from tests.support import LEAVES_GROUP

BUDGETS = Timeouts(quit=0.5, grace=0.2)
SAY = "import sys, os, signal, time\n"


def python(code: str) -> Process:
    return Process((sys.executable, "-S", "-E", "-c", SAY + textwrap.dedent(code)), PeerRole.BOT, BUDGETS)


def ask(process: Process, line: str) -> str:
    return run_blocking(process.channel.ask(line, process.channel.now() + 5)).text


def stop(process: Process, kill: bool = False) -> str:
    run_blocking(process.stop(kill))
    return process.exited()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


ANSWER = """
    for line in sys.stdin:
        print('= ' + str({}) + '\\n', flush=True)
        if line.startswith('quit'): break
"""


@pytest.mark.slow
def test_a_process_leads_a_group_of_its_own_and_inherits_the_pin() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        process = python(ANSWER.format("(os.getpgrp() == os.getpid(), os.sched_getaffinity(0))"))
    finally:
        os.sched_setaffinity(0, before)
    assert ask(process, "tell") == str((True, {min(before)}))
    assert stop(process) == "exit status 0"


@pytest.mark.slow
def test_it_gets_nothing_of_ours_but_its_three_pipes_and_no_core_files() -> None:
    fine = python(ANSWER.format("sorted(os.listdir('/proc/self/fd'))"))
    assert len(ask(fine, "tell").split()) == 4  # with the one that lists them
    stop(fine)
    limited = python("import resource\n" + textwrap.dedent(ANSWER.format("resource.getrlimit(resource.RLIMIT_CORE)")))
    assert ask(limited, "tell") == "(0, 0)"
    stop(limited)


@pytest.mark.slow
def test_memory_is_limited_when_asked_for() -> None:
    code = SAY + "import resource\n" + textwrap.dedent(ANSWER.format("resource.getrlimit(resource.RLIMIT_AS)"))
    process = Process((sys.executable, "-c", code), PeerRole.BOT, BUDGETS, memory=512)
    assert ask(process, "tell") == str((512 << 20, 512 << 20))
    stop(process)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "ended"),
    [
        (ANSWER.format("1"), "exit status 0"),
        ("sys.exit(7)", "exit status 7"),
        ("os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("os.kill(os.getpid(), 40)", "killed by signal 40"),
        ("time.sleep(60)", "killed by SIGTERM"),
        ("signal.signal(15, signal.SIG_IGN); print('= \\n', flush=True); time.sleep(60)", "killed by SIGKILL"),
        (LEAVES_GROUP, "killed by SIGKILL"),
    ],
)
def test_it_is_asked_then_told_then_killed(code: str, ended: str) -> None:
    process = python(code)
    if "signal.signal" in code:
        ask(process, "ready")
    began = time.monotonic()
    assert stop(process) == ended
    assert time.monotonic() - began < 30
    assert not running(process.pid)


@pytest.mark.slow
def test_killing_asks_no_program() -> None:
    process = python(ANSWER.format("1"))
    ask(process, "ready")
    assert stop(process, kill=True) == "killed by SIGKILL"
    assert stop(process) == "killed by SIGKILL"  # once is enough


@pytest.mark.slow
def test_what_it_started_in_its_group_goes_with_it() -> None:
    process = python("child = os.fork() or time.sleep(60)\n" + textwrap.dedent(ANSWER.format("child")))
    child = int(ask(process, "tell"))
    stop(process)
    _await(lambda: not running(child))


HIDER = """
import os, sys
sys.path[:0] = {path!r}
from ggp.protocol.connection import PeerRole
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.setting import Timeouts
from ggp.referee.match.process import Process
from ggp.protocol.transports.subreaper import adopt_orphans
adopt_orphans()
code = '''import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(60)
    time.sleep(60)
for line in sys.stdin: print("= \\\\n", flush=True)
'''
process = Process((sys.executable, "-c", code), PeerRole.BOT, Timeouts(quit=0.5, grace=0.2))
run_blocking(process.channel.ask("ready", process.channel.now() + 5))
run_blocking(process.stop())
print(open(f"/proc/self/task/{{os.getpid()}}/children").read().split())
"""


@pytest.mark.slow
def test_a_grandchild_that_hides_in_a_session_of_its_own_is_found() -> None:
    code = HIDER.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.slow
def test_it_dies_with_the_one_who_started_it() -> None:
    code = HIDER.format(path=sys.path).partition("code =")[0] + (
        "p = Process((sys.executable, '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)'),"
        " PeerRole.BOT, Timeouts())\nprint(p.pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120)
    pid = int(done.stdout)
    _await(lambda: not running(pid))


@pytest.mark.slow
def test_nothing_stays_open(tmp_path: Path) -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    for kill in (False, True):
        process = python(ANSWER.format("1"))
        ask(process, "ready")
        stop(process, kill)
    with pytest.raises(LaunchError):
        Process((str(tmp_path),), PeerRole.BOT, BUDGETS)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_program_is_found_by_name_and_by_path() -> None:
    assert find_program("sh").endswith("/sh")
    assert find_program(sys.executable) == sys.executable


@pytest.mark.needs("gnugo")
def test_a_game_of_debian_is_found_though_its_folder_is_not_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert find_program("gnugo") == "/usr/games/gnugo"


@pytest.mark.slow
def test_a_command_line_that_is_too_long_is_said_with_its_remedy() -> None:
    with pytest.raises(LaunchError, match="Argument list too long: shorten the command line, or move the program"):
        Process(("/bin/echo", "x" * (1 << 18)), PeerRole.BOT, Timeouts(), sandbox=Sandbox("default"))


@pytest.mark.timeout(60)
def test_what_is_no_program_is_said_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o700)
    script = tmp_path / "bot.py"
    script.write_text("print()", encoding="utf-8")
    for name, remedy in [
        ("no-such-program", "no program called 'no-such-program' in PATH, /usr/games or /usr/local/games"),
        (str(tmp_path), "is a directory, not a program: name the file in it"),
        (str(tmp_path / "pipe"), "pipe cannot be run: it is a named pipe, not a regular file"),
        ("/dev/zero", "/dev/zero cannot be run: it is a device, not a regular file"),
        (str(tmp_path / "missing"), "does not exist: check the path"),
        (f"{sys.executable} bot.py", "write a command line here without quotes"),
        (str(script), "is not executable: chmod"),
        ("/" + "x" * 300, ": File name too long: check the path"),
    ]:
        with pytest.raises(LaunchError) as caught:
            find_program(name)
        assert remedy in str(caught.value) and "\n" not in str(caught.value)


def test_a_hash_tells_programs_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    assert executable_hash(str(tmp_path / "a")).startswith("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b980778")
    assert executable_hash(str(tmp_path / "b")) == ""


def _await(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_password_is_not_repeated_where_a_url_is_taken_for_a_program() -> None:
    with pytest.raises(LaunchError, match=r"tcp://u:\*\*\*@127.0.0.1:1 does not exist"):
        find_program("tcp://u:secret@127.0.0.1:1")
