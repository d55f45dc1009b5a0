"""Read crosstables, games, bots and tests from the store of a ladder, as values.

Each function takes an open Store and plain arguments. Terminal, JSON, control and HTML print what it returns.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import msgspec

from ggp.protocol.records import MatchEnded, MatchStarted, Party, Record, RecordError, read_records
from ggp.referee.ladder.sequential import PoolTest, played_pair
from ggp.referee.ladder.source import Trouble, ViewError, check_bots, chosen_pools, read_top, seat_of
from ggp.referee.ladder.standings import (
    BotScore,
    LadderStanding,
    Rater,
    entered,
    plain,
    rate_pool,
    read_standings,
    score_of,
)
from ggp.referee.ladder.store.model import (
    EITHER_WAY,
    GAMES,
    TESTED,
    Entrant,
    Format,
    GameFilter,
    GameRow,
    PairScore,
    PoolEntry,
    PoolRow,
    StoreEvent,
    Totals,
)
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.clock import ControlKind, TimeControl
from ggp.referee.ratings.scale import expected_share
from ggp.referee.ratings.sequential import ObservedPairs
from ggp.referee.ratings.sprt import Hypotheses, Verdict, effect, judge
from ggp.referee.ratings.standings import Difference, RatingTable
from ggp.referee.terminal import escape_unprintable

if TYPE_CHECKING:
    from ggp.referee.ladder.store.store import Store


Point = TypeVar("Point")
Fault = tuple[GameRow, list[str]] | None  # a match that ended by it, and what it left behind


# -- crosstable -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Crosstable:
    """The scores in a pool of row against column; with `seats`, only of games in which the row had seat 1."""

    pool: PoolRow
    bots: list[PoolEntry]
    cells: dict[tuple[int, int], BotScore]
    seats: bool

    @property
    def pairs(self) -> list[tuple[PoolEntry, PoolEntry, BotScore]]:
        """Return every two bots that met: once, or with `seats` once for each order."""
        order, bots = {bot.id: rank for rank, bot in enumerate(self.bots)}, {bot.id: bot for bot in self.bots}
        return [
            (bots[first], bots[second], score)
            for (first, second), score in sorted(self.cells.items(), key=lambda cell: [order[bot] for bot in cell[0]])
            if self.seats or order[first] < order[second]
        ]


def read_crosstable(store: "Store", pool: PoolRow, seats: bool = False, everyone: bool = False) -> Crosstable:
    """Return the crosstable, best bot first, or while nothing is rated in the order of entry."""
    standings = read_standings(store, pool, everyone)
    bots = [place.seat for place in standings.places] or [seat for seat in standings.seats if seat.active]
    return Crosstable(pool, bots, cross_scores(store.meetings(pool.id), {bot.id for bot in bots}, seats), seats)


def cross_scores(
    meetings: Iterable[PairScore], shown: Collection[int], seats: bool = False
) -> dict[tuple[int, int], BotScore]:
    """Return the scores of these versions against each other; with `seats`, only those in seat 1."""
    cells: dict[tuple[int, int], BotScore] = {}
    for met in meetings:
        if met.first in shown and met.second in shown:
            here, there = (met.first, met.second), (met.second, met.first)
            cells[here] = cells.get(here, BotScore()) + score_of(met)
            if not seats:
                cells[there] = cells.get(there, BotScore()) + score_of(met, 2)
    return cells


COLUMNS = ("pool", "first", "second", "games", "points", "wins", "ties", "losses", "forfeits", "gifts", "void")


def crosstable_lines(table: Crosstable) -> list[dict[str, Any]]:
    """Return every pair by COLUMNS."""
    names = COLUMNS[3:]
    return [
        {"pool": table.pool.name, "first": first.label, "second": second.label}
        | {name: getattr(score, name) for name in names}
        for first, second, score in table.pairs
    ]


def crosstable_json(table: Crosstable) -> dict[str, Any]:
    """Return the crosstable for JSON."""
    cells = [{name: line[name] for name in COLUMNS[1:]} for line in crosstable_lines(table)]
    return {"bots": [bot.label for bot in table.bots], "seats": table.seats, "cells": cells}


# -- games ------------------------------------------------------------------------------------------------------------


def check_filter(store: "Store", wanted: GameFilter) -> None:
    """Raise ViewError for a pool or a bot that is not in the store, UsageError for options that need a bot."""
    chosen = chosen_pools(store.pools(unrated=True), wanted.pool)
    of_bot = {
        "--against": wanted.against,
        "--seat": wanted.seat,
        f"--result {wanted.result}": wanted.result not in ("", *EITHER_WAY),
        "--points": wanted.points is not None,
    }
    if not wanted.bot and (alone := [option for option, given in of_bot.items() if given]):
        raise click.UsageError(f"{alone[0]} goes with --bot")
    if wanted.bot:
        check_bots([seat for pool in chosen for seat in store.seats(pool.id)], wanted.bot, wanted.against)


def matching(store: "Store", wanted: GameFilter, before: int | None = None) -> Iterator[GameRow]:
    """Return the matches that pass, newest first, after the one with the id `before`. Raises as check_filter does."""
    check_filter(store, wanted)
    return store.games(**asdict(wanted), before=before)


def when(at: str) -> str:
    """Return a stored time (UTC) as `2026-11-30 18:04:05`."""
    return at[:19].replace("T", " ")


def read_game(store: "Store", key: str) -> Record:
    """Return the record of a match. Raise ViewError for an unknown key, Trouble if the record is damaged."""
    data = store.record(key)
    if data is None:
        raise ViewError(f"there is no match {key!r}: ggp ladder games lists them")
    return read_one(data, key)


def read_one(lines: bytes, key: str) -> Record:
    """Decode a stored record and check its chain. Raise Trouble if it is damaged."""
    try:
        (record,) = read_records(lines.splitlines(keepends=True))
    except ValueError as error:  # RecordError, or another number of matches
        raise Trouble(
            f"the record of {escape_unprintable(key)} is not whole: {escape_unprintable(str(error))}"
        ) from None
    return record


def diagnostics(end: MatchEnded | None) -> list[str]:
    """Return what a fault left behind: the last lines of dialogue, the exit status and stderr."""
    left = end.diagnostics if end else None
    if left is None:
        return []
    lines = ["dialogue:", *(f"  {line}" for line in left.dialogue)] if left.dialogue else []
    lines += [f"exit: {left.exit}"] if left.exit else []
    lines += ["stderr:", *(f"  {line}" for line in left.stderr.splitlines())] if left.stderr else []
    return lines


def used(record: Record) -> tuple[int, int]:
    """Return the milliseconds that seat 1 and seat 2 used."""
    first, second = (sum(ply.ms for ply in record.plies if ply.seat == seat) for seat in (1, 2))
    return first, second


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since_when(option: str, text: str | None) -> datetime | None:
    """Return the moment that an option names as a time, or as a duration ago. Raise UsageError for other text."""
    if text is None:
        return None
    try:
        if text[-1:] in _UNITS:
            return datetime.now(UTC) - timedelta(**{_UNITS[text[-1]]: float(text[:-1])})
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.UsageError(f"{option} {text!r}: write 2026-11-30, 2026-11-30T18:00, 45m, 6h, 3d or 2w") from None


_OF_A_POOL = re.compile(r"(.*?) in ([\w.-]+)((?:: .*)?)", re.DOTALL)


def told_once(found: Iterable[StoreEvent]) -> list[tuple[str, str, str]]:
    """Return time, kind and text of each event; what happened to a bot in several pools at once is one of them."""
    pools: dict[tuple[str, str, str, str], list[str]] = {}
    for event in found:
        of = _OF_A_POOL.fullmatch(event.text) if event.kind in ("joined", "left", "replaced") else None
        bot, pool, more = of.groups() if of else (event.text, "", "")
        pools.setdefault((event.at, event.kind, bot, more), []).append(pool)
    return [
        (at, kind, f"{bot} in {', '.join(names)}{more}" if any(names) else bot)
        for (at, kind, bot, more), names in pools.items()
    ]


def game_json(record: Record) -> dict[str, Any]:
    """Return start and end of a record, and the time used."""
    return {
        "start": msgspec.to_builtins(record.start),
        "end": msgspec.to_builtins(record.end),
        "ms": list(used(record)),
    }


# -- one pool: its bots and what they did -----------------------------------------------------------------------------


LAST = 20  # games of a bot that are listed
SEARCHED = 5000  # matches of a kind that are looked through for a bot's last fault


@dataclass(frozen=True, slots=True)
class BotSummary:
    """All games of a version in a pool. `place` is None while it is not rated, `rank` is 0 for a withdrawn one.

    `opponents` has its scores in seat 1 and in seat 2 by the opponent's id, most games first; `meetings` is what these
    are computed from.
    """

    seat: PoolEntry
    place: LadderStanding | None
    rank: int
    first: BotScore
    second: BotScore
    opponents: dict[int, tuple[BotScore, BotScore]]
    meetings: list[PairScore]

    @property
    def score(self) -> BotScore:
        """Return the score in both seats."""
        return self.first + self.second


class PoolSummary:
    """A pool as the views show it. Standings are read at once, the rest on demand."""

    def __init__(
        self,
        store: "Store",
        pool: PoolRow,
        form: Format | None = None,
        rate: Rater = rate_pool,
        whole: bool = False,
    ) -> None:
        """Read the standings.

        Args:
            store: An open store.
            pool: The pool.
            form: The ladder's format, if it is known.
            rate: Rates the pool if the stored ratings are outdated.
            whole: All bots will be asked for, so that all meetings should be read at once.

        Raises:
            StoreError: The store failed.
        """
        self.store, self.pool, self.form = store, pool, form
        self._whole = whole
        self.standings = read_standings(store, pool, rate=rate)
        self.seats = {seat.id: seat for seat in self.standings.seats}

    @cached_property
    def rated(self) -> dict[int, LadderStanding]:
        """Return the row of every version that ever was, by id."""
        return {place.seat.id: place for place in self.standings.every}

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the names of the bots, by the labels of their versions."""
        return {seat.label: seat.name for seat in self.standings.seats}

    def history(self, name: str) -> list[LadderStanding]:
        """Return the rated versions of a bot, oldest first."""
        return [self.rated[seat.id] for seat in self.standings.versions(name) if seat.id in self.rated]

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Return the ranks of the bots in the standings, by id."""
        return {place.seat.id: rank for rank, place in enumerate(self.standings.places, 1)}

    @cached_property
    def seat1(self) -> BotScore:
        """Return the score of seat 1 in all games."""
        return BotScore(self.totals.wins, self.totals.ties, self.totals.losses)

    def crosstable(self, most: int) -> dict[tuple[int, int], BotScore]:
        """Return the scores of the best bots against each other, by their ids."""
        best = {place.seat.id for place in self.standings.places[:most]}
        return cross_scores(self.store.meetings(self.pool.id, best, best), best)

    @cached_property
    def _met_by(self) -> tuple[dict[int, list[PairScore]], dict[int, list[PairScore]]]:
        """Return all meetings by the id of the version in seat 1, and by the id of the version in seat 2."""
        first, second = defaultdict[int, list[PairScore]](list), defaultdict[int, list[PairScore]](list)
        for met in self.store.meetings(self.pool.id):
            first[met.first].append(met)
            second[met.second].append(met)
        return first, second

    @cached_property
    def totals(self) -> Totals:
        """Return what is stored of the pool."""
        return self.store.totals(self.pool.id)

    @cached_property
    def trial(self) -> "SequentialTrial | None":
        """Return the test, or None if the ladder is not one."""
        if self.form is None or self.form.kind not in TESTED:
            return None
        return read_trial(self.store, self.pool, self.standings.seats, self.form)

    @cached_property
    def faults(self) -> Counter[str]:
        """Return the number of faults of each version, by label."""
        found = Counter[str]()
        for (who, _), number in self.totals.faults.items():
            found[who] += number
        return found

    def expected(self, bot: BotSummary) -> dict[int, float | None]:
        """Return the points that the ratings expect against each opponent; None without a rating."""
        found: dict[int, float | None] = dict.fromkeys(bot.opponents, 0.0)
        for met, points in zip(bot.meetings, expectations(bot.meetings, self.standings.fit), strict=True):
            other, mine = (
                (met.second, points)
                if met.first == bot.seat.id
                else (met.first, met.games - points if points is not None else None)
            )
            before = found[other]
            found[other] = None if mine is None or before is None else before + mine
        return found

    def latest(self, name: str) -> PoolEntry | None:
        """Return the version that a name means; for a bot's name, the one that was entered last."""
        named = self.standings.versions(name)
        return seat_of(named, name) or (named[-1] if named and "@" not in name else None)

    def bot(self, seat: PoolEntry) -> BotSummary:
        """Return all games of a version in numbers."""
        of, pool, id = self.store.meetings, self.pool.id, seat.id
        if self._whole:
            as_first, as_second = self._met_by[0].get(id, []), self._met_by[1].get(id, [])
        else:
            as_first, as_second = of(pool, first=(id,)), of(pool, second=(id,))
        none = BotScore()
        met = {one.second: (score_of(one), none) for one in as_first}
        for one in as_second:
            met[one.first] = met.get(one.first, (none, none))[0], score_of(one, 2)
        most = sorted(met.items(), key=lambda item: (-sum(one.games for one in item[1]), self.seats[item[0]].label))
        first, second = (sum((one[side] for one in met.values()), BotScore()) for side in (0, 1))
        place, rank = self.rated.get(id), self.ranks.get(id, 0)
        return BotSummary(seat, place, rank, first, second, dict(most), as_first + as_second)

    def last_games(self, seat: PoolEntry) -> list[GameRow]:
        """Return the LAST games of a version, newest first, even void ones."""
        return list(self.store.games(self.pool.id, bot=seat.id, limit=LAST))

    def last_fault(self, seat: PoolEntry) -> Fault:
        """Return the last match that a bot lost or voided by a fault, and what the fault left behind."""
        found = []
        for what in sorted(what for who, what in self.totals.faults if who == seat.label):
            rows = islice(self.store.games(self.pool.id, bot=seat.id, termination=what), SEARCHED)
            found += [row for row in rows if row.culprit == seat.label][:1]
        if not found:
            return None
        game = max(found, key=lambda row: row.id)
        try:
            return game, diagnostics(read_game(self.store, game.key).end)
        except (RecordError, ValueError, Trouble) as error:
            return game, [f"its record cannot be read: {error}"]


