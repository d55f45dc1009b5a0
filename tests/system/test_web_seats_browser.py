"""A person plays in a real browser: clicks on cells, buttons, the keyboard; what a screen reader hears."""

import re
from collections.abc import Iterator
from typing import cast

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Visitor, WebServer, chromium
from tests.system.test_web_seats import Club

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

PATIENCE = 60_000  # ms


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    club = Club(tmp_path_factory.mktemp("club"))
    yield club
    club.end()


@pytest.fixture(scope="module")
def visitor(club: Club) -> Iterator[Visitor]:
    with chromium() as browser:
        visitor = Visitor(browser, cast("WebServer", club))
        visitor.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield visitor
        visitor.close()


def sit(visitor: Visitor, pool: str, opponent: str = "random") -> Page:
    page = visitor.visit("/seats")
    form = page.locator("form.take", has=page.locator(f"input[value={pool}]"))
    form.locator("select").select_option(opponent)
    form.get_by_role("button").click()
    page.wait_for_url("**/seats/*")
    return page


def over_or_turn(page: Page) -> bool:
    """Whether it is the person's turn, once it is or the match is over."""
    expect(page.locator("#phase")).to_have_text(re.compile("Your turn|is over"))
    return "Your turn" in str(page.locator("#phase").text_content())


def choose(page: Page) -> None:
    """One move by clicks: lit cells until a move is left, which a second click plays."""
    before = page.locator("#board title").text_content() or ""
    for _ in range(10):
        page.wait_for_selector(".spot.lit, #confirm:not([hidden]), #words button")
        if page.locator("#confirm:not([hidden])").count():
            page.locator(".spot.chosen").last.click()
            break
        if page.locator(".spot.lit").count():
            page.locator(".spot.lit").first.click()
        else:
            page.locator("#words button").first.click()
            break
    expect(page.locator("#board title")).not_to_have_text(before)


@pytest.mark.parametrize("pool", ["tiles", "small", "bids"])
def test_a_whole_game_by_clicks(visitor: Visitor, pool: str) -> None:
    page = sit(visitor, pool)
    while over_or_turn(page):
        if page.locator(".spot.lit").count() or page.locator("#words button").count():
            choose(page)
    expect(page.locator("#phase")).to_contain_text("The match is over")
    expect(page.locator("#rematch")).to_be_visible()
    assert not page.locator("#problem").text_content()


def test_with_the_keyboard_a_step_back_and_a_reload(visitor: Visitor) -> None:
    page = sit(visitor, "tiles")
    assert over_or_turn(page)
    assert visitor.barriers() == []
    box, board = page.locator(".spot").first.bounding_box(), page.locator("#board svg").bounding_box()
    assert box and board and box["width"] > board["width"] / 20  # it is as large as a cell
    assert "empty" in str(page.locator(".spot").first.get_attribute("aria-label"))
    page.locator(".spot.lit").first.focus()
    lit = page.locator(".spot.lit").first
    lit.dispatch_event("click")
    expect(page.locator(".spot.chosen")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".spot.chosen")).to_have_count(0)
    page.locator('.spot[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".spot:focus")).to_have_count(1)
    page.reload()
    assert over_or_turn(page)
    choose(page)
    expect(page.locator("#live")).to_contain_text("left for you")
    page.locator("#resign").click()
    page.locator("#resign").click()
    expect(page.locator("#phase")).to_contain_text("you have lost")


def test_a_typed_move_that_is_none_is_explained_and_costs_nothing(visitor: Visitor) -> None:
    page = sit(visitor, "small")
    assert over_or_turn(page)
    page.locator("#typing summary").click()
    page.locator("#move").fill("Z9")
    page.locator("#type button").click()
    expect(page.locator("#problem")).to_contain_text("not legal")
    page.locator("#move").fill("b2")
    page.locator("#type button").click()
    expect(page.locator("#live")).to_contain_text("white")
    page.locator("#resign").click()
    page.locator("#resign").click()
    expect(page.locator("#phase")).to_contain_text("is over")


def test_the_pages_have_no_barriers_and_fit_a_phone(visitor: Visitor) -> None:
    visitor.page.set_viewport_size({"width": 360, "height": 740})
    visitor.visit("/seats")
    assert visitor.barriers() == [] and not visitor.is_too_wide()
    page = sit(visitor, "small", "")
    expect(page.locator("#link")).to_have_value(re.compile("/seats.invite=[0-9a-f]{32}"))
    assert visitor.barriers() == [] and not visitor.is_too_wide()
