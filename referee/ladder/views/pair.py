"""`ggp ladder pair A B`: all that two bots did against each other, judged by pairs of games."""

from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from protocol.printed import json_text
from referee.ladder.entries import Format, Kind
from referee.ladder.pairs import Meeting, Seat
from referee.ladder.standings import Score, score_of
from referee.ladder.views import running
from referee.ladder.views.games import add_game, as_object, game_sheet
from referee.ladder.views.sheet import clean, say, show
from referee.ladder.views.source import ViewError, check_bots, chosen_pools, open_ladder, seat_of, split
from referee.ladder.views.standings import title_of
from referee.ratings.scale import effect_lines, half
from referee.ratings.sprt import MODELS, Hypotheses, Model, SprtError, Verdict, effect, judge
from referee.store.rows import GameRow, PoolRow

if TYPE_CHECKING:
    from referee.ratings.ratings import Difference
    from referee.store.store import Store

LAST = 5  # games that are listed
MEANS = ("LL", "LD", "DD+WL", "WD", "WW")


@dataclass(frozen=True, slots=True)
class Test:
    """Whether the version `new` is better than the other, by these hypotheses. `later`: pairs since it was decided."""

    name: str
    new: Seat
    hypotheses: Hypotheses
    verdict: Verdict
    later: int = 0


@dataclass(frozen=True, slots=True)
class Duel:
    """Two versions in a pool, as the first of them sees it. `penta`: pairs by their points, 0, ½, 1, 1½, 2.

    `rated` is the difference of their ratings under `model`, as the standings have it.
    """

    pool: PoolRow
    one: Seat
    other: Seat
    score: Score
    first: Score  # where `one` had seat 1
    penta: tuple[int, ...]
    rated: "Difference | None"
    model: str
    tests: list[Test]
    last: list[GameRow]


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(pair, argv)


@click.command("pair", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("A B [LADDER]")
@running.pool_option
@click.option("--elo0", type=float, help="H0: A is this much better than B.")
@click.option("--elo1", type=float, help="H1: A is this much better than B.")
@click.option("--model", type=click.Choice(MODELS), help="What Elo means in these.  [default: normalized]")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Risk of H1 where H0 is true.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Risk of H0 where H1 is true.")
@running.json_option
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
        from referee.ladder.report.facts import format_of

        form = format_of(ladder)
    with open_ladder(ladder) as store:
        pools = chosen_pools(store.pools(), pool_name)
        check_bots([seat for pool in pools for seat in store.seats(pool.id)], one, other)
        found = [duel for pool in pools if (duel := read_duel(store, pool, one, other, hypotheses or form))]
    if not found:
        raise ViewError(f"{one} and {other} are in no pool together")
    if as_object:
        objects = {duel.pool.name: _as_json(duel) for duel in found}
        single = next(iter(objects.values())) if len(found) == 1 else {"pools": objects}
        say(json_text(single))
        return 0
    for number, duel in enumerate(found):
        say(*[""] * bool(number))
        _show(duel)
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
    first, second = Score(), Score()
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


def _asked(new: Seat, tested: Hypotheses, penta: list[int], score: Score) -> Test:
    """By pairs; the model bayes knows only games."""
    counts = [score.losses, score.ties, score.wins] if tested.model == "bayes" else penta
    return Test(f"[{tested.elo0:g}, {tested.elo1:g}]", new, tested, judge(counts, tested))


def _scheduled(store: "Store", pool: PoolRow, seats: list[Seat], two: set[int], form: Format | None) -> list[Test]:
    """The ladder's own test, if it is one of these two."""
    if form is None or form.kind is not Kind.TEST:
        return []
    from referee.ladder.report.facts import read_trial

    trial = read_trial(store, pool, seats, form)
    if trial is None or {trial.new.id, trial.old.id} != two or not any(trial.penta):
        return []
    return [Test("test", trial.new, trial.hypotheses, trial.verdict, trial.later)]


def _difference(model: str, meetings: list[Meeting], seats: list[Seat], a: Seat, b: Seat) -> "Difference | None":
    """Of their ratings by everything that was played in the pool; the covariance is in no stored fit."""
    from referee.ladder.rating import rate_seats
    from referee.ratings.counts import CountsError

    if not any(met.games for met in meetings):
        return None
    try:
        ratings = rate_seats(meetings, seats, model)
        return ratings.difference(str(a.id), str(b.id))
    except (CountsError, ValueError):  # one of them is not rated
        return None


def _as_json(duel: Duel) -> dict[str, Any]:
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


def _show(duel: Duel) -> None:
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
