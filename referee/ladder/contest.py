"""One pool of a running ladder: its schedule on one side, the store on the other. It plays nothing."""

import math
from collections import deque
from collections.abc import Mapping, Sequence

from referee.ladder.entries import Ladder, Pool
from referee.ladder.pairs import GAMES, Pair, PairResult, Seat
from referee.ladder.schedule import Schedule
from referee.play.seating import Start
from referee.store.store import Store


class Contest:
    """The pairs of a pool that are to be played next. `limit`: pairs of this number and above are left for later."""

    def __init__(self, ladder: Ladder, pool: Pool, row: int, store: Store, limit: float = math.inf) -> None:
        self.pool = pool
        self.row = row  # of the pool in the store
        self.model = ladder.model
        self.limit = limit
        self._store = store
        self._ready: deque[Pair] = deque()
        seats = store.seats(row)
        self.starts: Mapping[int, Start] = _starts(ladder, pool, seats)
        past = store.past(row, ladder.format.kind)
        self.schedule = Schedule(ladder.format, pool.key, ladder.seed, seats, past, ladder.model)
        self._next = min((pair.number for pair, result in past.recent if result is None), default=past.issued)

    @property
    def next(self) -> int:
        """The number of the pair that comes next: pools that play side by side take turns by it."""
        return self._ready[0].number if self._ready else self._next

    def ready(self, pairs: int) -> int:
        """How many of so many pairs may be played now; batches that are due are made and stored first.

        Raises StoreError.
        """
        while len(self._ready) < pairs and self._next < self.limit:
            pair = self.schedule.issue()
            if pair is None and not self._make_batch():
                break
            if pair is not None:
                self._next = pair.number + 1
                if pair.number < self.limit:
                    self._ready.append(pair)
        return len(self._ready)

    def take(self) -> Pair | None:
        """The next of those that are ready."""
        return self._ready.popleft() if self._ready else None

    @property
    def over(self) -> str:
        """Why there is nothing to play. Raises StoreError."""
        if self._next < self.limit:
            return self.schedule.finished
        wanted, counted = GAMES * int(self.limit), self._store.counted(self.row)
        if counted >= wanted:
            return f"{wanted} games were to be played, and are"
        return f"{wanted} games were to be played: {counted} count, the others could not be played or are void"

    def fix(self, result: PairResult) -> None:
        """The store has it."""
        self.schedule.fix(result)

    def _make_batch(self) -> bool:
        number = self.schedule.batches
        self.schedule.enter(self._store.seats(self.row))
        pairings = self.schedule.due()
        if not pairings:
            return False
        self.schedule.add(self._store.issue(self.row, number, pairings))
        return True


def pairs_each(games: int, pools: int) -> int:
    """How many pairs a pool plays if there are to be so many games in all."""
    return math.ceil(games / GAMES / pools)


def _starts(ladder: Ladder, pool: Pool, seats: Sequence[Seat]) -> dict[int, Start]:
    """How the versions that are entered now come to the table, by their ids."""
    entered = {(bot.name, bot.version): bot.start for bot in ladder.entered(pool)}
    return {seat.id: entered[seat.name, seat.version] for seat in seats if (seat.name, seat.version) in entered}
