"""What the lobby says of itself: a line an event, for people or as JSON, and counts of them. It keeps no state else."""

import json
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from protocol.dialling import printable

_ONCE = 60.0  # seconds in which the same trouble of the same source is told once
_MOST = 1000  # sources that are remembered
_LONGEST = 500  # characters of a value


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

    def _say(self, event: str, word: str, fields: dict[str, str | int | float]) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        said: dict[str, str | int | float] = {"at": moment, "event": event, **({"word": word} if word else {})}
        for name, value in fields.items():
            said[name] = printable(value, _LONGEST) if isinstance(value, str) else value
        if self._as_json:
            self._write(json.dumps(said, ensure_ascii=False))
            return
        values = [f"{name}={_plain(value)}" for name, value in said.items() if name not in ("at", "event")]
        self._write(" ".join([moment, event, *values]))


def _plain(value: str | int | float) -> str:
    if isinstance(value, str):
        return value if value and not set(value) & set(' "=') else json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _to_stderr(line: str) -> None:
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads it any more
        return
