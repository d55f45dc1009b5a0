"""The analyses that bots send with moves (`ggp-genmove_analyze`) and the scores of engines (`ggp-score`), as text."""

import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from ggp.protocol.records import Event, MatchStarted, MovePlayed, Record
from ggp.protocol.standard_streams import write_stderr
from ggp.referee.terminal import escape_unprintable, screen_columns

_SCORES = ("score", "score_lead", "scoreLead", "lead")
_PLAYOUTS = ("visits", "playouts", "nodes")
_MOST_PV = 200  # moves
_COLUMNS, _LEAST = 120, 20  # columns of a line if stderr is not a terminal; the least room for an analysis
_MOST_LINES, _MOST_WRAPPED = 20, 10  # members of an analysis that are shown, and lines of each
_LARGE = 1e15  # larger numbers are taken for invalid


class BotAnalysis(NamedTuple):
    """A bot's analysis of its move. A value that the bot did not give is None.

    `winrate` is the chance of the side to move, 0 to 1; `score` is the number of points that it is ahead.
    """

    winrate: float | None = None
    score: float | None = None
    depth: int | None = None
    playouts: int | None = None
    pv: tuple[str, ...] = ()


NO_ANALYSIS = BotAnalysis()


def read_analysis(analysis: str) -> BotAnalysis:
    """Read the analysis of a ply from JSON. Members of unexpected types are ignored."""
    said = decode(analysis)
    if not isinstance(said, dict):
        return NO_ANALYSIS
    winrate = _number(said, "winrate")
    depth, playouts = _number(said, "depth"), _number(said, *_PLAYOUTS)
    pv = said.get("pv")
    return BotAnalysis(
        winrate if winrate is not None and 0 <= winrate <= 1 else None,
        _number(said, *_SCORES),
        None if depth is None else int(depth),
        None if playouts is None else int(playouts),
        tuple(map(str, (pv.split() if isinstance(pv, str) else pv)[:_MOST_PV])) if isinstance(pv, str | list) else (),
    )


def analysis_line(analysis: str, room: int) -> str:
    """Format an analysis as `53.1 %, +2.5, depth 7, 800 playouts, pv D4 E5` in at most `room` columns, or ""."""
    said = read_analysis(analysis)
    words = [
        *([percent(said.winrate)] if said.winrate is not None else []),
        *([f"{said.score:+.4g}"] if said.score is not None else []),
        *([f"depth {said.depth}"] if said.depth is not None else []),
        *([f"{said.playouts} playouts"] if said.playouts is not None else []),
        *([f"pv {' '.join(said.pv)}"] if said.pv else []),
    ]
    return cut(escape_unprintable(", ".join(words)), room)


def analysis_lines(analysis: str, width: int) -> list[str]:
    """Format an analysis as lines of at most `width` columns, one for each member: `win rate: 53.1 %`, `pv: D4 E5`.

    A text that is not a JSON object is wrapped as it is.
    """
    lines = list[str]()
    for head, text in analysis_facts(analysis):
        line = escape_unprintable(f"{head}: {text}" if head else text)
        lines += textwrap.wrap(line, width, subsequent_indent="  " if head else "")[:_MOST_WRAPPED]
    return lines


def analysis_facts(analysis: str) -> list[tuple[str, str]]:
    """Return the name and the formatted value of each member of an analysis; ("", text) if it is not a JSON object."""
    said = decode(analysis)
    return facts(said) if isinstance(said, dict) else [("", analysis)] if analysis else []


