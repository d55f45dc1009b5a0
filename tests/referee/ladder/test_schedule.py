"""Schedules: the same pairs however a run is disturbed; who joins, leaves or cannot be started; when it is over."""

from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.referee.ladder.schedule import Schedule
from ggp.referee.ladder.store.model import Format, FormatKind, Pairing, PairResult, PoolEntry, PoolPast
from ggp.referee.ratings.spsa import Parameter, TunePlan
from tests.support.schedule_runs import Disturbance, ScheduleStore, TrueStrengths, run, seats_of, strengths

FORMATS = {
    "ladder": Format(batch=6),
    "sized ladder": Format(),
    "round-robin": Format(kind=FormatKind.ROUND_ROBIN, pairs=6, batch=5),
    "gauntlet": Format(kind=FormatKind.GAUNTLET, pairs=8, bots=("b", "d"), batch=7),
}
EACH = pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))
DISTURBANCES = st.builds(
    Disturbance,
    workers=st.integers(1, 24),
    kill=st.sampled_from([0.0, 0.02, 0.2]),
    seed=st.integers(0, 10**6),
    keen=st.sampled_from([0.1, 0.5, 0.9]),
)
PAIRS = 60


def _store(format: Format, bots: int = 5, **more: object) -> ScheduleStore:
    return ScheduleStore(format, seats_of(bots), TrueStrengths(strengths(bots, 3), void=0.05, forfeits=0.05, **more))  # type: ignore[arg-type]


def _without(id: int, seats: list[PoolEntry]) -> list[PoolEntry]:
    return [replace(seat, active=False, entered=False) if seat.id == id else seat for seat in seats]


@pytest.mark.slow
@EACH
@given(disturbance=DISTURBANCES)
@settings(max_examples=25, deadline=None)
def test_a_disturbed_run_is_the_undisturbed_one(format: Format, disturbance: Disturbance) -> None:
    """Any order of results, any number of workers, killed and rolled back anywhere: the same pairs and ratings."""
    calm, disturbed = _store(format), _store(format)
    one, other = run(calm, PAIRS), run(disturbed, PAIRS, disturbance)
    assert disturbed.played() == calm.played() and len(calm.pairs) >= 40
    assert disturbed.results == calm.results and len(calm.results) == len(calm.pairs)
    first, second = one.ratings(), other.ratings()
    assert first is not None and second is not None
    assert first.elo.tolist() == second.elo.tolist(), "to the last bit"


@pytest.mark.slow
@EACH
@given(disturbance=DISTURBANCES, cut=st.integers(0, 400))
@settings(max_examples=25, deadline=None)
def test_the_store_alone_says_how_to_go_on(format: Format, disturbance: Disturbance, cut: int) -> None:
    """Any prefix of a run's steps leaves a store from which a calm run comes to the same end."""
    calm, store, steps = _store(format), _store(format), 0

    def stop(store: ScheduleStore, schedule: Schedule) -> None:
        nonlocal steps
        steps += 1
        if steps > cut:
            raise InterruptedError

    run(calm, PAIRS)
    try:
        run(store, PAIRS, disturbance, stop)
    except InterruptedError:
        run(store, PAIRS)
    assert store.played() == calm.played() and store.results == calm.results


@pytest.mark.slow
@given(disturbance=DISTURBANCES)
@settings(max_examples=40, deadline=None)
def test_a_bot_that_does_not_start_changes_nothing_by_when_that_is_noticed(disturbance: Disturbance) -> None:
    format = FORMATS["ladder"]
    calm, disturbed = _store(format, 6, broken=frozenset({2})), _store(format, 6, broken=frozenset({2}))
    run(calm, PAIRS)
    run(disturbed, PAIRS, disturbance)
    assert disturbed.played() == calm.played()
    assert disturbed.results == calm.results and len(calm.results) == len(calm.pairs)
    broken = [pair.batch for pair in calm.pairs if 2 in (pair.first, pair.second)]
    assert broken and max(broken) <= min(broken) + 1, "it is paired in the batch after the first failure at the latest"


