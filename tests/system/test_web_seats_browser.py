"""A person plays in a real browser: clicks on cells, buttons, the keyboard; what a screen reader hears."""

import re
import sys
from collections.abc import Iterator
from random import Random
from typing import cast

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support import ROOT
from tests.support.browser import BrowserVisitor, WebServer
from tests.support.raw_peer import RawPeer
from tests.system.test_web_seats import Club, pools

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

PATIENCE = 60_000  # ms
CONNECT4 = [sys.executable, str(ROOT / "engines/examples/connect4.py")]
PAIRS = [sys.executable, "-m", "tests.support.pairs_engine"]
GAMES = ("go", "yugo", "taugo", "taigo", "laido", "stigmergy")
SMALL = {
    "pie": "laido,size=2",
    "runs": "taugo,size=6",
    "auction": "stigmergy,size=4",
    "agreed": "go,size=2,agreement=on",
    "four": "connect4,width=4,height=4",
    "pairs": "pairs",
}
DROPPER = f'[bot.dropper]\ncommand = "{sys.executable} {ROOT}/bots/examples/legal_bot.py {" ".join(CONNECT4)}"\n'


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    """With pools of two engines that are not ours."""
    anywhere = "tcp://127.0.0.1:*"
    with RawPeer([*CONNECT4, anywhere]) as four, RawPeer([*PAIRS, anywhere]) as pairs:
        urls = []
        for engine in (four, pairs):
            engine.wait_for(lambda engine=engine: b"\n" in engine.stderr)  # type: ignore[misc]
            urls.append(engine.stderr.decode().split()[-1])
        engines = dict(zip(("four", "pairs"), urls, strict=True))
        more = pools(engines, **SMALL, **{game: game for game in GAMES}) + DROPPER
        club = Club(tmp_path_factory.mktemp("club"), more=more)
        club.keep()
        club.lobby.wait_for("joined", bot="dropper")
        yield club
        club.end()


@pytest.fixture(scope="module")
def visitor(browser: Browser, club: Club) -> Iterator[BrowserVisitor]:
    visitor = BrowserVisitor(browser, cast("WebServer", club))
    visitor.page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield visitor
    visitor.close()


def sit(visitor: BrowserVisitor, pool: str, opponent: str = "random") -> Page:
    page = visitor.visit("/seats")
    form = page.locator("form.take", has=page.locator(f"input[value={pool}]"))
    form.locator("select").select_option(opponent)
    form.get_by_role("button").click()
    page.wait_for_selector("#phase, #problem:not(:empty)", state="attached")
    assert page.locator("#problem").text_content() == ""
    return page


def resign(page: Page) -> None:
    page.locator("#resign").click()
    page.locator("#resign").click()
    expect(page.locator("#phase")).to_contain_text("is over")


def over_or_turn(page: Page) -> bool:
    """Whether it is the person's turn, once it is or the match is over."""
    expect(page.locator("#phase")).to_have_text(re.compile("Your turn|is over"))
    return "Your turn" in str(page.locator("#phase").text_content())


def choose(page: Page) -> str:
    """One move by clicks, with as many cells as it can have; the last click plays it. Returns its hint."""
    before, hint = page.locator("#board title").text_content() or "", ""
    for _ in range(20):
        page.wait_for_selector(".spot.lit, #confirm:not([hidden]), #words button")
        hint = page.locator("#hint").text_content() or ""
        lit, chosen = page.locator(".spot.lit"), page.locator(".spot.chosen")
        if lit.count():
            count = chosen.count()
            lit.first.click()
            expect(chosen).to_have_count(count + 1)
        elif chosen.count() == 1:
            chosen.click()
            break
        elif page.locator("#confirm:not([hidden])").count():
            page.locator("#confirm").click()
            break
        else:
            if page.locator("#words select").count():
                page.locator("#words select").select_option(index=2)
            page.locator("#words button").first.click()
            break
    expect(page.locator("#board title")).not_to_have_text(before)
    return hint


def play_on(page: Page) -> list[str]:
    """To the end of the match; the hints at the moves."""
    hints = []
    while over_or_turn(page):
        if page.locator(".spot.lit, #words button, #confirm:not([hidden])").count():
            hints.append(choose(page))
    expect(page.locator("#phase")).to_contain_text("The match is over")
    expect(page.locator("#rematch")).to_be_visible()
    assert not page.locator("#problem").text_content()
    return hints


