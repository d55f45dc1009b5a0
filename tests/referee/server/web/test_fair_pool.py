"""Threads that visitors share: how many each has, whose turn it is, what is charged, and who waits in vain."""

import threading
from concurrent.futures import Future

import pytest

from ggp.referee.server.web.fair_pool import FairPool, PoolBusy
from tests.support.cli import wait_until

PATIENCE = 60


class Calls:
    """A pool whose calls run until they are let go; its clock is `now`."""

    def __init__(self, threads: int, each: int, queued: int = 100) -> None:
        self.now, self.begun, self.gates = 0.0, list[str](), dict[str, threading.Event]()
        self.charged = dict[str, float]()
        self.pool = FairPool(threads, "test", each, queued, lambda: self.now)

    def ask(self, who: str, name: str = "") -> "Future[str]":
        gate = self.gates[name or who] = threading.Event()

        def call() -> str:
            self.begun.append(name or who)
            assert gate.wait(PATIENCE)
            return name or who

        return self.pool.submit(who, call, lambda spent: self.charged.__setitem__(who, spent))

    def let_go(self, name: str) -> None:
        self.gates[name].set()

    def wait(self, begun: list[str]) -> None:
        wait_until(lambda: self.begun == begun, PATIENCE)


def test_a_visitor_has_few_threads_whatever_it_asks_for_and_another_has_one_at_once() -> None:
    calls = Calls(threads=4, each=2)
    attack = [calls.ask("attacker", f"a{number}") for number in range(50)]
    calls.wait(["a0", "a1"])
    visitor = calls.ask("visitor", "v")
    calls.wait(["a0", "a1", "v"])
    calls.let_go("v")
    assert visitor.result(PATIENCE) == "v"
    for number in range(50):
        calls.let_go(f"a{number}")
    assert [one.result(PATIENCE) for one in attack] == [f"a{number}" for number in range(50)]


def test_those_who_wait_take_turns() -> None:
    calls = Calls(threads=1, each=1)
    names = ["a1", "a2", "a3", "b1", "b2", "c1"]
    found = [calls.ask(name[0], name) for name in names]
    for name in names:
        calls.let_go(name)
    assert sorted(one.result(PATIENCE) for one in found) == names
    assert calls.begun == ["a1", "a2", "b1", "c1", "a3", "b2"]


def test_a_queue_has_an_end_and_who_gave_up_is_no_longer_in_it() -> None:
    calls = Calls(threads=1, each=1, queued=2)
    first, second, third = (calls.ask("a", name) for name in ("a1", "a2", "a3"))
    with pytest.raises(PoolBusy):
        calls.ask("a", "a4")
    calls.ask("b", "b1")
    assert second.cancel()
    fourth = calls.ask("a", "a5")
    for name in ("a1", "a2", "a3", "a5", "b1"):
        calls.let_go(name)
    assert [one.result(PATIENCE) for one in (first, third, fourth)] == ["a1", "a3", "a5"]
    assert "a2" not in calls.begun


def test_the_time_of_a_call_is_charged_even_if_it_fails() -> None:
    calls = Calls(threads=1, each=1)

    def fails() -> None:
        calls.now = 1.5
        raise ValueError("no")

    charged = list[float]()
    with pytest.raises(ValueError, match="no"):
        calls.pool.submit("a", fails, charged.append).result(PATIENCE)
    assert charged == [1.5]


def test_threads_that_never_end_are_not_replaced() -> None:
    calls = Calls(threads=2, each=2)
    before = threading.active_count()
    for number in range(20):
        calls.ask(f"visitor {number}")
    assert threading.active_count() <= before + 2
    for gate in calls.gates.values():
        gate.set()
