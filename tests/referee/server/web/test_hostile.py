"""Whatever bots, engines, authors and operators write, every page stays a page: nothing runs, no text is turned."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest

from ggp.referee.server.web.guard import Guard
from tests.support.hostile_site import hostile_site
from tests.support.web_site import asked

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": "'\"><img src=x onerror=alert(1)>",
    "template": "{{7*7}}</pre></textarea>&lt;b&gt;",
    "bidi": "\u202egnp.exe\u2066\u200f",
    "control": "\x1b[31m\x9b2J\x7f a\tb",
    "long": "x" * 10_000,
    "link": "javascript:alert(1)//../../..",
}
# Every element that a page may have.
PLAIN = """
    html head meta title link style script noscript body a header nav aside article span bdi i main footer h1
    h2 h3 h4 p small strong b div section ul ol li table caption thead tbody tr th td dl dt dd pre code form
    label input select option button figure figcaption details summary img svg desc g line path circle text
    rect polygon ellipse polyline defs radialgradient stop em hr time
"""
MOST = 2 << 20  # bytes of a page
EACH = 8  # pages of a kind


class HarmlessPage(HTMLParser):
    """Raises AssertionError for what no page has; `links`: where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        assert all(one.isprintable() or one == "\n" for one in text), sorted(
            {one for one in text if not one.isprintable()}
        )
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in PLAIN.split(), tag
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        places = [value or "" for name, value in attrs if name in ("href", "src", "action")]
        assert not any(re.match(r"\s*([a-z]+:|//)", place, re.IGNORECASE) for place in places), places
        assert tag != "script" or places, "no script in a page"
        self.links += places


@pytest.fixture(params=HOSTILE)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guard]:
    with hostile_site(tmp_path, HOSTILE[request.param]) as app:
        yield app


@pytest.mark.slow
def test_every_page_is_harmless(site: Guard) -> None:
    seen, kinds, left = set[str](), dict[str, int](), ["/index.html", "/games?bot=dan&move=%3Cb%3E"]
    while left:
        url = left.pop().partition("#")[0]
        if url in seen or "format=json" in url or "/download" in url or len(url) > 1500:
            continue
        kind = url.partition("?")[0].split("/")[1]
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] > EACH:
            continue
        seen.add(url)
        answer = asked(site, url, client=f"192.0.2.{len(seen) % 250}", accept="text/html")
        if answer.headers["content-type"].startswith("text/html"):
            assert len(answer.body) < MOST, url
            left += [urljoin(url, link) for link in HarmlessPage(answer.text).links]
            if url.startswith("/match/") and "?" not in url:
                left += [f"{url}?ply=1&move=%3Cb%3E", f"{url}?verify=1"]
    assert kinds.keys() >= {
        "pools",
        "bots",
        "pair",
        "match",
        "games",
        "events",
        "rules",
        "take-part",
        "live",
        "index.html",
    }
