"""A bot's page in the report, per pool: versions, and of the present one opponents, seats, faults, last games."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from referee.ladder.pairs import Seat
from referee.ladder.report.facts import Facts, Fault, Met, last_fault, last_games, latest
from referee.ladder.report.markup import Content, Head, Markup, el, joined, table
from referee.ladder.report.page import bdi, bot_link, cut, elo, elo_and_error, facts_list, page, pm, share
from referee.ladder.report.pool_part import pool_title
from referee.ladder.standings import Score, zero_of
from referee.ladder.views.games import when
from referee.store.rows import GameRow

if TYPE_CHECKING:
    from referee.store.store import Store

OPPONENTS = 100  # that are listed, those with most games
VERSIONS = 100
_LINES, _WIDTH = 200, 400  # of diagnostics
_ROOT = "../"


def bot_page(store: "Store", ladder: str, pools: Sequence[Facts], name: str) -> str:
    """The document. Raises StoreError."""
    nav = joined((el("a", "Ladder ", bdi(ladder), href=f"{_ROOT}index.html"), " › ", bdi(name)))
    body: list[Content] = [el("h1", bdi(name))]
    for facts in pools:
        seat = latest(facts.standings.seats, name)
        if seat is not None:
            body += [el("h2", pool_title(facts)), *_part(store, facts, seat)]
    return page(f"{name}, ladder {ladder}", body, nav)


def _part(store: "Store", facts: Facts, seat: Seat) -> list[Content]:
    met = facts.met.of(seat.id)
    fault = last_fault(store, facts, seat)
    return [
        _summary(facts, seat, met),
        _versions(facts, seat.name),
        *_opponents(facts, seat, met),
        *_faults(facts, seat, fault),
        *_games(facts, seat, last_games(store, facts.pool, seat)),
    ]


def _summary(facts: Facts, seat: Seat, met: Mapping[int, Met]) -> Markup:
    first, second = (
        sum((one.first for one in met.values()), Score()),
        sum((one.second for one in met.values()), Score()),
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


def _versions(facts: Facts, name: str) -> Markup:
    """Newest first."""
    labels = {seat.id: seat.label for seat in facts.standings.seats}
    named = [seat for seat in facts.standings.seats if seat.name == name][::-1]
    rows: list[list[Content]] = []
    for seat in named[:VERSIONS]:
        place = facts.rated.get(seat.id)
        score = place.score if place else Score()
        parent = labels.get(seat.parent, "") if seat.parent is not None else ""
        state = f"suspended: {seat.suspended}" if seat.suspended else "entered" if seat.active else "withdrawn"
        rating = (elo(place.row.elo), pm(place.row.se)) if place else ("", "")
        rows.append(
            [bdi(seat.version), bdi(parent), *rating, score.games, share(score.share, score.games), cut(state, 80)]
        )
    heads = (
        Head("version", words=True),
        Head("made from", words=True),
        *(Head("Elo"), Head("±", title="half of the 95 % interval"), Head("games"), Head("score")),
        Head("state", words=True),
    )
    return table("Versions, the newest first", heads, rows)


def _opponents(facts: Facts, seat: Seat, met: Mapping[int, Met]) -> list[Content]:
    """Those with most games; `expected` is what the ratings of both say of these games."""
    if not met:
        return [el("p", "It met nobody yet.")]
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
        *(Head("opponent", words=True), Head("Elo"), Head("games"), Head("points"), Head("score")),
        Head("expected", title="points, as the ratings of both say"),
        Head("more", title="points more than expected"),
        *(Head("+"), Head("="), Head("−"), Head("forfeits", title="lost by its own faults")),
        Head("gifts", title="won by faults of the other"),
        *(Head("seat 1", title="points of games"), Head("seat 2", title="points of games")),
    )
    some = f" ({OPPONENTS} of {len(most)})" if len(most) > OPPONENTS else ""
    caption = f"Whom it met most often first{some}; expected are the points that the ratings of both say"
    return [el("h3", "Opponents"), table(caption, heads, rows)]


def _faults(facts: Facts, seat: Seat, fault: Fault | None) -> list[Content]:
    kinds = sorted((what, count) for (who, what), count in facts.totals.faults.items() if who == seat.label)
    if not kinds:
        return []
    parts: list[Content] = [
        el("h3", "Faults"),
        table("By kind", (Head("fault", words=True), Head("matches")), kinds),
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


def _games(facts: Facts, seat: Seat, games: Sequence[GameRow]) -> list[Content]:
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
        *(Head("match", words=True), Head("ended, UTC", words=True), Head("opponent", words=True), Head("seat")),
        *(Head("came out", words=True), Head("result", words=True), Head("by", words=True), Head("plies")),
        Head("detail", words=True),
    ]
    if not any(game.detail for game in games):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return [el("h3", "Last matches"), table(f"The newest {len(games)}, void ones too", heads, rows)]


def _score(score: Score) -> str | None:
    if not score.games:
        return None
    return f"{score.points:g} of {score.games}, {score.share:.1%} (+{score.wins} ={score.ties} −{score.losses})"
