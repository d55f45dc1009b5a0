"""Answers of the pages that read the store, kept while the store is the same: an ASGI middleware.

A page of a big ladder takes many milliseconds to make, and a ladder that plays changes many times a second. So a page
that took t seconds to make is sent again for 4 t seconds, whatever changes, and for longer while the store is the same.
A position of a match that is over (`max-age`) is sent again as long as it is the same file or database.

A page is made once for all who ask for it meanwhile. If that takes longer than a moment, or fails, they get the one
that was made last, which says when that was, and their browsers ask again by themselves. Without an earlier one they
are asked after a while to come again, and the page is made all the same.
"""

import asyncio
import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cachetools import LRUCache

from ggp.referee.server.web.guard import PATIENT, App, Message, Receive, Scope, Send, refuse

MOMENT = 0.3  # seconds that a visitor waits for a new page where there is an old one
PATIENCE = 15.0  # seconds to wait where there is none: on a busy machine a page late is better than none
_SHARE = 4.0  # times that a page took to make, for which it is sent again
_OLDEST = 10.0  # seconds for which a page of an unchanged store is sent; live matches change without the store
_STALE = 3600.0  # seconds after which a page is sent no more, even if there is no other
_AGAIN = 3  # seconds after which a browser that got an old page asks again
_BYTES = 32 << 20  # of all pages that are kept
_POSITION = re.compile(r"/match/[^/]+/(?:ply|picture|thumb)/|/emblem/")
_KEPT = ("/pools/", "/bots/", "/games", "/pair", "/test", "/events", "/index.html")
_FORM = "/games"  # a page where a visitor may be typing does not load itself again


Version = tuple[object, object]  # which store it is, what changes with it
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """An answer and what it was made from; `lasting`: as long as the store is the same one."""

    start: Message
    body: bytes
    etag: bytes
    lasting: bool
    version: Version
    made: float
    took: float

    @property
    def good(self) -> bool:
        return bool(self.start["status"] == 200)


class PageCache:
    """See the module.

    Args:
        app: What makes the pages.
        version: Which store is read, and what changes with its content. It must be quick.
        later: Answers where a page takes long and there is no earlier one.
        clock: For tests.
    """

    def __init__(
        self,
        app: App,
        version: Callable[[], Version],
        later: App | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._version, self._later, self._clock = app, version, later or _come_again, clock
        self._kept: LRUCache[Key, _Made] = LRUCache(_BYTES, lambda made: len(made.body))
        self._making: dict[Key, asyncio.Task[_Made]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_kept = path == "/" or path.startswith(_KEPT) or _POSITION.match(path)
        if scope["type"] != "http" or scope["method"] != "GET" or not is_kept:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        path = "/index.html" if path == "/" else path
        key = (path, scope["query_string"], b"gzip" in headers.get(b"accept-encoding", b""))
        kept, fresh = self._find(key)
        made = kept if fresh else await self._wait(key, scope, receive, MOMENT if kept else PATIENCE)
        if made is not None and (made.good or kept is None):
            await self._send(made, headers, send)
        elif kept is not None:
            again = [] if path.startswith(_FORM) else [(b"refresh", b"%d" % _AGAIN)]
            age = int(self._clock() - kept.made)
            await self._send(kept, headers, send, [(b"age", b"%d" % age), *again])
        else:
            await self._later(scope, receive, send)

    async def warm(self, path: str) -> bool:
        """Make a page before the first visitor asks for it; return False if that failed."""
        host: list[tuple[bytes, bytes]] = [
            (b"host", b"localhost"),
            (b"accept", b"text/html"),
            (b"accept-encoding", b"gzip"),
        ]
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": host,
        }
        said: list[Message] = []

        async def hear(message: Message) -> None:
            said.append(message)

        await self(scope, _nothing, hear)
        return bool(said and said[0]["status"] == 200)

    def _find(self, key: Key) -> tuple[_Made | None, bool]:
        """Return the page that is kept, and whether it is as good as a new one."""
        if (kept := self._kept.get(key)) is None:
            return None, False
        age, version = self._clock() - kept.made, self._version()
        same = version[0] == kept.version[0]
        if age <= _SHARE * kept.took:
            return kept, True
        if same if kept.lasting else age <= _OLDEST and version == kept.version:
            return kept, True
        if same and age <= _STALE:
            return kept, False
        self._kept.pop(key, None)
        return None, False

    async def _wait(self, key: Key, scope: Scope, receive: Receive, seconds: float) -> _Made | None:
        """Have the page made if it is not being made yet, and wait for it so long; None if it is not there then."""
        if (making := self._making.get(key)) is None or making.done():
            making = self._making[key] = asyncio.create_task(self._make(key, scope, receive))
            making.add_done_callback(lambda task: self._end(key, task))
        done, _ = await asyncio.wait([making], timeout=seconds)
        return making.result() if done else None

    def _end(self, key: Key, task: "asyncio.Task[_Made]") -> None:
        if self._making.get(key) is task:
            del self._making[key]
        if not task.cancelled():
            task.exception()  # those who wait raise it

    async def _make(self, key: Key, scope: Scope, receive: Receive) -> _Made:
        PATIENT.set(True)  # it is kept, so it need not be ready while a visitor waits
        version, began = self._version(), self._clock()
        start: Message = {}
        body: list[bytes] = []

        async def take(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] == "http.response.body":
                body.append(message.get("body", b""))

        try:
            await self._app(scope, receive, take)
        except Exception:
            if not start:  # else the application has answered, and has said why on stderr
                raise
        control = dict(start["headers"]).get(b"cache-control", b"")
        text, now = b"".join(body), self._clock()
        etag = b'"%s"' % hashlib.blake2b(text, digest_size=12).hexdigest().encode()
        made = _Made(start, text, etag, b"max-age" in control, version, now, now - began)
        if made.good and b"no-store" not in control:
            with contextlib.suppress(ValueError):  # it is larger than the cache
                self._kept[key] = made
        return made

    async def _send(
        self, made: _Made, asked: dict[bytes, bytes], send: Send, more: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        tag = [(b"etag", made.etag)] if made.good else []
        if made.good and asked.get(b"if-none-match") == made.etag:
            await send({"type": "http.response.start", "status": 304, "headers": [*tag, *more]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({**made.start, "headers": [*made.start["headers"], *tag, *more]})
            await send({"type": "http.response.body", "body": made.body})


async def _come_again(scope: Scope, receive: Receive, send: Send) -> None:
    await refuse(send, 503, "this page is being made: ask again in a few seconds", retry=_AGAIN)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
