"""What is to be played in one pool: its pairs that nobody plays now, and who of its bots goes by which id."""

from referee.ladder.entries import Pool
from referee.ladder.pairs import GAMES, Pair, PairResult, Seat
from referee.store.store import Store


class Fixtures:
    """Of one pool, whose row in the store is `row`. `open`: pairs that were issued and are nobody's now, by id;
    `taken`: those that are being played, or wait for the bots that were playing them.

    What reads or writes the store is done by the ledger's thread, and raises StoreError.
    """

    def __init__(self, pool: Pool, row: int, store: Store) -> None:
        self.pool, self.row = pool, row
        self.open: dict[int, Pair] = {}
        self.taken: dict[int, Pair] = {}
        self.seats: dict[tuple[str, str], Seat] = {}  # by name and version
        self._store = store
        self.load()
        self.enrolled()

    def load(self) -> None:
        """Look what is to be played."""
        self.open = {pair.id: pair for pair in self._store.open_pairs(self.row) if pair.id not in self.taken}

    def enrolled(self) -> None:
        """Somebody joined: look who is entered."""
        self.seats = {(seat.name, seat.version): seat for seat in self._store.seats(self.row)}

    def take(self, pair: Pair) -> None:
        """It is somebody's now."""
        self.open.pop(pair.id, None)
        self.taken[pair.id] = pair

    def give_back(self, pair: Pair, left: Pair | None) -> None:
        """Nobody plays it any more; `left` of it is still to be played."""
        self.taken.pop(pair.id, None)
        if left is not None:
            self.open[left.id] = left

    def fix(self, result: PairResult) -> None:
        """A pair is stored."""

    def still_open(self, pair: Pair) -> Pair | None:
        """The pair as far as it was not played; None if nothing of it is left to be played."""
        stored = self._store.open_pairs(self.row)
        return next((one for one in stored if one.id == pair.id and len(one.played) < GAMES), None)
