"""Stores finished matches, unplayable pairs and challenges, and updates the counts, within the caller's transaction.

A match is new if its pair is open, its game is not finished and its key is not stored. A match that comes twice changes
nothing. One transaction writes at a time (see database), so a look before an insert is safe.
"""

import contextlib
import gc
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, case, func, or_, select

from referee.play.outcome import REPLAYS, WINDOW, void_reason
from referee.play.series import GameResult, seats
from referee.store.audit import (
    ALL_DONE,
    COLUMNS,
    StoredEnding,
    column,
    meetings_of,
    ordered,
    played_games,
    points_of,
    score_columns,
)
from referee.store.database import add_counts, clean, in_parts
from referee.store.entries import now, readmitted, suspend
from referee.store.model import (
    ChallengeRow,
    FinishedGame,
    FormatKind,
    Pair,
    Pairing,
    PairResult,
    PairScore,
    PoolPast,
    StoreError,
    UnplayablePair,
)
from referee.store.schema import (
    ENGINE,
    ISSUED,
    KEY,
    NAME,
    NO_CULPRIT,
    PLAYED,
    TEXT,
    UNPLAYABLE,
    WITHDRAWN,
    WORD,
    challenges,
    endings,
    games,
    pairs,
    pools,
    records,
    scores,
    tallies,
    versions,
)

_STANDING = select(
    pairs.c.id, pairs.c.pool, pairs.c.number, pairs.c.batch, pairs.c.first, pairs.c.second, pairs.c.state, pairs.c.done
)
_ENDED = select(games.c.pair, games.c.game, games.c.result, games.c.winner, games.c.termination).where(games.c.finished)
_SETTLE = (
    pairs.update()
    .where(pairs.c.id == bindparam("pair"))
    .values({name: bindparam(f"new_{name}") for name in ("state", "done", "points", "culprit", "reason")})
)


def add(
    connection: Connection, finished: Sequence[FinishedGame], unplayable: Sequence[UnplayablePair]
) -> list[PairResult]:
    """The pairs that this finished, by pool and number."""
    batch = _Batch(connection, finished, unplayable)
    for one in finished:
        batch.keep(one)
    for pair in unplayable:
        batch.give_up(pair)
    return batch.store()


