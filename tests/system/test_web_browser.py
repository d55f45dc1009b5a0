"""The pages of `ggp web` in a real browser: every page without an error, a match step by step, live through kills."""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, Page, expect

from protocol.records import MovePlayed, Record
from referee.records import live_path
from tests.pictures import TEST, TESTED
from tests.support.browser import Visitor, WebServer, chromium
from tests.support.cli import Ggp, wait_until
from tests.support.ladders import write_ladder
from tests.support.sample_records import CUT_OFF
from tests.support.stores import Filled, a_season, entrant, ladder, real_setup

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

HOSTILE = ("<script>alert(1)</script>", "囲碁{{7*7}}", "'\"><img src=x onerror=alert(1)>")
PAGES = 80  # that a walk over the site visits at the most
PAPER = 700  # pixels of a line on A4


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up matches, two pairs that were really played, and bots with hostile names."""
    names = ["ann", "bob", "cat", "dan", *HOSTILE]
    with Filled(tmp_path_factory.mktemp("web"), ladder([entrant(name) for name in names])) as filled:
        a_season(filled)
        for name in HOSTILE:
            filled.meet(name, "ann", (0, "rules"), (1, "illegal_move"))
        filled.play(real_setup("ann", "bob"))
        filled.rate()
        return filled.path


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[WebServer]:
    with WebServer(str(store)) as server:
        yield server


@pytest.fixture
def visitor(browser: Browser, server: WebServer) -> Iterator[Visitor]:
    visitor = Visitor(browser, server)
    yield visitor
    visitor.close()


def walk(visitor: Visitor) -> list[str]:
    """Visit the site's pages, link by link, and return their addresses; one match stands for all made-up ones."""
    seen, left, kinds = list[str](), [f"{visitor.server.url}/"], dict[str, int]()
    while left and len(seen) < PAGES:
        url = left.pop(0)
        path = url.removeprefix(visitor.server.url).partition("?")[0]
        kind = "/".join(path.split("/")[:2])
        if url in seen or "format=json" in url or kinds.get(kind, 0) >= 12:
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        answer = visitor.page.goto(url)
        assert answer and answer.status == 200, url
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        seen.append(url)
        left += visitor.links()
    return seen


@pytest.mark.parametrize("look", ["light", "dark"])
def test_every_page_is_free_of_errors_and_of_barriers(browser: Browser, server: WebServer, look: str) -> None:
    visitor = Visitor(browser, server, color_scheme=look)
    visitor.context.on("dialog", lambda dialog: visitor.errors.append(f"a script ran: {dialog.message}"))
    pages = walk(visitor)
    assert len(pages) > 10
    found = {}
    for url in pages:
        visitor.page.goto(url)
        if barriers := visitor.barriers():
            found[url] = barriers
    assert not found, "\n".join(f"{url}: {one}" for url, all in found.items() for one in all)
    visitor.close()


def test_no_page_scrolls_sideways_on_a_phone_or_enlarged(browser: Browser, server: WebServer) -> None:
    for width in (360, 600):  # 600: what a window of 1200 has at 200 %
        visitor = Visitor(browser, server, viewport={"width": width, "height": 740})
        wide = [url for url in walk(visitor) if visitor.page.goto(url) and visitor.is_too_wide()]
        assert wide == []
        visitor.close()


def test_a_printed_page_fits_the_paper_and_has_no_controls(browser: Browser, server: WebServer) -> None:
    visitor = Visitor(browser, server, viewport={"width": PAPER, "height": 1000}, color_scheme="dark")
    visitor.page.emulate_media(media="print")
    controls = "document.querySelectorAll('button, input, select, .button, form, nav').values()"
    for url in walk(visitor):
        visitor.page.goto(url)
        assert not visitor.is_too_wide(), url
        assert visitor.page.evaluate(f"[...{controls}].filter(one => one.offsetParent).map(one => one.outerHTML)") == []
        ink, page = visitor.page.evaluate(
            "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
        )
        assert (ink, page) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)"), url
    visitor.close()


def test_nothing_moves_by_itself_where_motion_is_to_be_reduced(browser: Browser, server: WebServer) -> None:
    visitor = Visitor(browser, server, reduced_motion="reduce")
    moving = """[...document.querySelectorAll("*").values()].map(one => getComputedStyle(one)).filter(one =>
        one.scrollBehavior == "smooth" || parseFloat(one.animationDuration) || parseFloat(one.transitionDuration))"""
    for path in ("", real_match(visitor)):
        visitor.visit(path)
        assert visitor.page.evaluate(f"{moving}.length") == 0
    visitor.close()


def real_match(visitor: Visitor) -> str:
    """The path of a match that was really played."""
    visitor.visit("games")
    links = [link for link in visitor.links() if "/match/club-fast" in link]
    return links[0].removeprefix(visitor.server.url + "/")


