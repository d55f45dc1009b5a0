"""A ladder in memory for tests of schedules: a store, bots of known strength, and runs that are disturbed at will.

What a game ends with is a pure function of seed, pair number and who plays, as with seeded bots.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from ggp.referee.ladder.schedule import Schedule
from ggp.referee.ladder.store.model import (
    TESTED,
    Format,
    FormatKind,
    LostReason,
    Pair,
    PairResult,
    PairScore,
    PoolEntry,
    PoolPast,
    SwissRounds,
)

Elo = Mapping[int, float]


def seats_of(number: int, **more: object) -> list[PoolEntry]:
    """Seats 1 to `number`, called a, b, c … as far as the alphabet goes."""
    names = [chr(96 + id) if id <= 26 else f"bot{id}" for id in range(1, number + 1)]
    return [PoolEntry(id, name, name, f"v{id}") for id, name in enumerate(names, 1)]


@dataclass
class TrueStrengths:
    """Play by Davidson's model, ν being `ties`, with a first-seat advantage; some games are void or forfeited."""

    elo: Elo = field(default_factory=dict)
    seed: int = 1
    advantage: float = 30.0
    ties: float = 0.4
    void: float = 0.0
    forfeits: float = 0.0
    broken: frozenset[int] = frozenset()  # bots that cannot start

    def play(self, pair: Pair) -> PairResult:
        digest = hashlib.sha256(f"{self.seed} {pair.number} {pair.first} {pair.second}".encode()).digest()
        chance = Random(int.from_bytes(digest))
        result = PairResult(pair.number, pair.batch, pair.first, pair.second, None, (), pair.pool)
        if self.broken & {pair.first, pair.second}:
            return replace(result, lost=LostReason.SUSPENDED)
        games = [self._game(pair.first, pair.second, chance), self._game(pair.second, pair.first, chance)]
        points = sum(_points(game, pair.first) for game in games)
        return replace(result, points=None if any(game.void for game in games) else points, meetings=tuple(games))

    def _game(self, first: int, second: int, chance: Random) -> PairScore:
        gap = self.elo.get(first, 0) - self.elo.get(second, 0) + self.advantage
        draw, way = chance.random(), chance.random()
        if way < self.void:
            return PairScore(first, second, void=1)
        if way < self.void + self.forfeits:
            return PairScore(first, second, forfeit_wins=int(draw < 0.5), forfeit_losses=int(draw >= 0.5))
        win, loss = 10 ** (gap / 800), 10 ** (-gap / 800)
        draw *= win + self.ties + loss
        won, tied = draw < win, draw < win + self.ties
        return PairScore(first, second, wins=int(won), ties=int(tied and not won), losses=int(not tied))


def _points(game: PairScore, bot: int) -> float:
    of_first = game.wins + game.forfeit_wins + game.ties / 2
    return of_first if game.first == bot else game.games - of_first


@dataclass
class ScheduleStore:
    """The durable state: numbered pairs, results, entries."""

    format: Format
    seats: list[PoolEntry]
    bots: TrueStrengths
    pairs: list[Pair] = field(default_factory=list)
    results: dict[int, PairResult] = field(default_factory=dict)
    withdrawn: set[int] = field(default_factory=set)

    def issue(self, batch: int, pairings: Sequence[object]) -> list[Pair]:
        start = len(self.pairs)
        made = [Pair(start + n, 1, start + n, batch, p.first, p.second) for n, p in enumerate(pairings)]  # type: ignore[attr-defined]
        self.pairs += made
        return made

    def _withdraw(self, pair: Pair) -> None:
        self.withdrawn.add(pair.number)
        ids = pair.first, pair.second
        self.results[pair.number] = PairResult(pair.number, pair.batch, *ids, None, (), 1, LostReason.WITHDRAWN)

    def add(self, result: PairResult) -> None:
        """A pair that was played; a broken bot is suspended at once."""
        self.results.setdefault(result.number, result)
        broken = self.bots.broken & {result.first, result.second}
        self.seats = [_suspended(seat, result.batch) if seat.id in broken else seat for seat in self.seats]

    def enter(self, seats: Sequence[PoolEntry]) -> None:
        """Replace the entries; open pairs of those that left are withdrawn."""
        self.seats = list(seats)
        gone = {seat.id for seat in seats if not seat.entered}
        for pair in self.pairs:
            if pair.number not in self.results and gone & {pair.first, pair.second}:
                self._withdraw(pair)

    def past(self) -> PoolPast:
        batches = self.pairs[-1].batch + 1 if self.pairs else 0
        settled: Counter[tuple[int, ...]] = Counter()
        for pair in self.pairs:
            for game in self.results[pair.number].meetings if pair.batch < batches - 2 else ():
                settled[_outcome(game)] += 1
        merged: dict[tuple[int, int], list[int]] = {}
        for (first, second, *kind), times in settled.items():
            cells = merged.setdefault((first, second), [0] * 6)
            for index, flag in enumerate(kind):
                cells[index] += flag * times
        return PoolPast(
            batches=batches,
            issued=len(self.pairs),
            settled=tuple(PairScore(first, second, *cells) for (first, second), cells in merged.items()),
            recent=tuple((pair, self.results.get(pair.number)) for pair in self.pairs if pair.batch >= batches - 2),
            met=Counter(_two(pair) for pair in self.pairs),
            lost=Counter(_two(pair) for pair in self.pairs if self._is_lost(pair, batches)),
            rounds=self._rounds(batches - 2),
            results=tuple(self.results[n] for n in sorted(self.results)) if self.format.kind in TESTED else (),
        )

    def _rounds(self, batches: int) -> SwissRounds:
        names, rounds = {seat.id: seat.name for seat in self.seats}, SwissRounds()
        for batch in range(batches if self.format.kind is FormatKind.SWISS else 0):
            played, lost = set[str](), set[str]()
            for pair in self.pairs:
                if pair.batch == batch:
                    (lost if self.results[pair.number].lost else played).update((names[pair.first], names[pair.second]))
            rounds = rounds.after(played, lost)
        return rounds

    def _is_lost(self, pair: Pair, batches: int) -> bool:
        result = self.results.get(pair.number)
        if result is None or result.lost is None:
            return False
        return result.lost is LostReason.WITHDRAWN or pair.batch < batches - 2

    def schedule(self, seed: int = 7) -> Schedule:
        return Schedule(self.format, "pool", seed, self.seats, self.past())

    def played(self) -> list[tuple[int, int, int]]:
        """(batch, first, second) of every pair, in order."""
        return [(pair.batch, pair.first, pair.second) for pair in self.pairs]


