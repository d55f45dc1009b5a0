"""`ggp check` on processes: for every injected fault a program fails, and no process is left."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ggp.protocol.commands import Who
from ggp.protocol.conformance import CheckVerdict, catalogue
from ggp.protocol.connection import PeerRole
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.process import Process
from ggp.referee.match.setting import Timeouts
from ggp.referee.tools.check import process_checks
from ggp.referee.tools.check.report import usable
from ggp.referee.tools.check.run import run_trial
from ggp.referee.tools.check.trial import Trial
from tests.support import TESTS
from tests.support.checked_peer import Mistake, bot_peer, engine_peer, failing, judged, plain_peer
from tests.support.memory_match import MemoryPeer

pytestmark = pytest.mark.slow

PROGRAM = str(TESTS / "support" / "wrong_program.py")
MISTAKES = {
    "greets": ("2.3.4", {"2.3.4"}),
    "chatters": ("2.3.5,2.3.12", {"2.3.12"}),
    "talks to itself": ("2.3.5,2.3.12", {"2.3.5"}),
    "reads are lines": ("2.3.6", {"2.3.6"}),
    "drops a flood": ("2.3.9", {"2.3.9"}),
    "status 1 after quit": ("2.5.8", {"2.5.8"}),
    "status 1 at the end": ("2.5.9", {"2.5.9"}),
    "stays in mid-line": ("2.5.10", {"2.5.10"}),
    "stays at the end": ("2.5.9,2.5.10", {"2.5.9", "2.5.10"}),
    "stays when not read": ("2.5.11", {"2.5.11"}),
    "deaf to SIGTERM": ("2.5.12", {"2.5.12"}),
    "has a child": ("2.5.13", {"2.5.13"}),
    "slow quit": ("5.2.3", {"5.2.3"}),
    "leaks": ("2.8.5", {"2.8.5"}),
}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    before = _children()
    yield
    assert _children() == before


def _children() -> set[int]:
    return {
        int(word)
        for word in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    }


def found_in(mistake: str, only: str, patience: float) -> set[str]:
    """The steps that fail, of a bot in a process of its own."""
    start = partial(Process, (sys.executable, "-I", PROGRAM, mistake), PeerRole.BOT, Timeouts(command=5, quit=5))
    trial = Trial(Who.BOT, start, patience, first=60.0)
    findings = run_blocking(run_trial(trial, tuple(only.split(","))))
    return {found.check.number for found in findings if found.verdict is CheckVerdict.FAIL}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_process_with_one_mistake_fails_its_step(mistake: str) -> None:
    only, expected = MISTAKES[mistake]
    assert found_in(mistake, only, patience=3.0 if "stays" in mistake or "deaf" in mistake else 10.0) == expected


def test_a_right_process_passes() -> None:
    only = ",".join(sorted({only for only, _ in MISTAKES.values()}))
    assert found_in("", only, patience=20.0) == set()


def test_slow_new_games_do_not_prolong_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred games of a bot that needs seconds for each would take many minutes."""
    monkeypatch.setattr(process_checks, "_GAMES_SECONDS", 0.0)
    start = partial(Process, (sys.executable, "-I", PROGRAM, ""), PeerRole.BOT, Timeouts(command=5, quit=5))
    [found] = run_blocking(run_trial(Trial(Who.BOT, start, 20.0, first=60.0), ("2.8.5",)))
    assert found.verdict is CheckVerdict.PASS and found.note.endswith(", 0 games in 0 s")


def test_a_program_that_dies_hangs_or_floods_is_reported_and_ended() -> None:
    advice = {"sleep 600": "it writes nothing: flush stdout", "exec cat": "its output is not a complete answer: "}
    for script in ("exit 3", "sleep 600", "exec yes '= yes'", "read x; echo '= 2'; echo; exit 3", "exec cat"):
        start = partial(Process, ("sh", "-c", script), PeerRole.BOT, Timeouts(command=1, quit=1))
        findings = run_blocking(run_trial(Trial(Who.BOT, start, 0.5, first=1.0)))
        [failure] = [found for found in findings if found.verdict is CheckVerdict.FAIL]
        assert failure.check.number == "2.3.13", script
        if script in advice:
            assert failure.advice.startswith(advice[script])


# -- programs in memory: what they say about themselves, and how they write it ------------------------------------


def listing(change: str) -> Mistake:
    return lambda handlers: {"list_commands": lambda arguments: change.replace("ALL", "\n".join(handlers))}


MEMORY: dict[str, Callable[[], MemoryPeer]] = {
    "2.3.7": lambda: plain_peer(listing("ALL\nplay")),
    "2.3.8": lambda: plain_peer(lambda handlers: {"version": lambda arguments: "1\n2"}),
    "2.3.10": lambda: plain_peer(out=lambda data: data[:100_000]),  # more answers than a pipe holds: the last are lost
    "2.3.11": lambda: plain_peer(out=lambda data: data.replace(b"=\n\n", b"= \n\n")),
    "2.5.7": lambda: plain_peer(listing("ALL\nno-such-command")),
    "2.8.4": lambda: plain_peer(listing("ALL\n" + "\n".join(f"x{number}" for number in range(10_000)))),
}
ELSEWHERE = (
    {f"2.4.{n}" for n in range(2, 6)} | {f"2.6.{n}" for n in range(2, 6)} | {"2.7.1", "2.7.2", "2.7.3", "2.3.13"}
)


@pytest.mark.parametrize("number", MEMORY)
def test_a_program_with_one_mistake_in_memory_fails_its_step(number: str) -> None:
    assert failing(MEMORY[number], Who.BOT, number) == {number}
    assert failing(plain_peer, Who.BOT, number) == set()


def test_every_scripted_step_of_framing_has_a_failing_program() -> None:
    scripted = {check.number for check in catalogue(Who.BOT) if check.script and check.number[0] == "2"}
    found = {number for _, expected in MISTAKES.values() for number in expected if number.startswith("2.")}
    assert scripted == found | {*MEMORY} | ELSEWHERE


def test_a_program_that_echoes_no_ids_is_judged_on_all_else() -> None:
    def no_ids(data: bytes) -> bytes:
        return re.sub(rb"^([=?])\d+", rb"\1", data, flags=re.MULTILINE)

    assert failing(lambda: plain_peer(out=no_ids), Who.BOT, "2.1", "2.2", "2.4.1") == {"2.1.3", "2.2.1"}
    found = judged(lambda: plain_peer(out=no_ids), Who.BOT, "2.2", "2.3", "2.5.1")
    assert usable(found)
    assert {one.check.number for one in found if "echoes no ids" in one.note} == {"2.2.2", "2.2.3", "2.2.9"}


def test_our_programs_pass_the_rest_of_framing() -> None:
    for peer, who in ((engine_peer, Who.ENGINE), (bot_peer, Who.BOT), (plain_peer, Who.BOT)):
        assert failing(peer, who, "2", games=("go size=5",) if who is Who.ENGINE else ()) == set()


def test_the_wrong_program_itself_is_wrong(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-I", PROGRAM], input=b"1 name\nquit\n", capture_output=True, timeout=60)
    assert (done.stdout, done.returncode) == (b"=1 Wrong\n\n=\n\n", 0)
