"""Stores finished matches, unplayable pairs and challenges, and reads pairs and their results.

Every function runs in its caller's transaction. One transaction writes at a time (see database), so a look before an
insert is safe. A match that comes twice is stored once: it is new only if its pair is open, its game is not finished
and its key is not stored.
"""

import contextlib
import gc
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)

from ggp.referee.ladder.store.counts import (
    COLUMNS,
    count_games,
    count_pairs,
    counts_of,
    meetings_of,
    ordered,
    played_games,
    settle,
)
from ggp.referee.ladder.store.database import execute_many, in_parts, parts, truncate
from ggp.referee.ladder.store.entries import now, readmitted, suspend
from ggp.referee.ladder.store.model import (
    GAMES,
    TESTED,
    ChallengeRow,
    FinishedGame,
    FormatKind,
    LostReason,
    Pair,
    Pairing,
    PairResult,
    PairScore,
    PoolPast,
    StoreError,
    SwissRounds,
    UnplayablePair,
)
from ggp.referee.ladder.store.schema import (
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
    games,
    pairs,
    pools,
    records,
    tallies,
    versions,
)
from ggp.referee.match.outcome import REPLAYS, WINDOW, void_reason
from ggp.referee.match.series import GameResult, seats

_ADD_GAMES, _ADD_RECORDS = games.insert(), records.insert()


def last_id(connection: Connection, table: Table = games) -> int:
    """Return the highest id of a table, 0 if it is empty.

    Ids follow each other and games are never removed, so that of `games` is their number.
    """
    return int(connection.execute(_LAST[table]).scalar_one())


_LAST = {table: select(func.coalesce(func.max(table.c.id), 0)) for table in (games, pairs, challenges)}


def add(
    connection: Connection, finished: Sequence[FinishedGame], unplayable: Sequence[UnplayablePair]
) -> list[PairResult]:
    """Store what is new, and suspend who is to blame for unplayable pairs or too many void matches.

    Returns:
        The pairs that this completed, by pool and number.

    Raises:
        StoreError: A pair is not of this store, a key is too long, or a culprit is neither of the two bots.
    """
    ids = {one.pair.id for one in finished} | {one.pair.id for one in unplayable}
    there = {row.id: row for row in in_parts(connection, select(pairs), pairs.c.id, ids)}
    if unknown := ids - there.keys():
        raise StoreError(
            f"pair {min(unknown)} is not in this store: it was played for another one", code="no-such-pair"
        )
    missing = {
        (row.id, game)
        for row in there.values()
        if row.state == ISSUED
        for game in range(GAMES)
        if game not in played_games(row.done)
    }
    last = last_id(connection)
    new = _new_games(connection, finished, there, missing, last)
    if new:
        execute_many(connection, _ADD_GAMES, [row for row, _ in new])
        execute_many(connection, _ADD_RECORDS, [{"game": row["id"], "data": one.result.record} for row, one in new])
        count_games(connection, last)
    open_still = {pair for pair, _ in missing}
    given_up = {one.pair.id: one for one in unplayable if one.pair.id in open_still}
    for id, one in given_up.items():
        values = {"state": UNPLAYABLE, "culprit": ENGINE if one.who is None else one.who}
        reason = truncate(one.reason, TEXT)
        connection.execute(pairs.update().where(pairs.c.id == id).values(reason=reason, **values))
        if one.who not in (None, NO_CULPRIT):
            suspend(connection, one.who, one.reason, there[id].pool, one.pair.batch)
    touched = {row["pair"] for row, _ in new if row["finished"]}
    for pool, number in sorted(Counter(settle(connection, last)).items()):
        connection.execute(pools.update().where(pools.c.id == pool).values(played=pools.c.played + number))
    _suspend_for_voids(connection, [(row, there[one.pair.id].batch) for row, one in new])
    over = (touched - open_still) | given_up.keys()
    found = (one for part in parts(over) for one in _with_results(connection, _THESE, ids=part))
    return sorted((result for _, result in found if result), key=lambda one: (one.pool, one.number))


