"""What has come for one end of a conversation and was not read yet, and at most one reader that waits for it.

The part of a Transport that suspends; where bytes come from is the owner's business.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from contextvars import Context

from protocol.errors import PeerTimeout

_FAR = 1e6  # seconds that a timer is set for at most
_NEAR = 1.0  # seconds before a deadline from which on the timer is set for it


class Inbox:
    """Chunks of bytes in order, then the end. Bounded by its owner, who knows how many answers may come.

    Almost every answer comes long before its deadline, so there is not a timer for each wait: one outlives the waits,
    looks halfway to the deadline, and is set again if somebody still waits.
    """

    __slots__ = ("__weakref__", "_chunks", "_deadline", "_ended", "_looks", "_now", "_timer", "_waiter")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._chunks: list[bytes] | None = None
        self._ended = False
        self._waiter: _Waiter | None = None
        self._deadline = 0.0  # of the waiter
        self._timer: asyncio.TimerHandle | None = None
        self._looks = 0.0  # when the timer does

    def put(self, chunk: bytes, more: bool = False) -> None:
        """`more` is awaited: whoever waits for all need not be woken for a part. Outside of tasks the reader goes on at
        once, before this returns."""
        if self._chunks is None:
            self._chunks = []
        self._chunks.append(chunk)
        if not more and self._waiter is not None:
            self._waiter.wake(in_place=True)

    def end(self) -> None:
        """Nothing more comes; what is there can still be read."""
        self._ended = True
        if self._waiter is not None:
            self._waiter.wake()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def get(self, deadline: float) -> bytes:
        """All that has come, b"" after the end. `deadline` as `now()` has it. Raises PeerTimeout."""
        while not self._chunks:
            if self._ended:
                return b""
            await self._wait(deadline)
        chunks, self._chunks = self._chunks, None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _wait(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = waiter = _Waiter(loop)
        self._deadline = deadline
        if self._timer is None or self._looks > deadline:
            self._set_timer(loop)
        try:
            await waiter
        finally:
            self._waiter = None

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        now = self._now()
        left = self._deadline - now
        wait = max(0.0, left) if left < _NEAR else min(left / 2, _FAR)
        self._looks = now + wait
        self._timer = loop.call_later(wait, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._now() < self._deadline:
            self._set_timer(asyncio.get_running_loop())
        else:
            self._waiter.wake(PeerTimeout("no whole answer before the deadline"))


class _Waiter:
    """What a reader's task waits for: a future as asyncio's, but the task can go on in place, and not in the loop's
    next turn, which costs more than most of what is done then."""

    __slots__ = ("_asyncio_future_blocking", "_callback", "_context", "_error", "_loop", "_woken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._asyncio_future_blocking = False  # what asyncio knows a future by, see asyncio.isfuture
        self._loop = loop
        self._callback: Callable[[_Waiter], object]
        self._context: Context
        self._error: BaseException | None = None
        self._woken = False

    def wake(self, error: BaseException | None = None, in_place: bool = False) -> None:
        """Once; what comes after is not looked at."""
        if self._woken:
            return
        self._woken, self._error = True, error
        if in_place and asyncio.current_task(self._loop) is None:
            self._context.run(self._callback, self)
        else:
            self._loop.call_soon(self._callback, self, context=self._context)

    def __await__(self) -> Generator["_Waiter", None, None]:
        self._asyncio_future_blocking = True
        yield self

    # -- what a task asks of a future --------------------------------------------------------------------------------

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, callback: "Callable[[_Waiter], object]", *, context: Context) -> None:
        self._callback, self._context = callback, context

    def result(self) -> None:
        if self._error is not None:
            raise self._error

    def cancel(self, msg: object = None) -> bool:
        if self._woken:
            return False
        self.wake(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True
