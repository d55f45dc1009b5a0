"""No page scrolls sideways, on a phone or a desktop, whatever words of strangers are on it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import cast
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from ggp.protocol.rules_text import Rules
from ggp.protocol.transports.lobby_dial import LobbyLink
from ggp.referee.server.web import seats as seats_module
from ggp.referee.server.web.connections import bounded_server
from ggp.referee.server.web.guard import App
from ggp.referee.server.web.pages import render, rules_as_html
from ggp.referee.server.web.seats import Seats
from tests.support.browser import chromium
from tests.support.cli import wait_until
from tests.support.hostile_site import hostile_site

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

LONG = "W" * 3000
SIZES = {"phone": (390, 800), "desktop": (1280, 900)}
KINDS = {"", "index.html", "pools", "bots", "pair", "match", "games", "events", "rules", "take-part", "live", "seats"}
EACH = 3  # pages of a kind
WIDTH = "[document.scrollingElement.scrollWidth, document.documentElement.clientWidth]"
# Every text that a script may put on the page of a seat.
FILL = """word => {
  for (const id of ["title", "game", "phase", "hint", "problem", "live", "who-black", "who-white", "clock-black"])
    document.getElementById(id).textContent = word;
  for (const id of ["confirm", "back", "resign", "rematch", "invite"]) document.getElementById(id).hidden = false;
  document.getElementById("confirm").textContent = `Play ${word}`;
  document.getElementById("words").replaceChildren(button(word), ...chooser([word, "b"]));
}"""
TYPED = """word => {
  for (const id of ["caption", "problem", "status", "why", "legal"]) document.getElementById(id).textContent = word;
  list.append(entry({ply: 1, colour: "black", move: word, ms: 0}));
}"""


class LongOffers:
    """A lobby whose pools, bots and refusals are long words."""

    def __init__(self, lobby: LobbyLink) -> None:
        pass

    def ask(self, line: str) -> str:
        name = "W" * 100
        rows = {
            "ggp-pools": f"pool={name} game=yugo,size=3 time=60+1 seats=yes",
            "ggp-bots": f"name={name} games=all challenges=yes state=playing",
        }
        return rows.get(line, "")

    def close(self) -> None:
        pass


@contextmanager
def serving(app: App) -> Iterator[str]:
    server = bounded_server(app, "127.0.0.1", 0)
    running = threading.Thread(target=server.run)
    running.start()
    wait_until(lambda: server.started, 60)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    running.join(30)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(seats_module, "Ordering", LongOffers)
        patch.setattr("ggp.referee.server.web.answers.QUERY_TIME", 60.0)
        patch.setattr("ggp.referee.server.web.page_cache.PATIENCE", 60.0)
        people = Seats(LobbyLink("tcp://127.0.0.1:1"), 3, lambda *_: None)
        app = stack.enter_context(hostile_site(tmp_path_factory.mktemp("site"), LONG, people))
        yield stack.enter_context(serving(app))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(params=SIZES)
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def width_of(page: Page, what: str) -> list[str]:
    """Return a sentence if the page scrolls sideways."""
    scrolled, width = cast("list[int]", page.evaluate(WIDTH))
    return [f"{what} is {scrolled} px wide at {width}"] if scrolled > width else []


def check(page: Page, what: str) -> None:
    assert width_of(page, what) == []


def test_no_page_is_wider_than_the_window(page: Page, url: str) -> None:
    seen, kinds, left = (
        set[str](),
        dict[str, int](),
        [f"{url}/", f"{url}/{LONG[:1500]}", f"{url}/games?bot={LONG[:90]}"],
    )
    wide = list[str]()
    while left:
        address = left.pop()
        kind = urlsplit(address).path.split("/")[1][:20]
        if address in seen or kinds.get(kind, 0) >= EACH or kind == "download":
            continue
        seen.add(address)
        kinds[kind] = kinds.get(kind, 0) + 1
        answer = page.goto(address)
        assert answer is not None
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        page.wait_for_timeout(200)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        wide += width_of(page, address[:200])
        found = page.eval_on_selector_all("a[href]:not([download])", "all => all.map(one => one.getAttribute('href'))")
        links = [urljoin(address, link).partition("#")[0] for link in found]
        left += [link for link in links if link.startswith(url) and "format=json" not in link and len(link) < 1900]
        if kind == "match" and "?" not in address:
            page.evaluate(TYPED, LONG)
            wide += width_of(page, "a match with a long refusal")
            left += [f"{address}?ply=1&move=W", f"{address}?verify=1"]
    assert wide == []
    assert kinds.keys() >= KINDS


def test_no_page_of_a_seat_is_wider_than_the_window(page: Page, url: str) -> None:
    page.goto(f"{url}/seats")
    page.locator("form.take select").select_option("")
    page.locator("form.take button").click()
    page.wait_for_url("**/seats/*")
    page.wait_for_function("state !== null")
    page.evaluate(FILL, LONG)
    check(page, "a seat")


@pytest.mark.parametrize("markdown", [True, False])
def test_rules_of_one_word_fit(page: Page, markdown: bool) -> None:
    text = f"# {LONG}\n\n| {LONG} |\n|---|\n| `{LONG}` |\n\n    {LONG}\n\n* {LONG}\n\n> {LONG}"
    html = rules_as_html(Rules(text, markdown))
    base = render("problem.html", site=False, status=400, text="x", ladder="club", root="")
    page.set_content(base.replace("</main>", f'<div class="prose">{html}</div></main>'))
    check(page, "rules")
