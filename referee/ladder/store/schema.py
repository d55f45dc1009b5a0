"""The tables of a store, every column with its meaning. `database.create_tables` creates them.

What was played is in `games` and `records`; everything else that counts games is derived from these (see audit.py).
Seats are 1 and 2, times milliseconds, moments UTC in ISO 8601. Versions, pools and pairs go by their ids.
"""

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)
from sqlalchemy.schema import SchemaItem

ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only where the type is INTEGER
NAME = 100  # characters of a name of a bot or a pool
LABEL = NAME + 20  # with `@version`
KEY = 300  # of a match
TEXT = 4096  # of a detail or a reason
WORD = 40  # of a result, a termination, a moment

ISSUED, PLAYED, UNPLAYABLE, WITHDRAWN = "issued", "played", "unplayable", "withdrawn"
NO_CULPRIT, ENGINE = 0, -1  # instead of a version, where a culprit is named

metadata = MetaData()


def _table(name: str, comment: str, *parts: SchemaItem) -> Table:
    return Table(name, metadata, *parts, comment=comment)


def _column(name: str, kind: Any, comment: str) -> Column[Any]:
    return Column(name, kind, nullable=False, comment=comment)


def _id() -> Column[int]:
    return Column("id", ID, primary_key=True, comment="Given by the database, in the order of insertion.")


def _number() -> Column[int]:
    said = "Given by the store, which alone writes, in the order of insertion."
    return Column("id", ID, primary_key=True, autoincrement=False, comment=said)


def _pool(*, primary_key: bool = False) -> Column[int]:
    return Column("pool", ID, ForeignKey("pools.id"), nullable=False, comment="pools.id", primary_key=primary_key)


def _version(name: str, comment: str, *, primary_key: bool = False) -> Column[int]:
    to, said = ForeignKey("versions.id"), f"versions.id: {comment}"
    return Column(name, ID, to, nullable=False, comment=said, primary_key=primary_key)


def _count(name: str, comment: str) -> Column[int]:
    return _column(name, ID, comment)


def _partial_index(table: Table, name: str, where: str) -> None:
    """Declare an index of some rows. This is DDL because `postgresql_where` loads that dialect, 2.5 MiB, always."""
    index, columns = name.split(" ", 1)
    create = DDL(f"CREATE INDEX {index} ON {table.name} {columns} WHERE {where}")  # type: ignore[no-untyped-call]
    event.listen(table, "after_create", create)


meta = _table(
    "meta",
    "Facts about the store itself.",
    Column("key", String(NAME), primary_key=True, comment="`schema`: the version of the tables."),
    _column("value", Text, "As text."),
)


def _holder() -> list[Column[Any]]:
    """Return the columns that tell a process from every other, and whether it lives."""
    return [
        _column("host", String(NAME), "Name of its machine."),
        _column("space", String(NAME), "Boot and process namespace in which its pid means something."),
        _column("pid", ID, "The process."),
        _column("started", ID, "When it began, in clock ticks since boot: tells it from a later one."),
        _column("command", Text, "What it was asked to do."),
        _column("taken", ID, "When it took the lock: seconds since 1970 by the database's clock."),
        _column("beat", ID, "Its last heartbeat, likewise."),
    ]


run_lock = _table(
    "run_lock",
    "Which process runs the ladder: one row, or none.",
    Column("id", ID, primary_key=True, autoincrement=False, comment="Always 1."),
    *_holder(),
)

fronts = _table(
    "fronts",
    "The front processes of a lobby that run, one row each.",
    Column("name", String(NAME), primary_key=True, comment="As in the lobby's file."),
    _column("url", Text, "Where bots dial it, empty until it listens."),
    *_holder(),
)

present = _table(
    "present",
    "Which bot is at which front of a lobby, so that it is at one only.",
    Column("bot", String(NAME), primary_key=True, comment="Its name."),
    _column("front", String(NAME), "fronts.name"),
)
Index("present_front", present.c.front)

pools = _table(
    "pools",
    "Results that may be compared: one game, its options, one time control, one kind of opening.",
    _id(),
    Column("key", String(NAME), nullable=False, unique=True, comment="Twelve hex digits of all that makes it a pool."),
    Column("name", String(LABEL), nullable=False, unique=True, comment="`NAME@KEY` once a later pool has the name."),
    _column("game", String(NAME), "As engines call it."),
    _column("options", Text, "Those that were given, a JSON object."),
    _column("control", String(NAME), "The time control."),
    _column("openings", Integer, "Random plies that each pair begins with."),
    _column("rated", Boolean, "False: its games count in no rating (unrated)."),
    _count("played", "Pairs that were played to their end. Derived."),
)

