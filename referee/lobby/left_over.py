"""The matches of the run before: what was finished is kept, what was not goes on when both bots are back.

The files of `live` say which they were. A bot that a match waits for is given no other match.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from protocol.records import MatchEnded, Record
from referee.ladder.pairs import Pair
from referee.ladder.work import make_setup, pair_name
from referee.lobby.fixtures import Fixtures
from referee.lobby.guest import DIALLED, Guest
from referee.lobby.ledger import Game
from referee.lobby.meeting import Room
from referee.play.match import EARLY
from referee.play.outcome import Fault, Termination, forfeit
from referee.play.seating import Start
from referee.play.series import played

_ABSENT = "it did not come back after the server was started again"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A match that was not finished: `bots` by name and version, in the order of the pair."""

    fixtures: Fixtures
    pair: Pair
    bots: tuple[tuple[str, str], tuple[str, str]]
    record: Record


class LeftOver:
    """`begin` before anybody is paired; `until`: how long bots are waited for (time.monotonic)."""

    def __init__(self, room: Room) -> None:
        self.until = 0.0
        self._room = room
        self._waiting: dict[int, Waiting] = {}  # by pair

    def begin(self, all_fixtures: Sequence[Fixtures]) -> None:
        """From the files that the run before left. Raises StoreError."""
        for record, lines in self._room.live.left():
            if not self._take_up(all_fixtures, record, lines):
                self._room.live.done(record.start.match)

    def reserved(self) -> Counter[tuple[str, str]]:
        """How often a bot is waited for, by name and version."""
        return Counter(bot for one in self._waiting.values() for bot in one.bots)

    def back(self, guests: Sequence[Guest]) -> Iterator[tuple[Waiting, tuple[Guest, Guest]]]:
        """The matches whose bots are both ready again, which wait no more."""
        here: dict[tuple[str, str], list[Guest]] = {}
        for guest in guests if self._waiting else ():
            here.setdefault((guest.name, guest.version), []).append(guest)
        for id, one in list(self._waiting.items()):
            first, second = one.bots
            if here.get(first) and here.get(second):
                del self._waiting[id]
                yield one, (here[first].pop(), here[second].pop())

    async def expire(self, guests: Iterable[Guest]) -> None:
        """Once `until` is past, a bot that has not come back loses, from ply 2 on, to one that has. Others are void.

        Raises StoreError.
        """
        if not self._waiting or time.monotonic() <= self.until:
            return
        here = {(guest.name, guest.version) for guest in guests if guest.player is not None and guest.line.route}
        for id, one in list(self._waiting.items()):
            absent = [bot for bot in one.bots if bot not in here]
            if absent:
                del self._waiting[id]
                await self._end(one, absent)

    async def _end(self, one: Waiting, absent: Sequence[tuple[str, str]]) -> None:
        room, start, left = self._room, one.record.start, None
        seats = [seat for seat, bot in enumerate(start.bots, 1) if bot.command == DIALLED and bot.name == absent[0][0]]
        if len(absent) == 1 and seats and len(one.record.plies) >= len(start.opening) + EARLY:
            record = _lost_by(one.record, seats[0])
            _, game, attempt = _key_parts(start.match)
            results = await room.ledger.keep(self._game(one.fixtures, one.pair, game, attempt, record, record.lines()))
            for result in results:
                one.fixtures.fix(result)
            if not results:
                left = await room.ledger.work(lambda: one.fixtures.still_open(one.pair))
            room.journal.tell("game", "disconnected", match=start.match, culprit=absent[0][0], detail=_ABSENT)
        else:
            left = one.pair
            room.journal.tell("void", "restart", match=start.match, reason=_ABSENT)
        one.fixtures.give_back(one.pair, left)
        room.live.done(start.match)

    def _take_up(self, all_fixtures: Sequence[Fixtures], record: Record, lines: bytes) -> bool:
        """Whether it is to be played on; a match that was finished is kept, if its pair is still open."""
        series, game, attempt = _key_parts(record.start.match)
        for fixtures in all_fixtures:
            for pair in (*fixtures.open.values(), *fixtures.taken.values()):
                if pair_name(self._room.series, fixtures.pool, pair.number) == series:
                    if record.end is not None:
                        self._keep_finished(fixtures, pair, game, attempt, record, lines)
                        return False
                    if pair.id in self._waiting or game in pair.played:
                        return False
                    bots = {seat.id: bot for bot, seat in fixtures.seats.items()}
                    fixtures.take(pair)
                    self._waiting[pair.id] = Waiting(fixtures, pair, (bots[pair.first], bots[pair.second]), record)
                    return True
        return False

    def _keep_finished(
        self, fixtures: Fixtures, pair: Pair, game: int, attempt: int, record: Record, lines: bytes
    ) -> None:
        for result in self._room.ledger.add_now(self._game(fixtures, pair, game, attempt, record, lines)):
            fixtures.fix(result)
        fixtures.load()

    def _game(self, fixtures: Fixtures, pair: Pair, game: int, attempt: int, record: Record, lines: bytes) -> Game:
        names = [bot.name for bot in record.start.bots]
        one, two = names if game == 0 else reversed(names)
        starts = {pair.first: Start(one, DIALLED), pair.second: Start(two, DIALLED)}
        setup = make_setup(self._room.series, pair, fixtures.pool, starts, self._room.budgets)
        return Game(pair, game, attempt, played(setup, game, record), lines)


def _key_parts(key: str) -> tuple[str, int, int]:
    """`SERIES-GAME.ATTEMPT` -> the series, the game from 0, the attempt."""
    series, _, number = key.rpartition("-")
    game, _, attempt = number.partition(".")
    return series, int(game) - 1, int(attempt or 0)


def _lost_by(record: Record, seat: int) -> Record:
    """The record with its end: that seat did not come back."""
    last = record.plies[-1]
    black = last.seat if (last.colour == "black") != (last.move == "swap-sides") else 3 - last.seat
    fault = Fault(Termination.DISCONNECTED, _ABSENT)
    outcome = forfeit(fault, seat, black)
    end = MatchEnded(
        seq=len(record.plies) + 1,
        match=record.start.match,
        result=outcome.result,
        winner=outcome.winner,
        termination=outcome.termination,
        culprit=outcome.culprit,
        detail=outcome.detail,
        plies=len(record.plies),
        ended=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
    return Record(record.start, record.plies, end)
