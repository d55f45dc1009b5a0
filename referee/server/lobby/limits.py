"""Limits of the lobby: traffic of an owner, connections of an address, pairs of two owners, back-off for faults.

Arithmetic only; the caller passes the time in, in seconds.
"""

from collections import OrderedDict, deque
from collections.abc import Collection
from ipaddress import IPv6Address, IPv6Network

from ggp.protocol.token_bucket import TokenBucket

BURST = 5.0  # seconds of a rate that may be used at once
_MOST_ADDRESSES = 10_000  # addresses that are remembered
_NETWORK = 64  # bits of an IPv6 address that identify one customer


class Allowance:
    """`messages` and `octets` a second, for one connection or for all connections of one owner.

    Two token buckets in one, because every message is counted in both.
    """

    __slots__ = ("_message_rate", "_messages", "_octet_rate", "_octets", "_then")

    def __init__(self, messages: float, octets: float, now: float) -> None:
        self._message_rate, self._octet_rate, self._then = messages, octets, now
        self._messages, self._octets = messages * BURST, octets * BURST  # that are left, negative for a debt

    def consume(self, size: int, now: float) -> bool:
        """Count one message of `size` bytes, even where that leaves a debt; False if it exceeds a limit."""
        passed, self._then = now - self._then, now
        messages, octets = self._messages, self._octets
        if passed > 0:  # a clock that ran backward adds nothing
            messages = min(self._message_rate * BURST, messages + passed * self._message_rate)
            octets = min(self._octet_rate * BURST, octets + passed * self._octet_rate)
        self._messages = messages = messages - 1
        self._octets = octets = octets - size
        return messages >= 0 and octets >= 0

    def is_full(self, now: float) -> bool:
        """Whether a new one would allow no more."""
        passed = max(0.0, now - self._then)
        messages, octets = self._messages + passed * self._message_rate, self._octets + passed * self._octet_rate
        return messages >= self._message_rate * BURST and octets >= self._octet_rate * BURST


class Allowances:
    """One allowance for each owner. It outlives the connections until it is full again, so that reconnecting gains
    nothing."""

    def __init__(self) -> None:
        self._by_owner: dict[str, Allowance] = {}

    def of(self, owner: str, messages: float, octets: float, now: float) -> Allowance:
        """The owner's allowance; a full one, at these rates, if there is none."""
        if owner not in self._by_owner:
            self._by_owner[owner] = Allowance(messages, octets, now)
        return self._by_owner[owner]

    def forget(self, here: Collection[str], now: float) -> None:
        """Delete the full allowances of owners that are not `here`."""
        if len(self._by_owner) > len(here):
            self._by_owner = {who: one for who, one in self._by_owner.items() if who in here or not one.is_full(now)}

    def __len__(self) -> int:
        return len(self._by_owner)


class KeyedBuckets:
    """A token bucket for each key; of more than `most` keys the ones used longest ago are forgotten."""

    def __init__(self, rate: float, capacity: float, most: int) -> None:
        self._rate, self._capacity, self._most = rate, capacity, most
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def try_consume(self, key: str, now: float) -> bool:
        """Remove one token of this key. A refused attempt costs nothing: among many that retry, all have the same
        chance."""
        if key not in self._buckets:
            self._buckets[key] = TokenBucket(self._rate, self._capacity, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return self._buckets[key].try_consume(1, now)

    def __len__(self) -> int:
        return len(self._buckets)


class Arrivals:
    """Limits connections to `rate` a second from one address (in IPv6 one network); 0: no limit."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._buckets = KeyedBuckets(rate, rate * BURST, _MOST_ADDRESSES)

    def allow(self, address: str, now: float) -> bool:
        """Count one connection from there; False if it exceeds the limit."""
        return not self._rate or self._buckets.try_consume(network(address), now)


def network(address: str) -> str:
    """What identifies one customer: the first 64 bits of an IPv6 address, else the address; loopback as it is."""
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
    """Limits the pairs that the same two owners play to `most` an hour."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._met: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._full: set[tuple[str, str]] = set()  # at the limit when last checked

    def add(self, one: str, other: str, now: float) -> None:
        """Count a pair of games between these owners."""
        two = (one, other) if one < other else (other, one)
        times = self._met.setdefault(two, deque(maxlen=self._most))
        self._met.move_to_end(two)
        times.append(now)
        if len(times) == self._most:
            self._full.add(two)
        if len(self._met) > _MOST_PAIRS:
            self._full.discard(self._met.popitem(last=False)[0])

    def often(self, now: float) -> set[tuple[str, str]]:
        """Pairs of owners that reached the limit in the last hour, each in alphabetical order."""
        self._full = {two for two in self._full if self._met[two][0] > now - HOUR}
        return self._full


# -- back-off ----------------------------------------------------------------------------------------------------------

FREE = 2  # consecutive faults without a back-off: a pair of games
LONGEST = 3600.0  # seconds
_MOST_BACKOFFS = 10_000  # bots that are remembered


class Backoff:
    """Exponential back-off for bots that forfeit or disconnect repeatedly; the first lasts `first` seconds, 0: none."""

    def __init__(self, first: float) -> None:
        self._first = first
        self._faults: OrderedDict[str, tuple[int, float]] = OrderedDict()  # consecutive faults, end of the back-off

    def fault(self, who: str, now: float) -> float:
        """Count a forfeit or a disconnect; returns the seconds of back-off that begin now."""
        times, _ = self._faults.pop(who, (0, 0.0))
        times += 1
        rest = min(LONGEST, self._first * 2.0 ** min(times - FREE - 1, 60)) if times > FREE else 0.0
        self._faults[who] = times, now + rest
        if len(self._faults) > _MOST_BACKOFFS:
            self._faults.popitem(last=False)
        return rest

    def played(self, who: str) -> None:
        """A game ended without a fault: reset the count."""
        self._faults.pop(who, None)

    def left(self, who: str, now: float) -> float:
        """Seconds until the back-off ends."""
        return max(0.0, self._faults.get(who, (0, 0.0))[1] - now)

    def faults(self, who: str) -> int:
        """Consecutive faults."""
        return self._faults.get(who, (0, 0.0))[0]
