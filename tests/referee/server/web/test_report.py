"""The report is valid HTML, harmless whatever bots are called and say, and the same for the same store."""

import json
import os
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ggp.protocol.records import Chain, Diagnostics, Event, MatchEnded, read_records
from ggp.referee.cli.ladder_report import main
from ggp.referee.ladder.store.model import FinishedGame, Pairing
from ggp.referee.ratings.standings import Standing
from ggp.referee.records import pack, unpack
from ggp.referee.server.web.pages import file_of, render_plot
from ggp.referee.server.web.plots import llr_plot, rating_plot, ticks
from tests.support.stores import LOST, TIED, WON, Filled, a_season, entrant, ladder, match, pool, real_setup

HOSTILE = ("<script>alert(1)</script>", "a&b\"'>", "[red]x[/]", "囲碁", "../../evil", "index", "CON.html", "ann")
ALONE = {"meta", "br"}
TEXT = "</pre><script>alert(2)</script> \x1b[31m & ‮ \x00"


class CheckedPage(HTMLParser):
    """A document whose elements are balanced; what it refers to, which ids, words and elements it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.elements: list[str] = []
        self.words = ""
        assert text.startswith("<!DOCTYPE html>\n<html")
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        assert len({name for name, _ in attrs}) == len(attrs)
        assert not any(name.startswith("on") or name in ("src", "srcset", "action") for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("circle", "line", "path", "rect", "stop")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def site(folder: Path) -> dict[str, str]:
    """Every page, each checked: balanced, nothing that runs or is loaded, no link to nowhere."""
    pages = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.html"))}
    for name, text in pages.items():
        page = CheckedPage(text)
        assert "script" not in page.elements and "img" not in page.elements and "link" not in page.elements
        assert re.search(r"url\((?!#g[bw]\))|@import|https?://", text) is None
        assert all(character.isprintable() or character == "\n" for character in text)
        assert page.elements.count("h1") == 1
        for link in page.links:
            if link.startswith("#"):
                assert f'id="{link[1:]}"' in text
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), link))  # noqa: PTH118, PTH120
            assert target in pages, (name, link)
        for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            root = ElementTree.fromstring(svg)
            words = [child.tag for child in root][:2] == ["title", "desc"] or "aria-label" in root.attrib
            assert words or root.attrib["aria-hidden"] == "true"
    return pages


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    return Filled(tmp_path)


def written(filled: Filled, *more: str) -> dict[str, str]:
    filled.store.close()
    folder = filled.path.parent / "site"
    assert main([str(filled.path), "-o", str(folder), *more]) == 0
    return site(folder)


def test_a_season(filled: Filled, capsys: pytest.CaptureFixture[str]) -> None:
    a_season(filled)
    filled.rate()
    pages = written(filled)
    assert set(pages) == {"index.html", *(f"bots/{name}.html" for name in ("ann", "bob", "cat", "dan"))}
    assert capsys.readouterr().out == f"5 pages: {filled.path.parent / 'site' / 'index.html'}\n"
    index = CheckedPage(pages["index.html"])
    for words in (
        "davidson",
        "half of a 95 % interval",
        "first seat",
        "illegal move",
        "ply limit",
        "zero is the mean of these bots",
    ):
        assert words in index.words
    assert index.elements.count("table") == 5
    ann = CheckedPage(pages["bots/ann.html"]).words
    assert "rank1 of 4" in ann.replace("\n", "")
    assert "seat 1" in ann and "expected" in ann and "By opponent" in ann
    assert "time" in CheckedPage(pages["bots/dan.html"]).words


def test_the_same_store_gives_the_same_bytes(filled: Filled) -> None:
    a_season(filled)
    first = written(filled)
    folder = filled.path.parent / "site"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.html")}
    assert main([str(filled.path), "-o", str(folder), "--quiet"]) == 0
    assert main([str(filled.path), "-o", str(folder.with_name("other")), "--quiet"]) == 0
    assert site(folder) == site(folder.with_name("other")) == first
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.html")} == before


def test_names_and_diagnostics_are_never_markup(tmp_path: Path) -> None:
    filled = Filled(tmp_path, ladder([entrant(name) for name in HOSTILE]))
    for number, name in enumerate(HOSTILE):
        filled.meet(name, HOSTILE[number - 1], WON, TIED, WON, LOST)
    pair = filled.issue(HOSTILE[0], HOSTILE[1])
    filled.store.add([faulty(match(pair, 0, 1, "illegal_move", names=HOSTILE[:2]))])
    filled.store.note("joined", TEXT)
    pages = written(filled)
    assert len(pages) == 1 + len(HOSTILE)
    assert len(set(map(file_of, HOSTILE))) == len(HOSTILE)
    assert all(re.fullmatch(r"[a-z0-9~_.-]+\.html", file_of(name)) for name in HOSTILE)
    page = CheckedPage(pages[f"bots/{file_of(HOSTILE[0])}"])
    assert HOSTILE[0] in page.words
    said = page.words.count("</pre><script>alert(2)</script> �[31m & �")
    assert said == 4  # in the dialogue, on stderr, and as the detail in two places
    assert "exit: killed" in page.words
    assert [path.name for path in tmp_path.iterdir()].count("site") == 1
    assert not list(tmp_path.parent.glob("evil*"))


def faulty(one: FinishedGame) -> FinishedGame:
    """The match with a fault's last words, in detail and record."""
    (record,) = read_records(unpack(one.result.record).splitlines(keepends=True))
    assert isinstance(record.end, MatchEnded)
    left = Diagnostics(dialogue=(TEXT,), stderr=f"{TEXT}\n", exit="killed")
    end = MatchEnded(
        **{name: getattr(record.end, name) for name in record.end.__struct_fields__ if name != "diagnostics"},
        diagnostics=left,
    )
    chain = Chain()
    events: list[Event] = [record.start, *record.plies, end]
    lines = b"".join(map(chain.line, events))
    return replace(one, result=replace(one.result, record=pack(lines), detail=TEXT))


