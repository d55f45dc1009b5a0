"""`make pictures`: every kind of page of `ggp web` in light, dark, on a phone, at 200 % and printed, as PNG files."""

import sys
import tempfile
from pathlib import Path
from typing import cast

from playwright.sync_api import Browser

from tests.support.browser import BrowserVisitor, WebServer, chromium, save_pictures
from tests.support.cli import Ggp, ggp, wait_until
from tests.support.ladders import write_ladder
from tests.system.test_web_seats import Club

HEAD = """\
seed = 7
[pool.main]
game = "yugo,size=7"
control = "5+0.05"
openings = 2
[pool.five]
game = "taigo"
control = "5+0.05"
openings = 1
"""
BOTS = ("random", "greedy:playouts=2", "greedy:playouts=8", "mcts:playouts=64")
TEST = """\
seed = 7
[pool.main]
game = "yugo,size=7"
control = "60+1"
[format]
kind = "test"
bots = ["b", "a"]
elo0 = 0
elo1 = 10
"""
TESTED = ("greedy:playouts=8", "greedy:playouts=10")
KINDS = {"pools": "pool", "bots": "bot", "match": "match", "pair": "pair"}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        file = write_ladder(Path(made), *BOTS, head=HEAD)
        ran = ggp("ladder", "run", str(file), "--games", "48", "--quiet")
        assert ran.status == 0, ran.err
        with WebServer(str(file)) as server:
            save_pictures(browser, server, pages_of_kinds(browser, server), folder)
        running_test(browser, Path(made) / "test", folder)
        seats(browser, Path(made) / "club", folder)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


def pages_of_kinds(browser: Browser, server: WebServer) -> dict[str, str]:
    """One page of each kind, wherever a page leads to it."""
    visitor = BrowserVisitor(browser, server)
    paths = {"overview": ""}
    seen, left = set[str](), [""]
    while left:
        visitor.visit(left.pop(0))
        for link in visitor.links():
            path = link.removeprefix(f"{server.url}/")
            if "format=json" in path or path in seen:
                continue
            seen.add(path)
            first = path.partition("?")[0].partition("/")
            name = KINDS.get(first[0], first[0].removesuffix(".html")) or "overview"
            if name not in ("index", "live") and name not in paths:
                paths[name] = path
                left.append(path)
    visitor.close()
    return paths


def running_test(browser: Browser, folder: Path, pictures: Path) -> None:
    """A sequential test that runs, and what else is live."""
    folder.mkdir()
    file = write_ladder(folder, *TESTED, head=TEST, name="patch.toml")
    running = Ggp("ladder", "run", str(file), "--quiet")
    wait_until(file.with_suffix(".db").exists, 60)
    with WebServer(str(file)) as server:
        wait_until(lambda: len(ggp("ladder", "games", str(file)).out.splitlines()) > 10, 120)
        paths = {"test": "test", "live": "live", "overview-live": "", "events-live": "events"}
        visitor = BrowserVisitor(browser, server)
        visitor.visit("live")
        paths["match-live"] = next(link for link in visitor.links() if "/match/" in link).removeprefix(f"{server.url}/")
        visitor.close()
        save_pictures(browser, server, paths, pictures)
    running.process.terminate()
    running.wait(60)


def seats(browser: Browser, folder: Path, pictures: Path) -> None:
    """What may be played, and a seat."""
    folder.mkdir()
    club = Club(folder)
    server = cast("WebServer", club)
    visitor = BrowserVisitor(browser, server)
    page = visitor.visit("/seats")
    page.locator("form.take", has=page.locator("input[value=tiles]")).get_by_role("button").click()
    page.wait_for_url("**/seats/*")
    page.wait_for_selector(".spot.lit")
    page.locator(".spot.lit").first.dispatch_event("click")
    state = visitor.context.storage_state()
    paths = {"seats": "seats", "seat": page.url.removeprefix(f"{server.url}/"), "take-part-lobby": "take-part"}
    save_pictures(browser, server, paths, pictures, storage_state=state)
    visitor.close()
    club.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
