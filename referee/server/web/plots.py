"""The geometry of the plots of a page: ratings with error bars, and a test's log-likelihood ratio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ggp.referee.ladder.queries import thinned
from ggp.referee.ladder.tune import TuneState
from ggp.referee.ratings.scale import Z95
from ggp.referee.ratings.standings import Standing

WIDTH = 720  # units; the page scales it
_ROW, _TOP, _LEFT, _RIGHT = 20, 30, 170, 16
_HEIGHT, _FOOT, _SIDE = 260, 34, 60  # of the plot of a test
_RATES_HEIGHT, _RATES_SIDE = 170, 48  # of the plot of chances
_PANEL, _TUNE_SIDE, _TUNE_RIGHT, _TUNE_POINTS = 170, 60, 40, 400  # of the plot of a tune
_MOST_NAME = 23  # letters


def rating_plot(places: Sequence[Standing]) -> dict[str, Any]:
    """For plots.html: a row for each bot, best first; a dot, and a line over the interval."""
    best, ends = places[0], [(place.elo - Z95 * place.se, place.elo + Z95 * place.se) for place in places]
    low, high = _range([low for low, _ in ends], [high for _, high in ends])
    error = f" ± {Z95 * best.se:.0f}" if best.se else ""  # an anchor has none
    marks = ticks(low, high, 7)
    low, high = min(low, marks[0]), max(high, marks[-1])

    def x(elo: float) -> float:
        return _LEFT + (elo - low) * (WIDTH - _LEFT - _RIGHT) / (high - low)

    return {
        "about": f"{len(places)} bots, best first; {best.name} leads with {best.elo:z.0f}{error} Elo.",
        "width": WIDTH,
        "height": _TOP + _ROW * len(places) + 8,
        "left": _LEFT,
        "marks": [(mark, x(mark)) for mark in marks],
        "bars": [
            (place, _short(place.name), _TOP + _ROW * (row + 0.5), x(low), x(place.elo), x(high))
            for row, (place, (low, high)) in enumerate(zip(places, ends, strict=True))
        ],
    }


@dataclass(frozen=True, slots=True)
class IntervalAxis:
    """The common axis of the intervals of a table: its ends in Elo, and its marks (Elo, percent of the width)."""

    low: float
    high: float
    marks: list[tuple[float, float]]

    def at(self, elo: float) -> float:
        """Return where a rating lies, in percent of the width."""
        return 100 * (elo - self.low) / (self.high - self.low)


def interval_axis(places: Sequence[Standing]) -> IntervalAxis:
    """Return an axis on which the 95 % intervals of all these bots lie."""
    halves = [(place.elo, Z95 * place.se) for place in places]
    low, high = _range([elo - half for elo, half in halves], [elo + half for elo, half in halves])
    axis = IntervalAxis(low, high, [])
    return IntervalAxis(low, high, [(value, axis.at(value)) for value in ticks(low, high, 5)])


def interval(place: Standing, axis: IntervalAxis) -> dict[str, Any]:
    """Return the arguments of the macro `interval` for one bot."""
    elo, half = place.elo, Z95 * place.se
    return {"low": axis.at(elo - half), "middle": axis.at(elo), "high": axis.at(elo + half), "marks": axis.marks}


def llr_plot(
    points: Sequence[tuple[int, float]], lower: float, upper: float, stopped: int | None = None
) -> dict[str, Any]:
    """For plots.html: LLR over pairs, with both bounds."""
    ratios = [llr for _, llr in points]
    last = max(1, points[-1][0])
    low, high = _range([lower, *ratios], [upper, *ratios])

    def x(pair: float) -> float:
        return _SIDE + pair * (WIDTH - _SIDE - _RIGHT) / last

    def y(llr: float) -> float:
        return _HEIGHT - _FOOT - (llr - low) * (_HEIGHT - _FOOT - 14) / (high - low)

    return {
        "width": WIDTH,
        "height": _HEIGHT,
        "foot": _FOOT,
        "right": WIDTH - _RIGHT,
        "rows": [(mark, y(mark)) for mark in ticks(low, high, 5)],
        "columns": [(mark, x(mark)) for mark in ticks(0, last, 6) if mark == int(mark)],
        "bounds": [("H1", upper, y(upper)), ("H0", lower, y(lower))],
        "stopped": None if stopped is None else (stopped, x(stopped)),
        "points": [(x(pair), y(llr)) for pair, llr in points],
    }


def rate_plot(names: Sequence[str], rates: Sequence[tuple[int, int, float]], plies: int, now: int) -> dict[str, Any]:
    """For plots.html: the chance of seat 1 to win over the plies, as each bot saw it.

    Args:
        names: The bots, by seat.
        rates: (ply, seat of the bot that said so, the chance of seat 1).
        plies: Plies of the match.
        now: The ply that the page shows.
    """
    last = max(1, plies)

    def x(number: float) -> float:
        return _RATES_SIDE + number * (WIDTH - _RATES_SIDE - _RIGHT) / last

    def y(rate: float) -> float:
        return 10 + (1 - rate) * (_RATES_HEIGHT - 32)

    lines = {seat: [(x(at), y(rate)) for at, of, rate in rates if of == seat] for seat in (1, 2)}
    return {
        "width": WIDTH,
        "height": _RATES_HEIGHT,
        "left": _RATES_SIDE,
        "right": WIDTH - _RIGHT,
        "last": last,
        "rows": [(f"{rate:.0%}", y(rate)) for rate in (0, 0.5, 1)],
        "columns": [(mark, x(mark)) for mark in ticks(0, last, 8) if mark == int(mark)],
        "lines": [(seat, names[seat - 1], points) for seat, points in lines.items() if points],
        "now": x(now),
        "about": f"The chance of {names[0]} to win over {last} plies, as each bot saw it.",
    }


def tune_plot(state: TuneState) -> dict[str, Any]:
    """For plots.html: a panel for each parameter, its value over the iterations and the interval at the end."""
    last = max(1, state.history[-1][0])
    points = thinned(state.history, _TUNE_POINTS)

    def x(iteration: float) -> float:
        return _TUNE_SIDE + iteration * (WIDTH - _TUNE_SIDE - _TUNE_RIGHT) / last

    panels = []
    for place, (one, found) in enumerate(zip(state.plan.parameters, state.estimates, strict=True)):
        values = [(done, values[place]) for done, values in points]
        half = 0.0 if state.moving else found.half or 0.0
        seen = [value for _, value in values]
        low, high = _range([one.start, found.value - half, *seen], [one.start, found.value + half, *seen])
        top = place * _PANEL

        def y(value: float, top: float = top, low: float = low, high: float = high) -> float:
            return top + _PANEL - 26 - (value - low) * (_PANEL - 52) / (high - low)

        panels.append(
            {
                "name": _short(one.name),
                "top": top + 16,
                "rows": [(value, y(value)) for value in ticks(low, high, 4)],
                "start": y(one.start),
                "points": [(x(done), y(value)) for done, value in values],
                "end": (x(last), y(found.value - half), y(found.value), y(found.value + half)),
            }
        )
    return {
        "about": "; ".join(f"{name} from {start} to {tuned}" for name, start, tuned, *_ in state.rows),
        "width": WIDTH,
        "height": _PANEL * len(panels) + 14,
        "left": _TUNE_SIDE,
        "right": WIDTH - _TUNE_RIGHT,
        "columns": [(value, x(value)) for value in ticks(0, last, 6) if value == int(value)],
        "panels": panels,
    }


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, a step of 1, 2 or 5 times a power of ten apart; at least one."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(times for times in (1, 2, 5, 10) if span / (step * times) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)] or [low]


def mark(value: float) -> str:
    """A mark of an axis; never -0."""
    return f"{value + 0.0:g}"


def _range(lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """From the lowest to the highest, a twentieth more at both ends; never empty."""
    low, high = min(lows), max(highs)
    room = (high - low) / 20 or 1.0
    return low - room, high + room


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 1] + "…"
