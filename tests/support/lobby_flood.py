"""Floods of a lobby on loopback, in a process of their own: `python -m tests.lobby_flood URL KIND SECONDS [COUNT]`.

Each ends by itself: after SECONDS, with at most COUNT connections open and RATE new ones a second. Prints a JSON
object: how many connections were made, and how many the lobby ended.
"""

import errno
import json
import selectors
import socket
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from tests.support.raw_zmtp import GREETING

RATE = 2000.0  # new connections a second, at most
COUNT = 2000  # connections at a time
TRICKLE = 0.5  # seconds between two bytes of a slow greeting
SAYS = {"silent": b"", "slowloris": b"\xff", "half": GREETING, "churn": b""}


class FloodResult:
    """`kind`: `silent` says nothing, `slowloris` its greeting a byte at a time, `half` ends its handshake after the
    greeting, `churn` ends every connection at once."""

    def __init__(self, url: str, kind: str, count: int) -> None:
        parts = urlsplit(url)
        self._to = (parts.hostname, parts.port)
        self._kind, self._count = kind, count
        self._selector = selectors.DefaultSelector()
        self._said: dict[socket.socket, int] = {}
        self.made = self.ended = 0

    def run(self, seconds: float) -> None:
        began = time.monotonic()
        trickled = began
        while (now := time.monotonic()) < began + seconds:
            while self.made < (now - began) * RATE and len(self._said) < self._count:
                self._connect()
            for key, _ in self._selector.select(0.005):
                self._look(key.fileobj)  # type: ignore[arg-type]
            if self._kind == "slowloris" and now - trickled > TRICKLE:
                trickled = now
                for one in list(self._said):
                    self._say(one, GREETING[self._said[one] : self._said[one] + 1])
        for one in list(self._said):
            self._end(one)

    def _connect(self) -> None:
        one = socket.socket()
        one.setblocking(False)
        if one.connect_ex(self._to) not in (0, errno.EINPROGRESS):
            one.close()
            return
        self.made += 1
        self._said[one] = 0
        self._selector.register(one, selectors.EVENT_WRITE)

    def _look(self, one: socket.socket) -> None:
        if self._selector.get_key(one).events == selectors.EVENT_WRITE:  # it is connected, or refused
            if one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or self._kind == "churn":
                self._end(one)
            else:
                self._selector.modify(one, selectors.EVENT_READ)
                self._say(one, SAYS[self._kind])
            return
        try:
            data = one.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.ended += 1
            self._end(one)

    def _say(self, one: socket.socket, data: bytes) -> None:
        try:
            self._said[one] += one.send(data) if data else 0
        except OSError:
            self.ended += 1
            self._end(one)

    def _end(self, one: socket.socket) -> None:
        self._selector.unregister(one)
        del self._said[one]
        one.close()


class Flooding:
    """The same, from a test. `end` waits for it."""

    def __init__(self, url: str, kind: str, seconds: float, count: int = COUNT) -> None:
        words = [sys.executable, "-m", "tests.support.lobby_flood", url, kind, str(seconds), str(count)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE)

    def end(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self._process.communicate()[0])
        return said

    @property
    def running(self) -> bool:
        return self._process.poll() is None


def main(url: str, kind: str, seconds: str, count: str = str(COUNT)) -> None:
    flood = FloodResult(url, kind, int(count))
    flood.run(float(seconds))
    print(json.dumps({"made": flood.made, "ended": flood.ended}))


if __name__ == "__main__":
    main(*sys.argv[1:])
