"""A token bucket: a rate limit that allows bursts. The caller passes in the time, in seconds."""


class TokenBucket:
    """A bucket that gains `rate` tokens a second up to `capacity`; it is full at time `now`."""

    __slots__ = ("_capacity", "_rate", "_then", "_tokens")

    def __init__(self, rate: float, capacity: float, now: float) -> None:
        self._rate, self._capacity = rate, capacity
        self._tokens, self._then = capacity, now

    def consume(self, tokens: float, now: float) -> bool:
        """Remove the tokens, even if the bucket goes into debt. Return False if it does."""
        self._tokens = self.available(now) - tokens
        return self._tokens >= 0

    def try_consume(self, tokens: float, now: float) -> bool:
        """Remove the tokens and return True if the bucket holds enough; otherwise return False."""
        if self.available(now) < tokens:
            return False
        self._tokens -= tokens
        return True

    def available(self, now: float) -> float:
        """Return the number of tokens in the bucket; a debt is negative."""
        if now > self._then:  # a clock that runs backward adds nothing
            self._tokens = min(self._capacity, self._tokens + (now - self._then) * self._rate)
        self._then = now
        return self._tokens

    def delay(self, now: float) -> float:
        """Return the seconds until the debt is paid, 0 without a debt."""
        return max(0.0, -self.available(now) / self._rate)
