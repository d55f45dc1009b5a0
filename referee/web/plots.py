"""Plots as SVG for a page, in its colours: ratings with error bars, and a test's log-likelihood ratio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from referee.ladder.facts import Curve
from referee.web.html import Content, Markup, el, scrolling

WIDTH = 720  # units; the page scales it
_ROW, _TOP, _LEFT, _RIGHT = 20, 30, 170, 16
_LETTER = 6.6  # width of a letter, about
_MOST_NAME = 23  # letters


@dataclass(frozen=True, slots=True)
class Bar:
    """A bot's rating and half of its 95 % interval, Elo; 0 of an anchor."""

    name: str
    elo: float
    half: float

    @property
    def error(self) -> str:
        """` ± 12`, or nothing for an anchor."""
        return f" ± {self.half:.0f}" if self.half else ""


def rating_plot(bars: Sequence[Bar], about: str) -> Markup:
    """A row for each bot: a dot, and a line over the interval. `about` says the whole in words."""
    low, high = _range([bar.elo - bar.half for bar in bars], [bar.elo + bar.half for bar in bars])
    marks = ticks(low, high, 7)
    low, high = min(low, marks[0]), max(high, marks[-1])
    scale = (WIDTH - _LEFT - _RIGHT) / (high - low)
    height = _TOP + _ROW * len(bars) + 8

    def x(elo: float) -> float:
        return _LEFT + (elo - low) * scale

    parts: list[Content] = [el("text", "Elo", x=_LEFT - 10, y=16, class_="axis end")]
    for mark in marks:
        parts.append(
            el("line", x1=x(mark), x2=x(mark), y1=_TOP - 8, y2=height - 4, class_="grid zero" if not mark else "grid")
        )
        parts.append(el("text", plain(mark), x=x(mark), y=16, class_="axis middle"))
    for row, bar in enumerate(bars):
        y = _TOP + _ROW * (row + 0.5)
        said = el("title", f"{bar.name}: {bar.elo:z.0f}{bar.error} Elo")
        parts.append(
            el(
                "g",
                said,
                el("text", _short(bar.name), x=_LEFT - 10, y=y + 4, class_="end"),
                el("line", x1=x(bar.elo - bar.half), x2=x(bar.elo + bar.half), y1=y, y2=y, class_="bar"),
                *(el("line", x1=x(end), x2=x(end), y1=y - 4, y2=y + 4, class_="bar") for end in _ends(bar)),
                el("circle", cx=x(bar.elo), cy=y, r=4, class_="dot"),
            )
        )
    return _svg("Ratings with 95 % error bars", about, height, parts)


def llr_plot(curve: Curve, about: str) -> Markup:
    """LLR over pairs, with both bounds."""
    height, foot = 260, 34
    last = max(1, curve.points[-1][0])
    low, high = _range(
        [curve.lower, *(llr for _, llr in curve.points)], [curve.upper, *(llr for _, llr in curve.points)]
    )
    scale_x, scale_y = (WIDTH - 60 - _RIGHT) / last, (height - foot - 14) / (high - low)

    def at(pair: float, llr: float) -> tuple[float, float]:
        return 60 + pair * scale_x, height - foot - (llr - low) * scale_y

    parts: list[Content] = []
    for mark in ticks(low, high, 5):
        y = at(0, mark)[1]
        parts.append(el("line", x1=60, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid zero" if not mark else "grid"))
        parts.append(el("text", plain(mark), x=52, y=y + 4, class_="axis end"))
    whole = [mark for mark in ticks(0, last, 6) if mark == int(mark)]
    parts += [el("text", plain(mark), x=at(mark, 0)[0], y=height - 14, class_="axis middle") for mark in whole]
    parts.append(el("text", "pairs", x=WIDTH - _RIGHT, y=height - 1, class_="axis end"))
    for bound, name in ((curve.upper, "H1"), (curve.lower, "H0")):
        y = at(0, bound)[1]
        parts.append(el("line", x1=60, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="bound"))
        parts.append(el("text", f"{name} ({bound:.2f})", x=66, y=y - 5, class_="axis"))
    if curve.stopped is not None:
        x = at(curve.stopped, 0)[0]
        stop = el("title", f"decided after {curve.stopped} pairs")
        parts.append(el("g", stop, el("line", x1=x, x2=x, y1=8, y2=height - foot, class_="bound")))
    steps = (f"{x:.1f} {y:.1f}" for x, y in (at(pair, llr) for pair, llr in curve.points))
    parts.append(el("path", d="M" + " L".join(steps), class_="curve"))
    return _svg("Log-likelihood ratio of the test over its pairs", about, height, parts)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, a step of 1, 2 or 5 times a power of ten apart; at least one."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(times for times in (1, 2, 5, 10) if span / (step * times) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)] or [low]


def plain(value: float) -> str:
    """A mark of an axis; never -0."""
    return f"{value + 0.0:g}"


def _range(lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """From the lowest to the highest, a twentieth more at both ends; never empty."""
    low, high = min(lows), max(highs)
    room = (high - low) / 20 or 1.0
    return low - room, high + room


def _ends(bar: Bar) -> tuple[float, float]:
    return bar.elo - bar.half, bar.elo + bar.half


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 1] + "…"


def _svg(title: str, about: str, height: float, parts: Sequence[Content]) -> Markup:
    said = (el("title", title), el("desc", about))
    box = f"0 0 {WIDTH} {height:g}"
    return scrolling(el("svg", *said, *parts, viewBox=box, role="img", aria_label=title), title)
