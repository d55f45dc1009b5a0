"""Lists of matches: filters, order, memory."""

import random
import tracemalloc
from dataclasses import replace
from itertools import product

import pytest

from ggp.referee.ladder.store.model import GameRow, Pairing, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.records import pack
from tests.support.codes import raises
from tests.support.stores import entrant, ladder, match, pool


@pytest.fixture
def played(store: Store) -> Store:
    """Two pools, four bots, of which ann came in two versions; 80 matches that ended in all sorts of ways."""
    chance = random.Random(4)
    pools = [pool("a", size="5"), pool("b", size="7")]
    for batch, version in enumerate(("v1", "v2")):
        bots = [
            entrant("ann", version, ("a", "b")),
            *(entrant(name, pools=("a", "b")) for name in ("bob", "cat", "dan")),
        ]
        for id in store.enrol(ladder(bots, pools)).values():
            names = {seat.id: seat.label for seat in store.seats(id) if seat.active}
            for pair in store.issue(id, batch, [Pairing(*chance.sample(list(names), 2)) for _ in range(10)]):
                both = names[pair.first], names[pair.second]
                ends = [chance.choice(["rules", "time", "ply_limit"]) for _ in range(2)]
                winners = [-1 if end == "ply_limit" else chance.choice((0, 1)) for end in ends]
                store.add([match(pair, game, winners[game], ends[game], names=both) for game in (0, 1)])
    return store


def _means(name: str, label: str) -> bool:
    """Whether a name that was asked for means the version of this label."""
    return label.partition("@")[0] == name if "@" not in name else label == name


@pytest.mark.slow
def test_filters_equal_a_search_of_all_matches(played: Store) -> None:
    pools, bots, opponents = (None, "a", "b"), (None, "ann", "ann@v1", "bob"), (None, "bob", "ann")
    for newest, at, bot, opponent in product((True, False), pools, bots, opponents):
        _hold_filters(played, newest, at, bot, opponent)


def _hold_filters(played: Store, newest: bool, at: str | None, bot: str | None, opponent: str | None) -> None:
    def wanted(row: GameRow, termination: str | None) -> bool:
        sides = ((row.first, row.second), (row.second, row.first))
        met = any(
            (bot is None or _means(bot, one)) and (opponent is None or _means(opponent, other)) for one, other in sides
        )
        return met and at in (None, row.pool) and termination in (None, row.termination)

    all_games = sorted(played.games(), key=lambda row: row.id, reverse=newest)
    assert len(all_games) == 80
    for termination in (None, "time", "nothing"):
        should = [row for row in all_games if wanted(row, termination)]
        for limit in (None, 0, 3):
            found = list(played.games(at, bot, against=opponent, termination=termination, limit=limit, newest=newest))
            assert found == should[:limit]
    assert [row for row, _ in played.records(at, bot, against=opponent, newest=newest)] == [
        row for row in all_games if wanted(row, None)
    ]


def test_unknown_names_are_an_error_at_once(played: Store) -> None:
    with raises(StoreError, "no-such-bot"):
        played.games(bot="eve")
    with raises(StoreError, "no-such-bot"):
        played.records(against="ann@v9")
    with raises(StoreError, "no-such-pool"):
        played.games(pool="c")


def test_pages_are_joined(played: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(played.games(bot="ann"))
    monkeypatch.setattr("ggp.referee.ladder.store.store._PAGE", 3)
    assert list(played.games(bot="ann")) == whole


@pytest.mark.slow
def test_a_long_list_takes_little_memory(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    one, two, *_ = (seat.id for seat in store.seats(id))
    data = pack(random.Random(1).randbytes(20_000))
    pairs = store.issue(id, 0, [Pairing(one, two)] * 1000)
    for start in range(0, 1000, 100):
        games = [match(pair, game) for pair in pairs[start : start + 100] for game in (0, 1)]
        store.add([replace(one, result=replace(one.result, record=data)) for one in games])
    tracemalloc.start()
    try:
        total = sum(len(lines) for _, lines in store.records())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == 40_000_000
    assert most < total / 4
