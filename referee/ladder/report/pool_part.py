"""A pool in the report: test, standings, plot, crosstable, how matches ended. It makes markup and reads nothing."""

from collections.abc import Sequence

from referee.ladder.pairs import Seat
from referee.ladder.report.facts import Facts, Trial
from referee.ladder.report.markup import Content, Head, Markup, el, joined, scrolling, table
from referee.ladder.report.page import bdi, bot_link, cut, elo, facts_list, pm, share
from referee.ladder.report.plots import Bar, llr_plot, rating_plot
from referee.ladder.standings import Place, Score, misfits_badly, zero_of
from referee.ladder.views.standings import TIES, title_of
from referee.ratings.scale import Z95, after_stop, half, in_elo
from referee.store.rows import Fit

PLOTTED = 100  # bots in the plot
CROSSED = 40  # bots in the crosstable
FAULTY = 100  # rows of faults
BRIEF = 10  # bots of a pool where the page is of several

_STANDINGS = (
    Head("#", title="rank"),
    Head("bot", words=True),
    Head("Elo"),
    Head("±", title="half of the 95 % interval"),
    Head("games", title="that count"),
    Head("score", title="share of the points"),
    Head("+", title="won"),
    Head("=", title="drawn"),
    Head("−", title="lost"),
    Head("forfeits", title="of the losses, those by its own fault"),
    Head("to next", title="Elo to the next lower bot"),
    Head("±", title="half of the 95 % interval of that difference"),
    Head("LOS", title="likelihood of superiority: that it is stronger than the next lower bot"),
)
_NOTE = Head("", words=True)


def pool_part(facts: Facts, root: str) -> list[Content]:
    """Everything of a pool."""
    fit, places = facts.standings.fit, facts.standings.places
    if fit is None:
        entered = [seat.label for seat in facts.standings.seats if seat.active]
        names = joined((bdi(label) for label in entered[:CROSSED]), ", ") or "nobody"
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


def standings_table(facts: Facts, places: Sequence[Place], root: str) -> Markup:
    """Best first."""
    noted = any(place.note for place in places)
    rows = [_standing(rank, place, root)[: len(_STANDINGS) + noted] for rank, place in enumerate(places, 1)]
    caption = joined(("Standings of ", bdi(facts.pool.name), ", best first"))
    return table(caption, [*_STANDINGS, _NOTE] if noted else _STANDINGS, rows, row_head=1)


def pool_title(facts: Facts) -> str:
    """`NAME: yugo size=5, time 10+0.1`."""
    return title_of(facts.pool)


def _standing(rank: int, place: Place, root: str) -> list[Content]:
    row, score, seat = place.row, place.score, place.seat
    los = "" if row.next_los is None else f"{row.next_los:.1%}"
    return [
        *(rank, bot_link(seat.name, seat.label, root), elo(row.elo), pm(row.se), score.games),
        *(share(score.share, score.games), score.wins, score.ties, score.losses, score.forfeits or ""),
        *(elo(row.next_elo), pm(row.next_se), los, cut(place.note, 60)),
    ]


def _about(facts: Facts, fit: Fit) -> Markup:
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


def _plot(places: Sequence[Place]) -> list[Content]:
    bars = [Bar(place.seat.label, place.row.elo, Z95 * place.row.se) for place in places[:PLOTTED]]
    if not bars:
        return []
    about = f"{len(bars)} bots, best first; {bars[0].name} leads with {bars[0].elo:z.0f}{bars[0].error} Elo."
    more = [el("p", f"The best {PLOTTED} of {len(places)}.", class_="soft")] if len(places) > PLOTTED else []
    return [el("h3", "Ratings"), rating_plot(bars, about), *more]


# --- who scored what against whom ------------------------------------------------------------------------------------


def _crosstable(facts: Facts, root: str) -> list[Content]:
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


def _cross(bot: Seat, other: Seat, score: Score) -> Markup:
    if not score.games:
        return el("td")
    lead = score.share - 0.5
    shade = f"background:rgb(var(--{'high' if lead > 0 else 'low'})/{min(0.55, abs(lead) * 1.1):.2f})"
    said = f"{bot.label} against {other.label}: +{score.wins} ={score.ties} -{score.losses}"
    text = (f"{score.share:.0%}", el("small", score.games))
    return el("td", *text, title=said, style=shade if abs(lead) > 0.02 else None)


# --- how games ended, whose faults -----------------------------------------------------------------------------------


def _endings(facts: Facts, root: str) -> list[Content]:
    totals, names = facts.totals, {seat.label: seat.name for seat in facts.standings.seats}
    matches = sum(totals.terminations.values())
    ends = sorted(totals.terminations.items(), key=lambda item: (-item[1], item[0]))
    heads = (Head("termination", words=True), Head("matches"), Head("share"))
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
        heads = (Head("bot", words=True), Head("fault", words=True), Head("matches"))
        parts += [el("h3", "Faults"), table(f"Who was at fault how often{cut_off}", heads, rows)]
    return parts


# --- the test --------------------------------------------------------------------------------------------------------

_SAID = {
    "H0": "H0 is accepted: it is not shown to be better",
    "H1": "H1 is accepted: it is better",
    "continue": "undecided so far",
    "inconclusive": "inconclusive: all pairs of the test are played",
}


def _trial(trial: Trial) -> list[Content]:
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
