"""The ratios that docs/explanation/performance.md keeps, and writing those of a run there: `make bench ARGS=--keep`.

A time is of one machine; the ratio of two that were measured in one run is of the program, more or less.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from ggp.protocol.entry_points import version
from tests.bench import core, lobby, runners
from tests.bench.measure import Row
from tests.support import ROOT

PAGE = ROOT / "docs" / "explanation" / "performance.md"
HEAD = "| what | ratio | to reach | measured | version |\n|---|---|---|---|---|\n"
_LINES = re.compile(r"(?<=<!-- runners -->\n)(.*?)(?=<!-- end of runners -->)", re.DOTALL)
_TABLE = re.compile(r"(?<=<!-- ratios -->\n)(.*?)(?=<!-- end of ratios -->)", re.DOTALL)


class Ratio(NamedTuple):
    """`above` and `below` are the names of rows of `benchmark` or of the yardstick; without `below` the row is a ratio
    itself, in the unit `unit`. `aim`: "" where none was set."""

    what: str
    benchmark: str
    above: str
    below: str = ""
    aim: str = ""
    unit: str = ""


PIPE, LOOP = "yardstick: round trip of a pipe, one core", "yardstick: a million additions in Python"
_OURS, _OUR_TWO = "ggp match, go 9x9: a ply", "ggp match, two at a time, go 9x9: a ply"
_TWO = "fastchess, two at a time, -use-affinity, chess, by UCI: a ply"
_ONE_JOB, _SHORT = "match go 9x9, --jobs 1", "a game of 2 plies, bots kept"
_START, _PLY = "start and end of /bin/true", "match yugo random random, a ply under"
_LOBBY = "lobby: 1000 bots with keys, 100 spectators, {} moves/s: a ply, processor of the lobby"
_RELAY = "relay: 1000 bots with keys, {} moves/s: a ply, processor of the relay"
_TIMES = ("", "≤ 1.25", "x a rollout")
_MILLION = "1000 bots, 1,000,000 games: "


RATIOS = tuple(
    Ratio(*words)
    for words in (
        ("a ply of fastchess, pinned by hand, beside ours", "runners", "fastchess, chess, by UCI: a ply", _OURS, "> 1"),
        ("… not pinned", "runners", "fastchess, not pinned, chess, by UCI: a ply", _OURS, "> 1"),
        (
            "… two games at a time with affinity, beside ours",
            "runners",
            f"{_TWO}, chess, by UCI: a ply",
            _OUR_TWO,
            "> 1",
        ),
        ("a ply of cutechess-cli beside ours", "runners", "cutechess-cli, chess, by UCI: a ply", _OURS, "> 1"),
        ("a ply of gomill beside ours", "runners", "gomill, go 9x9: a ply", _OURS, "> 1"),
        ("a ply of gogui-twogtp beside ours", "runners", "gogui-twogtp, go 9x9: a ply", _OURS, "> 1"),
        ("a ply beside a pipe's round trip", "referee", f"{_ONE_JOB}: a ply, on its core", PIPE, "≤ 15"),
        ("… the referee's part of it", "referee", f"{_ONE_JOB}: a ply, referee CPU", PIPE, "≤ 8"),
        (
            *("plies of two games at a time beside those of one", "referee"),
            *("match go 9x9, --jobs 2: plies a second", f"{_ONE_JOB}: plies a second"),
        ),
        ("a game of two plies beside a pipe's round trip", "referee", f"{_SHORT}, --jobs 1", PIPE, "≤ 225"),
        (
            *("a start at `default` beside one by `setpriv` and `sh`", "sandbox", f"{_START}, default"),
            *(f"{_START}, by setpriv and sh, as before", "≤ 1"),
        ),
        ("a ply at `default` beside one at `none`", "sandbox", f"{_PLY} default", f"{_PLY} none", "≤ 1.02"),
        (
            *("a ply of `ggp match` through OpenSpiel's engine, hex, beside our own", "adapters"),
            *("hex of OpenSpiel: a ply of ggp match", "our go, as long as hex: a ply of ggp match", "≤ 1.6"),
        ),
        *(
            (
                f"a ply of the lobby at {rate:,} moves/s, its processor, beside {what}",
                "lobby",
                _LOBBY.format(rate),
                *below,
            )
            for rate in lobby.RATES
            for what, *below in (("a pipe's round trip", PIPE, "≤ 75"), ("that of a relay", _RELAY.format(rate)))
        ),
        *(
            (f"a playout of `mcts`, {what}, beside a rollout", "core_search", f"{what}, search", *_TIMES)
            for what in (board.what for board in core.SEARCHED)
        ),
        (
            *("two threads of `mcts` beside two processes", "core_search"),
            *("go 9x9, search, two threads", "", "≥ 0.95", "x two processes"),
        ),
        (
            *("ratings of a million games beside a loop in Python", "million"),
            *(f"{_MILLION}read, rated from the kept ratings, kept, processor", LOOP),
        ),
        ("standings of a million games beside a loop", "million", f"{_MILLION}standings, processor", LOOP),
        ("the report of a million games beside a loop", "million", f"{_MILLION}report, processor", LOOP),
    )
)


def keep(rows: Sequence[Row], benchmarks: Sequence[str], page: Path = PAGE) -> None:
    """Write the ratios of these benchmarks into the page; the others stay.

    Raises:
        LookupError: a row is missing, other than those of programs that may not be installed.
    """
    found = {(what, unit): figure for what, figure, unit in rows}
    text = page.read_text(encoding="utf-8")
    old = read_table(text)
    lines = []
    for ratio in RATIOS:
        line = old.get(ratio.what, f"| {ratio.what} | | {ratio.aim} | not measured | |")
        if ratio.benchmark in benchmarks:
            line = _line(ratio, found) or line
        lines.append(line)
    text = _TABLE.sub(lambda match: HEAD + "\n".join([*lines, ""]), text)
    page.write_text(_LINES.sub(lambda match: runner_lines(), text), encoding="utf-8")


def runner_lines() -> str:
    """The command lines of the page."""
    return "\n".join(["```text", *runners.command_lines(), "```", ""])


def read_table(text: str) -> dict[str, str]:
    """The lines of the page's table by what they are of."""
    table = _TABLE.search(text)
    assert table is not None, "the page has no table of ratios"
    lines = table[1].removeprefix(HEAD).splitlines()
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}


