"""The schedule of a pool: the next pairs of games, as a pure function of format, seed and results.

Pairs come in batches. A batch is computed from the results of all batches but the last (Swiss: of all) and from the
bots that are entered at that moment. So workers do not wait for results, and a run that resumes from the store
continues with the same pairs, whatever the order of the results and whenever it was interrupted.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ggp.protocol.printed import counted
from ggp.referee.ladder.pairing import Field, PairCounts, batch_size, cycles, draw_batch, random_for, version_numbers
from ggp.referee.ladder.rating import ResultsTable, elo_and_error, rate_tally
from ggp.referee.ladder.sequential import PoolTest
from ggp.referee.ladder.store.model import (
    GAMES,
    TESTED,
    Format,
    FormatKind,
    Ladder,
    LostReason,
    Pair,
    Pairing,
    PairResult,
    Pool,
    PoolEntry,
    PoolPast,
)
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.swiss import SwissTable, pair_round
from ggp.referee.ladder.tune import MINUS, PLUS, START, TUNED, PoolTune, tuned_bot
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.ratings.bradley_terry import CountsError
from ggp.referee.ratings.ratings import Ratings
from ggp.referee.ratings.sprt import Verdict
from ggp.referee.ratings.spsa import Values

_TOO_FEW, _NO_OPPONENT = "fewer than two different bots are entered", "no opponent is left"
_NOT_THERE, _SUSPENDED = "is not there", "is suspended"
_READMIT = "ggp ladder readmit"
_NAMED = 3  # suspended bots that the reason of an end names
_COLD = 200  # versions up to which a fit begins from nothing: then it is the same after a restart to the last bit


class Schedule:
    """The schedule of one pool; `name` makes its random draws differ from those of other pools.

    A pair passes through: due → (the store numbers it) → add → issue → (it is played and stored) → fix.
    """

    def __init__(
        self, format: Format, name: str, seed: int, seats: Sequence[PoolEntry], past: PoolPast, model: str = "davidson"
    ) -> None:
        self._format, self._name, self._seed, self._model = format, name, seed, model
        self._lag = 1 if format.kind is FormatKind.SWISS else 2
        self.batches, self._issued = past.batches, past.issued  # the numbers of the next batch, and of the next pair
        self._tally, self._tallied = ResultsTable(past.settled), max(0, past.batches - 2)  # of the batches below
        self._met, self._lost = PairCounts(past.met), PairCounts(past.lost)
        self._rounds = past.rounds  # of a Swiss tournament, from the batches below `_tallied`
        self._results: defaultdict[int, list[PairResult]] = defaultdict(list)  # by batch, from `_tallied` on
        self._open: dict[int, Pair] = {}  # issued by the store and not fixed, by number
        self._waiting: list[int] = []  # a heap of the open ones that are to be played; some are no longer open
        self._given: set[int] = set()  # open ones that are being played
        self._size = 0  # pairs in the last batch
        self._unfixed: Counter[int] = Counter()  # open ones by batch
        self._withdrawn: dict[int, Pair] = {}
        self._ratings: Ratings | None = None
        self._key: object = None  # of what they were made
        self._late = 0  # results that came after their batch was counted
        self.test: PoolTest | None = None
        self.tune: PoolTune | None = None
        self._verdict: tuple[object, Verdict] | None = None
        self._history = {result.number: result for result in past.results}  # of a test or a tune
        self._seats: list[PoolEntry] = []
        self._idle = ""
        for pair, result in past.recent:
            if result is None:
                self._take(pair)
            else:
                self._results[pair.batch].append(result)
                self._remember(result)
            self._size += pair.batch == past.batches - 1
        self.enter(seats)
        self._here = [seat.id for seat in self._seats if seat.active]  # who the next or last batch is of

    def enter(self, seats: Sequence[PoolEntry]) -> None:
        """Set the versions that are or were in the pool, from the next batch on, and withdraw pairs of those that left.

        Pairs of a suspended version are still issued: they will prove unplayable, whenever the suspension is known.
        """
        seats = sorted(seats, key=lambda seat: seat.id)
        if seats == self._seats:
            return
        self._seats, self._idle = seats, ""
        self._present = {seat.id for seat in seats if seat.active or (seat.suspended and seat.entered)}
        self._withdraw(self._open.values())
        self._begin_tune()
        self._begin_test()

    def due(self) -> list[Pairing] | None:
        """Return the next batch if it is time for it, otherwise None. It remains the same until it is added."""
        # The test of a tune begins from all its results, so it waits for the last ones.
        lag = 1 if self.tune and not self.tune.next_size() and not self.tune.finished else self._lag
        ready = all(number > self.batches - lag for number, count in self._unfixed.items() if count)
        if self.finished or self._idle or not ready or 0 < self._size <= len(self._open) - len(self._given):
            return None
        self._fold(self.batches - lag)
        batch, reason = self._next_batch()
        self._idle = "" if batch else reason
        return batch or None

    def add(self, pairs: Sequence[Pair]) -> None:
        """Add the batch that was due, as the store numbered it. Pairs that were added before are ignored."""
        fresh = [pair for pair in pairs if pair.number >= self._issued]
        for pair in fresh:
            self._met.add(pair.first, pair.second)
            self._take(pair)
            for learner in self._learners(pair):
                learner.expect([pair.number])
        if fresh:
            self.batches, self._size = fresh[-1].batch + 1, len(fresh)
            self._issued = fresh[-1].number + 1
            self._withdraw(fresh)

    def issue(self) -> Pair | None:
        """Return the next pair to be played, in the order of numbers, or None if no pair is waiting."""
        while self._waiting and not (self.test and self.test.accepted):
            number = heapq.heappop(self._waiting)
            if number in self._open:
                self._given.add(number)
                return self._open[number]
        return None

    def fix(self, result: PairResult) -> None:
        """Count a pair that is stored. Idempotent."""
        if not self._close(result.number):
            if self._withdrawn.pop(result.number, None) is None:
                return
            if result.points is not None:
                self._lost.add(result.first, result.second, -1)  # it was being played when it was withdrawn
        if result.batch < self._tallied:
            self._tally.add(result.meetings)
            self._late += 1
        else:
            self._results[result.batch].append(result)
        self._remember(result)
        for learner in self._learners(result):
            learner.offer_result(result)

    def is_open(self, pair: Pair) -> bool:
        """Return whether the pair is to be played, or is being played."""
        return pair.number in self._open

    @property
    def finished(self) -> str:
        """Return why nothing more is issued unless a bot enters; "" while there is something to play or wait for."""
        if self.test and self.test.accepted:
            return f"{self.test.accepted} is accepted after {counted(self.test.pairs, 'pair')}"
        return "" if self._open else self._idle

    @property
    def deserted(self) -> bool:
        """Return whether the schedule is over only because bots that it needs are suspended or not entered."""
        why = self.finished
        return why.startswith(_TOO_FEW) or why == _NO_OPPONENT or why.endswith(_NOT_THERE) or f" {_SUSPENDED}: " in why

    @property
    def verdict(self) -> Verdict | None:
        """Return the verdict of a test, on the pairs before which no result is missing.

        None while one of the two bots is missing, and in a tune before its final test.
        """
        if self.test is None or (self.tune and not (self.tune.finished and self._format.check)):
            return None
        state = (self.test.new, self.test.old, tuple(self.test.counts), bool(self.finished))
        if self._verdict is None or self._verdict[0] != state:  # judging is slow, and this is asked often
            self._verdict = state, self.test.verdict(over=bool(self.finished))
        return self._verdict[1]

    def ratings(self) -> Ratings | None:
        """Return the ratings on which the latest batch is based; once the schedule is over, those by all results.

        None if fewer than two versions can be rated.
        """
        if not self.finished:
            return self._rated(self._tally, self._tallied)
        rest = [meeting for results in self._results.values() for one in results for meeting in one.meetings]
        return self._rated(self._tally.plus(rest), self.batches)

    # --- pairs on their way ---------------------------------------------------------------------------------------

    def _take(self, pair: Pair) -> None:
        self._open[pair.number] = pair
        self._unfixed[pair.batch] += 1
        heapq.heappush(self._waiting, pair.number)

    def _close(self, number: int) -> bool:
        """Close the pair. Return False if it was not open."""
        pair = self._open.pop(number, None)
        self._given.discard(number)
        if pair is not None:
            self._unfixed[pair.batch] -= 1
        return pair is not None

    def _withdraw(self, pairs: Iterable[Pair]) -> None:
        for pair in [pair for pair in pairs if not {pair.first, pair.second} <= self._present]:
            self._close(pair.number)
            self._withdrawn[pair.number] = pair
            self._lost.add(pair.first, pair.second)
            for learner in self._learners(pair):
                learner.lose(pair.number)

    def _learners(self, pair: Pair | PairResult) -> list[PoolTest | PoolTune]:
        """Return the test and the tune that learn from this pair."""
        return [learner for learner in (self.test, self.tune) if learner and learner.concerns(pair)]

    def _fold(self, last: int) -> None:
        """Count the results of the batches up to `last`."""
        for batch in range(self._tallied, last + 1):
            results = self._results.pop(batch, [])
            for result in results:
                self._tally.add(result.meetings)
            # The store says which pairs were withdrawn; a suspension counts with the results of its batch.
            for result in results:
                if result.lost is LostReason.SUSPENDED:
                    self._lost.add(result.first, result.second)
            if self._format.kind is FormatKind.SWISS:
                self._fold_round(batch, results)
            del self._unfixed[batch]
        self._tallied = max(self._tallied, last + 1)

    def _fold_round(self, number: int, results: Sequence[PairResult]) -> None:
        withdrawn = [pair for pair in self._withdrawn.values() if pair.batch == number]
        lost = self._names(result for result in results if result.lost) | self._names(withdrawn)
        self._rounds = self._rounds.after(self._names(result for result in results if not result.lost), lost)

    def _names(self, pairs: Iterable[Pair | PairResult]) -> set[str]:
        """Return the names of the bots of these pairs. All versions of a bot have one name."""
        names = {seat.id: seat.name for seat in self._seats}
        return {names[id] for pair in pairs for id in (pair.first, pair.second) if id in names}

    def _remember(self, result: PairResult) -> None:
        if self._format.kind in TESTED:
            self._history[result.number] = result

    def _begin_test(self) -> None:
        """Begin the test with the two versions that are there now, from all that they played, unless it has begun."""
        if self._format.kind not in TESTED or (both := self._there(self._format.bots)) is None:
            return
        if self.test and (self.test.new, self.test.old) == both:
            return
        self.test = test = PoolTest(self._format, *both)
        theirs, waiting = self._pairs_of(test)
        test.expect(sorted([*(result.number for result in theirs), *waiting]))
        # Another batch was issued after the last but two: those did not stop it. Judging all again would be slow.
        judged = waiting or any(result.batch >= self.batches - 2 for result in theirs)
        for result in theirs:
            test.offer_result(result, result.batch >= (self.batches - 2 if judged else 0))

    def _begin_tune(self) -> None:
        """Begin the tune in the same way."""
        if self._format.plan is None or (both := self._there((PLUS, MINUS))) is None:
            return
        if self.tune and (self.tune.plus, self.tune.minus) == both:
            return
        self.tune = tune = PoolTune(self._format.plan, f"{self._seed} {self._name}", *both)
        theirs, waiting = self._pairs_of(tune)
        for result in theirs:
            tune.offer_result(result)
        tune.expect(sorted([*(result.number for result in theirs), *waiting]))

    def _pairs_of(self, learner: PoolTest | PoolTune) -> tuple[list[PairResult], list[int]]:
        """Return the results that a test or tune learns from, in order, and the numbers of its open pairs."""
        theirs = [self._history[number] for number in sorted(self._history)]
        waiting = [number for number, pair in self._open.items() if learner.concerns(pair)]
        return [result for result in theirs if learner.concerns(result)], waiting

    def _there(self, names: Sequence[str]) -> tuple[int, int] | None:
        """Return the ids of two bots if both are there now."""
        there = {seat.name: seat.id for seat in self._seats if seat.id in self._present}
        found = [there[name] for name in names if name in there]
        return (found[0], found[1]) if len(found) == 2 else None

    # --- the next batch -------------------------------------------------------------------------------------------

    def _next_batch(self) -> tuple[list[Pairing], str]:
        """Return the next pairs, or [] and the reason why there are none."""
        seats = [seat for seat in self._seats if seat.active or self._pardoned(seat)]
        ids = self._here = [seat.id for seat in seats]
        if len({seat.version for seat in seats}) < 2:
            return [], _TOO_FEW + self._suspensions()
        size = batch_size(self._format, self._issued, len(seats))
        if self._format.kind is FormatKind.LADDER:
            return self._draw(seats, size), ""
        if self._format.kind is FormatKind.TUNE:
            return self._tuned()
        if self._format.kind is FormatKind.TEST:
            return self._tested(size)
        if self._format.kind is FormatKind.SWISS:
            return self._round(seats)
        met = self._met.table(ids)[0] - self._lost.table(ids)[0]
        reason = f"all have met in {counted(self._format.pairs, 'pair')}"
        if self._format.kind is FormatKind.GAUNTLET and not any(
            s.active and s.name in self._format.bots for s in seats
        ):
            reason = f"{' or '.join(self._format.bots)} {_NOT_THERE}"
        return cycles(self._format, seats, met, size), reason

    def _suspensions(self) -> str:
        """Return who is suspended, why, and how to readmit them; "" if nobody is."""
        entered = [seat for seat in self._seats if seat.suspended and seat.entered]
        told = [f"; {seat.label} {_SUSPENDED} ({seat.suspended}): {_READMIT} {seat.label}" for seat in entered[:_NAMED]]
        more = f"; {len(entered) - _NAMED} others are suspended, too" if len(entered) > _NAMED else ""
        return "".join(told) + more

    def _tuned(self) -> tuple[list[Pairing], str]:
        """Return pairs for iterations, and when these are played, for the test of the tuned values."""
        tune, plan = self.tune, self._format.plan
        assert plan is not None, "a tune has a plan"
        if tune is None or not {tune.plus, tune.minus} <= set(self._here):
            reasons = [f"{seat.name} {_SUSPENDED}: {seat.suspended}" for seat in self._seats if seat.suspended]
            return [], "; ".join(reasons) or f"{PLUS} or {MINUS} {_NOT_THERE}"
        if size := tune.next_size():
            return [Pairing(tune.plus, tune.minus)] * size, ""
        done = f"all {plan.iterations} iterations are played"
        if not self._format.check:
            return [], done
        if plan.words(tune.tuned) == plan.words(plan.playable(plan.start)):
            return [], f"{done}; the tuned values are those of the start: there is nothing to test"
        return self._tested(0)

    def _tested(self, size: int) -> tuple[list[Pairing], str]:
        """Return pairs for the test; `size` 0 means as many as fit the number of pairs so far."""
        test = self.test
        if test is None or not {test.new, test.old} <= set(self._here):
            return [], f"{' or '.join(self._format.bots)} {_NOT_THERE}"
        two = sorted((test.new, test.old))
        issued = int(self._met.table(two)[0][0, 1] - self._lost.table(two)[0][0, 1])
        size = size or batch_size(replace(self._format, batch=0), issued, len(two))
        left = min(size, self._format.pairs - issued) if self._format.pairs else size
        return [Pairing(test.new, test.old)] * left, f"inconclusive after {counted(issued, 'pair')}"

    def _round(self, seats: Sequence[PoolEntry]) -> tuple[list[Pairing], str]:
        """Return a round of a Swiss tournament. Byes are not stored: they are rounds without a pair.

        If pairs of a round were lost, the next batch pairs the bots that have not played in it, new versions in
        place of the old ones. If no two of these may meet, the next round begins.

        A bye is as good as winning all games of a round. Who joined late missed rounds, too: no more of them count as
        byes than one in as many rounds as there are bots. A game that does not count is half a point to either.
        """
        if self._rounds.short:
            rest = [seat for seat in seats if seat.name not in self._rounds.played]
            if len({seat.version for seat in rest}) > 1 and (pairs := self._paired(rest, self._rounds.began - 1)):
                return pairs, ""
        if self._rounds.began >= self._format.rounds:
            return [], f"all {self._format.rounds} rounds are played"
        return self._paired(seats, self._rounds.began), _NO_OPPONENT

    def _paired(self, seats: Sequence[PoolEntry], rounds: int) -> list[Pairing]:
        """Return the pairs of a Swiss round between these bots, after so many rounds."""
        ids, each = [seat.id for seat in seats], max(1, self._format.pairs)
        met, issued = self._met.table(ids)
        lost, lost_each = self._lost.table(ids)
        met, issued = met - lost, issued - lost_each
        games, points = self._tally.totals(ids)
        missed = np.maximum(0, rounds - -(-issued // each))
        byes = np.minimum(missed, -(-rounds // len(self._here)))
        points = points + np.maximum(0, GAMES * issued - games) / 2 + GAMES * each * byes
        versions = version_numbers(seats)
        chance = random_for(self._seed, self._name, self.batches)
        pairs = pair_round(SwissTable(points, missed, versions, -(-met // each)), chance)
        turns = [pairs if turn % 2 == 0 else [(two, one) for one, two in pairs] for turn in range(each)]
        return [Pairing(ids[one], ids[two]) for turn in turns for one, two in turn]

    def _pardoned(self, seat: PoolEntry) -> bool:
        """Return whether a version is suspended by a batch that does not count yet: other runs may not know it."""
        return bool(seat.suspended) and seat.entered and seat.since > max(-1, self.batches - self._lag)

    def _draw(self, seats: Sequence[PoolEntry], size: int) -> list[Pairing]:
        ratings = self._rated(self._tally, self._tallied)
        assert ratings is not None, "two seats can be rated"
        elo, error = elo_and_error(ratings, self._here)
        met, issued = self._met.table(self._here)
        field = Field(seats, elo, error, self._tally.totals(self._here)[0] // GAMES, issued, met)
        return draw_batch(field, size, self._format.share, random_for(self._seed, self._name, self.batches))

    def _rated(self, tally: ResultsTable, upto: int) -> Ratings | None:
        """Return ratings; those of the last call if nothing was counted since."""
        key = (upto, self._late, self._here)
        if self._ratings is None or self._key != key:
            start = self._ratings if len(self._seats) > _COLD else None
            try:
                self._ratings = rate_tally(tally, self._seats, self._here, self._model, start)
            except CountsError:  # fewer than two
                return None
            self._key = key
        return self._ratings


# -- One pool of a running ladder: its schedule, connected to the store.


class PoolSchedule:
    """The schedule of a pool with its store: it makes and stores batches, and knows how each version is started."""

    def __init__(self, ladder: Ladder, pool: Pool, row: int, store: Store) -> None:
        self.pool = pool
        self.row = row  # of the pool in the store
        self.model = ladder.model
        self._store = store
        self._ready: deque[Pair] = deque()
        seats = store.seats(row)
        self._starts: Mapping[int, BotSpec] = _starts(ladder, pool, seats)
        plan = ladder.format.plan
        self._tuned = (ladder.template, plan) if ladder.template and plan else None
        past = store.past(row, ladder.format.kind)
        self.schedule = Schedule(ladder.format, pool.key, ladder.seed, seats, past, ladder.model)

    def ready(self, pairs: int) -> int:
        """Return how many of so many pairs may be played now. Makes and stores the batches that are due first.

        Raises:
            StoreError: The store does not take a batch.
        """
        while len(self._ready) < pairs:
            pair = self.schedule.issue()
            if pair is None and not self._make_batch():
                break
            if pair is not None:
                self._ready.append(pair)
        return min(pairs, len(self._ready))

    def take(self) -> Pair | None:
        """Return the next pair that is ready, if there is one."""
        return self._ready.popleft() if self._ready else None

    def starts(self, pair: Pair) -> Mapping[int, BotSpec]:
        """Return how the two versions of a pair are started, by their ids."""
        if self._tuned is None:
            return self._starts
        template, plan = self._tuned
        roles = {id: self._starts[id].name for id in (pair.first, pair.second)}
        return {id: tuned_bot(template, plan, roles[id], values) for id, values in self.values(pair).items()}

    def values(self, pair: Pair) -> Mapping[int, Values]:
        """Return the values that the two versions of a pair of a tune play with."""
        tune = self.schedule.tune
        assert tune is not None, "both are there when a pair is issued"
        if tune.concerns(pair):
            return {id: tune.values(id, pair.number) for id in (pair.first, pair.second)}
        of_role = {TUNED: tune.tuned, START: tune.plan.playable(tune.plan.start)}
        return {id: of_role[self._starts[id].name] for id in (pair.first, pair.second)}

    def words(self, pair: Pair, who: str | int | None) -> str:
        """Return the values of the bot of this name or id in a pair of a tune, or of both bots if it is neither."""
        tune = self.schedule.tune
        values = self.values(pair) if tune else {}
        at_fault = [id for id in values if who in (id, self._starts[id].name)]
        sets = [tune.plan.words(values[id]) for id in at_fault or values] if tune else []
        return " and ".join(" ".join(f"{name}={value}" for name, value in one.items()) for one in sets)

    def _make_batch(self) -> bool:
        number = self.schedule.batches
        self.schedule.enter(self._store.seats(self.row))
        pairings = self.schedule.due()
        if not pairings:
            return False
        self.schedule.add(self._store.issue(self.row, number, pairings))
        return True


def _starts(ladder: Ladder, pool: Pool, seats: Sequence[PoolEntry]) -> dict[int, BotSpec]:
    """Return how the versions that are entered now are started, by their ids."""
    entered = {(bot.name, bot.version): bot.start for bot in ladder.entered(pool)}
    return {seat.id: entered[seat.name, seat.version] for seat in seats if (seat.name, seat.version) in entered}
