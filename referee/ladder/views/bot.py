"""`ggp ladder bot NAME`: a bot's versions, and how one of them fares: opponents, seats, faults, time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from protocol.printed import json_text
from referee.ladder.pairs import Seat
from referee.ladder.standings import Place, Score, entered, score_of, zero_of
from referee.ladder.views import running
from referee.ladder.views.game import diagnostics, read_game
from referee.ladder.views.games import when
from referee.ladder.views.sheet import Sheet, clean, say, show
from referee.ladder.views.source import check_bots, chosen_pools, exact, open_ladder, seat_of, split
from referee.ladder.views.standings import Standings, read_standings, title_of
from referee.play.clock import Control, Kind
from referee.ratings.scale import half
from referee.store.rows import GameRow, PoolRow

if TYPE_CHECKING:
    from referee.store.store import Store

_SPARE = (("made from",), ("score",), ("games",))  # of the versions, where there is little room


@dataclass(slots=True)
class Life:
    """What its newest games say of a version. Colours: decided games alone; `allowed`: ms of its clock, if known."""

    games: int = 0
    black: Score = field(default_factory=Score)
    white: Score = field(default_factory=Score)
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
    seat: Seat
    place: Place | None
    rank: int
    first: Score
    second: Score
    opponents: dict[str, Score]
    life: Life


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(bot, argv)


@click.command("bot", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("NAME [LADDER]")
@running.pool_option
@click.option("--games", type=click.IntRange(1), default=100_000, show_default=True, help="Newest games to look at.")
@running.json_option
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
        said = [_as_json(career, fault) for career, fault in zip(found, last, strict=True)]
        versions = [_version_as_json(one, seat, labels) for one in standings for seat in _named(one.seats, name)]
        say(json_text({"bot": name.partition("@")[0], "versions": versions, "pools": said}))
        return 0
    _show_versions(standings, name, labels)
    for career, fault in zip(found, last, strict=True):
        say("")
        _show(career, fault, games)
    return 0


def read_career(store: "Store", standings: Standings, name: str, games: int) -> Career | None:
    """Of the version that is meant, of a name the latest; None if it never was in the pool."""
    named = _named(standings.seats, name)
    seat = seat_of(named, name) or (named[-1] if named and "@" not in name else None)
    if seat is None:
        return None
    pool, labels = standings.pool, {seat.id: seat.label for seat in standings.seats}
    first, second = Score(), Score()
    opponents: dict[str, Score] = {}
    for met in store.meetings(pool.id):
        if seat.id not in (met.first, met.second):
            continue
        as_first = met.first == seat.id
        score, other = score_of(met, 1 if as_first else 2), labels[met.second if as_first else met.first]
        first, second = (first + score, second) if as_first else (first, second + score)
        opponents[other] = opponents.get(other, Score()) + score
    life, control = Life(), Control.parse(pool.control)
    for row in islice(store.games(pool.id, bot=seat.id), games):
        _live(life, row, seat.label, control, pool.openings)
    place = next((place for place in standings.places if place.seat == seat), None)
    ranked = [place for place in standings.places if entered(place.seat)] or standings.places
    rank = ranked.index(place) + 1 if place in ranked else 0
    return Career(pool, seat, place, rank, first, second, opponents, life)


def allowed(control: Control, plies: float) -> float | None:
    """ms that so many plies of one side may take; None: no clock says so."""
    match control.kind:
        case Kind.FISCHER:
            return control.main + control.increment * plies
        case Kind.PERIOD:
            return control.main + control.period * -(-plies // control.moves)
        case Kind.BYOYOMI:
            return control.main + control.period * plies
        case Kind.MOVE:
            return control.period * plies
        case Kind.NONE:
            return None


def _named(seats: Sequence[Seat], name: str) -> list[Seat]:
    """All versions of the bot, oldest first."""
    return [seat for seat in seats if seat.name == name.partition("@")[0]]


def _live(life: Life, row: GameRow, label: str, control: Control, openings: int) -> None:
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
        game = Score(wins=int(won), losses=int(not won))
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


def _state(seat: Seat) -> str:
    if seat.suspended and entered(seat):
        return f"suspended: {seat.suspended}"
    return "entered" if seat.active else "withdrawn"


def _version_as_json(standings: Standings, seat: Seat, labels: dict[int, str]) -> dict[str, Any]:
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


def _as_json(career: Career, fault: list[str]) -> dict[str, Any]:
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
    sheet = Sheet(heads, frozenset({"pool", "version", "made from", "state"}), spare=_SPARE)
    for one in standings:
        placed = {place.seat.id: place for place in one.places}
        for seat in reversed(_named(one.seats, name)):
            place = placed.get(seat.id)
            parent = labels.get(seat.parent, "") if seat.parent is not None else ""
            rating = (f"{place.row.elo:z.1f}", half(place.row.se)) if place else ("", "")
            score = place.score if place else Score()
            share = f"{score.share:.1%}" if score.games else ""
            sheet.add(one.pool.name, exact(seat), parent, *rating, score.games, share, _state(seat))
    show(sheet, name.partition("@")[0])
    for one in standings:
        if one.fit is not None and _named(one.seats, name):
            prefix = f"{one.pool.name}: " if len(standings) > 1 else ""
            say(clean(prefix + zero_of(one.seats, one.fit, one.places, here=False)))


def _show(career: Career, fault: list[str], most: int) -> None:
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
    sheet = Sheet(heads, frozenset({"opponent"}), spare=(("+", "=", "-"), ("forfeits",), ("points",)))
    for name, score in sorted(career.opponents.items(), key=lambda row: -row[1].games):
        share = f"{score.share:.1%}" if score.games else ""
        sheet.add(name, f"{score.points:g}", score.games, share, score.wins, score.ties, score.losses, score.forfeits)
    show(sheet)


def _score(score: Score) -> str:
    share = f", {score.share:.1%}" if score.games else ""
    return f"{score.points:g}/{score.games} (+{score.wins} ={score.ties} -{score.losses}){share}"
