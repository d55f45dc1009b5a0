"""The ratios that docs/explanation/performance.md keeps, and writing those of a run there: `make bench ARGS=--keep`.

A time is of one machine; the ratio of two that were measured in one run is of the program, more or less.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ggp.protocol.entry_points import version
from tests.bench import core_search, lobby, runners
from tests.support import ROOT

PAGE = ROOT / "docs" / "explanation" / "performance.md"
HEAD = "| what | ratio | to reach | measured | version |\n|---|---|---|---|---|\n"
_LINES = re.compile(r"(?<=<!-- runners -->\n)(.*?)(?=<!-- end of runners -->)", re.DOTALL)
_TABLE = re.compile(r"(?<=<!-- ratios -->\n)(.*?)(?=<!-- end of ratios -->)", re.DOTALL)
Row = tuple[str, float, str]


@dataclass(frozen=True, slots=True)
class Ratio:
    """`above` and `below` are the names of rows of `benchmark` or of the yardstick; without `below` the row is a ratio
    itself, in the unit `unit`. `aim`: "" where none was set."""

    what: str
    benchmark: str
    above: str
    below: str = ""
    aim: str = ""
    unit: str = ""


PIPE, LOOP = "yardstick: round trip of a pipe, one core", "yardstick: a million additions in Python"
_OURS = "ggp match, go 9x9: a ply"
_LOBBY = "lobby: 1000 bots with keys, 100 spectators, {} moves/s: a ply, processor of the lobby"
_RELAY = "relay: 1000 bots with keys, {} moves/s: a ply, processor of the relay"
_MILLION = "1000 bots, 1,000,000 games: "


def _search() -> list[Ratio]:
    name = "a playout of `mcts`, {}, beside a rollout"
    return [
        Ratio(name.format(case.what), "core_search", f"{case.what}, search", aim="≤ 1.25", unit="x a rollout")
        for case in core_search.CASES
    ]


def _lobby() -> list[Ratio]:
    found = []
    for rate in lobby.RATES:
        ply, what = _LOBBY.format(rate), f"a ply of the lobby at {rate:,} moves/s, its processor, beside"
        found.append(Ratio(f"{what} a pipe's round trip", "lobby", ply, PIPE, "≤ 75"))
        found.append(Ratio(f"{what} that of a relay", "lobby", ply, _RELAY.format(rate)))
    return found


RATIOS: tuple[Ratio, ...] = (
    Ratio(
        "a ply of fastchess, pinned by hand, beside ours", "runners", "fastchess, chess, by UCI: a ply", _OURS, "> 1"
    ),
    Ratio("… not pinned", "runners", "fastchess, not pinned, chess, by UCI: a ply", _OURS, "> 1"),
    Ratio(
        "… two games at a time with affinity, beside ours",
        "runners",
        "fastchess, two at a time, -use-affinity, chess, by UCI: a ply",
        "ggp match, two at a time, go 9x9: a ply",
        "> 1",
    ),
    Ratio("a ply of cutechess-cli beside ours", "runners", "cutechess-cli, chess, by UCI: a ply", _OURS, "> 1"),
    Ratio("a ply of gomill beside ours", "runners", "gomill, go 9x9: a ply", _OURS, "> 1"),
    Ratio("a ply of gogui-twogtp beside ours", "runners", "gogui-twogtp, go 9x9: a ply", _OURS, "> 1"),
    Ratio("a ply beside a pipe's round trip", "referee", "match go 9x9, --jobs 1: a ply, on its core", PIPE, "≤ 15"),
    Ratio("… the referee's part of it", "referee", "match go 9x9, --jobs 1: a ply, referee CPU", PIPE, "≤ 8"),
    Ratio(
        "plies of two games at a time beside those of one",
        "referee",
        "match go 9x9, --jobs 2: plies a second",
        "match go 9x9, --jobs 1: plies a second",
    ),
    Ratio(
        "a game of two plies beside a pipe's round trip",
        "referee",
        "a game of 2 plies, bots kept, --jobs 1",
        PIPE,
        "≤ 225",
    ),
    Ratio(
        "a start at `default` beside one by `setpriv` and `sh`",
        "sandbox",
        "start and end of /bin/true, default",
        "start and end of /bin/true, by setpriv and sh, as before",
        "≤ 1",
    ),
    Ratio(
        "a ply at `default` beside one at `none`",
        "sandbox",
        "match yugo random random, a ply under default",
        "match yugo random random, a ply under none",
        "≤ 1.02",
    ),
    Ratio(
        "a ply of `ggp match` through OpenSpiel's engine, hex, beside our own",
        "adapters",
        "hex of OpenSpiel: a ply of ggp match",
        "our go, as long as hex: a ply of ggp match",
        "≤ 1.6",
    ),
    *_lobby(),
    *_search(),
    Ratio(
        "two threads of `mcts` beside two processes",
        "core_search",
        "go 9x9, search, two threads",
        aim="≥ 0.95",
        unit="x two processes",
    ),
    Ratio(
        "ratings of a million games beside a loop in Python",
        "million",
        f"{_MILLION}read, rated from the kept ratings, kept, processor",
        LOOP,
    ),
    Ratio("standings of a million games beside a loop", "million", f"{_MILLION}standings, processor", LOOP),
    Ratio("the report of a million games beside a loop", "million", f"{_MILLION}report, processor", LOOP),
)


def keep(rows: Sequence[Row], benchmarks: Sequence[str], page: Path = PAGE) -> None:
    """Write the ratios of these benchmarks into the page; the others stay. Raises LookupError for a row that is not
    there, but for those of other programs, which may not be installed."""
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