def test_a_batch_waits_for_the_one_before_the_last() -> None:
    store = _store(Format(batch=4))
    schedule = store.schedule()
    issued = []
    for number in (0, 1):
        batch = schedule.due()
        assert batch is not None and len(batch) == 4
        schedule.add(store.issue(number, batch))
        assert schedule.due() is None, "a whole batch is still to be issued"
        issued.append([schedule.issue() for _ in range(4)])
    assert schedule.issue() is None and schedule.due() is None
    for pair in issued[1]:
        assert pair is not None
        schedule.fix(store.bots.play(pair))
    assert schedule.due() is None, "batch 0 has no result"
    for pair in issued[0][1:]:
        assert pair is not None
        schedule.fix(store.bots.play(pair))
    assert schedule.due() is None, "one of batch 0 has no result"
    assert issued[0][0] is not None
    schedule.fix(store.bots.play(issued[0][0]))
    assert schedule.due() is not None


def test_what_was_issued_and_not_fixed_is_issued_again_after_a_restart() -> None:
    store = _store(Format(batch=5))
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    taken = [schedule.issue() for _ in range(3)]
    assert [pair.number for pair in taken if pair] == [0, 1, 2]
    store.results[1] = store.bots.play(store.pairs[1])
    schedule.fix(store.results[1])
    schedule.fix(store.results[1])  # delivered twice
    schedule = store.schedule()
    again = [schedule.issue() for _ in range(5)]
    assert [pair and pair.number for pair in again] == [0, 2, 3, 4, None]
    ratings = schedule.ratings()
    assert ratings is not None and ratings.counts.games.sum() == 0, "nothing was used yet"


@EACH
def test_who_leaves_is_not_issued_and_not_paired(format: Format) -> None:
    """Seat 3 leaves and seat 6 joins in the middle."""
    store = _store(format)
    at: list[int] = []

    def change(store: ScheduleStore, schedule: Schedule) -> None:
        if not at and len(store.results) >= 12:
            at.append(schedule.batches)
            store.enter([*_without(3, store.seats), replace(seats_of(6)[5], parent=3)])
            schedule.enter(store.seats)
            for pair in iter(deepcopy(schedule).issue, None):
                assert 3 not in (pair.first, pair.second)

    run(store, PAIRS, Disturbance(keen=0.0), change)
    assert at
    later = [{pair.first, pair.second} for pair in store.pairs if pair.batch >= at[0]]
    assert later and not any(3 in two for two in later)
    assert any(6 in two for two in later)
    assert not any(6 in {pair.first, pair.second} for pair in store.pairs if pair.batch < at[0])


def test_a_result_that_comes_after_the_withdrawal_counts() -> None:
    store = _store(Format(batch=4), bots=3)
    store.bots.void = 0
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    pairs = list(iter(schedule.issue, None))
    schedule.enter(_without(1, store.seats))
    assert schedule.due() is not None, "no batch waits for those"
    for pair in pairs:
        schedule.fix(store.bots.play(pair))
    for number in (1, 2, 3):
        batch = schedule.due() or []
        assert {pairing.first for pairing in batch} <= {2, 3}
        schedule.add(store.issue(number, batch))
        for pair in iter(schedule.issue, None):
            schedule.fix(store.bots.play(pair))
    ratings = schedule.ratings()
    assert ratings is not None
    assert ratings.counts.played.games.sum() == 2 * (4 + 4)


def test_a_suspended_seat_is_not_paired() -> None:
    seats = [replace(seat, active=seat.id != 2, suspended="why" * (seat.id == 2)) for seat in seats_of(4)]
    batch = Schedule(Format(batch=50), "pool", 1, seats, PoolPast()).due()
    assert batch and not any(2 in (pairing.first, pairing.second) for pairing in batch)


@EACH
@pytest.mark.parametrize("bots", [0, 1])
def test_fewer_than_two_wait_until_a_bot_enters(format: Format, bots: int) -> None:
    seats = seats_of(4)
    schedule = Schedule(format, "pool", 1, seats[:bots], PoolPast())
    assert schedule.due() is None and schedule.finished == "fewer than two different bots are entered"
    assert schedule.issue() is None and schedule.ratings() is None
    twins = [replace(seat, version="same") for seat in seats]
    schedule.enter(twins)
    assert schedule.due() is None and schedule.finished
    schedule.enter(seats)
    assert not schedule.finished and schedule.due()


