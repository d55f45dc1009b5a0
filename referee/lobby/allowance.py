"""How much somebody may send: two buckets that fill at a steady rate. Arithmetic only; the time is passed in."""

from collections.abc import Collection

BURST = 5.0  # seconds of the rate that may come at once


class Allowance:
    """`messages` and `octets` a second."""

    __slots__ = ("_messages", "_octets", "_rates", "_then")

    def __init__(self, messages: float, octets: float, now: float) -> None:
        self._rates = messages, octets
        self._messages, self._octets = messages * BURST, octets * BURST
        self._then = now

    def take(self, size: int, now: float) -> bool:
        """One message of so many bytes; False if that is more than there may be."""
        if now > self._then:
            (messages, octets), passed = self._rates, now - self._then
            self._messages = min(messages * BURST, self._messages + passed * messages)
            self._octets = min(octets * BURST, self._octets + passed * octets)
        self._then = now
        self._messages -= 1
        self._octets -= size
        return self._messages >= 0 and self._octets >= 0

    def full(self, now: float) -> bool:
        """Whether it is as good as a new one."""
        passed, (messages, octets) = now - self._then, self._rates
        return (
            self._messages + passed * messages >= messages * BURST and self._octets + passed * octets >= octets * BURST
        )


class Allowances:
    """One for each owner. It outlives his connections until it is full again: whoever leaves and comes back may send no
    more than whoever stays."""

    def __init__(self) -> None:
        self._by_owner: dict[str, Allowance] = {}

    def of(self, owner: str, messages: float, octets: float, now: float) -> Allowance:
        """His; a full one, at these rates, if he has none."""
        if owner not in self._by_owner:
            self._by_owner[owner] = Allowance(messages, octets, now)
        return self._by_owner[owner]

    def drop(self, here: Collection[str], now: float) -> None:
        """What need not be kept, of owners who are not here."""
        if len(self._by_owner) > len(here):
            self._by_owner = {who: one for who, one in self._by_owner.items() if who in here or not one.full(now)}

    def __len__(self) -> int:
        return len(self._by_owner)
