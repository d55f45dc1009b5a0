"""What a referee answers to those who only look: `key=value` words, one item a line. It changes nothing.

All is read in the client's thread, from the desk's news, the store, and the side files.
"""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from protocol.errors import CommandFailed
from protocol.grammar import MAX_ANSWER, MAX_ANSWER_LINES
from protocol.records import Record, read_records
from referee.archive.live import playing
from referee.config import Budgets
from referee.ladder.views.crosstable import read_crosstable
from referee.ladder.views.standings import read_standings
from referee.play.seating import Start
from referee.play.words import read_engine
from referee.ratings.scale import half
from referee.service import drawing
from referee.service.desk import Desk, News, Series, UnderWay

if TYPE_CHECKING:
    from referee.store.rows import PoolRow
    from referee.store.store import Store

_LONGEST_WAIT = 3600.0  # seconds
_WAIT = 60.0
_EVENTS = 20
_ROOM = MAX_ANSWER - 1000  # bytes of text in an answer


class Answers:
    """The handlers of the commands that look. `store`: of the ladder, None without one; `live`: what the names of the
    workers' side files begin with."""

    def __init__(self, desk: Desk, store: "Store | None", live: str) -> None:
        self._desk = desk
        self._store = store
        self._live = live

    # -- the ladder ------------------------------------------------------------------------------------------------

    def ladder(self, arguments: list[str]) -> str:
        """`name=… state=…`, a key a line; `error` is the rest of its line."""
        news = self._desk.news
        lines = [
            f"name={news.name}",
            f"state={news.state}",
            f"change={news.change}",
            f"stored={news.stored}",
            f"games={news.games}",
            f"plies={news.plies}",
            f"matches={len(news.under_way)}",
            f"workers={news.jobs}",
            f"seconds={time.monotonic() - news.began:.1f}",
        ]
        return "\n".join([*lines, f"error={_one_line(news.said)}"])

    def standings(self, arguments: list[str]) -> str:
        store = self._need_store()
        lines = []
        for pool in self._pools(store, arguments):
            found = read_standings(store, pool)
            zero = "anchors" if found.fit and found.fit.anchors else "mean"
            for rank, place in enumerate(found.places, 1):
                row, score, seat = place.row, place.score, place.seat
                lines.append(
                    f"pool={pool.name} rank={rank} name={seat.label} elo={row.elo:z.1f} error={half(row.se) or '-'}"
                    f" games={score.games} score={score.share:.4f} wins={score.wins} ties={score.ties}"
                    f" losses={score.losses} forfeits={score.forfeits} zero={zero}"
                )
        return _lines(lines)

    def crosstable(self, arguments: list[str]) -> str:
        """A line for every two that met, once: the points are of the first."""
        store = self._need_store()
        lines = []
        for pool in self._pools(store, arguments):
            table = read_crosstable(store, pool)
            order = {bot.id: rank for rank, bot in enumerate(table.bots)}
            labels = {bot.id: bot.label for bot in table.bots}
            for (one, two), score in sorted(table.cells.items(), key=lambda cell: [order[bot] for bot in cell[0]]):
                if order[one] < order[two]:
                    lines.append(
                        f"pool={pool.name} first={labels[one]} second={labels[two]} games={score.games}"
                        f" points={score.points:g} wins={score.wins} ties={score.ties} losses={score.losses}"
                    )
        return _lines(lines)

    def bots(self, arguments: list[str]) -> str:
        """Who is entered, pool by pool; `reason` is the rest of its line."""
        store = self._need_store()
        lines = []
        for pool in store.pools():
            faults: dict[str, int] = {}
            for (who, _), number in store.totals(pool.id).faults.items():
                faults[who] = faults.get(who, 0) + number
            scores = store.scores(pool.id)
            for seat in store.seats(pool.id):
                if not seat.entered:
                    continue
                state = "suspended" if seat.suspended else "active"
                games = sum(scores.get(seat.id, (0, 0, 0))[:3])
                reason = f" reason={_one_line(seat.suspended)}" if seat.suspended else ""
                lines.append(
                    f"pool={pool.name} name={seat.label} state={state} version={seat.version} games={games}"
                    f" faults={faults.get(seat.label, 0)}{reason}"
                )
        return _lines(lines)

    def events(self, arguments: list[str]) -> str:
        number = _EVENTS if not arguments else _count(arguments[0], 1, MAX_ANSWER_LINES)
        found = self._need_store().events(number)
        return _lines(f"{event.at} {event.kind} {_one_line(event.text)}" for event in found)

    # -- matches ---------------------------------------------------------------------------------------------------

    def matches(self, arguments: list[str]) -> str:
        """A line for each that is being played, and for each that waits in a worker's chunk (`ply=-`)."""
        now = time.monotonic()
        found: dict[str, Record] = {}
        for record in playing(self._live):
            found[_series(record.start.match)] = record
            found[record.start.match.partition(".")[0]] = record
        return _lines(_match_line(match, found.get(match.key), now) for match in self._desk.news.under_way)

    def game(self, arguments: list[str]) -> str:
        """The facts of a match; `detail` is the rest of its line."""
        record = self._record(arguments[0])
        start, end = record.start, record.end
        options = "".join(f",{name}={value}" for name, value in start.options.items())
        lines = [f"key={start.match}", f"game={start.game}{options}", f"time={start.control}"]
        for seat, bot in enumerate(start.bots, 1):
            ms = sum(ply.ms for ply in record.plies if ply.seat == seat)
            lines += [f"seat{seat}={bot.name}", f"ms{seat}={ms}"]
        lines.append(f"plies={len(record.plies)}")
        if end is None:
            return _lines([*lines, "state=playing"])
        lines += [
            "state=over",
            f"result={end.result or 'void'}",
            f"winner={end.winner}",
            f"termination={end.termination}",
        ]
        lines += [f"culprit={end.culprit}"] if end.culprit else []
        return _lines([*lines, f"ended={end.ended}", *([f"detail={_one_line(end.detail)}"] if end.detail else [])])

    def history(self, arguments: list[str]) -> str:
        record = self._record(arguments[0])
        if len(record.plies) > MAX_ANSWER_LINES - 2:
            raise CommandFailed(f"{len(record.plies)} plies do not fit in an answer of {MAX_ANSWER_LINES} lines")
        return _lines(f"{ply.seat} {ply.colour} {ply.move}" for ply in record.plies)

    def scene(self, arguments: list[str]) -> str:
        record, plies = self._position(arguments)
        return drawing.scene(self._engine(record.start.game), self._budgets, record, plies)

    def showboard(self, arguments: list[str]) -> str:
        record, plies = self._position(arguments)
        return drawing.board(self._engine(record.start.game), self._budgets, record, plies)

    def result(self, arguments: list[str]) -> str:
        """How a series stands; with SECONDS once it is over, or after so long. `reason` is the rest of its line."""
        key = arguments[0]
        if _find(self._desk.news, key) is None:
            raise CommandFailed(f"no series {key} was asked for here: ggp-match answers its key")
        seconds = _seconds(arguments[1]) if len(arguments) > 1 else 0.0
        news = self._desk.wait(lambda news: (one := _find(news, key)) is None or one.state != "playing", seconds)
        one = _find(news, key)
        if one is None:
            raise CommandFailed(f"the series {key} is over and forgotten")
        return (
            f"key={one.key} state={one.state} game={one.game} first={one.first} second={one.second} games={one.games}"
            f" played={one.played} wins={one.wins} draws={one.draws} losses={one.losses} void={one.void}"
            + f" reason={_one_line(one.reason)}"
            * bool(one.reason)
        )

    # -- the rest --------------------------------------------------------------------------------------------------

    def wait(self, arguments: list[str]) -> str:
        """`change=N state=…`, once the change is another than CHANGE, or than it is now."""
        seconds = _seconds(arguments[0]) if arguments else _WAIT
        since = _count(arguments[1], 0, 2**63) if len(arguments) > 1 else self._desk.news.change
        news = self._desk.wait(lambda news: news.change != since, seconds)
        return f"change={news.change} state={news.state} stored={news.stored} games={news.games}"

    def games(self, arguments: list[str]) -> str:
        return drawing.games(self._engine(""), self._budgets)

    def options(self, arguments: list[str]) -> str:
        if not arguments:
            raise CommandFailed("name a game: ggp-games lists them")
        return drawing.options(self._engine(arguments[0]), self._budgets, arguments[0])

    # --------------------------------------------------------------------------------------------------------------

    @property
    def _budgets(self) -> Budgets:
        ladder = self._desk.news.ladder
        return ladder.budgets if ladder else Budgets()

    def _engine(self, game: str) -> Start:
        """That of the pool that plays the game, else of the first one, else ours."""
        ladder = self._desk.news.ladder
        pools = ladder.pools if ladder else ()
        found = [pool.engine for pool in pools if pool.setting.game == game] or [pool.engine for pool in pools]
        return found[0] if found else read_engine(None)

    def _need_store(self) -> "Store":
        if self._store is None:
            raise CommandFailed("there is no ladder: this referee plays matches only")
        return self._store

    def _pools(self, store: "Store", arguments: list[str]) -> "Sequence[PoolRow]":
        pools = store.pools()
        if not arguments:
            return pools
        found = [pool for pool in pools if arguments[0] in (pool.name, pool.key)]
        if not found:
            raise CommandFailed(f"no pool {arguments[0]}: there are {', '.join(pool.name for pool in pools) or 'none'}")
        return found

    def _record(self, key: str) -> Record:
        """Of a match that is being played, was played for a client, or is stored."""
        for record in playing(self._live):
            if key in (record.start.match, _series(record.start.match)):
                return record
        data = self._desk.ask(lambda steering: steering.extras.record(key))
        if data is None and self._store is not None:
            data = self._store.record(key)
        if data is None:
            raise CommandFailed(f"no match {key}: ggp-matches lists those that are being played")
        (record,) = read_records(data.splitlines(keepends=True))
        return record

    def _position(self, arguments: list[str]) -> tuple[Record, int]:
        record = self._record(arguments[0])
        last = len(record.plies)
        return record, _count(arguments[1], 0, last) if len(arguments) > 1 else last


