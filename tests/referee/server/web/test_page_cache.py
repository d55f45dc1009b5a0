"""Pages that are kept: made once for all who ask, made again when the store changes, and how old they may be."""

import asyncio

import pytest

from ggp.referee.server.web import page_cache
from ggp.referee.server.web.guard import App, Message, Receive, Scope, Send
from ggp.referee.server.web.page_cache import PageCache
from tests.support.web_site import WebAnswer, answered, asked


class Pages:
    """An application that counts what it makes; a page takes `took` seconds of its own clock."""

    def __init__(self, took: float = 0.0, status: int = 200, control: str = "") -> None:
        self.made, self.now, self.store, self.version, self.took, self.status = 0, 0.0, 0, 0, took, status
        self.headers = [(b"cache-control", control.encode())]
        self.cache = PageCache(self.app, lambda: (self.store, self.version), clock=lambda: self.now)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.made += 1
        self.now += self.took
        await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": f"{scope['path']} {self.made}".encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"."})


def test_a_page_is_made_again_when_the_store_has_changed() -> None:
    pages = Pages()
    assert [asked(pages.cache, "/games").text for _ in range(3)] == ["/games 1."] * 3
    pages.version, pages.now = 1, 0.1
    assert asked(pages.cache, "/games").text == "/games 2."


def test_a_page_that_took_long_is_sent_again_for_a_while_and_one_of_an_unchanged_store_not_for_ever() -> None:
    pages = Pages(took=1.0)
    asked(pages.cache, "/games")
    pages.version, pages.now = 1, 4.9
    assert asked(pages.cache, "/games").text == "/games 1."
    pages.now = 5.1
    assert asked(pages.cache, "/games").text == "/games 2."
    pages.now += 10.1
    assert asked(pages.cache, "/games").text == "/games 3."


@pytest.mark.parametrize("path", ["ply", "picture"])
def test_a_position_of_a_match_that_is_over_is_made_once_for_a_store(path: str) -> None:
    pages, url = Pages(control="max-age=3600"), f"/match/m1/{path}/17"
    for _ in range(3):
        asked(pages.cache, url)
        pages.version, pages.now = pages.version + 1, pages.now + 1000
    assert pages.made == 1
    pages.store = 1
    assert asked(pages.cache, url).text == f"{url} 2."


def test_a_position_that_could_not_be_drawn_is_drawn_again() -> None:
    pages = Pages(took=1.0, control="no-store")
    for _ in range(2):
        asked(pages.cache, "/match/m1/ply/17")
    assert pages.made == 2


@pytest.mark.parametrize(
    ("url", "method"),
    [("/match/m1", "GET"), ("/match/m1/stream", "GET"), ("/live", "GET"), ("/games", "HEAD")],
)
def test_what_changes_without_the_store_is_not_kept(url: str, method: str) -> None:
    pages = Pages()
    for _ in range(2):
        asked(pages.cache, url, method)
    assert pages.made == 2


def test_a_query_and_a_coding_are_pages_of_their_own_and_a_failure_is_not_kept() -> None:
    pages = Pages()
    for url, coding in (("/games", ""), ("/games?bot=a", ""), ("/games", "gzip")):
        asked(pages.cache, url, accept_encoding=coding)
    assert pages.made == 3
    pages.status = 503
    assert [asked(pages.cache, "/index.html").status for _ in range(2)] == [503, 503]
    assert pages.made == 5


def test_a_page_that_the_browser_has_is_not_sent_again() -> None:
    pages = Pages()
    etag = asked(pages.cache, "/").headers["etag"]
    again = asked(pages.cache, "/", if_none_match=etag)
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)


def test_a_page_is_made_once_for_all_who_ask_at_once() -> None:
    pages = Pages()

    async def ask_all(app: App) -> list[bytes]:
        bodies: list[bytes] = []

        async def one() -> None:
            async def send(message: Message) -> None:
                bodies.append(message.get("body", b""))

            async def receive() -> Message:
                return {"type": "http.request"}

            scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
            await app(scope, receive, send)

        await asyncio.gather(*(one() for _ in range(50)))
        return [body for body in bodies if body]

    assert asyncio.run(ask_all(pages.cache)) == [b"/ 1."] * 50
    assert pages.made == 1


def test_old_pages_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.referee.server.web.page_cache._BYTES", 100)
    pages = Pages()
    for number in range(50):
        asked(pages.cache, f"/games?before={number}")
    asked(pages.cache, "/games?before=49")
    assert pages.made == 50, "the newest is kept"
    asked(pages.cache, "/games?before=0")
    assert pages.made == 51


class SlowPages(Pages):
    """Pages that are made when they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: asyncio.Event | None = None
        self.fails = False

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.status = 503 if self.fails else 200
        await super().app(scope, receive, send)


def test_the_last_page_is_sent_with_its_age_while_a_new_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MOMENT", 0.01)
    monkeypatch.setattr(page_cache, "PATIENCE", 0.01)
    pages = SlowPages()

    async def visits() -> list[WebAnswer]:
        found = [await visit(pages, "/events")]
        pages.version, pages.now, pages.gate = 1, 7.0, asyncio.Event()
        found += [await visit(pages, "/events"), await visit(pages, "/games")]
        pages.gate.set()
        await asyncio.sleep(0.05)
        return [*found, await visit(pages, "/events")]

    first, old, other, new = asyncio.run(visits())
    assert first.text == old.text == "/events 1." and "refresh" not in first.headers
    assert (old.status, old.headers["age"], old.headers["refresh"]) == (200, "7", "3")
    assert other.status == 503 and other.headers["retry-after"] == "3", "there is none yet"
    assert new.text.startswith("/events ") and new.text != old.text and "age" not in new.headers
    assert pages.made == 3, "each once, though nobody waited for it"


def test_a_page_with_a_form_does_not_load_itself_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MOMENT", 0.01)
    pages = SlowPages()

    async def visits() -> WebAnswer:
        await visit(pages, "/games")
        pages.version, pages.gate = 1, asyncio.Event()
        pages.now = 1.0
        return await visit(pages, "/games")

    old = asyncio.run(visits())
    assert old.headers["age"] == "1" and "refresh" not in old.headers


def test_where_a_new_page_fails_the_last_one_is_sent_for_an_hour_and_of_another_store_never() -> None:
    pages = SlowPages()
    asked(pages.cache, "/events")
    pages.version, pages.now, pages.fails = 1, 1800.0, True
    assert asked(pages.cache, "/events").text == "/events 1."
    pages.now = 3601.0
    assert asked(pages.cache, "/events").status == 503
    pages.fails = False
    asked(pages.cache, "/events")
    pages.store, pages.fails, pages.now = 1, True, 3602.0
    assert asked(pages.cache, "/events").status == 503


def test_a_page_is_there_before_a_visitor_asks_for_it() -> None:
    pages = Pages()
    assert asyncio.run(pages.cache.warm("/"))
    assert asked(pages.cache, "/", accept_encoding="gzip").status == 200
    assert asked(pages.cache, "/index.html", accept_encoding="gzip").status == 200
    assert pages.made == 1
    pages.status = 503
    assert not asyncio.run(pages.cache.warm("/events"))


async def visit(pages: Pages, url: str) -> WebAnswer:
    return await answered(pages.cache, url, "GET", "192.0.2.1", b"", None)
