"""Follows matches that are being played: one task reads them all, any number of streams goes to browsers.

The number of an event (`seq` of the record) is its id in the stream, so a browser that lost its connection names the
last one it has and gets those after it, each once.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ggp.protocol.drawing.scene import replace_unprintable_lines
from ggp.protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, Record
from ggp.referee.ladder.source import Trouble
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.records import LiveHead
from ggp.referee.server.web.site import LiveSource

_INTERVAL = 0.03  # seconds between looks at the matches
_WALL_INTERVAL = 0.25  # seconds between looks at all matches under way
_CHECKED = 10  # looks from one check whether a match is still being played to the next
_SEARCH = 1.0  # seconds between searches for a match that is not: to find one costs more than to read one
_ALIVE = 15.0  # seconds of silence after which a stream gets a comment, so that proxies keep it open
_OPENING = b"retry: 2000\n\n"  # sent at once: the browser knows then that the stream is open
_AT_ONCE = 200  # events that are sent together
_LINGER = 30.0  # seconds for which a match without streams is kept
_KINDS: dict[type[Event], str] = {MatchStarted: "start", MovePlayed: "ply", MatchEnded: "end"}
_encode = msgspec.json.Encoder(order="sorted").encode

Find = Callable[[str], LiveSource | Record | None]  # a match by its key, being played or finished


@dataclass(slots=True, eq=False)
class _Feed:
    """A match: where it is read, its events as they go into streams, and the streams that wait for more.

    `used`, `spoke`, `searched`: when it had a stream, sent something, was searched for; by the loop's clock.
    """

    key: str
    source: LiveSource | Record
    used: float
    spoke: float
    searched: float = 0.0
    record: Record | None = None
    events: list[bytes] = field(default_factory=list)
    ended: bool = False
    readers: int = 0
    again: bool = False  # the match was taken up from an earlier ply: what streams have sent holds no more
    trouble: str = ""  # why nothing comes at the moment
    last: Event | None = None
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, record: Record) -> None:
        if record is self.record:
            return
        self.record = record
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
        self.spoke = asyncio.get_running_loop().time()
        more, self.more = self.more, asyncio.Event()
        more.set()


class Follower:
    """The feeds of all matches that browsers follow."""

    def __init__(
        self, find: Find, trouble: Callable[[], str] = lambda: "", playing: Callable[[], list[LiveHead]] = list
    ) -> None:
        """Follow nothing yet.

        Args:
            find: Finds a match; it blocks while it reads, and is called in threads.
            trouble: Why nothing comes at the moment.
            playing: The matches under way, for pages that show many; called in threads, too.
        """
        self._find, self._trouble = find, trouble
        self.wall = LiveWall(playing)
        self._feeds: dict[str, _Feed] = {}
        self._reading: asyncio.Task[None] | None = None
        self._searches: set[asyncio.Task[None]] = set()
        self._closed = False

    def follows(self, key: str) -> bool:
        """Whether the match is read now."""
        return key in self._feeds

    async def stream(self, key: str, after: int) -> AsyncGenerator[bytes, None]:
        """Server-sent events of a match from number `after` + 1 on, to its end event; `away` says what keeps them from
        coming, `again` that the match is to be loaded again. Raises KeyError if there is no such match."""
        feed = self._feeds.get(key) or await self._open(key)
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
                    await more.wait()
                    if number >= len(feed.events) and trouble == feed.trouble and not feed.ended:
                        yield b": still here\n\n"
        finally:
            feed.readers -= 1

    async def close(self) -> None:
        """End all streams."""
        self._closed = True
        tasks = [*self._searches, *([self._reading] if self._reading else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, self.wall.close(), return_exceptions=True)

    async def _open(self, key: str) -> _Feed:
        found = await asyncio.to_thread(self._find, key)
        if found is None:
            raise KeyError(key)
        if (feed := self._feeds.get(key)) is not None:  # opened meanwhile
            return feed
        now = asyncio.get_running_loop().time()
        feed = _Feed(key, found, now, now)
        if isinstance(found, Record):
            feed.add(found)
        if not feed.ended:
            self._feeds[key] = feed
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read())
        return feed

    async def _read(self) -> None:
        """Read all matches again and again while there are any."""
        look = 0
        try:
            while self._feeds:
                look += 1
                feeds = list(self._feeds.values())
                sources, check = [feed.source for feed in feeds], look % _CHECKED == 0
                found = await asyncio.to_thread(_look, sources, check)
                trouble, now = self._trouble(), asyncio.get_running_loop().time()
                for feed, (record, playing) in zip(feeds, found, strict=True):
                    if record is not None:
                        feed.add(record)
                    self._keep(feed, playing, trouble, now)
                await asyncio.sleep(_INTERVAL)
        finally:
            for feed in list(self._feeds.values()):
                self._drop(feed)

    def _keep(self, feed: _Feed, playing: bool, trouble: str, now: float) -> None:
        """Say what there is to say besides events; drop what is over, or has had no stream for a while."""
        if feed.trouble != trouble or now - feed.spoke >= _ALIVE:
            feed.trouble = trouble
            feed.wake()
        if feed.readers:
            feed.used = now
        if feed.ended or now - feed.used >= _LINGER:
            self._drop(feed)
        elif not playing and now - feed.searched >= _SEARCH:
            feed.searched = now
            search = asyncio.create_task(self._search(feed))
            self._searches.add(search)
            search.add_done_callback(self._searches.discard)

    async def _search(self, feed: _Feed) -> None:
        """The match was dropped, or goes on in the file of another worker after a kill."""
        feed.source = await asyncio.to_thread(self._find, feed.key) or feed.source

    def _drop(self, feed: _Feed) -> None:
        """A stream of a match that nothing reads any more ends; the browser asks again."""
        del self._feeds[feed.key]
        feed.ended = True
        feed.wake()


class LiveWall:
    """The matches under way, for pages that show many: one task looks, any number of streams listens."""

    def __init__(self, playing: Callable[[], list[LiveHead]]) -> None:
        """playing: blocks while it reads; it is called in threads."""
        self._playing = playing
        self._state, self._more = b"", asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._readers = 0

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Server-sent events `wall`: {match: plies} of all matches whenever that changes, at most four a second.

        A stream ends when nothing is under way; the browser asks again two seconds later.
        """
        self._readers += 1
        if self._looking is None or self._looking.done():
            self._state = b""
            self._looking = asyncio.create_task(self._look())
        sent = b""
        try:
            yield _OPENING
            while not self._looking.done():
                more = self._more
                if self._state != sent:
                    sent = self._state
                    yield b"event: wall\ndata: %s\n\n" % sent
                    if sent == b"{}":
                        return
                    continue
                try:
                    await asyncio.wait_for(more.wait(), _ALIVE)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._readers -= 1

    async def close(self) -> None:
        """End all streams."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        """Look as long as somebody listens."""
        try:
            while self._readers:
                try:
                    heads = await asyncio.to_thread(self._playing)
                except (StoreError, Trouble):  # a pause: the last state holds until the store can be read again
                    await asyncio.sleep(_WALL_INTERVAL)
                    continue
                state = _encode({replace_unprintable_lines(head.match): head.ply for head in heads})
                if state != self._state:
                    self._state = state
                    self._wake()
                await asyncio.sleep(_WALL_INTERVAL)
        finally:
            self._wake()

    def _wake(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()


def _look(sources: Sequence[LiveSource | Record], check: bool) -> list[tuple[Record | None, bool]]:
    """Each match so far, and whether more may come from there, which is asked if `check`."""
    return [
        (source, False) if isinstance(source, Record) else (source.read(), not check or source.playing())
        for source in sources
    ]


def _message(event: Event) -> bytes:
    said = _encode(event)
    if not said.isascii() or b"\\" in said:  # a page shows what JSON writes as an escape, so it is cleaned unescaped
        said = _encode(_cleaned(msgspec.to_builtins(event)))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, _KINDS[type(event)].encode(), said)


def _cleaned(value: Any) -> Any:
    """Return plain values whose texts turn no reading direction; lines stay lines."""
    if isinstance(value, str):
        return replace_unprintable_lines(value)
    if isinstance(value, dict):
        return {replace_unprintable_lines(name): _cleaned(one) for name, one in value.items()}
    return [_cleaned(one) for one in value] if isinstance(value, list | tuple) else value
