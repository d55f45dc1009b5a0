"""The pools with their sums and ratings, and the events of a ladder."""

from collections import Counter

import msgspec
from sqlalchemy import Connection, and_, case, func, select

from ggp.referee.ladder.store.counts import COLUMNS, SCORE_COLUMNS
from ggp.referee.ladder.store.database import execute_many, read_options
from ggp.referee.ladder.store.model import (
    GAMES,
    PoolGames,
    PoolRow,
    StoreEvent,
    Totals,
)
from ggp.referee.ladder.store.schema import (
    ENGINE,
    NO_CULPRIT,
    UNPLAYABLE,
    endings,
    events,
    fits,
    pairs,
    pools,
    ratings,
    scores,
    tallies,
    versions,
)
from ggp.referee.ratings.standings import Difference, Drift, PairMisfit, RatingTable, Standing

_POOL = ("id", "key", "name", "game", "options", "control", "openings", "rated")
_ROW = ("elo", "se", "games", "score", "next_elo", "next_se", "next_los")
_RESULTS = ("wins", "ties", "losses", "void")  # of endings
_GAMES = endings.c.wins + endings.c.ties + endings.c.losses  # that count
_ADD_RATINGS = ratings.insert()
_FIT = ("games", "model", "advantage", "advantage_se", "tie")


def list_pools(connection: Connection, unrated: bool = False) -> list[PoolRow]:
    """Return the pools by id; the unrated ones only on request, so that no caller mistakes them for rated ones."""
    count = select(func.coalesce(func.sum(_GAMES), 0)).where(endings.c.pool == pools.c.id)
    query = select(*(pools.c[name] for name in _POOL), count.scalar_subquery().label("games")).order_by(pools.c.id)
    found = connection.execute(query if unrated else query.where(pools.c.rated))
    return [
        PoolRow(**{**row._mapping, "options": read_options(row.options, row.name), "games": int(row.games)})
        for row in found
    ]


def list_events(connection: Connection, limit: int = 100) -> list[StoreEvent]:
    """Return the last events, oldest first."""
    query = select(events.c.at, events.c.kind, events.c.text).order_by(events.c.id.desc()).limit(limit)
    return [StoreEvent(*row) for row in connection.execute(query)][::-1]


def totals(connection: Connection, pool: int | None = None) -> Totals:
    """Return what is stored of one pool, or of all."""
    sums, played = select(endings), select(func.coalesce(func.sum(pools.c.played), 0))
    if pool is not None:
        sums, played = sums.where(endings.c.pool == pool), played.where(pools.c.id == pool)
    blamed = versions.c.id.in_(sums.with_only_columns(endings.c.culprit))
    labels = connection.execute(select(versions.c.id, versions.c.label).where(blamed))
    names = {ENGINE: "engine", **{row.id: row.label for row in labels}}
    terminations: Counter[str] = Counter()
    faults: Counter[tuple[str, str]] = Counter()
    counts = Counter[str]()
    for row in connection.execute(sums):
        counts.update({name: getattr(row, name) for name in _RESULTS})
        matches = row.wins + row.ties + row.losses + row.void
        terminations[row.termination] += matches
        if row.culprit != NO_CULPRIT:
            faults[names[row.culprit], row.termination] += matches
    pairs_played = int(connection.execute(played).scalar_one())
    return Totals(**counts, pairs=pairs_played, terminations=terminations, faults=faults)


def counted(connection: Connection, pool: int) -> int:
    """Return how many games of a pool count."""
    query = select(func.coalesce(func.sum(_GAMES), 0)).where(endings.c.pool == pool)
    return int(connection.execute(query).scalar_one())


def pool_games(connection: Connection, pool: int) -> PoolGames:
    """Return how many games of a pool count, and how many are void or were given up.

    Neither contains games of withdrawn pairs, nor of pairs that a bot could not play and was suspended for.
    """
    sums = (func.coalesce(func.sum(tallies.c[name]), 0) for name in COLUMNS)
    row = connection.execute(select(*sums).where(tallies.c.pool == pool)).one()
    ended = {name: int(number) for name, number in zip(COLUMNS, row, strict=True)}
    missing = case((pairs.c.done == 0, GAMES), else_=1)  # a pair with both games is not unplayable
    theirs = and_(pairs.c.pool == pool, pairs.c.state == UNPLAYABLE, pairs.c.culprit <= NO_CULPRIT)
    given_up = connection.execute(select(func.coalesce(func.sum(missing), 0)).where(theirs)).scalar_one()
    void = ended.pop("void")
    return PoolGames(counted=sum(ended.values()), void=void + int(given_up))


def score_counts(connection: Connection, pool: int) -> dict[int, tuple[int, ...]]:
    """Return the counts of SCORE_COLUMNS for every version that played.

    Its forfeits are among its losses; the gifts, which are forfeits of others, are among its wins.
    """
    query = select(scores.c.version, *(scores.c[name] for name in SCORE_COLUMNS)).where(scores.c.pool == pool)
    return {version: tuple(counts) for version, *counts in connection.execute(query.order_by(scores.c.version))}


def save_fit(connection: Connection, pool: int, fit: RatingTable) -> None:
    """Replace the ratings of a pool. The names of the table are ids of versions."""
    for table in (ratings, fits):
        connection.execute(table.delete().where(table.c.pool == pool))
    values = {name: getattr(fit, name) for name in _FIT}
    remarks = msgspec.json.encode(msgspec.convert(fit, _Remarks, from_attributes=True)).decode()
    connection.execute(fits.insert().values(pool=pool, remarks=remarks, **values))
    rows = []
    for rank, row in enumerate(fit.rows):
        after = (row.next.elo, row.next.se, row.next.los) if row.next else (None, None, None)
        numbers = dict(zip(_ROW, (row.elo, row.se, row.games, row.points, *after), strict=True))
        rows.append({"pool": pool, "rank": rank, "version": int(row.name), **numbers})
    if rows:
        execute_many(connection, _ADD_RATINGS, rows)


def load_fit(connection: Connection, pool: int) -> RatingTable | None:
    """Return the last ratings that were saved; None if there are none, or of another form."""
    fit = connection.execute(select(fits).where(fits.c.pool == pool)).one_or_none()
    if fit is None:
        return None
    try:
        remarks = msgspec.structs.asdict(msgspec.json.decode(fit.remarks, type=_Remarks))
    except msgspec.DecodeError:
        return None
    groups = {version: number for number, group in enumerate(remarks.pop("groups"), 1) for version in group}
    query = select(ratings.c.version, *(ratings.c[name] for name in _ROW)).where(ratings.c.pool == pool)
    rows = []
    for version, elo, se, games, points, *after in connection.execute(query.order_by(ratings.c.rank)):
        next = None if after[0] is None else Difference(*after)
        rows.append(Standing(str(version), elo, se, games, points, next, groups.get(str(version), 0)))
    return RatingTable(rows=tuple(rows), **{name: getattr(fit, name) for name in _FIT}, **remarks)


class _Remarks(msgspec.Struct):
    """The fields of a RatingTable that are stored as JSON."""

    anchors: dict[str, float]
    deviance: float
    freedom: int
    misfits: tuple[PairMisfit, ...]
    drifts: tuple[Drift, ...]
    groups: list[list[str]]
