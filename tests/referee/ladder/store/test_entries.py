"""Entries: bots join, leave, return, are replaced by new versions, suspended and readmitted."""

import pytest

from ggp.referee.ladder.store.model import FormatKind, Pairing, PoolEntry, StoreError
from ggp.referee.ladder.store.store import Store
from tests.support.codes import raises
from tests.support.stores import entrant, ladder, match, pool


def test_a_new_version_takes_the_name(store: Store) -> None:
    (id,) = store.enrol(ladder(["ann", "bob"])).values()
    assert store.enrol(ladder([entrant("ann", "v2"), "bob"])) == {"fast": id}
    seats = _seats(store, id)
    assert list(seats) == ["ann@v1", "bob", "ann"]
    assert (seats["ann"].version, seats["ann"].active, seats["ann"].parent) == ("v2", True, seats["ann@v1"].id)
    assert (seats["ann@v1"].version, seats["ann@v1"].active) == ("v1", False)


def test_a_returning_version_is_the_same_and_gets_its_name_back(store: Store) -> None:
    (id,) = store.enrol(ladder(["ann", "bob"])).values()
    first = _seats(store, id)["ann"]
    store.enrol(ladder([entrant("ann", "v2"), "bob"]))
    store.enrol(ladder(["ann", "bob"]))
    seats = _seats(store, id)
    assert seats["ann"] == first
    assert not seats["ann@v2"].active and seats["ann@v2"].parent == first.id


def test_a_parent_is_named_or_the_version_before(store: Store) -> None:
    (id,) = store.enrol(ladder([entrant("new", parent="old"), "old"])).values()
    seats = _seats(store, id)
    assert seats["new"].parent == seats["old"].id and seats["old"].parent is None
    store.enrol(ladder([entrant("new", "v2", parent="old"), entrant("old", "v2")]))
    seats = _seats(store, id)
    assert seats["new"].parent == seats["old"].id, "the current version of the parent"
    assert seats["old"].parent == seats["old@v1"].id


def test_a_parent_that_left_is_still_a_parent(store: Store) -> None:
    (id,) = store.enrol(ladder(["old", "bob"])).values()
    store.enrol(ladder([entrant("new", parent="old"), "bob"]))
    seats = _seats(store, id)
    assert seats["new"].parent == seats["old"].id and not seats["old"].active


def test_an_unknown_parent_is_an_error(store: Store) -> None:
    with raises(StoreError, "no-such-parent"):
        store.enrol(ladder([entrant("new", parent="nobody")]))
    assert store.pools() == [] and store.events() == [], "nothing is half done"


def test_an_anchor_may_change(store: Store) -> None:
    for anchor in (None, 1200.0, None):
        (id,) = store.enrol(ladder([entrant("ann", anchor=anchor), "bob"])).values()
        assert _seats(store, id)["ann"].anchor == anchor


def test_open_pairs_of_a_version_that_left_are_withdrawn(store: Store) -> None:
    (id,) = store.enrol(ladder(["ann", "bob", "cat"])).values()
    ann, bob, cat = (seat.id for seat in store.seats(id))
    pairs = store.issue(id, 0, [Pairing(ann, bob), Pairing(bob, cat), Pairing(cat, ann)])
    store.add([match(pairs[0], 0)])
    store.enrol(ladder([entrant("ann", "v2"), "bob", "cat"]))
    assert [pair.number for pair in store.open_pairs(id)] == [1]
    past = store.past(id, FormatKind.TEST)
    assert [result and (result.points, len(result.meetings)) for _, result in past.recent] == [
        (None, 1),
        None,
        (None, 0),
    ]
    assert [result.number for result in past.results] == [0, 2]
    assert store.add([match(pairs[0], 1), match(pairs[2], 0)]) == [], "results of the old run are dropped"
    assert store.totals().games == 1 and store.check().lines == []
    (withdrawn,) = [event for event in store.events() if event.kind == "withdrawn"]
    assert withdrawn.text.startswith("2 pairs")