def _new_games(
    connection: Connection,
    finished: Sequence[FinishedGame],
    there: Mapping[int, Row[Any]],
    missing: set[tuple[int, int]],
    last: int,
) -> list[tuple[dict[str, Any], FinishedGame]]:
    """Return the rows of the matches that are new, with ids from `last` + 1 on.

    The finished ones are removed from `missing`, which holds (pair, game).
    """
    keys = {one.result.key for one in finished}
    known = {row.key for row in in_parts(connection, select(games.c.key), games.c.key, keys)}
    new: list[tuple[dict[str, Any], FinishedGame]] = []
    for one in finished:
        place = one.pair.id, one.result.number
        if place not in missing or one.result.key in known:
            continue
        if len(one.result.key) > KEY:
            raise StoreError(
                f"the key {one.result.key[:60]}… is longer than {KEY} characters: shorten the ladder's name",
                code="key-too-long",
            )
        known.add(one.result.key)
        if not one.result.replayed:
            missing.discard(place)
        new.append((_game(connection, there[one.pair.id], one.result, last + 1 + len(new)), one))
    return new


def _game(connection: Connection, pair: Row[Any], played: GameResult, id: int) -> dict[str, Any]:
    order = seats(played.number)
    first, second = ordered(pair.first, pair.second, played.number)
    return {
        "id": id,
        "key": played.key,
        "pair": pair.id,
        "pool": pair.pool,
        "game": played.number,
        "attempt": played.attempt,
        "finished": not played.replayed,
        "first": first,
        "second": second,
        "result": truncate(played.result, WORD),
        "winner": order.index(played.winner) + 1 if played.winner >= 0 else 0,
        "termination": truncate(played.termination, WORD),
        "culprit": _culprit(connection, pair, played),
        "detail": truncate(played.detail, TEXT),
        "plies": played.plies,
        "ms1": played.used[order[0]],
        "ms2": played.used[order[1]],
        "suspect": played.suspect,
        "opening": played.opening,
        "moves": played.moves if played.moves >= 0 else id,  # of no other game
        "ended": truncate(played.ended, WORD),
    }


def _culprit(connection: Connection, pair: Row[Any], played: GameResult) -> int:
    """Return the version at fault: the loser, or the version of that name if the match is void."""
    if played.culprit in ("", "engine"):
        return ENGINE if played.culprit else NO_CULPRIT
    if played.winner >= 0:
        return int(pair.second if played.winner == 0 else pair.first)
    both = versions.c.id.in_((pair.first, pair.second))
    named = or_(versions.c.name == played.culprit, versions.c.label == played.culprit)
    found = connection.execute(select(versions.c.id).where(both, named)).scalars().all()
    if len(found) != 1:
        raise StoreError(
            f"{played.key}: its culprit {played.culprit!r} is not one of the two that played", code="bad-culprit"
        )
    return int(found[0])


def _suspend_for_voids(connection: Connection, new: Sequence[tuple[dict[str, Any], int]]) -> None:
    """Suspend the versions that made too many matches void. `new`: rows of matches, each with its batch."""
    void = [(row, batch) for row, batch in new if not row["finished"] and row["culprit"] > NO_CULPRIT]
    last = {(row["pool"], row["culprit"]): (row, batch) for row, batch in void}
    for (pool, version), (row, batch) in last.items():
        if (number := _voids(connection, pool, version)) > REPLAYS:
            reason = void_reason(number, f"{row['termination']}: {row['detail']}")
            suspend(connection, version, reason, pool, batch)


