"""The store keeps and counts matches: once, in whole transactions, alike on both databases."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.referee.ladder.jobs import PairsUnderWay
from ggp.referee.ladder.store import entries
from ggp.referee.ladder.store.model import (
    FormatKind,
    Pair,
    Pairing,
    PairResult,
    PairScore,
    StoreError,
    StoreEvent,
    UnplayablePair,
)
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.ratings.standings import Difference, RatingTable, Standing
from tests.support.codes import raises
from tests.support.stores import BOTS, entrant, ladder, match, pairings, pool


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.pools() == [] and store.events() == [] and store.running() == ""
    assert store.totals().games == 0
    assert list(store.games()) == [] and store.record("nothing") is None


def test_pools_and_seats_are_those_of_the_file(store: Store) -> None:
    ids = store.enrol(ladder([entrant("ann", anchor=1500.0), "bob"]))
    (row,) = store.pools()
    assert ids == {"fast": row.id}
    assert (row.name, row.key, row.game, row.options) == ("fast", pool().key, "yugo", {"size": "5"})
    assert (row.control, row.openings, row.games) == ("1+0.1", 0, 0)
    ann, bob = store.seats(row.id)
    assert (ann.name, ann.label, ann.version, ann.active, ann.anchor) == ("ann", "ann", "v1", True, 1500.0)
    assert (bob.name, bob.parent, bob.anchor, bob.suspended) == ("bob", None, None, "")


def test_pairs_are_numbered_across_batches(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    first = store.issue(id, 0, pairings(store, id, 3))
    second = store.issue(id, 1, pairings(store, id, 2))
    assert [pair.number for pair in first + second] == [0, 1, 2, 3, 4]
    assert [pair.batch for pair in first + second] == [0, 0, 0, 1, 1]
    assert len({pair.id for pair in first + second}) == 5
    assert store.open_pairs(id) == first + second
    assert store.issue(id, 2, []) == []


def test_each_pool_has_its_own_numbers(store: Store) -> None:
    both = store.enrol(
        ladder([entrant("ann", pools=("a", "b")), entrant("bob", pools=("a", "b"))], [pool("a"), pool("b", size="7")])
    )
    for id in both.values():
        assert [pair.number for pair in store.issue(id, 0, pairings(store, id, 2))] == [0, 1]


@pytest.mark.parametrize("batch", [0, 2])
def test_a_batch_is_issued_once_and_in_its_turn(store: Store, batch: int) -> None:
    (id,) = store.enrol(ladder()).values()
    store.issue(id, 0, pairings(store, id, 1))
    with raises(StoreError, "batch-conflict"):
        store.issue(id, batch, pairings(store, id, 1))
    assert len(store.open_pairs(id)) == 1


def test_a_pair_is_played_in_two_games(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    assert store.add([match(pair, 0, winner=0)]) == []
    assert store.open_pairs(id)[0] == replace(pair, played=(0,))
    (result,) = store.add([match(pair, 1, winner=0)])
    met = (PairScore(pair.first, pair.second, wins=1), PairScore(pair.second, pair.first, losses=1))
    assert result == PairResult(0, 0, pair.first, pair.second, 2.0, met, id)
    assert pair.number not in [one.number for one in store.open_pairs(id)]
    assert store.meetings(id) == [met[0], met[1]]
    assert list(store.pair_results(id, pair.first, pair.second)) == [result]
    (turned,) = store.pair_results(id, pair.second, pair.first)
    assert (turned.first, turned.points, turned.meetings) == (pair.second, 0.0, met)


def test_meetings_of_some_versions_are_among_all(store: Store) -> None:
    (id,) = store.enrol(ladder(["ann", "bob", "cat"])).values()
    issued = store.issue(id, 0, pairings(store, id, 6))
    store.add([match(pair, game, game) for pair in issued for game in (0, 1)])
    everything, (one, two, _) = store.meetings(id), [seat.id for seat in store.seats(id)]
    assert len(everything) == 6
    for first, second in (((one,), None), (None, (two,)), ((one, two), (one, two)), ((one,), ()), ((), None)):
        wanted = [
            met
            for met in everything
            if (first is None or met.first in first) and (second is None or met.second in second)
        ]
        assert store.meetings(id, first, second) == wanted
    sums = [sum(getattr(met, name) for met in everything) for name in ("wins", "ties", "losses")]
    totals = store.totals(id)
    assert [totals.wins, totals.ties, totals.losses] == sums and totals.games == sum(sums) == 12


@pytest.mark.parametrize(
    ("winners", "points"), [((0, 0), 2.0), ((0, 1), 1.0), ((1, 1), 0.0), ((-1, -1), 1.0), ((0, -1), 1.5)]
)
def test_points_are_those_of_the_first_in_both_games(store: Store, winners: tuple[int, int], points: float) -> None:
    _, (pair, *_) = _issued(store)
    (result,) = store.add([match(pair, game, winner) for game, winner in enumerate(winners)])
    assert result.points == points


def test_a_game_that_is_delivered_twice_counts_once(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    games = [match(pair, 0), match(pair, 1)]
    assert len(store.add([games[0], games[0]])) == 0
    assert len(store.add([*games, *games])) == 1
    before = store.meetings(id), store.totals()
    assert store.add(games) == []
    assert (store.meetings(id), store.totals()) == before
    assert before[1].games == 2 and before[1].pairs == 1


def test_another_attempt_at_a_finished_game_changes_nothing(store: Store) -> None:
    """Two workers had the game: one met with a void attempt, the other did not."""
    id, (pair, *_) = _issued(store)
    store.add([match(pair, 0, winner=0)])
    store.add([match(pair, 0, winner=1, attempt=1)])
    assert store.meetings(id) == [PairScore(pair.first, pair.second, wins=1)]
    assert [row.key for row in store.games()] == [match(pair, 0).result.key]


def test_a_void_attempt_is_kept_and_finishes_nothing(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    void = match(pair, 0, winner=-1, termination="stalled", result="", culprit="bob")
    assert store.add([void]) == []
    assert store.open_pairs(id)[0].played == ()
    assert store.meetings(id) == []
    totals = store.totals()
    assert (totals.games, totals.void, totals.pairs) == (0, 1, 0)
    assert totals.faults == Counter({("bob", "stalled"): 1})
    (result,) = store.add([match(pair, 0, attempt=1), match(pair, 1)])
    assert result.points == 2.0 and store.totals().games == 2


def _play_pairs(store: Store, pool: int, faults: Sequence[str]) -> None:
    """Pairs of ann and bob, one batch each; a termination is that of a void attempt by bob before the first game."""
    ann, bob = (seat.id for seat in store.seats(pool) if seat.name in ("ann", "bob"))
    for fault in faults:
        (pair,) = store.issue(pool, store.past(pool, FormatKind.LADDER).batches, [Pairing(ann, bob)])
        culprit = "engine" if fault == "engine_failed" else "bob"
        void = [match(pair, 0, -1, fault, result="", culprit=culprit)] if fault else []
        store.add([*void, match(pair, 0, attempt=len(void)), match(pair, 1)])


def _suspended(store: Store, pool: int) -> dict[str, str]:
    return {seat.name: seat.suspended for seat in store.seats(pool) if seat.suspended}


def test_a_bot_that_makes_four_of_its_last_hundred_games_void_is_suspended(tmp_path: Path) -> None:
    """They need not be in a row, and a restart of the ladder does not reset the count."""
    url = f"sqlite:///{tmp_path}/club.db"
    with Store.open(url, create=True) as store:
        row = store.enrol(ladder())["fast"]
        _play_pairs(store, row, ["disconnected", "", "", "protocol_error", "", "stalled", ""])
        assert not _suspended(store, row)
    with Store.open(url) as store:
        _play_pairs(store, row, ["", "engine_failed", "disconnected"])
        assert set(_suspended(store, row)) == {"bob"}
        assert _suspended(store, row)["bob"].startswith("made 4 of its last 100 games void, last: disconnected")
        assert store.seats(row)[1].since == 9  # the batch of the fourth
        assert [event.kind for event in store.events()][-1] == "suspended"


def test_old_void_games_do_not_suspend(store: Store) -> None:
    row = store.enrol(ladder())["fast"]
    _play_pairs(store, row, (["disconnected"] + [""] * 17) * 6)  # 37 matches each
    assert not _suspended(store, row)
    _play_pairs(store, row, ["disconnected"] * 2)
    assert set(_suspended(store, row)) == {"bob"}


def test_games_before_a_readmission_do_not_suspend(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    row = store.enrol(ladder())["fast"]
    _play_pairs(store, row, ["disconnected"] * 4)
    monkeypatch.setattr(entries, "now", lambda: "2026-11-21T12:00:01Z")  # a second after ENDED
    assert store.readmit("bob")
    _play_pairs(store, row, ["disconnected"])
    assert not _suspended(store, row)
    monkeypatch.setattr(entries, "now", lambda: "2026-11-21T11:59:59Z")
    assert not store.readmit("bob")
    store.suspend(store.seats(row)[1].id, "it was to be so")
    assert store.readmit("bob")
    _play_pairs(store, row, ["disconnected"])
    assert set(_suspended(store, row)) == {"bob"}


def test_a_game_that_stays_void_finishes_its_pair_without_points(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    (result,) = store.add([match(pair, 0, winner=-1, termination="ply_limit"), match(pair, 1)])
    assert result.points is None
    assert result.meetings == (PairScore(pair.first, pair.second, void=1), PairScore(pair.second, pair.first, losses=1))
    assert store.meetings(id) == list(result.meetings)
    assert store.totals().pairs == 1 and store.totals().games == 1


def test_forfeits_are_counted_apart_and_blamed(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    store.add([match(pair, 0, winner=0, termination="time"), match(pair, 1, winner=0, termination="resignation")])
    assert store.meetings(id) == [
        PairScore(pair.first, pair.second, forfeit_wins=1),
        PairScore(pair.second, pair.first, losses=1),
    ]
    totals = store.totals()
    assert totals.faults == Counter({("bob", "time"): 1})
    assert totals.terminations == Counter({"time": 1, "resignation": 1})
    assert [row.culprit for row in store.games()] == ["", "bob"]


def test_an_unplayable_pair_is_over_and_its_culprit_suspended(store: Store) -> None:
    id, (pair, other, *_) = _issued(store)
    (result,) = store.add([match(pair, 0)], [UnplayablePair(pair, pair.second, "does not start")])
    assert (result.points, result.meetings) == (None, (PairScore(pair.first, pair.second, wins=1),))
    assert other == store.open_pairs(id)[0]
    (bob,) = [seat for seat in store.seats(id) if seat.id == pair.second]
    assert not bob.active and bob.suspended == "does not start"
    assert store.add([match(pair, 1)]) == [], "it was given up"
    assert store.totals().pairs == 0 and store.totals().games == 1
    assert store.add([], [UnplayablePair(pair, pair.first, "again")]) == []
    assert store.readmit("bob") and not store.readmit("bob")
    assert all(seat.active for seat in store.seats(id))


def test_an_engine_that_fails_suspends_no_bot(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    broken = [match(pair, 0, winner=-1, termination="engine_failed", attempt=attempt) for attempt in range(4)]
    (result,) = store.add(broken, [UnplayablePair(pair, None, "engine_failed 4 times")])
    assert result.points is None and result.meetings == ()
    assert all(seat.active for seat in store.seats(id))
    assert store.totals().faults == Counter({("engine", "engine_failed"): 4})


def test_several_pairs_in_one_call_come_back_in_order(store: Store) -> None:
    id, pairs = _issued(store, 6)
    finished = [match(pair, game) for pair in reversed(pairs) for game in (1, 0)]
    assert [result.number for result in store.add(finished)] == [0, 1, 2, 3, 4, 5]
    assert store.open_pairs(id) == []


def test_a_pair_of_another_store_is_refused(store: Store) -> None:
    _, (pair, *_) = _issued(store)
    with raises(StoreError, "no-such-pair"):
        store.add([match(pair, 0), match(replace(pair, id=99), 0)])
    assert list(store.games()) == []


def test_games_and_records_are_stored_unchanged(store: Store) -> None:
    _, (pair, *_) = _issued(store)
    finished = match(pair, 1, winner=1, plies=5)
    odd = replace(finished, result=replace(finished.result, detail="nul \0 lone \udc80 ü"))
    store.add([odd])
    (row,) = store.games()
    assert (row.key, row.pool, row.pair, row.game, row.attempt) == (odd.result.key, "fast", 0, 1, 0)
    assert (row.first, row.second, row.winner, row.result) == ("bob", "ann", 1, "B+1")
    assert (row.plies, row.ms1, row.ms2, row.suspect, row.ended) == (5, 9, 6, False, odd.result.ended)
    assert row.detail == "nul � lone ? ü"
    ((again, lines),) = store.records()
    assert again == row and lines == store.record(row.key)
    assert lines.count(b"\n") == 7 and row.key.encode() in lines


def test_the_past_of_an_empty_pool(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    past = store.past(id, FormatKind.LADDER)
    assert (past.batches, past.issued, past.settled, past.recent, dict(past.met)) == (0, 0, (), (), {})


def test_the_past_separates_settled_and_recent_batches(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    ids = [seat.id for seat in store.seats(id)]
    batches = [store.issue(id, batch, [Pairing(ids[0], ids[1]), Pairing(ids[1], ids[0])]) for batch in range(4)]
    for batch in batches[:3]:
        for pair in batch:
            store.add([match(pair, 0, winner=0), match(pair, 1, winner=1)])
    store.add([match(batches[3][0], 0, winner=0)])
    past = store.past(id, FormatKind.LADDER)
    assert (past.batches, past.issued, dict(past.met)) == (4, 8, {(ids[0], ids[1]): 8})
    assert past.settled == (PairScore(ids[0], ids[1], wins=4), PairScore(ids[1], ids[0], wins=4))
    assert [pair.number for pair, _ in past.recent] == [4, 5, 6, 7]
    assert [result and result.points for _, result in past.recent] == [1.0, 1.0, None, None]
    assert [pair.played for pair, _ in past.recent] == [(0, 1), (0, 1), (0,), ()]
    assert past.results == ()
    assert [result.number for result in store.past(id, FormatKind.TEST).results] == [0, 1, 2, 3, 4, 5]


def test_the_past_counts_withdrawn_pairs(store: Store) -> None:
    id, (pair, *_) = _issued(store)
    store.add([match(pair, 0), match(pair, 1)])
    two = [(min(one.first, one.second), max(one.first, one.second)) for one in store.open_pairs(id)]
    assert dict(store.past(id, FormatKind.ROUND_ROBIN).lost) == {}
    store.enrol(ladder(BOTS[2:]))
    gone = {seat.id for seat in store.seats(id) if not seat.entered}
    assert gone and dict(store.past(id, FormatKind.ROUND_ROBIN).lost) == Counter(one for one in two if gone & set(one))


def test_fits_are_kept_and_replaced(store: Store) -> None:
    (id,) = store.enrol(ladder()).values()
    one, two, *_ = [seat.id for seat in store.seats(id)]
    assert store.fit(id) is None
    best = Standing(str(two), 12.5, 30.0, 4, 2.5, Difference(25.0, 40.0, 0.73))
    rows = (best, Standing(str(one), -12.5, 30.0, 4, 1.5))
    for fit in (
        RatingTable(4, "davidson", 10.0, 5.0, 0.3, rows),
        RatingTable(6, "rao-kupper", 9.0, 4.0, 0.2, rows[1:]),
    ):
        store.save_fit(id, fit)
        assert store.fit(id) == fit
    assert store.counted(id) == 0


def test_events_are_kept_in_order(store: Store) -> None:
    for number in range(3):
        store.note("drift", f"twin {number}\0")
    events = store.events(2)
    assert [event.text for event in events] == ["twin 1�", "twin 2�"]
    assert isinstance(events[0], StoreEvent) and events[0].kind == "drift" and events[0].at.endswith("Z")


def test_a_store_is_durable(url: str) -> None:
    with Store.open(url, create=True) as store:
        id, (pair, *_) = _issued(store)
        store.add([match(pair, 0)])
    with Store.open(url) as store:
        assert [one.played for one in store.open_pairs(id)] == [(0,), (), (), ()]
        assert store.totals().games == 1


def test_a_missing_store_is_an_error(tmp_path: Path) -> None:
    with raises(StoreError, "store-missing"):
        Store.open(f"sqlite:///{tmp_path}/none.db")
    assert list(tmp_path.iterdir()) == []


def _issued(store: Store, number: int = 4) -> tuple[int, list[Pair]]:
    """A pool of four and its first batch, of which the first pair is ann's and bob's."""
    (id,) = store.enrol(ladder(BOTS)).values()
    ids = [seat.id for seat in store.seats(id)]
    return id, store.issue(id, 0, [Pairing(ids[0], ids[1]), *pairings(store, id, number - 1)])


def test_void_attempts_of_an_earlier_run_count(store: Store) -> None:
    """A replay under a key that is taken would not be kept, and its pair stay open for ever."""
    id, (pair, *_) = _issued(store)
    store.add([match(pair, 1, winner=-1, termination="stalled", result="", culprit="bob")])
    (left, *_) = store.open_pairs(id)
    starts = {pair.first: BotSpec("ann", "ann"), pair.second: BotSpec("bob", "bob")}
    work = PairsUnderWay("run").begin(left, pool(), starts, ladder().budgets)
    assert (work.numbers, work.tried) == ((0, 1), (0, 1))