def test_an_empty_ladder(filled: Filled) -> None:
    pages = written(filled)
    assert "No game that counts" in CheckedPage(pages["index.html"]).words
    assert "It has no games yet" in CheckedPage(pages["bots/ann.html"]).words


def test_one_bot_alone_and_none_rated(tmp_path: Path) -> None:
    filled = Filled(tmp_path, ladder(["solo"]))
    assert "solo" in CheckedPage(written(filled)["index.html"]).words


def test_several_pools_have_pages_of_their_own(tmp_path: Path) -> None:
    pools = [pool("fast"), pool("Slow & <b>", size="7")]
    bots = [entrant(name, pools=[one.name for one in pools]) for name in ("ann", "bob", "cat")]
    filled = Filled(tmp_path, ladder(bots, pools))
    for one in pools:
        filled.meet("ann", "bob", WON, WON, pool=one.name)
        filled.meet("bob", "cat", WON, TIED, pool=one.name)
    pages = written(filled)
    slow = f"pools/{file_of(pools[1].name)}"
    assert {"pools/fast.html", slow} < set(pages)
    assert "Slow & <b>" in CheckedPage(pages[slow]).words
    assert CheckedPage(pages["bots/ann.html"]).elements.count("h2") == 2
    # Only one of them: its page is the first page, and what was of the other is gone.
    folder = tmp_path / "site"
    (folder / "bots" / "mine.txt").write_text("kept", encoding="utf-8")
    assert main([str(filled.path), "-o", str(folder), "--pool", "fast", "--quiet"]) == 0
    assert set(site(folder)) == {"index.html", "bots/ann.html", "bots/bob.html", "bots/cat.html"}
    assert (folder / "bots" / "mine.txt").read_text(encoding="utf-8") == "kept"


TEST_FILE = """
store = "club.db"
[pool.fast]
game = "yugo,size=5"
[bot.new]
command = "./is-not-here"
parent = "old"
[bot.old]
command = "./nor-this"
[format]
kind = "test"
elo0 = 0
elo1 = 100
"""


