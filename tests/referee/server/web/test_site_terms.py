"""What holds of all pages of a site: numbers lead to their games, each has its JSON, strangers see no folders, and only
rated matches are held back."""

import fcntl
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec import structs
from starlette.routing import Route

from ggp.protocol.records import Record, read_records
from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.ladder.jobs import pair_name
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.records import live_path, unpack
from ggp.referee.server.web import guard, ladder_routes, seats
from ggp.referee.server.web.app import make_app, site_routes
from ggp.referee.server.web.boards import BoardPool
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard
from ggp.referee.server.web.pages import STYLE
from ggp.referee.server.web.seats import Seats
from ggp.referee.server.web.site import Delay, Site, place_of
from tests.referee.server.web.test_app import TEST_FILE, page
from tests.referee.server.web.test_routes import QuietOrders
from tests.support.stores import Filled, a_season, ladder, match, pool
from tests.support.web_site import asked

COUNT = re.compile(r'<a href="([./]*games\?[^"]*)">([\d,]+)</a>([^<]{0,12})')
PAGES = ("/index.html", "/pools/fast.html", "/bots/ann.html", "/bots/dan.html", "/pair?a=ann&b=dan", "/events")


def people() -> Seats:
    return Seats(LobbyLink("tcp://127.0.0.1:1"), 3, lambda *_: None)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    pools = (pool(), pool().unrated())
    entered = ladder(["ann", "bob", "cat", "dan"], pools)
    with Filled(tmp_path, replace(entered, bots=tuple(bot.with_unrated() for bot in entered.bots))) as made:
        a_season(made)
        made.rate()
        yield made


@pytest.fixture
def site(filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    monkeypatch.setattr(seats, "Ordering", QuietOrders)
    monkeypatch.setattr(guard, "RATE", 1e9)
    (tmp_path / "club.toml").write_text(TEST_FILE, encoding="utf-8")
    read, boards = Site(str(tmp_path / "club.toml"), "club"), BoardPool(read_engine("/bin/false"), processes=1)
    yield make_app(read, boards, Follower(read.follow), seats=people())
    boards.close()
    read.close()


def test_every_count_of_games_leads_to_so_many_games(site: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Counter[frozenset[str]]()
    monkeypatch.setattr(ladder_routes, "PAGE", 1000)
    for number, url in enumerate(PAGES):
        for link, count, what in COUNT.findall(page(site, url).text):
            query = urlsplit(unescape(link)).query
            listed = len(page(site, f"/games?{query}&format=json").json["games"])
            if what.strip() == "whole pairs":  # and at most a game of one that is not
                assert 0 <= listed - 2 * int(count) <= 1, (url, link, count)
                kinds[frozenset({"pairs", str(number)})] += 1
            elif "points=" in query:  # a count of pairs
                assert listed == 2 * int(count), (url, link, count)
            else:
                assert listed == int(count), (url, link, count)
            found = parse_qs(query)
            kinds[frozenset({*found, *found.get("result", ())})] += 1
    assert {
        frozenset({"pairs", "1"}),
        frozenset({"pairs", "5"}),
        frozenset({"result", "counted"}),
        frozenset({"result", "void"}),
        frozenset({"pool", "result", "counted"}),
        frozenset({"pool", "result", "drawn"}),
        frozenset({"pool", "termination"}),
        frozenset({"pool", "bot", "result", "won"}),
        frozenset({"pool", "bot", "seat", "result", "counted"}),
        frozenset({"pool", "bot", "seat", "result", "lost"}),
        frozenset({"pool", "bot", "against", "seat", "result", "counted"}),
        frozenset({"pool", "bot", "against", "result", "gift"}),
        frozenset({"pool", "bot", "termination", "result", "fault"}),
        frozenset({"pool", "bot", "against", "points"}),
    } <= set(kinds)


def test_every_page_has_its_json_without_tokens(site: Guard, filled: Filled) -> None:
    key = next(filled.store.games()).key
    known = {"/pools/{file}": "/pools/fast.html", "/bots/{file}": "/bots/ann.html", "/rules/{file}": "/rules/fast.html"}
    known |= {"/pair": "/pair?a=ann&b=dan", "/match/{key}": f"/match/{key}"}
    no_pages = {
        "/download",
        "/favicon.ico",
        "/live/stream",
        f"/{STYLE.file}",
        "/emblem/{file}",
        "/seats/{id}",
        "/seats/{id}/events",
        "/seats/{id}/position",
    }
    read, boards = Site(str(filled.path), "club"), BoardPool(read_engine("/bin/false"))
    routes = site_routes(read, boards, Follower(read.follow), people()).routes
    paths = {route.path for route in routes if isinstance(route, Route) and "GET" in (route.methods or ())}
    for path in paths - no_pages:
        if path.startswith("/match/{key}/"):
            continue  # data of its page
        url = known.get(path, path)
        html = asked(site, url, accept="text/html", host="127.0.0.1")
        said = asked(site, f"{url}{'&' if '?' in url else '?'}format=json", host="127.0.0.1")
        assert html.headers["content-type"].startswith("text/html") and "This page as JSON" in html.text, url
        assert said.headers["content-type"] == "application/json" and said.json, url
        assert "set-cookie" not in said.headers and "csrf" not in said.text, url
    assert {"/", "/seats", "/test", "/games", *known} <= paths
    assert asked(site, "/seats?format=json", host="127.0.0.1").json["pools"][0]["pool"] == "people"


def test_strangers_see_no_folder_of_the_server(filled: Filled, site: Guard, tmp_path: Path) -> None:
    key = next(filled.store.games()).key
    text = page(site, f"/match/{key}").text
    assert f"club.toml#{key}" in text and str(tmp_path) not in text
    filled.store.close()
    away = filled.path.rename(tmp_path / "away.db")
    (tmp_path / "club.db").mkdir()
    for accept in ("text/html", "*/*"):
        answer = asked(site, "/events", accept=accept)
        assert answer.status == 503 and "club.db" in answer.text and str(tmp_path) not in answer.text
    (tmp_path / "club.db").rmdir()
    away.rename(filled.path)


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("/srv/club/play.toml", "play.toml"),
        ("play.db", "play.db"),
        ("sqlite:////srv/club/play.db", "play.db"),
        ("postgresql://club:secret@db.internal/ladder", "postgresql:///ladder"),
    ],
)
def test_a_place_names_no_folder_and_no_host(word: str, place: str) -> None:
    assert place_of(word) == place


