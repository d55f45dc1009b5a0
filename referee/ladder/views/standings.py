"""`ggp ladder standings`: the ratings of every pool with their error bars, and how far the model holds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from protocol.printed import json_text
from referee.ladder.pairs import Seat
from referee.ladder.standings import (
    Place,
    Score,
    entered,
    fit_meetings,
    held,
    is_current,
    misfits_badly,
    places,
    zero_of,
)
from referee.ladder.views import running
from referee.ladder.views.sheet import Sheet, clean, say, show
from referee.ladder.views.source import chosen_pools, open_ladder, split
from referee.ratings.scale import half, zero
from referee.store.rows import Fit, PoolRow

if TYPE_CHECKING:
    from referee.store.store import Store

TIES = {"davidson": "ν", "rao-kupper": "δ"}
_SPARE = (("+", "=", "-"), ("forfeits",), ("score",), ("to next", "± ", "LOS"), ("games",))


@dataclass(frozen=True, slots=True)
class Standings:
    """A pool's: `fit` is None if nothing can be rated, `places` are empty then."""

    pool: PoolRow
    seats: list[Seat]
    fit: Fit | None
    places: list[Place]


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(standings, argv)


@click.command("standings", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[LADDER]")
@running.pool_option
@click.option("--all", "everyone", is_flag=True, help="Versions that were withdrawn, too.")
@running.json_option
def standings(words: tuple[str, ...], pool_name: str | None, everyone: bool, as_object: bool) -> int:
    """Show the ratings of a ladder: Elo with 95 % error bars, games, the difference to the next one."""
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store:
        found = [read_standings(store, pool, everyone) for pool in chosen_pools(store.pools(), pool_name)]
        runs = store.running()
    if as_object:
        objects = {one.pool.name: as_json(one) for one in found}
        only = next(iter(objects.values())) if len(found) == 1 else {"pools": objects}
        say(json_text(only))
        return 0
    if not found:
        say("the ladder has no pool yet: ggp ladder run begins it")
    for number, one in enumerate(found):
        say(*[""] * bool(number))
        show_standings(one)
    if runs:
        say(clean(f"the ladder runs: {runs}"))
    return 0


def read_standings(store: "Store", pool: PoolRow, everyone: bool = False, withdrawn: bool = False) -> Standings:
    """From the stored fit where it is current, else from a new one, which is not stored.

    With `everyone` zero is the mean of all versions that ever were; with `withdrawn` they have places as well, but
    every rating is the one that the standings without them show.
    """
    seats, fit = store.seats(pool.id), store.fit(pool.id)
    scored = {version: Score(*counts) for version, counts in store.scores(pool.id).items()}
    games = sum(score.games for score in scored.values()) // 2
    if not games:
        return Standings(pool, seats, None, [])
    everyone = everyone or not any(map(entered, seats))
    if fit is None or not is_current(fit, seats, scored, everyone):
        model = fit.model if fit else "davidson"
        fit = fit_meetings(pool.id, games, store.meetings(pool.id), seats, model, everyone)
    return Standings(pool, seats, fit, places(seats, scored, fit, everyone or withdrawn) if fit else [])


def title_of(pool: PoolRow) -> str:
    """`NAME: yugo size=5, time 10+0.1`."""
    options = "".join(f" {name}={value}" for name, value in pool.options.items())
    openings = f", {pool.openings} random plies first" if pool.openings else ""
    return f"{pool.name}: {pool.game}{options}, time {pool.control}{openings}"


def as_json(found: Standings) -> dict[str, Any]:
    """As `ggp rate --json`, and what a ladder knows besides."""
    fit, labels = found.fit, {seat.id: seat.label for seat in found.seats}
    return {
        "ratings": [_line_as_json(place) for place in found.places],
        "advantage": fit and fit.advantage,
        "model": fit.model if fit else None,
        "advantage_se": fit and fit.advantage_se,
        "tie": fit and fit.tie,
        "anchors": [labels[version] for version in fit.anchors] if fit else [],
        "zero": zero(held(found.seats, fit)) if fit else None,
        "deviance": fit and fit.deviance,
        "degrees_of_freedom": fit and fit.freedom,
        "misfits": [
            {
                "first": labels[pair.first],
                "second": labels[pair.second],
                "games": int(pair.games),
                "score": pair.score,
                "expected": pair.expected,
                "deviance": pair.deviance,
            }
            for pair in (fit.misfits if fit else ())
        ],
        "games": found.pool.games,
        "game": found.pool.game,
        "options": found.pool.options,
        "time": found.pool.control,
    }


def _line_as_json(place: Place) -> dict[str, Any]:
    """All games that count. `se` is the error of this `elo`, null of an anchor, which is held.

    Of the losses `forfeits` were its own fault, of the wins `gifts` the other's.
    """
    row, score = place.row, place.score
    lower = None if row.next_elo is None else {"elo": row.next_elo, "se": row.next_se, "los": row.next_los}
    return {
        "name": place.seat.label,
        "elo": row.elo,
        "se": row.se or None,
        "games": score.games,
        "score": score.points,
        "next": lower,
        "wins": score.wins,
        "ties": score.ties,
        "losses": score.losses,
        "forfeits": score.forfeits,
        "gifts": score.gifts,
        "bot": place.seat.name,
        "version": place.seat.version,
        "active": place.seat.active,
        "suspended": place.seat.suspended,
        "note": place.note,
    }


def show_standings(found: Standings) -> None:
    if found.fit is None:
        names = ", ".join(seat.label for seat in found.seats if seat.active)
        say(clean(title_of(found.pool)), clean(f"no game counts yet; entered: {names or 'nobody'}"))
        return
    forfeited = ["forfeits"] if any(place.score.forfeits for place in found.places) else []
    noted = ["note"] if any(place.note for place in found.places) else []
    heads = ["#", "bot", "Elo", "±", "games", "score", "+", "=", "-", *forfeited, "to next", "± ", "LOS", *noted]
    sheet = Sheet(heads, frozenset({"bot", "note"}), spare=_SPARE)
    for rank, place in enumerate(found.places, 1):
        score = place.score
        share = f"{score.share:.1%}" if score.games else ""
        sheet.add(
            *(rank, place.seat.label, f"{place.row.elo:z.1f}", half(place.row.se), score.games, share),
            *(score.wins, score.ties, score.losses, *([score.forfeits or ""] if forfeited else []), *_next(place)),
            *([place.note] if noted else []),
        )
    show(sheet, title_of(found.pool))
    say(*map(clean, _remarks(found, found.fit)))


def _next(place: Place) -> tuple[str, str, str]:
    row = place.row
    if row.next_elo is None or row.next_se is None or row.next_los is None:
        return "", "", ""
    return f"{row.next_elo:z.1f}", half(row.next_se), f"{row.next_los:.1%}"


def _remarks(found: Standings, fit: Fit) -> list[str]:
    """What the numbers are, and where the model does not hold."""
    labels = {seat.id: seat.label for seat in found.seats}
    seat = f"{fit.advantage:z.1f} ± {half(fit.advantage_se)} Elo"
    model = f"model {fit.model}, deviance {fit.deviance:.1f} at {fit.freedom} degrees of freedom"
    remarks = [
        zero_of(found.seats, fit, found.places),
        f"first seat {seat}; {TIES[fit.model]} = {fit.tie:.3f}; {found.pool.games} games",
        model + (": it misfits" if misfits_badly(fit) else ""),
    ]
    if misfits_badly(fit):
        remarks += [
            f"  {labels[pair.first]} against {labels[pair.second]}: {pair.score:g} of {pair.games:g} "
            f"where {pair.expected:.1f} were expected"
            for pair in fit.misfits
        ]
    return remarks
