"""How many connections an address may make: a bucket for each that fills at a steady rate. The time is passed in."""

from collections import OrderedDict
from ipaddress import IPv6Address, IPv6Network

BURST = 5.0  # seconds of the rate that may come at once
_MOST = 10_000  # addresses that are remembered
_NETWORK = 64  # bits of an IPv6 address that are one customer's


class Arrivals:
    """`rate` connections a second from one address; 0: as many as like."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # connections left, at what time

    def take(self, address: str, now: float) -> bool:
        """One more from there; False if that is too many. A try that is refused costs nothing: among many who try again
        and again, all have the same chance."""
        if not self._rate:
            return True
        where, most = network(address), self._rate * BURST
        left, then = self._left.pop(where, (most, now))
        left = min(most, left + max(0.0, now - then) * self._rate)
        taken = left >= 1
        self._left[where] = left - taken, now
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return taken


def network(address: str) -> str:
    """What belongs to the same customer: of IPv6 the first 64 bits, else the address; this machine's is its own."""
    if ":" not in address:
        return address
    try:
        whole = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if whole.ipv4_mapped:
        return str(whole.ipv4_mapped)
    return address if whole.is_loopback else str(IPv6Network((int(whole), _NETWORK), strict=False))
