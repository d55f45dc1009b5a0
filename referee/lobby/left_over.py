"""The matches of the run before: what was finished is kept, what was not goes on when both bots are back.

Which they were, their files say (live). Bots of a match that waits for them are given no other.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from protocol.records import Record
from referee.ladder.pairs import Pair
from referee.ladder.work import make_setup, pair_name
from referee.lobby.fixtures import Fixtures
from referee.lobby.guest import DIALLED, Guest
from referee.lobby.ledger import Game
from referee.lobby.meeting import Room
from referee.play.seating import Start
from referee.play.series import played


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
        """The matches whose bots are here again, which wait no more; after `until` no match does."""
        here: dict[tuple[str, str], list[Guest]] = {}
        for guest in guests if self._waiting else ():
            here.setdefault((guest.name, guest.version), []).append(guest)
        late = time.monotonic() > self.until
        for id, one in list(self._waiting.items()):
            first, second = one.bots
            if here.get(first) and here.get(second):
                del self._waiting[id]
                yield one, (here[first].pop(), here[second].pop())
            elif late:
                del self._waiting[id]
                one.fixtures.give_back(one.pair, one.pair)
                key = one.record.start.match
                self._room.live.done(key)
                self._room.journal.tell("void", "restart", match=key, reason="its bots did not come back")

    def _take_up(self, all_fixtures: Sequence[Fixtures], record: Record, lines: bytes) -> bool:
        """Whether it is to be played on; a match that was finished is kept, if its pair is still open."""
        series, _, number = record.start.match.rpartition("-")
        for fixtures in all_fixtures:
            for pair in (*fixtures.open.values(), *fixtures.taken.values()):
                if pair_name(self._room.series, fixtures.pool, pair.number) == series:
                    game, _, attempt = number.partition(".")
                    if record.end is not None:
                        self._keep_finished(fixtures, pair, int(game) - 1, int(attempt or 0), record, lines)
                        return False
                    if pair.id in self._waiting or int(game) - 1 in pair.played:
                        return False
                    bots = {seat.id: bot for bot, seat in fixtures.seats.items()}
                    fixtures.take(pair)
                    self._waiting[pair.id] = Waiting(fixtures, pair, (bots[pair.first], bots[pair.second]), record)
                    return True
        return False

    def _keep_finished(
        self, fixtures: Fixtures, pair: Pair, game: int, attempt: int, record: Record, lines: bytes
    ) -> None:
        room, names = self._room, [bot.name for bot in record.start.bots]
        one, two = names if game == 0 else reversed(names)
        starts = {pair.first: Start(one, DIALLED), pair.second: Start(two, DIALLED)}
        setup = make_setup(room.series, pair, fixtures.pool, starts, room.budgets)
        facts = played(setup, game, record)
        for result in room.ledger.add_now(Game(pair, game, attempt, facts, lines)):
            fixtures.fix(result)
        fixtures.load()
