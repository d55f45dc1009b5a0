"""Limits that a program meets, word for word, and machines that offer less than this one (their probes are faked)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.referee.match import sandbox
from ggp.referee.match.sandbox import machine, start
from ggp.referee.match.sandbox.levels import PROPERTIES, Sandbox, SandboxError
from ggp.referee.match.sandbox.machine import Machine, check_level, describe, in_record, this_machine
from ggp.referee.match.sandbox.spawn import StepFailed, guard_program, try_steps
from ggp.referee.match.sandbox.start import run_confined

PYTHON = (sys.executable, "-S", "-E", "-c")
USE = "import ctypes, os, socket, subprocess, sys\nKCMP = 312 if os.uname().machine == 'x86_64' else 272\n"
FORBIDDEN = "it made the forbidden system call `ptrace`: remove it, or run the bot with sandbox = none"
OUT_OF_SCRATCH = "exit status 1; its scratch folder of 1 MiB is full (scratch)"


def ended(code: str, sandbox: Sandbox) -> tuple[str, str]:
    """How it ended, and its last word."""
    argv = (*PYTHON, USE + code)
    done = run_confined(argv, folder=Path("/usr"), writable=False, sandbox=sandbox, seconds=60, output=500)
    return done.how, (done.output.decode().strip().splitlines() or [""])[-1].partition(":")[0]


@pytest.mark.slow
@pytest.mark.needs("strict")
@pytest.mark.parametrize(
    ("code", "how", "last"),
    [
        (
            "all = []\nwhile True: all.append(bytearray(1 << 20))",
            "killed by SIGKILL; it ran out of memory: its limit is 32 MiB (memory)",
            "",
        ),
        (
            "all = [subprocess.Popen(['sleep', '60']) for _ in range(9)]",
            "exit status 1; it tried to start a 5th process or thread (processes)",
            "BlockingIOError",
        ),
        ("open(os.environ['TMPDIR'] + '/x', 'wb').write(bytes(2 << 20))", OUT_OF_SCRATCH, "OSError"),
        ("for x in 'abc': open(os.environ['TMPDIR'] + '/' + x, 'wb').write(bytes(400000))", OUT_OF_SCRATCH, "OSError"),
        ("ctypes.CDLL(None).ptrace(0, 0, 0, 0)", f"killed by SIGSYS; {FORBIDDEN}", ""),
        (
            "import threading; threading.Thread(target=ctypes.CDLL(None).ptrace, args=(0, 0, 0, 0)).start()",
            f"killed by SIGSYS; {FORBIDDEN}",
            "",
        ),
        ("ctypes.CDLL(None, use_errno=True).syscall(KCMP) == -1 and sys.exit(ctypes.get_errno())", "exit status 1", ""),
        ("socket.socket()", "exit status 1", "PermissionError"),
        ("import resource; sys.exit(sum(map(sum, map(resource.getrlimit, (13, 14)))))", "", ""),
        ("open('/etc/shadow')", "exit status 1", "PermissionError"),
    ],
)
def test_a_limit_is_named_with_its_key(code: str, how: str, last: str) -> None:
    assert ended(code, Sandbox("strict", memory=32, processes=4, scratch=1)) == (how, last)


@pytest.mark.slow
def test_a_forbidden_call_that_is_survived_is_not_made() -> None:
    code = "import signal; signal.signal(31, lambda *it: None); print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))"
    assert ended(code, Sandbox("default")) == ("", "-1")


# -- machines that offer less -----------------------------------------------------------------------------------------

REASONS = {"namespaces": "unshare: Operation not permitted", "landlock": "landlock: ENOSYS", "cgroups": "none"}


@pytest.fixture
def lesser(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """This machine without namespaces and cgroups, or without Landlock and cgroups."""
    here = this_machine()
    namespaces, landlock = ("", here.landlock) if request.param == "landlock" else (here.namespaces, False)
    users = here.users if os.geteuid() == 0 else 0
    found = describe(namespaces, landlock, here.seccomp, users, (), REASONS)
    for module in (machine, start):
        monkeypatch.setattr(module, "this_machine", lambda: found)
    yield found


@pytest.mark.slow
@pytest.mark.parametrize("lesser", ["landlock", "namespaces"], indirect=True)
def test_each_mechanism_alone_keeps_files_network_and_processes(lesser: Machine, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("word", encoding="utf-8")
    assert {"files", "network", "other processes"} <= set(lesser.kept) and "memory" in lesser.missing
    default = Sandbox("default")
    assert ended(f"open({str(tmp_path / 'secret')!r})", default)[1] in ("PermissionError", "FileNotFoundError")
    assert ended("socket.socket()", default)[1] == "PermissionError"
    with subprocess.Popen(["sleep", "600"]) as other:
        for tried in ("kill({}, 0)", "kill({}, 19)", "kill({}, 9)", "setpriority(0, {}, 19)"):
            last = ended(f"os.{tried.format(other.pid)}", default)[1]
            assert last in ("PermissionError", "ProcessLookupError"), tried
        assert other.poll() is None
        other.kill()
    assert ended("open(os.environ['TMPDIR'] + '/x', 'w').write('x')", default) == ("", "")
    assert ended("ctypes.CDLL(None).ptrace(0, 0, 0, 0)", default)[0] == f"killed by SIGSYS; {FORBIDDEN}"
    assert in_record(default).startswith("default; not kept: ")


@pytest.mark.slow
@pytest.mark.needs("root")
def test_root_in_a_namespace_of_users_reads_no_settings_that_others_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """There it stays the owner of what only root may read."""
    here = this_machine()
    found = describe("user", False, here.seccomp, 0, (), REASONS)
    for module in (machine, start):
        monkeypatch.setattr(module, "this_machine", lambda: found)
    assert ended("print(len(open('/etc/passwd').read()) > 9)", Sandbox("default")) == ("", "True")
    assert ended("open('/etc/shadow')", Sandbox("default")) == ("exit status 1", "FileNotFoundError")


def test_strict_is_refused_with_the_property_the_reason_and_the_remedy() -> None:
    found = describe("root", True, True, 1, (), {"cgroups": "no cgroup can be created here"})
    with pytest.raises(SandboxError) as caught:
        check_level("strict", "random", lambda: found)
    said = str(caught.value)
    assert said.startswith(
        'random: sandbox = "strict" is not supported here: memory (cgroup memory: no cgroup can be created here): '
    )
    assert said.endswith(', or write sandbox = "default"') and "Delegate=yes" in said and "\n" not in said
    for level in ("none", "default"):
        check_level(level, "random", lambda: found)


def test_landlock_that_lets_signals_through_does_not_keep_other_processes() -> None:
    """Before Linux 6.12; a program of our own user would kill the referee."""
    assert "other processes" in describe("", True, True, 0, (), {}).kept
    found = describe("", True, True, 0, (), {"namespaces": "unshare: no", "signals": "signal: Permission denied"})
    assert found.missing["other processes"][0] == "process namespace: unshare: no; landlock does not block signals"
    with pytest.raises(StepFailed, match="signal"):
        try_steps(["keep", "signal"])


def test_a_lobby_records_that_it_credits_no_idle_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    found = describe("root", True, True, 1, this_machine().places, {})
    monkeypatch.setattr(machine, "this_machine", lambda: replace(found, missing={"memory": ("", "")}))
    assert in_record(Sandbox("default")) == "default; not kept: memory"
    assert in_record(Sandbox("default"), credited=False) == "default; not kept: memory, idle turn"
    assert in_record(Sandbox("strict"), credited=False) == "strict; not kept: memory"


def test_nothing_is_kept_where_nothing_is_offered() -> None:
    found = describe("", False, False, 0, (), {})
    assert found.kept == {} and list(found.missing) == list(PROPERTIES)
    assert replace(found, kept={}).missing["files"][0].startswith("landlock")


def test_a_missing_guard_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:

    monkeypatch.setattr(sandbox, "__path__", [str(tmp_path)])
    guard_program.cache_clear()
    try:
        with pytest.raises(SandboxError, match="the program `guard`, which starts bots, is not in the package: run "):
            guard_program()
        (tmp_path / "guard").write_text("no program", encoding="utf-8")
        (tmp_path / "guard").chmod(0o755)
        with pytest.raises(SandboxError, match="guard cannot be run: Exec format error: run `make setup`"):
            run_confined(("/bin/true",), folder=tmp_path, writable=False, sandbox=Sandbox(), seconds=1, output=1)
    finally:
        guard_program.cache_clear()
