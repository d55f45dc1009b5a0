"""How late the event loop is: the host's own share in a late move. It decides nothing."""

import asyncio
import time

TICK = 0.01  # seconds between looks
_RECENT = 0.05  # seconds for which a delay is held against the answers that came in with it


class Lateness:
    """Ticks in the loop, and knows how much later than it should a tick came."""

    def __init__(self) -> None:
        self.worst = 0.0  # seconds, since it was last reset by whoever shows it
        self._due = time.monotonic() + TICK
        self._last = 0.0  # how late the loop was when it was last late
        self._when = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """From now on, in the running loop."""
        self._due = time.monotonic() + TICK
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def now(self, now: float) -> float:
        """Seconds by which something that is seen now may have been seen too late."""
        late = max(0.0, now - self._due)
        return max(late, self._last) if now - self._when < _RECENT else late

    def _tick(self) -> None:
        now = time.monotonic()
        late = max(0.0, now - self._due)
        self.worst = max(self.worst, late)
        if late >= self._last or now - self._when >= _RECENT:
            self._last, self._when = late, now
        self._due = now + TICK
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
