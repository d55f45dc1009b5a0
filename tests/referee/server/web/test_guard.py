"""What strangers send is bounded, unknown words of an address are refused, and answers have safe headers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.referee.match.bot_spec import read_engine
from ggp.referee.server.web import guard
from ggp.referee.server.web.app import make_app
from ggp.referee.server.web.boards import BoardPool
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard, Message, Page, QueryWords, Receive, Scope, Send
from ggp.referee.server.web.site import Site
from tests.support.stores import Filled, a_season, ladder
from tests.support.web_site import asked


async def site(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"here"})


def test_every_answer_has_the_headers() -> None:
    for method, status in (("GET", 200), ("POST", 405)):
        answer = asked(Guard(site), "/", method)
        assert answer.status == status
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_other_methods_are_refused(method: str) -> None:
    assert asked(Guard(site), "/", method).status == 405


ORDER = {"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:8080", "content_type": "application/json"}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"host": "localhost:8080", "origin": "http://localhost:8080"}, 200),
        ({"host": "[::1]:80", "origin": "https://[::1]:80"}, 200),
        ({"host": "evil.example", "origin": "http://evil.example"}, 421),  # a name that was bound to this address
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": "http://127.0.0.1:8080/page"}, 403),
        ({"origin": "ftp://127.0.0.1:8080"}, 403),
        ({"origin": ""}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "multipart/form-data; boundary=x"}, 415),
        ({"content_length": str(guard.MAX_BODY + 1)}, 413),
        ({"content_length": "-1"}, 413),
    ],
)
def test_an_order_comes_from_a_page_of_the_site_itself(changed: dict[str, str], status: int) -> None:
    assert asked(Guard(site, seats=True), "/seats", "POST", **{**ORDER, **changed}).status == status
    assert asked(Guard(site), "/seats", "POST", **{**ORDER, **changed}).status == 405
    assert asked(Guard(site, seats=True), "/games", "POST", **{**ORDER, **changed}).status == 405


def test_a_named_site_takes_orders_under_its_name() -> None:
    guarded = Guard(site, frozenset({"club.example"}), seats=True)
    named = {**ORDER, "host": "club.example", "origin": "https://club.example"}
    assert asked(guarded, "/seats", "POST", **named).status == 200
    assert asked(guarded, "/seats", "POST", **ORDER).status == 421


def test_endless_headers_are_refused() -> None:
    assert asked(Guard(site), "/", cookie="a" * guard.MAX_HEADERS).status == 431
    assert asked(Guard(site), "/", cookie="a" * (guard.MAX_HEADERS - 100)).status == 200


def test_an_address_with_a_nul_is_no_page() -> None:
    assert [asked(Guard(site), target).status for target in ("/match/a\0b", "/games?bot=%00", "/a%00")] == [404] * 3


def test_an_endless_address_is_refused() -> None:
    assert asked(Guard(site), "/" + "a" * guard.MAX_TARGET).status == 414
    assert asked(Guard(site), "/?" + "a" * guard.MAX_TARGET).status == 414


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("a", 200),
        ("a:8080", 200),
        ("[::1]:80", 200),
        ("[::1]", 200),
        ("A", 200),
        ("b.example", 200),
        ("evil", 421),
        ("", 421),
    ],
)
def test_only_its_own_names_are_answered(host: str, status: int) -> None:
    assert asked(Guard(site, frozenset({"a", "::1", "B.Example"})), "/", host=host).status == status


def test_an_address_that_asks_too_often_waits_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BURST", 3.0)
    monkeypatch.setattr(guard, "RATE", 0.001)
    guarded = Guard(site)
    assert [asked(guarded, "/", client="2001:db8::1").status for _ in range(4)] == [200, 200, 200, 429]
    assert asked(guarded, "/", client="2001:db8::ffff").status == 429, "an IPv6 /64 is one address"
    assert asked(guarded, "/", client="2001:db8:0:1::1").status == 200
    assert asked(guarded, "/").status == 200
    assert asked(guarded, "/", client="2001:db8::1").headers["retry-after"] == "2"


def test_streams_of_an_address_are_counted_while_they_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "STREAMS", 1)
    inside: list[int] = []

    async def stream(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        if not inside:  # while the first is open, a second is tried
            inside.append(0)
            await asyncio.to_thread(lambda: inside.append(asked(guarded, "/match/a/stream").status))
        await site(scope, receive, send)

    guarded = Guard(stream)
    assert asked(guarded, "/match/a/stream").status == 200
    assert inside[1] == 503
    assert asked(guarded, "/match/a/stream").status == 200, "the first has ended"


def test_an_address_pays_for_the_work_of_its_requests_by_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "WORK_BURST", 1000.0)
    monkeypatch.setattr(guard, "WORK", 0.1)

    async def costly(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        who = guard.VISITOR.get()
        assert who is not None
        who.spend(0.4)
        await site(scope, receive, send)

    guarded = Guard(costly)
    assert [asked(guarded, "/").status for _ in range(4)] == [200, 200, 200, 429]
    refused = asked(guarded, "/")
    assert "share of the server's time" in refused.text and int(refused.headers["retry-after"]) > 1000
    assert asked(guarded, "/", client="192.0.2.2").status == 200


def test_work_is_paid_for_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    one = guard.Visitor("a", 0.0)
    one.spend(guard.WORK_BURST / 1000 + 1)
    assert one.wait() == 4 and one.debt() == 4.0
    now[0] = 4.0
    assert one.wait() == 0


GAMES = "pool, bot, against, seat, result, points, termination, since, until, before, format"


async def said(scope: object, receive: object, send: object) -> None:
    raise AssertionError("it is not routed here")


class HeardQuery:
    """An application behind the words that answers with the query that reached it."""

    def __init__(self) -> None:
        pages = [Page("/games", said, "bot pool"), Page("/board", said, several="cell")]
        self.app = QueryWords(self, pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["query_string"]})


@pytest.mark.parametrize(
    ("url", "query"),
    [
        ("/games", ""),
        ("/games?pool=a&bot=b", "bot=b&pool=a"),
        ("/games?bot=b&pool=a", "bot=b&pool=a"),
        ("/games?bot=&pool=a&format=", "pool=a"),
        ("/games?bot=%62", "bot=b"),
        ("/board?cell=D4&cell=C3", "cell=D4&cell=C3"),
        ("/elsewhere?x=1", ""),
    ],
)
def test_a_query_has_one_form(url: str, query: str) -> None:
    assert asked(HeardQuery().app, url).text == query


@pytest.mark.parametrize("url", ["/games?x=1", "/games?bot=a&Bot=b", "/games?cell=D4", "/games?=", "/board?bot=a"])
def test_an_unknown_word_is_refused_and_the_known_ones_are_named(url: str) -> None:
    answer = asked(HeardQuery().app, url)
    known = "cell, format" if "board" in url else "bot, pool, format"
    assert answer.status == 400 and answer.text.endswith(f"this page knows {known}\n")


@pytest.mark.parametrize("url", ["/games?bot=a&bot=a", "/games?format=json&format=json", "/games?format=xml"])
def test_a_word_is_there_once_and_the_format_is_json(url: str) -> None:
    assert asked(HeardQuery().app, url).status == 400


def test_what_is_refused_moves_no_terminal_and_turns_no_text() -> None:
    answer = asked(HeardQuery().app, "/games?%E2%80%AE%1B[2J=1")
    assert answer.status == 400 and answer.text.count("\n") == 1 and answer.text[:-1].isprintable()


@pytest.fixture
def whole_site(tmp_path: Path) -> Iterator[Guard]:
    with Filled(tmp_path, ladder(["ann", "bob", "cat", "dan"])) as filled:
        a_season(filled)
        filled.rate()
    read, boards = Site(str(filled.path), "club"), BoardPool(read_engine(None), processes=1)
    yield make_app(read, boards, Follower(read.follow))
    boards.close()
    read.close()


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/", "format"),
        ("/pools/fast.html", "from, format"),
        ("/bots/ann.html", "format"),
        ("/pair", "a, b, pool, before, format"),
        ("/games", GAMES),
        ("/download", f"{GAMES.replace(', before, format', '')}, form, format"),
        ("/match/none", "ply, move, verify, format"),
        ("/match/none/stream", "after, format"),
        ("/match/none/ply/1", "format"),
    ],
)
def test_no_page_is_made_for_unknown_words(
    whole_site: Guard, path: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Site, "store", lambda self: pytest.fail("the store was read"))
    answer = asked(whole_site, f"{path}?x=17")
    assert answer.status == 400 and answer.text == f'unknown word "x" in the address: this page knows {known}\n'


def test_words_in_another_order_are_the_page_that_is_kept(whole_site: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked(whole_site, "/games?bot=ann&pool=fast")
    assert first.status == 200
    monkeypatch.setattr(Site, "store", lambda self: pytest.fail("the store was read"))
    assert asked(whole_site, "/games?pool=fast&seat=&bot=ann").headers["etag"] == first.headers["etag"]
