"""The audit: it reports what was changed by hand, and repairs all that follows from the records."""

import sqlite3
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table

from ggp.referee.ladder.standings import BotScore
from ggp.referee.ladder.store import schema
from ggp.referee.ladder.store.counts import COLUMNS
from ggp.referee.ladder.store.database import Database
from ggp.referee.ladder.store.model import FormatKind, Locked, Pairing, PairScore, StoreError, UnplayablePair
from ggp.referee.ladder.store.store import Store
from ggp.referee.records import pack
from tests.support.codes import raises
from tests.support.stores import ladder, match, meetings_in, pairings, scores

Spoil = Callable[[Connection], object]


@pytest.fixture
def played(store: Store) -> Store:
    """A ladder with whole, half and unplayable pairs, void attempts and forfeits, in two batches."""
    (id,) = store.enrol(ladder()).values()
    names = {seat.id: seat.name for seat in store.seats(id)}
    for batch in (0, 1):
        pairs = store.issue(id, batch, pairings(store, id, 6))
        for pair in pairs[:4]:
            both = names[pair.first], names[pair.second]
            store.add([match(pair, 0, names=both), match(pair, 1, pair.number % 3 - 1, names=both)])
        both = names[pairs[4].first], names[pairs[4].second]
        void = match(pairs[4], 0, -1, "stalled", result="", culprit=both[1], names=both)
        late = match(pairs[4], 0, 0, "time", attempt=1, names=both)
        store.add([void, late, match(pairs[4], 1, -1, "ply_limit", names=both)])
        store.add([], [UnplayablePair(pairs[5], None, "engine")])
    return store


@pytest.mark.slow
def test_an_intact_store_has_no_findings(played: Store) -> None:
    found = played.check()
    assert (found.lines, found.beyond, found.matches) == ([], 0, 22)
    assert played.repair().lines == []