def test_a_test_shows_its_verdict_and_counts_nothing_after_it(tmp_path: Path) -> None:
    filled = Filled(tmp_path, ladder([entrant("new", parent="old"), entrant("old")]))
    id = filled.pools["fast"]
    ids = {seat.label: seat.id for seat in filled.store.seats(id)}
    pairs = filled.store.issue(id, 0, [Pairing(ids["new"], ids["old"])] * 60)
    wins = [match(one, game, game if number % 3 == 0 else 0) for number, one in enumerate(pairs) for game in (0, 1)]
    filled.store.add(wins[:-2])
    (tmp_path / "ladder.toml").write_text(TEST_FILE, encoding="utf-8")
    filled.store.close()
    assert main([str(tmp_path / "ladder.toml"), "-o", str(tmp_path / "site")]) == 0
    text = site(tmp_path / "site")["index.html"]
    index = CheckedPage(text)
    assert "H1 is accepted" in index.words and "Test: is new better than old?" in index.words
    assert "Log-likelihood ratio of the test over its pairs" in text
    counted = re.search(r"DD\+WL</th><td>1</td><td>(\d+)</td>.*WW</th><td>2</td><td>(\d+)</td>", text, re.DOTALL)
    later = re.search(r"later pairs, (\d+), are not counted", index.words)
    assert counted and later
    assert sum(map(int, counted.groups())) + int(later[1]) == 59
    assert int(later[1]) > 0
    # A store alone knows no hypotheses.
    assert main([str(filled.path), "-o", str(tmp_path / "other")]) == 0
    assert "H1" not in CheckedPage(site(tmp_path / "other")["index.html"]).words


def test_a_clean_sweep_has_no_elo_in_the_report(tmp_path: Path) -> None:
    with Filled(tmp_path, ladder([entrant("new", parent="old"), entrant("old")])) as filled:
        for _ in range(20):
            filled.meet("new", "old", (0, "rules"), (0, "rules"))
    (tmp_path / "ladder.toml").write_text(TEST_FILE.replace("elo1 = 100", "elo1 = 10"), encoding="utf-8")
    assert main([str(tmp_path / "ladder.toml"), "-o", str(tmp_path / "site")]) == 0
    words = CheckedPage(site(tmp_path / "site")["index.html"]).words
    assert "undecided so far" in words and "too few games for an Elo" in words
    assert not any(word in words for word in ("after the stop", "still to play", "unbounded", "None", "∞", "95 %, LOS"))


def test_an_anchor_has_no_error_in_the_report(tmp_path: Path) -> None:
    with Filled(tmp_path, ladder([entrant("ann", "v1", anchor=1500.0), entrant("bob", "v2")])) as filled:
        filled.meet("ann", "bob", (0, "rules"), (0, "rules"), (1, "rules"), (0, "rules"))
    assert main([str(filled.path), "-o", str(tmp_path / "site")]) == 0
    pages = site(tmp_path / "site")
    words = CheckedPage(pages["index.html"]).words
    assert "zero is 1500 Elo below the anchor ann; ± is 95 %, of the difference to the anchor" in words
    assert "1500.0 Elo" in CheckedPage(pages["bots/ann.html"]).words
    assert re.search(r"\d ± \d+\.\d Elo", CheckedPage(pages["bots/bob.html"]).words)