class _Batch:
    """What one call adds: gathered first, then stored in a few statements."""

    def __init__(
        self, connection: Connection, finished: Sequence[FinishedGame], unplayable: Sequence[UnplayablePair]
    ) -> None:
        self._connection = connection
        ids = {one.pair.id for one in finished} | {one.pair.id for one in unplayable}
        self._pairs = {row.id: row for row in in_parts(connection, _STANDING, pairs.c.id, ids)}
        if unknown := ids - self._pairs.keys():
            raise StoreError(
                f"pair {min(unknown)} is not in this store: it was played for another one", code="no-such-pair"
            )
        keys = {one.result.key for one in finished}
        self._known = {row.key for row in in_parts(connection, select(games.c.key), games.c.key, keys)}
        self._last: int = connection.execute(select(func.coalesce(func.max(games.c.id), 0))).scalar_one()
        self._done: dict[int, int] = {id: row.done for id, row in self._pairs.items()}
        self._games: list[dict[str, object]] = []
        self._records: list[dict[str, object]] = []
        self._ended: dict[int, list[StoredEnding]] = defaultdict(list)
        self._given_up: dict[int, UnplayablePair] = {}
        self._voided: dict[tuple[int, int], tuple[int, str]] = {}  # by pool and culprit: batch, and how
        self._tallies: Counter[tuple[int, int, int, str]] = Counter()
        self._endings: Counter[tuple[int, str, int, str]] = Counter()

    def keep(self, one: FinishedGame) -> None:
        pair, played = self._pairs[one.pair.id], one.result
        bit = 1 << played.number
        if pair.state != ISSUED or self._done[pair.id] & bit or played.key in self._known:
            return
        if len(played.key) > KEY:
            raise StoreError(
                f"the key {played.key[:60]}… is longer than {KEY} characters: shorten the ladder's name",
                code="key-too-long",
            )
        self._known.add(played.key)
        order = seats(played.number)
        first, second = ordered(pair.first, pair.second, played.number)
        winner = order.index(played.winner) + 1 if played.winner >= 0 else 0
        culprit = self._culprit(pair, played)
        termination = clean(played.termination, WORD)
        result = clean(played.result, WORD)
        self._last += 1
        self._games.append(
            {
                "id": self._last,
                "key": played.key,
                "pair": pair.id,
                "pool": pair.pool,
                "game": played.number,
                "attempt": played.attempt,
                "finished": not played.replayed,
                "first": first,
                "second": second,
                "result": result,
                "winner": winner,
                "termination": termination,
                "culprit": culprit,
                "detail": clean(played.detail, TEXT),
                "plies": played.plies,
                "ms1": played.used[order[0]],
                "ms2": played.used[order[1]],
                "suspect": played.suspect,
                "ended": clean(played.ended, WORD),
            }
        )
        self._records.append({"game": self._last, "data": played.record})
        self._endings[pair.pool, termination, culprit, "games" if result else "void"] += 1
        if played.replayed and culprit not in (NO_CULPRIT, ENGINE):
            self._voided[pair.pool, culprit] = pair.batch, f"{played.termination}: {played.detail}"
        if not played.replayed:
            self._done[pair.id] |= bit
            self._ended[pair.id].append(StoredEnding(played.number, result, winner, termination))
            self._tallies[pair.pool, first, second, column(result, winner, termination)] += 1

    def give_up(self, one: UnplayablePair) -> None:
        if self._pairs[one.pair.id].state == ISSUED and self._done[one.pair.id] != ALL_DONE:
            self._given_up[one.pair.id] = one

    def store(self) -> list[PairResult]:
        connection = self._connection
        over = {id for id in self._ended if self._done[id] == ALL_DONE} | self._given_up.keys()
        earlier = self._earlier({id for id in over if self._pairs[id].done})
        stand, results = [], []
        for id in sorted(self._ended.keys() | self._given_up.keys()):
            all_ended = [*earlier.get(id, ()), *self._ended.get(id, ())]
            stand.append(self._standing(id, points_of(all_ended)))
            if id in over:
                results.append(_result(self._pairs[id], all_ended))
        if self._games:
            connection.execute(games.insert(), self._games)
            connection.execute(records.insert(), self._records)
        add_counts(connection, tallies, self._tallies)
        add_counts(connection, scores, _score_counts(self._tallies))
        add_counts(connection, endings, self._endings)
        if stand:
            connection.execute(_SETTLE, stand)
        self._count_pairs(over)
        for one in self._given_up.values():
            if one.who not in (None, NO_CULPRIT):
                suspend(connection, one.who, one.reason, self._pairs[one.pair.id].pool, one.pair.batch)
        for (pool, version), (batch, last) in self._voided.items():
            if (number := _voids(connection, pool, version)) > REPLAYS:
                suspend(connection, version, void_reason(number, last), pool, batch)
        return sorted(results, key=lambda one: (one.pool, one.number))

    def _earlier(self, ids: set[int]) -> dict[int, list[StoredEnding]]:
        """The finished games of these pairs that are stored already."""
        found: dict[int, list[StoredEnding]] = defaultdict(list)
        for row in in_parts(self._connection, _ENDED, games.c.pair, ids):
            found[row.pair].append(StoredEnding(row.game, row.result, row.winner, row.termination))
        return found

    def _standing(self, id: int, points: float | None) -> dict[str, object]:
        given_up, played = self._given_up.get(id), self._done[id] == ALL_DONE
        return {
            "pair": id,
            "new_state": PLAYED if played else UNPLAYABLE if given_up else ISSUED,
            "new_done": self._done[id],
            "new_points": points,
            "new_culprit": None if given_up is None else ENGINE if given_up.who is None else given_up.who,
            "new_reason": clean(given_up.reason, TEXT) if given_up else "",
        }

    def _count_pairs(self, over: set[int]) -> None:
        played = Counter(self._pairs[id].pool for id in over if self._done[id] == ALL_DONE)
        for pool, number in sorted(played.items()):
            self._connection.execute(pools.update().where(pools.c.id == pool).values(played=pools.c.played + number))

    def _culprit(self, pair: Row[Any], played: GameResult) -> int:
        """The version to blame. Who loses by a fault is at fault; for a void match there is only the name."""
        if played.culprit in ("", "engine"):
            return ENGINE if played.culprit else NO_CULPRIT
        if played.winner >= 0:
            return int(pair.second if played.winner == 0 else pair.first)
        query = select(versions.c.id, versions.c.name, versions.c.label)
        named = [
            row.id
            for row in in_parts(self._connection, query, versions.c.id, {pair.first, pair.second})
            if played.culprit in (row.name, row.label)
        ]
        if len(named) != 1:
            raise StoreError(
                f"{played.key}: its culprit {played.culprit!r} is not one of the two that played", code="bad-culprit"
            )
        return int(named[0])


