"""Publishes the events of running matches, read from the lobby's files, and answers requests for missed events.

It only reads, so that it cannot affect a match.
"""

import asyncio
import contextlib
import ctypes
import os
import secrets
import struct
import time
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from protocol.records import MAX_RECORD_LINE
from protocol.spectator_wire import (
    DROPPED,
    LADDER,
    LISTED,
    MATCH,
    PAGE,
    Begun,
    CaughtUp,
    MatchHead,
    Over,
    Published,
    Request,
    SpectatorState,
    Unknown,
    is_match_id,
    publish,
    publish_line,
    topic_of,
)
from referee.background import BackgroundTasks, Report
from referee.lobby.spectator_socket import PubSocket, RequestQueue
from referee.store.model import StoreError
from referee.store.store import Store

# -- running matches, read from the lobby's files ---------------------------------------------------------------------


_SUFFIX = ".live"
_CHUNK = 4 * 1024 * 1024
_LONGEST = 256 * 1024 * 1024  # bytes of a match; a longer one is no match
_read: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class MatchChange(NamedTuple):
    """Of one match: `begun` now, `events` (the fields of lines) that came, `over`: it is under way no more.

    `lines` is then the whole match, b"" if it was given up without an end.
    """

    match: str
    head: MatchHead
    begun: bool
    events: list[dict[str, Any]]
    over: bool = False
    lines: bytes = b""