def test_a_missing_pair_stops_the_test_from_reading_on(tmp_path: Path) -> None:
    filled = Filled(tmp_path, ladder([entrant("new", parent="old"), entrant("old")]))
    id = filled.pools["fast"]
    ids = {seat.label: seat.id for seat in filled.store.seats(id)}
    pairs = filled.store.issue(id, 0, [Pairing(ids["new"], ids["old"])] * 40)
    filled.store.add([match(one, game, 0) for one in pairs if one.number != 1 for game in (0, 1)])
    (tmp_path / "ladder.toml").write_text(TEST_FILE, encoding="utf-8")
    filled.store.close()
    assert main([str(tmp_path / "ladder.toml"), "-o", str(tmp_path / "site")]) == 0
    text = site(tmp_path / "site")["index.html"]
    assert "undecided so far" in text and "WW</th><td>2</td><td>1</td>" in text


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["-o", "FOREIGN"], 2, "holds files that are not of a report: name a new folder or an empty one with -o"),
        (["-o", "FOREIGN/file.txt"], 2, "is no folder: name another with -o"),
        (["-o", "new", "--pool", "fats"], 2, "there is no pool 'fats': did you mean fast?"),
        ([], 2, "Missing option '-o'"),
        (["-o", "/proc/none"], 1, "cannot write"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    filled: Filled, words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled.store.close()
    foreign = filled.path.parent / "foreign"
    foreign.mkdir()
    (foreign / "file.txt").write_text("mine", encoding="utf-8")
    given = [word.replace("FOREIGN", str(foreign)).replace("new", str(foreign.with_name("new"))) for word in words]
    assert main([str(filled.path), *given]) == status
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert [path.name for path in foreign.iterdir()] == ["file.txt"]


def test_a_marker_that_lies_deletes_nothing_outside(filled: Filled) -> None:
    folder = filled.path.parent / "site"
    (folder / "bots").mkdir(parents=True)
    precious = filled.path.parent / "index.html"
    precious.write_text("mine", encoding="utf-8")
    (folder / "bots" / "gone.html").write_text("of an earlier report", encoding="utf-8")
    (folder / ".ggp-report").write_text(
        "x\n../index.html\nbots/../../index.html\nbots/gone.html\n/etc/passwd\n", encoding="utf-8"
    )
    pages = written(filled)
    assert precious.read_text(encoding="utf-8") == "mine"
    assert "bots/gone.html" not in pages


def test_ticks_are_round_and_few() -> None:
    assert ticks(-3.2, 2.9, 5) == [-2, 0, 2]
    assert ticks(0, 1, 6) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(-1234, 987, 7) == [-1000, -500, 0, 500]
    for low, high in ((0.0, 1e-9), (-1e9, 1e9), (3.0, 3.1)):
        assert 1 <= len(ticks(low, high, 6)) <= 7


def test_plots_are_xml_whatever_they_show() -> None:
    for names in (["one"], HOSTILE):
        places = [Standing(name, 100.0 * n, 15.0 * n, 2, 1.0) for n, name in enumerate(names)]
        root = ElementTree.fromstring(render_plot("ratings", **rating_plot(places)))
        assert len(root.findall(".//circle")) == len(places)
    for points in ([(0, 0.0)], [(n, n / 10) for n in range(50)]):
        for stopped in (None, points[-1][0]):
            ElementTree.fromstring(render_plot("ratio", about="<it>", **llr_plot(points, -2.94, 2.94, stopped)))


@pytest.mark.slow
def test_matches_have_pages_that_step_without_a_server(filled: Filled, tmp_path: Path) -> None:
    filled.play(real_setup("ann=greedy:playouts=1", "bob=random:seed=2"))
    rows = list(filled.store.games())
    filled.store.close()
    assert main([str(filled.path), "-o", str(tmp_path / "site"), "--matches", "1", "--quiet"]) == 0
    (page,) = (tmp_path / "site/matches").iterdir()
    text = page.read_text(encoding="utf-8")
    assert f"matches/{page.name}" in (tmp_path / "site/index.html").read_text(encoding="utf-8")
    kept = json.loads(re.search(r'id="positions">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    assert [view["ply"] for view in kept["views"]] == list(range(rows[0].plies + 1))
    pictures = ["\n".join(kept["lines"][line] for line in view["svg"]) for view in kept["views"]]
    assert len(set(pictures)) > 5 and all(ElementTree.fromstring(picture).tag.endswith("svg") for picture in pictures)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]  # type: ignore[index]
    assert b64encode(sha256(script.encode()).digest()).decode() in text, "nothing but this script may run"
    assert main([str(filled.path), "-o", str(tmp_path / "site"), "--quiet"]) == 0
    assert not page.exists(), "a page that is not asked for any more"