def _voids(connection: Connection, pool: int, version: int) -> int:
    """How many of the last games of a version in a pool are void by its fault; of those since it was readmitted."""
    columns = (games.c.finished, games.c.culprit, games.c.ended)
    played = select(*columns, games.c.id).where(games.c.pool == pool)
    both = [
        played.where(side == version).order_by(games.c.id.desc()).limit(WINDOW)
        for side in (games.c.first, games.c.second)
    ]
    rows = [row for query in both for row in connection.execute(query)]
    since = readmitted(connection, version)
    last = sorted(rows, key=lambda row: row.id, reverse=True)[:WINDOW]
    return sum(not row.finished and row.culprit == version and row.ended > since for row in last)


def _result(pair: Row[Any], ended: Sequence[StoredEnding]) -> PairResult:
    met = meetings_of(pair.first, pair.second, ended)
    return PairResult(pair.number, pair.batch, pair.first, pair.second, points_of(ended), met, pair.pool)


def _score_counts(counted: Mapping[tuple[int, int, int, str], int]) -> Counter[tuple[int, int, str]]:
    """What counts of `tallies` add to `scores`: by pool, version and column."""
    sums: Counter[tuple[int, int, str]] = Counter()
    for (pool, first, second, name), number in counted.items():
        for version, columns in zip((first, second), score_columns(name), strict=True):
            for one in columns:
                sums[pool, version, one] += number
    return sums


# -- Pairs: issued, open, finished, and the counts of meetings.


_PAGE = 2000  # pairs that are read at a time
_COUNTS = tuple(tallies.c[name] for name in COLUMNS)
_PAIR_ENDED = (games.c.game, games.c.result, games.c.winner, games.c.termination)


def issue(connection: Connection, pool: int, batch: int, pairings: Sequence[Pairing]) -> list[Pair]:
    """The next batch of a pool, numbered. Raises StoreError for one that was issued already or comes too early."""
    batches, issued = extent(connection, pool)
    if batch != batches:
        raise StoreError(
            f"batch {batch} was to be issued and {batches} is the next: another process issues, too",
            code="batch-conflict",
        )
    last: int = connection.execute(select(func.coalesce(func.max(pairs.c.id), 0))).scalar_one()
    made = [
        Pair(last + 1 + index, pool, issued + index, batch, one.first, one.second) for index, one in enumerate(pairings)
    ]
    if not made:
        return []
    rows: list[dict[str, object]] = [
        {"id": one.id, "pool": pool, "number": one.number, "batch": batch, "first": one.first, "second": one.second}
        | {"state": ISSUED, "done": 0, "points": None, "culprit": None, "reason": ""}
        for one in made
    ]
    connection.execute(pairs.insert(), rows)
    add_counts(connection, tallies, Counter((pool, one.first, one.second, "issued") for one in made))
    return made


