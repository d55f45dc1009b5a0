"""HTML and SVG as text: everything that is not Markup is escaped. Also the frame and the style of every page."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from protocol.drawing.scene import clean
from referee.ratings.scale import half

_ALONE = {"meta", "br"}  # elements of HTML without an end
_SHAPES = {"circle", "line", "path"}  # of SVG, which end at once if they hold nothing


class Markup(str):
    """Text that is markup already; only this file and constants of ours make it."""

    __slots__ = ()


Content = str | int | None  # a plain str is escaped, None is nothing


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a column. `words`: its cells are words, to the left; numbers stand to the right."""

    text: str
    words: bool = False
    title: str = ""  # what it means


def written(content: Content) -> Markup:
    """As markup; control characters and what turns the reading direction become a replacement character."""
    if isinstance(content, Markup):
        return content
    return Markup(escape(clean(str(content)))) if content is not None else Markup()


def el(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """An element. Attributes: None leaves one out, `_` stands for `-`, a trailing one is dropped."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{written(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not content and name in _ALONE:
        return Markup(f"<{name}{pairs}>")
    if not content and name in _SHAPES:
        return Markup(f"<{name}{pairs}/>")
    return Markup(f"<{name}{pairs}>{''.join(map(written, content))}</{name}>")


def joined(parts: Iterable[Content], between: str = "") -> Markup:
    """One after another; `between` is markup of ours."""
    return Markup(between.join(map(written, parts)))


def table(
    caption: Content, heads: Sequence[ColumnHead], rows: Iterable[Sequence[Content]], row_head: int = 0
) -> Markup:
    """A table that scrolls by itself where the page is narrow; the cell `row_head` names its row."""
    tops = [
        el("th", head.text, scope="col", class_="w" if head.words else None, title=head.title or None) for head in heads
    ]
    lines = [
        el(
            "tr",
            *(
                _cell(cell, head, number == row_head)
                for number, (cell, head) in enumerate(zip(row, heads, strict=True))
            ),
        )
        for row in rows
    ]
    body = joined(lines, "\n")
    whole = el("table", el("caption", caption), el("thead", el("tr", *tops)), Markup("\n"), el("tbody", body))
    return scrolling(whole, str(caption))


def scrolling(content: Markup, label: str) -> Markup:
    """A part that is wider than the page scrolls by itself, with the keyboard, too. `label` is text or markup of it."""
    return el("div", content, class_="wide", role="region", tabindex=0, aria_label=label.split("<")[0][:80] or None)


def _cell(cell: Content, head: ColumnHead, names: bool) -> Markup:
    kind = "w" if head.words else None
    if isinstance(cell, Markup) and cell.startswith("<td"):
        return cell
    return el("th", cell, scope="row", class_=kind) if names else el("td", cell, class_=kind)


def _number(value: str | float) -> str:
    """A coordinate: a hundredth at the finest, never -0."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


# -- What all pages of the report share: frame, links, numbers.


_PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,60}")
# Nothing may be loaded and nothing may run, whatever stands in the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, body: Sequence[Content], nav: Content = None) -> str:
    """A whole document; `title` is a text."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        el("style", Markup(CSS)),
    )
    above = [el("nav", nav)] if nav else []
    main = el("main", *above, joined(body, "\n"))
    return "<!DOCTYPE html>\n" + el("html", head, Markup("\n"), el("body", main), lang="en") + "\n"


def file_of(name: str) -> str:
    """A file's name for a bot or a pool: its own where that is one anywhere, else with a hash of it."""
    if _PLAIN.fullmatch(name) and name != "index":
        return f"{name}.html"
    stem = re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:40].strip("-")
    return f"{stem}~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}.html"


def bot_link(name: str, label: str, root: str) -> Markup:
    """To a bot's page, under the label of one of its versions. `root` leads to the folder of the report."""
    return el("a", bdi(label), href=f"{root}bots/{file_of(name)}")


def bdi(text: str) -> Markup:
    """A name from outside, whose reading direction stays its own."""
    return el("bdi", text)


