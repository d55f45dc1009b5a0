"""How often the same two have met of late: a cap on that, for whoever pairs. Arithmetic only; the time is passed in."""

from collections import OrderedDict, deque

HOUR = 3600.0  # seconds
_MOST = 100_000  # twos that are remembered


class Frequency:
    """`most` meetings of the same two an hour."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._met: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._full: set[tuple[str, str]] = set()  # some of them a while ago

    def add(self, one: str, other: str, now: float) -> None:
        """They meet."""
        two = (one, other) if one < other else (other, one)
        times = self._met.setdefault(two, deque(maxlen=self._most))
        self._met.move_to_end(two)
        times.append(now)
        if len(times) == self._most:
            self._full.add(two)
        if len(self._met) > _MOST:
            self._full.discard(self._met.popitem(last=False)[0])

    def often(self, now: float) -> set[tuple[str, str]]:
        """Those who have met so often in the last hour, each two in order."""
        self._full = {two for two in self._full if self._met[two][0] > now - HOUR}
        return self._full