versions = _table(
    "versions",
    "Versions of bots. Another program, script, options or environment make another version.",
    _id(),
    _column("name", String(NAME), "Of its entry in the ladder's file."),
    _column("version", String(NAME), "Hash of all that decides how it plays."),
    Column(
        "label", String(LABEL), nullable=False, unique=True, comment="`NAME@VERSION` once a later one has the name."
    ),
    _column("command", Text, "Command line or url, as it was written."),
    Column("parent", ID, ForeignKey("versions.id"), comment="versions.id: what it was made from."),
    _column("since", String(WORD), "When it was first entered."),
    UniqueConstraint("name", "version", name="versions_name_version"),
)

entered = _table(
    "entered",
    "Which versions are or were entered in which pool.",
    _pool(primary_key=True),
    _version("version", "who", primary_key=True),
    _column("active", Boolean, "Whether the ladder's file enters it now."),
    Column("anchor", Double, comment="Its rating, where that is known: Elo."),
    _column("suspended", Text, "Why it is not paired, empty if it is."),
    _column("suspended_in", ID, "The first batch with a pair that was its fault; -1: none."),
)

pairs = _table(
    "pairs",
    "Pairs of games that were issued: same opening, seats exchanged.",
    _number(),
    _pool(),
    _column("number", ID, "Within the pool, from 0."),
    _column("batch", ID, "Within the pool, from 0: pairs that were issued together."),
    _version("first", "has seat 1 in game 0"),
    _version("second", "has seat 1 in game 1"),
    _column("state", String(12), "issued, played, unplayable or withdrawn."),
    _column("done", SmallInteger, "Its finished games: 1 for game 0, 2 for game 1. Derived."),
    Column("points", Double, comment="Of `first` in both games; none unless both count. Derived."),
    Column("culprit", ID, comment="If unplayable: versions.id, 0 for none, -1 for the engine."),
    _column("reason", Text, "If unplayable: why."),
    Column("front", String(NAME), comment="If issued: fronts.name of the one that alone may play it."),
    UniqueConstraint("pool", "number", name="pairs_pool_number"),
)
_partial_index(pairs, "pairs_open (pool, number)", f"state = '{ISSUED}'")
Index("pairs_batch", pairs.c.pool, pairs.c.batch)
Index("pairs_versions", pairs.c.pool, pairs.c.first, pairs.c.second)

games = _table(
    "games",
    "Matches that were played to their end, void ones included: the facts, so that lists are quick.",
    _number(),
    Column("key", String(KEY), nullable=False, unique=True, comment="Its name in records."),
    Column("pair", ID, ForeignKey("pairs.id"), nullable=False, comment="pairs.id"),
    _pool(),
    _column("game", SmallInteger, "Of its pair: 0 or 1."),
    _column("attempt", SmallInteger, "How many void ones came before it."),
    _column("finished", Boolean, "False for a void one that was to be played again."),
    _version("first", "seat 1"),
    _version("second", "seat 2"),
    _column("result", String(WORD), "As in the rules, empty if void."),
    _column("winner", SmallInteger, "Seat, 0 for none."),
    _column("termination", String(WORD), "Why it ended."),
    _column("culprit", ID, "versions.id, 0 for none, -1 for the engine."),
    _column("detail", Text, "More about the end, for the author of the culprit."),
    _column("plies", Integer, "How many, with the opening."),
    _column("ms1", ID, "Time that seat 1 used."),
    _column("ms2", ID, "Time that seat 2 used."),
    _column("suspect", Boolean, "Whether a clock ran out while the machine was overloaded."),
    _column("opening", ID, "Digest of the plies that no bot chose."),
    _column("moves", ID, "Digest of all moves and of the result."),
    _column("ended", String(WORD), "When."),
)
Index("games_pair", games.c.pair)
Index("games_pool", games.c.pool, games.c.id)
Index("games_first", games.c.first, games.c.id)
Index("games_second", games.c.second, games.c.id)
Index("games_termination", games.c.termination, games.c.id)

