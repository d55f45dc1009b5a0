"""HTML and SVG as text in which nothing from outside is ever markup: what is not Markup is escaped. No pages here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from protocol.drawing.scene import clean

_ALONE = {"meta", "br"}  # elements of HTML without an end
_SHAPES = {"circle", "line", "path"}  # of SVG, which end at once if they hold nothing


class Markup(str):
    """Text that is markup already; only this file and constants of ours make it."""

    __slots__ = ()


Content = str | int | None  # a plain str is escaped, None is nothing


@dataclass(frozen=True, slots=True)
class Head:
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


def table(caption: Content, heads: Sequence[Head], rows: Iterable[Sequence[Content]], row_head: int = 0) -> Markup:
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


def _cell(cell: Content, head: Head, names: bool) -> Markup:
    kind = "w" if head.words else None
    if isinstance(cell, Markup) and cell.startswith("<td"):
        return cell
    return el("th", cell, scope="row", class_=kind) if names else el("td", cell, class_=kind)


def _number(value: str | float) -> str:
    """A coordinate: a hundredth at the finest, never -0."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
