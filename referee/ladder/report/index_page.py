"""The first page of the report: all of a pool if there is one, else the best of each; what happened last."""

from collections.abc import Sequence

from referee.ladder.report.facts import Facts
from referee.ladder.report.markup import Content, Head, Markup, el, joined, table
from referee.ladder.report.page import bdi, bot_link, cut, file_of, many, page
from referee.ladder.report.pool_part import BRIEF, pool_part, pool_title, standings_table
from referee.ladder.standings import zero_of
from referee.store.rows import Event

LISTED = 2000  # bots in the list of all


def index_page(ladder: str, pools: Sequence[Facts], bots: Sequence[str], events: Sequence[Event]) -> str:
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


def pool_page(ladder: str, facts: Facts) -> str:
    """The document of one of several pools."""
    nav = joined((el("a", "Ladder ", bdi(ladder), href="../index.html"), " › ", bdi(facts.pool.name)))
    body = [el("h1", pool_title(facts)), *pool_part(facts, "../")]
    return page(f"{facts.pool.name}, ladder {ladder}", body, nav)


def _brief(facts: Facts) -> list[Content]:
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


def _events(events: Sequence[Event]) -> list[Content]:
    if not events:
        return []
    heads = (Head("when, UTC", words=True), Head("what", words=True), Head("", words=True))
    rows = [(event.at[:19].replace("T", " "), event.kind, cut(event.text, 120)) for event in reversed(events)]
    return [el("h2", "Events"), table(Markup("The newest first"), heads, rows)]
