"""What a ladder costs over the bare match: the same bots that answer at once, the same game of 60 plies, in both.

A game is the difference between a longer and a shorter run, so start-up is in neither.
"""

import statistics
import tempfile
from functools import partial
from pathlib import Path

from tests.bench.measure import Row, build, in_turns, run_ggp, run_match, script, write_moves

PLIES = 60
LADDER = """\
[pool.main]
game = "go,size=9"
control = "none"
{bots}
"""


def main(quick: bool = False) -> list[Row]:
    """Return rows of both with one job and with two."""
    short, long = (300, 900) if quick else (3000, 9000)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        place = Path(folder)
        bot = next(iter(bots_of(place).values()))
        for jobs in (1, 2):
            ways = {
                "ggp match": partial(_series, place, bot, short, long, jobs),
                "ggp ladder run": partial(_ladder, place, short, long, jobs),
            }
            costs = {way: statistics.median(each) for way, each in in_turns(ways, 3).items()}
            head = f"a game of {PLIES} plies, --jobs {jobs}"
            more = 100 * (costs["ggp ladder run"] / costs["ggp match"] - 1)
            rows += [(f"{head}: {way}", cost, "µs") for way, cost in costs.items()]
            rows.append((f"{head}: the ladder costs more by", more, "%"))
    return rows


def bots_of(place: Path) -> dict[str, str]:
    """Return the commands of two bots that answer at once, two versions: the same moves are in two files."""
    program = build(place)
    moves = script("go", {"size": "9"}, place / "game.moves").read_text(encoding="utf-8").split()
    moves = [*[move for move in moves if move != "pass"][: PLIES - 2], "pass", "pass"]
    return {name: f"{program} {write_moves(place / f'{name}.moves', moves)}" for name in ("one", "two")}


def write_ladder(place: Path) -> Path:
    """Write a ladder file of these two bots."""
    file = place / "ladder.toml"
    sections = [f'[bot.{name}]\ncommand = "{command}"' for name, command in bots_of(place).items()]
    file.write_text(LADDER.format(bots="\n".join(sections)), encoding="utf-8")
    return file


def _series(place: Path, bot: str, short: int, long: int, jobs: int) -> float:
    few, many = (run_match(place, "go,size=9", bot, games, jobs, "--time=none") for games in (short, long))
    return float((many["seconds"] - few["seconds"]) / (long - short) * 1e6)


def _ladder(place: Path, short: int, long: int, jobs: int) -> float:
    """Measure after the first games: a ladder's batches grow."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        file = write_ladder(Path(folder))
        first = short // 3
        runs = [
            run_ggp("ladder", "run", str(file), f"--games={games}", f"--jobs={jobs}")
            for games in (first, first + short, first + short + long)
        ]
    return float((runs[2]["seconds"] - runs[1]["seconds"]) / (long - short) * 1e6)