def facts_list(rows: Sequence[tuple[str, Content]]) -> Markup:
    """Names and what they are; nothing for those without."""
    return el("dl", *(joined((el("dt", name), el("dd", what)), "\n") for name, what in rows if what))


def elo(value: float | None) -> str:
    """A tenth of Elo is less than any error bar."""
    return "" if value is None else f"{value + 0.0:.1f}"


def pm(se: float | None) -> str:
    """Half of the 95 % interval; nothing for an anchor."""
    return half(se)


def elo_and_error(value: float, se: float) -> str:
    """`12.3 ± 4.5 Elo`, of an anchor `1800.0 Elo`."""
    return f"{elo(value)}{f' ± {pm(se)}' if se else ''} Elo"


def share(value: float, games: int) -> str:
    """Of the points; nothing without games."""
    return f"{value:.1%}" if games else ""


def many(count: int, what: str) -> str:
    """`1 game`, `2 games`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def cut(text: str, most: int) -> Markup:
    """A long text as far as a cell goes; the whole of it, within reason, on pointing at it."""
    if len(text) <= most:
        return written(text)
    return el("span", text[: most - 1] + "…", title=text[:2000])


# -- The style sheet of the report, part of every page: light and dark, narrow and wide, print.


CSS = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5c6670; --page: #fff; --line: #d5dae0; --band: #f4f6f8;
  --link: #0b5cad; --mark: #0b6e99; --bad: #a3260f; --high: 38 110 190; --low: 196 92 20; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #9aa5b0; --page: #14171a; --line: #343b43;
  --band: #1c2126; --link: #7db8f5; --mark: #5cc1e6; --bad: #ff9a85; --high: 60 130 215; --low: 205 105 35; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.2rem 3rem; max-width: 70rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .6rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .4rem; padding-top: .5rem; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: var(--link); }
nav { font-size: .92rem; }
small, .soft { color: var(--soft); font-size: .88rem; }
.bad { color: var(--bad); }
.wide { overflow-x: auto; margin: .6rem 0 1rem; }
.wide:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; white-space: nowrap; color: var(--soft); padding: .2rem 0; font-size: .88rem; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  font-weight: normal; }
thead th { color: var(--soft); border-bottom: 2px solid var(--line); vertical-align: bottom; }
.w { text-align: left; }
td.w, th.w { max-width: 20rem; overflow: hidden; text-overflow: ellipsis; }
tbody tr:hover { background: var(--band); }
.cross td { padding: .22rem .45rem; text-align: center; min-width: 2.9rem; font-size: .85rem; }
.cross thead th { text-align: center; }
.cross thead th.w { text-align: left; }
.cross tbody th { position: sticky; left: 0; background: var(--page); max-width: 12rem; overflow: hidden;
  text-overflow: ellipsis; }
.cross td small { display: block; line-height: 1.1; color: inherit; opacity: .75; }
.none { color: var(--soft); }
svg { display: block; width: 100%; min-width: 34rem; max-width: 46rem; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .axis { fill: var(--soft); }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--line); }
svg .zero { stroke: var(--soft); }
svg .bar { stroke: var(--mark); stroke-width: 1.6; }
svg .dot { fill: var(--mark); }
svg .curve { fill: none; stroke: var(--mark); stroke-width: 1.8; stroke-linejoin: round; }
svg .bound { stroke: var(--bad); stroke-dasharray: 5 4; }
pre { background: var(--band); padding: .6rem .8rem; overflow-x: auto; font-size: .84rem; line-height: 1.35;
  max-height: 30rem; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: .5rem .7rem 2rem; } th, td { padding: .2rem .4rem; } }
@media print { :root { --ink: #000; --page: #fff; --soft: #444; --line: #bbb; --band: #fff; --link: #000; --mark: #000;
  --bad: #000; } body { max-width: none; font-size: 11pt; } nav { display: none; } .wide { overflow: visible; }
  tr, svg { break-inside: avoid; } thead { display: table-header-group; } }
"""