def test_a_match_is_stepped_through_by_keys_buttons_and_slider(visitor: Visitor) -> None:
    page = visitor.visit(f"{real_match(visitor)}?ply=0")
    caption, last = page.locator("#caption"), int(page.locator("#slider").get_attribute("max") or 0)
    assert last > 4
    expect(caption).to_contain_text(f"ply 0 of {last}")
    page.keyboard.press("ArrowRight")
    expect(caption).to_contain_text(f"ply 1 of {last}: ")
    page.keyboard.press("End")
    expect(caption).to_contain_text(f"ply {last} of {last}")
    page.locator("#back").click()
    expect(caption).to_contain_text(f"ply {last - 1} of {last}")
    page.keyboard.press("Home")
    expect(caption).to_contain_text(f"ply 0 of {last}")
    page.locator("#slider").fill("3")
    expect(caption).to_contain_text(f"ply 3 of {last}")
    assert page.url.endswith("ply=3")
    expect(page.locator("#board svg")).to_be_visible()
    page.reload()
    expect(caption).to_contain_text(f"ply 3 of {last}")
    page.locator("#ply-2 a").click()
    expect(caption).to_contain_text(f"ply 2 of {last}")
    page.locator("#play").click()
    expect(caption).to_contain_text(f"ply {last} of {last}", timeout=30_000)


def test_a_match_is_stepped_through_without_script(browser: Browser, server: WebServer) -> None:
    visitor = Visitor(browser, server, java_script_enabled=False)
    page = visitor.visit(f"{real_match(visitor)}?ply=0")
    page.locator("#forward").click()
    expect(page.locator("#caption")).to_contain_text("ply 1 of")
    expect(page.locator("#board svg")).to_be_visible()
    visitor.close()


def plies_shown(page: Page) -> list[int]:
    """The numbers of the plies in the page's list, in its order."""
    ids = page.eval_on_selector_all("#plies > *[id^=ply-]", "all => all.map(one => one.id)")
    return [int(id.removeprefix("ply-")) for id in ids]


def test_a_match_is_followed_through_kills_of_the_server_with_nothing_missing_or_double(
    browser: Browser, store: Path
) -> None:
    """A worker's side file grows ply by ply; the server is killed and started again three times meanwhile."""
    plies = [
        MovePlayed(ply, "m1", ply, 2 - ply % 2, "black" if ply % 2 else "white", f"A{ply}", 5) for ply in range(1, 10)
    ]
    start, *lines = Record(CUT_OFF.start, tuple(plies), None).lines().splitlines(keepends=True)
    path = Path(live_path(str(store), 1))
    server = WebServer(str(store))
    visitor = Visitor(browser, server)
    with path.open("wb", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(start)
        page = visitor.visit(f"match/{CUT_OFF.start.match}")
        expect(page.locator("#status")).to_contain_text("Live")
        for kill in range(3):
            file.write(b"".join(lines[3 * kill : 3 * kill + 3]))
            if kill != 1:  # once the plies are on their way while the server is away
                expect(page.locator(f"#ply-{3 * kill + 3}")).to_be_attached(timeout=20_000)
            server.kill()
            server.start()
        expect(page.locator("#ply-9")).to_be_attached(timeout=30_000)
        assert plies_shown(page) == list(range(1, 10))
    path.unlink()
    visitor.errors[:] = [error for error in visitor.errors if "ERR_" not in error]  # of the time without a server
    visitor.close()
    server.end()


def test_a_ladder_that_runs_is_watched_live(browser: Browser, tmp_path: Path) -> None:
    file = write_ladder(tmp_path)
    run = Ggp("ladder", "run", str(file), "--games", "60", "--quiet")
    wait_until(file.with_suffix(".db").exists)
    server = WebServer(str(file))
    visitor = Visitor(browser, server)
    while run.process.poll() is None:
        for path in ("", "games", "live"):
            visitor.visit(path)
    visitor.visit("games")
    assert visitor.page.locator("main a[href*='match/']").count() >= 60
    visitor.close()
    server.end()
    assert run.wait().status == 0


def test_the_page_of_a_test_that_runs_gets_new_numbers_in_place(browser: Browser, tmp_path: Path) -> None:
    file = write_ladder(tmp_path, *TESTED, head=TEST)
    run = Ggp("ladder", "run", str(file), "--quiet")
    wait_until(file.with_suffix(".db").exists)
    with WebServer(str(file)) as server:
        visitor = Visitor(browser, server)
        wait_until(lambda: visitor.page.goto(f"{server.url}/test").status == 200)  # type: ignore[union-attr]
        page = visitor.page
        moves = list[str]()
        page.on("framenavigated", lambda frame: moves.append(frame.url))
        assert page.locator("head meta[http-equiv=refresh]").count() == 0  # without script there is one
        page.evaluate("window.mark = 1; document.body.style.minHeight = '3000px'; window.scrollTo(0, 120)")
        page.locator("main h3 a").first.focus()
        focused = page.evaluate("document.activeElement.href")
        scrolled, text = page.evaluate("scrollY"), page.locator("main").inner_text()
        page.wait_for_function("text => document.querySelector('main').innerText !== text", arg=text, timeout=60_000)
        assert page.evaluate("[mark, scrollY, document.activeElement.href]") == [1, scrolled, focused] and not moves
        visitor.errors[:] = [error for error in visitor.errors if "404" not in error]  # asked before the first game
        visitor.close()
    run.process.terminate()
    run.wait(60)


@pytest.mark.long
def test_five_thousand_random_actions_leave_no_error(visitor: Visitor) -> None:
    visitor.visit(real_match(visitor))
    visitor.act_at_random(Random(1), 5000)
