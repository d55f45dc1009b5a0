"""`ggp ladder report`: writes a static site from a ladder's store."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from protocol.safe_files import replace_file
from referee.cli import HELP
from referee.ladder import source
from referee.ladder.facts import LastFault, Met, PoolFacts, SequentialTrial, last_fault, last_games, latest
from referee.ladder.source import ViewError, chosen_pools, open_ladder, read_top, split
from referee.ladder.standings import BotScore, RankedPlace, misfits_badly, zero_of
from referee.ladder.views import TIES, title_of, when
from referee.ratings.scale import Z95, after_stop, half, in_elo
from referee.store.model import GameRow, PoolEntry, StoredFit, StoreEvent
from referee.terminal import clean
from referee.web.html import (
    ColumnHead,
    Content,
    Markup,
    bdi,
    bot_link,
    cut,
    el,
    elo,
    elo_and_error,
    facts_list,
    file_of,
    joined,
    many,
    page,
    pm,
    scrolling,
    share,
    table,
)
from referee.web.plots import Bar, llr_plot, rating_plot

if TYPE_CHECKING:
    from referee.store.store import Store


EVENTS = 50  # that are listed
INDEX = "index.html"


def main(argv: list[str]) -> int:
    """The exit status."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products; more threads only wait for one another
    try:
        return source.run_view(report, argv)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        click.echo(f"ggp ladder report: cannot write {error.filename or 'it'}: {error.strerror}", err=True)
        return source.TROUBLE


@click.command("report", epilog=source.EPILOGUE, context_settings=HELP)
@source.words("[LADDER]")
@click.option("-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Where to.")
@source.pool_option
@click.option("--quiet", is_flag=True, help="Say nothing.")
def report(words: tuple[str, ...], output: Path, pool_name: str | None, quiet: bool) -> int:
    """Write a static site of the ladder into DIR: standings, plots, crosstable, a page for each bot.

    DIR is a new or empty folder, or that of an earlier report, which is written again. The pages need no server and
    nothing from elsewhere: open DIR/index.html.
    """
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store:
        number = write_report(store, ladder, output, pool_name, _bar(quiet))
    if not quiet:
        click.echo(clean(f"{number} pages: {output / INDEX}"))
    return 0


def write_report(
    store: "Store", ladder: str, output: Path, pool_name: str | None, each: Callable[[Sequence[str]], Iterable[str]]
) -> int:
    """How many pages. `each` goes through the bots, and may show how far it is. ViewError, StoreError, OSError."""
    from referee.ladder.facts import format_of, read_facts
    from referee.web.html import file_of

    folder, form = Folder(output), format_of(ladder)
    pools = [read_facts(store, pool, form) for pool in chosen_pools(store.pools(), pool_name)]
    bots = sorted({seat.name for facts in pools for seat in facts.standings.seats})
    name = name_of(ladder)
    of_pools = {f"pools/{file_of(facts.pool.name)}": facts for facts in pools if len(pools) > 1}
    folder.begin({INDEX, *of_pools, *(f"bots/{file_of(bot)}" for bot in bots)})
    for bot in each(bots):
        folder.write(f"bots/{file_of(bot)}", bot_page(store, name, pools, bot))
    for file, facts in of_pools.items():
        folder.write(file, pool_page(name, facts))
    folder.write(INDEX, index_page(name, pools, bots, store.events(EVENTS)))
    folder.close()
    return 1 + len(of_pools) + len(bots)


def name_of(word: str) -> str:
    """What a ladder is called: as its file says, or as its store is."""
    if "://" in word:
        return Path(urlsplit(word).path).stem or "ladder"
    if not word.endswith(".toml"):
        return Path(word).stem
    from referee.ladder.config import ladder_name

    return ladder_name(word, read_top(word))