def _match_line(match: UnderWay, record: Record | None, now: float) -> str:
    pool = f" pool={match.pool}" if match.pool else ""
    if record is None:
        return f"key={match.key}{pool} first={match.first} second={match.second} ply=- since={now - match.since:.1f}"
    start = record.start
    first, second = (bot.name for bot in start.bots)
    return (
        f"key={start.match}{pool} game={start.game} first={first} second={second} ply={len(record.plies)}"
        f" since={now - match.since:.1f}"
    )


def _find(news: News, key: str) -> Series | None:
    return next((one for one in news.series if one.key == key), None)


def _series(key: str) -> str:
    return key.rpartition("-")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lines(lines: Iterable[str]) -> str:
    """As many as fit in an answer; how many do not, the last one says."""
    fit: list[str] = []
    size, every = 0, list(lines)
    for line in every:
        size += len(line.encode()) + 1
        if size > _ROOM or len(fit) == MAX_ANSWER_LINES - 2:
            return "\n".join([*fit, f"cut={len(every) - len(fit)}"])
        fit.append(line)
    return "\n".join(fit)


def _count(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise CommandFailed(f"{text[:40]!r} is no number from {least} to {most}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise CommandFailed(f"{text[:40]!r} is no number of seconds from 0 to {_LONGEST_WAIT:.0f}")
    return seconds