@pytest.mark.parametrize("pool", ["tiles", "small", "bids", "auction", "runs", "pie"])
def test_a_whole_game_by_clicks(visitor: BrowserVisitor, pool: str) -> None:
    page = sit(visitor, pool)
    if pool == "auction":
        assert over_or_turn(page)
        expect(page.locator("#words option")).to_have_count(39)
        assert page.locator("#words option").all_text_contents()[:3] == ["bid:0", "bid:1", "bid:2"]
    hints = play_on(page)
    assert not page.locator("#typing").get_attribute("open"), "nothing had to be typed"
    if pool == "bids":
        page.locator("#rematch").click()  # the opponent bids then, and the person chooses a side
        page.get_by_role("button", name="keep-sides", exact=True).click()
        expect(page.locator("#who-white")).to_have_text("(you)")
        resign(page)
    if pool in ("tiles", "runs"):
        assert any(re.match(r"\S+[/+]\S+: click again", hint) for hint in hints), "a move of several cells"
    if pool == "pie":
        page.locator("#rematch").click()  # the person acts second then, and may take the other side
        page.get_by_role("button", name="swap-sides", exact=True).click()
        expect(page.locator("#who-black")).to_have_text("(you)")
        expect(page.locator("#live")).to_contain_text(re.compile("black|white"))
        resign(page)


@pytest.mark.parametrize("game", GAMES)
def test_a_game_of_the_default_size_begins_by_clicks(visitor: BrowserVisitor, game: str) -> None:
    page = sit(visitor, game)
    assert over_or_turn(page)
    choose(page)
    expect(page.locator("#live")).to_contain_text(re.compile("black|white"))
    assert not page.locator("#typing").get_attribute("open")
    resign(page)


def test_dead_groups_are_tapped_and_agreed_on(visitor: BrowserVisitor) -> None:
    page = sit(visitor, "agreed")
    assert over_or_turn(page)
    page.locator(".spot").first.click()
    page.locator(".spot.chosen").click()
    tapped = 0
    while over_or_turn(page):
        before = page.locator("#board title").text_content() or ""
        page.wait_for_selector("#confirm:not([hidden]), #words button")
        if page.locator("#confirm:not([hidden])").count():
            expect(page.locator("#confirm")).to_have_text("Dead: none")
            page.locator('.spot[aria-label*="stone"]').first.click()
            expect(page.locator(".spot.dead")).not_to_have_count(0)
            page.keyboard.press("Escape")
            expect(page.locator(".spot.dead")).to_have_count(0)
            page.locator("#confirm").click()
            tapped += 1
        else:
            page.get_by_role("button", name="pass", exact=True).click()
        expect(page.locator("#board title")).not_to_have_text(before)
    assert tapped and not page.locator("#problem").text_content()


def test_connect_four_of_another_engine_is_watched_played_replayed_and_explained(
    visitor: BrowserVisitor, club: Club
) -> None:
    page = sit(visitor, "four", "dropper")
    assert over_or_turn(page)
    watcher = visitor.window()
    watcher.goto(f"{club.url}/live")
    watcher.locator("main a[href*='match/']").last.click()
    expect(watcher.locator("#status")).to_contain_text("Live")
    play_on(page)
    expect(watcher.locator("#caption")).to_contain_text(re.compile(r"ply (\d+) of \1"))
    expect(watcher.locator("main")).not_to_have_attribute("data-live", re.compile("."))  # the page of one that is over
    watcher.keyboard.press("Home")
    expect(watcher.locator("#caption")).to_contain_text("ply 0 of")
    expect(watcher.locator("#board .legal circle")).to_have_count(4)
    expect(watcher.locator("#board .legal")).to_be_hidden()
    watcher.locator("#show-legal").check()
    expect(watcher.locator("#board .legal")).to_be_visible()
    watcher.locator("#slider").fill("2")
    expect(watcher.locator("#caption")).to_contain_text("ply 2 of")
    expect(watcher.locator("#board .pc")).to_have_count(2)
    watcher.locator('#board .cells [data-at="A"]').click()
    expect(watcher.locator("#why")).to_have_text("A is legal.")
    watcher.locator('#board .cells [data-at="D4"]').click()
    expect(watcher.locator("#why")).to_contain_text("D4 is not a column with room; these are A B C D")
    watcher.close()


def test_two_people_play_by_a_link_with_more_moves_than_are_sent_and_through_a_kill(
    visitor: BrowserVisitor, club: Club
) -> None:
    host = sit(visitor, "pairs", "")
    guest = visitor.window()
    guest.goto(host.locator("#link").input_value())
    guest.get_by_role("button", name="Sit down").click()
    guest.wait_for_url("**/seats/*")
    assert over_or_turn(host)
    expect(host.locator(".spot.lit")).to_have_count(64)
    host.locator(".spot.lit").first.click()
    expect(host.locator(".spot.lit")).to_have_count(63)
    host.locator(".spot.lit").last.click()
    expect(host.locator("#confirm")).to_have_text("Play A8+H1")
    host.locator("#confirm").click()
    expect(guest.locator("#phase")).to_contain_text("Your turn: you are white")
    club.kill_site()
    expect(guest.locator("#phase")).to_contain_text("Your turn: you are white")
    assert choose(guest).startswith("B8+C8")
    for page in (guest, host):
        expect(page.locator("#phase")).to_contain_text("a draw")
    guest.close()
    visitor.errors[:] = [error for error in visitor.errors if "ERR_" not in error]  # of the time without a site


def test_with_the_keyboard_a_step_back_and_a_reload(visitor: BrowserVisitor) -> None:
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
    resign(page)
    expect(page.locator("#phase")).to_contain_text("you have lost")


