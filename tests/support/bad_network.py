"""Bad networks: a TCP proxy that delays, cuts and stalls, and a network that loses packets.

The proxy needs no privileges: within a connection it neither loses nor reorders bytes. The lossy network needs root and
/dev/net/tun (`available`): the calling thread, and what it starts, moves to a network namespace. Packets to THERE come
to a TUN device, which exchanges their two addresses (this changes no checksum) and returns them late or not at all.
TCP sends lost ones again.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time
from pathlib import Path
from random import Random


class LossyProxy:
    """Listens on `port` and passes on to `target`, in a thread of its own; all settings may change while it runs.

    delay, jitter: seconds that each chunk waits, one way. `stalled`: nothing passes, without a word to either end.
    """

    def __init__(self, target: tuple[str, int], seed: int = 1) -> None:
        self.delay = self.jitter = 0.0
        self.stalled = False
        self.connections = 0  # accepted so far
        self._target, self._chance = target, Random(seed)
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def cut(self, share: float = 1.0) -> None:
        """Reset this share of the connections, chosen at random."""
        self._loop.call_soon_threadsafe(self._cut, share)

    def close(self) -> None:
        """Reset all, and end the thread."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def _cut(self, share: float) -> None:
        for writer in list(self._writers):
            if self._chance.random() < share:
                writer.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        self._cut(1.0)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        ways = [asyncio.ensure_future(way) for way in (self._pass(reader, back), self._pass(there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for one in (writer, back):
                self._writers.discard(one)
                one.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Chunks in order, each when its time has come."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(1000)

        async def deliver() -> None:
            data = b"any"
            while data:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                while self.stalled:
                    await asyncio.sleep(0.01)
                writer.write(data)
                await writer.drain()

        delivering = asyncio.ensure_future(deliver())
        try:
            with contextlib.suppress(OSError):
                data = b"any"
                while data:
                    data = await reader.read(65536)
                    await queue.put((loop.time() + self.delay + self.jitter * self._chance.random(), data))
                await delivering  # what was said before the end
        finally:
            delivering.cancel()


HERE, THERE = "198.18.7.1", "198.18.7.2"  # of those that are set aside for measurements (RFC 2544)
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SET_DEVICE, _TUN, _BARE = 0x400454CA, 1, 0x1000  # TUNSETIFF, IFF_TUN, IFF_NO_PI
_libc = ctypes.CDLL(None, use_errno=True)


def available() -> bool:
    return os.geteuid() == 0 and Path("/dev/net/tun").exists()


class LossyNetwork:
    """A context manager. `loss`: the share of packets, each way; seconds of `delay`, give or take `jitter`."""

    def __init__(self, loss: float, delay: float, jitter: float, seed: int = 1) -> None:
        self.passed = self.lost = 0  # packets
        self._loss, self._delay, self._jitter, self._chance = loss, delay, jitter, Random(seed)
        self._ended = threading.Event()

    def __enter__(self) -> "LossyNetwork":
        self._before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _check(_libc.unshare(_NEW_NETWORK))
        self._tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self._tun, _SET_DEVICE, struct.pack("16sH22x", b"lossy", _TUN | _BARE))
        for words in ("link set lo up", f"address add {HERE}/24 dev lossy", "link set lossy up"):
            subprocess.run(["ip", *words.split()], check=True)
        self._thread = threading.Thread(target=self._pass_on)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join(60)
        os.close(self._tun)
        _check(_libc.setns(self._before, _NEW_NETWORK))
        os.close(self._before)

    def sent_again(self) -> int:
        """Segments that TCP sent once more."""
        lines = Path("/proc/thread-self/net/snmp").read_text(encoding="utf-8").splitlines()
        heads, values = (line.split()[1:] for line in lines if line[:4] == "Tcp:")
        return int(dict(zip(heads, values, strict=True))["RetransSegs"])

    def _pass_on(self) -> None:
        waiting: list[tuple[float, int, bytes]] = []
        number = 0
        while not self._ended.is_set():
            wait = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.2
            if select.select([self._tun], [], [], min(wait, 0.2))[0]:
                packet = os.read(self._tun, 65536)
                if self._chance.random() < self._loss:
                    self.lost += 1
                elif packet[0] >> 4 == 4:
                    due = time.monotonic() + self._delay + self._jitter * self._chance.uniform(-1, 1)
                    back = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
                    number += 1
                    heapq.heappush(waiting, (due, number, back))
            while waiting and waiting[0][0] <= time.monotonic():
                os.write(self._tun, heapq.heappop(waiting)[2])
                self.passed += 1


def _check(status: int) -> None:
    if status:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