def test_open_pairs_stay_when_nothing_changes(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    ann, bob, *_ = (seat.id for seat in store.seats(id))
    pairs = store.issue(id, 0, [Pairing(ann, bob)])
    before = store.events()
    assert store.enrol(ladder()) == {"fast": id}
    assert store.open_pairs(id) == pairs and store.events() == before


def test_events_name_bots_that_join_and_leave(store: Store) -> None:
    store.enrol(ladder(["ann", "bob"]))
    store.enrol(ladder([entrant("ann", "v2"), "cat"]))
    store.enrol(ladder([entrant("ann", "v2"), "cat", "bob"]))
    assert [(event.kind, event.text) for event in store.events()] == [
        ("joined", "ann (v1) in fast"),
        ("joined", "bob (v1) in fast"),
        ("replaced", "ann in fast: v1 by v2"),
        ("joined", "cat (v1) in fast"),
        ("left", "bob (v1) in fast"),
        ("joined", "bob (v1) in fast"),
    ]


def test_a_pool_with_other_options_is_another_pool(store: Store) -> None:
    first = store.enrol(ladder(["ann", "bob"]))["fast"]
    ann, bob = (seat.id for seat in store.seats(first))
    store.issue(first, 0, [Pairing(ann, bob)])
    second = store.enrol(ladder(["ann", "bob"], [pool(size="9")]))["fast"]
    assert first != second
    assert [row.name for row in store.pools()] == [f"fast@{pool().key}", "fast"]
    assert store.open_pairs(first) == [] and not any(seat.active for seat in store.seats(first))
    assert all(seat.active for seat in store.seats(second))
    assert store.enrol(ladder(["ann", "bob"]))["fast"] == first, "it takes its name back"
    assert [row.name for row in store.pools()] == ["fast", f"fast@{pool(size='9').key}"]


def test_a_bot_is_seated_only_in_its_pools(store: Store) -> None:
    pools = [pool("a", size="5"), pool("b", size="7")]
    both = ("a", "b")
    ids = store.enrol(
        ladder([entrant("ann", pools=both), entrant("bob", pools=both), entrant("cat", pools=["b"])], pools)
    )
    assert list(_seats(store, ids["a"])) == ["ann", "bob"]
    assert list(_seats(store, ids["b"])) == ["ann", "bob", "cat"]
    assert _seats(store, ids["a"])["ann"].id == _seats(store, ids["b"])["ann"].id


def test_a_suspended_version_is_inactive_until_it_is_readmitted(store: Store) -> None:
    pools = [pool("a", size="5"), pool("b", size="7")]
    both = ("a", "b")
    ids = store.enrol(ladder([entrant("ann", pools=both), entrant("bob", pools=both)], pools))
    ann = _seats(store, ids["a"])["ann"]
    store.suspend(ann.id, "hangs", ids["a"])
    assert _seats(store, ids["a"])["ann"].suspended == "hangs" and not _seats(store, ids["a"])["ann"].active
    assert _seats(store, ids["b"])["ann"].active
    store.suspend(ann.id, "hangs everywhere")
    assert _seats(store, ids["a"])["ann"].suspended == "hangs", "the first reason stays"
    assert _seats(store, ids["b"])["ann"].suspended == "hangs everywhere"
    store.enrol(ladder([entrant("ann", pools=both), entrant("bob", pools=both)], pools))
    assert not _seats(store, ids["a"])["ann"].active, "the same version stays suspended"
    assert store.readmit("ann") and _seats(store, ids["a"])["ann"].active and _seats(store, ids["b"])["ann"].active
    assert not store.readmit("ann") and not store.readmit("nobody")
    said = [(event.kind, event.text) for event in store.events() if event.kind != "joined"]
    assert said == [
        ("suspended", "ann in a: hangs"),
        ("suspended", "ann: hangs everywhere"),
        ("readmitted", "ann"),
    ]


def test_a_new_version_is_not_suspended(store: Store) -> None:
    (id,) = store.enrol(ladder(["ann", "bob"])).values()
    store.suspend(_seats(store, id)["ann"].id, "hangs")
    store.enrol(ladder([entrant("ann", "v2"), "bob"]))
    seats = _seats(store, id)
    assert seats["ann"].active and seats["ann@v1"].suspended == "hangs"
    assert store.readmit("ann@v1")
    assert not _seats(store, id)["ann@v1"].active, "it has left"


@pytest.mark.parametrize("name", ["", " ann", "a@b", "x" * 101, "tab\t", "nul\0"])
def test_invalid_names_are_refused(store: Store, name: str) -> None:
    for entry in (ladder([name, "bob"]), ladder([entrant("ann", pools=[name])], [pool(name)])):
        with raises(StoreError, "bad-name"):
            store.enrol(entry)
    assert store.pools() == []


def test_a_bot_without_a_version_is_refused(store: Store) -> None:
    with raises(StoreError, "no-version"):
        store.enrol(ladder([entrant("ann", "")]))


def test_the_longest_names_and_labels_fit(store: Store) -> None:
    name = "ü" * 100
    for version in ("0123456789ab", "ba9876543210"):
        (id,) = store.enrol(ladder([entrant(name, version, [name])], [pool(name)])).values()
    assert list(_seats(store, id)) == [f"{name}@0123456789ab", name]


def _seats(store: Store, pool: int) -> dict[str, PoolEntry]:
    return {seat.label: seat for seat in store.seats(pool)}
