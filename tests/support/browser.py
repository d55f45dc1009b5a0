"""A real browser, Debian's chromium, on the pages of a server that runs as a process."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urldefrag, urljoin

from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from tests.support.cli import Ggp, started, wait_until

CHROMIUM = "/usr/bin/chromium"
# As root chromium does not start with its sandbox; the pages are ours.
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
_KEYS = ["ArrowLeft", "ArrowRight", "Home", "End", "Tab", "Enter", "Space", "Escape", "PageDown"]
_CLICK = """share => {
  const kinds = "main button:not([hidden]), .spot.lit, .spot.chosen, main summary, main input[type=checkbox]";
  const all = document.querySelectorAll(kinds);
  all[Math.floor(share * all.length)]?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
}"""
_MOVED_ON = re.compile("interrupted by another navigation|context was destroyed|net::ERR_ABORTED|Not attached to an")
# What a browser says of a page that answers 404 or 503 because a test asked for it.
_EXPECTED = re.compile(r"Failed to load resource: the server responded with a status of (404|409|422|429|503)")


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class WebServer:
    """`ggp web` at a port of this machine; `url` has no slash at its end."""

    def __init__(self, *arguments: str, port: int = 0) -> None:
        self.arguments = arguments
        self.url = ""
        self.start(port)

    def start(self, port: int = 0) -> None:
        """Start it, or start it again at the port that it had."""
        port = port or int(self.url.rpartition(":")[2] or 0)
        self.running = Ggp("web", *self.arguments, "--listen", f"127.0.0.1:{port}")
        started.remove(self.running)  # it may serve the tests of a whole file
        assert self.running.process.stderr
        line = self.running.process.stderr.readline()
        found = re.search(r"http://\S+:\d+(?=/)", line)
        assert found, line
        self.url = found[0]

    def kill(self) -> None:
        """SIGKILL; its engine processes end by themselves."""
        self.running.process.kill()
        self.running.process.wait()

    def end(self) -> None:
        """SIGTERM, after which nothing of it runs and it has said nothing."""
        self.running.process.terminate()
        ended = self.running.wait(20)
        assert (ended.status, ended.err) == (0, ""), ended

    def __enter__(self) -> "WebServer":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self.end()
        else:
            self.kill()


class BrowserVisitor:
    """A browser window that notes every error of the pages it visits.

    Options are those of Playwright's `new_context`: `color_scheme`, `viewport`, `java_script_enabled` …
    """

    def __init__(self, browser: Browser, server: WebServer, **options: Any) -> None:
        self.server = server
        self.errors: list[str] = []
        self.context: BrowserContext = browser.new_context(**options)
        self.page = self.window()

    def window(self) -> Page:
        """One more window with the same cookies."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))
        page.on("console", lambda said: self._heard(page, said.type, said.text))
        page.on("request", lambda request: self._asked(page, request.url))
        return page

    def visit(self, path: str) -> Page:
        answer = self.page.goto(urljoin(f"{self.server.url}/", path))
        assert answer and answer.status == 200, (path, answer and answer.status)
        return self.page

    def links(self) -> list[str]:
        """The addresses of this server that the page links to, without those that download a file."""
        found = self.page.eval_on_selector_all("a[href]:not([download])", "all => all.map(one => one.href)")
        return [urldefrag(link).url for link in found if link.startswith(self.server.url)]

    def act_at_random(self, chance: Random, actions: int) -> None:
        """Press keys, click anywhere or on what can be clicked, go back, follow links."""
        for _ in range(actions):
            try:
                self._act_at_random(chance)
            except Error as error:  # the page that the last action leads to came meanwhile
                if not _MOVED_ON.search(str(error)):
                    raise

    def _act_at_random(self, chance: Random) -> None:
        page, size, act = self.page, self.page.viewport_size or {"width": 1, "height": 1}, chance.random()
        if act < 0.4:
            page.keyboard.press(chance.choice(_KEYS))
        elif act < 0.6:
            page.mouse.click(chance.randrange(size["width"]), chance.randrange(size["height"]))
        elif act < 0.9:
            page.evaluate(_CLICK, chance.random())
        elif act < 0.93:
            page.evaluate("history.back()")
        else:
            page.goto(chance.choice(self.links() or [self.server.url]))
        if not page.url.startswith(self.server.url) or page.locator("main").count() == 0:
            page.goto(self.server.url)

    def is_too_wide(self) -> bool:
        """Whether the page scrolls sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))

    def barriers(self, *rules: str) -> list[str]:
        """What axe finds on the page by these of its rules; by default all of WCAG 2.2 AA and best practices."""
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        from axe_playwright_python.sync_playwright import Axe  # at import it reads a file in the locale's encoding

        found = Axe().run(self.page, options=options).response["violations"]
        return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]

    def close(self) -> None:
        """AssertionError if any page had an error."""
        self.context.close()
        assert self.errors == [], self.errors

    def _heard(self, page: Page, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not _EXPECTED.match(text):
            self.errors.append(f"{page.url}: {text}")

    def _asked(self, page: Page, url: str) -> None:
        if not url.startswith((self.server.url, "data:", "blob:", "about:")):
            self.errors.append(f"{page.url} asks another server: {url}")


def save_pictures(browser: Browser, server: WebServer, paths: dict[str, str], folder: Path, **options: Any) -> None:
    """Each page, by its name, in light, dark, on a phone, at 200 % and printed: `NAME-light.png` …"""
    folder.mkdir(parents=True, exist_ok=True)
    wide, phone, half = ({"width": width, "height": height} for width, height in ((1200, 900), (360, 740), (600, 450)))
    looks: dict[str, dict[str, Any]] = {
        "light": {"color_scheme": "light", "viewport": wide},
        "dark": {"color_scheme": "dark", "viewport": wide},
        "phone": {"color_scheme": "light", "viewport": phone},
        "zoom": {"color_scheme": "light", "viewport": half, "device_scale_factor": 2},
        "print": {"color_scheme": "light", "viewport": wide},
    }
    for look, how in looks.items():
        visitor = BrowserVisitor(browser, server, **how, **options)
        if look == "print":
            visitor.page.emulate_media(media="print")
        for name, path in paths.items():
            wait_until(partial(_is_there, visitor.page, urljoin(f"{server.url}/", path)))
            visitor.page.wait_for_timeout(500)
            visitor.page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
        visitor.close()


def _is_there(page: Page, url: str) -> bool:
    """A busy machine may need more than one try."""
    answer = page.goto(url)
    return answer is not None and answer.status == 200
