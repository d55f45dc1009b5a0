"""Where spectators come in: whatever passes between them and the stage's socket passes here, no more than may be.

ZeroMQ takes all that comes on a connection into its tree of subscriptions, a node for each byte, before it tells
anybody, and goes through the whole tree when a connection ends. A bound behind it comes too late, so it is in front,
where bytes are counted. What they say is not known here: with keys they are ciphertext.
"""

import asyncio
import contextlib
import math
import os
import socket
from collections.abc import Callable

from protocol.errors import AddressError
from protocol.transports.descriptors import shut
from referee.background import BackgroundTasks, Report
from referee.lobby.allowance import BURST, Allowance
from referee.lobby.arrivals import Arrivals, network
from referee.lobby.door import BACKLOG

OCTETS = 1600.0  # bytes a second from one connection, handshake and heartbeats among them; five times as many at once
ARRIVALS = 6.0  # connections a second from one address; five times as many at once. This machine's own as they like
SHARE = 4  # of all connections, one address has at most a quarter; this machine's own may have them all
_GREETING = 10.0  # seconds for the first bytes, and to be known
_GLANCE = 0.005  # seconds between two who come in, and two who go; and
_COURTESY = 1  # times as long as the loop was busy meanwhile
_SIGNATURE = 10  # bytes with which every connection begins
_READ = 4096
_LEAST = 64  # bytes that a read counts for, because each takes its time
_CARRIED = 64 * 1024
_RECEIVED = 16 * 1024  # bytes that the kernel keeps of what nobody has read yet
_SENT = 128 * 1024  # and for a connection that does not read
_PAUSE = 0.5  # seconds, where there are no descriptors left


class Visitor:
    """A connection: `came` so many bytes. `known` lets them pass. `address` is the network in IPv6."""

    def __init__(self, outer: socket.socket, address: str, now: float) -> None:
        self.address, self.since, self.came = address, now, 0
        self.known = asyncio.Event()
        self.outer = outer
        self.greeting = b""
        self.allowance = Allowance(math.inf, OCTETS, now)
        self.task: asyncio.Task[None] | None = None


