"""Rated games: who of those that are idle meets whom, in every pool. It begins meetings at the tables of a lobby."""

from collections.abc import Sequence
from typing import Protocol

from referee.ladder.pairs import Pair
from referee.lobby.fixtures import Fixtures
from referee.lobby.guest import Guest
from referee.lobby.ledger import Ledger
from referee.lobby.matchmaker import Matchmaker


class Tables(Protocol):
    """Of the lobby: what whoever begins meetings needs."""

    def idle(self) -> list[Guest]:
        """Who can be given a match now."""

    def room_left(self) -> bool:
        """Whether one more match can be played; never once the lobby is closing."""

    def begin(self, fixtures: Fixtures, pair: Pair, bots: tuple[Guest, Guest]) -> None:
        """Have these meet, in the order of the pair, which is theirs until it is open again."""


class Rated:
    """`makers`: of each pool one."""

    def __init__(self, makers: Sequence[Matchmaker], tables: Tables, ledger: Ledger) -> None:
        self.makers = makers
        self._tables, self._ledger = tables, ledger

    async def look(self) -> None:
        """Give a match to everybody who can have one. Raises StoreError."""
        tables = self._tables
        for maker in sorted(self.makers, key=lambda one: len(one.open)):
            while tables.room_left():
                present = self._present(maker)
                for pair in [one for one in maker.open.values() if {one.first, one.second} <= present.keys()]:
                    if {pair.first, pair.second} <= present.keys() and tables.room_left():
                        tables.begin(maker, pair, (present.pop(pair.first), present.pop(pair.second)))
                if len(present) < 2 or not tables.room_left():
                    break
                owners = {id: guest.identity.owner for id, guest in present.items()}
                made = await self._ledger.work(lambda maker=maker, owners=owners: maker.pair(owners))  # type: ignore[misc]
                maker.open |= {pair.id: pair for pair in made}
                if not made:
                    break

    def _present(self, maker: Matchmaker) -> dict[int, Guest]:
        """Who could play in this pool now, by version."""
        found: dict[int, Guest] = {}
        for guest in self._tables.idle():
            seat = maker.seats.get((guest.name, guest.version))
            if seat is not None and seat.active and guest.plays(maker.pool.setting.game):
                found[seat.id] = guest
        return found