def _voids(connection: Connection, pool: int, version: int) -> int:
    """Count the void games among a version's last ones in a pool that are its fault, since it was readmitted."""
    played = select(games.c.id, games.c.finished, games.c.culprit, games.c.ended).where(games.c.pool == pool)
    rows = [
        row
        for side in (games.c.first, games.c.second)
        for row in connection.execute(played.where(side == version).order_by(games.c.id.desc()).limit(WINDOW))
    ]
    since = readmitted(connection, version)
    last = sorted(rows, key=lambda row: row.id, reverse=True)[:WINDOW]
    return sum(not row.finished and row.culprit == version and row.ended > since for row in last)


# -- Pairs that are issued, open or finished.


_PAGE = 2000  # pairs that are read at a time
_COUNTS = tuple(tallies.c[name] for name in COLUMNS)
_MET = (tallies.c.first, tallies.c.second, *_COUNTS)
_ENDED = (
    select(games.c.pair, games.c.game, games.c.result, games.c.winner, games.c.termination)
    .add_columns(games.c.opening, games.c.moves)
    .where(games.c.finished, games.c.pair.in_(bindparam("ids", expanding=True)))
    .order_by(games.c.pair, games.c.game)
)
_THESE = select(pairs).where(pairs.c.id.in_(bindparam("ids", expanding=True)))
_ONE, _TWO = versions.alias("one"), versions.alias("two")


def issue(
    connection: Connection, pool: int, batch: int | None, pairings: Sequence[Pairing], front: str = ""
) -> list[Pair]:
    """Issue the next batch of a pool, and return its numbered pairs.

    Args:
        connection: An open transaction.
        pool: Its id.
        batch: The number of the batch; None means the next.
        pairings: Who is to meet.
        front: The front of a lobby that alone may play the pairs.

    Raises:
        StoreError: The batch was issued already, or comes too early.
    """
    batches, issued = extent(connection, pool)
    batch = batches if batch is None else batch
    if batch != batches:
        raise StoreError(
            f"batch {batch} cannot be issued, the next is {batches}: another process issues pairs too",
            code="batch-conflict",
        )
    last = last_id(connection, pairs)
    made = [
        Pair(last + 1 + index, pool, issued + index, batch, one.first, one.second) for index, one in enumerate(pairings)
    ]
    if not made:
        return []
    rows: list[dict[str, object]] = [
        {"id": one.id, "pool": pool, "number": one.number, "batch": batch, "first": one.first, "second": one.second}
        | {"state": ISSUED, "done": 0, "points": None, "culprit": None, "reason": "", "front": front or None}
        for one in made
    ]
    connection.execute(pairs.insert(), rows)
    count_pairs(connection, last)
    return made


def open_pairs(connection: Connection, pool: int, front: str = "", among: Collection[int] | None = None) -> list[Pair]:
    """Return the pairs that are issued and not finished, by number.

    Args:
        connection: An open transaction.
        pool: Its id.
        front: Only the pairs that this front of a lobby may claim.
        among: Only the pairs between these versions.
    """
    these = and_(pairs.c.pool == pool, pairs.c.state == ISSUED)
    if front:
        these = and_(these, or_(pairs.c.front.is_(None), pairs.c.front == front))
    if among is not None:
        these = and_(these, pairs.c.first.in_(among), pairs.c.second.in_(among))
    ids = select(pairs.c.id).where(these).scalar_subquery()
    void = select(games.c.pair, games.c.game, func.count()).where(games.c.pair.in_(ids), games.c.finished.is_(False))
    tried = {(pair, game): times for pair, game, times in connection.execute(void.group_by(games.c.pair, games.c.game))}
    return [
        replace(_pair(row), tried=(tried.get((row.id, 0), 0), tried.get((row.id, 1), 0)))
        for row in connection.execute(select(pairs).where(these).order_by(pairs.c.number))
    ]


