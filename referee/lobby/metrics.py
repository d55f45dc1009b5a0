"""`GET /metrics` for Prometheus: a small HTTP responder in the lobby's loop, bounded, which knows no other page."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_PATIENCE = 5.0  # seconds for a request
_HEAD = 8192  # bytes of a request
_AT_ONCE = 8  # connections


@dataclass(frozen=True, slots=True)
class Metric:
    """`values` by their labels, which are `name="value",…` or ""."""

    name: str
    kind: str  # counter or gauge
    help: str
    values: Mapping[str, float] = field(default_factory=dict)


def exposition(metrics: Iterable[Metric]) -> str:
    """The text format of Prometheus, version 0.0.4."""
    lines = []
    for one in metrics:
        lines += [f"# HELP {one.name} {one.help}", f"# TYPE {one.name} {one.kind}"]
        lines += [f"{one.name}{f'{{{labels}}}' if labels else ''} {value:.10g}" for labels, value in one.values.items()]
    return "\n".join([*lines, ""])


def label(**labels: str) -> str:
    """`name="value",…`, escaped."""
    escaped = {
        name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name, value in labels.items()
    }
    return ",".join(f'{name}="{value}"' for name, value in escaped.items())


class MetricsPage:
    """Serves what `read` gives. `open` raises OSError for an address that cannot be had."""

    def __init__(self, host: str, port: int, read: Callable[[], list[Metric]]) -> None:
        self._host, self._port, self._read = host, port, read
        self._server: asyncio.Server | None = None
        self._busy = 0

    async def open(self) -> str:
        """The address."""
        self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=_HEAD)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/metrics"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._busy += 1
        try:
            if self._busy <= _AT_ONCE:
                async with asyncio.timeout(_PATIENCE):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answer(head))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever does not ask properly is not answered
        finally:
            self._busy -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: bytes) -> bytes:
        method, path, *_ = [*head.split(b" ", 2), b"", b""]
        if method not in (b"GET", b"HEAD"):
            status, text = "405 Method Not Allowed", "GET /metrics\n"
        elif path.partition(b"?")[0] != b"/metrics":
            status, text = "404 Not Found", "GET /metrics\n"
        else:
            status, text = "200 OK", exposition(self._read())
        body = text.encode()
        kind = "text/plain; version=0.0.4; charset=utf-8"
        said = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return said.encode() + (b"" if method == b"HEAD" else body)
