"""Follows matches that are being played: one reader of each match, any number of streams to browsers.

The number of an event (`seq` of the record) is its id in the stream, so a browser that lost its connection names the
last one it has and gets those after it, each once.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import msgspec

from protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, Record
from referee.web.site import LiveSource

_INTERVAL = 0.1  # seconds between looks at a match
_ALIVE = 15.0  # seconds of silence after which a stream gets a comment, so that proxies keep it open
_OPENING = b"retry: 2000\n\n"  # sent at once: the browser knows then that the stream is open
_AT_ONCE = 200  # events that are sent together
_LINGER = 30.0  # seconds for which a match without streams is kept
_KINDS: dict[type[Event], str] = {MatchStarted: "start", MovePlayed: "ply", MatchEnded: "end"}
_encode = msgspec.json.Encoder(order="sorted").encode

Find = Callable[[str], LiveSource | Record | None]  # a match by its key, being played or finished


@dataclass(slots=True)
class _Feed:
    """A match: its events as they go into streams, and the streams that wait for more."""

    events: list[bytes] = field(default_factory=list)
    ended: bool = False
    readers: int = 0
    again: bool = False  # the match was taken up from an earlier ply: what streams have sent holds no more
    trouble: str = ""  # why nothing comes at the moment
    last: Event | None = None
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, record: Record) -> None:
        events: list[Event] = [record.start, *record.plies, *([record.end] if record.end else [])]
        known = len(self.events)
        if known and (len(events) < known or events[known - 1] != self.last):
            self.again = self.ended = True
            self.wake()
            return
        new = events[known:]
        if new or record.end is not None:
            self.last = events[-1]
            self.events += map(_message, new)
            self.ended = record.end is not None
            self.wake()

    def wake(self) -> None:
        more, self.more = self.more, asyncio.Event()
        more.set()


class Follower:
    """The feeds of all matches that browsers follow."""

    def __init__(self, find: Find, trouble: Callable[[], str] = lambda: "") -> None:
        """find: blocks while it reads; it is called in threads. trouble: why nothing comes at the moment."""
        self._find, self._trouble = find, trouble
        self._feeds: dict[str, _Feed] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closed = False

    async def stream(self, key: str, after: int) -> AsyncGenerator[bytes, None]:
        """Server-sent events of a match from number `after` + 1 on, to its end event; `away` says what keeps them from
        coming, `again` that the match is to be loaded again. Raises KeyError if there is no such match."""
        feed = self._feeds.get(key)
        if feed is None:
            feed = await self._open(key)
        feed.readers += 1
        number, trouble = max(0, after + 1), ""
        try:
            yield _OPENING
            while not self._closed:
                more = feed.more
                if feed.again:
                    yield b"event: again\ndata:\n\n"
                    return
                if trouble != feed.trouble:
                    trouble = feed.trouble
                    yield b"event: away\ndata: %s\n\n" % _encode(trouble)
                elif number < len(feed.events):
                    events = feed.events[number : number + _AT_ONCE]
                    number += len(events)
                    yield b"".join(events)
                elif feed.ended:
                    return
                else:
                    try:
                        await asyncio.wait_for(more.wait(), _ALIVE)
                    except TimeoutError:
                        yield b": still here\n\n"
        finally:
            feed.readers -= 1

    async def close(self) -> None:
        """End all streams."""
        self._closed = True
        for feed in self._feeds.values():
            feed.wake()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _open(self, key: str) -> _Feed:
        found = await asyncio.to_thread(self._find, key)
        if found is None:
            raise KeyError(key)
        if (feed := self._feeds.get(key)) is not None:  # opened meanwhile
            return feed
        feed = self._feeds[key] = _Feed()
        self._tasks[key] = asyncio.create_task(self._follow(key, feed, found))
        return feed

    async def _follow(self, key: str, feed: _Feed, found: LiveSource | Record) -> None:
        """Read a match until it has ended or has had no stream for a while."""
        idle = 0.0
        try:
            while idle < _LINGER:
                record = found if isinstance(found, Record) else await asyncio.to_thread(found.read)
                if record is not None:
                    feed.add(record)
                if feed.ended:
                    return
                if feed.trouble != (trouble := self._trouble()):
                    feed.trouble = trouble
                    feed.wake()
                pause = _INTERVAL
                if isinstance(found, Record) or not await asyncio.to_thread(found.playing):
                    # It was dropped, or goes on in the file of another worker after a kill.
                    found = await asyncio.to_thread(self._find, key) or found
                    pause *= 10  # to find a match costs more than to read one
                idle = 0.0 if feed.readers else idle + pause
                await asyncio.sleep(pause)
        finally:
            feed.ended = True  # a stream of a match that nothing reads any more ends; the browser asks again
            feed.wake()
            with contextlib.suppress(KeyError):
                del self._feeds[key], self._tasks[key]


def _message(event: Event) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, _KINDS[type(event)].encode(), _encode(event))
