"""Bounds and headers for requests from strangers, around the whole site: an ASGI middleware.

Only GET and HEAD, and POST of JSON where people play (`/seats`), from pages of this site alone. Every answer has the
headers that keep a page from loading or being loaded by anything else.
"""

import contextlib
import ipaddress
import math
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextvars import ContextVar
from operator import itemgetter
from typing import Any
from urllib.parse import parse_qsl, urlencode

from cachetools import LRUCache
from starlette.routing import Match, Route

from ggp.protocol.drawing.scene import replace_unprintable
from ggp.protocol.token_bucket import TokenBucket
from ggp.referee.server.lobby.limits import network

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_TARGET = 2048  # bytes of path and query
MAX_HEADERS = 16 * 1024  # bytes of names and values
MAX_BODY = 16 * 1024  # bytes of an order
STREAMS, STREAMS_IN_ALL = 40, 4000  # open event streams of an address, of all
RATE, BURST = 50.0, 400.0  # requests a second of an address, and at once
WORK, WORK_BURST = 250.0, 5000.0  # ms of work a second for an address, and at once
_ADDRESSES = 10_000  # whose requests and work are counted
TWO_LENGTHS = "a request has either Content-Length or Transfer-Encoding, not both"
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Visitor:
    """One address and its two buckets. Any thread may call it."""

    def __init__(self, address: str, now: float) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._requests = TokenBucket(RATE, BURST, now)
        self._work = TokenBucket(WORK, WORK_BURST, now)

    def try_request(self) -> bool:
        """Count a request; return False if there were too many."""
        with self._lock:
            return self._requests.try_consume(1, time.monotonic())

    def spend(self, seconds: float) -> None:
        """Charge work that was done for this address."""
        with self._lock:
            self._work.consume(1000 * seconds, time.monotonic())

    def debt(self) -> float:
        """Return the seconds until the work done so far is paid for; 0 if more may be asked for now."""
        with self._lock:
            return self._work.delay(time.monotonic())

    def wait(self) -> int:
        """Return the debt in whole seconds, rounded up."""
        return math.ceil(self.debt())


VISITOR: ContextVar[Visitor | None] = ContextVar("VISITOR", default=None)
"""Who sent the request that is being answered; None for what the site does by itself."""

PATIENT: ContextVar[bool] = ContextVar("PATIENT", default=False)
"""Whether reading may take longer than a visitor waits, because its result is kept for the next one."""


class Guard:
    """See the module. hosts: names by which the site may be called; empty for any. seats: whether people play."""

    def __init__(self, app: App, hosts: frozenset[str] = frozenset(), seats: bool = False) -> None:
        self._app, self._hosts, self._seats = app, {host.lower() for host in hosts}, seats
        self._visitors: LRUCache[str, Visitor] = LRUCache(_ADDRESSES)
        self._streams: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        address = sender(scope)
        visitor = self._visitor(address)
        VISITOR.set(visitor)
        if refusal := self._refuses(scope, visitor):
            await refuse(with_headers, *refusal)
        elif not _streams(scope["path"]):
            await self._app(scope, receive, with_headers)
        elif self._streams.get(address, 0) >= STREAMS or sum(self._streams.values()) >= STREAMS_IN_ALL:
            await refuse(with_headers, 503, "too many live pages are open: close some and reload", retry=10)
        else:
            self._streams[address] = self._streams.get(address, 0) + 1
            try:
                await self._app(scope, receive, with_headers)
            finally:
                self._streams[address] -= 1
                if not self._streams[address]:
                    del self._streams[address]

    def _visitor(self, address: str) -> Visitor:
        if (visitor := self._visitors.get(address)) is None:
            visitor = self._visitors[address] = Visitor(address, time.monotonic())
        return visitor

    def _refuses(self, scope: Scope, visitor: Visitor) -> tuple[int, str, int] | None:
        """Status, what to say, and after how many seconds to try again (0: never)."""
        if _header(scope, b"content-length") and _header(scope, b"transfer-encoding"):
            return 400, TWO_LENGTHS, 0
        order = self._seats and scope["method"] == "POST" and scope["path"].startswith("/seats")
        if scope["method"] not in ("GET", "HEAD") and not order:
            return 405, "only GET and HEAD are answered", 0
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > MAX_TARGET:
            return 414, f"an address has at most {MAX_TARGET} bytes", 0
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:  # no name has one, and PostgreSQL takes none
            return 404, "there is no such page", 0
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADERS:
            return 431, f"the headers of a request have at most {MAX_HEADERS} bytes", 0
        if self._hosts and _host(scope) not in self._hosts:
            return 421, "this site has another name", 0
        if order and (refusal := self._refuses_order(scope)):
            return refusal
        if not visitor.try_request():
            return 429, "too many requests from your address: wait a moment", 2
        if wait := visitor.wait():
            return 429, f"your address has used its share of the server's time: wait {wait} s", wait
        return None

    def _refuses_order(self, scope: Scope) -> tuple[int, str, int] | None:
        """An order comes from a page of this site, which another site cannot have sent: neither by a form, nor under
        a name of its own that leads to this address."""
        if not (self._hosts or _is_plain(_host(scope))):
            return 421, "this name is not the site's: name it with --host", 0
        host = _header(scope, b"host").lower()
        if _header(scope, b"origin").lower() not in (f"http://{host}", f"https://{host}"):
            return 403, "an order comes from a page of this site", 0
        if _header(scope, b"content-type").partition(";")[0].strip() != "application/json":
            return 415, "an order is JSON", 0
        length = _header(scope, b"content-length")
        if length and not (length.isdecimal() and int(length) <= MAX_BODY):
            return 413, f"an order has at most {MAX_BODY} bytes", 0
        return None


