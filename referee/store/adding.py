"""Keeps finished matches and unplayable pairs, and counts what is new, within the caller's transaction.

A match is new if its pair is open, its game not finished yet and its key not stored: whoever delivers twice, or what
somebody else played meanwhile, changes nothing. One transaction writes at a time (see database), so looking first and
inserting then is safe.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from referee.ladder.pairs import PairResult
from referee.play.outcome import REPLAYS, WINDOW, void_reason
from referee.play.series import Played, seats
from referee.store.counting import (
    ALL_DONE,
    COLUMNS,
    SCORE_COLUMNS,
    Ending,
    column,
    meetings_of,
    ordered,
    points_of,
    score_columns,
)
from referee.store.enrolment import readmitted, suspend
from referee.store.errors import StoreError
from referee.store.rows import Finished, Unplayable
from referee.store.schema import (
    ENGINE,
    ISSUED,
    KEY,
    NOBODY,
    PLAYED,
    TEXT,
    UNPLAYABLE,
    WORD,
    endings,
    games,
    pairs,
    pools,
    records,
    scores,
    tallies,
    versions,
)
from referee.store.words import add_up, clean, in_parts

_STANDING = select(
    pairs.c.id, pairs.c.pool, pairs.c.number, pairs.c.batch, pairs.c.first, pairs.c.second, pairs.c.state, pairs.c.done
)
_ENDED = select(games.c.pair, games.c.game, games.c.result, games.c.winner, games.c.termination).where(games.c.finished)
_SETTLE = (
    pairs.update()
    .where(pairs.c.id == bindparam("pair"))
    .values({name: bindparam(f"new_{name}") for name in ("state", "done", "points", "culprit", "reason")})
)


def add(connection: Connection, finished: Sequence[Finished], unplayable: Sequence[Unplayable]) -> list[PairResult]:
    """The pairs that this finished, by pool and number."""
    batch = _Batch(connection, finished, unplayable)
    for one in finished:
        batch.keep(one)
    for pair in unplayable:
        batch.give_up(pair)
    return batch.store()


class _Batch:
    """What one call adds: gathered first, then stored in a few statements."""

    def __init__(self, connection: Connection, finished: Sequence[Finished], unplayable: Sequence[Unplayable]) -> None:
        self._connection = connection
        ids = {one.pair.id for one in finished} | {one.pair.id for one in unplayable}
        self._pairs = {row.id: row for row in in_parts(connection, _STANDING, pairs.c.id, ids)}
        if unknown := ids - self._pairs.keys():
            raise StoreError(f"pair {min(unknown)} is not in this store: it was played for another one")
        keys = {one.key for one in finished}
        self._known = {row.key for row in in_parts(connection, select(games.c.key), games.c.key, keys)}
        self._last: int = connection.execute(select(func.coalesce(func.max(games.c.id), 0))).scalar_one()
        self._done: dict[int, int] = {id: row.done for id, row in self._pairs.items()}
        self._games: list[dict[str, object]] = []
        self._records: list[dict[str, object]] = []
        self._ended: dict[int, list[Ending]] = defaultdict(list)
        self._given_up: dict[int, Unplayable] = {}
        self._voided: dict[tuple[int, int], tuple[int, str]] = {}  # by pool and culprit: batch, and how
        self._tallies: Counter[tuple[int, int, int, str]] = Counter()
        self._endings: Counter[tuple[int, str, int, bool]] = Counter()

    def keep(self, one: Finished) -> None:
        pair, facts = self._pairs[one.pair.id], one.facts
        bit = 1 << one.game
        if pair.state != ISSUED or self._done[pair.id] & bit or one.key in self._known:
            return
        if len(one.key) > KEY:
            raise StoreError(f"the key {one.key[:60]}… is longer than {KEY} characters: shorten the ladder's name")
        self._known.add(one.key)
        order = seats(one.game)
        first, second = ordered(pair.first, pair.second, one.game)
        winner = order.index(facts.winner) + 1 if facts.winner >= 0 else 0
        culprit = self._culprit(pair, facts)
        termination = clean(facts.termination, WORD)
        result = clean(facts.result, WORD)
        self._last += 1
        self._games.append(
            {
                "id": self._last,
                "key": one.key,
                "pair": pair.id,
                "pool": pair.pool,
                "game": one.game,
                "attempt": one.attempt,
                "finished": not facts.replayed,
                "first": first,
                "second": second,
                "result": result,
                "winner": winner,
                "termination": termination,
                "culprit": culprit,
                "detail": clean(facts.detail, TEXT),
                "plies": facts.plies,
                "ms1": facts.used[order[0]],
                "ms2": facts.used[order[1]],
                "suspect": facts.suspect,
                "ended": clean(facts.ended, WORD),
            }
        )
        self._records.append({"game": self._last, "data": one.record})
        self._endings[pair.pool, termination, culprit, bool(result)] += 1
        if facts.replayed and culprit not in (NOBODY, ENGINE):
            self._voided[pair.pool, culprit] = pair.batch, f"{facts.termination}: {facts.detail}"
        if not facts.replayed:
            self._done[pair.id] |= bit
            self._ended[pair.id].append(Ending(one.game, result, winner, termination))
            self._tallies[pair.pool, first, second, column(result, winner, termination)] += 1

    def give_up(self, one: Unplayable) -> None:
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
        add_up(connection, tallies, tally_rows(self._tallies))
        add_up(connection, scores, score_rows(self._tallies))
        add_up(connection, endings, ending_rows(self._endings))
        if stand:
            connection.execute(_SETTLE, stand)
        self._count_pairs(over)
        for one in self._given_up.values():
            if one.who not in (None, NOBODY):
                suspend(connection, one.who, one.reason, self._pairs[one.pair.id].pool, one.pair.batch)
        for (pool, version), (batch, last) in self._voided.items():
            if (number := _voids(connection, pool, version)) > REPLAYS:
                suspend(connection, version, void_reason(number, last), pool, batch)
        return sorted(results, key=lambda one: (one.pool, one.number))

    def _earlier(self, ids: set[int]) -> dict[int, list[Ending]]:
        """The finished games of these pairs that are stored already."""
        found: dict[int, list[Ending]] = defaultdict(list)
        for row in in_parts(self._connection, _ENDED, games.c.pair, ids):
            found[row.pair].append(Ending(row.game, row.result, row.winner, row.termination))
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

    def _culprit(self, pair: Row[Any], facts: Played) -> int:
        """The version to blame. Who loses by a fault is at fault; for a void match there is only the name."""
        if facts.culprit in ("", "engine"):
            return ENGINE if facts.culprit else NOBODY
        if facts.winner >= 0:
            return int(pair.second if facts.winner == 0 else pair.first)
        query = select(versions.c.id, versions.c.name, versions.c.label)
        named = [
            row.id
            for row in in_parts(self._connection, query, versions.c.id, {pair.first, pair.second})
            if facts.culprit in (row.name, row.label)
        ]
        if len(named) != 1:
            raise StoreError(f"{facts.key}: its culprit {facts.culprit!r} is not one of the two that played")
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


def _result(pair: Row[Any], ended: Sequence[Ending]) -> PairResult:
    met = meetings_of(pair.first, pair.second, ended)
    return PairResult(pair.number, pair.batch, pair.first, pair.second, points_of(ended), met, pair.pool)


def tally_rows(counted: Mapping[tuple[int, int, int, str], int]) -> list[dict[str, object]]:
    """Rows of `tallies` from (pool, first, second, column) -> games, in the order in which all writers take them."""
    rows: dict[tuple[int, int, int], dict[str, object]] = {}
    for (pool, first, second, name), number in sorted(counted.items()):
        nothing: dict[str, object] = {
            "pool": pool,
            "first": first,
            "second": second,
            "issued": 0,
            **dict.fromkeys(COLUMNS, 0),
        }
        rows.setdefault((pool, first, second), nothing)[name] = number
    return list(rows.values())


def score_rows(counted: Mapping[tuple[int, int, int, str], int]) -> list[dict[str, object]]:
    """Rows of `scores` from the same, in the order in which all writers take them."""
    sums: Counter[tuple[int, int, str]] = Counter()
    for (pool, first, second, name), number in counted.items():
        for version, columns in zip((first, second), score_columns(name), strict=True):
            for one in columns:
                sums[pool, version, one] += number
    rows: dict[tuple[int, int], dict[str, object]] = {}
    for (pool, version, one), number in sorted(sums.items()):
        nothing: dict[str, object] = {"pool": pool, "version": version, **dict.fromkeys(SCORE_COLUMNS, 0)}
        rows.setdefault((pool, version), nothing)[one] = number
    return list(rows.values())


def ending_rows(counted: Mapping[tuple[int, str, int, bool], int]) -> list[dict[str, object]]:
    """Rows of `endings` from (pool, termination, culprit, whether it counts) -> matches."""
    rows: dict[tuple[int, str, int], dict[str, object]] = {}
    for (pool, termination, culprit, counts), number in sorted(counted.items()):
        nothing: dict[str, object] = {
            "pool": pool,
            "termination": termination,
            "culprit": culprit,
            "games": 0,
            "void": 0,
        }
        row = rows.setdefault((pool, termination, culprit), nothing)
        row["games" if counts else "void"] = number
    return list(rows.values())