def past(connection: Connection, pool: int, kind: FormatKind) -> PoolPast:
    """Return what a schedule of this kind begins from."""
    batches, issued = extent(connection, pool)
    these = and_(pairs.c.pool == pool, pairs.c.batch >= batches - 2)
    recent = [(_pair(row), result) for row, result in _with_results(connection, _by_number(these))]
    with _many_values():
        recent_games = games.c.pair.in_(select(pairs.c.id).where(these))
        settled, met = _settled(connection, pool, counts_of(connection, recent_games))
    return PoolPast(
        batches=batches,
        issued=issued,
        settled=tuple(settled),
        recent=tuple(recent),
        met=met,
        results=tuple(_all_results(connection, pool)) if kind in TESTED else (),
        lost={} if kind is FormatKind.LADDER else _lost_pairs(connection, pool, batches),
        rounds=_rounds(connection, pool, batches - 2) if kind is FormatKind.SWISS else SwissRounds(),
    )


def meetings(
    connection: Connection, pool: int, first: Collection[int] | None = None, second: Collection[int] | None = None
) -> list[PairScore]:
    """Return the counts of finished games of each ordered pair: of `first` in seat 1, `second` in seat 2, if given."""
    met = _of_meetings(select(*_MET), pool).order_by(tallies.c.first, tallies.c.second)
    if first is not None or second is not None:
        # The key begins with seat 1: to look for each version there is less than to read all meetings.
        met = met.where(tallies.c.first.in_(select(versions.c.id) if first is None else first))
    if second is not None:
        met = met.where(tallies.c.second.in_(second))
    with _many_values():
        return [PairScore(*row) for row in connection.execute(met).all()]


def meeting_counts(connection: Connection, pool: int) -> list[str]:
    """Return all meetings as text: for each field of PairScore its values, separated by commas; [] without meetings.

    The order of the meetings may be any, and is the same in every field: none is NULL, and one scan gives all. Where
    there are 10⁵ meetings a row for each takes twice as long.
    """
    columns: list[ColumnElement[Any]] = [func.aggregate_strings(cast(column, Text), ",") for column in _MET]
    row = connection.execute(_of_meetings(select(*columns), pool)).one()
    return [] if row[0] is None else list(row)


def _of_meetings(query: Select[Any], pool: int) -> Select[Any]:
    """Restrict a query to the pairs of versions that have finished games in the pool."""
    return query.where(tallies.c.pool == pool, or_(*(count > 0 for count in _COUNTS)))


class OwnGame(NamedTuple):
    """A match of a version as it sees it: its seat, the version at fault, its own ms."""

    id: int
    key: str
    seat: int
    result: str
    winner: int
    termination: str
    culprit: int
    plies: int
    ms: int


def newest_of(connection: Connection, pool: int, version: int, most: int) -> list[OwnGame]:
    """Return the last matches of a version in a pool, void ones too, newest first. Only one table is read."""
    found: list[OwnGame] = []
    for seat, side, ms in ((1, games.c.first, games.c.ms1), (2, games.c.second, games.c.ms2)):
        facts = (games.c.result, games.c.winner, games.c.termination, games.c.culprit, games.c.plies)
        query = select(games.c.id, games.c.key, literal(seat), *facts, ms).where(games.c.pool == pool, side == version)
        rows = connection.execute(query.order_by(games.c.id.desc()).limit(most)).all()
        found += [OwnGame(*row) for row in rows]
    return sorted(found, key=lambda game: game.id, reverse=True)[:most]


def pair_results(connection: Connection, pool: int, one: int, other: int, after: int) -> list[PairResult]:
    """Return a page of the finished pairs of two versions with numbers above `after`, with the points of `one`."""
    both = (
        and_(pairs.c.pool == pool, pairs.c.first == first, pairs.c.second == second, pairs.c.number > after)
        for first, second in ((one, other), (other, one))
    )
    return [_as_first(result, one) for result in _page_of_results(connection, or_(*both))]


def _page_of_results(connection: Connection, these: ColumnElement[bool]) -> list[PairResult]:
    found = _with_results(connection, _by_number(and_(these, pairs.c.state != ISSUED)).limit(_PAGE))
    return [result for _, result in found if result is not None]


