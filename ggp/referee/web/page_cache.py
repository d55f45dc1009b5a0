"""Answers of the pages that read the store, kept while the store is the same: an ASGI middleware.

A page of a big ladder takes many milliseconds to make, and a ladder that plays changes many times a second. So a page
that took t seconds to make is sent again for 4 t seconds, whatever changes, and for longer while the store is the same.
A position of a match that is over (`max-age`) is sent again as long as it is the same file or database.
Requests that come while a page is made wait for it: it is made once.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from ggp.referee.web.guard import App, Message, Receive, Scope, Send
from ggp.referee.web.sized_cache import SizedCache

_SHARE = 4.0  # times that a page took to make, for which it is sent again
_OLDEST = 10.0  # seconds for which a page of an unchanged store is sent; live matches change without the store
_BYTES = 32 << 20  # of all pages that are kept
_POSITION = re.compile(r"/match/[^/]+/(?:ply|picture)/")
_KEPT = ("/pools/", "/bots/", "/games", "/pair", "/test", "/events", "/index.html")


Version = tuple[object, object]  # which store it is, what changes with it


@dataclass(frozen=True, slots=True)
class _Kept:
    start: Message
    body: bytes
    etag: bytes
    lasting: bool
    version: Version
    made: float
    took: float


class PageCache:
    """See the module. version: it must be quick. clock: for tests."""

    def __init__(self, app: App, version: Callable[[], Version], clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._version, self._clock = app, version, clock
        self._kept: SizedCache[tuple[object, ...], _Kept] = SizedCache(_BYTES)
        self._making: dict[tuple[object, ...], asyncio.Lock] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        kept = path == "/" or path.startswith(_KEPT) or _POSITION.match(path)
        if scope["type"] != "http" or scope["method"] != "GET" or not kept:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        key = (path, scope["query_string"], b"gzip" in headers.get(b"accept-encoding", b""))
        lock = self._making.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                kept = self._find(key) or await self._make(key, scope, receive, send)
        finally:
            if not lock.locked():
                self._making.pop(key, None)
        if kept is None:
            return
        if headers.get(b"if-none-match") == kept.etag:
            await send({"type": "http.response.start", "status": 304, "headers": [(b"etag", kept.etag)]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({**kept.start, "headers": [*kept.start["headers"], (b"etag", kept.etag)]})
            await send({"type": "http.response.body", "body": kept.body})

    def _find(self, key: tuple[object, ...]) -> _Kept | None:
        if (kept := self._kept.get(key)) is None:
            return None
        age = self._clock() - kept.made
        if age <= _SHARE * kept.took:
            return kept
        version = self._version()
        if version[0] == kept.version[0] if kept.lasting else age <= _OLDEST and version == kept.version:
            return kept
        self._kept.forget(key)
        return None

    async def _make(self, key: tuple[object, ...], scope: Scope, receive: Receive, send: Send) -> _Kept | None:
        """The answer, kept; None if it was sent already because it is not one to keep."""
        version, began = self._version(), self._clock()
        start: Message = {}
        body: list[bytes] = []

        async def take(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            if start["status"] != 200:
                await send(message)
            elif message["type"] == "http.response.body":
                body.append(message.get("body", b""))

        await self._app(scope, receive, take)
        if start.get("status") != 200:
            return None
        control = dict(start["headers"]).get(b"cache-control", b"")
        text, made = b"".join(body), self._clock()
        etag = b'"%s"' % hashlib.blake2b(text, digest_size=12).hexdigest().encode()
        kept = _Kept(start, text, etag, b"max-age" in control, version, made, made - began)
        if b"no-store" not in control:
            self._kept.put(key, kept, len(text))
        return kept
