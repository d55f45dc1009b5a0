"""What a ladder costs over the bare match: the same instant bots and the same game of 60 plies, in both.

A series (`ggp match` with its record) and a ladder (schedule, store, ratings, group commit) are played by turns in
this run; a game is the difference between a longer and a shorter run, so that start-up is in neither. Not a test.
"""

import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.referee import GGP, build, script

PLIES = 60
ROUNDS = 3
LADDER = """\
[pool.main]
game = "go,size=9"
control = "none"
{bots}
"""


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit), medians of three; `quick` plays a tenth of the games."""
    short, long = (300, 900) if quick else (3000, 9000)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bots = bots_of(place)
        return [row for jobs in (1, 2) for row in _compare(place, bots, short, long, jobs)]


def _compare(place: Path, bots: dict[str, str], short: int, long: int, jobs: int) -> Iterator[tuple[str, float, str]]:
    series, ladder = [], []
    for number in range(ROUNDS):
        series.append(_per_game(_series(place, bots, short, jobs), _series(place, bots, long, jobs), long - short))
        file = _ladder(place, bots, f"ladder-{jobs}-{number}")
        _run(file, short // 3, jobs)  # batches grow with a ladder: not the first minute of its life is measured
        few, many = (_run(file, games, jobs) for games in (short // 3 + short, short // 3 + short + long))
        ladder.append(_per_game(few, many, long - short))
    one, other = statistics.median(series), statistics.median(ladder)
    head = f"a game of {PLIES} plies, --jobs {jobs}"
    yield f"{head}: ggp match", one, "µs"
    yield f"{head}: ggp ladder run", other, "µs"
    yield f"{head}: the ladder costs more by", 100 * (other / one - 1), "%"


def _per_game(few: dict[str, Any], many: dict[str, Any], games: int) -> float:
    spent: float = (many["seconds"] - few["seconds"]) / games * 1e6
    return spent


def bots_of(place: Path) -> dict[str, str]:
    """Names and command lines of two bots that answer at once; two versions: the same moves stand in two files."""
    program = build(place)
    moves = script("go", {"size": "9"}, place / "game.moves").read_text(encoding="utf-8").split()
    text = "\n".join([*[move for move in moves if move != "pass"][: PLIES - 2], "pass", "pass", ""])
    commands = {}
    for name in ("one", "two"):
        (place / f"{name}.moves").write_text(text, encoding="utf-8")
        commands[name] = f"{program} {place / name}.moves"
    return commands


def _series(place: Path, bots: dict[str, str], games: int, jobs: int) -> dict[str, Any]:
    record = place / "record.jsonl"
    record.unlink(missing_ok=True)
    words = ["match", "go,size=9", *bots.values(), "--time", "none", "--games", str(games), "--record", str(record)]
    return _ggp(*words, "--jobs", str(jobs), "--json")


def _ladder(place: Path, bots: dict[str, str], name: str) -> Path:
    file = place / f"{name}.toml"
    sections = [f'[bot.{bot}]\ncommand = "{command}"' for bot, command in bots.items()]
    file.write_text(LADDER.format(bots="\n".join(sections)), encoding="utf-8")
    return file


def _run(file: Path, games: int, jobs: int) -> dict[str, Any]:
    return _ggp("ladder", "run", str(file), "--games", str(games), "--jobs", str(jobs), "--json")


def _ggp(*words: str) -> dict[str, Any]:
    done = subprocess.run([*GGP, *words], capture_output=True, encoding="utf-8", check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result