def open_pairs(connection: Connection, pool: int) -> list[Pair]:
    """Issued and not finished, by number."""
    these = and_(pairs.c.pool == pool, pairs.c.state == ISSUED)
    ids = select(pairs.c.id).where(these).scalar_subquery()
    void = select(games.c.pair, games.c.game, func.count()).where(games.c.pair.in_(ids), games.c.finished.is_(False))
    tried = {(pair, game): times for pair, game, times in connection.execute(void.group_by(games.c.pair, games.c.game))}
    return [
        replace(_pair(row), tried=(tried.get((row.id, 0), 0), tried.get((row.id, 1), 0)))
        for row in connection.execute(select(pairs).where(these).order_by(pairs.c.number))
    ]


def past(connection: Connection, pool: int, kind: FormatKind) -> PoolPast:
    """What a schedule of this kind begins from."""
    batches, issued = extent(connection, pool)
    these = and_(pairs.c.pool == pool, pairs.c.batch >= batches - 2)
    recent = [(_pair(row), result) for row, result in _with_results(connection, these)]
    with _many_values():
        settled, met = _settled(connection, pool, _recent_counts(connection, these))
    return PoolPast(
        batches=batches,
        issued=issued,
        settled=tuple(settled),
        recent=tuple(recent),
        met=met,
        results=tuple(_all_results(connection, pool)) if kind is FormatKind.TEST else (),
        withdrawn={}
        if kind in (FormatKind.LADDER, FormatKind.SWISS)
        else _withdrawn(connection, pool),  # a look at every pair
    )


def meetings(connection: Connection, pool: int) -> list[PairScore]:
    """All finished games, per ordered pair of versions."""
    query = select(tallies.c.first, tallies.c.second, *_COUNTS)
    met = query.where(tallies.c.pool == pool, or_(*(count > 0 for count in _COUNTS)))
    with _many_values():
        return [PairScore(*row) for row in connection.execute(met.order_by(tallies.c.first, tallies.c.second)).all()]


def pair_results(connection: Connection, pool: int, one: int, other: int, after: int) -> list[PairResult]:
    """A page of the finished pairs of two versions with numbers above `after`; the points of `one`."""
    both = or_(
        and_(pairs.c.pool == pool, pairs.c.first == one, pairs.c.second == other, pairs.c.number > after),
        and_(pairs.c.pool == pool, pairs.c.first == other, pairs.c.second == one, pairs.c.number > after),
    )
    found = _with_results(connection, and_(both, pairs.c.state != ISSUED), _PAGE)
    return [_as_first(result, one) for _, result in found if result is not None]


def extent(connection: Connection, pool: int) -> tuple[int, int]:
    """How many batches and how many pairs were issued. Raises StoreError for a pool that is not there."""
    if connection.execute(select(pools.c.id).where(pools.c.id == pool)).first() is None:
        raise StoreError(f"there is no pool {pool} in this store: enrol a ladder first", code="no-such-pool")
    batch, number = (
        connection.execute(select(func.max(column)).where(pairs.c.pool == pool)).scalar_one()
        for column in (pairs.c.batch, pairs.c.number)
    )
    return (0, 0) if number is None else (batch + 1, number + 1)


def _all_results(connection: Connection, pool: int) -> Iterator[PairResult]:
    after = -1
    while True:
        these = and_(pairs.c.pool == pool, pairs.c.number > after, pairs.c.state != ISSUED)
        page = _with_results(connection, these, _PAGE)
        yield from (result for _, result in page if result is not None)
        if len(page) < _PAGE:
            return
        after = page[-1][0].number


def _withdrawn(connection: Connection, pool: int) -> dict[tuple[int, int], int]:
    """How many pairs of any two were, (lower id, higher id)."""
    columns = (pairs.c.first, pairs.c.second, func.count())
    query = select(*columns).where(pairs.c.pool == pool, pairs.c.state == WITHDRAWN)
    found: dict[tuple[int, int], int] = defaultdict(int)
    for first, second, number in connection.execute(query.group_by(pairs.c.first, pairs.c.second)):
        found[min(first, second), max(first, second)] += number
    return dict(found)