def test_an_end_for_want_of_bots_names_who_is_suspended_and_the_remedy() -> None:
    gone = [replace(seat, active=False, suspended="does not start") for seat in seats_of(6)[1:]]
    left = replace(gone[4], entered=False)  # the file enters it no more, so readmitting it would not help
    schedule = Schedule(Format(), "pool", 1, [seats_of(1)[0], gone[0], left], PoolPast())
    assert schedule.due() is None and schedule.deserted
    few, name = "fewer than two different bots are entered", gone[0].label
    assert schedule.finished == f"{few}; {name} is suspended (does not start): ggp ladder readmit {name}"
    schedule = Schedule(Format(), "pool", 1, gone, PoolPast())
    assert schedule.due() is None
    assert schedule.finished.endswith("; 2 others are suspended, too") and schedule.finished.count("readmit") == 3


def test_pools_and_seeds_have_chance_of_their_own() -> None:
    seen = {
        tuple(Schedule(Format(), name, seed, seats_of(6), PoolPast()).due() or ())
        for name in ("one", "other")
        for seed in (1, 2)
    }
    assert len(seen) == 4


def test_the_first_batch_never_changes() -> None:
    """Whoever changes how pairs are drawn changes every ladder that is under way: this says so."""
    batch = Schedule(Format(batch=4), "0123456789ab", 1, seats_of(4), PoolPast()).due()
    assert batch == [Pairing(4, 1), Pairing(2, 3), Pairing(1, 3), Pairing(4, 2)]


@pytest.mark.parametrize("bots", [2, 3, 4, 5, 8])
def test_all_bots_meet_equally_often(bots: int) -> None:
    store = ScheduleStore(Format(kind=FormatKind.ROUND_ROBIN, pairs=2, batch=3), seats_of(bots), TrueStrengths())
    schedule = run(store, 1000, Disturbance(workers=3))
    wanted = bots * (bots - 1) // 2
    first, second = store.played()[:wanted], store.played()[wanted:]
    for cycle in (first, second):
        assert len({frozenset(pair[1:]) for pair in cycle}) == len(cycle) == wanted
    assert {pair[1:] for pair in first} == {(two, one) for _, one, two in second}, "seats alternate by cycle"
    assert schedule.finished == "all have met in 2 pairs" and schedule.due() is None and schedule.issue() is None
    ratings = schedule.ratings()
    assert ratings is not None and ratings.counts.games.sum() == 2 * 2 * len(store.pairs), "all of them count"


def test_a_round_robin_catches_up_with_a_bot_that_joins() -> None:
    store = ScheduleStore(Format(kind=FormatKind.ROUND_ROBIN, pairs=3, batch=4), seats_of(3), TrueStrengths())
    schedule = run(store, 1000)
    assert schedule.finished and len(store.pairs) == 9
    store.enter(seats_of(5))
    schedule.enter(store.seats)
    assert not schedule.finished
    run(store, 1000)
    met = store.past().met
    assert len(met) == 10 and set(met.values()) == {3}


def test_a_round_robin_plays_again_what_was_withdrawn() -> None:
    store = ScheduleStore(Format(kind=FormatKind.ROUND_ROBIN, pairs=2, batch=30), seats_of(4), TrueStrengths())
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    store.enter(_without(4, store.seats))
    schedule.enter(store.seats)
    assert not {4} & {bot for pair in iter(schedule.issue, None) for bot in (pair.first, pair.second)}
    assert len(store.withdrawn) == 6
    store.enter(seats_of(4))
    schedule = run(store, 1000)
    past = store.past()
    assert {two: met - past.lost.get(two, 0) for two, met in past.met.items()} == dict.fromkeys(past.met, 2)