def state_of(seat: PoolEntry) -> str:
    """Return `entered`, `withdrawn` or `suspended: why`."""
    if seat.suspended and entered(seat):
        return f"suspended: {seat.suspended}"
    return "entered" if seat.active else "withdrawn"


def expectations(meetings: Sequence[PairScore], fit: RatingTable | None) -> list[float | None]:
    """Return the points that the ratings expect of the first in each meeting; None if one of the two is not rated."""
    if fit is None:
        return [None] * len(meetings)
    elo = {int(row.name): row.elo for row in fit.rows}
    return [
        met.games * expected_share(fit.model, elo[met.first] - elo[met.second] + fit.advantage, fit.tie)
        if met.first in elo and met.second in elo
        else None
        for met in meetings
    ]


@dataclass(slots=True)
class RecentGames:
    """The newest games of a version in numbers. Colours count only decided games.

    `allowed` is the time that its clock allowed, in ms, if known; `own` are its settings in a record.
    """

    games: int = 0
    black: BotScore = field(default_factory=BotScore)
    white: BotScore = field(default_factory=BotScore)
    ends: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    ms: int = 0
    plies: float = 0
    allowed: float | None = 0.0
    own: str = ""

    @property
    def ms_per_ply(self) -> float | None:
        """Return the mean time of a ply; None without plies."""
        return self.ms / self.plies if self.plies else None

    @property
    def clock_share(self) -> float | None:
        """Return the share of the allowed time that was used; None if that is not known."""
        return self.ms / self.allowed if self.allowed else None


