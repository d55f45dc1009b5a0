"""`ggp ladder bot NAME` and `ggp ladder pair A B`: print a bot in detail, and all matches between two bots."""

from functools import partial

import click

from ggp.protocol.printed import counted, json_text
from ggp.referee.cli.ladder_games import add_game, game_sheet
from ggp.referee.cli.ladder_view import json_option, pool_option, run_view, say_pools, show_each, view
from ggp.referee.ladder.queries import (
    BotDetails,
    Duel,
    PoolSummary,
    bot_json,
    fault_lines,
    format_of,
    pair_json,
    parent_label,
    read_bot,
    read_duel,
    state_of,
)
from ggp.referee.ladder.source import ViewError, check_bots, chosen_pools, exact, open_ladder
from ggp.referee.ladder.standings import BotScore, title_of
from ggp.referee.ratings.scale import MEANS, effect_lines, half
from ggp.referee.ratings.sprt import MODELS, Hypotheses, Model, SprtError, effect
from ggp.referee.terminal import TextTable, escape_unprintable, say, show

_SPARE = (("made from",), ("score",), ("games",))  # of the versions, where there is little room


@view("bot", "NAME [LADDER]", 1, 1)
@pool_option
@click.option(
    "--games",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Most games to read.",
)
@json_option
def bot(ladder: str, name: str, pool_name: str | None, games: int, as_object: bool) -> int:
    """Show a bot: versions, ratings, opponents, terminations, faults, use of time. NAME@VERSION: an earlier version.

    Ratings, seats and opponents cover all games, the rest only the newest.
    """
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


run_bot = partial(run_view, bot)  # argv -> exit status


def _show_versions(pools: list[PoolSummary], name: str) -> None:
    heads = ("pool", "version", "made from", "Elo", "±", "games", "score", "state")
    sheet = TextTable(heads, frozenset({"pool", "version", "made from", "state"}), spare=_SPARE)
    for pool in pools:
        for seat in reversed(pool.standings.versions(name)):
            place = pool.rated.get(seat.id)
            rating = (f"{place.elo:z.1f}", half(place.se)) if place else ("", "")
            score = place.score if place else BotScore()
            names = (pool.pool.name, exact(seat), parent_label(pool, seat))
            sheet.add(*names, *rating, score.games, score.percent, state_of(seat))
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
    say(*map(escape_unprintable, lines + fault_lines(fault)))
    if recent.games == most:
        say(f"colours, ends and time are of the newest {most} games: --games looks at more")
    heads = ("opponent", "points", "games", "score", "+", "=", "-", "forfeits")
    sheet = TextTable(heads, frozenset({"opponent"}), spare=(("+", "=", "-"), ("forfeits",), ("points",)))
    for other, (first, second) in bot.opponents.items():
        score = first + second
        cells = (f"{score.points:g}", score.games, score.percent)
        sheet.add(pool.seats[other].label, *cells, score.wins, score.ties, score.losses, score.forfeits)
    show(sheet)


def _score(score: BotScore) -> str:
    share = f", {score.percent}" if score.games else ""
    return f"{score.points:g}/{score.games} (+{score.wins} ={score.ties} -{score.losses}){share}"


@view("pair", "A B [LADDER]", 2, 2)
@pool_option
@click.option("--elo0", type=float, help="Elo of A above B under hypothesis H0.")
@click.option("--elo1", type=float, help="Elo of A above B under hypothesis H1.")
@click.option("--model", type=click.Choice(MODELS), help="The kind of Elo in --elo0 and --elo1.  [default: normalized]")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Risk of accepting H1 if H0 is true.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Risk of accepting H0 if H1 is true.")
@json_option
def pair(
    ladder: str,
    one: str,
    other: str,
    pool_name: str | None,
    elo0: float | None,
    elo1: float | None,
    model: Model | None,
    alpha: float,
    beta: float,
    as_object: bool,
) -> int:
    """Show what A did against B: score, pairs of games, Elo, LOS, their ratings, and how their test stands.

    The log-likelihood ratio belongs to the ladder's own test of A and B, or else to --elo0 and --elo1. The latter
    assumes a fixed number of games: to stop early, use the format `test` in the ladder's file.
    """
    hypotheses = _hypotheses(elo0, elo1, model, alpha, beta)
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


run_pair = partial(run_view, pair)


def _hypotheses(
    elo0: float | None, elo1: float | None, model: Model | None, alpha: float, beta: float
) -> Hypotheses | None:
    """Return the hypotheses that the options name, if any."""
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


def _show_pair(duel: Duel) -> None:
    score, name, other = duel.score, duel.one.label, duel.other.label
    say(escape_unprintable(title_of(duel.pool)))
    if not score.games:
        say(escape_unprintable(f"{name} and {other} have no game that counts"))
        return
    second = score.games - duel.first.games
    lines = [
        f"{name} {score.points:g} - {score.games - score.points:g} {other}   "
        f"+{score.wins} ={score.ties} -{score.losses}, {score.share:.1%} of {counted(score.games, 'game')}",
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