def _bar(quiet: bool) -> Callable[[Sequence[str]], Iterable[str]]:
    """Goes through the bots, with a bar on a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda bots: bots
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return lambda bots: track(bots, "bots", console=console, transient=True)


# -- The page of a bot, per pool: versions, and of the present one opponents, seats, faults, last games.


OPPONENTS = 100  # that are listed, those with most games
VERSIONS = 100
_LINES, _WIDTH = 200, 400  # of diagnostics
_ROOT = "../"


def bot_page(store: "Store", ladder: str, pools: Sequence[PoolFacts], name: str) -> str:
    """The document. Raises StoreError."""
    nav = joined((el("a", "Ladder ", bdi(ladder), href=f"{_ROOT}index.html"), " › ", bdi(name)))
    body: list[Content] = [el("h1", bdi(name))]
    for facts in pools:
        seat = latest(facts.standings.seats, name)
        if seat is not None:
            body += [el("h2", pool_title(facts)), *_part(store, facts, seat)]
    return page(f"{name}, ladder {ladder}", body, nav)


def _part(store: "Store", facts: PoolFacts, seat: PoolEntry) -> list[Content]:
    met = facts.met.of(seat.id)
    fault = last_fault(store, facts, seat)
    return [
        _summary(facts, seat, met),
        _versions(facts, seat.name),
        *_opponents(facts, seat, met),
        *_faults(facts, seat, fault),
        *_games(facts, seat, last_games(store, facts.pool, seat)),
    ]


def _summary(facts: PoolFacts, seat: PoolEntry, met: Mapping[int, Met]) -> Markup:
    first, second = (
        sum((one.first for one in met.values()), BotScore()),
        sum((one.second for one in met.values()), BotScore()),
    )
    total, place = first + second, facts.rated.get(seat.id)
    rank, fit, seats = facts.ranks.get(seat.id), facts.standings.fit, facts.standings.seats
    return facts_list(
        [
            ("version", bdi(f"{seat.name}@{seat.version}")),
            ("rank", f"{rank} of {len(facts.ranks)}" if rank else None),
            ("rating", elo_and_error(place.row.elo, place.row.se) if place else "none yet"),
            ("Elo", zero_of(seats, fit, facts.standings.places, here=False) if fit else None),
            ("score", _score(total)),
            ("in seat 1", _score(first)),
            ("in seat 2", _score(second)),
            ("forfeits", f"{total.forfeits} lost by its own faults, {total.gifts} won by those of others"),
            ("void", str(total.void) if total.void else None),
            ("note", place.note if place else seat.suspended and f"suspended: {seat.suspended}"),
        ]
    )


def _versions(facts: PoolFacts, name: str) -> Markup:
    """Newest first."""
    labels = {seat.id: seat.label for seat in facts.standings.seats}
    named = [seat for seat in facts.standings.seats if seat.name == name][::-1]
    rows: list[list[Content]] = []
    for seat in named[:VERSIONS]:
        place = facts.rated.get(seat.id)
        score = place.score if place else BotScore()
        parent = labels.get(seat.parent, "") if seat.parent is not None else ""
        state = f"suspended: {seat.suspended}" if seat.suspended else "entered" if seat.active else "withdrawn"
        rating = (elo(place.row.elo), pm(place.row.se)) if place else ("", "")
        rows.append(
            [bdi(seat.version), bdi(parent), *rating, score.games, share(score.share, score.games), cut(state, 80)]
        )
    heads = (
        ColumnHead("version", words=True),
        ColumnHead("made from", words=True),
        *(
            ColumnHead("Elo"),
            ColumnHead("±", title="half of the 95 % interval"),
            ColumnHead("games"),
            ColumnHead("score"),
        ),
        ColumnHead("state", words=True),
    )
    return table("Versions, the newest first", heads, rows)


def _opponents(facts: PoolFacts, seat: PoolEntry, met: Mapping[int, Met]) -> list[Content]:
    """Those with most games; `expected` is what the ratings of both say of these games."""
    if not met:
        return [el("p", "It has no games yet.")]
    seats = facts.seats
    most = sorted(met.items(), key=lambda item: (-item[1].score.games, seats[item[0]].label))
    rows: list[list[Content]] = []
    for other, one in most[:OPPONENTS]:
        score, rated = one.score, facts.rated.get(other)
        by_ratings = (
            ["", ""] if one.expected is None else [f"{one.expected:.1f}", f"{score.points - one.expected:+.1f}"]
        )
        rows.append(
            [
                bot_link(seats[other].name, seats[other].label, _ROOT),
                elo(rated.row.elo) if rated else None,
                score.games,
                *(f"{score.points:g}", share(score.share, score.games), *by_ratings),
                *(score.wins, score.ties, score.losses, score.forfeits or None, score.gifts or None),
                *(f"{side.points:g}/{side.games}" for side in (one.first, one.second)),
            ]
        )
    heads = (
        *(
            ColumnHead("opponent", words=True),
            ColumnHead("Elo"),
            ColumnHead("games"),
            ColumnHead("points"),
            ColumnHead("score"),
        ),
        ColumnHead("expected", title="points, as the ratings of both say"),
        ColumnHead("more", title="points more than expected"),
        *(ColumnHead("+"), ColumnHead("="), ColumnHead("−"), ColumnHead("forfeits", title="lost by its own faults")),
        ColumnHead("gifts", title="won by faults of the other"),
        *(ColumnHead("seat 1", title="points of games"), ColumnHead("seat 2", title="points of games")),
    )
    some = f" ({OPPONENTS} of {len(most)})" if len(most) > OPPONENTS else ""
    caption = f"Whom it met most often first{some}; expected are the points that the ratings of both say"
    return [el("h3", "Opponents"), table(caption, heads, rows)]


def _faults(facts: PoolFacts, seat: PoolEntry, fault: LastFault | None) -> list[Content]:
    kinds = sorted((what, count) for (who, what), count in facts.totals.faults.items() if who == seat.label)
    if not kinds:
        return []
    parts: list[Content] = [
        el("h3", "Faults"),
        table("By kind", (ColumnHead("fault", words=True), ColumnHead("matches")), kinds),
    ]
    if fault is None:
        return parts
    detail = f": {fault.game.detail}" if fault.game.detail else ""
    parts.append(
        el("p", f"The last: {fault.game.termination} in {fault.game.key}, {when(fault.game)}", cut(detail, 500))
    )
    lines = [line.expandtabs()[:_WIDTH] for line in fault.left[:_LINES]]
    if lines:
        parts.append(el("pre", joined(lines, "\n"), tabindex=0))
    if len(fault.left) > _LINES:
        parts.append(el("p", f"{len(fault.left) - _LINES} more lines are in its record.", class_="soft"))
    return parts


def _games(facts: PoolFacts, seat: PoolEntry, games: Sequence[GameRow]) -> list[Content]:
    if not games:
        return []
    names = {one.label: one.name for one in facts.standings.seats}
    rows: list[list[Content]] = []
    for game in games:
        side = 1 if game.first == seat.label else 2
        other = game.second if side == 1 else game.first
        came = "void" if not game.result else "drawn" if not game.winner else "won" if game.winner == side else "lost"
        rows.append(
            [
                *(cut(game.key, 60), when(game), bot_link(names.get(other, other), other, _ROOT), side, came),
                *(game.result, game.termination, game.plies, cut(game.detail, 80)),
            ]
        )
    heads = [
        *(
            ColumnHead("match", words=True),
            ColumnHead("ended, UTC", words=True),
            ColumnHead("opponent", words=True),
            ColumnHead("seat"),
        ),
        *(
            ColumnHead("came out", words=True),
            ColumnHead("result", words=True),
            ColumnHead("by", words=True),
            ColumnHead("plies"),
        ),
        ColumnHead("detail", words=True),
    ]
    if not any(game.detail for game in games):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return [el("h3", "Last matches"), table(f"The newest {len(games)}, void ones too", heads, rows)]


def _score(score: BotScore) -> str | None:
    if not score.games:
        return None
    return f"{score.points:g} of {score.games}, {score.share:.1%} (+{score.wins} ={score.ties} −{score.losses})"


# -- The section of a pool: test, standings, plot, crosstable, terminations.


PLOTTED = 100  # bots in the plot
CROSSED = 40  # bots in the crosstable
FAULTY = 100  # rows of faults
BRIEF = 10  # bots of a pool where the page is of several

_STANDINGS = (
    ColumnHead("#", title="rank"),
    ColumnHead("bot", words=True),
    ColumnHead("Elo"),
    ColumnHead("±", title="half of the 95 % interval"),
    ColumnHead("games", title="that count"),
    ColumnHead("score", title="share of the points"),
    ColumnHead("+", title="won"),
    ColumnHead("=", title="drawn"),
    ColumnHead("−", title="lost"),
    ColumnHead("forfeits", title="of the losses, those by its own fault"),
    ColumnHead("to next", title="Elo to the next lower bot"),
    ColumnHead("±", title="half of the 95 % interval of that difference"),
    ColumnHead("LOS", title="likelihood of superiority: that it is stronger than the next lower bot"),
)
_NOTE = ColumnHead("", words=True)


def pool_part(facts: PoolFacts, root: str) -> list[Content]:
    """Everything of a pool."""
    fit, places = facts.standings.fit, facts.standings.places
    if fit is None:
        entered = [seat.label for seat in facts.standings.seats if seat.active]
        names = joined((bdi(label) for label in entered[:CROSSED]), ", ") or "no bots"
        return [el("p", "No game that counts was finished yet. Entered: ", names)]
    parts: list[Content] = [
        *([] if facts.trial is None else _trial(facts.trial)),
        el("h3", "Standings"),
        standings_table(facts, places, root),
        _about(facts, fit),
        *_plot(places),
        *_crosstable(facts, root),
        *_endings(facts, root),
    ]
    return parts


def standings_table(facts: PoolFacts, places: Sequence[RankedPlace], root: str) -> Markup:
    """Best first."""
    noted = any(place.note for place in places)
    rows = [_standing(rank, place, root)[: len(_STANDINGS) + noted] for rank, place in enumerate(places, 1)]
    caption = joined(("Standings of ", bdi(facts.pool.name), ", best first"))
    return table(caption, [*_STANDINGS, _NOTE] if noted else _STANDINGS, rows, row_head=1)


def pool_title(facts: PoolFacts) -> str:
    """`NAME: yugo size=5, time 10+0.1`."""
    return title_of(facts.pool)


def _standing(rank: int, place: RankedPlace, root: str) -> list[Content]:
    row, score, seat = place.row, place.score, place.seat
    los = "" if row.next_los is None else f"{row.next_los:.1%}"
    return [
        *(rank, bot_link(seat.name, seat.label, root), elo(row.elo), pm(row.se), score.games),
        *(share(score.share, score.games), score.wins, score.ties, score.losses, score.forfeits or ""),
        *(elo(row.next_elo), pm(row.next_se), los, cut(place.note, 60)),
    ]


def _about(facts: PoolFacts, fit: StoredFit) -> Markup:
    """What the numbers are, and where the model does not hold."""
    seats, first = facts.seats, facts.seat1
    misfit = f"{fit.deviance:.1f} at {fit.freedom} degrees of freedom"
    worst = [
        joined(
            (
                bdi(seats[pair.first].label),
                " against ",
                bdi(seats[pair.second].label),
                f": {pair.score:g} of {pair.games:g} where {pair.expected:.1f} were expected",
            )
        )
        for pair in fit.misfits
        if misfits_badly(fit)
    ]
    return facts_list(
        [
            ("Elo", zero_of(facts.standings.seats, fit, facts.standings.places)),
            ("±", "half of a 95 % interval, 1.96 standard errors"),
            ("model", f"{fit.model}; other models scale the same results differently"),
            (
                "first seat",
                f"{fit.advantage:z.1f} ± {half(fit.advantage_se)} Elo; seat 1 scored {first.points:g} of "
                f"{first.games} ({share(first.share, first.games)})",
            ),
            ("draws", f"{TIES[fit.model]} = {fit.tie:.3f}, {first.ties} games"),
            ("deviance", misfit + (": the model misfits" if misfits_badly(fit) else "")),
            ("worst", joined(worst, Markup("<br>"))),
            ("games", f"{facts.totals.games} that count, {facts.totals.void} void, {facts.totals.pairs} whole pairs"),
        ]
    )


def _plot(places: Sequence[RankedPlace]) -> list[Content]:
    bars = [Bar(place.seat.label, place.row.elo, Z95 * place.row.se) for place in places[:PLOTTED]]
    if not bars:
        return []
    about = f"{len(bars)} bots, best first; {bars[0].name} leads with {bars[0].elo:z.0f}{bars[0].error} Elo."
    more = [el("p", f"The best {PLOTTED} of {len(places)}.", class_="soft")] if len(places) > PLOTTED else []
    return [el("h3", "Ratings"), rating_plot(bars, about), *more]


# --- who scored what against whom ------------------------------------------------------------------------------------


def _crosstable(facts: PoolFacts, root: str) -> list[Content]:
    bots = [place.seat for place in facts.standings.places[:CROSSED]]
    if len(bots) < 2:
        return []
    heads = [el("th", "#", scope="col"), el("th", "bot", scope="col", class_="w")]
    heads += [el("th", rank, scope="col", title=bot.label) for rank, bot in enumerate(bots, 1)]
    rows = []
    for rank, bot in enumerate(bots, 1):
        met = facts.met.of(bot.id)
        cells = [
            el("td", "·", class_="none")
            if other is bot
            else _cross(bot, other, met[other.id].score)
            if other.id in met
            else el("td")
            for other in bots
        ]
        name = el("th", bot_link(bot.name, bot.label, root), scope="row", class_="w")
        rows.append(el("tr", el("td", rank), name, *cells))
    total = len(facts.standings.places)
    caption = "The share of the points that the row's bot won against the column's, and their games" + (
        f"; the best {CROSSED} of {total}" if total > CROSSED else ""
    )
    whole = el(
        "table", el("caption", caption), el("thead", el("tr", *heads)), Markup("\n"), el("tbody", *rows), class_="cross"
    )
    return [el("h3", "Crosstable"), scrolling(whole, "Crosstable")]


def _cross(bot: PoolEntry, other: PoolEntry, score: BotScore) -> Markup:
    if not score.games:
        return el("td")
    lead = score.share - 0.5
    shade = f"background:rgb(var(--{'high' if lead > 0 else 'low'})/{min(0.55, abs(lead) * 1.1):.2f})"
    said = f"{bot.label} against {other.label}: +{score.wins} ={score.ties} -{score.losses}"
    text = (f"{score.share:.0%}", el("small", score.games))
    return el("td", *text, title=said, style=shade if abs(lead) > 0.02 else None)


# --- how games ended, whose faults -----------------------------------------------------------------------------------


def _endings(facts: PoolFacts, root: str) -> list[Content]:
    totals, names = facts.totals, {seat.label: seat.name for seat in facts.standings.seats}
    matches = sum(totals.terminations.values())
    ends = sorted(totals.terminations.items(), key=lambda item: (-item[1], item[0]))
    heads = (ColumnHead("termination", words=True), ColumnHead("matches"), ColumnHead("share"))
    parts: list[Content] = [
        el("h3", "How matches ended"),
        table("All matches, void ones too", heads, [(what, count, f"{count / matches:.1%}") for what, count in ends]),
    ]
    faults = sorted(totals.faults.items(), key=lambda item: (-item[1], item[0]))
    if faults:
        cut_off = f"; the most frequent {FAULTY} of {len(faults)}" if len(faults) > FAULTY else ""
        rows = [
            (bot_link(names[who], who, root) if who in names else bdi(who), what, count)
            for (who, what), count in faults[:FAULTY]
        ]
        heads = (ColumnHead("bot", words=True), ColumnHead("fault", words=True), ColumnHead("matches"))
        parts += [el("h3", "Faults"), table(f"Who was at fault how often{cut_off}", heads, rows)]
    return parts


# --- the test --------------------------------------------------------------------------------------------------------

_SAID = {
    "H0": "H0 is accepted: it is not shown to be better",
    "H1": "H1 is accepted: it is better",
    "continue": "undecided so far",
    "inconclusive": "inconclusive: all pairs of the test are played",
}


def _trial(trial: SequentialTrial) -> list[Content]:
    judged, tested = trial.verdict, trial.hypotheses
    los = "" if judged.los is None else f", LOS {judged.los:.1%}"
    plain = f"{in_elo(judged, 1)} (95 %{', one-sided' if judged.elo is None else ''}){los}" if in_elo(judged) else None
    unbiased = after_stop(judged.estimate, 1)
    left = judged.expected_left
    about = (
        f"After {sum(trial.penta)} pairs the LLR is {judged.llr:.2f}, bounds {judged.lower:.2f} and {judged.upper:.2f}."
    )
    later = f"; later pairs, {trial.later}, are not counted here" if trial.later else ""
    return [
        el("h3", "Test: is ", bdi(trial.new.label), " better than ", bdi(trial.old.label), "?"),
        el("p", el("strong", _SAID[judged.state])),
        facts_list(
            [
                ("LLR", f"{judged.llr:.2f} within {judged.lower:.2f} and {judged.upper:.2f}{later}"),
                (
                    "hypotheses",
                    f"{tested.model} Elo {tested.elo0:g} or {tested.elo1:g}, α {tested.alpha:g}, β {tested.beta:g}",
                ),
                (
                    "pairs",
                    ", ".join(
                        f"{mean} {n}" for mean, n in zip(("LL", "LD", "DD+WL", "WD", "WW"), trial.penta, strict=True)
                    ),
                ),
                ("Elo", plain),
                ("after the stop", f"Elo {unbiased}" if unbiased and judged.state != "continue" else None),
                ("still to play", f"about {left:.0f} games" if left else None),
            ]
        ),
        llr_plot(trial.curve, about),
    ]


# -- The first page: all of the pool if there is one, else the best of each; the last events.


LISTED = 2000  # bots in the list of all


def index_page(ladder: str, pools: Sequence[PoolFacts], bots: Sequence[str], events: Sequence[StoreEvent]) -> str:
    """The document. `bots` are the names of all who have a page."""
    body: list[Content] = [el("h1", "Ladder ", bdi(ladder))]
    games = sum(facts.totals.games for facts in pools)
    body.append(
        el(
            "p",
            f"{many(games, 'game')} that count; {many(len(bots), 'bot')}, {many(len(pools), 'pool')}.",
            class_="soft",
        )
    )
    if not pools:
        body.append(el("p", "There is no pool yet: ggp ladder run begins it."))
    for facts in pools:
        body.append(el("h2", pool_title(facts)))
        body += pool_part(facts, "") if len(pools) == 1 else _brief(facts)
    body += _all_bots(bots) + _events(events)
    return page(f"Ladder {ladder}", body)


def pool_page(ladder: str, facts: PoolFacts) -> str:
    """The document of one of several pools."""
    nav = joined((el("a", "Ladder ", bdi(ladder), href="../index.html"), " › ", bdi(facts.pool.name)))
    body = [el("h1", pool_title(facts)), *pool_part(facts, "../")]
    return page(f"{facts.pool.name}, ladder {ladder}", body, nav)


def _brief(facts: PoolFacts) -> list[Content]:
    places = facts.standings.places
    parts: list[Content] = [standings_table(facts, places[:BRIEF], "")] if places else []
    fit = facts.standings.fit
    parts += [el("p", zero_of(facts.standings.seats, fit, places))] if fit else []
    seat = fit.advantage if fit else None
    words = [many(facts.totals.games, "game")]
    words += [f"first seat {seat:+z.1f} Elo"] if seat is not None else []
    words += [many(len(places) - BRIEF, "more bot")] if len(places) > BRIEF else []
    link = el("a", "all of ", bdi(facts.pool.name), href=f"pools/{file_of(facts.pool.name)}")
    return [*parts, el("p", ", ".join(words), ": ", link)]


def _all_bots(bots: Sequence[str]) -> list[Content]:
    if not bots:
        return []
    more = f", and {len(bots) - LISTED} more" if len(bots) > LISTED else ""
    return [el("h2", "Bots"), el("p", joined((bot_link(name, name, "") for name in bots[:LISTED]), ", "), more)]


def _events(events: Sequence[StoreEvent]) -> list[Content]:
    if not events:
        return []
    heads = (ColumnHead("when, UTC", words=True), ColumnHead("what", words=True), ColumnHead("", words=True))
    rows = [(event.at[:19].replace("T", " "), event.kind, cut(event.text, 120)) for event in reversed(events)]
    return [el("h2", "Events"), table(Markup("The newest first"), heads, rows)]


# -- The output folder: only files of the report; each is replaced atomically, and stale ones are removed.


MARKER = ".ggp-report"
_FIRST_LINE = "Files of `ggp ladder report`: it writes them again, and takes away those that it does not need any more."
_OURS = re.compile(r"index\.html|(?:bots|pools)/[^/]+\.html")


class Folder:
    """Raises ViewError for a folder that holds other files, OSError where nothing can be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _listed(path)
        self._pages: set[str] = set()

    def begin(self, pages: set[str]) -> None:
        """Say which pages will be written, so that a report that is cut off is known as one."""
        self._pages = pages
        self._path.mkdir(parents=True, exist_ok=True)
        self._mark(self._before | pages)

    def write(self, name: str, text: str) -> None:
        """A page; one that says the same stays as it is."""
        data = text.encode()
        path = self._path / name
        path.parent.mkdir(exist_ok=True)
        if not _holds(path, data):
            replace_file(path, data)

    def close(self) -> None:
        """Take away what was of an earlier report alone."""
        for name in sorted(self._before - self._pages):
            (self._path / name).unlink(missing_ok=True)
        self._mark(self._pages)

    def _mark(self, names: set[str]) -> None:
        replace_file(self._path / MARKER, "\n".join([_FIRST_LINE, *sorted(names), ""]).encode())


def _listed(path: Path) -> set[str]:
    """What an earlier report left. ViewError if there is anything and no report made it."""
    if path.exists() and not path.is_dir():
        raise ViewError(f"{path} is no folder: name another with -o")
    marker = path / MARKER
    if marker.is_file():
        lines = marker.read_text(encoding="utf-8", errors="replace").splitlines()
        return {line for line in lines if _OURS.fullmatch(line) and ".." not in line.split("/")}
    if path.is_dir() and any(path.iterdir()):
        raise ViewError(f"{path} holds files that are not of a report: name a new folder or an empty one with -o")
    return set()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except FileNotFoundError:
        return False
