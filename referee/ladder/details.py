"""`ggp ladder bot NAME` and `ggp ladder pair A B`: a bot in detail, and all matches between two bots."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from protocol.printed import json_text
from referee.cli import HELP
from referee.ladder import source
from referee.ladder.source import ViewError, check_bots, chosen_pools, exact, open_ladder, seat_of, split
from referee.ladder.standings import BotScore, RankedPlace, entered, score_of, zero_of
from referee.ladder.views import (
    Standings,
    add_game,
    as_object,
    diagnostics,
    game_sheet,
    read_game,
    read_standings,
    title_of,
    when,
)
from referee.play.clock import ControlKind, TimeControl
from referee.ratings.scale import effect_lines, half
from referee.ratings.sprt import MODELS, Hypotheses, Model, SprtError, Verdict, effect, judge
from referee.store.model import Format, FormatKind, GameRow, PairScore, PoolEntry, PoolRow
from referee.terminal import TextTable, clean, say, show

if TYPE_CHECKING:
    from referee.ratings.ratings import Difference
    from referee.store.store import Store


_SPARE = (("made from",), ("score",), ("games",))  # of the versions, where there is little room


@dataclass(slots=True)
class Life:
    """What its newest games say of a version. Colours: decided games alone; `allowed`: ms of its clock, if known."""

    games: int = 0
    black: BotScore = field(default_factory=BotScore)
    white: BotScore = field(default_factory=BotScore)
    ends: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    last_fault: GameRow | None = None
    ms: int = 0
    plies: float = 0
    allowed: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Career:
    """A version in a pool; `place` is None as long as nothing is rated, `rank` counts from 1.

    A version that was withdrawn has no rank: 0.
    """

    pool: PoolRow
    seat: PoolEntry
    place: RankedPlace | None
    rank: int
    first: BotScore
    second: BotScore
    opponents: dict[str, BotScore]
    life: Life


def run_bot(argv: list[str]) -> int:
    """The exit status."""
    return source.run_view(bot, argv)


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
        pools = chosen_pools(store.pools(), pool_name)
        standings = [read_standings(store, pool, withdrawn=True) for pool in pools]
        seats = [seat for one in standings for seat in one.seats]
        check_bots(seats, name)
        found = [career for one in standings if (career := read_career(store, one, name, games))]
        last = [_last_fault(store, career) for career in found]
    labels = {seat.id: seat.label for seat in seats}
    if as_object:
        said = [_bot_as_json(career, fault) for career, fault in zip(found, last, strict=True)]
        versions = [_version_as_json(one, seat, labels) for one in standings for seat in _named(one.seats, name)]
        say(json_text({"bot": name.partition("@")[0], "versions": versions, "pools": said}))
        return 0
    _show_versions(standings, name, labels)
    for career, fault in zip(found, last, strict=True):
        say("")
        _show_bot(career, fault, games)
    return 0


def read_career(store: "Store", standings: Standings, name: str, games: int) -> Career | None:
    """Of the version that is meant, of a name the latest; None if it never was in the pool."""
    named = _named(standings.seats, name)
    seat = seat_of(named, name) or (named[-1] if named and "@" not in name else None)
    if seat is None:
        return None
    pool, labels = standings.pool, {seat.id: seat.label for seat in standings.seats}
    first, second = BotScore(), BotScore()
    opponents: dict[str, BotScore] = {}
    for met in store.meetings(pool.id):
        if seat.id not in (met.first, met.second):
            continue
        as_first = met.first == seat.id
        score, other = score_of(met, 1 if as_first else 2), labels[met.second if as_first else met.first]
        first, second = (first + score, second) if as_first else (first, second + score)
        opponents[other] = opponents.get(other, BotScore()) + score
    life, control = Life(), TimeControl.parse(pool.control)
    for row in islice(store.games(pool.id, bot=seat.id), games):
        _live(life, row, seat.label, control, pool.openings)
    place = next((place for place in standings.places if place.seat == seat), None)
    ranked = [place for place in standings.places if entered(place.seat)] or standings.places
    rank = ranked.index(place) + 1 if place in ranked else 0
    return Career(pool, seat, place, rank, first, second, opponents, life)


def allowed(control: TimeControl, plies: float) -> float | None:
    """ms that so many plies of one side may take; None: no clock says so."""
    match control.kind:
        case ControlKind.FISCHER:
            return control.main + control.increment * plies
        case ControlKind.PERIOD:
            return control.main + control.period * -(-plies // control.moves)
        case ControlKind.BYOYOMI:
            return control.main + control.period * plies
        case ControlKind.MOVE:
            return control.period * plies
        case ControlKind.NONE:
            return None


def _named(seats: Sequence[PoolEntry], name: str) -> list[PoolEntry]:
    """All versions of the bot, oldest first."""
    return [seat for seat in seats if seat.name == name.partition("@")[0]]


def _live(life: Life, row: GameRow, label: str, control: TimeControl, openings: int) -> None:
    """Add a game; they come newest first. Who moves how often is not stored: each side half of the plies."""
    life.games += 1
    life.ends[row.termination] += 1
    if row.culprit == label:
        life.faults[row.termination] += 1
        life.last_fault = life.last_fault or row
    seat = 1 if row.first == label else 2
    plies = max(0, row.plies - openings) / 2
    time = allowed(control, plies)
    life.ms += row.ms1 if seat == 1 else row.ms2
    life.plies += plies
    life.allowed = None if time is None or life.allowed is None else life.allowed + time
    if row.winner:
        won = row.winner == seat
        game = BotScore(wins=int(won), losses=int(not won))
        if row.result.startswith("B") == won:  # the winner's colour stands in the result
            life.black += game
        else:
            life.white += game


def _last_fault(store: "Store", career: Career) -> list[str]:
    row = career.life.last_fault
    if row is None:
        return []
    end = read_game(store, row.key).end
    head = f"last fault    {row.key}, {when(row)}: {row.termination}" + (f": {row.detail}" if row.detail else "")
    return [head, *(f"  {line}" for line in (diagnostics(end) if end else ()))]


def _state(seat: PoolEntry) -> str:
    if seat.suspended and entered(seat):
        return f"suspended: {seat.suspended}"
    return "entered" if seat.active else "withdrawn"


def _version_as_json(standings: Standings, seat: PoolEntry, labels: dict[int, str]) -> dict[str, Any]:
    place = next((place for place in standings.places if place.seat == seat), None)
    return {
        "pool": standings.pool.name,
        "label": seat.label,
        "version": seat.version,
        "parent": labels.get(seat.parent) if seat.parent is not None else None,
        "anchor": seat.anchor,
        "active": seat.active,
        "suspended": seat.suspended,
        "elo": place and place.row.elo,
        "se": (place and place.row.se) or None,
        "games": place.score.games if place else 0,
    }


def _bot_as_json(career: Career, fault: list[str]) -> dict[str, Any]:
    life, place = career.life, career.place
    return {
        "pool": career.pool.name,
        "label": career.seat.label,
        "rank": career.rank or None,
        "elo": place and place.row.elo,
        "se": (place and place.row.se) or None,
        "score": asdict(career.first + career.second),
        "seat1": asdict(career.first),
        "seat2": asdict(career.second),
        "black": {"wins": life.black.wins, "losses": life.black.losses},
        "white": {"wins": life.white.wins, "losses": life.white.losses},
        "opponents": [{"name": name, **asdict(score)} for name, score in career.opponents.items()],
        "looked_at": life.games,
        "terminations": dict(life.ends),
        "faults": dict(life.faults),
        "last_fault": {"key": life.last_fault.key, "text": fault} if life.last_fault else None,
        "ms_per_ply": life.ms / life.plies if life.plies else None,
        "clock_share": life.ms / life.allowed if life.allowed else None,
    }


def _show_versions(standings: list[Standings], name: str, labels: dict[int, str]) -> None:
    heads = ("pool", "version", "made from", "Elo", "±", "games", "score", "state")
    sheet = TextTable(heads, frozenset({"pool", "version", "made from", "state"}), spare=_SPARE)
    for one in standings:
        placed = {place.seat.id: place for place in one.places}
        for seat in reversed(_named(one.seats, name)):
            place = placed.get(seat.id)
            parent = labels.get(seat.parent, "") if seat.parent is not None else ""
            rating = (f"{place.row.elo:z.1f}", half(place.row.se)) if place else ("", "")
            score = place.score if place else BotScore()
            share = f"{score.share:.1%}" if score.games else ""
            sheet.add(one.pool.name, exact(seat), parent, *rating, score.games, share, _state(seat))
    show(sheet, name.partition("@")[0])
    for one in standings:
        if one.fit is not None and _named(one.seats, name):
            prefix = f"{one.pool.name}: " if len(standings) > 1 else ""
            say(clean(prefix + zero_of(one.seats, one.fit, one.places, here=False)))


def _show_bot(career: Career, fault: list[str], most: int) -> None:
    life, total = career.life, career.first + career.second
    say(clean(f"{career.seat.label} in {title_of(career.pool)}"))
    if not life.games:
        say("no game was finished yet")
        return
    lines = [
        f"score         {_score(total)}, rank {career.rank or '-'}",
        f"in seat 1     {_score(career.first)}",
        f"in seat 2     {_score(career.second)}",
        f"as black      +{life.black.wins} -{life.black.losses} (decided games)",
        f"as white      +{life.white.wins} -{life.white.losses}",
        f"forfeits      {total.forfeits} lost by faults, {total.gifts} won by those of others; {total.void} void",
        f"ended by      {', '.join(f'{what} {count}' for what, count in life.ends.most_common())}",
    ]
    if life.faults:
        lines.append(f"faults        {', '.join(f'{what} {count}' for what, count in life.faults.most_common())}")
    if life.plies:
        share = f", {life.ms / life.allowed:.1%} of its clock" if life.allowed else ""
        lines.append(f"time          about {life.ms / life.plies:.2f} ms a ply{share}")
    say(*map(clean, lines + fault))
    if life.games == most:
        say(f"colours, ends and time are of the newest {most} games: --games looks at more")
    heads = ("opponent", "points", "games", "score", "+", "=", "-", "forfeits")
    sheet = TextTable(heads, frozenset({"opponent"}), spare=(("+", "=", "-"), ("forfeits",), ("points",)))
    for name, score in sorted(career.opponents.items(), key=lambda row: -row[1].games):
        share = f"{score.share:.1%}" if score.games else ""
        sheet.add(name, f"{score.points:g}", score.games, share, score.wins, score.ties, score.losses, score.forfeits)
    show(sheet)


def _score(score: BotScore) -> str:
    share = f", {score.share:.1%}" if score.games else ""
    return f"{score.points:g}/{score.games} (+{score.wins} ={score.ties} -{score.losses}){share}"


# -- `ggp ladder pair A B`: all matches between two bots, judged by pairs of games.


LAST = 5  # games that are listed
MEANS = ("LL", "LD", "DD+WL", "WD", "WW")


@dataclass(frozen=True, slots=True)
class PairTest:
    """Whether the version `new` is better than the other, by these hypotheses. `later`: pairs since it was decided."""

    name: str
    new: PoolEntry
    hypotheses: Hypotheses
    verdict: Verdict
    later: int = 0


@dataclass(frozen=True, slots=True)
class Duel:
    """Two versions in a pool, as the first of them sees it. `penta`: pairs by their points, 0, ½, 1, 1½, 2.

    `rated` is the difference of their ratings under `model`, as the standings have it.
    """

    pool: PoolRow
    one: PoolEntry
    other: PoolEntry
    score: BotScore
    first: BotScore  # where `one` had seat 1
    penta: tuple[int, ...]
    rated: "Difference | None"
    model: str
    tests: list[PairTest]
    last: list[GameRow]


def run_pair(argv: list[str]) -> int:
    """The exit status."""
    return source.run_view(pair, argv)


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
    form = None
    if hypotheses is None:
        from referee.ladder.facts import format_of

        form = format_of(ladder)
    with open_ladder(ladder) as store:
        pools = chosen_pools(store.pools(), pool_name)
        check_bots([seat for pool in pools for seat in store.seats(pool.id)], one, other)
        found = [duel for pool in pools if (duel := read_duel(store, pool, one, other, hypotheses or form))]
    if not found:
        raise ViewError(f"{one} and {other} are in no pool together")
    if as_object:
        objects = {duel.pool.name: _pair_as_json(duel) for duel in found}
        single = next(iter(objects.values())) if len(found) == 1 else {"pools": objects}
        say(json_text(single))
        return 0
    for number, duel in enumerate(found):
        say(*[""] * bool(number))
        _show_pair(duel)
    return 0


def read_duel(
    store: "Store", pool: PoolRow, one: str, other: str, tested: Hypotheses | Format | None = None
) -> Duel | None:
    """None if either is not in the pool. ViewError if they are the same.

    `tested`: the test that is asked for, or the ladder's format, which may be a test.
    """
    seats = store.seats(pool.id)
    a, b = seat_of(seats, one), seat_of(seats, other)
    if a is None or b is None:
        return None
    if a.id == b.id:
        raise ViewError(f"{one} and {other} are the same version: name two")
    first, second = BotScore(), BotScore()
    meetings = store.meetings(pool.id)
    for met in meetings:
        if (met.first, met.second) == (a.id, b.id):
            first += score_of(met)
        elif (met.first, met.second) == (b.id, a.id):
            second += score_of(met, 2)
    penta = [0] * 5
    for result in store.pair_results(pool.id, a.id, b.id):
        if result.points is not None:
            penta[int(2 * result.points)] += 1
    fit = store.fit(pool.id)
    model = fit.model if fit else "davidson"
    last = list(islice(store.games(pool.id, bot=a.id, opponent=b.id), LAST))
    if isinstance(tested, Hypotheses):
        tests = [_asked(a, tested, penta, first + second)] if any(penta) else []
    else:
        tests = _scheduled(store, pool, seats, {a.id, b.id}, tested)
    rated = _difference(model, meetings, seats, a, b)
    return Duel(pool, a, b, first + second, first, tuple(penta), rated, model, tests, last)


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


def _asked(new: PoolEntry, tested: Hypotheses, penta: list[int], score: BotScore) -> PairTest:
    """By pairs; the model bayes knows only games."""
    counts = [score.losses, score.ties, score.wins] if tested.model == "bayes" else penta
    return PairTest(f"[{tested.elo0:g}, {tested.elo1:g}]", new, tested, judge(counts, tested))


def _scheduled(
    store: "Store", pool: PoolRow, seats: list[PoolEntry], two: set[int], form: Format | None
) -> list[PairTest]:
    """The ladder's own test, if it is one of these two."""
    if form is None or form.kind is not FormatKind.TEST:
        return []
    from referee.ladder.facts import read_trial

    trial = read_trial(store, pool, seats, form)
    if trial is None or {trial.new.id, trial.old.id} != two or not any(trial.penta):
        return []
    return [PairTest("test", trial.new, trial.hypotheses, trial.verdict, trial.later)]


