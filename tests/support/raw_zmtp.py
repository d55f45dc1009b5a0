"""The wire under ZeroMQ (ZMTP 3.1, RFC 37, NULL), byte by byte, for peers that no library would be. No test itself."""

import socket
import struct
from types import TracebackType
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
