"""What has come for one end of a conversation and was not read yet, and at most one reader that waits for it.

The part of a Transport that suspends; where bytes come from is the owner's business.
"""

import asyncio
import time
from collections.abc import Callable

from protocol.errors import PeerTimeout

_FAR = 1e6  # seconds that a timer is set for at most


class Inbox:
    """Chunks of bytes in order, then the end. Bounded by its owner, who knows how many answers may come."""

    __slots__ = ("_chunks", "_ended", "_now", "_waiter")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._chunks: list[bytes] | None = None
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None

    def put(self, chunk: bytes, more: bool = False) -> None:
        """`more` is awaited: whoever waits for all need not be woken for a part."""
        if self._chunks is None:
            self._chunks = []
        self._chunks.append(chunk)
        if not more:
            self._wake()

    def end(self) -> None:
        """Nothing more comes; what is there can still be read."""
        self._ended = True
        self._wake()

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
        wait = min(deadline - self._now(), _FAR)
        self._waiter = waiter = loop.create_future()
        timer = loop.call_later(max(0.0, wait), _give_up, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _give_up(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_exception(PeerTimeout("no whole answer before the deadline"))
