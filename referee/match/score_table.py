"""The answer to `ggp-score` as a small table for people."""

import textwrap
from typing import Any

import msgspec

from ggp.referee.terminal import escape_unprintable

_COLOURS = ("black", "white")
_MOST = 20  # parts of a total, and other facts, that are shown
_CELL = 200  # characters of a value


def score_lines(score: str, width: int) -> list[str]:
    """Return a row for each colour: its total and what that is made of. An answer of another shape is returned as text.

    A table wider than `width` becomes a line for each part. Facts other than the two scores follow as `key: value`.
    """
    try:
        said = msgspec.json.decode(score)
        sides = {colour: dict(said[colour]) for colour in _COLOURS}
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, ValueError):
        return textwrap.wrap(escape_unprintable(score), width)
    parts = [*dict.fromkeys(name for side in sides.values() for name in side if name != "total")][:_MOST]
    if any(side.get("total") is not None for side in sides.values()) or not parts:
        parts.insert(0, "total")
    rows = [["", *(_words(name) for name in parts)]]
    rows += [[colour, *(_value(side.get(name)) for name in parts)] for colour, side in sides.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * len(parts) <= width:
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    else:
        heads = rows[0][1:]
        lines = [
            line
            for colour, *values in rows[1:]
            for head, value in zip(heads, values, strict=True)
            for line in textwrap.wrap(f"{colour}, {head}: {value}", width, subsequent_indent="  ")
        ]
    for name, value in [*said.items()][:_MOST]:
        if name == "final":
            lines += [] if value else ["the game is not over"]
        elif name not in _COLOURS:
            lines += textwrap.wrap(f"{_words(name)}: {_value(value)}", width, subsequent_indent="  ")
    return lines


def _words(name: str) -> str:
    return escape_unprintable(name.replace("_", " "))[:_CELL]


def _value(value: Any) -> str:
    """`-` for nothing; a list as its members, a table as `key value`."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_value, value[:_CELL]))[:_CELL]
    if isinstance(value, dict):
        return ", ".join(f"{_words(name)} {_value(one)}" for name, one in [*value.items()][:_MOST])[:_CELL]
    return escape_unprintable(str(value))[:_CELL]