class Turnstile:
    """Listens at `url`; at most so many come in. Raises AddressError.

    `refuse(word, address, reason)` is called for each connection that is ended here. `report`: see BackgroundTasks.
    """

    def __init__(self, url: str, connections: int, refuse: Callable[[str, str, str], None], report: Report) -> None:
        self._most, self._refuse, self._report = connections, refuse, report
        self._listening = _listen(url)
        host, port = self._listening.getsockname()[:2]
        self.url = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
        self._arrivals = Arrivals(ARRIVALS)
        self._visitors: set[Visitor] = set()
        self._by_name: dict[object, Visitor] = {}
        self._coming, self._going = asyncio.Lock(), asyncio.Lock()
        self._inside = ""
        self._accepting: BackgroundTasks | None = None

    def open(self, inside: str) -> None:
        """In the running loop. `inside`: the path of the Unix socket that they come through to."""
        self._inside = inside
        self._accepting = BackgroundTasks(self._report)
        self._accepting.keep("accept", self._accept)

    def find(self, name: object) -> Visitor | None:
        """Who comes through by the connection whose end is called so."""
        return self._by_name.get(name)

    def cut(self, visitor: Visitor) -> None:
        """There and then. Nothing if he is gone."""
        shut(visitor.outer)

    def stop(self) -> None:
        """Nobody comes in any more."""
        if self._accepting is None:
            self._listening.close()
        else:
            self._accepting.cancel()

    async def close(self, seconds: float) -> None:
        """Once the stage's socket is closed: what it still sent has so long to leave."""
        self.stop()
        if self._accepting is not None:
            await self._accepting.close()
            self._listening.close()
        tasks = [one.task for one in self._visitors if one.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- who comes ---------------------------------------------------------------------------------------------------

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                outer, address = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(_PAUSE)
                continue
            self._arrived(outer, network(str(address[0])))
            await asyncio.sleep(0)  # others have their turn, however many come

    def _arrived(self, outer: socket.socket, address: str) -> None:
        loop = asyncio.get_running_loop()
        visitor = Visitor(outer, address, loop.time())
        theirs = 1 + sum(one.address == address for one in self._visitors)
        if len(self._visitors) >= self._most:
            self._turn_away(visitor, "full", "there are as many spectators as may be")
        elif not _is_local(address) and theirs > max(1, self._most // SHARE):
            self._turn_away(visitor, "address", "too many connections from one address")
        elif not _is_local(address) and not self._arrivals.take(address, visitor.since):
            self._turn_away(visitor, "arrivals", "too many connections a second from one address")
        else:
            self._visitors.add(visitor)
            visitor.task = loop.create_task(self._serve(visitor))

    def _turn_away(self, visitor: Visitor, word: str, reason: str) -> None:
        self._refuse(word, visitor.address, reason)
        shut(visitor.outer)
        visitor.outer.close()

    async def _serve(self, visitor: Visitor) -> None:
        """From his first byte to his end."""
        try:
            with contextlib.suppress(OSError), visitor.outer, socket.socket(socket.AF_UNIX) as inner:
                visitor.outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with contextlib.suppress(OSError, TimeoutError, _Ended):
                    await self._lead_in(visitor, inner)
                visitor.outer.close()
                if visitor.known.is_set():
                    await _turn(self._going)
        except Exception as error:
            self._report("spectator", error)
        finally:
            self._visitors.discard(visitor)

    async def _lead_in(self, visitor: Visitor, inner: socket.socket) -> None:
        """Raises OSError, TimeoutError and _Ended at the end."""
        async with asyncio.timeout(_GREETING):
            first = b""
            while len(first) < _SIGNATURE:
                first += await self._read(visitor)
            await _turn(self._coming)
            inner.setblocking(False)
            inner.bind("")  # Linux gives it a name that nothing else has
            name = inner.getsockname()
            inner.connect(self._inside)
            self._by_name[name] = visitor
            try:
                await visitor.known.wait()
            finally:
                del self._by_name[name]
        loop = asyncio.get_running_loop()
        outward = loop.create_task(self._carry_out(visitor, inner))
        try:
            while True:
                await loop.sock_sendall(inner, first)
                first = await self._read(visitor)
        finally:
            outward.cancel()
            await asyncio.wait([outward])  # before the sockets are closed

    async def _read(self, visitor: Visitor) -> bytes:
        """What came of him, at least a byte. Raises _Ended, OSError."""
        loop = asyncio.get_running_loop()
        data = await loop.sock_recv(visitor.outer, _READ)
        if not data:
            raise _Ended
        visitor.came += len(data)
        visitor.greeting += data[: _SIGNATURE + 1 - len(visitor.greeting)]
        if not _is_greeting(visitor.greeting):
            self._refuse("garbage", visitor.address, "it does not speak ZMTP 3")
        elif not visitor.allowance.take(max(len(data), _LEAST), loop.time()):
            self._refuse("flood", visitor.address, f"more than {OCTETS:.0f} bytes a second for {BURST:.0f} seconds")
        else:
            return data
        shut(visitor.outer)
        raise _Ended

    async def _carry_out(self, visitor: Visitor, inner: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await loop.sock_recv(inner, _CARRIED):
                await loop.sock_sendall(visitor.outer, data)
            visitor.outer.shutdown(socket.SHUT_RDWR)  # after what is still to leave; the other way ends with it


async def _turn(queue: asyncio.Lock) -> None:
    """One after another. ZeroMQ walks through its whole tree for everybody who goes, however well he behaved; where
    that takes long they come and go more slowly, and those who stay have their share of the time."""
    loop = asyncio.get_running_loop()
    async with queue:
        due = loop.time() + _GLANCE
        await asyncio.sleep(_GLANCE)
        await asyncio.sleep(_COURTESY * max(0.0, loop.time() - due))


class _Ended(Exception):
    """There comes no more, or it may not."""


def _listen(url: str) -> socket.socket:
    host, _, port = url.removeprefix("tcp://").rpartition(":")
    host = host.strip("[]")
    six = ":" in host
    try:
        found = socket.create_server(
            ("" if host == "*" else host, 0 if port == "*" else int(port)),
            family=socket.AF_INET6 if six else socket.AF_INET,
            backlog=BACKLOG,
            dualstack_ipv6=six and socket.has_dualstack_ipv6(),
        )
    except (OSError, UnicodeError) as error:
        code = getattr(error, "errno", None) or 0
        raise AddressError(f"cannot listen at {url}: {os.strerror(code) if code > 0 else error}") from None
    found.setblocking(False)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)  # those that are accepted have the same
    found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT)
    return found


def _is_greeting(data: bytes) -> bool:
    """Whether a greeting may begin so: an older ZMTP than 3.0 does not say what message came on which connection."""
    return data[:1] == b"\xff" and data[9:10] in (b"", b"\x7f") and data[10:11] not in (b"\0", b"\1", b"\2")


def _is_local(address: str) -> bool:
    return address == "::1" or address.startswith("127.")
