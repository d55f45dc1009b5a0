"""Limits of the lobby: traffic of an owner, connections of an address, pairs of two owners, back-off for faults.

Arithmetic only; the caller passes the time in, in seconds.
"""

from collections import deque
from ipaddress import IPv6Address, IPv6Network

from cachetools import LRUCache

from ggp.protocol.token_bucket import TokenBucket

BURST = 5.0  # seconds of a rate that may be used at once
_MOST_ADDRESSES = 10_000  # addresses that are remembered
_NETWORK = 64  # bits of an IPv6 address that identify one customer


class Allowance:
    """`messages` and `octets` a second, for one connection or for all connections of one owner."""

    __slots__ = ("_messages", "_octets")

    def __init__(self, messages: float, octets: float, now: float) -> None:
        self._messages = TokenBucket(messages, messages * BURST, now)
        self._octets = TokenBucket(octets, octets * BURST, now)

    def consume(self, size: int, now: float) -> bool:
        """Count one message of `size` bytes, even where that leaves a debt; return False if it exceeds a limit."""
        within = self._messages.consume(1, now)
        return self._octets.consume(size, now) and within


class KeyedBuckets:
    """A token bucket for each of the `most` keys that were used last."""

    def __init__(self, rate: float, capacity: float, most: int = _MOST_ADDRESSES) -> None:
        self._rate, self._capacity = rate, capacity
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(most)

    def try_consume(self, key: str, now: float) -> bool:
        """Remove one token of a key. Return False if there is none.

        A refused attempt costs nothing, so that all of many that retry have the same chance.
        """
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket(self._rate, self._capacity, now)
        return bucket.try_consume(1, now)

    def __len__(self) -> int:
        return len(self._buckets)


def network(address: str) -> str:
    """Return what identifies one customer: the first 64 bits of an IPv6 address, or the whole address."""
    if ":" not in address:
        return address
    try:
        whole = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if whole.ipv4_mapped:
        return str(whole.ipv4_mapped)
    return address if whole.is_loopback else str(IPv6Network((int(whole), _NETWORK), strict=False))


# -- pairs of the same two owners --------------------------------------------------------------------------------------

HOUR = 3600.0  # seconds
_MOST_PAIRS = 100_000  # pairs of owners that are remembered


CLOCK_JUMP = 60.0  # seconds


class ClockWatch:
    """Notices when the wall clock is set: keys expire by it, records are dated by it, durations are not measured by it.

    Args of all methods: the same moment by the wall clock and by CLOCK_MONOTONIC, in seconds.
    """

    def __init__(self, wall: float, monotonic: float) -> None:
        self._apart = wall - monotonic

    def jump(self, wall: float, monotonic: float) -> float:
        """Return by how many seconds the wall clock was set since the last jump, 0 while it is less than a minute."""
        by = wall - monotonic - self._apart
        if abs(by) < CLOCK_JUMP:
            return 0.0
        self._apart += by
        return by


class Frequency:
    """The limit on the pairs that the same two owners play: `most` an hour."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._met: LRUCache[tuple[str, str], deque[float]] = LRUCache(_MOST_PAIRS)
        self._full: set[tuple[str, str]] = set()  # at the limit when last checked

    def add(self, one: str, other: str, now: float) -> None:
        """Count a pair of games between these owners."""
        two = (one, other) if one < other else (other, one)
        times = self._met[two] = self._met.get(two) or deque(maxlen=self._most)
        times.append(now)
        if len(times) == self._most:
            self._full.add(two)

    def often(self, now: float) -> set[tuple[str, str]]:
        """Return the pairs of owners that reached the limit in the last hour, each in alphabetical order."""
        self._full = {two for two in self._full if (times := self._met.get(two)) and times[0] > now - HOUR}
        return self._full


# -- back-off ----------------------------------------------------------------------------------------------------------

FREE = 2  # consecutive faults without a back-off: a pair of games
LONGEST = 3600.0  # seconds
_MOST_BACKOFFS = 10_000  # bots that are remembered


class Backoff:
    """Exponential back-off for bots that forfeit or disconnect repeatedly; the first lasts `first` seconds, 0: none."""

    def __init__(self, first: float) -> None:
        self._first = first
        # Consecutive faults, and the end of the back-off.
        self._faults: LRUCache[str, tuple[int, float]] = LRUCache(_MOST_BACKOFFS)

    def fault(self, who: str, now: float) -> float:
        """Count a forfeit or a disconnect, and return the seconds of back-off that begin now."""
        times, _ = self._faults.pop(who, (0, 0.0))
        times += 1
        rest = min(LONGEST, self._first * 2.0 ** min(times - FREE - 1, 60)) if times > FREE else 0.0
        self._faults[who] = times, now + rest
        return rest

    def played(self, who: str) -> None:
        """Reset the count after a game without a fault."""
        self._faults.pop(who, None)

    def left(self, who: str, now: float) -> float:
        """Return the seconds until the back-off ends."""
        return max(0.0, self._faults.get(who, (0, 0.0))[1] - now)

    def faults(self, who: str) -> int:
        """Return the number of consecutive faults."""
        return self._faults.get(who, (0, 0.0))[0]