def recent_games(store: "Store", pool: PoolRow, seat: PoolEntry, most: int) -> RecentGames:
    """Read the newest games of a version. Each side is taken to have moved half of the plies."""
    found, control = RecentGames(), TimeControl.parse(pool.control)
    won = {"B": [0, 0], "W": [0, 0]}  # of the colours: lost, won
    for row in store.newest_of(pool.id, seat.id, most):
        found.games += 1
        found.ends[row.termination] += 1
        found.faults[row.termination] += row.culprit == seat.id
        if found.games == 1:  # a version has one control through all its games
            control, found.own = _own_settings(store, row.key, seat.name, control)
        plies = max(0, row.plies - pool.openings) / 2
        time = allowed(control, plies)
        found.ms += row.ms
        found.plies += plies
        found.allowed = None if time is None or found.allowed is None else found.allowed + time
        if row.winner:
            wins = row.winner == row.seat
            won["B" if row.result.startswith("B") == wins else "W"][wins] += 1  # the result has the winner's colour
    found.black, found.white = (BotScore(wins=wins, losses=losses) for losses, wins in won.values())
    found.faults = +found.faults
    return found


def _own_settings(store: "Store", key: str, name: str, control: TimeControl) -> tuple[TimeControl, str]:
    """Return the time control of a bot in this match, by default `control`, and its settings in words."""
    try:
        bot = next((bot for bot in read_game(store, key).start.bots if bot.name == name), Party(name=name))
    except (ViewError, Trouble):
        return control, ""
    words = [f"time={bot.control}" if bot.control else "", bot.settings]
    words.append(f"sandbox={bot.sandbox}" if bot.sandbox else "")
    return TimeControl.parse(bot.control) if bot.control else control, " ".join(filter(None, words))