def test_only_rated_matches_are_held_back(filled: Filled) -> None:
    site = Site(str(filled.path), "club", delay=Delay(plies=1))
    for number, one in enumerate((pool(), pool().unrated()), 1):
        (record,) = read_records(unpack(match(filled.issue("ann", "bob"), 0).result.record).splitlines(True))
        key = f"{pair_name('club', one, number)}-1"
        plies = tuple(structs.replace(ply, match=key) for ply in record.plies)
        with Path(live_path(str(filled.path), number)).open("wb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(Record(structs.replace(record.start, match=key), plies, None).lines())
            found = site.find(key)
            assert found is not None and len(found.record.plies) == len(plies) - (1 if one.rated else 0)
            assert [head.ply for head in site.playing()] == [len(found.record.plies)]
    site.close()


@pytest.mark.parametrize(
    ("lobby", "shown"),
    [
        ('listen = "tcp://0.0.0.0:7711"\naddress = "tcp://club.example:7711"', "tcp://club.example:7711"),
        ('listen = "tcp://0.0.0.0:7711"', "tcp://HOST:PORT"),
        ('listen = "tcp://*:7711"', "tcp://HOST:PORT"),
        ('listen = "tcp://[::]:7711"', "tcp://HOST:PORT"),
        ('listen = "tcp://127.0.0.1:7711"', "tcp://127.0.0.1:7711"),
        (
            'listen = "tcp://127.0.0.1:7711"\n[front.a]\nlisten = "tcp://0.0.0.0:1"\naddress = "tcp://a.example:1"\n'
            '[front.b]\nlisten = "tcp://192.0.2.7:2"\n[front.c]\nlisten = "tcp://0.0.0.0:3"',
            "tcp://a.example:1,tcp://192.0.2.7:2",
        ),
    ],
)
def test_how_to_take_part_names_an_address_that_can_be_dialled(
    filled: Filled, tmp_path: Path, lobby: str, shown: str
) -> None:
    file = tmp_path / "club.toml"
    file.write_text(f"{TEST_FILE}\n[lobby]\n{lobby}\n", encoding="utf-8")
    boards = BoardPool(read_engine("/bin/false"), processes=1)
    site = Site(str(file), "club")
    text = page(make_app(site, boards, Follower(site.follow)), "/take-part").text
    boards.close()
    assert f"ggp connect {shown} " in text
    assert not re.search(r"tcp://(0\.0\.0\.0|\*|\[::\])", text)
