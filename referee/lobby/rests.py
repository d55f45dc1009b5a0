"""Who forfeits or leaves again and again rests, longer each time, so that nobody is fed and nobody's time is wasted.

Arithmetic only; the time is passed in, in seconds. What was a fault is said elsewhere.
"""

from collections import OrderedDict

FREE = 2  # faults in a row that cost no rest: a pair of games
LONGEST = 3600.0  # seconds
_MOST = 10_000  # bots that are remembered


class Rests:
    """`first`: seconds of the first rest, twice as long each time after it; 0: nobody rests."""

    def __init__(self, first: float) -> None:
        self._first = first
        self._faults: OrderedDict[str, tuple[int, float]] = OrderedDict()  # in a row, and until when it rests

    def fault(self, who: str, now: float) -> float:
        """It forfeited or left: seconds that it rests from now on."""
        times, _ = self._faults.pop(who, (0, 0.0))
        times += 1
        rest = min(LONGEST, self._first * 2.0 ** min(times - FREE - 1, 60)) if times > FREE else 0.0
        self._faults[who] = times, now + rest
        if len(self._faults) > _MOST:
            self._faults.popitem(last=False)
        return rest

    def played(self, who: str) -> None:
        """A game of its came to its end by play: all is forgotten."""
        self._faults.pop(who, None)

    def left(self, who: str, now: float) -> float:
        """Seconds that it still rests."""
        return max(0.0, self._faults.get(who, (0, 0.0))[1] - now)

    def row(self, who: str) -> int:
        """Faults in a row."""
        return self._faults.get(who, (0, 0.0))[0]
