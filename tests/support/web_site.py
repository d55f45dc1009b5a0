"""Asks a web application in this process, without a server."""

import asyncio
import contextlib
import gzip
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ggp.referee.server.web.guard import App, Message


@dataclass(frozen=True)
class WebAnswer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        packed = self.headers.get("content-encoding") == "gzip"
        return (gzip.decompress(self.body) if packed and self.body else self.body).decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def asked(app: App, url: str, method: str = "GET", client: str = "192.0.2.1", **headers: str) -> WebAnswer:
    """The whole answer to one request; `headers` with `_` for `-`."""
    return asyncio.run(answered(app, url, method, client, b"", None, **headers))


async def answered(
    app: App, url: str, method: str, client: str, body: bytes, seconds: float | None, **headers: str
) -> WebAnswer:
    """See asked; what came in so many `seconds`."""
    parts, sent = urlsplit(url), list[Message]()
    fields = {"host": "site", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        "client": (client, 1),
        "server": ("site", 80),
    }
    asked_for = False

    async def receive() -> Message:
        nonlocal asked_for
        if asked_for:
            await asyncio.Event().wait()  # the client stays
        asked_for = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await app(scope, receive, send)
    said = b"".join(message.get("body", b"") for message in sent[1:])
    return WebAnswer(
        sent[0]["status"], {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}, said
    )