records = _table(
    "records",
    "The record of every match: the source of all that is derived.",
    Column("game", ID, ForeignKey("games.id"), primary_key=True, autoincrement=False, comment="games.id"),
    _column("data", LargeBinary, "Hash-chained JSON lines, compressed by Zstandard."),
)

tallies = _table(
    "tallies",
    "Counts per pool and ordered pair of versions. Derived.",
    _pool(primary_key=True),
    _version("first", "seat 1", primary_key=True),
    _version("second", "seat 2", primary_key=True),
    _count("issued", "Pairs in which `first` is the first."),
    _count("wins", "Of `first`, by play."),
    _count("ties", "By play."),
    _count("losses", "Of `first`, by play."),
    _count("forfeit_wins", "Of `first`, because `second` was at fault."),
    _count("forfeit_losses", "Of `first`, because it was at fault."),
    _count("void", "Finished without a result."),
)

scores = _table(
    "scores",
    "Counts per pool and version, so that standings need not add up all its meetings. Derived.",
    _pool(primary_key=True),
    _version("version", "who", primary_key=True),
    _count("wins", "By play and by gift."),
    _count("ties", "By play."),
    _count("losses", "By play and by forfeit."),
    _count("forfeits", "Losses because it was at fault."),
    _count("gifts", "Wins because the other was at fault."),
    _count("void", "Finished without a result."),
)

lines = _table(
    "lines",
    "Games that count per pool, ordered pair of versions and opening, and whether all are the same. Derived.",
    _pool(primary_key=True),
    _version("first", "seat 1", primary_key=True),
    _version("second", "seat 2", primary_key=True),
    Column("opening", ID, primary_key=True, autoincrement=False, comment="games.opening"),
    _count("wins", "Of `first`."),
    _count("ties", "Drawn."),
    _count("losses", "Of `first`."),
    _count("least", "The least games.moves."),
    _count("most", "The largest: the same one if the two repeat a single game."),
)
REPEATS = "least = most AND wins + ties + losses >= 3"
_partial_index(lines, "lines_repeated (pool)", REPEATS)

endings = _table(
    "endings",
    "Matches per pool, termination and culprit. Derived.",
    _pool(primary_key=True),
    Column("termination", String(WORD), primary_key=True, comment="Why they ended."),
    Column("culprit", ID, primary_key=True, autoincrement=False, comment="versions.id, 0 for none, -1 for the engine."),
    _count("wins", "Of seat 1."),
    _count("ties", "Drawn."),
    _count("losses", "Of seat 1."),
    _count("void", "Without a result."),
)

fits = _table(
    "fits",
    "The last ratings of a pool. Derived.",
    _pool(primary_key=True),
    _count("games", "How many counted then."),
    _column("model", String(NAME), "davidson or rao-kupper."),
    _column("advantage", Double, "Of seat 1: Elo."),
    _column("advantage_se", Double, "Its standard error."),
    _column("tie", Double, "The model's parameter of ties."),
    _column("remarks", Text, "How far the model holds, as remarks.py says."),
)

ratings = _table(
    "ratings",
    "The rows of the last ratings of a pool. Derived.",
    _pool(primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False, comment="From 0, best first."),
    _version("version", "who"),
    _column("elo", Double, "Rating."),
    _column("se", Double, "Its standard error."),
    _count("games", "How many of its games counted."),
    _column("score", Double, "Its points in them."),
    Column("next_elo", Double, comment="Elo above the next."),
    Column("next_se", Double, comment="The standard error of that."),
    Column("next_los", Double, comment="How likely it is better than the next."),
)

challenges = _table(
    "challenges",
    "Unrated series between two bots of a lobby, as they were asked for.",
    _number(),
    _pool(),
    _column("batch", ID, "pairs.batch: its pairs, whose `first` is the challenger."),
    _column("owner", String(NAME), "Who asked for it."),
    _column("asked", String(WORD), "When."),
    _column("until", String(WORD), "When what is left of it is withdrawn."),
    _column("reason", Text, "Why it ended before its pairs were played, empty if it did not."),
    UniqueConstraint("pool", "batch", name="challenges_pool_batch"),
)

events = _table(
    "events",
    "What an operator may want to know later.",
    _id(),
    _column("at", String(WORD), "When."),
    _column("kind", String(NAME), "joined, left, replaced, suspended, …"),
    _column("text", Text, "One line."),
)
