"""What the report shows of a pool, read from the store once: standings, meetings, expected points, tests.

The games and faults of one bot are read when its page is made.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from protocol.records import RecordError
from referee.ladder.config import read_format
from referee.ladder.source import read_top
from referee.ladder.standings import BotScore, RankedPlace, places, score_of
from referee.ladder.toml_file import NoToml, read_toml
from referee.ladder.views import Standings, diagnostics, read_game, read_standings
from referee.play.bot_spec import BotSpec
from referee.ratings.bradley_terry import ELO, MODELS, NO_TIES
from referee.ratings.sprt import Hypotheses, Model, Verdict, judge, log_likelihood_ratio
from referee.store.model import (
    Entrant,
    Format,
    FormatKind,
    GameRow,
    PairResult,
    PairScore,
    PoolEntry,
    PoolRow,
    StoredFit,
    Totals,
)

if TYPE_CHECKING:
    from referee.store.store import Store


@dataclass(frozen=True, slots=True)
class Curve:
    """A test: (pairs, LLR) from (0, 0) on, its bounds, and the pair at which it stopped, if it did."""

    points: Sequence[tuple[int, float]]
    lower: float
    upper: float
    stopped: int | None = None


LAST = 20  # games of a bot that are listed
SEARCHED = 5000  # matches of a kind that are looked through for a bot's last fault
CURVE = 400  # points of a plot


@dataclass(slots=True)
class Met:
    """A version against one opponent: by seat, and the points that the ratings say it should have (None: unrated)."""

    first: BotScore = field(default_factory=BotScore)
    second: BotScore = field(default_factory=BotScore)
    expected: float | None = 0.0

    @property
    def score(self) -> BotScore:
        return self.first + self.second


class PairScores:
    """The meetings in a pool by version, added up on the first request."""

    def __init__(self, meetings: Sequence[PairScore], expected: Sequence[float | None]) -> None:
        self._meetings = meetings
        self._expected = expected
        self._places: dict[int, list[int]] = defaultdict(list)
        for place, met in enumerate(meetings):
            self._places[met.first].append(place)
            self._places[met.second].append(place)

    def of(self, version: int) -> dict[int, Met]:
        """By opponent."""
        found: dict[int, Met] = defaultdict(Met)
        for place in self._places.get(version, ()):
            met, points = self._meetings[place], self._expected[place]
            as_first = met.first == version
            one = found[met.second if as_first else met.first]
            if as_first:
                one.first += score_of(met)
            else:
                one.second += score_of(met, 2)
                points = None if points is None else met.games - points
            one.expected = None if points is None or one.expected is None else one.expected + points
        return found


@dataclass(frozen=True, slots=True)
class SequentialTrial:
    """A sequential test as it stands: after the pair that decided it, or after the last one. `open`: pairs since."""

    new: PoolEntry
    old: PoolEntry
    hypotheses: Hypotheses
    penta: tuple[int, ...]
    verdict: Verdict
    curve: Curve
    later: int


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A pool. `rated` are all versions, those of before too."""

    pool: PoolRow
    standings: Standings
    rated: Mapping[int, RankedPlace]
    ranks: Mapping[int, int]
    met: PairScores
    seat1: BotScore
    totals: Totals
    trial: SequentialTrial | None

    @property
    def seats(self) -> dict[int, PoolEntry]:
        return {seat.id: seat for seat in self.standings.seats}


@dataclass(frozen=True, slots=True)
class LastFault:
    """The last match that a bot lost or voided by a fault, and what it left behind."""

    game: GameRow
    left: list[str]


def read_facts(store: "Store", pool: PoolRow, form: Format | None) -> PoolFacts:
    """Everything of a pool. Raises StoreError."""
    standings = read_standings(store, pool)
    fit, seats = standings.fit, standings.seats
    scored = {version: BotScore(*counts) for version, counts in store.scores(pool.id).items()}
    rated = {place.seat.id: place for place in places(seats, scored, fit, everyone=True)} if fit else {}
    meetings = store.meetings(pool.id)
    return PoolFacts(
        pool=pool,
        standings=standings,
        rated=rated,
        ranks={place.seat.id: rank for rank, place in enumerate(standings.places, 1)},
        met=PairScores(meetings, expectations(meetings, fit)),
        seat1=_sum(meetings),
        totals=store.totals(pool.id),
        trial=read_trial(store, pool, seats, form) if form is not None and form.kind is FormatKind.TEST else None,
    )


def latest(seats: Sequence[PoolEntry], name: str) -> PoolEntry | None:
    """The version of a bot that has its name now: the last one that was entered."""
    named = [seat for seat in seats if seat.name == name]
    return next((seat for seat in named if seat.label == name), named[-1] if named else None)


def last_games(store: "Store", pool: PoolRow, seat: PoolEntry) -> list[GameRow]:
    """Newest first, void ones too."""
    return list(store.games(pool.id, bot=seat.id, limit=LAST))