def sender(scope: Scope) -> str:
    """Return what identifies the customer who sent a request, as `network` says; "" where the server does not say."""
    return network((scope.get("client") or ("",))[0])


def _streams(path: str) -> bool:
    """Whether the answer is a stream of events."""
    return path.endswith("/stream") or (path.startswith("/seats/") and path.endswith("/events"))


def _is_plain(host: str) -> bool:
    """Whether this is an address, or a name that no foreign name server answers for."""
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return host == "localhost"


def _header(scope: Scope, wanted: bytes) -> str:
    return next((value for name, value in scope["headers"] if name == wanted), b"").decode("latin-1")


def _host(scope: Scope) -> str:
    """The name by which the site was called, without the port."""
    named = _header(scope, b"host").lower()
    return named.rsplit(":", 1)[0].strip("[]") if not named.endswith("]") else named.strip("[]")


async def refuse(send: Send, status: int, text: str, retry: int = 0) -> None:
    """Answer with one line of text; `retry`: after how many seconds it makes sense to ask again."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *([(b"retry-after", b"%d" % retry)] if retry else [])]
    if text == TWO_LENGTHS:  # a proxy may disagree on where the request ends, so nothing may follow it
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})


FORMAT = "format"  # the word for a page as JSON


class Page(Route):
    """A route whose query may have these `words`, besides `format`; `several`: words that may be there repeatedly."""

    def __init__(self, path: str, endpoint: object, words: str = "", several: str = "", **options: object) -> None:
        super().__init__(path, endpoint, **options)  # type: ignore[arg-type]
        self.words = (*words.split(), *several.split(), FORMAT)
        self.several = several.split()


class QueryWords:
    """See the module. `routes` are asked in their order; a path that is none of them is no page."""

    def __init__(self, app: App, routes: Sequence[object]) -> None:
        self._app, self._routes = app, [route for route in routes if isinstance(route, Page)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["query_string"]:
            await self._app(scope, receive, send)
            return
        said: list[tuple[str, str]] = []
        if page := next((one for one in self._routes if one.matches(scope)[0] is not Match.NONE), None):
            pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            if wrong := _wrong(page, pairs):
                await refuse(send, 400, wrong)
                return
            said = sorted((pair for pair in pairs if pair[1]), key=itemgetter(0))
        await self._app({**scope, "query_string": urlencode(said).encode()}, receive, send)


def _wrong(page: Page, pairs: Sequence[tuple[str, str]]) -> str:
    """Return what is wrong with a query, in a sentence; "" if nothing is."""
    seen = set[str]()
    for name, value in pairs:
        if name not in page.words:
            word = replace_unprintable(name[:40])
            return f'unknown word "{word}" in the address: this page knows {", ".join(page.words)}'
        if name in seen and name not in page.several:
            return f"{name} is in the address twice: say it once"
        if name == FORMAT and value not in ("", "json"):
            return "format is json, or left out for the page"
        seen.add(name)
    return ""
