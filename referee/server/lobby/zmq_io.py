"""ZeroMQ sockets in the event loop: edge-triggered reading, the messages of a ROUTER, a byte queue with deadlines, the
folder of sockets.

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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import zmq
import zmq.backend.cython._zmq as pyzmq

from ggp.protocol.errors import PeerTimeout
from ggp.protocol.transports import _router

_NOW = int(zmq.NOBLOCK)  # enums are slow to combine
TURN = 0.002  # seconds after which others in the loop have their turn, and
BURST = 200  # messages that are read before others in the loop have their turn


if not _router.attach(str(pyzmq.__file__)):
    raise ImportError(f"{pyzmq.__file__} does not lead to libzmq: reinstall pyzmq")


RoutedMessage = tuple[bytes, list[bytes], bool, tuple[int, str, str] | None]
"""The route, the first frames after it, whether more follow, and its source if the route was not known: ZeroMQ's
descriptor of the connection (-1: unknown), the user of its key, its address."""


class RouterMessages:
    """Whole messages of a ROUTER socket, read and sent without waiting, many in one native call."""

    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self._socket = socket
        self._handle = socket.underlying

    def close(self) -> None:
        """Before the socket is: nothing is read or sent any more."""
        self._handle = 0

    def receive(self, known: dict[bytes, Any], messages: int, frames: int) -> list[RoutedMessage]:
        """Some of the messages that have come, at most so many, with at most so many frames behind the route of each.
        One that has more frames, or comes from a route that is not `known`, is the last of them. Raises ZMQError."""
        try:
            return _router.receive(self._handle, known, messages, frames)
        except OSError as error:
            raise zmq.ZMQError(error.errno) from None

    def skip(self, frames: int) -> bool:
        """Drop so many frames of a message that has more of them; whether it has still more. Raises ZMQError."""
        return all(self._socket.recv(_NOW, copy=False).more for _ in range(frames))

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        """Send messages of two frames. False: the connection is gone, or its queue is full."""
        return _router.send(self._handle, route, kind, payloads)


def new_context() -> "zmq.Context[zmq.Socket[bytes]]":
    """A context whose threads do not interrupt others when they wake: the one that sends would send each message of a
    turn by itself where it shares the loop's core."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.THREAD_SCHED_POLICY, os.SCHED_BATCH)
    return context


class Reading:
    """Calls `take`, which reads one message with NOBLOCK and lets zmq.Again pass, as often as there is one."""

    def __init__(self, socket: "zmq.Socket[bytes]", take: Callable[[], None]) -> None:
        self._socket, self._handle = socket, socket.underlying
        self._descriptor = int(socket.getsockopt(zmq.FD))
        self._take = take
        self.full = 0  # turns in which more came than was read
        self._due = False  # the socket is read now, or in this turn of the loop
        self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        self._loop.add_reader(self._descriptor, self._read)
        self.poll_again()

    @property
    def open(self) -> bool:
        return self._loop is not None

    def poll_again(self) -> None:
        """To be called after every write. Where nothing has come the next message is an edge again."""
        if not self._due and self._loop is not None and _router.readable(self._handle):
            self._read_soon()

    def close(self) -> None:
        """Before the socket is."""
        if self._loop is not None:
            self._loop.remove_reader(self._descriptor)
            self._loop = None

    def _read_soon(self) -> None:
        if self._loop is not None:
            self._due = True
            self._loop.call_soon(self._read)

    def _read(self) -> None:
        self._due = True  # what is written meanwhile consumes no edge: reading goes on until nothing is left
        take, until = self._take, time.monotonic() + TURN
        try:
            for _ in range(BURST):
                if self._loop is None:
                    return
                take()
                if time.monotonic() > until:
                    break
        except zmq.Again:
            self._due = False
            return
        except BaseException:  # the caller handles it, and what waits behind it is read
            self._read_soon()
            raise
        self.full += 1
        self._read_soon()  # `take` may hold what came


# -- byte queue -------------------------------------------------------------------------------------------------------


_FAR = 1e6  # seconds of a timer, at most
_NEAR = 1.0  # seconds before a deadline in which the timer is set for the deadline itself


class Inbox:
    """Chunks of bytes in order, then the end. Its owner bounds it: it knows how many answers may come.

    Almost every answer comes long before its deadline, so a timer outlives the waits: it fires halfway to the deadline,
    and is set again if the reader still waits.
    """

    woken = 0  # readers of all inboxes for whom something has come, and who have not run since

    __slots__ = ("__weakref__", "_chunks", "_deadline", "_ended", "_fires", "_now", "_timer", "_waiter", "_woken")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._chunks: list[bytes] | None = None
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._woken = False  # the waiter is counted in `woken`
        self._deadline = 0.0  # of the waiter
        self._timer: asyncio.TimerHandle | None = None
        self._fires = 0.0  # when the timer does

    def put(self, chunk: bytes, more: bool = False) -> None:
        """`more` is to come: the reader is not woken for a part."""
        if self._chunks is None:
            self._chunks = [chunk]
        else:
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
            loop = asyncio.get_running_loop()
            self._waiter = waiter = loop.create_future()
            self._deadline = deadline
            if self._timer is None or self._fires > deadline:
                self._set_timer(loop)
            try:
                await waiter
            finally:
                self._waiter = None
                del waiter  # its exception knows this frame
                if self._woken:
                    self._woken = False
                    Inbox.woken -= 1
        chunks, self._chunks = self._chunks, None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
            self._woken = True
            Inbox.woken += 1

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


async def quiet_moment(patience: float) -> None:
    """Wait for a turn of the loop in which no reader of an inbox is about to run, so many seconds at most."""
    until = time.monotonic() + patience
    await asyncio.sleep(0)
    while Inbox.woken and time.monotonic() < until:
        await asyncio.sleep(0)


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