def last_fault(store: "Store", facts: PoolFacts, seat: PoolEntry) -> LastFault | None:
    """Of its newest matches; a record that cannot be read says so."""
    kinds = sorted(what for who, what in facts.totals.faults if who == seat.label)
    found = [row for what in kinds if (row := _newest_fault(store, facts.pool, seat, what))]
    if not found:
        return None
    game = max(found, key=lambda row: row.id)
    try:
        end = read_game(store, game.key).end
    except (RecordError, ValueError) as error:
        return LastFault(game, [f"its record cannot be read: {error}"])
    return LastFault(game, diagnostics(end) if end is not None else [])


def expectations(meetings: Sequence[PairScore], fit: StoredFit | None) -> list[float | None]:
    """Of each meeting: points of the first by the ratings; None where one of the two has none."""
    if fit is None:
        return [None] * len(meetings)
    elo = {row.id: row.elo for row in fit.rows}
    known = [number for number, met in enumerate(meetings) if met.first in elo and met.second in elo]
    apart = [elo[meetings[number].first] - elo[meetings[number].second] + fit.advantage for number in known]
    x = np.array(apart, dtype=np.float64) / ELO
    win, tie, _ = MODELS[fit.model].probabilities(x, math.log(fit.tie) if fit.tie > 0 else NO_TIES)
    found: list[float | None] = [None] * len(meetings)
    for number, share in zip(known, (win + tie / 2).tolist(), strict=True):
        found[number] = share * meetings[number].games
    return found


def format_of(word: str) -> Format | None:
    """The format that a ladder's file says. Raises ConfigError.

    None for a store, which knows none, a lobby, and a file that is no TOML because it is being edited.
    """
    if not word.endswith(".toml"):
        return None
    try:
        if "lobby" in read_toml(Path(word)):
            return None
    except NoToml:
        return None
    top = read_top(word)
    # Names and parents are enough: programs need not be there where the ladder is looked at.
    bots = [Entrant(name, BotSpec(name, name), (), str(table.get("parent", ""))) for name, table in top.bot.items()]
    return read_format(word, top.format, bots, ())


def read_trial(store: "Store", pool: PoolRow, seats: Sequence[PoolEntry], form: Format) -> SequentialTrial | None:
    """The test of a pool by its pairs in the order of the schedule; None if the two are not there."""
    new, old = (latest(seats, name) for name in form.bots)
    if new is None or old is None:
        return None
    model: Model = form.model  # type: ignore[assignment]  # one of the choices of the configuration
    tested = Hypotheses(form.elo0, form.elo1, form.alpha, form.beta, model)
    penta, wdl, points, later = [0] * 5, [0] * 3, [(0, 0.0)], 0
    stopped: int | None = None
    missing = [pair.number for pair in store.open_pairs(pool.id) if {pair.first, pair.second} == {new.id, old.id}]
    for pair in store.pair_results(pool.id, new.id, old.id):
        if missing and pair.number > missing[0]:
            break  # only complete pairs in the order of the schedule may decide
        if stopped is not None:
            later += 1
            continue
        _count(pair, new.id, penta, wdl)
        pairs = sum(penta)
        llr = log_likelihood_ratio(wdl if model == "bayes" else penta, tested) if pairs else 0.0
        points.append((pairs, llr))
        if not tested.lower < llr < tested.upper or (form.pairs and pairs >= form.pairs):
            stopped = pairs
    counts, cap = (wdl, 2 * form.pairs) if model == "bayes" else (penta, form.pairs)
    curve = Curve(thinned(points, CURVE), tested.lower, tested.upper, stopped)
    return SequentialTrial(new, old, tested, tuple(penta), judge(counts, tested, cap or None), curve, later)


def thinned(points: Sequence[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """Every so-manieth and the last, about `most` in all."""
    step = -(-len(points) // most)
    return [*points[:-1:step], points[-1]]


def _count(pair: PairResult, new: int, penta: list[int], wdl: list[int]) -> None:
    """Add a pair that counts: `penta` by points of the new version, `wdl` its losses, ties, wins."""
    if pair.points is None:
        return
    penta[int(2 * pair.points)] += 1
    for met in pair.meetings:
        score = score_of(met, 1 if met.first == new else 2)
        for cell, number in enumerate((score.losses, score.ties, score.wins)):
            wdl[cell] += number


def _sum(meetings: Sequence[PairScore]) -> BotScore:
    """What seat 1 scored in all of them."""
    names = ("wins", "ties", "losses", "forfeit_losses", "forfeit_wins", "void")
    wins, ties, losses, forfeits, gifts, void = (sum(getattr(met, name) for met in meetings) for name in names)
    return BotScore(wins + gifts, ties, losses + forfeits, forfeits, gifts, void)


def _newest_fault(store: "Store", pool: PoolRow, seat: PoolEntry, what: str) -> GameRow | None:
    rows = islice(store.games(pool.id, bot=seat.id, termination=what), SEARCHED)
    return next((row for row in rows if row.culprit == seat.label), None)
