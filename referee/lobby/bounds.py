"""What may come in at the door, and what of it is the share of one owner, whose bots have it together."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from referee.lobby.admission import Admission
from referee.lobby.allowance import Allowance, Allowances


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may come in at the door. Seconds, messages and bytes a second."""

    grace: float = 60.0
    lag: float = 0.1  # of the way's time, the most that is credited a move
    hello: float = 10.0  # a connection has so long to say who it is
    connections: int = 100  # of one owner
    matches: int = 100  # of one owner
    messages: int = 2000  # of one owner
    octets: int = 2_000_000  # of one owner
    rest: float = 60.0  # the first one of who forfeits or leaves again and again


class Shares:
    """Of owners: `bounds` for whomever `admission` knows no other limits of."""

    def __init__(self, bounds: Bounds, admission: Admission) -> None:
        self._bounds, self._admission = bounds, admission
        self._allowances = Allowances()

    def limits(self, owner: str) -> Mapping[str, int]:
        """`connections` and `matches` at a time, `messages` and `bytes` a second."""
        bounds = self._bounds
        defaults = {
            "connections": bounds.connections,
            "matches": bounds.matches,
            "messages": bounds.messages,
            "bytes": bounds.octets,
        }
        return self._admission.limits(owner, defaults)

    def allowance(self, owner: str) -> Allowance:
        """The one that all his bots use up."""
        limits = self.limits(owner)
        return self._allowances.of(owner, limits["messages"], limits["bytes"], time.monotonic())

    def forget(self, here: Collection[str], now: float) -> None:
        """What need not be kept, of owners who are not here."""
        self._allowances.drop(here, now)
