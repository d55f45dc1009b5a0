"""`ggp ladder bot NAME` and `ggp ladder pair A B`: a bot in detail, and all matches between two bots."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from ggp.protocol.printed import json_text
from ggp.protocol.records import MatchStarted
from ggp.referee.command_line import HELP
from ggp.referee.ladder import source
from ggp.referee.ladder.queries import (
    BotSummary,
    PoolSummary,
    RecentGames,
    SequentialTrial,
    format_of,
    plain,
    read_trial,
    recent_games,
    state_of,
    title_of,
    when,
)
from ggp.referee.ladder.sequential import played_pair
from ggp.referee.ladder.source import ViewError, check_bots, chosen_pools, exact, open_ladder, seat_of, split
from ggp.referee.ladder.standings import BotScore, Rater, rate_pool, score_of
from ggp.referee.ladder.store.model import GAMES, TESTED, Format, GameRow, PoolEntry, PoolRow
from ggp.referee.ladder.views import add_game, game_sheet, say_pools, show_each
from ggp.referee.ratings.scale import MEANS, effect_lines, half
from ggp.referee.ratings.sequential import ObservedPairs
from ggp.referee.ratings.sprt import MODELS, Hypotheses, Model, SprtError, effect, judge
from ggp.referee.terminal import TextTable, escape_unprintable, say, show

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store
    from ggp.referee.ratings.ratings import Difference

_SPARE = (("made from",), ("score",), ("games",))  # of the versions, where there is little room
Fault = tuple[GameRow, list[str]] | None


@click.command("bot", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("NAME [LADDER]")
@source.pool_option
@click.option("--games", type=click.IntRange(1), default=100_000, show_default=True, help="Newest games to look at.")
@source.json_option
def bot(words: tuple[str, ...], pool_name: str | None, games: int, as_object: bool) -> int:
    """Show a bot: versions, ratings, opponents, terminations, faults, use of time. NAME@VERSION: an earlier version.

    Ratings, seats and opponents are of all games; the rest is of the newest.
    """
    ladder, (name,) = split(words, 1, 1)
    with open_ladder(ladder) as store:
        pools = [PoolSummary(store, pool) for pool in chosen_pools(store.pools(), pool_name)]
        check_bots([seat for pool in pools for seat in pool.standings.seats], name)
        found = read_bot(pools, name, games)
    if as_object:
        say(json_text(bot_json(pools, found, name)))
        return 0
    _show_versions(pools, name)
    for one in found:
        say("")
        _show_bot(one, games)
    return 0


run_bot = partial(source.run_view, bot)  # argv -> the exit status


class BotDetails(NamedTuple):
    """A version in a pool: all its games, the newest ones, its last fault and what that left behind."""

    pool: PoolSummary
    summary: BotSummary
    recent: RecentGames
    fault: Fault


def read_bot(pools: Sequence[PoolSummary], name: str, games: int) -> list[BotDetails]:
    """The version that a name means in each of the pools that have it; `games` of the newest are looked at."""
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
        "parent": _parent(pool, seat) or None,
        "anchor": seat.anchor,
        "active": seat.active,
        "suspended": seat.suspended,
        "elo": place and place.row.elo,
        "se": (place and place.row.se) or None,
        "games": place.score.games if place else 0,
    }


def _parent(pool: PoolSummary, seat: PoolEntry) -> str:
    return pool.seats[seat.parent].label if seat.parent in pool.seats else ""


def _bot_json(pool: PoolSummary, bot: BotSummary, recent: RecentGames, fault: Fault) -> dict[str, Any]:
    place = bot.place
    return {
        "pool": pool.pool.name,
        "label": bot.seat.label,
        "rank": bot.rank or None,
        "elo": place and place.row.elo,
        "se": (place and place.row.se) or None,
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
        "last_fault": {"key": fault[0].key, "text": _fault_lines(fault)} if fault else None,
        "ms_per_ply": recent.ms_per_ply,
        "clock_share": recent.clock_share,
        "settings": recent.own,
    }


def _fault_lines(fault: Fault) -> list[str]:
    if fault is None:
        return []
    row, left = fault
    detail = f": {row.detail}" if row.detail else ""
    return [f"last fault    {row.key}, {when(row.ended)}: {row.termination}{detail}", *(f"  {line}" for line in left)]


def _show_versions(pools: list[PoolSummary], name: str) -> None:
    heads = ("pool", "version", "made from", "Elo", "±", "games", "score", "state")
    sheet = TextTable(heads, frozenset({"pool", "version", "made from", "state"}), spare=_SPARE)
    for pool in pools:
        for seat in reversed(pool.standings.versions(name)):
            place = pool.rated.get(seat.id)
            rating = (f"{place.row.elo:z.1f}", half(place.row.se)) if place else ("", "")
            score = place.score if place else BotScore()
            share = f"{score.share:.1%}" if score.games else ""
            sheet.add(pool.pool.name, exact(seat), _parent(pool, seat), *rating, score.games, share, state_of(seat))
    show(sheet, name.partition("@")[0])
    for pool in pools:
        if pool.standings.fit is not None and pool.standings.versions(name):
            prefix = f"{pool.pool.name}: " if len(pools) > 1 else ""
            say(escape_unprintable(prefix + pool.standings.zero(here=False)))


def _show_bot(found: BotDetails, most: int) -> None:
    pool, bot, recent, fault = found
    total = bot.score
    say(escape_unprintable(f"{bot.seat.label} in {title_of(pool.pool)}"))
    if not recent.games:
        say("no game was finished yet")
        return
    lines = [
        f"score         {_score(total)}, rank {bot.rank or '-'}",
        f"in seat 1     {_score(bot.first)}",
        f"in seat 2     {_score(bot.second)}",
        f"as black      +{recent.black.wins} -{recent.black.losses} (decided games)",
        f"as white      +{recent.white.wins} -{recent.white.losses}",
        f"forfeits      {total.forfeits} lost by faults, {total.gifts} won by those of others; {total.void} void",
        f"ended by      {', '.join(f'{what} {count}' for what, count in recent.ends.most_common())}",
    ]
    if recent.faults:
        lines.append(f"faults        {', '.join(f'{what} {count}' for what, count in recent.faults.most_common())}")
    if recent.ms_per_ply is not None:
        share = f", {recent.clock_share:.1%} of its clock" if recent.clock_share is not None else ""
        lines.append(f"time          about {recent.ms_per_ply:.2f} ms a ply{share}")
    if recent.own:
        lines.append(f"its own       {recent.own}")
    say(*map(escape_unprintable, lines + _fault_lines(fault)))
    if recent.games == most:
        say(f"colours, ends and time are of the newest {most} games: --games looks at more")
    heads = ("opponent", "points", "games", "score", "+", "=", "-", "forfeits")
    sheet = TextTable(heads, frozenset({"opponent"}), spare=(("+", "=", "-"), ("forfeits",), ("points",)))
    for other, (first, second) in bot.opponents.items():
        score = first + second
        cells = (f"{score.points:g}", score.games, f"{score.share:.1%}" if score.games else "")
        sheet.add(pool.seats[other].label, *cells, score.wins, score.ties, score.losses, score.forfeits)
    show(sheet)


def _score(score: BotScore) -> str:
    share = f", {score.share:.1%}" if score.games else ""
    return f"{score.points:g}/{score.games} (+{score.wins} ={score.ties} -{score.losses}){share}"


# -- `ggp ladder pair A B`: all matches between two bots, judged by pairs of games.


LISTED = 5  # games of a pair


@dataclass(frozen=True, slots=True)
class Duel:
    """Two versions in a pool, as the first of them sees it. `penta`: pairs by their points, 0, ½, 1, 1½, 2.

    `observed`: the pairs that do not repeat others, from which errors are computed. `rated` is the difference of their
    ratings under `model`, as the standings have it.
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
    """None if either is not in the pool. ViewError if they are the same, RatedLater.

    `tested`: the test that is asked for, or the ladder's format, which may be a test.
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
    last = list(islice(store.games(pool.id, bot=a.id, opponent=b.id), LISTED))
    ratings = rate(store, pool.id, seats, model) if pool.games else None
    names = ratings.counts.names if ratings else ()
    both = str(a.id), str(b.id)
    known = ratings is not None and all(name in names for name in both) and ratings.comparable(*both)
    rated = ratings.difference(*both) if ratings and known else None
    return Duel(pool, a, b, first, second, tuple(penta), tuple(observed), rated, model, tests, last)


@click.command("pair", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("A B [LADDER]")
@source.pool_option
@click.option("--elo0", type=float, help="H0: A is this much better than B.")
@click.option("--elo1", type=float, help="H1: A is this much better than B.")
@click.option("--model", type=click.Choice(MODELS), help="What Elo means in these.  [default: normalized]")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Risk of H1 where H0 is true.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Risk of H0 where H1 is true.")
@source.json_option
def pair(
    words: tuple[str, ...],
    pool_name: str | None,
    elo0: float | None,
    elo1: float | None,
    model: Model | None,
    alpha: float,
    beta: float,
    as_object: bool,
) -> int:
    """Show what A did against B: score, pairs of games, Elo, LOS, their ratings, and how their test stands.

    The log-likelihood ratio is that of the ladder's test if its file says that it is one of A and B, or of --elo0
    and --elo1. The latter is of a test of fixed length: to stop by it let the ladder's format `test` do it.
    """
    hypotheses = _hypotheses(elo0, elo1, model, alpha, beta)
    ladder, (one, other) = split(words, 2, 2)
    tested = hypotheses or format_of(ladder)
    with open_ladder(ladder) as store:
        pools = chosen_pools(store.pools(), pool_name)
        check_bots([seat for pool in pools for seat in store.seats(pool.id)], one, other)
        found = [duel for pool in pools if (duel := read_duel(store, pool, one, other, tested))]
    if not found:
        raise ViewError(f"{one} and {other} are in no pool together")
    if as_object:
        say_pools({duel.pool.name: pair_json(duel) for duel in found})
    else:
        show_each(found, _show_pair)
    return 0


run_pair = partial(source.run_view, pair)


def _hypotheses(
    elo0: float | None, elo1: float | None, model: Model | None, alpha: float, beta: float
) -> Hypotheses | None:
    """Those that were named."""
    try:
        if elo0 is None and elo1 is None:
            if model is not None:
                raise click.UsageError("--model goes with --elo0 and --elo1")
            return None
        if elo0 is None or elo1 is None:
            raise click.UsageError("--elo0 and --elo1 go together")
        return Hypotheses(elo0, elo1, alpha, beta, model or "normalized")
    except SprtError as error:
        raise click.UsageError(str(error)) from None


def pair_json(duel: Duel) -> dict[str, Any]:
    """Everything as A sees it, but for a test of the ladder, which is of its `new`."""
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


def _show_pair(duel: Duel) -> None:
    score, name, other = duel.score, duel.one.label, duel.other.label
    say(escape_unprintable(title_of(duel.pool)))
    if not score.games:
        say(escape_unprintable(f"{name} and {other} have no game that counts"))
        return
    second = score.games - duel.first.games
    lines = [
        f"{name} {score.points:g} - {score.games - score.points:g} {other}   "
        f"+{score.wins} ={score.ties} -{score.losses}, {score.share:.1%} of {score.games} games",
        f"in seat 1    {duel.first.points:g}/{duel.first.games}",
        f"in seat 2    {score.points - duel.first.points:g}/{second}",
        f"forfeits     {score.forfeits} of {name}, {score.gifts} of {other}; {score.void} void",
        "pairs        " + ", ".join(f"{mean} {count}" for mean, count in zip(MEANS, duel.penta, strict=True)),
    ]
    say(*map(escape_unprintable, [*lines, *_judgement(duel)]))
    sheet = game_sheet()
    for row in duel.last:
        add_game(sheet, row)
    show(sheet, "last games")


def _judgement(duel: Duel) -> list[str]:
    found = effect(duel.observed)
    lines = effect_lines(found, 1, 13)
    lines[:1] = [f"{line}, logistic, by pairs" if found.enough else line for line in lines[:1]]
    if repeated := sum(duel.penta) - sum(duel.observed):
        lines.append(
            f"{'repeats':13}{repeated} of {sum(duel.penta)} pairs repeat others and do not count in Elo and LLR"
        )
    if duel.rated is not None:
        lines.append(
            f"ratings      {duel.one.label} is {duel.rated.elo:+z.1f} ± {half(duel.rated.se) or '0'} Elo from "
            f"{duel.other.label}, LOS {duel.rated.los:.1%}, by all games of the pool (model {duel.model})"
        )
    for test in duel.tests:
        judged, tested = test.verdict, test.hypotheses
        later = f"; {test.later} later pairs are not counted" if test.later else ""
        lines.append(
            f"LLR          {judged.llr:z.2f} within {judged.lower:.2f} and {judged.upper:.2f}: {judged.state} "
            f"(is {test.new.label} better? {tested.model} Elo {tested.elo0:g} against {tested.elo1:g}{later})"
        )
    return lines


class Meeting(NamedTuple):
    """A pair of games as the first of two bots sees it: its number in the pool, its opening, its stored matches.

    `points` are None while a game is missing or void.
    """

    number: int
    opening: tuple[str, ...]
    games: list[GameRow]
    points: float | None


def read_meetings(store: "Store", duel: Duel, before: int | None, most: int) -> tuple[list[Meeting], int]:
    """About `most` pairs, newest first, and the id `before` which the next ones are, 0 if there are none."""
    rows = list(store.records(duel.pool.id, duel.one.id, duel.other.id, limit=2 * most, before=before))
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
