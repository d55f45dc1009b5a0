"""What the lobby says of itself: a line an event, for people or as JSON, and counts of them. It keeps no state else."""

import asyncio
import sys
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from protocol.dialling import printable
from protocol.printed import json_text

_ONCE = 60.0  # seconds in which the same trouble of the same source is told once
_MOST = 1000  # sources that are remembered
_LONGEST = 500  # characters of a value
_FRAMES = 30  # lines of a traceback, the last ones


class Journal:
    """`write` takes a line without its LF; by default stderr does. `counts` is by event and word."""

    def __init__(self, as_json: bool = False, quiet: bool = False, write: Callable[[str], None] | None = None) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._as_json = as_json
        self._quiet = quiet
        self._write = write or _to_stderr
        self._told: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def tell(self, event: str, word: str = "", **fields: str | int | float) -> None:
        """`word` is one of few: it is counted by."""
        self.counts[event, word] += 1
        if not self._quiet:
            self._say(event, word, fields)

    def trouble(
        self, now: float, event: str, word: str, source: str, times: int = 1, **fields: str | int | float
    ) -> None:
        """The same, so many times, of a source that may go on for ever: told once a minute, counted each time."""
        self.counts[event, word] += times
        key = (event, word, source)
        if now - self._told.get(key, -_ONCE) < _ONCE:
            return
        self._told[key] = now
        self._told.move_to_end(key)
        while len(self._told) > _MOST:
            self._told.popitem(last=False)
        self._say(event, word, {"source": source, "times": times, **fields})

    def fault(self, task: str, error: BaseException, **fields: str | int | float) -> None:
        """A background task has failed, or an event handler: counted by `task`, one of few. The traceback is logged
        once a minute for each place where it was raised."""
        lines = [line for part in traceback.format_exception(error) for line in part.rstrip("\n").split("\n")]
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else task
        reason, trace = f"{type(error).__name__}: {error}", "\n".join(lines[-_FRAMES:])
        said = {**fields, "reason": reason, "traceback": trace}
        self.trouble(time.monotonic(), "fault", task, where, 1, **said)

    def unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """The exception handler of an event loop: for callbacks, whose exceptions no task receives."""
        error = context.get("exception") or RuntimeError(context.get("message", ""))
        self.fault("callback", error)

    def _say(self, event: str, word: str, fields: dict[str, str | int | float]) -> None:
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
    except (OSError, ValueError):  # nobody reads it any more
        return
