"""ZeroMQ sockets in the event loop: edge-triggered reading, a byte queue with deadlines, the folder of sockets.

The descriptor of a ZeroMQ socket is edge-triggered: after an event the reader reads until nothing is left, and polls
again after every write, because a write may consume the edge. Measured with 50 peers, an echo takes 7 µs of the loop's
thread this way and 36 µs under zmq.asyncio, whose futures cost more than the messages.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import zmq

from ggp.protocol.errors import PeerTimeout

_EVENTS, _IN = int(zmq.EVENTS), int(zmq.POLLIN)  # enums are slow to combine
TURN = 0.002  # seconds after which others in the loop have their turn, and
BURST = 200  # messages that are read before others in the loop have their turn


class Reading:
    """Calls `take`, which reads one message with NOBLOCK and lets zmq.Again pass, as often as there is one."""

    def __init__(self, socket: "zmq.Socket[bytes]", take: Callable[[], None]) -> None:
        self._socket = socket
        self._descriptor = int(socket.getsockopt(zmq.FD))
        self._take = take
        self.full = 0  # turns in which more came than was read
        self._due = False  # the socket is read in this turn of the loop
        self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        self._loop.add_reader(self._descriptor, self._read)
        self.poll_again()

    @property
    def open(self) -> bool:
        return self._loop is not None

    def poll_again(self) -> None:
        """To be called after every write. Where nothing has come the next message is an edge again."""
        if not self._due and self._loop is not None and int(self._socket.getsockopt(_EVENTS)) & _IN:
            self._due = True
            self._loop.call_soon(self._read)

    def close(self) -> None:
        """Before the socket is."""
        if self._loop is not None:
            self._loop.remove_reader(self._descriptor)
            self._loop = None

    def _read(self) -> None:
        self._due = False
        take, until = self._take, time.monotonic() + TURN
        try:
            for _ in range(BURST):
                if self._loop is None:
                    return
                take()
                if time.monotonic() > until:
                    break
        except zmq.Again:
            return
        except BaseException:  # the caller handles it, and what waits behind it is read
            self.poll_again()
            raise
        self.full += 1
        self.poll_again()


# -- byte queue -------------------------------------------------------------------------------------------------------


_FAR = 1e6  # seconds of a timer, at most
_NEAR = 1.0  # seconds before a deadline in which the timer is set for the deadline itself


class Inbox:
    """Chunks of bytes in order, then the end. Its owner bounds it: it knows how many answers may come.

    Almost every answer comes long before its deadline, so a timer outlives the waits: it fires halfway to the deadline,
    and is set again if the reader still waits.
    """

    __slots__ = ("__weakref__", "_chunks", "_deadline", "_ended", "_fires", "_now", "_timer", "_waiter")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._chunks: list[bytes] | None = None
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = 0.0  # of the waiter
        self._timer: asyncio.TimerHandle | None = None
        self._fires = 0.0  # when the timer does

    def put(self, chunk: bytes, more: bool = False) -> None:
        """`more` is to come: the reader is not woken for a part."""
        if self._chunks is None:
            self._chunks = []
        self._chunks.append(chunk)
        if not more:
            self._wake()

    def end(self) -> None:
        """Nothing more comes; what is there can still be read."""
        self._ended = True
        self._wake()
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
        self._waiter = waiter = loop.create_future()
        self._deadline = deadline
        if self._timer is None or self._fires > deadline:
            self._set_timer(loop)
        try:
            await waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        now = self._now()
        left = self._deadline - now
        wait = max(0.0, left) if left < _NEAR else min(left / 2, _FAR)
        self._fires = now + wait
        self._timer = loop.call_later(wait, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._now() < self._deadline:
            self._set_timer(asyncio.get_running_loop())
        else:
            self._waiter.set_exception(PeerTimeout("no whole answer before the deadline"))


# -- folder of sockets ------------------------------------------------------------------------------------------------


_DIGITS = 12


@contextlib.contextmanager
def socket_folder(lobby: Path) -> Iterator[Path]:
    """Makes the folder, which only this user may enter and whose name is short, as those of sockets must be; deletes
    it at the end, and what a killed run left of it.

    The caller ensures that no two lobbies run with the same file. Raises OSError.
    """
    folder = folder_of(lobby)
    with contextlib.suppress(FileNotFoundError):
        if not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid():
            shutil.rmtree(folder)
    try:
        folder.mkdir(0o700)
    except FileExistsError:  # another user's folder, which might be a trap
        folder = Path(tempfile.mkdtemp(prefix="ggp-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(lobby: Path) -> Path:
    """The folder for the sockets of the lobby with this file, unless it is another user's."""
    digest = hashlib.sha256(os.fsencode(lobby.absolute())).hexdigest()[:_DIGITS]
    return Path(tempfile.gettempdir()) / f"ggp-{os.getuid()}-{digest}"