def allowed(control: TimeControl, plies: float) -> float | None:
    """Return the milliseconds that so many plies of one side may take; None without a clock."""
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


# -- a bot in detail --------------------------------------------------------------------------------------------------


BotDetails = tuple[PoolSummary, BotSummary, RecentGames, Fault]


def read_bot(pools: Sequence[PoolSummary], name: str, games: int) -> list[BotDetails]:
    """Return the version that a name means, in each pool that has it; at most `games` of the newest are read."""
    return [
        (pool, pool.bot(seat), recent_games(pool.store, pool.pool, seat, games), pool.last_fault(seat))
        for pool in pools
        if (seat := pool.latest(name))
    ]


def bot_json(pools: Sequence[PoolSummary], found: Sequence[BotDetails], name: str) -> dict[str, Any]:
    """Return a bot for JSON: its versions in these pools, and what read_bot `found`."""
    versions = [_version_json(pool, seat) for pool in pools for seat in pool.standings.versions(name)]
    return {"bot": name.partition("@")[0], "versions": versions, "pools": [_bot_json(*one) for one in found]}


def _version_json(pool: PoolSummary, seat: PoolEntry) -> dict[str, Any]:
    place = pool.rated.get(seat.id)
    return {
        "pool": pool.pool.name,
        "label": seat.label,
        "version": seat.version,
        "parent": parent_label(pool, seat) or None,
        "anchor": seat.anchor,
        "active": seat.active,
        "suspended": seat.suspended,
        **_rating(place),
        "games": place.score.games if place else 0,
    }


