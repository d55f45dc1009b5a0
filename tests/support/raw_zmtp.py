"""The wire under ZeroMQ (ZMTP 3.1, RFC 37, NULL), byte by byte, for peers that break its rules; and floods.

`python -m tests.support.raw_zmtp URL KIND SECONDS [COUNT]` floods a lobby on loopback: at most COUNT connections at a
time and RATE new ones a second. It prints a JSON object: how many connections it made, and how many the lobby ended.
"""

import errno
import json
import selectors
import socket
import struct
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlsplit

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, COMMAND, LONG = 1, 4, 2
HELD = 16 * 1024  # bytes that a peer which does not read has room for


def frame(body: bytes, flags: int = 0) -> bytes:
    """One frame of a message (`MORE`: another one follows) or of a command."""
    size = struct.pack(">Q", len(body)) if len(body) > 255 else bytes([len(body)])
    return bytes([flags | (LONG if len(body) > 255 else 0)]) + size + body


def message(*bodies: bytes) -> bytes:
    return b"".join(frame(body, MORE) for body in bodies[:-1]) + frame(bodies[-1])


def command(name: bytes, body: bytes = b"") -> bytes:
    return frame(bytes([len(name)]) + name + body, COMMAND)


def ready(kind: bytes = b"DEALER", **more: bytes) -> bytes:
    """The handshake of a socket of this kind; `more` as Identity=…"""
    found = {"Socket-Type": kind, **more}
    properties = (
        bytes([len(name)]) + name.encode() + struct.pack(">I", len(value)) + value for name, value in found.items()
    )
    return command(b"READY", b"".join(properties))


class Raw:
    """A TCP connection to a `tcp://` address; `deaf`: with hardly any room for what it does not read."""

    def __init__(self, url: str, deaf: bool = False) -> None:
        parts = urlsplit(url)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if deaf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, HELD)
        self.socket.settimeout(60)
        self.socket.connect((parts.hostname, parts.port))

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def shake_hands(self, kind: bytes = b"DEALER", **more: bytes) -> None:
        """As any peer does, up to the other's READY."""
        self.socket.sendall(GREETING)
        self.read(len(GREETING))
        self.socket.sendall(ready(kind, **more))
        flags, size = self.read(2)
        self.read(size if not flags & LONG else struct.unpack(">Q", bytes([size]) + self.read(7))[0])

    def read(self, count: int) -> bytes:
        """Exactly so many bytes. Raises OSError when the other side ends before."""
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the other side ended the connection")
            data += part
        return data

    def send(self, data: bytes) -> bool:
        """False: the other side has ended the connection."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def ended(self, seconds: float = 60.0) -> bool:
        """Whether the other side ends it in time, whatever it says before."""
        self.socket.settimeout(seconds)
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def reset(self) -> None:
        """End it without a word, and drop what was not sent."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        self.socket.close()


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
        words = [sys.executable, "-m", "tests.support.raw_zmtp", url, kind, str(seconds), str(count)]
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
