"""Read a bot in detail, and all matches between two bots, as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ggp.protocol.records import MatchStarted
from ggp.referee.ladder.queries import (
    BotSummary,
    PoolSummary,
    RecentGames,
    SequentialTrial,
    read_trial,
    recent_games,
    when,
)
from ggp.referee.ladder.sequential import played_pair
from ggp.referee.ladder.source import ViewError, seat_of
from ggp.referee.ladder.standings import BotScore, Rater, plain, rate_pool, score_of
from ggp.referee.ladder.store.model import GAMES, TESTED, Format, GameRow, PoolEntry, PoolRow
from ggp.referee.ratings.sequential import ObservedPairs
from ggp.referee.ratings.sprt import Hypotheses, effect, judge

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ratings.standings import Difference
Fault = tuple[GameRow, list[str]] | None


class BotDetails(NamedTuple):
    """A version in a pool: all its games, the newest ones, its last fault and what that left behind."""

    pool: PoolSummary
    summary: BotSummary
    recent: RecentGames
    fault: Fault


def read_bot(pools: Sequence[PoolSummary], name: str, games: int) -> list[BotDetails]:
    """Return the version that a name means, in each pool that has it; at most `games` of the newest are read."""
    return [
        BotDetails(pool, pool.bot(seat), recent_games(pool.store, pool.pool, seat, games), pool.last_fault(seat))
        for pool in pools
        if (seat := pool.latest(name))
    ]


def bot_json(pools: Sequence[PoolSummary], found: Sequence[BotDetails], name: str) -> dict[str, Any]:
    versions = [_version_json(pool, seat) for pool in pools for seat in pool.standings.versions(name)]
    return {"bot": name.partition("@")[0], "versions": versions, "pools": [_bot_json(*one) for one in found]}


def _version_json(pool: PoolSummary, seat: PoolEntry) -> dict[str, Any]:
    place = pool.rated.get(seat.id)
    return {
        "pool": pool.pool.name,
        "label": seat.label,
        "version": seat.version,
        "parent": parent_label(pool, seat) or None,
        "anchor": seat.anchor,
        "active": seat.active,
        "suspended": seat.suspended,
        "elo": place and place.elo,
        "se": (place and place.se) or None,
        "games": place.score.games if place else 0,
    }


def parent_label(pool: PoolSummary, seat: PoolEntry) -> str:
    return pool.seats[seat.parent].label if seat.parent in pool.seats else ""


def _bot_json(pool: PoolSummary, bot: BotSummary, recent: RecentGames, fault: Fault) -> dict[str, Any]:
    place = bot.place
    return {
        "pool": pool.pool.name,
        "label": bot.seat.label,
        "rank": bot.rank or None,
        "elo": place and place.elo,
        "se": (place and place.se) or None,
        "score": plain(bot.score),
        "seat1": plain(bot.first),
        "seat2": plain(bot.second),
        "black": {"wins": recent.black.wins, "losses": recent.black.losses},
        "white": {"wins": recent.white.wins, "losses": recent.white.losses},
        "opponents": [
            {"name": pool.seats[other].label, **plain(first + second)}
            for other, (first, second) in bot.opponents.items()
        ],
        "looked_at": recent.games,
        "terminations": dict(recent.ends),
        "faults": dict(recent.faults),
        "last_fault": {"key": fault[0].key, "text": fault_lines(fault)} if fault else None,
        "ms_per_ply": recent.ms_per_ply,
        "clock_share": recent.clock_share,
        "settings": recent.own,
    }


def fault_lines(fault: Fault) -> list[str]:
    if fault is None:
        return []
    row, left = fault
    detail = f": {row.detail}" if row.detail else ""
    return [f"last fault    {row.key}, {when(row.ended)}: {row.termination}{detail}", *(f"  {line}" for line in left)]


# -- all matches between two bots, judged by pairs of games.


LISTED = 5  # games of a pair


@dataclass(frozen=True, slots=True)
class Duel:
    """The matches of two versions in a pool, as the first of them sees them.

    `penta` counts pairs by points (0, ½, 1, 1½, 2), `observed` those that do not repeat others, from which errors are
    computed. `rated` is the difference of their ratings under `model`, as in the standings.
    """

    pool: PoolRow
    one: PoolEntry
    other: PoolEntry
    first: BotScore  # where `one` had seat 1
    second: BotScore
    penta: tuple[int, ...]
    observed: tuple[int, ...]
    rated: "Difference | None"
    model: str
    tests: list[SequentialTrial]
    last: list[GameRow]

    @property
    def score(self) -> BotScore:
        return self.first + self.second


def read_duel(
    store: "Store",
    pool: PoolRow,
    one: str,
    other: str,
    tested: Hypotheses | Format | None = None,
    rate: Rater = rate_pool,
) -> Duel | None:
    """Return the matches of two versions, None if one of them is not in the pool.

    `tested` is a test to compute, or the ladder's format, which may be a test.

    Raises:
        ViewError: Both are the same version.
        RatedLater: `rate` has no ratings yet.
    """
    seats = store.seats(pool.id)
    a, b = seat_of(seats, one), seat_of(seats, other)
    if a is None or b is None:
        return None
    if a.id == b.id:
        raise ViewError(f"{one} and {other} are the same version: name two")
    penta, lines = [0] * 5, ObservedPairs()
    first = sum(map(score_of, store.meetings(pool.id, [a.id], [b.id])), BotScore())
    second = sum((score_of(met, 2) for met in store.meetings(pool.id, [b.id], [a.id])), BotScore())
    for result in store.pair_results(pool.id, a.id, b.id):
        if result.points is not None:
            played = played_pair(result, a.id, result.points)
            penta[played.points] += 1
            lines.add(played)
    observed, games = lines.penta, lines.games
    tests = []
    if isinstance(tested, Hypotheses):
        # By pairs; the model bayes knows only games.
        counts = games if tested.model == "bayes" else observed
        name, told = f"[{tested.elo0:g}, {tested.elo1:g}]", (tuple(penta), judge(counts, tested), tuple(observed))
        tests = [SequentialTrial(name, a, b, tested, *told)] if any(penta) else []
    elif tested is not None and tested.kind in TESTED:
        trial = read_trial(store, pool, seats, tested)
        tests = [trial] if trial and {trial.new.id, trial.old.id} == {a.id, b.id} and any(trial.penta) else []
    fit = store.fit(pool.id)
    model = fit.model if fit else "davidson"
    last = list(islice(store.games(pool.id, a.id, against=b.id), LISTED))
    ratings = rate(store, pool.id, seats, model, 0) if pool.games else None
    names = ratings.counts.names if ratings else ()
    both = str(a.id), str(b.id)
    known = ratings is not None and all(name in names for name in both) and ratings.comparable(*both)
    rated = ratings.difference(*both) if ratings and known else None
    return Duel(pool, a, b, first, second, tuple(penta), tuple(observed), rated, model, tests, last)


def pair_json(duel: Duel) -> dict[str, Any]:
    """Return everything as A sees it, except for the ladder's own test, which its `new` version sees."""
    return {
        "a": duel.one.label,
        "b": duel.other.label,
        "games": duel.score.games,
        "points": duel.score.points,
        "score": plain(duel.score),
        "seat1": plain(duel.first),
        "penta": list(duel.penta),
        **plain(effect(duel.observed)),
        "repeated_pairs": sum(duel.penta) - sum(duel.observed),
        "tests": {
            test.name: {
                "new": test.new.label,
                "llr": test.verdict.llr,
                "lower": test.verdict.lower,
                "upper": test.verdict.upper,
                "state": test.verdict.state,
                "later": test.later,
                **plain(test.hypotheses),
            }
            for test in duel.tests
        },
        "model": duel.model,
        "rating_difference": duel.rated and {"elo": duel.rated.elo, "se": duel.rated.se, "los": duel.rated.los},
        "last": [plain(row) for row in duel.last],
    }


