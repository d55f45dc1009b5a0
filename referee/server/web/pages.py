"""HTML pages from the Jinja2 templates beside this file. Whatever is no Markup is cleaned and escaped."""

import hashlib
import re
import shlex
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, Undefined
from markupsafe import Markup

from ggp.protocol.drawing import board_style
from ggp.protocol.drawing.scene import replace_unprintable, replace_unprintable_lines
from ggp.protocol.drawing.svg import GRADIENTS
from ggp.protocol.rules_text import Rules
from ggp.referee.ladder.queries import recent_games, state_of, when
from ggp.referee.ladder.source import exact
from ggp.referee.ladder.standings import BotScore, title_of
from ggp.referee.ratings.scale import MEANS, Z95, after_stop, effect_lines, half, in_elo
from ggp.referee.ratings.sprt import effect
from ggp.referee.server.web.plots import interval, interval_axis, llr_plot, mark, rate_plot, rating_plot

CUT = 200  # characters of a move, of a line of a score or of an analysis
MOST_RULES = 200_000  # characters of rules that a page shows
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,60}")
_MOVES = {
    "pass": "passes",
    "swap-sides": "takes the other side",
    "keep-sides": "keeps its side",
    "button": "takes the button",
    "dead:": "names no dead group",
}
VERDICTS = {
    "H0": "H0 is accepted: it is not shown to be better",
    "H1": "H1 is accepted: it is better",
    "continue": "undecided so far",
    "inconclusive": "inconclusive: all pairs of the test are played",
}
_ENDED = {
    "resignation": "by resignation",
    "time": "on time",
    "stalled": "on time: its opponent stopped answering",
    "illegal_move": "by an illegal move of its opponent",
    "ply_limit": "at the limit of moves",
    "adjudicated": "by adjudication",
}
LIMITS = {
    "STANDINGS": 100,  # bots of a pool on one page of a site
    "PLOTTED": 50,  # bots in the plot
    "CROSSED": 20,  # bots in the crosstable
    "FAULTY": 100,  # rows of faults
    "LEADERS": 5,  # of a pool on the first page of a site
    "NAMED": 60,  # bots there
    "BRIEF": 10,  # bots of a pool where the page is of several
    "LOOKED_AT": 500,  # newest games of a bot, for its colours and its time
    "LISTED": 2000,  # bots in the list of all
    "OPPONENTS": 50,  # of a bot, those with most games
    "VERSIONS": 100,  # of a bot
    "SHOWN": 4000,  # characters of a text that is cut, when it is opened
    "LINES": 200,  # of diagnostics
    "WIDTH": 400,  # characters of these
}


def render(template: str, **values: object) -> str:
    """A whole document."""
    return _environment.get_template(template).render(values)


def compile_templates() -> None:
    """So that the first page of each kind need not wait for it: a tenth of a second in all."""
    for name in _environment.list_templates(extensions=["html"]):
        _environment.get_template(name)


def file_of(name: str) -> str:
    """A file's name for a bot or a pool: its own where that is one anywhere, else with a hash of it."""
    if _PLAIN.fullmatch(name) and name != "index":
        return f"{name}.html"
    stem = re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:40].strip("-")
    return f"{stem}~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}.html"


def elo(value: float | None) -> str:
    """A tenth of Elo is less than any error bar."""
    return "" if value is None else f"{value:z.1f}"


def rounded(value: float) -> str:
    """Return a rating in whole Elo, with a true minus sign."""
    return f"{value:z.0f}".replace("-", "−")


def whole_half(se: float) -> str:
    """Return half of a 95 % interval in whole Elo."""
    return f"{Z95 * se:.0f}"


def elo_and_error(value: float, se: float) -> str:
    """`12.3 ± 4.5 Elo`, of an anchor `1800.0 Elo`."""
    return f"{elo(value)}{f' ± {half(se)}' if se else ''} Elo"


