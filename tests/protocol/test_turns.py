"""The turns of a service's sessions: short answers at once, one command after another, slow ones in child processes."""

import errno
import math
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import LateHandler, Responder
from ggp.protocol.transports import turns as turn_taking
from ggp.protocol.transports.turns import PROCESSES, SECONDS, Turns, answer_and_exit

PATIENCE = 60.0  # seconds
SLOW = frozenset({"long", "die", "limits", "wait"})


def die(arguments: list[str]) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def limits(arguments: list[str]) -> str:
    return f"{os.nice(0)} {resource.getrlimit(resource.RLIMIT_CPU)[0]}"


def wait(arguments: list[str]) -> str:
    time.sleep(PATIENCE)
    return ""


class TurnTalker:
    """A session that keeps what it sends; it takes no more answers while `full`."""

    def __init__(self, *lines: str) -> None:
        added: list[str] = []
        self.text: str | None = None  # of the command `later`, None while it is not there
        self.refusal = ""

        def long(arguments: list[str]) -> str:
            added.append("a slow command")
            return f"{len(added)} " + "x" * int(arguments[0])

        handlers: dict[str, LateHandler] = {
            "echo": " ".join,
            "later": lambda arguments: self.later,
            "added": lambda arguments: str(len(added)),
            "long": long,
            "die": die,
            "limits": limits,
            "wait": wait,
        }
        self.responder = Responder("Talker", "1", handlers)
        self.responder.slow = SLOW
        self.said: list[str] = []
        self.full = False
        self.waits = 0
        self.responder.receive("".join(f"{line}\n" for line in lines).encode())

    def later(self) -> str | None:
        if self.refusal:
            raise CommandFailed(self.refusal)
        return self.text

    def send(self, answer: bytes) -> bool:
        self.said.append(answer.decode().strip())
        return not self.full

    def all_answered(self) -> None:
        self.waits += 1


@pytest.fixture
def turns() -> Iterator[Turns]:
    made = Turns()
    yield made
    made.close()


@pytest.fixture
def one_command_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_taking, "MOMENT", -1.0)


def work(turns: Turns, done: Callable[[], bool]) -> None:
    """As a service does, until it is done."""
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until
        if turns.ready:
            turns.step()
        else:
            select.select([turns.descriptor], [], [], 0.05)
        turns.collect()


Children = Callable[[], set[str]]


@pytest.fixture
def children() -> Children:
    """The processes that this one has started since, and has not reaped."""

    def found() -> set[str]:
        return {
            word
            for file in Path("/proc/self/task").glob("*/children")
            for word in file.read_text(encoding="utf-8").split()
        }

    before = found()
    return lambda: found() - before


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_session_answers_all_that_it_can_in_a_moment(turns: Turns) -> None:
    one = TurnTalker("echo a", "echo b")
    turns.add(one)
    assert turns.ready and turns.busy(one)
    turns.step()
    assert (one.said, one.waits, turns.ready, turns.busy(one)) == (["= a", "= b"], 1, False, False)
    turns.collect()
    assert one.waits == 1


def test_a_session_whose_answer_is_not_there_delays_no_other(turns: Turns) -> None:
    one, other = TurnTalker("later", "echo a"), TurnTalker("echo b")
    turns.add(one)
    turns.step()
    assert (one.said, turns.busy(one), turns.ready, turns.idle) == ([], True, False, False)
    assert 0 <= turns.wait < 1
    turns.add(other)
    work(turns, lambda: other.said == ["= b"])
    assert one.said == []
    one.text = "there"
    work(turns, lambda: one.waits == 1)
    assert one.said == ["= there", "= a"] and turns.idle and turns.wait == math.inf


def test_an_answer_that_is_not_there_may_be_refused_and_may_be_forgotten(turns: Turns) -> None:
    one, other = TurnTalker("later"), TurnTalker("later")
    for session in (one, other):
        turns.add(session)
        turns.step()
    one.refusal = "too late"
    work(turns, lambda: one.said == ["? too late"])
    turns.forget(other)
    assert turns.idle and other.said == []


@pytest.mark.usefixtures("one_command_a_turn")
def test_after_its_moment_the_next_session_has_its_turn(turns: Turns) -> None:
    one, two = TurnTalker("echo a", "echo b"), TurnTalker("echo c")
    for session in (one, one, two):  # also of one that waits for its turn already
        turns.add(session)
    turns.step()
    assert one.said == ["= a"] and turns.busy(one)
    turns.step()
    assert two.said == ["= c"]
    turns.step()
    assert one.said == ["= a", "= b"] and one.waits == 0
    work(turns, lambda: bool(one.waits and two.waits))
    assert not turns.ready


def test_a_session_that_takes_no_more_waits_until_it_is_added(turns: Turns) -> None:
    one = TurnTalker("echo a", "echo b")
    one.full = True
    turns.add(one)
    turns.step()
    assert one.said == ["= a"] and not turns.busy(one) and not turns.ready
    one.full = False
    turns.add(one)
    turns.step()
    assert one.said == ["= a", "= b"]