class Meeting(NamedTuple):
    """A pair of games as the first of two bots sees it. `points` are None while a game is missing or void."""

    number: int
    opening: tuple[str, ...]
    games: list[GameRow]
    points: float | None


def read_meetings(store: "Store", duel: Duel, before: int | None, most: int) -> tuple[list[Meeting], int]:
    """About `most` pairs, newest first, and the id `before` which the next ones are, 0 if there are none."""
    rows = list(store.records(duel.pool.id, duel.one.id, against=duel.other.id, limit=2 * most, before=before))
    pairs: dict[int, list[GameRow]] = {}
    openings: dict[int, tuple[str, ...]] = {}
    for row, lines in rows:
        pairs.setdefault(row.pair, []).insert(0, row)
        openings[row.pair] = openings.get(row.pair) or _opening(lines)
    found = [Meeting(pair, openings[pair], games, _points(games, duel.one)) for pair, games in pairs.items()]
    return found, rows[-1][0].id if len(rows) == 2 * most else 0


def _opening(lines: bytes) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(lines.partition(b"\n")[0], type=MatchStarted).opening
    except msgspec.DecodeError:
        return ()


def _points(games: Sequence[GameRow], bot: PoolEntry) -> float | None:
    counted = {row.game: row for row in games if row.result}
    if len(counted) < GAMES:
        return None
    return sum(
        0.5 if not row.winner else (row.first, row.second)[row.winner - 1] == bot.label for row in counted.values()
    )
