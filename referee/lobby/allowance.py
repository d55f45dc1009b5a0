"""How much somebody may send: two buckets that fill at a steady rate. Arithmetic only; the time is passed in."""

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
        messages, octets = self._rates
        passed = max(0.0, now - self._then)
        self._then = now
        self._messages = min(messages * BURST, self._messages + passed * messages) - 1
        self._octets = min(octets * BURST, self._octets + passed * octets) - size
        return self._messages >= 0 and self._octets >= 0
