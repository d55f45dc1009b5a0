"""How late the event loop is: the host's own share in a late answer. It decides nothing."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

TICK = 0.01  # seconds between looks
STANDSTILL = 0.05  # seconds; a delay so long counts for whoever was asked meanwhile, whenever he answers
_RECENT = 0.05  # seconds for which a shorter delay is held against the answers that came in with it
_MOST = 16  # standstills that are remembered


class Lateness:
    """Ticks in the loop, and knows how much later than it should a tick came. `now` in seconds, never backwards."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.worst = 0.0  # seconds, since it was last reset by whoever shows it
        self._now = now
        self._due = math.inf  # nobody looks yet
        self._stood: deque[tuple[float, float]] = deque(maxlen=_MOST)  # from when to when, latest last
        self._last = self._when = 0.0  # the last shorter delay, and when it ended
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """From now on, in the running loop."""
        self._due = self._now() + TICK
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def between(self, asked: float, now: float) -> float:
        """Seconds since `asked` in which the loop could neither send nor see anything: all standstills, and the
        delay in which what is seen `now` may have come."""
        due = self._due
        late = now - due if now > due > asked else now - asked if now > asked >= due else 0.0
        if now - self._when < _RECENT:
            late += max(0.0, self._when - max(asked, self._when - self._last))
        for began, ended in reversed(self._stood):
            if ended <= asked:
                break
            late += ended - max(asked, began)
        return late

    def _tick(self) -> None:
        try:
            self._look()
        finally:  # whatever was wrong with one look, there is a next one
            self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def _look(self) -> None:
        now, due = self._now(), self._due
        late = max(0.0, now - due)
        self.worst = max(self.worst, late)
        if late >= STANDSTILL:
            self._stood.append((due, now))
        elif late >= self._last or now - self._when >= _RECENT:
            self._last, self._when = late, now
        self._due = now + TICK
