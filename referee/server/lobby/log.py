"""The event log of the lobby: one line an event, as text or JSON, with counts; and the page of metrics."""

import asyncio
import contextlib
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from ggp.protocol.lobby_wire import printable
from ggp.protocol.printed import json_text

_ONCE = 60.0  # seconds in which the same problem of the same source is logged once
SOURCES = 1000  # that are remembered
_LONGEST = 500  # characters of a value
_FRAMES = 30  # lines of a traceback, the last ones


class EventLog:
    """The event log, and the counts of its events."""

    def __init__(self, as_json: bool = False, quiet: bool = False, write: Callable[[str], None] | None = None) -> None:
        """Log problems only if `quiet`. `write` takes a line without its LF; the default is stderr."""
        self.counts: Counter[tuple[str, str]] = Counter()  # by event and word
        self._as_json = as_json
        self._quiet = quiet
        self._write = write or _to_stderr
        # Of each source: when it was last logged, and how many events came since.
        self._limited: LRUCache[tuple[str, str, str], tuple[float, int]] = LRUCache(SOURCES)

    def log(self, event: str, word: str = "", **fields: str | int | float) -> None:
        """Log an event. It is counted by `event` and `word`, so `word` must be one of few."""
        self.counts[event, word] += 1
        if not self._quiet:
            self._write_event(event, word, fields)

    def log_limited(
        self, now: float, event: str, word: str, source: str, times: int = 1, **fields: str | int | float
    ) -> None:
        """Log events of a source that may repeat them for ever.

        All are counted. A line a minute says how many there were since the last line.

        Args:
            times: How many events of this kind there were.
        """
        self.counts[event, word] += times
        key = (event, word, source)
        last, unsaid = self._limited.pop(key, (-_ONCE, 0))
        times += unsaid
        due = now - last >= _ONCE
        self._limited[key] = (now, 0) if due else (last, times)
        if due:
            self._write_event(event, word, {"source": source, "times": times, **fields})

    def fault(self, task: str, error: BaseException, **fields: str | int | float) -> None:
        """Log that a background task or an event handler has failed.

        It is counted by `task`, which must be one of few. The traceback is logged once a minute for each place where it
        was raised.
        """
        lines = [line for part in traceback.format_exception(error) for line in part.rstrip("\n").split("\n")]
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else task
        reason, trace = f"{type(error).__name__}: {error}", "\n".join(lines[-_FRAMES:])
        said = {**fields, "reason": reason, "traceback": trace}
        self.log_limited(time.monotonic(), "fault", task, where, 1, **said)

    def unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log the exception of a callback, which no task receives. For loop.set_exception_handler."""
        error = context.get("exception") or RuntimeError(context.get("message", ""))
        self.fault("callback", error)

    def _write_event(self, event: str, word: str, fields: dict[str, str | int | float]) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        said: dict[str, str | int | float] = {"at": moment, "event": event, **({"word": word} if word else {})}
        trace = [printable(line, _LONGEST) for line in str(fields.pop("traceback", "")).split("\n") if line]
        for name, value in fields.items():
            said[name] = printable(value, _LONGEST) if isinstance(value, str) else value
        if self._as_json:
            self._write(json_text({**said, "traceback": "\n".join(trace)} if trace else said))
            return
        values = [f"{name}={_plain(value)}" for name, value in said.items() if name not in ("at", "event")]
        self._write("\n    ".join([" ".join([moment, event, *values]), *trace]))


def _plain(value: str | int | float) -> str:
    if isinstance(value, str):
        return value if value and not set(value) & set(' "=') else json_text(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _to_stderr(line: str) -> None:
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # the reader has gone
        return


# -- metrics: `GET /metrics` for Prometheus ---------------------------------------------------------------------------


_PATIENCE = 5.0  # seconds for a request
_HEAD = 8192  # bytes of a request
_AT_ONCE = 8  # connections


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric for Prometheus."""

    name: str
    kind: str  # counter or gauge
    help: str
    values: Mapping[str, float] = field(default_factory=dict)  # by labels: `name="value",…` or ""


def exposition(metrics: Iterable[Metric]) -> str:
    """Return metrics in the text format of Prometheus, version 0.0.4."""
    lines = []
    for one in metrics:
        lines += [f"# HELP {one.name} {one.help}", f"# TYPE {one.name} {one.kind}"]
        lines += [f"{one.name}{f'{{{labels}}}' if labels else ''} {value:.10g}" for labels, value in one.values.items()]
    return "\n".join([*lines, ""])


def label(**labels: str) -> str:
    """Return labels as `name="value",…`, escaped."""
    escaped = {
        name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name, value in labels.items()
    }
    return ",".join(f'{name}="{value}"' for name, value in escaped.items())


class MetricsPage:
    """The page /metrics, which shows what `read` returns."""

    def __init__(self, host: str, port: int, read: Callable[[], list[Metric]]) -> None:
        self._host, self._port, self._read = host, port, read
        self._server: asyncio.Server | None = None
        self._busy = 0

    async def open(self) -> str:
        """Listen, and return the address of the page. Raises OSError if it is not available."""
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
            pass  # malformed requests get no answer
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
