"""Whatever is asked of any route of the site: no failure, no traceback, the headers of a page, a bounded answer.

The routes come from the application itself, so a new one is asked, too.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from starlette.routing import Mount, Route

from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.server.web import guard, seats
from ggp.referee.server.web.app import make_app, site_routes
from ggp.referee.server.web.boards import BoardError, BoardPool, BoardView
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard, Page
from ggp.referee.server.web.seats import Seats
from ggp.referee.server.web.site import Site
from tests.support.stores import Filled, a_season, entrant, ladder, real_setup
from tests.support.web_site import WebAnswer, answered

HOSTILE = "<script>alert(1)</script>"
MOST = 2 << 20  # bytes of an answer
FORM = {"host": "127.0.0.1:80", "origin": "http://127.0.0.1:80", "content_type": "application/json"}
WORDS = {
    "format": ["json", "xml"],
    "form": ["jsonl", "csv", "sgf", "exe"],
    "pool": ["fast", "none"],
    "bot": ["ann", "dan", "ann@v1", HOSTILE, "none"],
    "against": ["bob", "none"],
    "a": ["ann", "none"],
    "b": ["bob", "ann@v1"],
    "seat": ["1", "2", "3"],
    "points": ["0", "1.5", "3"],
    "result": ["won", "lost", "counted", "drawn", "forfeit", "gift", "fault", "void"],
    "termination": ["rules", "time", "illegal_move"],
    "since": ["2026-11-21", "0001-01-01", "9999-12-31", "2026-11-21T12:00:00Z", "0001-01-01T00:00:00+14:00"],
    "until": ["2026-11-21", "0001-01-01", "9999-12-31", "9999-12-31T23:59:59-14:00"],
    "before": ["0", "5", str(2**53), "9" * 30, "-1"],
    "after": ["0", "1", "x"],
    "ply": ["0", "1", "99"],
    "move": ["A1", "pass", HOSTILE],
    "verify": ["1"],
    "invite": ["", "0" * 32],
    "opponent": ["ann", HOSTILE],
    "cell": ["A1", HOSTILE],
}
# What a browser sends, and what none does.
HEADERS = {
    "accept": ["text/html", "*/*"],
    "accept_encoding": ["gzip", "br"],
    "host": ["site", "[", "a[b", "[::1", "x y", "a:b:c", "127.0.0.1:80", ""],
    "origin": ["null", "http://127.0.0.1:80", "http://[", "//"],
    "last_event_id": ["0", "-5", "9" * 40],
    "if_none_match": ['"x"', "*"],
    "if_modified_since": ["Sat, 21 Nov 2026 12:00:00 GMT", "Sat, 99 Nov 2026", "x"],
    "range": ["bytes=0-1", "bytes=-", "bytes=9-1", "x"],
    "content_type": ["application/json", "text/plain"],
    "content_length": ["0", "-1", "99999999"],
    "cookie": ["ggp-visitor=x", "=;;=", 'ggp-visitor="\\777"'],
    "x_csrf_token": ["0" * 64],
}
METHODS = ["GET"] * 8 + ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X"]
ANY = st.text(max_size=40) | st.sampled_from(
    ["", ".", "..", "\0", "\ud7ff", "‮", "%00", "a" * 1500, "1" * 1900, HOSTILE]
)


@dataclass
class AskedSite:
    """The application, its routes, and words that are in its paths."""

    app: Guard
    runner: asyncio.Runner
    routes: list[tuple[str, set[str], set[str]]]  # path, methods, words of the query
    known: dict[str, list[str]]
    orders: dict[str, str]  # headers of the visitor who has a seat


class QuietOrders:
    """A lobby with a pool and no bot."""

    def __init__(self, lobby: LobbyLink) -> None:
        pass

    def ask(self, line: str) -> str:
        return "pool=people game=yugo,size=3 time=60+1 seats=yes" if line == "ggp-pools" else ""

    def close(self) -> None:
        pass


class NoBoards(BoardPool):
    """Its engine is away."""

    def view(self, *_: object) -> BoardView:
        raise BoardError("the engine is away")

    why_illegal = verify = rules = view  # type: ignore[assignment]


def made(folder: Path, boards: BoardPool, url: str = "") -> Iterator[AskedSite]:
    with pytest.MonkeyPatch.context() as patch, closing(boards), asyncio.Runner() as runner:
        patch.setattr(seats, "Ordering", QuietOrders)
        patch.setattr(guard, "RATE", 1e9)
        patch.setattr(guard, "WORK", 1e9)
        with Filled(folder, ladder(["ann", "bob", "cat", "dan", entrant(HOSTILE)]), url) as filled:
            a_season(filled)
            filled.meet(HOSTILE, "ann", (0, "rules"), (1, "illegal_move"))
            filled.play(real_setup("ann", "bob"))
            filled.rate()
            keys = [row.key for row in filled.store.games()]
        site = Site(filled.url if url else str(filled.path), "club")
        people, follower = Seats(LobbyLink("tcp://127.0.0.1:1"), 3, lambda *_: None), Follower(site.follow)
        app = make_app(site, boards, follower, seats=people)
        page = runner.run(answered(app, "/seats", "GET", "192.0.2.1", b"", None, host="127.0.0.1"))
        visitor = {**FORM, "cookie": page.headers["set-cookie"].partition(";")[0]}
        visitor["x_csrf_token"] = re.findall(r'data-csrf="(\w+)"', page.text)[0]
        taken = runner.run(answered(app, "/seats", "POST", "192.0.2.1", b'{"pool": "people"}', None, **visitor))
        assert taken.status == 201, taken.text
        routes = list[tuple[str, set[str], set[str]]]()
        for route in site_routes(site, boards, follower, people).routes:
            assert isinstance(route, Route | Mount), "say here how to ask this kind"
            if isinstance(route, Route):
                words = {*route.words} if isinstance(route, Page) else {"format"}
                routes.append((route.path, route.methods or set(), words))
            else:
                routes.append((f"{route.path}/{{name}}", {"GET"}, {"format"}))
        files = ["fast.html", "ann.html", "dan.html", "none.html"]
        known = {
            "key": keys[:1] + keys[-2:],
            "id": [taken.json["seat"]],
            "file": files,
            "name": ["match.js", "none.js"],
        }
        yield AskedSite(app, runner, routes, known, visitor)
        runner.run(people.close())
        site.close()


def _sent(site: AskedSite, data: st.DataObject) -> WebAnswer:
    """One request, and its answer."""
    path, methods, known_words = data.draw(st.sampled_from(site.routes))

    def fill(found: re.Match[str]) -> str:
        name, _, kind = found[1].partition(":")
        known = ["0", "1", "9999"] if kind == "int" else site.known.get(name, [])
        return quote(data.draw((st.sampled_from(known) | ANY) if known else ANY), safe="")

    url = re.sub(r"\{([^}]+)\}", fill, path)
    some = st.sampled_from(sorted(WORDS if data.draw(st.integers(0, 4)) == 0 else WORDS.keys() & known_words))
    words = data.draw(st.dictionaries(some, st.none(), max_size=4))
    query = [(name, data.draw(st.sampled_from(WORDS[name]) | ANY)) for name in words]
    url += f"?{urlencode(query)}" if query else ""
    method = data.draw(st.sampled_from(METHODS) if "GET" in methods else st.sampled_from(["POST", "POST", "GET"]))
    own = site.orders if data.draw(st.booleans()) else {}
    names = data.draw(st.dictionaries(st.sampled_from(sorted(HEADERS)), st.none(), max_size=3))
    headers = own | {name: data.draw(st.sampled_from(HEADERS[name])) for name in names}
    body = b""
    if method == "POST":
        order = st.dictionaries(st.sampled_from(["pool", "opponent", "move", "ply"]), ANY | st.integers())
        body = data.draw(
            order.map(lambda one: json.dumps(one).encode()) | st.binary() | st.just(b'{"invite": "\\ud800"}')
        )
    # Not from one address: its requests, streams and seats are limited.
    client = f"198.51.{data.draw(st.integers(0, 255))}.{data.draw(st.integers(0, 255))}"
    endless = path.endswith("/events") and path.startswith("/seats/")
    answer = site.runner.run(answered(site.app, url, method, client, body, 0.1 if endless else None, **headers))
    answer.headers["x-asked"] = f"{method} {url} {headers}"
    return answer


def check(site: AskedSite, data: st.DataObject, error: Callable[[], str]) -> None:
    answer = _sent(site, data)
    what = answer.headers["x-asked"], answer.status, answer.text[:500]
    assert answer.status < 500 or (answer.status == 503 and "retry-after" in answer.headers), what
    assert answer.headers["x-content-type-options"] == "nosniff", what
    assert answer.headers["referrer-policy"] == "no-referrer", what
    assert "default-src 'none'" in answer.headers["content-security-policy"], what
    assert len(answer.body) <= MOST, what
    kind = answer.headers.get("content-type", "")
    if answer.status >= 400 and kind.startswith("text/plain"):
        assert answer.text.count("\n") <= 1 and len(answer.text) < 1000, what
    if kind.startswith("text/html"):
        assert HOSTILE not in answer.text and "‮" not in answer.text and "\0" not in answer.text, what
    assert error() == "", what


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    yield from made(tmp_path_factory.mktemp("plain"), NoBoards(read_engine(None)))


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    yield from made(tmp_path_factory.mktemp("drawing"), BoardPool(read_engine(None)))


@pytest.fixture(scope="module")
def on_postgresql(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[AskedSite]:
    for url in request.getfixturevalue("postgres").database():
        yield from made(tmp_path_factory.mktemp("postgresql"), NoBoards(read_engine(None)), url)


def property_of(examples: int) -> settings:
    quick = (Phase.explicit, Phase.generate) if examples < 100 else tuple(Phase)
    return settings(
        max_examples=examples,
        phases=quick,
        suppress_health_check=list(HealthCheck),
        deadline=None,
        derandomize=examples < 100,
    )


def said(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    return lambda: capsys.readouterr().err


@given(data=st.data())
@property_of(50)
def test_any_request_of_any_route(plain: AskedSite, data: st.DataObject, capsys: pytest.CaptureFixture[str]) -> None:
    check(plain, data, said(capsys))


@pytest.mark.slow
@given(data=st.data())
@property_of(300)
def test_any_request_of_any_route_with_boards(
    drawing: AskedSite, data: st.DataObject, capsys: pytest.CaptureFixture[str]
) -> None:
    check(drawing, data, said(capsys))


@pytest.mark.slow
@pytest.mark.needs("postgres")
@given(data=st.data())
@property_of(300)
def test_any_request_of_any_route_on_postgresql(
    on_postgresql: AskedSite, data: st.DataObject, capsys: pytest.CaptureFixture[str]
) -> None:
    check(on_postgresql, data, said(capsys))


@pytest.mark.long
@given(data=st.data())
@property_of(10_000)
def test_many_requests_of_any_route(
    drawing: AskedSite, data: st.DataObject, capsys: pytest.CaptureFixture[str]
) -> None:
    check(drawing, data, said(capsys))
