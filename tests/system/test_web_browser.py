"""The pages of `ggp web` in a real browser: every page without an error, a match step by step, live through kills."""

import fcntl
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, Page, expect

from ggp.protocol.records import MovePlayed, Record
from ggp.referee.records import live_path
from tests.pictures import TEST, TESTED
from tests.support.browser import BrowserVisitor, WebServer
from tests.support.cli import Ggp, wait_until
from tests.support.ladders import write_ladder
from tests.support.sample_records import CUT_OFF
from tests.support.stores import Filled, a_season, entrant, ladder, real_setup

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

HOSTILE = ("<script>alert(1)</script>", "囲碁{{7*7}}", "'\"><img src=x onerror=alert(1)>")
PAGES = 80  # that a walk over the site visits at the most
PAPER = 700  # pixels of a line on A4


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
def visitor(browser: Browser, server: WebServer) -> Iterator[BrowserVisitor]:
    visitor = BrowserVisitor(browser, server)
    yield visitor
    visitor.close()


def walk(visitor: BrowserVisitor) -> Iterator[str]:
    """Visit the site's pages, link by link; yields the address of each while it is shown. One match stands for all
    made-up ones."""
    seen, left, kinds = set[str](), [f"{visitor.server.url}/"], Counter[str]()
    while left and len(seen) < PAGES:
        url = left.pop(0)
        path = url.removeprefix(visitor.server.url).partition("?")[0]
        kind = "/".join(path.split("/")[:2])
        if url in seen or "format=json" in url or kinds[kind] >= 12:
            continue
        kinds[kind] += 1
        answer = visitor.page.goto(url)
        assert answer and answer.status == 200, url
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        seen.add(url)
        left += visitor.links()
        yield url


def test_every_page_in_every_look(browser: Browser, server: WebServer) -> None:
    """No error, no barrier in light and dark; no page scrolls sideways on a phone, enlarged or on paper."""
    visitor = BrowserVisitor(browser, server)
    page, wide = visitor.page, visitor.page.viewport_size
    visitor.context.on("dialog", lambda dialog: visitor.errors.append(f"a script ran: {dialog.message}"))
    faults, visited = list[str](), 0
    assert wide
    for url in walk(visitor):
        visited += 1
        faults += [f"{url}: {barrier}" for barrier in visitor.barriers()]
        page.emulate_media(color_scheme="dark")
        faults += [f"{url}, dark: {barrier}" for barrier in visitor.barriers("color-contrast")]
        for width in (360, 600):  # 600: what a window of 1200 has at 200 %
            page.set_viewport_size({"width": width, "height": 740})
            faults += [f"{url}: scrolls sideways at {width} pixels"] if visitor.is_too_wide() else []
        page.set_viewport_size({"width": PAPER, "height": 1000})
        page.emulate_media(media="print", color_scheme="dark")
        faults += [f"{url}, printed: {fault}" for fault in printed_faults(visitor)]
        page.set_viewport_size(wide)
        page.emulate_media(media="screen", color_scheme="light")
    assert visited > 40 and not faults, "\n".join(faults)
    visitor.close()


def printed_faults(visitor: BrowserVisitor) -> list[str]:
    """What is wrong with a page on paper: too wide, controls, no black on white."""
    controls = "[...document.querySelectorAll('button, input, select, .button, form, nav').values()]"
    colours = "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
    faults: list[str] = visitor.page.evaluate(f"{controls}.filter(one => one.offsetParent).map(one => one.outerHTML)")
    if visitor.is_too_wide():
        faults.append("wider than the paper")
    if (ink := visitor.page.evaluate(colours)) != ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]:
        faults.append(f"colours {ink}")
    return faults


def test_nothing_moves_by_itself_where_motion_is_to_be_reduced(browser: Browser, server: WebServer) -> None:
    visitor = BrowserVisitor(browser, server, reduced_motion="reduce")
    moving = """[...document.querySelectorAll("*").values()].map(one => getComputedStyle(one)).filter(one =>
        one.scrollBehavior == "smooth" || parseFloat(one.animationDuration) || parseFloat(one.transitionDuration))"""
    for path in ("", real_match(visitor)):
        visitor.visit(path)
        assert visitor.page.evaluate(f"{moving}.length") == 0
    visitor.close()


def real_match(visitor: BrowserVisitor) -> str:
    """The path of a match that was really played."""
    visitor.visit("games")
    links = [link for link in visitor.links() if "/match/club-fast" in link]
    return links[0].removeprefix(visitor.server.url + "/")


def test_a_match_is_stepped_through_by_keys_buttons_and_slider(visitor: BrowserVisitor) -> None:
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
    visitor = BrowserVisitor(browser, server, java_script_enabled=False)
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
    visitor = BrowserVisitor(browser, server)
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
    visitor = BrowserVisitor(browser, server)
    while run.process.poll() is None:
        for path in ("", "games", "live"):
            visitor.visit(path)
    assert run.wait().status == 0
    # A page that took long to make is sent again for a while, whatever changes.
    wait_until(lambda: visitor.visit("games").locator("main a[href*='match/']").count() >= 60)
    visitor.close()
    server.end()


def test_the_page_of_a_test_that_runs_gets_new_numbers_in_place(browser: Browser, tmp_path: Path) -> None:
    file = write_ladder(tmp_path, *TESTED, head=TEST)
    run = Ggp("ladder", "run", str(file), "--quiet")
    wait_until(file.with_suffix(".db").exists)
    with WebServer(str(file)) as server:
        visitor = BrowserVisitor(browser, server)
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
def test_five_thousand_random_actions_leave_no_error(visitor: BrowserVisitor) -> None:
    visitor.visit(real_match(visitor))
    visitor.act_at_random(Random(1), 5000)
