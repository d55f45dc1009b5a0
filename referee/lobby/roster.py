"""Who has ever been here, as the store has them entered: newcomers and new versions join while the lobby runs.

Bots that are away stay entered; local bots are entered as the file says, before they are here. Whom to pair is nobody's
question here.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from referee.ladder.entries import Entrant, Ladder
from referee.lobby.guest import DIALLED, Guest
from referee.lobby.ledger import Ledger
from referee.play.seating import Start
from referee.store.store import Store

VERSIONS = 20  # of one bot that are entered in an hour: each stays in the store
_HOUR = 3600.0  # seconds


class Roster:
    """`begin` before the ledger is open, then `enrol` as often as somebody may have come. Both raise StoreError."""

    def __init__(self, ladder: Ladder, store: Store, ledger: Ledger) -> None:
        self._ladder, self._store, self._ledger = ladder, store, ledger
        self._known: dict[str, Entrant] = {}
        self._changes: dict[str, deque[float]] = {}  # of each bot, the last ones in this run

    def begin(self) -> dict[str, int]:
        """The rows of the pools by name; whoever was entered still is."""
        keys = {pool.key: pool.name for pool in self._ladder.pools}
        pools: dict[tuple[str, str], list[str]] = {}
        for row in self._store.pools(unrated=True):
            for seat in self._store.seats(row.id):
                if seat.entered and row.key in keys:
                    pools.setdefault((seat.name, seat.version), []).append(keys[row.key])
        for (name, version), theirs in pools.items():
            self._known[name] = Entrant(name, Start(name, DIALLED, version=version), tuple(theirs))
        self._known |= {bot.name: bot for bot in self._ladder.bots}
        return self._store.enrol(self._with(self._known))

    async def enrol(self, guests: Iterable[Guest], then: Callable[[], None], now: float) -> list[Guest]:
        """Newcomers, and new versions of those who are known; `then` is called in the ledger's thread.

        Who is another version too often is not entered, but returned.
        """
        changed = [guest for guest in guests if self._known.get(guest.name) != guest.entry(self._ladder.pools)]
        restless = [guest for guest in changed if self._too_often(guest.name, now)]
        new = {guest.name: guest.entry(self._ladder.pools) for guest in changed if guest not in restless}
        if not new:
            return restless
        known_then = {**self._known, **new}
        ladder = self._with(known_then)

        def enrol() -> None:
            self._store.enrol(ladder)
            then()

        await self._ledger.work(enrol)
        self._known = known_then
        return restless

    def _too_often(self, name: str, now: float) -> bool:
        if name not in self._known:
            return False
        times = self._changes.setdefault(name, deque(maxlen=VERSIONS))
        if len(times) == VERSIONS and times[0] > now - _HOUR:
            return True
        times.append(now)
        return False

    def _with(self, known: dict[str, Entrant]) -> Ladder:
        return replace(self._ladder, bots=tuple(known.values()))
