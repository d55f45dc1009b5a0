"""Ladders, made-up matches with true records, and stores that hold them.

`python -m tests.support.stores URL [--until-full] [--room=N]` adds games to a store until it is killed or the store is
full. After every batch it prints how many games are durable.
"""

import resource
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ggp.protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ladder.standings import BotScore, make_fit, score_of
from ggp.referee.ladder.store.model import (
    Entrant,
    FinishedGame,
    Format,
    FormatKind,
    Full,
    Ladder,
    Pair,
    Pairing,
    PairScore,
    Pool,
)
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.series import GameResult, SeriesConfig, seats
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.ratings import Ratings
from ggp.referee.ratings.standings import Standing
from ggp.referee.records import pack
from tests.support.series import make_setup, play

ENGINE = BotSpec("engine", "engine", ("engine",))
BOTS = ("ann", "bob", "cat", "dan")
ENDED = "2026-11-21T12:00:00Z"


def pool(name: str = "fast", game: str = "yugo", control: str = "1+0.1", **options: str) -> Pool:
    return Pool(name, Setting(game, options or {"size": "5"}, {}, TimeControl.parse(control)), ENGINE)


def entrant(
    name: str, version: str = "v1", pools: Sequence[str] = ("fast",), parent: str = "", anchor: float | None = None
) -> Entrant:
    start = BotSpec(name, f"./{name} --{version}", (f"./{name}", f"--{version}"), version=version)
    return Entrant(name, start, tuple(pools), parent, anchor)


def ladder(bots: Sequence[Entrant | str] = BOTS, pools: Sequence[Pool] = ()) -> Ladder:
    entrants = tuple(bot if isinstance(bot, Entrant) else entrant(bot) for bot in bots)
    return Ladder("test", 1, "", tuple(pools) or (pool(),), entrants, Format(FormatKind.LADDER), Timeouts())


def match(
    pair: Pair,
    game: int,
    winner: int = 0,
    termination: str = "rules",
    *,
    names: Sequence[str] = (),
    result: str | None = None,
    attempt: int = 0,
    plies: int = 2,
    culprit: str | None = None,
    setting: Setting | None = None,
) -> FinishedGame:
    """A match of the pair that `winner` won: 0 its first, 1 its second, -1 none; with a record that agrees.

    `names` of the pair's first and second are for the record and for a culprit. A loss by a fault has its culprit.
    """
    names = names or ("ann", "bob")
    order = seats(game)
    key = f"test-{pair.pool}-{pair.number}-{game + 1}" + (f".{attempt}" if attempt else "")
    seat = order.index(winner) + 1 if winner >= 0 else 0
    fault = termination not in ("rules", "resignation", "ply_limit", "engine_failed")
    if result is None:
        result = "" if termination in ("ply_limit", "engine_failed") else f"{'0BW'[seat]}+1" if seat else "0"
    if culprit is None:
        culprit = "engine" if termination == "engine_failed" else names[1 - winner] if fault else ""
    by_seat = [names[bot] for bot in order]
    blamed = f"seat{by_seat.index(culprit) + 1}" if culprit in by_seat else culprit
    setting = setting or pool().setting
    record = Record(
        MatchStarted(
            match=key,
            game=setting.game,
            options=setting.options,
            bots=(_party(by_seat[0]), _party(by_seat[1])),
            engine=Party(name="engine"),
            control=str(setting.control),
        ),
        tuple(MovePlayed(ply, key, ply, 2 - ply % 2, "BW"[1 - ply % 2], f"A{ply}", ply) for ply in range(1, plies + 1)),
        MatchEnded(
            seq=plies + 1,
            match=key,
            result=result,
            winner=seat,
            termination=termination,
            culprit=blamed,
            plies=plies,
            ended=ENDED,
        ),
    )
    ms = (sum(range(1, plies + 1, 2)), sum(range(2, plies + 1, 2)))
    played = GameResult(
        number=game,
        key=key,
        result=result,
        winner=winner if seat else -1,
        culprit=culprit,
        termination=termination,
        detail="",
        plies=plies,
        used=(ms[order.index(0)], ms[order.index(1)]),
        suspect=False,
        ended=ENDED,
        record=pack(record.lines()),
    )
    return FinishedGame(pair, played)


def pairings(store: Store, pool: int, number: int) -> list[Pairing]:
    """So many, of all with all others in turn."""
    ids = [seat.id for seat in store.seats(pool) if seat.active]
    all_pairs = [(one, other) for one in ids for other in ids if one != other]
    return [Pairing(*all_pairs[index % len(all_pairs)]) for index in range(number)]


def scores(meetings: Iterable[PairScore]) -> dict[int, BotScore]:
    """Of every version that played."""
    found: dict[int, BotScore] = {}
    for met in meetings:
        for seat, version in enumerate((met.first, met.second), 1):
            found[version] = found.get(version, BotScore()) + score_of(met, seat)
    return found


def meetings_in(columns: Sequence[str]) -> list[tuple[int, ...]]:
    """The values of each meeting in what `Store.meeting_counts` gives, rising."""
    return sorted(zip(*([int(value) for value in values.split(",")] for values in columns), strict=True))


def by_id(ratings: Ratings) -> dict[int, Standing]:
    """Every version's standing, best first."""
    return {int(standing.name): standing for standing in ratings.standings()}


def _party(name: str) -> Party:
    return Party(name=name, command=f"./{name} --v1")


WON, LOST, TIED = (0, "rules"), (1, "rules"), (-1, "rules")
Ending = tuple[int, str]  # the winner (0: the pair's first, 1: its second, -1: none), the termination


class Filled:
    """A store in a file, filled pair by pair. Labels name versions."""

    def __init__(self, folder: Path, entered: Ladder | None = None, url: str = "") -> None:
        """url: of an empty database in place of the file."""
        self.path = folder / "club.db"
        self.url = url or f"sqlite:///{self.path}"
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
        """Store this many pairs at once, each won by seat 1 in both games."""
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
        fit = make_fit(rate_seats(meetings, seats), sum(met.games for met in meetings), seats)
        self.store.save_fit(id, fit)

    def play(self, setup: SeriesConfig, pool: str = "fast") -> None:
        """A pair that is really played; the setup's bots have the labels of the versions."""
        pair = self.issue(setup.bots[0].name, setup.bots[1].name, pool)
        came = play(replace(setup, name=f"club-{pool}-{pair.number}"))
        self.store.add(
            [
                FinishedGame(pair, replace(result, record=pack(record)))
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


def main(url: str, options: list[str]) -> int:
    """Goes on where it was; the games of a batch come in odd groups."""
    until_full = "--until-full" in options
    with Store.open(url, create=True) as store:
        (pool,) = store.enrol(ladder()).values()
        names = {seat.id: seat.name for seat in store.seats(pool)}
        for option in options:
            if option.startswith("--room="):
                most = int(option.removeprefix("--room="))
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        sure = store.totals().games
        try:
            while True:
                if not store.open_pairs(pool):
                    store.issue(pool, store.past(pool, FormatKind.LADDER).batches, pairings(store, pool, 10))
                left = [(pair, game) for pair in store.open_pairs(pool) for game in (0, 1) if game not in pair.played]
                for start in range(0, len(left), 7):
                    group = left[start : start + 7]
                    store.add(
                        [
                            match(pair, game, plies=40, names=(names[pair.first], names[pair.second]))
                            for pair, game in group
                        ]
                    )
                    sure += len(group)
                    print(sure, flush=True)
        except Full as error:
            if not until_full:
                raise
            assert store.totals().games == sure, "a failed transaction is half done"
            print(sure)
            print(f"Full: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