def facts(said: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the name and the formatted value of each member of an analysis or a score."""
    return [_in_words(name, value) for name, value in [*said.items()][:_MOST_LINES]]


def decode(text: str) -> Any:
    """Decode JSON. Return None for any other text."""
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _in_words(name: str, value: Any) -> tuple[str, str]:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if name == "winrate" and number is not None and 0 <= number <= 1:
        return "win rate", percent(number)
    if name in _SCORES and number is not None:
        return "score lead" if "lead" in name.lower() else "score", f"{number:+.4g}"
    return name.replace("_", " "), _plain(value)


def _plain(value: Any, between: str = " ") -> str:
    """Format a value without JSON's punctuation: `D4 E5` for a list, `key value` for an object, `-` for null."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_plain(one)}" for name, one in [*value.items()][:_MOST_LINES])
    if isinstance(value, list) and value:
        compound = any(isinstance(one, list | dict) for one in value)
        return ("; " if compound and between == " " else between).join(map(_plain, value[:_MOST_PV]))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None or value == [] else str(value)


_COLOURS = ("black", "white")
_CELL = 200  # characters of a value


def score_lines(score: str, width: int) -> list[str]:
    """Format a score as a table with one row for each colour: its total and its parts.

    A table wider than `width` columns becomes one line for each part. Members other than the two colours follow as
    `key: value`. A text that is not a score is wrapped as it is.
    """
    try:
        said = msgspec.json.decode(score)
        sides = {colour: dict(said[colour]) for colour in _COLOURS}
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, ValueError):
        return textwrap.wrap(escape_unprintable(score), width)
    parts = [*dict.fromkeys(name for side in sides.values() for name in side if name != "total")][:_MOST_LINES]
    if any(side.get("total") is not None for side in sides.values()) or not parts:
        parts.insert(0, "total")
    rows = [["", *map(_name, parts)]]
    rows += [[colour, *(_cell(side.get(name)) for name in parts)] for colour, side in sides.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * len(parts) <= width:
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    else:
        cells = [(colour, *cell) for colour, *values in rows[1:] for cell in zip(rows[0][1:], values, strict=True)]
        lines = _wrapped((f"{colour}, {head}: {value}" for colour, head, value in cells), width)
    for name, value in [*said.items()][:_MOST_LINES]:
        if name == "final":
            lines += [] if value else ["the game is not over"]
        elif name not in _COLOURS:
            lines += _wrapped([f"{_name(name)}: {_cell(value)}"], width)
    return lines


def _wrapped(lines: Iterable[str], width: int) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="  ")]


def _name(name: str) -> str:
    return escape_unprintable(name.replace("_", " "))[:_CELL]


def _cell(value: Any) -> str:
    return escape_unprintable(_plain(value, ", "))[:_CELL]


def line_of(ply: MovePlayed) -> str:
    """Format a ply as `17 black D5  0.412 s`."""
    return escape_unprintable(f"{ply.ply} {ply.colour} {ply.move}  {ply.ms / 1000:.3f} s")


def caption(record: Record, number: int, in_words: Callable[[str], str] = str) -> str:
    """Describe a position in one line, such as `ply 17 of 47: black D4 (0.31 s, 9.2 s left)`.

    Args:
        record: The record of the match.
        number: The number of plies before the position.
        in_words: Translates a move to the text to show.
    """
    text = f"ply {number} of {len(record.plies)}"
    if number:
        ply = record.plies[number - 1]
        left = "" if ply.left is None else f", {ply.left / 1000:g} s left"
        time = f" ({ply.ms / 1000:g} s{left})" if ply.ms or left else ""
        text += f": {ply.colour} {in_words(ply.move)}{time}"
    return escape_unprintable(text)


def list_moves(plies: Sequence[MovePlayed], marked: int = 0, width: int = 100) -> str:
    """List moves as `1 D4  2 pass  [3 E5]`, with as many in a line as fit.

    Args:
        plies: The plies to list.
        marked: The number of the ply that is put in brackets; 0 for none.
        width: Columns of a line.
    """
    lines = [""]
    for ply in plies:
        word = escape_unprintable(f"[{ply.ply} {ply.move}]" if ply.ply == marked else f"{ply.ply} {ply.move}")
        if lines[-1] and len(lines[-1]) + 2 + len(word) > width:
            lines.append("")
        lines[-1] += f"  {word}" if lines[-1] else word
    return "\n".join(lines)


def show_plies() -> Callable[[Event], None]:
    """Return a function that takes the events of matches and writes each ply and its analysis to stderr."""
    names = ("", "")

    def show(event: Event) -> None:
        nonlocal names
        if isinstance(event, MatchStarted):
            names = event.bots[0].name, event.bots[1].name
        elif isinstance(event, MovePlayed):
            who = names[event.seat - 1] if event.seat else ""
            left = "" if event.left is None else f", {event.left / 1000:.3f} s left"
            head = escape_unprintable(f"{event.match} ply {line_of(event)}{left}, {who}")
            said = analysis_line(event.analysis, max(_columns() - len(head) - 2, _LEAST))
            write_stderr(f"{head}{f'  {said}' if said else ''}\n")

    return show


def _columns() -> int:
    return screen_columns(sys.stderr) or _COLUMNS


def percent(winrate: float) -> str:
    """Format 0.531 as `53.1 %`."""
    return f"{100 * winrate:.1f} %"


def cut(text: str, room: int) -> str:
    """Shorten a text to `room` characters; a shortened text ends in `…`."""
    return text if len(text) <= room else f"{text[: max(0, room - 1)]}…"


def _number(said: dict[str, Any], *names: str) -> float | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGE:
            return float(value)
    return None
