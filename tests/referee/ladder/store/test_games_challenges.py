"""Challenges in the store: played like any pair, counted in no rating, withdrawn once."""

import pytest

from ggp.referee.ladder.store.model import FormatKind, Pair, Pairing, StoreError
from ggp.referee.ladder.store.store import Store
from tests.support.codes import raises
from tests.support.stores import ladder, match, pool

LATER = "2027-01-01T00:00:00Z"


@pytest.fixture
def rows(store: Store) -> dict[str, int]:
    """The ids of a pool and of the unrated one beside it, with all bots in both."""
    both = (pool(), pool().unrated())
    one = ladder(pools=both)
    bots = [type(bot)(bot.name, bot.start, tuple(each.name for each in both)) for bot in one.bots]
    return store.enrol(ladder(bots, both))


def asked(store: Store, rows: dict[str, int], number: int = 2) -> tuple[int, list[Pair]]:
    first, second = (seat.id for seat in store.seats(rows["fast/unrated"])[:2])
    return store.challenge(rows["fast/unrated"], Pairing(first, second), number, "alice", LATER)


def test_a_pool_and_its_unrated_one_never_mix(store: Store, rows: dict[str, int]) -> None:
    assert pool().key != pool().unrated().key
    assert [row.name for row in store.pools()] == ["fast"]
    assert [(row.name, row.rated) for row in store.pools(unrated=True)] == [("fast", True), ("fast/unrated", False)]


def test_a_challenge_is_played_and_counted_for_no_bot(store: Store, rows: dict[str, int]) -> None:
    id, (one, two) = asked(store, rows)
    assert (one.first, one.second) == (two.first, two.second), "the challenger is the first of every pair"
    assert store.open_pairs(rows["fast/unrated"]) == [one, two] and store.open_pairs(rows["fast"]) == []
    store.add([match(one, 0, 0), match(one, 1, 1), match(two, 0, -1, "rules", result="0")])
    row = store.find_challenge(id)
    assert row is not None and (row.owner, row.until, row.reason) == ("alice", LATER, "")
    assert (row.pairs, row.played, row.open, row.wins, row.draws, row.losses, row.games) == (2, 1, 1, 1, 1, 1, 3)
    store.add([match(two, 1, 0, "ply_limit")])
    row = store.find_challenge(id)
    assert row is not None and (row.played, row.open, row.games, row.void) == (2, 0, 3, 1)
    assert store.meetings(rows["fast"]) == [] and store.scores(rows["fast"]) == {} and store.counted(rows["fast"]) == 0
    assert store.past(rows["fast"], FormatKind.LADDER).issued == 0
    assert {game.pool for game in store.games()} == {"fast/unrated"} and store.check().lines == []


def test_a_withdrawn_challenge_is_not_played(store: Store, rows: dict[str, int]) -> None:
    id, (one, two, three) = asked(store, rows, 3)
    store.add([match(one, 0), match(one, 1)])
    assert store.withdraw(id, "by alice", keep=[two.id])
    assert store.open_pairs(rows["fast/unrated"]) == [two]
    assert store.withdraw(id, "another reason") and not store.withdraw(id, "again")
    row = store.find_challenge(id)
    assert row is not None and (row.pairs, row.played, row.open, row.reason) == (3, 1, 0, "by alice")
    store.add([match(three, 0)])
    assert len(list(store.games())) == 2, "a game of a withdrawn pair changes nothing"
    assert store.check().lines == []


def test_only_open_challenges_are_listed_on_request(store: Store, rows: dict[str, int]) -> None:
    first, _ = asked(store, rows)
    second, _ = asked(store, rows)
    store.withdraw(first, "by alice")
    assert [row.id for row in store.challenges(rows["fast/unrated"])] == [first, second]
    assert [row.id for row in store.challenges(only_open=True)] == [second]
    assert [row.id for row in store.challenges(most=1)] == [second] and store.challenges(rows["fast"]) == []


def test_challenges_of_a_version_that_left_are_withdrawn(store: Store, rows: dict[str, int]) -> None:
    id, _ = asked(store, rows)
    store.enrol(ladder(pools=(pool(), pool().unrated())))  # all bots in "fast" alone
    row = store.find_challenge(id)
    assert row is not None and row.open == 0 and store.open_pairs(rows["fast/unrated"]) == []


def test_invalid_challenges_are_refused(store: Store, rows: dict[str, int]) -> None:
    ids = [seat.id for seat in store.seats(rows["fast"])]
    with raises(StoreError, "not-unrated"):
        store.challenge(rows["fast"], Pairing(*ids[:2]), 1, "alice", LATER)
    with raises(StoreError, "no-such-challenge"):
        store.withdraw(7, "by alice")
    assert store.find_challenge(7) is None
