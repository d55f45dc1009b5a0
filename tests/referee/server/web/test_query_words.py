"""The words of an address: unknown ones are refused before the cache, known ones are one page in any order."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.match.bot_spec import read_engine
from ggp.referee.server.web.app import make_app
from ggp.referee.server.web.boards import BoardPool
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard, Receive, Scope, Send
from ggp.referee.server.web.query_words import Page, QueryWords
from ggp.referee.server.web.site import Site
from tests.support.stores import Filled, a_season, ladder
from tests.support.web_site import asked

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
def site(tmp_path: Path) -> Iterator[Guard]:
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
def test_no_page_is_made_for_unknown_words(site: Guard, path: str, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Site, "store", lambda self: pytest.fail("the store was read"))
    answer = asked(site, f"{path}?x=17")
    assert answer.status == 400 and answer.text == f'unknown word "x" in the address: this page knows {known}\n'


def test_words_in_another_order_are_the_page_that_is_kept(site: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked(site, "/games?bot=ann&pool=fast")
    assert first.status == 200
    monkeypatch.setattr(Site, "store", lambda self: pytest.fail("the store was read"))
    assert asked(site, "/games?pool=fast&seat=&bot=ann").headers["etag"] == first.headers["etag"]