def test_a_gauntlet_is_the_named_against_the_others() -> None:
    store = ScheduleStore(Format(kind=FormatKind.GAUNTLET, pairs=2, bots=("a", "b")), seats_of(6), TrueStrengths())
    schedule = run(store, 1000, Disturbance(workers=4))
    assert schedule.finished
    assert store.past().met == {(named, other): 2 for named in (1, 2) for other in (3, 4, 5, 6)}


def test_open_pairs_that_it_knows_are_not_added_again() -> None:
    """Whoever begins from a store may hand over its open pairs besides."""
    store = _store(Format(batch=5))
    schedule = store.schedule()
    schedule.add([])
    schedule.add(store.issue(0, schedule.due() or []))
    again = store.schedule()
    again.add(store.pairs)
    assert again.batches == 1 and list(iter(again.issue, None)) == store.pairs


def test_a_result_of_another_pool_is_ignored() -> None:
    schedule = Schedule(Format(), "pool", 1, seats_of(3), PoolPast())
    schedule.fix(PairResult(12, 0, 1, 2, 1.0))
    assert schedule.due()


# -- what was not played decides no end ------------------------------------------------------------------------------


def _replaced(id: int, seats: list[PoolEntry], number: int) -> list[PoolEntry]:
    """Another version of a bot under the same name."""
    old = next(seat for seat in seats if seat.id == id)
    gone = [replace(seat, active=False, entered=False) if seat.id == id else seat for seat in seats]
    return [*gone, PoolEntry(number, old.name, old.name, f"v{number}", parent=id)]


def test_pairs_that_a_suspended_bot_could_not_play_are_played_when_it_is_readmitted() -> None:
    form = Format(kind=FormatKind.ROUND_ROBIN, pairs=4, batch=3)
    store = ScheduleStore(form, seats_of(3), TrueStrengths(broken=frozenset({2})))
    assert run(store, 1000).finished
    assert sum(result.lost is not None for result in store.results.values()) > 0
    store.bots.broken = frozenset()
    store.enter([replace(seat, active=True, suspended="", since=-1) for seat in store.seats])
    schedule = run(store, 1000)
    assert schedule.finished == "all have met in 4 pairs"
    played = Counter(frozenset((r.first, r.second)) for r in store.results.values() if r.lost is None)
    assert set(played.values()) == {4} and len(played) == 3


def test_a_test_counts_no_withdrawn_pair() -> None:
    """The new version is replaced and comes back: the test ends after as many pairs as the format says."""
    form = Format(kind=FormatKind.TEST, pairs=20, batch=8, bots=("a", "b"), elo0=0, elo1=1)
    store = ScheduleStore(form, seats_of(2), TrueStrengths())
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    before = store.seats
    store.enter(_replaced(1, store.seats, 3))
    assert len(store.withdrawn) == 8
    store.enter([*before, replace(store.seats[-1], active=False, entered=False)])
    schedule = run(store, 1000)
    assert schedule.finished == "inconclusive after 20 pairs"
    assert sum(result.points is not None for result in store.results.values()) == 20


def _play_on(schedule: Schedule, store: ScheduleStore) -> None:
    """Play all that the schedule still issues."""
    while batch := schedule.due():
        schedule.add(store.issue(schedule.batches, batch))
        for pair in iter(schedule.issue, None):
            schedule.fix(store.bots.play(pair))
            store.add(store.bots.play(pair))


@pytest.mark.parametrize("again", [False, True], ids=["in one run", "by another run"])
def test_a_round_of_which_nothing_was_played_is_no_round(again: bool) -> None:
    form = Format(kind=FormatKind.SWISS, rounds=3, pairs=1)
    store = ScheduleStore(form, seats_of(2), TrueStrengths())
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    store.enter(_replaced(2, store.seats, 3))
    if not again:
        schedule.enter(store.seats)
        _play_on(schedule, store)
    else:
        schedule = run(store, 1000)
    assert schedule.finished == "all 3 rounds are played"
    played = [result for result in store.results.values() if result.lost is None]
    assert len(played) == 3 and all({result.first, result.second} == {1, 3} for result in played)


