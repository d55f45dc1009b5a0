"""A network of one machine's own on which packets are lost, delayed and overtaken, so that TCP really sends again.

It needs root and /dev/net/tun: `available`. No test itself.

The calling thread, and what it starts, moves to a network namespace. Whatever is sent to THERE comes to a TUN device,
has its two addresses exchanged (which changes no checksum) and comes back, late or not at all: HERE, from THERE.
"""

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
from types import TracebackType

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(60)
        os.close(self._tun)
        _check(_libc.setns(self._before, _NEW_NETWORK))
        os.close(self._before)

    def sent_again(self) -> int:
        """Segments that TCP sent once more."""
        lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
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
