"""ZeroMQ sockets in the event loop: binding, edge-triggered reading, a queue of bytes with deadlines, their folder.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import zmq
import zmq.backend.cython._zmq as pyzmq

from ggp.protocol.errors import AddressError, PeerTimeout
from ggp.protocol.transports import _router
from ggp.protocol.transports.zmq import HEARTBEAT_MS, SILENCE_MS, UNBOUNDED

_NOW = int(zmq.NOBLOCK)  # enums are slow to combine
TURN = 0.002  # seconds after which others in the loop have their turn, and
BURST = 200  # messages that are read before others in the loop have their turn
_HANDSHAKE_MS = 10_000


if not _router.attach(str(pyzmq.__file__)):
    raise ImportError(f"{pyzmq.__file__} does not lead to libzmq: reinstall pyzmq")


def public_socket(
    context: "zmq.Context[zmq.Socket[bytes]]", kind: int, url: str, options: Mapping[zmq.SocketOption, int]
) -> "zmq.Socket[bytes]":
    """Return a socket for strangers to connect to, which is not bound yet.

    Its queue of received messages has no bound: libzmq 4.3.5 aborts if a flood reaches one.
    """
    socket = context.socket(kind)
    for option, value in {
        zmq.LINGER: 0,
        zmq.RCVHWM: UNBOUNDED,
        zmq.HEARTBEAT_IVL: HEARTBEAT_MS,
        zmq.HEARTBEAT_TIMEOUT: SILENCE_MS,
        zmq.HANDSHAKE_IVL: _HANDSHAKE_MS,
        zmq.IPV6: int("[" in url),
        **options,
    }.items():
        socket.setsockopt(option, value)
    return socket


def bind(socket: "zmq.Socket[bytes]", url: str, advice: str = "") -> str:
    """Bind a socket, and return the address with its port. Raises AddressError."""
    try:
        socket.bind(url)
    except (zmq.ZMQError, UnicodeError) as error:
        reason = zmq.strerror(error.errno or 0) if isinstance(error, zmq.ZMQError) else str(error)
        raise AddressError(f"cannot listen at {url}: {reason}{advice}", code="cannot-listen") from None
    return bytes(socket.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")


RoutedMessage = tuple[bytes, list[bytes], bool, tuple[int, str, str] | None]
"""The route, the first frames after it, whether more follow, and the source if the route was not known.

The source is ZeroMQ's descriptor of the connection (-1: unknown), the user of its key, and its address.
"""


class RouterMessages:
    """Whole messages of a ROUTER socket, read and sent without waiting, many in one native call."""

    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self._socket = socket
        self._handle = socket.underlying

    def close(self) -> None:
        """Read and send nothing from now on. Call it before the socket is closed."""
        self._handle = 0

    def receive(self, known: dict[bytes, Any], messages: int, frames: int) -> list[RoutedMessage]:
        """Return messages that have come.

        A message with more frames than `frames`, or from a route that is not `known`, is the last one returned.

        Args:
            messages: The most to return.
            frames: The most to return of each message, without its route.

        Raises:
            zmq.ZMQError: Nothing has come, or the socket is closed.
        """
        try:
            return _router.receive(self._handle, known, messages, frames)
        except OSError as error:
            raise zmq.ZMQError(error.errno) from None

    def skip(self, frames: int) -> bool:
        """Drop frames of a message that has more of them. Return True if even more follow. Raises ZMQError."""
        return all(self._socket.recv(_NOW, copy=False).more for _ in range(frames))

    def send(self, route: bytes, kind: bytes, payloads: Sequence[bytes]) -> bool:
        """Send messages of two frames. Return False if the connection is gone or its queue is full."""
        return _router.send(self._handle, route, kind, payloads)


def new_context() -> "zmq.Context[zmq.Socket[bytes]]":
    """Return a context whose threads do not interrupt others when they wake.

    Otherwise its sending thread, on the loop's core, would send each message of a turn by itself.
    """
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.THREAD_SCHED_POLICY, os.SCHED_BATCH)
    return context


class Reading:
    """Calls `take` for every message of a socket. `take` reads one with NOBLOCK and lets zmq.Again pass."""

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
        """Look for messages whose edge a write may have consumed. Call it after every write."""
        if not self._due and self._loop is not None and _router.readable(self._handle):
            self._read_soon()

    def close(self) -> None:
        """Stop reading. Call it before the socket is closed."""
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
        """Add a chunk. With `more` to come, the reader is not woken yet."""
        if self._chunks is None:
            self._chunks = [chunk]
        else:
            self._chunks.append(chunk)
        if not more:
            self._wake()

    def end(self) -> None:
        """Mark the end. What is there can still be read."""
        self._ended = True
        self._wake()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def get(self, deadline: float) -> bytes:
        """Wait for chunks and return all that have come, b"" after the end.

        Raises:
            PeerTimeout: Nothing came before the deadline, which is a time of `now`.
        """
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
            self._waiter.set_exception(PeerTimeout("no complete answer before the deadline"))


async def quiet_moment(patience: float) -> None:
    """Wait for a turn of the loop in which no reader of an inbox is about to run, for `patience` seconds at most."""
    until = time.monotonic() + patience
    await asyncio.sleep(0)
    while Inbox.woken and time.monotonic() < until:
        await asyncio.sleep(0)


# -- folder of sockets ------------------------------------------------------------------------------------------------


_DIGITS = 12


@contextlib.contextmanager
def socket_folder(lobby: Path) -> Iterator[Path]:
    """Make the folder for the sockets of a lobby, which only this user may enter, and delete it at the end.

    What a killed run left there is deleted first. The caller ensures that no two lobbies run with the same file.

    Raises:
        OSError: The folder cannot be made.
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
    """Return the folder for the sockets of a lobby file. Its name is short, as addresses of sockets must be."""
    digest = hashlib.sha256(os.fsencode(lobby.absolute())).hexdigest()[:_DIGITS]
    return Path(tempfile.gettempdir()) / f"ggp-{os.getuid()}-{digest}"