def _with_results(
    connection: Connection, these: ColumnElement[bool], most: int | None = None
) -> list[tuple[Row[Any], PairResult | None]]:
    """These pairs by number, each with its result if it is not open any more."""
    chosen = select(pairs).where(these).order_by(pairs.c.number).limit(most)
    rows = connection.execute(chosen).all()
    ended: dict[int, list[StoredEnding]] = defaultdict(list)
    ids = chosen.with_only_columns(pairs.c.id).scalar_subquery()
    query = select(games.c.pair, *_PAIR_ENDED).where(games.c.pair.in_(ids), games.c.finished)
    for pair, *ending in connection.execute(query):
        ended[pair].append(StoredEnding(*ending))
    return [(row, None if row.state == ISSUED else _pair_result(row, ended.get(row.id, []))) for row in rows]


def _pair_result(row: Row[Any], ended: list[StoredEnding]) -> PairResult:
    met = meetings_of(row.first, row.second, ended)
    return PairResult(row.number, row.batch, row.first, row.second, row.points, met, row.pool)


def _as_first(result: PairResult, one: int) -> PairResult:
    if result.first == one:
        return result
    points = None if result.points is None else 2 - result.points
    return PairResult(result.number, result.batch, result.second, result.first, points, result.meetings, result.pool)


def _settled(
    connection: Connection, pool: int, less: dict[tuple[int, int], list[int]]
) -> tuple[list[PairScore], dict[tuple[int, int], int]]:
    """All meetings but those, and pairs issued per (lower id, higher id)."""
    settled: list[PairScore] = []
    met: dict[tuple[int, int], int] = {}
    query = select(tallies.c.first, tallies.c.second, tallies.c.issued, *_COUNTS).where(tallies.c.pool == pool)
    for row in connection.execute(query.order_by(tallies.c.first, tallies.c.second)).all():
        first, second, issued = row[:3]
        counts: Sequence[int] = row[3:]
        if (first, second) in less:
            counts = [have - one for have, one in zip(counts, less.pop((first, second)), strict=True)]
            if min(counts) < 0:
                less[first, second] = list(counts)  # to be told below
                break
        if any(counts):
            settled.append(PairScore(first, second, *counts))
        if issued:
            both = (first, second) if first < second else (second, first)
            met[both] = met.get(both, 0) + issued
    if less:
        raise StoreError(
            "the store's counts are not those of its games: ggp ladder check --repair works them out",
            code="counts-differ",
        )
    return settled, met


def _recent_counts(connection: Connection, these: ColumnElement[bool]) -> dict[tuple[int, int], list[int]]:
    """What the finished games of these pairs add to meetings, in the order of COLUMNS."""
    counts: dict[tuple[int, int], list[int]] = {}
    rows = select(pairs.c.first, pairs.c.second, *_PAIR_ENDED).join(games, games.c.pair == pairs.c.id)
    for first, second, *ending in connection.execute(rows.where(these, games.c.finished)):
        for met in meetings_of(first, second, [StoredEnding(*ending)]):
            sofar = counts.setdefault((met.first, met.second), [0] * len(COLUMNS))
            for index, name in enumerate(COLUMNS):
                sofar[index] += getattr(met, name)
    return counts


@contextlib.contextmanager
def _many_values() -> Iterator[None]:
    """No search for cycles in here: hundreds of thousands of values hold none, and each search looks at all of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _pair(row: Row[Any]) -> Pair:
    return Pair(row.id, row.pool, row.number, row.batch, row.first, row.second, played_games(row.done))


# -- Challenges: unrated series that users of a lobby ask for.


def challenge(
    connection: Connection, pool: int, pairing: Pairing, number: int, owner: str, until: str
) -> tuple[int, list[Pair]]:
    """So many pairs of these two; the challenge's id, and its pairs. Raises StoreError for a pool that is rated."""
    if connection.execute(select(pools.c.rated).where(pools.c.id == pool)).scalar_one_or_none() is not False:
        raise StoreError(f"pool {pool} is none for unrated games", code="not-unrated")
    batch, _ = extent(connection, pool)
    made = issue(connection, pool, batch, [pairing] * number)
    last: int = connection.execute(select(func.coalesce(func.max(challenges.c.id), 0))).scalar_one()
    connection.execute(
        challenges.insert().values(
            id=last + 1,
            pool=pool,
            batch=batch,
            owner=clean(owner, NAME),
            asked=now(),
            until=clean(until, WORD),
            reason="",
        )
    )
    return last + 1, made


