"""Confined programs: what they see, how a record says that they ended, and that nothing of them is left."""

import subprocess
import sys
from pathlib import Path

import pytest

from ggp.referee.match.sandbox import start
from ggp.referee.match.sandbox.levels import Level, Sandbox, SandboxError
from ggp.referee.match.sandbox.machine import describe, this_machine
from ggp.referee.match.sandbox.start import Finished, run_confined
from tests.support import LEAVES_GROUP, ROOT

pytestmark = pytest.mark.slow
PYTHON = (sys.executable, "-S", "-E", "-c")


def run(code: str, level: str = "default", folder: Path = Path("/usr"), **more: int) -> Finished:
    sandbox = Sandbox(level, **more)  # type: ignore[arg-type]
    return run_confined((*PYTHON, code), folder=folder, writable=False, sandbox=sandbox, seconds=30, output=8000)


@pytest.mark.parametrize("level", ["none", "default"])
@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("print('well')", ""),
        ("raise SystemExit(7)", "exit status 7"),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 40)", "killed by signal 40"),
    ],
)
def test_an_end_is_reported_as_without_a_sandbox(level: str, code: str, how: str) -> None:
    assert run(code, level).how == how


def test_it_sees_its_own_processes_and_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "word")
    numbers = "[name for name in os.listdir('/proc') if name.isdigit()]"
    code = f"import os; print('SECRET' in os.environ, len({numbers}))"
    finished = run(code)
    hidden = "process namespace" in this_machine().kept["other processes"]
    assert finished.output.split()[0] == b"False"
    assert int(finished.output.split()[1]) <= (2 if hidden else 100_000)


def test_a_program_that_takes_too_long_is_ended() -> None:
    sandbox = Sandbox("default")
    finished = run_confined(
        ("/bin/sleep", "60"), folder=Path("/"), writable=False, sandbox=sandbox, seconds=0.2, output=9
    )
    assert finished.how == "it took more than 0.2 s"


def test_only_the_end_of_what_it_says_is_kept() -> None:
    finished = run_confined(
        (*PYTHON, "print('a' * 100000, 'end')"),
        folder=Path("/"),
        writable=False,
        sandbox=Sandbox(),
        seconds=30,
        output=5,
    )
    assert finished == Finished("", b" end\n")


def test_nothing_stays_open() -> None:
    run("")
    before = sorted(Path("/proc/self/fd").iterdir())
    run("", "none")
    run("")
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("level", ["none", "default"])
def test_what_takes_too_long_is_ended_also_where_it_has_left_its_group(level: Level) -> None:
    sandbox = Sandbox(level)
    ran = run_confined(
        (*PYTHON, LEAVES_GROUP), folder=Path("/usr"), writable=False, sandbox=sandbox, seconds=1, output=9
    )
    assert ran.how == "it took more than 1 s"


def test_where_it_would_be_our_user_it_may_write_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = this_machine()
    monkeypatch.setattr(start, "this_machine", lambda: describe("", here.landlock, here.seccomp, 0, here.places, {}))
    with pytest.raises(SandboxError, match="a build could change other files here: use a machine with namespaces"):
        run_confined((*PYTHON, ""), folder=tmp_path, writable=True, sandbox=Sandbox("default"), seconds=9, output=9)


def test_a_file_has_no_more_bytes_than_it_may(tmp_path: Path) -> None:
    argv = (*PYTHON, "open('big', 'wb').write(bytes(2 << 20))")
    sandbox = Sandbox("default")
    ran = run_confined(argv, folder=tmp_path, writable=True, sandbox=sandbox, seconds=30, output=500, file_size=1 << 20)
    assert ran.how == "exit status 1" and b"OSError: [Errno 27]" in ran.output
    assert (tmp_path / "big").stat().st_size == 1 << 20


GIVES = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
clone = 56 if os.uname().machine == "x86_64" else 220
pid = libc.syscall(clone, 0x8000 | 17, 0, 0, 0, 0)
if pid == 0:
    time.sleep(600)
print(pid > 0, ctypes.get_errno())
"""
CONFINED = """
import os, sys
from pathlib import Path
from ggp.protocol.transports.subreaper import adopt_orphans
from ggp.referee.match.sandbox import start
from ggp.referee.match.sandbox.levels import Sandbox
from ggp.referee.match.sandbox.machine import describe, this_machine
adopt_orphans()
here = this_machine()
if sys.argv[1] == "unfiltered":
    seen = describe(here.namespaces, here.landlock, False, here.users, here.places, {})
    start.this_machine = lambda: seen
words = (sys.executable, "-S", "-E", "-c", sys.argv[2])
done = start.run_confined(
    words, folder=Path("/usr"), writable=False, sandbox=Sandbox("default"), seconds=30, output=100
)
print(done.output.decode().strip(), open(f"/proc/self/task/{os.getpid()}/children").read().split())
"""


@pytest.mark.needs("strict")
@pytest.mark.parametrize(("rules", "said"), [("filtered", "False 1 []\n"), ("unfiltered", "True 0 []\n")])
def test_a_child_that_it_gives_to_its_parent_does_not_keep_it_from_ending(rules: str, said: str) -> None:
    """The kernel holds the first process of its namespace until we have reaped that child."""
    words = [sys.executable, "-c", CONFINED, rules, GIVES]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=120, cwd=ROOT)
    assert (done.stdout, done.stderr) == (said, "")
