"""The matches under way, read from the files that the lobby writes (see referee.lobby.live) as they grow.

A line of a file is an event, and its number is its place there. The end of a match is told when its file is gone: then
the match is in the store, or was void. Nothing is written here, and nobody is asked.
"""

import contextlib
import os
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from protocol.records import MAX_RECORD_LINE
from protocol.spectating import Head, is_match_id

_SUFFIX = ".live"
_CHUNK = 4 * 1024 * 1024
_LONGEST = 256 * 1024 * 1024  # bytes of a match; a longer one is no match
_read: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class Change(NamedTuple):
    """Of one match: `begun` now, `events` (the fields of lines) that came, `over`: it is under way no more.

    `lines` is then the whole match, b"" if it was given up without an end.
    """

    match: str
    head: Head
    begun: bool
    events: list[dict[str, Any]]
    over: bool = False
    lines: bytes = b""


class Matches:
    """Those of one folder. `look` at what has changed; nothing else does anything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tails: dict[str, _Tail] = {}

    def heads(self) -> list[Head]:
        """What is under way, in the order in which it was found."""
        return [tail.head for tail in self._tails.values() if tail.head is not None]

    def look(self, names: Iterable[str] | None = None) -> list[Change]:
        """What is new in these files of the folder, or in all of them."""
        if names is None:
            names = [*(f"{key}{_SUFFIX}" for key in self._tails), *self._there()]
        keys = dict.fromkeys(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
        return [change for key in keys if is_match_id(key) for change in self._look_at(key)]

    def page(self, match: str, number: int, most: int, octets: int) -> tuple[list[bytes], int] | None:
        """Lines from event `number` on, as many as may be, at least one if there is any; how many there are in all.

        None if the match is not under way. The end is not among them before it is told.
        """
        tail = self._tails.get(match)
        if tail is None or tail.head is None:
            return None
        return tail.page(number, most, octets), tail.count

    def close(self) -> None:
        for tail in self._tails.values():
            tail.close()
        self._tails = {}

    def _there(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))  # noqa: PTH208  (its names are all that is needed)
        except OSError:
            return []

    def _look_at(self, key: str) -> list[Change]:
        found: list[Change] = []
        tail = self._tails.get(key)
        if tail is not None:
            found += self._grown(key, tail)
            if not tail.gone:
                return found
            del self._tails[key]
            if tail.head is not None:
                found.append(Change(key, tail.head, False, tail.held, True, tail.whole()))
            tail.close()
        path = self._folder / f"{key}{_SUFFIX}"
        with contextlib.suppress(OSError):  # it was removed before anybody looked
            tail = self._tails[key] = _Tail(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            found += self._grown(key, tail)
        return found

    def _grown(self, key: str, tail: "_Tail") -> list[Change]:
        before = tail.head
        events = tail.read(key)
        if tail.head is None or not (events or before is None):
            return []
        return [Change(key, tail.head, before is None, events)]


class _Tail:
    """One file as far as it was read. `head` is None until its first line is there."""

    def __init__(self, descriptor: int) -> None:
        self.head: Head | None = None
        self.held: list[dict[str, Any]] = []  # the end, until it is told
        self.gone = False
        self._descriptor = descriptor
        self._starts = array("Q", [0])  # of each line that was read, and of the next one

    @property
    def count(self) -> int:
        """Events that were told."""
        return len(self._starts) - 1 - len(self.held)

    def read(self, key: str) -> list[dict[str, Any]]:
        """The events that came, but for the end; a file that was written anew is read anew."""
        found = os.fstat(self._descriptor)
        self.gone = found.st_nlink == 0
        if found.st_size < self._starts[-1]:
            self._begin_anew()
        try:
            return self._read_on(key)
        except _Rewritten:
            self._begin_anew()
        with contextlib.suppress(_Rewritten):  # no match: nobody is told of it
            return self._read_on(key)
        return []

    def page(self, number: int, most: int, octets: int) -> list[bytes]:
        starts, last = self._starts, min(self.count, number + most)
        if number >= last:
            return []
        while last - number > 1 and starts[last] - starts[number] > octets:
            last = number + (last - number) // 2
        return os.pread(self._descriptor, starts[last] - starts[number], starts[number]).splitlines(keepends=True)

    def whole(self) -> bytes:
        """All lines, if the last is an end."""
        return os.pread(self._descriptor, self._starts[-1], 0) if self.held else b""

    def close(self) -> None:
        os.close(self._descriptor)

    def _begin_anew(self) -> None:
        self.head, self.held = None, []
        self._starts = array("Q", [0])

    def _read_on(self, key: str) -> list[dict[str, Any]]:
        """Raises _Rewritten when a line is not the event that follows."""
        found: list[dict[str, Any]] = []
        while len(data := os.pread(self._descriptor, _CHUNK, self._starts[-1])):
            whole = data.rfind(b"\n") + 1
            for line in data[:whole].splitlines(keepends=True):
                event = _event(line, key, len(self._starts) - 1)
                self._starts.append(self._starts[-1] + len(line))
                if self.head is None:
                    self.head = _head(event)
                if event.get("event") == "end":
                    self.held = [event]
                else:
                    found.append(event)
            if self._starts[-1] > _LONGEST or len(data) < _CHUNK:
                break
        if self.head is not None:
            self.head = msgspec.structs.replace(self.head, plies=max(0, self.count - 1))
        return found


class _Rewritten(Exception):
    """A line is not what follows those before it."""


def _event(line: bytes, key: str, number: int) -> dict[str, Any]:
    try:
        event = _read.decode(line) if len(line) <= MAX_RECORD_LINE else {}
    except (msgspec.DecodeError, RecursionError):
        raise _Rewritten from None
    if event.get("match") != key or event.get("seq", 0) != number:
        raise _Rewritten
    return event


def _head(start: dict[str, Any]) -> Head:
    """Raises _Rewritten for what is no start of a match."""
    try:
        first, second = start["bots"]
        return msgspec.convert(
            {**{name: start.get(name, "") for name in ("match", "game", "control", "started")}}
            | {"options": start.get("options", {}), "bots": (first["name"], second["name"])},
            Head,
        )
    except (KeyError, TypeError, ValueError, msgspec.ValidationError):
        raise _Rewritten from None