def withdraw(connection: Connection, id: int, reason: str, keep: Collection[int] = ()) -> bool:
    """Play no more of it, but for the pairs `keep`, which are being played; False if nothing was left of it.

    The reason is kept if it is the first one and a pair was withdrawn.
    """
    row = connection.execute(select(challenges).where(challenges.c.id == id)).one_or_none()
    if row is None:
        raise StoreError(f"there is no challenge {id}", code="no-such-challenge")
    theirs = and_(pairs.c.pool == row.pool, pairs.c.batch == row.batch, pairs.c.state == ISSUED)
    left = connection.execute(
        pairs.update().where(theirs, pairs.c.id.not_in(list(keep))).values(state=WITHDRAWN)
    ).rowcount
    lost = and_(pairs.c.pool == row.pool, pairs.c.batch == row.batch, pairs.c.state.not_in((PLAYED, ISSUED)))
    if not row.reason and connection.execute(select(pairs.c.id).where(lost).limit(1)).first():
        these = challenges.c.id == id
        connection.execute(challenges.update().where(these).values(reason=clean(reason, TEXT) or "withdrawn"))
    return bool(left)


def list_challenges(
    connection: Connection, pool: int | None = None, only_open: bool = False, most: int = 0
) -> list[ChallengeRow]:
    """Those of a pool, or all; those of which something is to be played; the newest so many (0: all). By id."""
    where: list[ColumnElement[bool]] = [] if pool is None else [challenges.c.pool == pool]
    if only_open:
        mine = and_(pairs.c.pool == challenges.c.pool, pairs.c.batch == challenges.c.batch, pairs.c.state == ISSUED)
        where.append(select(pairs.c.id).where(mine).exists())
    query = select(challenges).where(*where).order_by(challenges.c.id.desc()).limit(most or None)
    return [_stands(connection, row) for row in connection.execute(query).all()][::-1]


def find_challenge(connection: Connection, id: int) -> ChallengeRow | None:
    """How it stands; None if there is no such challenge."""
    row = connection.execute(select(challenges).where(challenges.c.id == id)).one_or_none()
    return None if row is None else _stands(connection, row)


def _stands(connection: Connection, row: Row[Any]) -> ChallengeRow:
    theirs = and_(pairs.c.pool == row.pool, pairs.c.batch == row.batch)
    of_pairs = select(
        func.min(pairs.c.first).label("first"),
        func.min(pairs.c.second).label("second"),
        func.count().label("pairs"),
        _count(pairs.c.state == PLAYED, "played"),
        _count(pairs.c.state == ISSUED, "open"),
    ).where(theirs)
    counts, first_won = games.c.result != "", games.c.winner == games.c.game + 1
    of_games = (
        select(
            _count(and_(counts, first_won), "wins"),
            _count(and_(counts, games.c.winner == 0), "draws"),
            _count(and_(counts, games.c.winner != 0, ~first_won), "losses"),
            _count(~counts, "void"),
        )
        .join(pairs, pairs.c.id == games.c.pair)
        .where(theirs, games.c.finished)
    )
    both = {**connection.execute(of_pairs).one()._mapping, **connection.execute(of_games).one()._mapping}
    return ChallengeRow(**{**row._mapping, **both})


def _count(which: ColumnElement[bool], name: str) -> ColumnElement[int]:
    return func.count(case((which, 1))).label(name)
