"""What one address may cost: requests a second, and milliseconds of the server's work."""

import math
import threading
import time
from contextvars import ContextVar

from ggp.protocol.token_bucket import TokenBucket

RATE, BURST = 50.0, 400.0  # requests a second of an address, and at once
WORK, WORK_BURST = 250.0, 5000.0  # ms of work a second for an address, and at once


class Visitor:
    """One address and its two buckets. Any thread may call it."""

    def __init__(self, address: str, now: float) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._requests = TokenBucket(RATE, BURST, now)
        self._work = TokenBucket(WORK, WORK_BURST, now)

    def try_request(self) -> bool:
        """Count a request; return False if there were too many."""
        with self._lock:
            return self._requests.try_consume(1, time.monotonic())

    def spend(self, seconds: float) -> None:
        """Charge work that was done for this address."""
        with self._lock:
            self._work.consume(1000 * seconds, time.monotonic())

    def debt(self) -> float:
        """Return the seconds until the work done so far is paid for; 0 if more may be asked for now."""
        with self._lock:
            return self._work.delay(time.monotonic())

    def wait(self) -> int:
        """Return the debt in whole seconds, rounded up."""
        return math.ceil(self.debt())


VISITOR: ContextVar[Visitor | None] = ContextVar("VISITOR", default=None)
"""Who sent the request that is being answered; None for what the site does by itself."""

PATIENT: ContextVar[bool] = ContextVar("PATIENT", default=False)
"""Whether reading may take longer than a visitor waits, because its result is kept for the next one."""