def test_a_slow_command_is_answered_in_order_and_changes_nothing_here(turns: Turns, children: Children) -> None:
    one, other = TurnTalker("echo a", "7 long 200000", "added"), TurnTalker("echo b")
    turns.add(one)
    turns.step()
    assert one.said == ["= a"] and turns.busy(one) and one.responder.held and not one.responder.idle
    turns.add(other)
    turns.step()
    assert other.said == ["= b"]
    work(turns, lambda: bool(one.waits))
    assert one.said == ["= a", "=7 1 " + "x" * 200_000, "= 0"]
    assert one.responder.idle and not children()


def test_the_process_of_a_slow_command_is_bounded_and_gives_way(turns: Turns) -> None:
    one = TurnTalker("limits")
    turns.add(one)
    work(turns, lambda: bool(one.waits))
    assert one.said == [f"= {min(19, os.nice(0) + 10)} {SECONDS}"]


def test_a_slow_command_whose_process_was_ended_is_refused(turns: Turns) -> None:
    one = TurnTalker("3 die", "echo a")
    turns.add(one)
    work(turns, lambda: bool(one.waits))
    assert one.said == [f"?3 this took more than {SECONDS} s of processor time, or too much memory", "= a"]


def test_a_session_that_takes_no_more_after_a_slow_answer_waits(turns: Turns) -> None:
    one = TurnTalker("long 1", "echo a")
    one.full = True
    turns.add(one)
    work(turns, lambda: bool(one.said))
    assert one.said == ["= 1 x"] and not turns.ready and not turns.busy(one)


def test_a_bound_on_processes_and_an_ended_session_frees_one(turns: Turns, children: Children) -> None:
    before = descriptors()
    many = [TurnTalker("wait") for _ in range(PROCESSES)]
    late, gone = TurnTalker("long 1"), TurnTalker("wait")
    for session in (*many, late, gone):
        turns.add(session)
        turns.step()
    running = children()
    assert len(running) == PROCESSES
    turns.collect()
    assert not late.said
    turns.forget(gone)  # it waits
    turns.forget(many[1])  # its process runs
    assert len(children() & running) == PROCESSES - 1
    work(turns, lambda: bool(late.waits))
    assert late.said == ["= 1 x"]
    for session in (*many, gone):
        turns.forget(session)  # also those that are forgotten already
    assert not children() and descriptors() == before
    assert not any(session.said for session in (*many, gone))


def test_what_runs_ends_with_the_turns(children: Children) -> None:
    turns, one = Turns(), TurnTalker("wait")
    turns.add(one)
    turns.step()
    assert len(children()) == 1
    turns.close()
    assert not children()


@pytest.mark.parametrize("full", [False, True])
def test_a_slow_command_is_refused_where_no_process_can_start(
    turns: Turns, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    def fork() -> NoReturn:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    before = descriptors()
    one = TurnTalker("5 long 1", "echo a")
    one.full = full
    monkeypatch.setattr(os, "fork", fork)
    turns.add(one)
    turns.step()
    refusal = "?5 cannot start a process for this command: Resource temporarily unavailable"
    assert one.said == [refusal] and turns.ready is not full and descriptors() == before
    if not full:
        turns.step()
        assert one.said == [refusal, "= a"]


class Exited(BaseException):
    """In place of the end of this process."""


@pytest.mark.parametrize("broken", [False, True], ids=["", "the answer is not read"])
def test_a_child_is_bounded_before_it_answers_and_always_exits(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    calls: list[tuple[object, ...]] = []

    def noted(name: str) -> Callable[..., None]:
        return lambda *arguments: calls.append((name, *arguments))

    def leave(status: int) -> NoReturn:
        raise Exited(status)

    def answer(arguments: list[str]) -> str:
        calls.append(("answer",))
        return "x" * 1000

    responder = Responder("Child", "1", {"wait": answer})
    responder.slow = SLOW
    responder.receive(b"4 wait\n")
    assert responder.next_answer() is None
    monkeypatch.setattr(turn_taking, "end_with_parent", noted("end with parent"))
    monkeypatch.setattr(signal, "set_wakeup_fd", noted("wakeup"))
    monkeypatch.setattr(signal, "signal", noted("signal"))
    monkeypatch.setattr(os, "nice", noted("nice"))
    monkeypatch.setattr(resource, "setrlimit", noted("limit"))
    monkeypatch.setattr(os, "_exit", leave)
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file:
        if broken:
            file.close()
        with pytest.raises(Exited, match="0"):
            answer_and_exit(responder, write)
        os.close(write)
        assert broken or file.read() == b"=4 " + b"x" * 1000 + b"\n\n"
    assert calls == [
        ("end with parent", signal.SIGKILL),
        ("wakeup", -1),
        ("signal", signal.SIGINT, signal.SIG_DFL),
        ("signal", signal.SIGTERM, signal.SIG_DFL),
        ("nice", 10),
        ("limit", resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        ("answer",),
    ]
    assert responder.slow == SLOW
