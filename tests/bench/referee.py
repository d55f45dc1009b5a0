"""What the referee costs: plies a second, its own CPU a ply, memory, new games, restarts, the engine's start.

Bots are C programs that answer at once (instant.c), so what is left is the referee, our engine process and
the pipes. Measured against the bare cost of this machine's pipes in the same run: a Python `write`, `poll`,
`read` round trip on one core and across two. Not a test: nothing is asserted.
"""

import contextlib
import json
import os
import random
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ggp.engines.game import read_options
from ggp.engines.registry import Registry

HERE = Path(__file__).parent
GGP = [sys.executable, "-m", "ggp.referee.cli"]
ROUNDS = 3


def main(quick: bool = False) -> list[tuple[str, float, str]]:
    """Rows (what, figure, unit), medians of three; `quick` plays a tenth of the games."""
    share = 10 if quick else 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bot = build(place)
        return [
            ("pipe round trip in Python, one core", _median(lambda: round_trip(bot, place, True)), "µs"),
            ("pipe round trip in Python, two cores", _median(lambda: round_trip(bot, place, False)), "µs"),
            *_plies(bot, place, "go", {"size": "9"}, 2000 // share),
            *_plies(bot, place, "yugo", {}, 2000 // share),
            *_games(bot, place, share),
            ("ggp engine yugo: start to first answer", _median(lambda: _engine_start("ggp-status"), 9), "ms"),
        ]


def _plies(bot: Path, place: Path, game: str, options: dict[str, str], games: int) -> Iterator[tuple[str, float, str]]:
    """What a ply costs in a series of one game, on one core and on two."""
    moves = script(game, options, place / f"{game}.moves")
    name = ",".join([game, *(f"{key}={value}" for key, value in options.items())])
    for jobs in (1, 2):
        head = f"match {game} 9x9, --jobs {jobs}"
        runs = [run_match(place, name, f"{bot} {moves}", games * jobs, jobs) for _ in range(ROUNDS)]
        whole = [jobs * run["seconds"] / run["plies"] * 1e6 for run in runs]
        yield f"{head}: plies a second", statistics.median(run["plies_per_second"] for run in runs), "1/s"
        yield f"{head}: a ply, on its core", statistics.median(whole), "µs"
        yield f"{head}: a ply, referee CPU", statistics.median(run["cpu_us_per_ply"] for run in runs), "µs"
        yield f"{head}: resident memory of a worker", max(run["worker_rss_mb"] for run in runs), "MB"


def _games(bot: Path, place: Path, share: int) -> Iterator[tuple[str, float, str]]:
    """What a new game costs: with bots that are kept, beyond its two plies; with bots that are started anew."""
    two, ten = place / "two.moves", place / "ten.moves"
    two.write_text("pass\npass\n", encoding="utf-8")
    ten.write_text(
        "\n".join([*script("go", {"size": "9"}, ten).read_text(encoding="utf-8").split()[:8], "pass", "pass", ""]),
        encoding="utf-8",
    )
    runs = [run_match(place, "go,size=9", f"{bot} {two}", 20_000 // share, 1) for _ in range(ROUNDS)]
    each = [run["seconds"] / run["games"] * 1e6 for run in runs]
    yield "a game of 2 plies, bots kept, --jobs 1", statistics.median(each), "µs"
    runs = [run_match(place, "go,size=9", f"{bot} {ten}", 1500 // share, 2, "--restart") for _ in range(ROUNDS)]
    rate = [run["games"] / run["seconds"] for run in runs]
    yield "games of 10 plies, bots restarted for each, --jobs 2", statistics.median(rate), "games/s"


def build(place: Path) -> Path:
    program = place / "instant"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", program, HERE / "instant.c"], check=True)
    return program


def script(game: str, options: dict[str, str], path: Path) -> Path:
    """A random legal game, a move a line."""
    chance = random.Random(7)
    rules = Registry().load(game)
    state = rules.new(read_options(rules, [f"{name}={value}" for name, value in options.items()]))
    moves = []
    while state.phase != "over":
        moves.append(state.play(chance.choice(state.legal_moves())))
    path.write_text("\n".join([*moves, ""]), encoding="utf-8")
    return path


def run_match(place: Path, game: str, bot: str, games: int, jobs: int, *more: str) -> dict[str, Any]:
    """The result of `ggp match` between two of a bot, with a record."""
    record = place / "record.jsonl"
    record.unlink(missing_ok=True)
    options = ["--games", str(games), "--jobs", str(jobs), "--record", str(record), "--json", *more]
    done = subprocess.run([*GGP, "match", game, bot, bot, *options], capture_output=True, encoding="utf-8", check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@contextlib.contextmanager
def _pinned(core: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def round_trip(bot: Path, place: Path, one_core: bool) -> float:
    """Microseconds of `write`, `poll`, `read` with a child that answers at once."""
    cores = sorted(os.sched_getaffinity(0))
    (place / "one.moves").write_text("pass\n", encoding="utf-8")
    with _pinned(cores[0]):
        child = subprocess.Popen([bot, place / "one.moves"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin is not None and child.stdout is not None
        if not one_core:
            os.sched_setaffinity(child.pid, {cores[-1]})
        poll = select.poll()
        poll.register(child.stdout, select.POLLIN)
        into, out, times = child.stdin.fileno(), child.stdout.fileno(), 20_000
        start = time.perf_counter()
        for _ in range(times):
            os.write(into, b"play b A1\n")
            poll.poll(1000)
            os.read(out, 65536)
        spent = time.perf_counter() - start
        child.stdin.close()
        child.wait()
        child.stdout.close()
    return spent / times * 1e6


def _engine_start(question: str) -> float:
    """Milliseconds from the start of `ggp engine yugo` to its first answer."""
    ggp = shutil.which("ggp", path=Path(sys.executable).parent) or "ggp"
    start = time.perf_counter()
    child = subprocess.Popen([ggp, "engine", "yugo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(question.encode() + b"\n")
    child.stdin.flush()
    child.stdout.readline()
    spent = time.perf_counter() - start
    child.stdin.close()
    child.wait()
    child.stdout.close()
    return spent * 1e3


def _median(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    return statistics.median(measure() for _ in range(rounds))