def _line(ratio: Ratio, found: Mapping[tuple[str, str], float]) -> str:
    above = _named(found, ratio.above, ratio.unit)
    below = _named(found, ratio.below, "") if ratio.below else None
    if above is None or (ratio.below and below is None):
        if ratio.benchmark == "runners":
            return ""
        raise LookupError(f"{ratio.benchmark} has no row {ratio.above!r} or {ratio.below!r}")
    quotient, measured = above[0], ""
    if below is not None:
        quotient *= _SECONDS[above[1]] / (below[0] * _SECONDS[below[1]])
        measured = f"{_shown(above[0])} {above[1]} ÷ {_shown(below[0])} {below[1]}"
    return f"| {ratio.what} | {_shown(quotient, 3)} | {ratio.aim} | {measured} | {_version()} |"


def _shown(figure: float, digits: int = 4) -> str:
    return f"{figure:,.0f}" if figure >= 1000 else f"{figure:.{digits}g}"


_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "1/s": 1.0}


def _named(found: Mapping[tuple[str, str], float], what: str, unit: str) -> tuple[float, str] | None:
    return next(((figure, of) for (name, of), figure in found.items() if name == what and unit in ("", of)), None)


def _version() -> str:
    """The version, the commit and the day."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    return f"{version('general-game-protocol')} {head.stdout.strip()}, {date.today()}"