def _difference(
    model: str, meetings: list[PairScore], seats: list[PoolEntry], a: PoolEntry, b: PoolEntry
) -> "Difference | None":
    """Of their ratings by everything that was played in the pool; the covariance is in no stored fit."""
    from referee.ladder.rating import rate_seats
    from referee.ratings.bradley_terry import CountsError

    if not any(met.games for met in meetings):
        return None
    try:
        ratings = rate_seats(meetings, seats, model)
        return ratings.difference(str(a.id), str(b.id))
    except (CountsError, ValueError):  # one of them is not rated
        return None


def _pair_as_json(duel: Duel) -> dict[str, Any]:
    """Everything as A sees it, but for a test of the ladder, which is of its `new`."""
    return {
        "a": duel.one.label,
        "b": duel.other.label,
        "games": duel.score.games,
        "points": duel.score.points,
        "score": asdict(duel.score),
        "seat1": asdict(duel.first),
        "penta": list(duel.penta),
        **asdict(effect(duel.penta)),
        "tests": {
            test.name: {
                "new": test.new.label,
                "llr": test.verdict.llr,
                "lower": test.verdict.lower,
                "upper": test.verdict.upper,
                "state": test.verdict.state,
                "later": test.later,
                **asdict(test.hypotheses),
            }
            for test in duel.tests
        },
        "model": duel.model,
        "rating_difference": duel.rated and {"elo": duel.rated.elo, "se": duel.rated.se, "los": duel.rated.los},
        "last": [as_object(row) for row in duel.last],
    }


def _show_pair(duel: Duel) -> None:
    score, name, other = duel.score, duel.one.label, duel.other.label
    say(clean(title_of(duel.pool)))
    if not score.games:
        say(clean(f"{name} and {other} have no game that counts"))
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
    say(*map(clean, [*lines, *_judgement(duel)]))
    sheet = game_sheet()
    for row in duel.last:
        add_game(sheet, row)
    show(sheet, "last games")


def _judgement(duel: Duel) -> list[str]:
    lines = effect_lines(effect(duel.penta), 1, 13)
    lines[:1] = [f"{line}, by pairs" for line in lines[:1]]
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