def extent(connection: Connection, pool: int) -> tuple[int, int]:
    """Return how many batches and how many pairs were issued. Raises StoreError for an unknown pool."""
    if connection.execute(select(pools.c.id).where(pools.c.id == pool)).first() is None:
        raise StoreError(f"there is no pool {pool} in this store: enrol a ladder first", code="no-such-pool")
    batch, number = (
        connection.execute(select(func.max(column)).where(pairs.c.pool == pool)).scalar_one()
        for column in (pairs.c.batch, pairs.c.number)
    )
    return (0, 0) if number is None else (batch + 1, number + 1)


def _all_results(connection: Connection, pool: int) -> Iterator[PairResult]:
    after = -1
    while page := _page_of_results(connection, and_(pairs.c.pool == pool, pairs.c.number > after)):
        yield from page
        after = page[-1].number


def _rounds(connection: Connection, pool: int, batches: int) -> SwissRounds:
    """Return the rounds of a Swiss tournament that its batches below this number make up.

    Only a batch after one with lost pairs can be less than a round, so all other batches are counted unseen.
    """
    mine = and_(pairs.c.pool == pool, pairs.c.batch < batches)
    short = set(connection.execute(select(pairs.c.batch).where(mine, _is_lost()).distinct()).scalars())
    seen = {number for batch in short for number in (batch, batch + 1)}
    columns = select(pairs.c.batch, _is_lost().label("lost"), _ONE.c.name, _TWO.c.name.label("other"))
    query = columns.join(_ONE, _ONE.c.id == pairs.c.first).join(_TWO, _TWO.c.id == pairs.c.second).where(mine)
    played, lost = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
    for row in in_parts(connection, query, pairs.c.batch, seen):
        (lost if row.lost else played)[row.batch] |= {row.name, row.other}
    rounds = SwissRounds()
    for batch in range(batches):
        rounds = rounds.after(played[batch], lost[batch])
    return rounds


def _lost_pairs(connection: Connection, pool: int, batches: int) -> dict[tuple[int, int], int]:
    """Return how many pairs of any two versions, (lower id, higher id), are lost, as PoolPast says.

    This looks at every pair of the pool.
    """
    these = and_(_is_lost(), or_(pairs.c.state == WITHDRAWN, pairs.c.batch < batches - 2))
    query = select(pairs.c.first, pairs.c.second, func.count()).where(pairs.c.pool == pool, these)
    found: dict[tuple[int, int], int] = defaultdict(int)
    for first, second, number in connection.execute(query.group_by(pairs.c.first, pairs.c.second)):
        found[min(first, second), max(first, second)] += number
    return dict(found)


def _by_number(these: ColumnElement[bool]) -> Select[Any]:
    return select(pairs).where(these).order_by(pairs.c.number)


def _with_results(
    connection: Connection, chosen: Select[Any], **values: Any
) -> list[tuple[Row[Any], PairResult | None]]:
    """Return the chosen pairs, each with its result unless it is open. `values`: the parameters of the query."""
    rows = connection.execute(chosen, values).all()
    ended: dict[int, list[Row[Any]]] = defaultdict(list)
    for part in parts(row.id for row in rows if row.state != ISSUED):
        for game in connection.execute(_ENDED, {"ids": part}):
            ended[game.pair].append(game)
    return [(row, None if row.state == ISSUED else _pair_result(row, ended[row.id])) for row in rows]


def _pair_result(pair: Row[Any], ended: Sequence[Row[Any]]) -> PairResult:
    lost = None
    if pair.state == WITHDRAWN:
        lost = LostReason.WITHDRAWN
    elif pair.state == UNPLAYABLE and pair.culprit > NO_CULPRIT:
        lost = LostReason.SUSPENDED
    met = meetings_of(pair.first, pair.second, ended)
    lines = tuple((game.opening, game.moves) for game in ended)
    return PairResult(pair.number, pair.batch, pair.first, pair.second, pair.points, met, pair.pool, lost, lines)


