"""The site of a ladder: every page, its JSON, matches to step through and to follow, and what is not there."""

import fcntl
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ggp.protocol.records import Record
from ggp.referee.cli.ladder_bots import run_bot, run_pair
from ggp.referee.cli.ladder_games import run_events, run_games
from ggp.referee.ladder.queries import read_one
from ggp.referee.ladder.standings import standings_json
from ggp.referee.ladder.store import database
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.records import live_path, unpack
from ggp.referee.server.web import answers, ladder_routes
from ggp.referee.server.web import site as site_module
from ggp.referee.server.web.app import make_app
from ggp.referee.server.web.boards import BoardError, BoardPool
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard
from ggp.referee.server.web.site import Site
from tests.support.cli import wait_until
from tests.support.sample_records import CUT_OFF
from tests.support.stores import TIED, WON, Filled, a_season, entrant, ladder, match, pool, real_setup
from tests.support.web_site import WebAnswer, asked

TEST_FILE = """
store = "club.db"
[pool.fast]
game = "yugo"
[bot.ann]
command = "random"
[bot.bob]
command = "random"
[format]
kind = "test"
bots = ["ann", "bob"]
"""
HOSTILE = "<script>alert(1)</script>"


class Links(HTMLParser):
    """The addresses that a page leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.found += [value or "" for name, value in attrs if name in ("href", "src", "action")]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    with Filled(tmp_path, ladder(["ann", "bob", "cat", "dan", entrant(HOSTILE)])) as made:
        a_season(made)
        made.rate()
        yield made


@pytest.fixture
def site(filled: Filled) -> Iterator[Guard]:
    read, boards = Site(str(filled.path), "club"), BoardPool(read_engine(None), processes=1)
    yield make_app(read, boards, Follower(read.follow))
    boards.close()
    read.close()


def page(site: Guard, url: str) -> WebAnswer:
    """A page that is there."""
    answer = asked(site, url, accept="text/html")
    assert answer.status == 200, answer.text
    return answer


@pytest.mark.slow
def test_every_link_of_every_page_leads_to_a_page(site: Guard) -> None:
    seen, left = set[str](), ["/index.html"]
    while left:
        url = left.pop()
        if url in seen:
            continue
        seen.add(url)
        # From many addresses: requests of one are limited.
        answer = asked(site, url, client=f"192.0.2.{len(seen) % 250}", accept="text/html")
        assert answer.status in (200, 404) if "/match/" in url else answer.status == 200, (url, answer.text)
        if answer.headers["content-type"].startswith("text/html") and answer.status == 200:
            assert "<script>alert" not in answer.text
            for link in filter(None, (found.partition("#")[0] for found in Links(answer.text).found)):
                assert not re.match(r"[a-z]+:|//", link), "nothing leads away from the site"
                folder = url.partition("?")[0].rpartition("/")[0].split("/")
                path, mark, query = link.partition("?")
                for part in path.split("/") if path else [url.partition("?")[0].rpartition("/")[2]]:
                    folder = folder[:-1] if part == ".." else [*folder, part]
                left.append("/".join(folder) + mark + query)
    assert {"/index.html", "/games", "/live", "/events", "/take-part", "/bots/ann.html", "/bots/dan.html"} <= seen
    assert len([url for url in seen if url.startswith("/match/")]) > 20


def test_the_json_of_a_page_is_that_of_the_command(site: Guard, filled: Filled) -> None:
    from ggp.referee.ladder.standings import read_standings

    (pool,) = filled.store.pools()
    expected = json.loads(json.dumps(standings_json(read_standings(filled.store, pool))))
    assert page(site, "/index.html?format=json").json == expected
    assert page(site, "/pools/fast.html?format=json").json == expected
    assert not any(row["enough"] for row in expected["ratings"])
    assert {row["note"] for row in expected["ratings"]} == {"provisional"}
    html = page(site, "/pools/fast.html").text
    assert html.count('<td class="c-note">provisional</td>') == len(expected["ratings"]) == 5
    assert "<dd>provisional: " in html and "; 20 games of a bot are enough" in html


def test_matches_are_listed_by_pages_and_filtered(site: Guard, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [row.key for row in filled.store.games()]
    monkeypatch.setattr(ladder_routes, "PAGE", 5)
    found, url = list[str](), "/games?format=json"
    html = page(site, "/games").text
    while True:
        found += [game["key"] for game in page(site, url).json["games"]]
        older = next((link for link in Links(html).found if re.match("games.*before=", link)), None)
        if older is None:
            break
        html, url = page(site, f"/{older}").text, f"/{older}&format=json"
    assert found == keys and len(keys) > 10
    ended_by_time = page(site, "/games?bot=dan&termination=time&format=json").json["games"]
    assert {game["termination"] for game in ended_by_time} == {"time"}


def test_pages_of_bots_and_pairs_have_the_json_of_the_commands(
    site: Guard, filled: Filled, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(command: Callable[[list[str]], int], *words: str) -> object:
        assert command([*words, str(filled.path), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert page(site, "/bots/ann.html?format=json").json == printed(run_bot, "ann", "--games", "2000")
    assert page(site, "/pair?a=bob&b=cat&format=json").json == printed(run_pair, "bob", "cat")
    assert page(site, "/games?bot=dan&result=fault&format=json").json == printed(
        run_games, "--bot", "dan", "--result", "fault"
    )
    assert page(site, "/events?format=json").json == printed(run_events)
    key = next(filled.store.games()).key
    assert page(site, f"/match/{key}?format=json").json == printed(run_games, key)


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("bot=ann&result=won", 10),
        ("bot=ann&result=lost", 3),
        ("bot=ann&result=drawn", 1),
        ("bot=ann&seat=1", 7),
        ("bot=ann&against=dan&result=gift", 2),
        ("bot=dan&result=forfeit", 3),
        ("result=void", 1),
        ("bot=ann&against=bob&points=1.5", 2),
        ("since=2026-11-21&until=2026-11-21", 20),
        ("since=2026-11-22", 0),
        ("until=2026-11-20", 0),
        ("since=0001-01-01&until=9999-12-31", 20),
        ("since=9999-12-31", 0),
        ("until=0001-01-01", 0),
    ],
)
def test_a_filter_by_seat_result_and_date(site: Guard, words: str, count: int) -> None:
    assert len(page(site, f"/games?{words}&format=json").json["games"]) == count
    lines = page(site, f"/download?form=jsonl&{words}").text.splitlines()
    assert sum('"event":"start"' in line for line in lines) == count


def test_all_meetings_of_two_bots(site: Guard, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder_routes, "MEETINGS", 1)
    keys = {row.key for row in filled.store.games(bot="ann", against="bob")}
    found, url = set[str](), "/pair?pool=fast&a=ann&b=bob"
    while url:
        links = Links(page(site, url).text).found
        found |= {link.removeprefix("match/") for link in links if link.startswith("match/")}
        url = next((f"/{link}" for link in links if link.startswith("pair?")), "")
    assert found == keys and len(keys) == 6


def test_a_test_is_shown_as_it_went(filled: Filled, tmp_path: Path) -> None:
    for plies in range(4, 40):  # a game that is repeated move for move counts once
        filled.meet("ann", "bob", WON, TIED, plies=plies)
    (tmp_path / "club.toml").write_text(TEST_FILE, encoding="utf-8")
    site = Site(str(tmp_path / "club.toml"), "club")
    boards = BoardPool(read_engine(None))
    app = make_app(site, boards, Follower(site.follow))
    text = page(app, "/test").text
    assert "<path" in text and "normalized Elo 0 or 20" in text and "nElo" in text
    assert page(app, "/test?format=json").json["tests"]
    boards.close()
    site.close()


def test_downloads_of_a_filter(site: Guard) -> None:
    csv = page(site, "/download?form=csv&bot=ann").text.splitlines()
    assert csv[0] == "first,second,result" and len(csv) == 15
    assert page(site, "/download?form=sgf&bot=ann&against=bob").text.count("(;FF[4]") == 6
    assert page(site, "/download?form=sgf&bot=ann").headers["content-disposition"].endswith('"matches.sgf"')


def test_a_site_of_several_pools_offers_a_csv_file_of_each(tmp_path: Path) -> None:
    bots = [entrant(name, pools=["fast", "slow & <small>"]) for name in ("ann", "bob")]
    with Filled(tmp_path, ladder(bots, [pool("fast"), pool("slow & <small>", "go")])) as filled:
        filled.meet("ann", "bob", (0, "rules"), (1, "rules"))
        filled.meet("bob", "ann", (0, "rules"), (1, "rules"), pool="slow & <small>")
    read, boards = Site(str(filled.path), "club"), BoardPool(read_engine(None), processes=1)
    app = make_app(read, boards, Follower(read.follow))
    text = page(app, "/games").text
    links = [link for link in Links(text).found if link.startswith("download?") and "form=csv" in link]
    assert "CSV of fast" in text and "CSV of slow &amp; &lt;small&gt;" in text and len(links) == 2
    for link in links:
        assert page(app, f"/{link}").text.count("\n") == 3
    assert "CSV of" not in page(app, "/games?pool=fast").text
    refused = asked(app, "/download?form=csv")
    assert refused.status == 400 and "--" not in refused.text
    assert refused.text == "A CSV file holds the matches of one pool: choose fast, slow & <small>.\n"
    boards.close()
    read.close()


@pytest.mark.slow
def test_the_engine_explains_and_verifies(filled: Filled, site: Guard) -> None:
    filled.play(real_setup("ann=random:seed=1", "bob=random:seed=2"))
    row = next(filled.store.games())
    base = f"/match/{row.key}"
    assert "is legal" in page(site, f"{base}/why/0?move=A1").json["why"]
    taken = page(site, f"{base}/ply/1").json["caption"].split()[5]
    why = page(site, f"{base}/why/1?move={taken}").json["why"]
    assert "is not legal" in why and why in unescape(page(site, f"{base}?ply=1&move={taken}").text)
    assert "As recorded" in page(site, f"{base}?verify=1").text
    rules = page(site, "/rules/fast.html").text
    assert rules.count('class="bd"') == 3 and "<h2>" in rules


def test_a_match_of_a_bot_is_named_by_its_link(site: Guard, filled: Filled) -> None:
    text = page(site, "/bots/dan.html").text
    for row in filled.store.games(bot="dan"):
        assert f'<a class="res" href="../match/{row.key}">' in text
    assert ">../<" not in text


def test_the_ways_in_and_the_rules_have_json_and_the_rules_a_page_without_an_engine(
    filled: Filled, tmp_path: Path
) -> None:
    read, boards = Site(str(filled.path), "club"), BoardPool(read_engine("/bin/false"), processes=1)
    app = make_app(read, boards, Follower(read.follow))
    assert page(app, "/take-part?format=json").json["pools"][0]["pool"] == "fast"
    assert "does not start" in page(app, "/rules/fast.html").text
    said = page(app, "/rules/fast.html?format=json").json
    assert said["game"] == "yugo" and said["rules"] == "" and "does not start" in said["problem"]
    key = next(filled.store.games()).key
    assert "does not start" in page(app, f"/match/{key}").text
    assert asked(app, f"/match/{key}/picture/0").status == 404
    boards.close()
    read.close()


@pytest.mark.parametrize("harm", ["locked", "half-written", "schema", "foreign"])
def test_a_store_that_cannot_be_read_is_said_and_taken_up_again(
    filled: Filled, tmp_path: Path, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    filled.store.close()
    whole = filled.path.read_bytes()
    site = Site(str(filled.path), "club")
    app = make_app(site, BoardPool(read_engine(None)), Follower(site.follow))
    lock = sqlite3.connect(filled.path, isolation_level=None)
    if harm == "locked":
        for order in ("PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=DELETE", "BEGIN EXCLUSIVE"):
            lock.execute(order).fetchall()
    elif harm == "half-written":
        filled.path.write_bytes(whole[: len(whole) // 2])
    elif harm == "schema":
        lock.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    else:
        filled.path.write_bytes(b"no database" * 1000)
    for url in ("/index.html", "/games", "/pools/fast.html", "/bots/ann.html", "/events", "/match/test-1-0-1"):
        answer = asked(app, url)
        assert answer.status == 503 and answer.headers["retry-after"] == "5", (url, answer.text)
        assert answer.text.count("\n") == 1 and answer.text.endswith(".\n")
    lock.close()
    filled.path.write_bytes(whole)
    assert asked(app, "/index.html").status == 200, "it recovers by itself"
    site.close()


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/rules/none.html", 404),
        ("/test", 404),
        ("/pair?a=ann&b=none", 400),
        ("/pair?a=ann&b=ann", 400),
        ("/games?result=none", 400),
        ("/games?result=won", 400),
        ("/games?seat=3", 400),
        ("/games?since=yesterday", 400),
        ("/download?form=exe", 400),
        ("/match/none/why/1?move=A1", 404),
        ("/pools/none.html", 404),
        ("/bots/none.html", 404),
        ("/match/none", 404),
        ("/match/none/stream", 404),
        ("/match/none/ply/1", 404),
        ("/nothing", 404),
        ("/games?seat=1", 400),
        ("/games?points=1", 400),
        ("/games?bot=ann&points=3", 400),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/games?bot=none", 400),
        ("/games?pool=none", 400),
        ("/games?against=ann", 400),
        ("/games?termination=none", 400),
        ("/games?before=-1", 404),
        ("/games?before=9e9", 404),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(site: Guard, url: str, status: int) -> None:
    text = asked(site, url)
    assert (text.status, text.body.count(b"\n")) == (status, text.text.count("\n"))
    assert text.headers["content-type"].startswith("text/plain") and text.text.endswith(".\n")
    assert asked(site, url, accept="text/html").headers["content-type"].startswith("text/html")


@pytest.mark.slow
def test_pages_are_read_while_a_ladder_writes(url: str, tmp_path: Path) -> None:
    """On each database; nothing fails and nothing goes back."""
    with Filled(tmp_path, url=url) as filled:
        site, boards = Site(url, "club"), BoardPool(read_engine(None))
        app = make_app(site, boards, Follower(site.follow))
        writer = threading.Thread(target=filled.meet, args=("ann", "bob", *[(0, "rules")] * 80))
        writer.start()
        known = 0
        while writer.is_alive() or known < 80:
            for path in ("/index.html", "/games", "/pools/fast.html", "/bots/ann.html", "/pair?a=ann&b=bob", "/events"):
                answer = asked(app, path, client=f"192.0.2.{known}")
                assert answer.status == 200, answer.text
            before, known = known, page(app, "/index.html?format=json").json["games"]
            assert known >= before
        writer.join()
        boards.close()
        site.close()


def test_a_store_that_is_gone_and_comes_back(filled: Filled, tmp_path: Path) -> None:
    site = Site(str(filled.path), "club")
    app = make_app(site, BoardPool(read_engine(None)), Follower(site.follow))
    filled.store.close()
    away = filled.path.rename(tmp_path / "away.db")
    answer = asked(app, "/index.html")
    assert answer.status == 503 and answer.headers["retry-after"] == "5" and "Traceback" not in answer.text
    away.rename(filled.path)
    assert asked(app, "/index.html").status == 200
    site.close()


def test_a_store_that_another_file_replaces(filled: Filled, site: Guard, tmp_path: Path) -> None:
    assert asked(site, "/bots/ann.html").status == 200
    filled.store.close()
    filled.path.rename(tmp_path / "away.db")
    wait_until(lambda: asked(site, "/bots/ann.html").status == 503, 20)  # a page that took long is kept for a while
    with Filled(tmp_path, ladder(["new"])):
        assert asked(site, "/bots/ann.html").status == 404
        assert asked(site, "/bots/new.html").status == 200


def test_a_stored_match_is_parsed_once_and_never_shown_for_another(
    filled: Filled, site: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def parse(lines: bytes, key: str) -> Record:
        parsed.append(key)
        return read_one(lines, key)

    monkeypatch.setattr(site_module, "read_one", parse)
    row = next(filled.store.games(newest=False))
    url = f"/match/{row.key}?format=json"
    shown = page(site, url).json
    assert page(site, url).json == shown and parsed == [row.key]
    filled.store.close()
    filled.path.rename(tmp_path / "away.db")
    with Filled(tmp_path, ladder(["ann", "bob"])) as other:
        other.meet("ann", "bob", (1, "time"), (1, "time"))
        assert next(other.store.games(newest=False)).key == row.key
        assert page(site, url).json != shown and parsed == [row.key] * 2


def test_a_live_match_that_ends_is_shown_with_its_end(filled: Filled, site: Guard) -> None:
    pair = filled.issue("ann", "bob")
    game = match(pair, 0)
    start, *plies, end = unpack(game.result.record).splitlines(keepends=True)
    url = f"/match/{game.result.key}?format=json"
    with Path(live_path(str(filled.path), 1)).open("wb", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b"".join([start, *plies]))
        assert page(site, url).json["end"] is None
        file.write(end)
        ended = page(site, url).json
        filled.store.add([game])
    assert ended == page(site, url).json and ended["end"]["termination"] == "rules"


def test_asking_for_unknown_matches_reads_what_workers_left_once(site: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def read(base: str) -> dict[str, Record]:
        reads.append(base)
        return {}

    monkeypatch.setattr(site_module, "interrupted", read)
    assert {asked(site, f"/match/none{number}").status for number in range(5)} == {404}
    assert len(reads) == 1


def test_a_stream_waits_for_a_store_that_cannot_be_read(site: Guard, filled: Filled, tmp_path: Path) -> None:
    filled.store.close()
    filled.path.rename(tmp_path / "away.db")
    assert asked(site, "/match/none/stream").status == 503


@pytest.mark.slow
def test_a_match_is_stepped_through_and_taken_along(filled: Filled, site: Guard) -> None:
    filled.play(real_setup("ann=random:seed=1", "bob=random:seed=2"))
    row = next(filled.store.games())
    base, plies = f"/match/{row.key}", row.plies
    whole = page(site, base).text
    assert "<svg" in whole and f"ply {plies} of {plies}" in whole and row.result in whole
    first = page(site, f"{base}/ply/0").json
    assert first["ply"] == 0 and first["svg"].startswith("<svg") and first["legal"]
    assert page(site, f"{base}?ply=1").text != page(site, f"{base}?ply=2").text
    assert page(site, f"{base}/picture/1").headers["content-type"] == "image/svg+xml"
    assert asked(site, f"{base}/ply/{plies + 1}").status == 404
    assert asked(site, f"{base}?ply={plies + 1}").status == 404
    record = page(site, f"{base}/record")
    assert "attachment" in record.headers["content-disposition"]
    assert len(record.text.splitlines()) == plies + 2
    assert page(site, f"{base}/sgf").text.startswith("(;FF[4]")
    assert page(site, f"{base}/gtp").text.startswith("ggp-new yugo")
    stream = page(site, f"{base}/stream")
    numbers = re.findall(r"^id: (\d+)$", stream.text, re.MULTILINE)
    assert list(map(int, numbers)) == list(range(plies + 2))
    assert "content-encoding" not in asked(site, f"{base}/stream", accept_encoding="gzip").headers, "it would be held"
    later = asked(site, f"{base}/stream", last_event_id=str(plies - 1))
    assert re.findall(r"^id: (\d+)$", later.text, re.MULTILINE) == [str(plies), str(plies + 1)]


def test_slow_reading_holds_a_bounded_number_of_threads(
    site: Guard, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(answers, "QUERY_TIME", 0.05)
    monkeypatch.setattr(Site, "playing", lambda self: gate.wait(20) and [])
    before = threading.active_count()
    statuses = [asked(site, "/live").status for _ in range(answers.READERS + 10)]
    more = threading.active_count() - before
    gate.set()
    assert set(statuses) == {503} and more <= answers.READERS + 1
    monkeypatch.setattr(answers, "QUERY_TIME", 60.0)
    assert asked(site, "/live").status == 200


def test_a_board_that_failed_is_not_kept_by_the_browser(
    filled: Filled, site: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = f"/match/{next(filled.store.games()).key}/ply/0"

    def fails(*_: object) -> None:
        raise BoardError("the engine is busy")

    monkeypatch.setattr(BoardPool, "view", fails)
    answer = page(site, base)
    assert answer.json["problem"] and answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("after", ["--5", "-5", "-", "x", "", "1e3", "9" * 50])
def test_a_stream_begins_at_the_start_for_what_is_no_number(filled: Filled, site: Guard, after: str) -> None:
    base = f"/match/{next(filled.store.games()).key}/stream"
    assert b"id: 0\n" in asked(site, f"{base}?after={after}").body
    assert b"id: 0\n" in asked(site, base, last_event_id=after).body


def test_the_head_of_a_stream_is_answered_at_once(tmp_path: Path, filled: Filled, site: Guard) -> None:
    path = Path(live_path(str(filled.path), 1))
    path.write_bytes(CUT_OFF.lines())
    answer = asked(site, f"/match/{CUT_OFF.start.match}/stream", "HEAD")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")


def test_an_unexpected_error_is_one_line_on_stderr(
    site: Guard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(self: Site) -> None:
        raise RuntimeError("secret\npath")

    monkeypatch.setattr(Site, "playing", fails)
    with pytest.raises(RuntimeError):
        asked(site, "/live")
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "/live" in error and "RuntimeError" in error


def test_long_standings_come_in_pages(tmp_path: Path) -> None:
    others = [f"bot{number}" for number in range(100)]
    with Filled(tmp_path, ladder(["ann", "bob", "cat", "dan", *others])) as made:
        a_season(made)
        made.rate()
        read, boards = Site(str(made.path), "club"), BoardPool(read_engine(None), processes=1)
        site = make_app(read, boards, Follower(read.follow))
        first, last = page(site, "/pools/fast.html").text, page(site, "/pools/fast.html?from=101").text
        boards.close()
        read.close()
    assert "?from=101" in first and "?from=1" in last
    ranks = [re.findall(r'<td class="r soft c-n">(\d+)</td>', text) for text in (first, last)]
    assert ranks == [[str(rank) for rank in range(1, 101)], [str(rank) for rank in range(101, 105)]]
