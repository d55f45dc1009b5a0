"""Sequential tests as a schedule runs them: stopped at the first crossing in order, whatever comes when."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.referee.ladder.schedule import Schedule
from ggp.referee.ladder.sequential import PoolTest
from ggp.referee.ladder.store.model import Format, FormatKind, Pair, PairResult, PairScore, PoolEntry, PoolPast
from ggp.referee.ratings import sequential
from ggp.referee.ratings.sprt import Hypotheses, judge, log_likelihood_ratio
from tests.support.schedule_runs import Disturbance, ScheduleStore, TrueStrengths, run, seats_of

FORMAT = Format(kind=FormatKind.TEST, bots=("b", "a"), elo0=0, elo1=60)
DISTURBANCES = st.builds(
    Disturbance,
    workers=st.integers(1, 40),
    kill=st.sampled_from([0.0, 0.01]),
    seed=st.integers(0, 10**6),
    keen=st.sampled_from([0.1, 0.5, 0.9]),
)


def _store(elo: float, format: Format = FORMAT, **more: float) -> ScheduleStore:
    return ScheduleStore(format, seats_of(2), TrueStrengths({2: elo}, **more))  # type: ignore[arg-type]


def _counts(schedule: Schedule) -> list[int]:
    assert schedule.test is not None
    return schedule.test.counts


def _plainly(store: ScheduleStore) -> tuple[list[int], int, str]:
    """Counts, pairs and what was accepted, looking at every result in order with the whole of `judge`."""
    counts, pairs = [0] * 5, 0
    for number in sorted(store.results):
        result = store.results[number]
        if result.points is None:
            continue
        counts[round(2 * (result.points if result.first == 2 else 2 - result.points))] += 1
        pairs += 1
        state = judge(counts, Hypotheses(FORMAT.elo0, FORMAT.elo1)).state
        if state != "continue":
            return counts, pairs, state
    return counts, pairs, "continue"


@pytest.mark.parametrize(("elo", "state"), [(150, "H1"), (-60, "H0")])
def test_it_stops_at_the_first_crossing(elo: float, state: str) -> None:
    store = _store(elo, void=0.05, forfeits=0.03)
    schedule = run(store, 5000, Disturbance(workers=7, seed=3))
    counts, pairs, plain = _plainly(store)
    verdict = schedule.verdict
    assert verdict is not None and (verdict.state, plain) == (state, state)
    assert _counts(schedule) == counts and verdict.games == 2 * pairs
    assert schedule.finished == f"{state} is accepted after {pairs} pairs"
    assert verdict.estimate is not None and verdict.estimate.elo is not None
    assert schedule.due() is None and schedule.issue() is None
    beyond = len(store.results) - sum(result.points is None for result in store.results.values()) - pairs
    assert 0 < beyond <= 2 * 32, "what was being played when it stopped is stored and not counted"


@pytest.mark.slow
@given(disturbance=DISTURBANCES)
@settings(max_examples=25, deadline=None)
def test_a_disturbed_test_has_the_same_verdict(disturbance: Disturbance) -> None:
    calm, disturbed = _store(150, void=0.05), _store(150, void=0.05)
    one, other = run(calm, 5000), run(disturbed, 5000, disturbance)
    assert one.verdict == other.verdict and one.verdict is not None and one.verdict.state == "H1"
    assert _counts(one) == _counts(other) and one.finished == other.finished
    issued = min(len(calm.pairs), len(disturbed.pairs))
    assert calm.played()[:issued] == disturbed.played()[:issued]
    again = disturbed.schedule()
    assert again.finished == one.finished and again.due() is None and again.issue() is None


def test_the_cap_leaves_it_open() -> None:
    store = _store(20, replace(FORMAT, pairs=40))
    schedule = run(store, 5000, Disturbance(workers=3))
    verdict = schedule.verdict
    assert len(store.pairs) == 40 and schedule.finished == "inconclusive after 40 pairs"
    assert verdict is not None and verdict.state == "inconclusive" and verdict.games == 80
    assert verdict.estimate is not None
    store.format = replace(FORMAT, pairs=50)
    assert run(store, 5000).finished and len(store.pairs) > 40, "a higher cap goes on"


def test_results_wait_for_those_before_them() -> None:
    test = PoolTest(FORMAT, 2, 1)
    test.expect(range(4))
    won = [PairResult(number, 0, 2, 1, 2.0) for number in range(4)]
    for number in (3, 1):
        test.offer_result(won[number])
        assert test.pairs == 0
    test.offer_result(PairResult(0, 0, 1, 2, 1.5))
    assert test.pairs == 2 and test.counts == [0, 1, 0, 0, 1], "points are those of the new version"
    test.offer(2, None)
    assert test.pairs == 3 and test.counts == [0, 1, 0, 0, 2]


def test_bayes_counts_games() -> None:
    test = PoolTest(replace(FORMAT, model="bayes"), 2, 1)
    test.expect([0, 1])
    test.offer_result(PairResult(0, 0, 2, 1, 1.5, (PairScore(2, 1, wins=1), PairScore(1, 2, ties=1))))
    test.offer_result(PairResult(1, 0, 2, 1, 1.0, (PairScore(2, 1, losses=1), PairScore(1, 2, forfeit_losses=1))))
    assert test.counts == [1, 1, 2] and test.verdict().games == 4


def test_another_version_starts_again_and_the_former_is_remembered() -> None:
    store = _store(0, replace(FORMAT, pairs=20))
    schedule = run(store, 5000)
    former = _counts(schedule)
    assert sum(former) == 20
    newer = PoolEntry(3, "b", "b", "v3", parent=2)
    one, two = seats_of(2)
    store.enter([one, replace(two, active=False, entered=False), newer])
    schedule.enter(store.seats)
    assert not schedule.finished and _counts(schedule) == [0] * 5
    run(store, 5000)
    assert len(store.pairs) == 40 and {pair.first for pair in store.pairs[20:]} == {3}
    store.enter([one, two, replace(newer, active=False, entered=False)])
    assert _counts(store.schedule()) == former


@pytest.mark.parametrize("gone", [1, 2])
def test_without_one_of_the_two_it_waits(gone: int) -> None:
    seats = [replace(seat, active=False, entered=False) if seat.id == gone else seat for seat in seats_of(3)]
    schedule = Schedule(FORMAT, "pool", 1, seats, PoolPast())
    assert schedule.due() is None and schedule.finished == "b or a is not there" and schedule.verdict is None
    schedule.enter(seats_of(3))
    assert schedule.due() and schedule.verdict is not None and schedule.verdict.state == "continue"


def test_a_long_test_begins_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what may have stopped it is judged again: all of a long test would take a minute."""
    judged = []

    def counted(counts: Sequence[float], hypotheses: Hypotheses) -> float:
        judged.append(sum(counts))
        return log_likelihood_ratio(counts, hypotheses)

    monkeypatch.setattr(sequential, "log_likelihood_ratio", counted)
    results = tuple(PairResult(n, n // 50, 2, 1, (n % 5) / 2) for n in range(5000))
    recent = tuple((Pair(n, 1, n, r.batch, 2, 1), r) for n, r in enumerate(results) if r.batch >= 98)
    past = PoolPast(100, len(results), (), recent, {(1, 2): len(results)}, results)
    schedule = Schedule(replace(FORMAT, elo0=-300, elo1=300), "pool", 1, seats_of(2), past)
    assert _counts(schedule) == [1000] * 5 and not schedule.finished
    assert judged == list(range(4901, 5001)), "those of the last two batches"
