"""A ladder whose store the tests of its commands look at: made-up matches with true records, or really played ones."""

import zlib
from dataclasses import replace
from pathlib import Path

from referee.ladder.rating import rate_seats
from referee.ladder.standings import make_fit
from referee.play.series import SeriesConfig
from referee.store.model import FinishedGame, Ladder, Pair, Pairing
from referee.store.store import Store
from tests.support.series import make_setup, play
from tests.support.stores import ladder, match

WON, LOST, TIED = (0, "rules"), (1, "rules"), (-1, "rules")
Ending = tuple[int, str]  # the winner (0 the pair's first, 1 its second, -1 nobody), the termination


class Filled:
    """A store in a file, filled pair by pair. Labels name versions."""

    def __init__(self, folder: Path, entered: Ladder | None = None) -> None:
        self.path = folder / "club.db"
        self.url = f"sqlite:///{self.path}"
        self.store = Store.open(self.url, create=True)
        self.pools = self.store.enrol(entered or ladder())
        self._batches: dict[str, int] = {}

    def __enter__(self) -> "Filled":
        return self

    def __exit__(self, *error: object) -> None:
        self.store.close()

    def issue(self, first: str, second: str, pool: str = "fast") -> Pair:
        id = self.pools[pool]
        ids = {seat.label: seat.id for seat in self.store.seats(id)}
        (pair,) = self.store.issue(id, self._batches.setdefault(pool, 0), [Pairing(ids[first], ids[second])])
        self._batches[pool] += 1
        return pair

    def meet(self, first: str, second: str, *endings: Ending, pool: str = "fast", **more: object) -> None:
        """Pairs with these endings, game by game; an odd number leaves the last pair half played."""
        for start in range(0, len(endings), 2):
            pair = self.issue(first, second, pool)
            games = [
                match(pair, game, winner, termination, names=(first, second), **more)  # type: ignore[arg-type]
                for game, (winner, termination) in enumerate(endings[start : start + 2])
            ]
            self.store.add(games)

    def many(self, first: str, second: str, pairs: int, plies: int = 2, pool: str = "fast") -> None:
        """So many pairs, each won by who sat first, stored at once."""
        id = self.pools[pool]
        ids = {seat.label: seat.id for seat in self.store.seats(id)}
        batch = self._batches.setdefault(pool, 0)
        self._batches[pool] += 1
        issued = self.store.issue(id, batch, [Pairing(ids[first], ids[second])] * pairs)
        self.store.add(
            [match(pair, game, game, names=(first, second), plies=plies) for pair in issued for game in (0, 1)]
        )

    def rate(self, pool: str = "fast") -> None:
        """Save a fit, as a ladder that runs does."""
        id = self.pools[pool]
        seats, meetings = self.store.seats(id), self.store.meetings(id)
        fit = make_fit(rate_seats(meetings, seats), id, sum(met.games for met in meetings), seats)
        self.store.save_fit(id, fit)

    def play(self, setup: SeriesConfig, pool: str = "fast") -> None:
        """A pair that is really played; the setup's bots have the labels of the versions."""
        pair = self.issue(setup.bots[0].name, setup.bots[1].name, pool)
        came = play(replace(setup, name=f"club-{pool}-{pair.number}"))
        self.store.add(
            [
                FinishedGame(pair, replace(result, record=zlib.compress(record)))
                for result, record in zip(came.played, came.kept, strict=True)
            ]
        )


def a_season(filled: Filled) -> None:
    """ann > bob > cat by play, dan loses by faults; one match is void."""
    filled.meet("ann", "bob", WON, WON, WON, TIED, WON, LOST)
    filled.meet("bob", "cat", WON, LOST, WON, WON)
    filled.meet("cat", "ann", LOST, LOST, WON, LOST)
    filled.meet("dan", "ann", (1, "time"), (1, "illegal_move"), WON, LOST)
    filled.meet("bob", "dan", (0, "time"), (-1, "ply_limit"))


def real_setup(first: str, second: str, game: str = "yugo,size=3") -> SeriesConfig:
    """Bots under these names: random ones, or `NAME=BOT`."""
    bots = (bot if "=" in bot else f"{bot}=random:seed={number}" for number, bot in enumerate((first, second), 1))
    return make_setup(game, *bots)