def _rating(place: LadderStanding | None) -> dict[str, float | None]:
    return {"elo": place.elo, "se": place.se or None} if place else {"elo": None, "se": None}


def parent_label(pool: PoolSummary, seat: PoolEntry) -> str:
    """Return the label of the version that this one was made from, or ""."""
    return pool.seats[seat.parent].label if seat.parent in pool.seats else ""


def _bot_json(pool: PoolSummary, bot: BotSummary, recent: RecentGames, fault: Fault) -> dict[str, Any]:
    place = bot.place
    return {
        "pool": pool.pool.name,
        "label": bot.seat.label,
        "rank": bot.rank or None,
        **_rating(place),
        "score": plain(bot.score),
        "seat1": plain(bot.first),
        "seat2": plain(bot.second),
        "black": {"wins": recent.black.wins, "losses": recent.black.losses},
        "white": {"wins": recent.white.wins, "losses": recent.white.losses},
        "opponents": [
            {"name": pool.seats[other].label, **plain(first + second)}
            for other, (first, second) in bot.opponents.items()
        ],
        "looked_at": recent.games,
        "terminations": dict(recent.ends),
        "faults": dict(recent.faults),
        "last_fault": {"key": fault[0].key, "text": fault_lines(fault)} if fault else None,
        "ms_per_ply": recent.ms_per_ply,
        "clock_share": recent.clock_share,
        "settings": recent.own,
    }


def fault_lines(fault: Fault) -> list[str]:
    """Return a fault as text, with what it left behind; [] for none."""
    if fault is None:
        return []
    row, left = fault
    detail = f": {row.detail}" if row.detail else ""
    return [f"last fault    {row.key}, {when(row.ended)}: {row.termination}{detail}", *(f"  {line}" for line in left)]