def _is_lost() -> ColumnElement[bool]:
    """Return the condition for pairs that were withdrawn, or that a bot could not play and was suspended for."""
    blamed = and_(pairs.c.state == UNPLAYABLE, pairs.c.culprit > NO_CULPRIT)
    return or_(pairs.c.state == WITHDRAWN, blamed)


def _as_first(result: PairResult, one: int) -> PairResult:
    if result.first == one:
        return result
    points = None if result.points is None else 2 - result.points
    return replace(result, first=result.second, second=result.first, points=points)


def _settled(
    connection: Connection, pool: int, less: dict[tuple[int, int], list[int]]
) -> tuple[list[PairScore], dict[tuple[int, int], int]]:
    """Return all meetings less these counts, and the pairs issued per (lower id, higher id)."""
    settled: list[PairScore] = []
    met: dict[tuple[int, int], int] = {}
    query = select(tallies.c.first, tallies.c.second, tallies.c.issued, *_COUNTS).where(tallies.c.pool == pool)
    for row in connection.execute(query.order_by(tallies.c.first, tallies.c.second)).all():
        first, second, issued = row[:3]
        counts: Sequence[int] = row[3:]
        if (first, second) in less:
            counts = [have - one for have, one in zip(counts, less.pop((first, second)), strict=True)]
            if min(counts) < 0:
                less[first, second] = list(counts)  # reported below
                break
        if any(counts):
            settled.append(PairScore(first, second, *counts))
        if issued:
            both = (first, second) if first < second else (second, first)
            met[both] = met.get(both, 0) + issued
    if less:
        raise StoreError(
            "the store's counts differ from its games: repair them with ggp ladder check --repair",
            code="counts-differ",
        )
    return settled, met


@contextlib.contextmanager
def _many_values() -> Iterator[None]:
    """Suspend garbage collection, which would visit hundreds of thousands of values that hold no cycles."""
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
    """Issue a challenge of `number` pairs. Return its id and its pairs. Raises StoreError for a rated pool."""
    if connection.execute(select(pools.c.rated).where(pools.c.id == pool)).scalar_one_or_none() is not False:
        raise StoreError(f"pool {pool} is rated: challenges need an unrated pool", code="not-unrated")
    batch, _ = extent(connection, pool)
    made = issue(connection, pool, batch, [pairing] * number)
    last = last_id(connection, challenges)
    connection.execute(
        challenges.insert().values(
            id=last + 1,
            pool=pool,
            batch=batch,
            owner=truncate(owner, NAME),
            asked=now(),
            until=truncate(until, WORD),
            reason="",
        )
    )
    return last + 1, made


def withdraw(connection: Connection, id: int, reason: str, keep: Collection[int] = ()) -> bool:
    """Withdraw the open pairs of a challenge except `keep`, which are being played; False if there was none.

    The reason is stored if it is the first one and a pair was withdrawn.
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
        connection.execute(challenges.update().where(these).values(reason=truncate(reason, TEXT) or "withdrawn"))
    return bool(left)


def list_challenges(
    connection: Connection, pool: int | None = None, only_open: bool = False, most: int = 0
) -> list[ChallengeRow]:
    """Return challenges by id: of one pool or all, only those with open pairs if asked, the newest `most` (0: all)."""
    where: list[ColumnElement[bool]] = [] if pool is None else [challenges.c.pool == pool]
    if only_open:
        mine = and_(pairs.c.pool == challenges.c.pool, pairs.c.batch == challenges.c.batch, pairs.c.state == ISSUED)
        where.append(select(pairs.c.id).where(mine).exists())
    query = select(challenges).where(*where).order_by(challenges.c.id.desc()).limit(most or None)
    return [_stands(connection, row) for row in connection.execute(query).all()][::-1]


def find_challenge(connection: Connection, id: int) -> ChallengeRow | None:
    """Return how a challenge stands; None if there is no such challenge."""
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