def test_a_whole_game_with_the_keyboard_alone(visitor: BrowserVisitor) -> None:
    page, chance = sit(visitor, "pie"), Random(1)

    def press_until(selector: str, *keys: str) -> None:
        """Press keys until the focus is there."""
        for _ in range(300):
            if page.locator(f"{selector}:focus").count():
                return
            page.keyboard.press(chance.choice(keys))
        raise AssertionError(f"no way to {selector}")

    page.wait_for_selector(".spot")
    press_until(".spot", "Tab")
    while over_or_turn(page):
        before = page.locator("#board title").text_content() or ""
        page.wait_for_selector(".spot.lit, #words button")
        if page.locator(".spot.lit").count():
            press_until(".spot.lit", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown")  # it is still on the board
            page.keyboard.press("Enter")
            expect(page.locator(".spot.chosen:focus")).to_have_attribute("aria-label", re.compile("chosen$"))
        else:
            press_until("#words button", "Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#board title")).not_to_have_text(before)
        expect(page.locator("#live")).to_contain_text("left for you")
        expect(page.locator(".spot:focus")).to_have_count(1)
    assert not page.locator("#problem").text_content()


def test_a_typed_move_that_is_none_is_explained_and_costs_nothing(visitor: BrowserVisitor) -> None:
    page = sit(visitor, "small")
    assert over_or_turn(page)
    page.locator("#typing summary").click()
    page.locator("#move").fill("Z9")
    page.locator("#type button").click()
    expect(page.locator("#problem")).to_contain_text("not legal")
    page.locator("#move").fill("b2")
    page.locator("#type button").click()
    expect(page.locator("#live")).to_contain_text("white")
    resign(page)


def test_a_rematch_that_has_not_begun_has_no_board(visitor: BrowserVisitor) -> None:
    page = sit(visitor, "small")
    assert over_or_turn(page)
    page.evaluate("take({...state, phase: 'waiting'})")  # raises what the page would log
    expect(page.locator("#phase")).to_contain_text("The match begins soon")
    assert page.locator("#board svg").count() == 0 and page.locator("#problem").text_content() == ""
    page.evaluate("choose([])")
    page.evaluate("load()")  # an answer that was on its way
    assert page.locator("#board svg").count() == 0
    page.evaluate("take({...state, phase: 'playing'})")
    expect(page.locator("#board svg")).to_have_count(1)
    resign(page)


def test_events_of_the_same_ply_ask_for_one_board_and_undo_no_click(visitor: BrowserVisitor) -> None:
    page, asked = sit(visitor, "small"), list[str]()
    assert over_or_turn(page)
    page.wait_for_selector(".spot.lit")
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/position") else None)
    page.evaluate("""() => {
        position.ply = -1; // as if the opponent had moved: two events tell so, the move and the turn
        void take({...state, turn: false});
        void take({...state, turn: true});
    }""")
    page.wait_for_selector(".spot.lit")
    page.locator(".spot.lit").first.click()
    page.wait_for_timeout(1000)
    assert page.locator(".spot.chosen").count() == 1 and len(asked) == 1, asked
    resign(page)


def test_no_move_of_the_position_before_can_be_chosen(visitor: BrowserVisitor) -> None:
    page, offered = sit(visitor, "small"), ".spot.lit, #words button, #confirm:not([hidden])"
    assert over_or_turn(page)
    page.wait_for_selector(offered)
    page.route("**/move", lambda route: None)  # never answered
    page.locator(".spot.lit").first.click()
    page.locator(".spot.chosen").click()
    expect(page.locator("#phase")).to_contain_text("Your opponent thinks")
    assert page.locator(offered).count() == 0
    page.unroute("**/move")
    page.reload()
    page.wait_for_selector(offered)
    page.evaluate("void take({...state, ply: state.ply + 2})")  # whose board is on its way
    expect(page.locator("#phase")).to_contain_text("Your turn")
    assert page.locator(offered).count() == 0
    page.reload()
    resign(page)


def test_the_pages_have_no_barriers_and_fit_a_phone(visitor: BrowserVisitor) -> None:
    visitor.page.set_viewport_size({"width": 360, "height": 740})
    visitor.visit("/seats")
    assert visitor.barriers() == [] and not visitor.is_too_wide()
    page = sit(visitor, "small", "")
    expect(page.locator("#link")).to_have_value(re.compile("/seats.invite=[0-9a-f]{32}"))
    assert visitor.barriers() == [] and not visitor.is_too_wide()


@pytest.mark.long
def test_five_thousand_random_actions_at_seats_and_pages_leave_no_error(browser: Browser, club: Club) -> None:
    said = len(club.lobby.events("web"))
    for round_ in range(50):  # a seat again and again, or links would lead away for good
        visitor = BrowserVisitor(browser, cast("WebServer", club))
        visitor.visit("/seats")
        visitor.act_at_random(Random(round_), 100)
        visitor.close()
    assert club.lobby.events("web")[said:] == [], "the site says nothing, and does not end"