def test_a_match_adjudicated_at_the_limit_on_plies_is_won_by_play(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    names = {seat.id: seat.name for seat in store.seats(id)}
    (pair,) = store.issue(id, 0, pairings(store, id, 1))
    both = names[pair.first], names[pair.second]
    store.add([match(pair, game, 0, "ply_limit", result="B+1", names=both) for game in (0, 1)])
    assert [(score.wins, score.losses) for score in store.meetings(id)] == [(1, 0), (0, 1)]
    assert store.check().lines == []


def test_scores_are_the_sums_of_the_meetings(played: Store) -> None:
    (pool,) = [row.id for row in played.pools()]
    found = {version: BotScore(*counts) for version, counts in played.scores(pool).items()}
    assert found == scores(played.meetings(pool))
    together = sum(found.values(), BotScore())
    assert (together.games, together.void, together.forfeits, together.gifts) == (36, 4, 2, 2)
    assert meetings_in(played.meeting_counts(pool)) == [astuple(met) for met in played.meetings(pool)]
    for seat in played.seats(pool):
        newest = [(game.key, game.seat) for game in played.newest_of(pool, seat.id, 5)]
        listed = list(played.games(pool, bot=seat.id, limit=5))
        assert newest == [(row.key, 1 if row.first == seat.label else 2) for row in listed]


def _update(table: Table, **values: object) -> Spoil:
    return lambda connection: connection.execute(table.update().where(next(iter(table.c)) == 1).values(values))


SPOILT: dict[str, tuple[Spoil, str]] = {
    "result": (_update(schema.games, result="W+9"), "result is 'W+9', by its record"),
    "winner": (_update(schema.games, winner=0), "winner is 0, by its record"),
    "finished": (_update(schema.games, finished=False), "finished is False, by its record True"),
    "culprit": (_update(schema.games, culprit=-1), "culprit is -1, by its record 0"),
    "plies": (_update(schema.games, plies=99), "plies is 99, by its record 2"),
    "time": (_update(schema.games, ms2=99), "ms2 is 99, by its record 2"),
    "points": (_update(schema.pairs, points=0.25), "pair 0 of pool 1 is played with games 11 and points 0.25"),
    "state": (_update(schema.pairs, state="issued"), "pair 0 of pool 1 is issued with games 11"),
    "done": (_update(schema.pairs, done=1), "pair 0 of pool 1 is played with games 01"),
    "tallies": (lambda at: at.execute(schema.tallies.update().values(wins=7)), "tallies of pool 1, first 1, second 2"),
    "no tallies": (lambda at: at.execute(schema.tallies.delete()), "nothing, by the games"),
    "scores": (_update(schema.scores, gifts=5), "scores of pool 1, version 1: {"),
    "no scores": (lambda at: at.execute(schema.scores.delete()), "scores of pool 1, version 2: nothing, by the games"),
    "endings": (lambda at: at.execute(schema.endings.delete()), "endings of pool 1, termination ply_limit"),
    "pools": (_update(schema.pools, played=3), "pool fast has 3 pairs played, by its pairs 10"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SPOILT)
def test_a_changed_row_is_reported_and_repaired(played: Store, url: str, what: str) -> None:
    before = _all(played)
    spoil, line = SPOILT[what]
    _by_hand(url, spoil)
    found = played.check()
    assert any(line in said for said in found.lines), found.lines
    assert found.beyond == 0
    assert _all(played) != before, "checking mends nothing"
    mended = played.repair().lines
    assert mended and set(mended) <= set(found.lines), "what is derived from a match is right once the match is"
    assert played.check().lines == []
    assert _all(played) == before


def test_a_changed_record_is_reported_and_its_match_unchanged(played: Store, url: str) -> None:
    (row, lines), *_ = played.records(newest=False)
    played.repair()  # the moves of these games were unknown
    before = _all(played)
    forged = lines.replace(b'"move":"A1"', b'"move":"B1"')
    assert forged != lines
    _by_hand(url, _update(schema.records, data=pack(forged)))
    found = played.check()
    assert len(found.lines) == found.beyond == 1 and row.key in found.lines[0] and "was changed" in found.lines[0]
    assert played.repair().lines == found.lines
    assert _all(played) == before


@pytest.mark.parametrize("data", [b"", b"not packed", pack(b"x" * 1000)[:-5], pack(b"")])
def test_a_damaged_record_is_reported(played: Store, url: str, data: bytes) -> None:
    _by_hand(url, _update(schema.records, data=data))
    found = played.check()
    assert found.beyond == 1 and "its record is not whole" in found.lines[0]


@pytest.mark.slow
def test_a_record_of_another_match_is_reported(played: Store, url: str) -> None:
    (_, other), *_ = played.records()
    _by_hand(url, _update(schema.records, data=pack(other)))
    found = played.check()
    assert any("its record is of test-1-" in line for line in found.lines) and found.beyond


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        ("delete from pools", "its pool is not in the store"),
        ("update games set pool = 99", "its pool is not in the store"),
        ("delete from versions where label = 'ann'", "the version of seat 1 is not in the store"),
        ("update games set second = 99", "the version of seat 2 is not in the store"),
    ],
)
def test_a_match_whose_pool_or_bot_is_gone_is_reported(tmp_path: Path, damage: str, line: str) -> None:
    """SQLite lets another program do that."""
    with Store.open(f"sqlite:///{tmp_path}/club.db", create=True) as store:
        (id,) = store.enrol(ladder()).values()
        names = {seat.id: seat.name for seat in store.seats(id)}
        for pair in store.issue(id, 0, pairings(store, id, 6)):
            store.add([match(pair, game, names=(names[pair.first], names[pair.second])) for game in (0, 1)])
        other = sqlite3.connect(tmp_path / "club.db")
        other.execute(damage)
        other.commit()
        other.close()
        found = store.check()
        with raises(StoreError, "store-damaged"):
            store.repair()
    assert any(said.endswith(line) for said in found.lines) and found.beyond


