"""Bounds and headers for requests from strangers, around the whole site: an ASGI middleware.

Only GET and HEAD, unless a route takes more. Every answer has the headers that keep a page from loading or being
loaded by anything else.
"""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from protocol.token_bucket import TokenBucket

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_TARGET = 2048  # bytes of path and query
RATE, BURST = 50.0, 400.0  # requests a second of an address, and at once
STREAMS, STREAMS_IN_ALL = 40, 4000  # open event streams of an address, of all
_ADDRESSES = 10_000  # whose rate is known
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """See the module. hosts: names by which the site may be called; empty for any."""

    def __init__(self, app: App, hosts: frozenset[str] = frozenset()) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._streams: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        address = _network(scope)
        if refusal := self._refuses(scope, address):
            await _refuse(with_headers, *refusal)
        elif not scope["path"].endswith("/stream"):
            await self._app(scope, receive, with_headers)
        elif self._streams.get(address, 0) >= STREAMS or sum(self._streams.values()) >= STREAMS_IN_ALL:
            await _refuse(with_headers, 503, "too many live pages are open: close some and reload", retry=10)
        else:
            self._streams[address] = self._streams.get(address, 0) + 1
            try:
                await self._app(scope, receive, with_headers)
            finally:
                self._streams[address] -= 1
                if not self._streams[address]:
                    del self._streams[address]

    def _refuses(self, scope: Scope, address: str) -> tuple[int, str, int] | None:
        """Status, what to say, and after how many seconds to try again (0: never)."""
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "only GET and HEAD are answered", 0
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > MAX_TARGET:
            return 414, f"an address has at most {MAX_TARGET} bytes", 0
        if self._hosts and _host(scope) not in self._hosts:
            return 421, "this site has another name", 0
        now = time.monotonic()
        bucket = self._buckets.setdefault(address, TokenBucket(RATE, BURST, now))
        self._buckets.move_to_end(address)
        while len(self._buckets) > _ADDRESSES:
            self._buckets.popitem(last=False)
        if not bucket.try_consume(1, now):
            return 429, "too many requests from your address: wait a moment", 2
        return None


def _network(scope: Scope) -> str:
    """The address that sent the request, of IPv6 its /64; "" where the server does not say."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return str(address)


def _host(scope: Scope) -> str:
    """The name by which the site was called, without the port."""
    named = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
    return named.rsplit(":", 1)[0].strip("[]") if not named.endswith("]") else named.strip("[]")


async def _refuse(send: Send, status: int, text: str, retry: int = 0) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *([(b"retry-after", b"%d" % retry)] if retry else [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