# -- the test between two bots ---------------------------------------------------------------------------------------


CURVE = 400  # points of a plot


@dataclass(frozen=True, slots=True)
class SequentialTrial:
    """A test whether `new` is better than `old`, after the pair that decided it, or after the last one.

    `penta` counts pairs by the points of `new` (0, ½, 1, 1½, 2), `observed` those that do not repeat others, `later`
    those after the decision. The ladder's own test has the `curve` of the LLR over pairs, from (0, 0) to the pair at
    which it `stopped`, if it did.
    """

    name: str
    new: PoolEntry
    old: PoolEntry
    hypotheses: Hypotheses
    penta: tuple[int, ...]
    verdict: Verdict
    observed: tuple[int, ...] = (0,) * 5
    curve: Sequence[tuple[int, float]] = ()
    stopped: int | None = None
    later: int = 0


def format_of(word: str) -> Format | None:
    """Return the format in a ladder's file; None for a store, a lobby, and a file that somebody is editing.

    Raises:
        ConfigError: The file is invalid.
    """
    from ggp.referee.ladder.config import read_format
    from ggp.referee.ladder.toml_file import NoToml, read_toml

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
    return read_format(word, top, bots, ())


def read_trial(store: "Store", pool: PoolRow, seats: Sequence[PoolEntry], form: Format) -> SequentialTrial | None:
    """Return the test of a pool, by its pairs in the order of the schedule; None if one of the two is missing."""
    new, old = (_named_now(seats, name) for name in form.bots)
    if new is None or old is None:
        return None
    test, points, later = PoolTest(form, new.id, old.id), [(0, 0.0)], 0
    over = False
    missing = [pair.number for pair in store.open_pairs(pool.id) if test.concerns(pair)]
    for pair in store.pair_results(pool.id, new.id, old.id):
        if missing and pair.number > missing[0]:
            break  # only complete pairs in the order of the schedule may decide
        if test.accepted or over:
            later += 1
            continue
        test.expect([pair.number])
        test.offer_result(pair)
        points.append((test.pairs, test.llr))
        over = 0 < form.pairs <= test.pairs
    tested, stopped = test.hypotheses, test.pairs if test.accepted or over else None
    counts = tuple(test.penta), test.verdict(over), tuple(test.penta_observed)
    return SequentialTrial("test", new, old, tested, *counts, thinned(points, CURVE), stopped, later)


