"""Rated games: who of those that are idle meets whom, in every pool. It begins meetings at the tables of a lobby."""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from referee.ladder.pairs import Pair, Seat
from referee.lobby.fixtures import Fixtures
from referee.lobby.guest import Guest
from referee.lobby.ledger import Ledger
from referee.lobby.matchmaker import Matchmaker


class Tables(Protocol):
    """Of the lobby: what whoever begins meetings needs."""

    def guests(self) -> Iterable[Guest]:
        """Who is here."""

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

    def anybody_for(self, guest: Guest) -> bool:
        """Whether somebody is here, idle or not, whom it could be rated against."""
        return any(
            other.identity.owner != guest.identity.owner and _seat(maker, other) is not None
            for maker in self.makers
            if _seat(maker, guest) is not None
            for other in self._tables.guests()
        )

    async def look(self, held: Collection[Guest] = ()) -> None:
        """Give a match to everybody who can have one, but for those. Raises StoreError."""
        tables = self._tables
        for maker in sorted(self.makers, key=lambda one: len(one.open)):
            while tables.room_left():
                present = self._present(maker, held)
                for pair in [one for one in maker.open.values() if {one.first, one.second} <= present.keys()]:
                    if {pair.first, pair.second} <= present.keys() and tables.room_left():
                        tables.begin(maker, pair, (present.pop(pair.first), present.pop(pair.second)))
                if len(present) < 2 or not tables.room_left():
                    break
                owners = {id: guest.identity.owner for id, guest in present.items()}
                made = await self._ledger.work(lambda maker=maker, owners=owners: maker.pair(owners))  # type: ignore[misc]
                maker.open |= {pair.id: pair for pair in made}
                if len(set(owners.values())) > 1:
                    for guest in present.values():  # it was offered a rated game, and may be challenged again
                        guest.challenged = False
                if not made:
                    break

    def _present(self, maker: Matchmaker, held: Collection[Guest]) -> dict[int, Guest]:
        """Who could play in this pool now, by version."""
        idle = (guest for guest in self._tables.idle() if guest not in held)
        return {seat.id: guest for guest in idle if (seat := _seat(maker, guest)) is not None}


def _seat(maker: Matchmaker, guest: Guest) -> Seat | None:
    """Its place in the pool, if it may play there."""
    seat = maker.seats.get((guest.name, guest.version))
    return seat if seat is not None and seat.active and guest.plays(maker.pool.setting.game) else None