def _suspended(seat: PoolEntry, batch: int) -> PoolEntry:
    """In the earliest batch that was its fault, as the store has it."""
    since = min(batch, seat.since) if seat.suspended else batch
    return replace(seat, active=False, suspended="does not start", since=since)


def _outcome(game: PairScore) -> tuple[int, ...]:
    kinds = (game.wins, game.ties, game.losses, game.forfeit_wins, game.forfeit_losses, game.void)
    return (game.first, game.second, *kinds)


def _two(pair: Pair) -> tuple[int, int]:
    return min(pair.first, pair.second), max(pair.first, pair.second)


@dataclass
class Disturbance:
    """How a run goes: at every step a worker takes a pair, any of the pairs in flight ends, or all begins again."""

    workers: int = 1
    kill: float = 0.0  # probability of a step
    seed: int = 0
    keen: float = 0.5  # how readily workers take pairs rather than end them


def run(
    store: ScheduleStore,
    pairs: int,
    disturbance: Disturbance | None = None,
    meanwhile: Callable[[ScheduleStore, Schedule], None] | None = None,
) -> Schedule:
    """Until `pairs` were issued and all of these are stored, or the schedule has finished.

    `meanwhile` is called after every step.
    """
    how = disturbance or Disturbance()
    chance, schedule, flying = Random(how.seed), store.schedule(), list[Pair]()
    for _ in range(1000 * (pairs + 100)):
        draw = chance.random()
        if draw < how.kill:
            schedule, flying = store.schedule(), []
        if len(store.pairs) < pairs and (batch := schedule.due()) is not None:
            assert batch, "a batch that is due is never empty"
            assert schedule.due() == batch, "what is due stays due"
            schedule.add(store.issue(schedule.batches, batch))
        taken = None
        if len(flying) < how.workers and (not flying or chance.random() < how.keen):
            taken = schedule.issue()
        if taken is not None:
            assert taken.number not in store.results and taken not in flying
            flying.append(taken)
        elif flying:
            _end(store, schedule, flying.pop(chance.randrange(len(flying))))
        elif schedule.finished or len(store.pairs) >= pairs:
            return schedule
        if meanwhile is not None:
            meanwhile(store, schedule)
    raise AssertionError("the schedule goes on without end")


def _end(store: ScheduleStore, schedule: Schedule, pair: Pair) -> None:
    before = store.seats
    result = store.bots.play(pair)
    if pair.number in store.withdrawn:  # what comes too late is not stored
        return
    store.add(result)
    schedule.fix(result)
    if store.seats != before:
        schedule.enter(store.seats)


def strengths(number: int, seed: int, spread: float = 150.0) -> dict[int, float]:
    """Elo of seats 1 to `number`, of mean 0."""
    chance = Random(seed)
    elo = [chance.gauss(0, spread) for _ in range(number)]
    mean = math.fsum(elo) / number
    return {id: value - mean for id, value in enumerate(elo, 1)}