@pytest.mark.slow
def test_a_match_of_another_pair_is_reported(played: Store, url: str) -> None:
    _by_hand(url, _update(schema.games, pair=2))
    lines = played.check().lines
    assert any("test-1-0-1: it is stored as game 1 of pair 1" in line for line in lines)
    assert any("game 0 of the pair with id 2 is finished twice" in line for line in lines)


@pytest.mark.slow
def test_no_repair_while_a_ladder_runs(played: Store, url: str) -> None:
    played.take_lock("run")
    assert played.repair().lines == [], "one's own run is no hindrance"
    _by_hand(url, _update(schema.run_lock, host="elsewhere"))
    with raises(Locked, "store-locked"):
        played.repair()


_GAMES = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.integers(0, 1),
        st.sampled_from([-1, 0, 1]),
        st.sampled_from(["rules", "resignation", "time", "illegal_move", "ply_limit", "engine_failed"]),
    ),
    max_size=24,
)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(games=_GAMES, cuts=st.lists(st.integers(1, 6), max_size=20))
def test_meetings_equal_a_count_of_every_match(
    store: Store, games: list[tuple[int, int, int, str]], cuts: list[int]
) -> None:
    """In any order, in any groups, delivered again: the same as looking at all matches."""
    (id,) = store.enrol(ladder()).values()
    names = {seat.id: seat.name for seat in store.seats(id)}
    ids = list(names)
    batch = store.past(id, FormatKind.LADDER).batches
    pairs = store.issue(
        id, batch, [Pairing(ids[number % 4], ids[(number + 1 + number // 4) % 4]) for number in range(8)]
    )
    finished = []
    for number, game, winner, termination in games:
        winner = -1 if termination in ("ply_limit", "engine_failed") else winner
        termination = "rules" if winner < 0 and termination not in ("ply_limit", "engine_failed") else termination
        both = names[pairs[number].first], names[pairs[number].second]
        finished.append(match(pairs[number], game, winner, termination, names=both))
    before = _counted(store.meetings(id))
    left = list(finished)
    while left:
        size = cuts.pop() if cuts else 40
        store.add(left[:size])
        left = left[size:]
    store.add(finished)
    after = _counted(store.meetings(id))
    assert _counted_by_hand(store, names, batch * 8) == {
        key: [now - then for now, then in zip(after[key], before.get(key, [0] * 6), strict=True)]
        for key in after
        if after[key] != before.get(key)
    }
    assert store.check().lines == []


def _counted(meetings: list[PairScore]) -> dict[tuple[int, int], list[int]]:
    return {(one.first, one.second): [getattr(one, name) for name in COLUMNS] for one in meetings}


def _counted_by_hand(store: Store, names: dict[int, str], since: int) -> dict[tuple[int, int], list[int]]:
    """From the list of matches of the pairs from `since` on; no code of the store's decides."""
    by_name = {name: id for id, name in names.items()}
    counts: dict[tuple[int, int], list[int]] = {}
    for row in store.games():
        if row.pair < since or (not row.result and row.termination != "ply_limit"):
            continue
        if not row.result:
            index = 5
        elif row.winner == 0:
            index = 1
        else:
            index = 0 if row.winner == 1 else 2
            if row.termination not in ("rules", "resignation"):
                index = 3 if row.winner == 1 else 4
        counts.setdefault((by_name[row.first], by_name[row.second]), [0] * 6)[index] += 1
    return counts


def _by_hand(url: str, spoil: Spoil) -> None:
    database = Database(url)
    with database.writing() as connection:
        spoil(connection)
    database.close()


def _all(store: Store) -> object:
    (pool,) = [row.id for row in store.pools()]
    ids = [seat.id for seat in store.seats(pool)]
    results = [list(store.pair_results(pool, one, two)) for one in ids for two in ids if one < two]
    try:
        past: object = store.past(pool, FormatKind.LADDER)
    except StoreError as error:
        past = str(error)
    return store.pools(), store.totals(), store.meetings(pool), store.scores(pool), past, list(store.games()), results
