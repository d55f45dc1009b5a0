"""Fronts of a lobby that share a store: who runs, which bot is where, who plays which pair, what a dead one leaves."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from ggp.referee.ladder.store import entries
from ggp.referee.ladder.store.model import Locked, Pair, StoreError, Taken
from ggp.referee.ladder.store.schema import fronts as table
from ggp.referee.ladder.store.store import Store
from tests.support.codes import raises
from tests.support.stores import entrant, ladder, match, pairings


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def other(url: str, store: Store) -> Iterator[Store]:
    """The same store, as another process has it open."""
    with Store.open(url) as opened:
        yield opened


def ended(store: Store, name: str, pid: int) -> None:
    """As if the process of this front had ended."""
    with store.database.writing() as connection:
        connection.execute(table.update().where(table.c.name == name).values(pid=pid, started=1))


def silent(store: Store, name: str, seconds: int) -> None:
    """As if this front ran on another machine and said nothing for so long."""
    with store.database.writing() as connection:
        beat = entries.clock(connection) - seconds
        connection.execute(table.update().where(table.c.name == name).values(space="elsewhere", beat=beat))


def issued(store: Store, number: int, front: str = "") -> tuple[int, list[Pair]]:
    (pool,) = store.enrol(ladder()).values()
    return pool, store.issue(pool, None, pairings(store, pool, number), front)


def test_a_front_runs_once(store: Store, other: Store, dead: int) -> None:
    store.join_front("a", "serve")
    other.join_front("b", "serve")
    assert store.running()
    ended(store, "b", dead)
    other.join_front("b", "serve again")
    silent(store, "a", 0)
    with raises(Locked, "store-locked"):
        other.join_front("a", "serve")
    silent(store, "a", entries.FRONT_SILENCE + 5)
    other.join_front("a", "serve")
    with raises(Taken, "lock-lost"):
        silent(store, "b", 0)
        other.renew_front("b", "", True)


def test_fronts_and_a_ladder_exclude_each_other(store: Store, other: Store, dead: int) -> None:
    store.join_front("a", "serve")
    silent(store, "a", 0)
    with raises(Locked, "store-locked"):
        other.take_lock("run")
    with raises(Locked, "store-locked"):
        other.repair()
    ended(store, "a", dead)
    silent(store, "a", entries.FRONT_SILENCE + 5)
    assert not store.running()
    other.take_lock("run")
    store.join_front("a", "serve")  # the lock is this process's own
    other.release_lock()


def test_a_bot_is_at_one_front(store: Store) -> None:
    for name in "ab":
        store.join_front(name, "serve")
        store.renew_front(name, f"tcp://{name}", True)
    many = [f"bot-{number}" for number in range(1200)]
    assert store.lease("a", ["ann", *many], []) == {}
    assert store.lease("a", ["ann"], []) == {}
    assert store.lease("b", ["ann", "bob"], []) == {"ann": "tcp://a"}
    assert store.elsewhere("b", ["ann", "bob", "cat"]) == {"ann"}
    assert store.lease("b", [], ["ann"]) == {}, "no front ends what another has"
    assert store.lease("b", ["ann"], []) == {"ann": "tcp://a"}
    assert store.lease("a", [], ["ann", *many]) == {}
    assert store.lease("b", ["ann", *many], []) == {}
    removed, others = store.renew_front("a", "tcp://a", True)
    assert not removed and [(one.name, one.url, one.bots) for one in others] == [("b", "tcp://b", 1202)]


def test_a_front_that_ended_leaves_its_bots_and_pairs_to_others(store: Store, dead: int) -> None:
    for name in "ab":
        store.join_front(name, "serve")
    pool, pairs = issued(store, 2, "a")
    assert store.lease("a", ["ann"], []) == {}
    assert store.claim("b", [one.id for one in pairs]) == set()
    ended(store, "a", dead)
    assert store.renew_front("b", "tcp://b", False)[1] == [], "a process of this machine is seen to have ended"
    assert store.lease("b", ["ann"], []) == {}
    assert store.claim("b", [one.id for one in pairs]) == {one.id for one in pairs}
    assert [one.id for one in store.open_pairs(pool, "a")] == []


def test_who_was_cut_off_itself_judges_no_other(store: Store) -> None:
    for name in "ab":
        store.join_front(name, "serve")
    store.lease("a", ["ann"], [])
    silent(store, "a", entries.FRONT_SILENCE + 5)
    _, others = store.renew_front("b", "", False)
    assert [one.name for one in others] == ["a"]
    assert store.lease("b", ["ann"], []) == {"ann": ""}
    assert store.renew_front("b", "", True)[1] == []
    assert store.lease("b", ["ann"], []) == {}
    removed, others = store.renew_front("a", "tcp://a", True)
    assert removed and [one.name for one in others] == ["b"], "it learns that it was taken for dead"
    assert store.renew_front("a", "tcp://a", True)[0] is False


def test_an_orderly_end_leaves_nothing(store: Store) -> None:
    store.join_front("a", "serve")
    pool, _ = issued(store, 2, "a")
    store.lease("a", ["ann"], [])
    store.leave_front("a")
    store.leave_front("a")
    assert not store.running() and len(store.open_pairs(pool, "b")) == 2
    assert store.lease("b", ["ann"], []) == {}


def test_a_pair_is_one_front_s(store: Store) -> None:
    pool, (first, second, third) = issued(store, 3, "a")
    assert [one.batch for one in store.issue(pool, None, pairings(store, pool, 1), "b")] == [1]
    store.disclaim("a", [second.id])
    assert second.id in store.claim("b", [first.id, second.id])
    assert [one.id for one in store.open_pairs(pool, "a")] == [first.id, third.id]
    assert {one.id for one in store.open_pairs(pool)} >= {first.id, second.id, third.id}, "a single lobby has all"
    among = [third.first, third.second]
    assert third.id in {one.id for one in store.open_pairs(pool, "a", among)}
    assert store.open_pairs(pool, "a", among[:1]) == []
    store.disclaim("a", None, [third.id])
    assert first.id in store.claim("b", [first.id, third.id]) and third.id not in store.claim("b", [third.id])
    store.add([match(first, 0, 0), match(first, 1, 1)])
    assert store.claim("b", [first.id]) == set(), "it was played"
    assert store.add([match(first, 0, 1)]) == [] and store.totals(pool).games == 2, "nothing counts twice"


def test_a_front_enters_bots_beside_those_of_others(store: Store) -> None:
    club = ladder(["ann", "bob"])
    (pool,) = store.enrol(club).values()
    store.enrol(ladder(["cat"]), more=True)
    assert {one.name for one in store.seats(pool) if one.active} == {"ann", "bob", "cat"}
    (pair, *_) = store.issue(pool, None, pairings(store, pool, 1))
    store.enrol(ladder([entrant("ann", "v2")]), more=True)
    seats = {(one.name, one.version): one.active for one in store.seats(pool)}
    assert seats == {("ann", "v1"): False, ("ann", "v2"): True, ("bob", "v1"): True, ("cat", "v1"): True}
    assert pair.id not in {one.id for one in store.open_pairs(pool)}, "the first version of ann plays no more"
    assert store.enrol(ladder([]), more=True)["fast"] == pool
    with raises(StoreError, "bad-name"):
        store.enrol(ladder(["no@name"]), more=True)