def share(score: BotScore) -> str:
    """Of the points; nothing without games."""
    return score.percent


def many(count: int, what: str, more: str = "") -> str:
    """`1 game`, `2 games`; `more`: the word for several where it is not made with s."""
    return f"{count:,} {what if count == 1 else more or f'{what}s'}"


def most(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    """The most frequent first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def heat(score: BotScore) -> int:
    """Return the shade of a cell of the crosstable, from 0 (lost every game) to 10 (won every game)."""
    return round(10 * score.share)


def face(name: str, size: str = "") -> Markup:
    """Draw the pattern of a name: five mirrored columns of cells in one of eight colours."""
    bits = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], "big")
    cells = "".join(
        f"M{4 + 6 * x} {4 + 6 * y}h6v6h-6z"
        for y in range(5)
        for x in range(5)
        if bits >> (3 + 5 * min(x, 4 - x) + y) & 1
    )
    return Markup(
        f'<svg class="face f{bits & 7} {size}" viewBox="0 0 38 38" aria-hidden="true"><rect width="38" height="38"/>'
        f'<path d="{cells}"/></svg>'
    )


def game_name(game: str) -> str:
    """Return the name of a game as a heading."""
    return game[:1].upper() + game[1:]


def game_options(options: Mapping[str, object]) -> str:
    """Return the options of a game: `size 7, komi 6.5`."""
    return ", ".join(f"{name} {value}" for name, value in options.items())


def control_in_words(control: str) -> str:
    """Say a time control: `5 s + 0.05 s a move`. Other forms stay as written."""
    if control == "none":
        return "no clock"
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?", control)
    if not found:
        return control
    base, increment = float(found[1]), found[2]
    whole = f"{base / 60:g} min" if base >= 60 and base % 30 == 0 else f"{base:g} s"
    return f"{whole} + {increment} s a move" if increment and float(increment) else f"{whole} a game"


def result_in_words(result: str, termination: str) -> str:
    """Say the result of a match: `White wins by 12.5 points`, `Draw`, `No result: engine failed`."""
    kind = termination.replace("_", " ")
    if not result:
        return f"No result: {kind}"
    winner = {"B": "Black", "W": "White"}.get(result[0])
    if winner is None:
        return "Draw" if termination == "rules" else f"Draw, {_ENDED.get(termination, kind)}"
    if termination != "rules":
        return f"{winner} wins {_ENDED.get(termination, f'by a fault of its opponent ({kind})')}"
    margin = result.partition("+")[2]
    if margin.replace(".", "", 1).isdecimal() and float(margin):
        return f"{winner} wins by {margin} {'point' if float(margin) == 1 else 'points'}"
    return f"{winner} wins"


def ago(at: str) -> Markup:
    """Return a time as `<time>`, `3 min ago` with the date in its title; text that is not a time stays as written."""
    try:
        moment = datetime.fromisoformat(at)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # a record may hold any text
        return Markup("{}").format(replace_unprintable(at)[:CUT])
    passed = int((datetime.now(UTC) - moment).total_seconds())
    said = "now"
    for size, unit in ((86400, "day"), (3600, "h"), (60, "min"), (1, "s")):
        if passed >= size:
            said = f"{many(passed // size, unit) if unit == 'day' else f'{passed // size} {unit}'} ago"
            break
    stamp = f"{moment:%Y-%m-%d %H:%M:%S}"
    return Markup('<time datetime="{}Z" title="{} UTC">{}</time>').format(stamp.replace(" ", "T"), stamp, said)


def seconds(ms: float) -> str:
    return f"{ms / 1000:.2f} s"


def in_words(move: str) -> str:
    """A bid, a choice of sides, the button, dead groups as what they are; any other move as it is."""
    if move.startswith("bid:"):
        return replace_unprintable(f"bids {move[4:]}")
    if move.startswith("dead:") and len(move) > 5:
        return replace_unprintable(f"names dead: {move[5:].replace(',', ' ')}")[:CUT]
    return _MOVES.get(move) or replace_unprintable(move)[:CUT]


def units(value: float) -> str:
    """A coordinate: a hundredth at the finest, never -0."""
    return f"{value:z.2f}".rstrip("0").rstrip(".")


def _cleaned(value: object) -> object:
    """Control characters and what turns the reading direction become a replacement character."""
    if value is None or isinstance(value, Markup | Undefined):
        return value or ""
    return replace_unprintable(str(value))


def render_plot(macro: str, **values: object) -> Markup:
    """The SVG of a macro of plots.html."""
    module: Any = _environment.get_template("plots.html").module
    return Markup(getattr(module, macro)(**values))


def rules_as_html(rules: Rules) -> Markup:
    """Return Markdown as HTML without links and pictures, its headings from h2 on; plain text keeps its lines."""
    text = replace_unprintable_lines(rules.text[:MOST_RULES])
    if not rules.markdown:
        return Markup('<pre class="words" tabindex="0">{}</pre>').format(text)
    from markdown_it import MarkdownIt  # costs time to load, and few visitors ask for rules

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        elif token.type == "table_open":
            token.attrSet("tabindex", "0")
    # Markdown turns `&#x202e;` into the character that it names, so only what comes out of it can be cleaned.
    html = reader.renderer.render(tokens, reader.options, {})
    return Markup(replace_unprintable_lines(html).replace("<pre>", '<pre tabindex="0">'))


class Style(NamedTuple):
    """The style sheet of all pages: its text, its file on a site, its hash for a page that carries it."""

    text: str
    file: str
    hash: str


def _style() -> Style:
    text = (Path(__file__).parent / "templates/style.css").read_text("utf-8")
    light, dark = board_style.variables(board_style.LIGHT), board_style.variables(board_style.DARK)
    boards = f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{board_style.RULES}"
    text = text.replace("/* boards */\n", boards)
    digest = hashlib.sha256(text.encode()).digest()
    return Style(text, f"style.{digest.hex()[:12]}.css", f"sha256-{b64encode(digest).decode()}")


STYLE = _style()
_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    finalize=_cleaned,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {
    "ago": ago,
    "control": control_in_words,
    "elo": elo,
    "game_name": game_name,
    "game_options": game_options,
    "file_of": file_of,
    "half": half,
    "many": many,
    "mark": mark,
    "most": most,
    "rounded": rounded,
    "seconds": seconds,
    "share": share,
    "units": units,
    "whole_half": whole_half,
    "zip": zip,
}
_environment.globals |= {
    **LIMITS,
    "style": STYLE,
    "gradients": Markup(GRADIENTS),
    "face": face,
    "heat": heat,
    "result_in_words": result_in_words,
    "interval": lambda place, axis: render_plot("interval", **interval(place, axis)),
    "interval_axis": interval_axis,
    "interval_head": lambda axis: render_plot("interval_head", marks=axis.marks),
    "after_stop": after_stop,
    "effects": lambda penta: [line.split(maxsplit=1) for line in effect_lines(effect(penta), 1, 8)],
    "elo_and_error": elo_and_error,
    "exact": exact,
    "in_elo": in_elo,
    "in_words": in_words,
    "llr_plot": lambda about, *curve: render_plot("ratio", about=about, **llr_plot(*curve)),
    "MEANS": MEANS,
    "rules_as_html": rules_as_html,
    "quoted": shlex.quote,
    "rate_plot": lambda match, ply: render_plot(
        "rates", **rate_plot([seat.name for seat in match.seats], match.rates, len(match.plies), ply)
    ),
    "recent_games": recent_games,
    "rating_plot": lambda places: render_plot("ratings", **rating_plot(places)),
    "state_of": state_of,
    "title_of": title_of,
    "VERDICTS": VERDICTS,
    "when": when,
}
