"""What all pages of the report share: their frame, links between them, numbers as they are written."""

import hashlib
import re
from collections.abc import Sequence

from referee.ladder.report.markup import Content, Markup, el, joined, written
from referee.ladder.report.style import CSS
from referee.ratings.scale import half

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
