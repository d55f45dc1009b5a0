"""How many connections an address may make: a bucket for each that fills at a steady rate. The time is passed in."""

from collections import OrderedDict
from ipaddress import IPv6Address

BURST = 5.0  # seconds of the rate that may come at once
_MOST = 10_000  # addresses that are remembered
_NETWORK = 64  # bits of an IPv6 address that are one customer's


class Arrivals:
    """`rate` connections a second from one address; 0: as many as like."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # connections left, at what time

    def take(self, address: str, now: float) -> bool:
        """One more from there; False if that is too many. Whoever goes on without waiting stays out."""
        if not self._rate:
            return True
        where, most = _network(address), self._rate * BURST
        left, then = self._left.pop(where, (most, now))
        left = min(most, left + max(0.0, now - then) * self._rate) - 1
        self._left[where] = max(left, 0.0), now
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return left >= 0


def _network(address: str) -> str:
    if ":" not in address:
        return address
    try:
        whole = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(whole.ipv4_mapped or int(whole) >> (128 - _NETWORK))