def _named_now(seats: Sequence[PoolEntry], name: str) -> PoolEntry | None:
    """Return the version that has the bot's name now, or else the one that was entered last."""
    named = [seat for seat in seats if seat.name == name]
    return next((seat for seat in named if seat.label == name), named[-1] if named else None)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return about `most` points at equal distances, always with the last one."""
    step = -(-len(points) // most)
    return [*points[:-1:step], points[-1]]


# -- all matches between two bots, judged by pairs of games -----------------------------------------------------------


LISTED = 5  # games of a pair


@dataclass(frozen=True, slots=True)
class Duel:
    """The matches of two versions in a pool, as the first of them sees them.

    `penta` counts pairs by points (0, ½, 1, 1½, 2), `observed` those that do not repeat others, from which errors are
    computed. `rated` is the difference of their ratings under `model`, as in the standings.
    """

    pool: PoolRow
    one: PoolEntry
    other: PoolEntry
    first: BotScore  # where `one` had seat 1
    second: BotScore
    penta: tuple[int, ...]
    observed: tuple[int, ...]
    rated: Difference | None
    model: str
    tests: list[SequentialTrial]
    last: list[GameRow]

    @property
    def score(self) -> BotScore:
        """Return the score of `one` in both seats."""
        return self.first + self.second


def read_duel(
    store: "Store",
    pool: PoolRow,
    one: str,
    other: str,
    tested: Hypotheses | Format | None = None,
    rate: Rater = rate_pool,
) -> Duel | None:
    """Return the matches of two versions, None if one of them is not in the pool.

    `tested` is a test to compute, or the ladder's format, which may be a test.

    Raises:
        ViewError: Both are the same version.
        RatedLater: `rate` has no ratings yet.
    """
    seats = store.seats(pool.id)
    a, b = seat_of(seats, one), seat_of(seats, other)
    if a is None or b is None:
        return None
    if a.id == b.id:
        raise ViewError(f"{one} and {other} are the same version: name two")
    penta, lines = [0] * 5, ObservedPairs()
    first = sum(map(score_of, store.meetings(pool.id, [a.id], [b.id])), BotScore())
    second = sum((score_of(met, 2) for met in store.meetings(pool.id, [b.id], [a.id])), BotScore())
    for result in store.pair_results(pool.id, a.id, b.id):
        if result.points is not None:
            played = played_pair(result, a.id, result.points)
            penta[played.points] += 1
            lines.add(played)
    observed, games = lines.penta, lines.games
    tests = []
    if isinstance(tested, Hypotheses):
        # By pairs; the model bayes knows only games.
        counts = games if tested.model == "bayes" else observed
        name, told = f"[{tested.elo0:g}, {tested.elo1:g}]", (tuple(penta), judge(counts, tested), tuple(observed))
        tests = [SequentialTrial(name, a, b, tested, *told)] if any(penta) else []
    elif tested is not None and tested.kind in TESTED:
        trial = read_trial(store, pool, seats, tested)
        tests = [trial] if trial and {trial.new.id, trial.old.id} == {a.id, b.id} and any(trial.penta) else []
    fit = store.fit(pool.id)
    model = fit.model if fit else "davidson"
    last = list(islice(store.games(pool.id, a.id, against=b.id), LISTED))
    ratings = rate(store, pool.id, seats, model, 0) if pool.games else None
    names = ratings.counts.names if ratings else ()
    both = str(a.id), str(b.id)
    known = ratings is not None and all(name in names for name in both) and ratings.comparable(*both)
    rated = ratings.difference(*both) if ratings and known else None
    return Duel(pool, a, b, first, second, tuple(penta), tuple(observed), rated, model, tests, last)


def pair_json(duel: Duel) -> dict[str, Any]:
    """Return everything as A sees it, except for the ladder's own test, which its `new` version sees."""
    return {
        "a": duel.one.label,
        "b": duel.other.label,
        "games": duel.score.games,
        "points": duel.score.points,
        "score": plain(duel.score),
        "seat1": plain(duel.first),
        "penta": list(duel.penta),
        **plain(effect(duel.observed)),
        "repeated_pairs": sum(duel.penta) - sum(duel.observed),
        "tests": {
            test.name: {
                "new": test.new.label,
                "llr": test.verdict.llr,
                "lower": test.verdict.lower,
                "upper": test.verdict.upper,
                "state": test.verdict.state,
                "later": test.later,
                **plain(test.hypotheses),
            }
            for test in duel.tests
        },
        "model": duel.model,
        "rating_difference": duel.rated and {"elo": duel.rated.elo, "se": duel.rated.se, "los": duel.rated.los},
        "last": [plain(row) for row in duel.last],
    }


class Meeting(NamedTuple):
    """A pair of games as the first of two bots sees it. `points` are None while a game is missing or void."""

    number: int
    opening: tuple[str, ...]
    games: list[GameRow]
    points: float | None


def read_meetings(store: "Store", duel: Duel, before: int | None, most: int) -> tuple[list[Meeting], int]:
    """Return about `most` pairs, newest first, and the `before` of the next page, which is 0 after the last page."""
    rows = list(store.records(duel.pool.id, duel.one.id, against=duel.other.id, limit=2 * most, before=before))
    pairs: dict[int, list[GameRow]] = {}
    openings: dict[int, tuple[str, ...]] = {}
    for row, lines in rows:
        pairs.setdefault(row.pair, []).insert(0, row)
        openings[row.pair] = openings.get(row.pair) or _opening(lines)
    found = [Meeting(pair, openings[pair], games, _points(games, duel.one)) for pair, games in pairs.items()]
    return found, rows[-1][0].id if len(rows) == 2 * most else 0


def _opening(lines: bytes) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(lines.partition(b"\n")[0], type=MatchStarted).opening
    except msgspec.DecodeError:
        return ()


def _points(games: Sequence[GameRow], bot: PoolEntry) -> float | None:
    counted = {row.game: row for row in games if row.result}
    if len(counted) < GAMES:
        return None
    return sum(
        0.5 if not row.winner else (row.first, row.second)[row.winner - 1] == bot.label for row in counted.values()
    )