class LiveMatches:
    """Those of one folder. `look` at what has changed; nothing else does anything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tails: dict[str, _Tail] = {}

    def heads(self) -> list[MatchHead]:
        """What is under way, in the order in which it was found."""
        return [tail.head for tail in self._tails.values() if tail.head is not None]

    def read_changes(self, names: Iterable[str] | None = None) -> list[MatchChange]:
        """What is new in these files of the folder, or in all of them."""
        if names is None:
            names = [*(f"{key}{_SUFFIX}" for key in self._tails), *self._there()]
        keys = dict.fromkeys(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
        return [change for key in keys if is_match_id(key) for change in self._read_match(key)]

    def page(self, match: str, number: int, most: int, octets: int) -> tuple[list[bytes], int] | None:
        """Lines from event `number` on within the limits, at least one if there is any; and the number of all events.

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

    def _read_match(self, key: str) -> list[MatchChange]:
        found: list[MatchChange] = []
        tail = self._tails.get(key)
        if tail is not None:
            found += self._grown(key, tail)
            if not tail.gone:
                return found
            del self._tails[key]
            if tail.head is not None:
                found.append(MatchChange(key, tail.head, False, tail.held, True, tail.whole()))
            tail.close()
        path = self._folder / f"{key}{_SUFFIX}"
        with contextlib.suppress(OSError):  # it was removed before anybody looked
            tail = self._tails[key] = _Tail(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            found += self._grown(key, tail)
        return found

    def _grown(self, key: str, tail: "_Tail") -> list[MatchChange]:
        before = tail.head
        events = tail.read(key)
        if tail.head is None or not (events or before is None):
            return []
        return [MatchChange(key, tail.head, before is None, events)]


class _Tail:
    """One file as far as it was read. `head` is None until its first line is there."""

    def __init__(self, descriptor: int) -> None:
        self.head: MatchHead | None = None
        self.held: list[dict[str, Any]] = []  # the end, until it is told
        self.gone = False
        self._descriptor = descriptor
        self._starts = array("Q", [0])  # of each line that was read, and of the next one

    @property
    def count(self) -> int:
        """Events that were told."""
        return len(self._starts) - 1 - len(self.held)

    def read(self, key: str) -> list[dict[str, Any]]:
        """The events that came, but for the end; a rewritten file is read again from its start."""
        found = os.fstat(self._descriptor)
        self.gone = found.st_nlink == 0
        if found.st_size < self._starts[-1]:
            self._reset()
        try:
            return self._read_on(key)
        except _Rewritten:
            self._reset()
        with contextlib.suppress(_Rewritten):  # no match: nothing is published
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

    def _reset(self) -> None:
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


def _head(start: dict[str, Any]) -> MatchHead:
    """Raises _Rewritten for what is no start of a match."""
    try:
        first, second = start["bots"]
        return msgspec.convert(
            {**{name: start.get(name, "") for name in ("match", "game", "control", "started")}}
            | {"options": start.get("options", {}), "bots": (first["name"], second["name"])},
            MatchHead,
        )
    except (KeyError, TypeError, ValueError, msgspec.ValidationError):
        raise _Rewritten from None


# -- finished matches -------------------------------------------------------------------------------------------------


_MOST = 16 * 1024 * 1024  # bytes of matches in memory
_WAITING = 50  # questions to the store


class RecordCache:
    """`url` is the store's. Its owner closes it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._matches: OrderedDict[str, list[bytes]] = OrderedDict()
        self._size = 0
        self._thread = ThreadPoolExecutor(1, "shelf")  # a slow store delays only requests that need it
        self._asked: dict[str, asyncio.Future[bytes | None]] = {}
        self._store: Store | None = None

    def put(self, match: str, lines: bytes) -> None:
        """All lines of a match that ended."""
        self._size -= sum(map(len, self._matches.pop(match, [])))
        self._matches[match] = lines.splitlines(keepends=True)
        self._size += len(lines)
        while self._size > _MOST and len(self._matches) > 1:
            _, dropped = self._matches.popitem(last=False)
            self._size -= sum(map(len, dropped))

    async def page(self, match: str, number: int, most: int, octets: int) -> tuple[list[bytes], int] | None:
        """See LiveMatches.page; None if the match is unknown, or too many requests wait."""
        if match not in self._matches:
            data = await self._fetch(match)
            if data is None:
                return None
            self.put(match, data)
        self._matches.move_to_end(match)
        lines = self._matches[match]
        found: list[bytes] = []
        for line in lines[number : number + most]:
            if found and octets < len(line):
                break
            octets -= len(line)
            found.append(line)
        return found, len(lines)

    def close(self) -> None:
        """When it is asked no more."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    async def _fetch(self, match: str) -> bytes | None:
        waiting = self._asked.get(match)
        if waiting is None:
            if len(self._asked) >= _WAITING:
                return None
            waiting = self._asked[match] = asyncio.get_running_loop().run_in_executor(self._thread, self._record, match)
        try:
            return await asyncio.shield(waiting)
        finally:
            self._asked.pop(match, None)

    def _record(self, match: str) -> bytes | None:
        try:
            if self._store is None:
                self._store = Store.open(self._url)
            return self._store.record(match)
        except StoreError:
            self._close()
            return None

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()


GATHER = 0.02  # seconds in which changes wait for others: a spectator does not see them, and the cost is shared
LOOK = 0.25  # seconds between looks where the kernel does not tell of changes
REMEMBERED = 500  # news of the ladder, for spectators that missed some
OCTETS = 256 * 1024  # bytes of one answer
RATE = 4 * 1024 * 1024  # bytes of answers a second, all in all
_FIRST = 10**8  # the numbers of a ladder's news begin somewhere below: so one of another run is hardly taken for ours


class SpectatorServer:
    """Of the ladder of this name. `open_stage` binds the socket for these requests. Raises AddressError. `report`: see
    BackgroundTasks."""

    def __init__(
        self,
        ladder: str,
        folder: Path,
        shelf: RecordCache,
        open_stage: Callable[[RequestQueue], PubSocket],
        report: Report,
    ) -> None:
        self._ladder, self._shelf, self._report = ladder, shelf, report
        self._run, self._seq = secrets.token_hex(4), 1 + secrets.randbelow(_FIRST)
        self._stage: PubSocket | None = None
        self._news: deque[Begun | Over] = deque(maxlen=REMEMBERED)
        self._changes = FolderWatch(folder)  # before the first look, so that nothing is missed
        self._matches = LiveMatches(folder)
        self.requests = RequestQueue()
        self._tasks = BackgroundTasks(report)
        self._missed = False  # the last look failed: the next one is at all files
        self._publish_changes(None)
        self._stage = open_stage(self.requests)

    @property
    def stage(self) -> PubSocket:
        assert self._stage is not None
        return self._stage

    def open(self) -> None:
        """In the running loop."""
        loop = asyncio.get_running_loop()
        self.stage.open()
        self._tasks.keep("answers", self._answer_all)
        if self._changes.descriptor >= 0:
            loop.add_reader(self._changes.descriptor, self._on_folder_change)
            loop.call_soon(self._read_changes)
        else:
            self._tasks.keep("matches", self._poll_folder)

    async def close(self) -> None:
        """After a last look, whose news have a moment to leave."""
        if self._changes.descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._changes.descriptor)
        await self._tasks.close()
        self._publish_changes(None)
        await self.stage.close(linger=0.3)
        self._changes.close()
        self._matches.close()
        self._shelf.close()

    # -- what happens ------------------------------------------------------------------------------------------------

    def _on_folder_change(self) -> None:
        """Let some more come, and the writer not wake us for each."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._changes.descriptor)
        loop.call_later(GATHER, self._read_changes)

    def _read_changes(self) -> None:
        if self._changes.descriptor >= 0:
            names, missed, self._missed = self._changes.read(), self._missed, True
            try:
                self._publish_changes(None if missed else names)
                self._missed = False
            finally:  # whatever was wrong with one look, there is a next one
                asyncio.get_running_loop().add_reader(self._changes.descriptor, self._on_folder_change)

    async def _poll_folder(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            self._publish_changes(None)

    def _publish_changes(self, names: set[str] | None) -> None:
        for change in self._matches.read_changes(names):
            if change.begun:
                self._announce(Begun(seq=self._seq, run=self._run, head=change.head))
            if change.events:
                topic = topic_of(MATCH, change.match)
                for event in change.events:
                    self._publish(topic, msgspec.msgpack.encode(event))
            if change.over:
                self._over(change)

    def _over(self, change: MatchChange) -> None:
        result, winner, termination = "", 0, DROPPED
        if change.lines:
            self._shelf.put(change.match, change.lines)
            end = change.events[-1]
            result, winner, termination = end["result"], end["winner"], end["termination"]
        self._announce(
            Over(
                seq=self._seq,
                run=self._run,
                head=change.head,
                result=result,
                winner=winner,
                termination=termination,
            )
        )

    def _announce(self, news: Begun | Over) -> None:
        self._seq += 1
        self._news.append(news)
        self._publish(topic_of(LADDER, self._ladder), publish(news))

    def _publish(self, topic: bytes, payload: bytes) -> None:
        if self._stage is not None and self._stage.connections:
            self._stage.publish(topic, payload)

    # -- who missed something ----------------------------------------------------------------------------------------

    async def _answer_all(self) -> None:
        """One after another, each connection in its turn, at a bounded rate."""
        while True:
            request = await self.requests.get()
            began = time.monotonic()
            try:
                sent = await self._answer(request)
            except Exception as error:  # one request must not slow down the others
                self._report("answer", error)
                sent = self._send(request, Unknown(request.name))
            spare = began + sent / RATE - time.monotonic()
            await asyncio.sleep(max(0.0, spare))

    async def _answer(self, request: Request) -> int:
        """How many bytes were sent."""
        if request.kind == LADDER:
            return self._answer_ladder(request)
        found = self._matches.page(request.name, request.number, PAGE, OCTETS)
        if found is None:
            found = await self._shelf.page(request.name, request.number, PAGE, OCTETS)
        if found is None:
            return self._send(request, Unknown(request.name))
        lines, count = found
        for line in lines:
            self.stage.publish(request.topic, publish_line(line))
        return sum(map(len, lines)) + self._send(request, CaughtUp(count))

    def _answer_ladder(self, request: Request) -> int:
        if request.name not in ("", self._ladder):
            return self._send(request, Unknown(request.name))
        if request.number == self._seq:
            return self._send(request, CaughtUp(self._seq))
        sent = sum(self._send(request, news) for news in self._news if news.seq >= request.number)
        heads = tuple(self._matches.heads()[-LISTED:])
        return sent + self._send(
            request, SpectatorState(seq=self._seq, run=self._run, ladder=self._ladder, matches=heads)
        )

    def _send(self, request: Request, what: Published) -> int:
        payload = publish(what)
        self.stage.publish(request.topic, payload)
        return len(payload)


# -- configuration of the spectator process ---------------------------------------------------------------------------


class SpectatorConfig(msgspec.Struct, frozen=True):
    """`url` to listen at; the folder and the store of the ladder; `server_key` is the file of a pair, "" for none."""

    url: str
    ladder: str
    folder: str
    store: str
    server_key: str
    connections: int


# -- file changes (inotify) -------------------------------------------------------------------------------------------


_MODIFY, _CREATE, _DELETE, _MOVED_TO, _OVERFLOW = 0x002, 0x100, 0x200, 0x080, 0x4000
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER = 256 * 1024


class FolderWatch:
    """`descriptor` is readable when something has changed; -1: not available, so poll."""

    def __init__(self, folder: Path) -> None:
        self.descriptor = _watch(folder)

    def read(self) -> set[str] | None:
        """Names of files that are new, longer or gone since this was asked last; None: look at all of them."""
        if self.descriptor < 0:
            return None
        names: set[str] = set()
        while True:
            try:
                data = os.read(self.descriptor, _BUFFER)
            except BlockingIOError:
                return names
            at = 0
            while at < len(data):
                _, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                if mask & _OVERFLOW:
                    self._drain()
                    return None
                names.add(data[at : at + length].rstrip(b"\0").decode("utf-8", "surrogateescape"))
                at += length

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _drain(self) -> None:
        """All is looked at anyway."""
        try:
            while os.read(self.descriptor, _BUFFER):
                continue
        except BlockingIOError:
            return


def _watch(folder: Path) -> int:
    """A descriptor of inotify, -1 if there is none to be had."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return -1
    if library.inotify_add_watch(descriptor, os.fsencode(folder), _MODIFY | _CREATE | _DELETE | _MOVED_TO) < 0:
        os.close(descriptor)
        return -1
    return descriptor
