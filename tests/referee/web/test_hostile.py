"""Whatever bots, engines, authors and operators write, every page stays a page: nothing runs, no text is turned."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
from msgspec.structs import replace as changed

from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import read_scene
from ggp.protocol.records import Chain, Diagnostics, Event, Record, read_records
from ggp.protocol.rules_text import Rules
from ggp.referee.packed_records import pack, unpack
from ggp.referee.play.bot_spec import read_engine
from ggp.referee.play.engine import Status
from ggp.referee.store.model import FinishedGame
from ggp.referee.web.app import make_app
from ggp.referee.web.boards import BoardPool, BoardView
from ggp.referee.web.follow import Follower
from ggp.referee.web.guard import Guard
from ggp.referee.web.site import Site
from tests.support.stores import Filled, a_season, entrant, ladder, match, pool
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
    html head meta title style script noscript body a header nav span bdi main footer h1 h2 h3 h4 p small strong b div
    section ul ol li table caption thead tbody tr th td dl dt dd pre code form label input select option button figure
    figcaption details summary img svg desc g line path circle text rect polygon ellipse polyline em hr
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


class HostileBoards(BoardPool):
    """An engine that says the same everywhere."""

    def __init__(self, text: str) -> None:
        super().__init__(read_engine(None))
        self._text = text

    def view(self, start: object, plies: object, number: int) -> BoardView:
        name = self._text[:20]
        cells = [{"at": name, "x": 0, "y": 0}, {"at": "b", "x": 1, "y": 0}]
        pieces = [{"at": name, "colour": "black", "kind": name}]
        labels = [{"x": 0, "y": 0, "text": name[:12]}]
        scene = read_scene(
            json.dumps({"board": {"kind": "square"}, "cells": cells, "pieces": pieces, "labels": labels})
        )
        drawn, score = svg.draw(scene, self._text), json.dumps({"black": {self._text: self._text}, "white": {}})
        return BoardView(number, Status("play", "black", 1, number), drawn, score, (self._text, name), scene)

    def why_illegal(self, *_: object) -> str:
        return self._text

    def rules(self, game: str) -> Rules:
        turned = "".join(f"&#x{ord(one):x};" for one in self._text)  # as entities, which Markdown decodes
        places = f"[a]({self._text}) ![b]({self._text}) <{self._text}>"
        text = f"# {self._text}\n\n{self._text}\n\n{places}\n\n    {self._text}\n\n{turned}\n\n```{turned}\nx\n```"
        return Rules(text, markdown=True)


def spoiled(one: FinishedGame, text: str) -> FinishedGame:
    """The match with this text wherever somebody else than the referee writes in its record."""
    (record,) = read_records(unpack(one.result.record).splitlines(keepends=True))
    assert isinstance(record, Record) and record.end is not None
    party = changed(record.start.bots[0], name=text, program=text, version=text)
    start = changed(record.start, bots=(party, party), engine=party, control=text, options={text: text})
    said = json.dumps({"winrate": 0.5, "pv": [text, "b"], text: text})
    plies = [changed(ply, move=text, analysis=said, colour="black") for ply in record.plies]
    left = Diagnostics(dialogue=(text, text), stderr=f"{text}\n{text}", exit=text)
    words = {
        "result": text,
        "detail": text,
        "culprit": text,
        "score": text,
        "warnings": (text,),
        "stderr": (text, text),
    }
    end = changed(record.end, diagnostics=left, **words)
    chain, events = Chain(), list[Event]([start, *plies, end])
    lines = b"".join(map(chain.line, events))
    return replace(one, result=replace(one.result, record=pack(lines), detail=text))


@pytest.fixture(params=HOSTILE)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guard]:
    text = HOSTILE[request.param]
    name = text[:100] if text.isprintable() else "<b>a</b> b"  # a store takes no other names
    pools = [pool("fast"), pool(name, options=text[:50])]
    bots = [entrant(name, pools=[one.name for one in pools]) for name in ("ann", "bob", "cat", "dan", name)]
    with Filled(tmp_path, ladder(bots, pools)) as filled:
        a_season(filled)
        filled.meet(name, "ann", (0, "rules"), (1, "illegal_move"))
        filled.meet("ann", name, (0, "rules"), (1, "time"), pool=name)
        pair = filled.issue("ann", name)
        filled.store.add([spoiled(match(pair, 0, 1, "illegal_move", names=("ann", name)), text)])
        filled.store.note(text, text)
        filled.rate()
        filled.rate(name)
    with closing(HostileBoards(text)) as boards:
        read = Site(str(filled.path), text)
        yield make_app(read, boards, Follower(read.follow))
        read.close()


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