@pytest.mark.parametrize("again", [False, True], ids=["in one run", "by another run"])
def test_a_withdrawn_pair_of_a_round_is_replaced_by_one_of_the_new_version(again: bool) -> None:
    form = Format(kind=FormatKind.SWISS, rounds=3, pairs=1)
    store = ScheduleStore(form, seats_of(4), TrueStrengths())
    schedule = store.schedule()
    batch = schedule.due() or []
    schedule.add(store.issue(0, batch))
    pair = schedule.issue()
    assert pair is not None
    store.add(store.bots.play(pair))
    schedule.fix(store.bots.play(pair))
    left, stays = batch[1].first, batch[1].second
    store.enter(_replaced(left, store.seats, 5))
    if not again:
        schedule.enter(store.seats)
        _play_on(schedule, store)
    else:
        schedule = run(store, 1000, Disturbance(kill=0.3))
    assert schedule.finished == "all 3 rounds are played"
    assert [{one, other} for number, one, other in store.played() if number == 1] == [{5, stays}]
    played = [result for result in store.results.values() if result.lost is None]
    games = Counter(id for result in played for id in (result.first, result.second))
    assert games == {seat.id: 3 for seat in store.seats if seat.entered}


@pytest.mark.parametrize("number", [4, 6])
def test_who_has_lost_its_opponent_of_a_round_meets_another_such_bot_or_has_a_bye(number: int) -> None:
    form = Format(kind=FormatKind.SWISS, rounds=3, pairs=1)
    store = ScheduleStore(form, seats_of(number), TrueStrengths())
    schedule = store.schedule()
    batch = schedule.due() or []
    schedule.add(store.issue(0, batch))
    pair = schedule.issue()
    assert pair is not None
    store.add(store.bots.play(pair))
    for gone in batch[1:]:
        store.enter(_without(gone.first, store.seats))
    assert run(store, 1000, Disturbance(kill=0.3)).finished == "all 3 rounds are played"
    pairs = [{one, other} for number, one, other in store.played() if number == 1]
    assert (pairs == [{gone.second for gone in batch[1:]}]) == (number == 6)
    played = [result for result in store.results.values() if result.lost is None]
    assert len(played) == (3 if number == 4 else 6)


def test_byes_are_not_given_for_rounds_that_were_not_played() -> None:
    """Three bots: every one of them has one bye in the three rounds that are played after the lost one."""
    form = Format(kind=FormatKind.SWISS, rounds=3, pairs=1)
    store = ScheduleStore(form, seats_of(3), TrueStrengths())
    schedule = store.schedule()
    batch = schedule.due() or []
    schedule.add(store.issue(0, batch))
    for number, id in enumerate((batch[0].first, batch[0].second), 4):
        store.enter(_replaced(id, store.seats, number))
    run(store, 1000)
    played = [result for result in store.results.values() if result.lost is None]
    assert Counter(id for result in played for id in (result.first, result.second)) == {
        seat.id: 2 for seat in store.seats if seat.entered
    }


def test_another_iteration_is_played_in_place_of_a_withdrawn_one() -> None:
    plan = TunePlan((Parameter("x", 10, 0, 100, 4),), 10, 2, 4, 0.1)
    names = ("plus", "minus", "tuned", "start")
    seats = [replace(seat, name=name, label=name) for seat, name in zip(seats_of(4), names, strict=True)]
    store = ScheduleStore(Format(kind=FormatKind.TUNE, plan=plan, check=False), seats, TrueStrengths())
    schedule = store.schedule()
    schedule.add(store.issue(0, schedule.due() or []))
    first = schedule.issue()
    assert first is not None
    store.add(store.bots.play(first))
    store.enter([replace(seat, active=False, entered=False) for seat in seats])
    assert len(store.withdrawn) == 3
    store.enter(seats)
    schedule = run(store, 1000)
    assert schedule.finished == "all 20 iterations are played" and schedule.tune is not None
    assert (schedule.tune.known, schedule.tune.silent, schedule.tune.issued) == (20, 0, 23)
    assert sum(result.points is not None for result in store.results.values()) == 20
