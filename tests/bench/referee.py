"""What the referee, an engine and a start cost: bots are C programs that answer at once (instant.c), so what is left is
the referee, the engine process and the pipes. Nothing is asserted.
"""

import os
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

from tests.bench.measure import (
    GGP,
    Row,
    build,
    in_turns,
    medians,
    pinned,
    piped,
    run_match,
    script,
    write_moves,
)

ROUNDS = 3
MATCHED = {"connect_four": 700, "hex": 200, "othello": 350}  # games of OpenSpiel, and how many a match has
ECHO = [sys.executable, "-S", "-c", "import os\nwhile data := os.read(0, 65536): os.write(1, data)"]


def yardstick(quick: bool = False) -> list[Row]:
    """Measure this machine: a pipe's round trip, and a loop in Python. Other figures are ratios to these."""
    rounds = 1 if quick else 9
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        bot = build(Path(folder))
        trip = {"yardstick: round trip of a pipe, one core": partial(_round_trip, bot, Path(folder))}
        loop = {"yardstick: a million additions in Python": _additions}
        return [*medians(trip, rounds, "µs"), *medians(loop, rounds, "ms")]


def _round_trip(bot: Path, place: Path, times: int = 20_000) -> float:
    """Return the microseconds of `write`, `poll`, `read` with a child that answers at once."""
    with (
        pinned(min(os.sched_getaffinity(0))),
        subprocess.Popen(
            [bot, write_moves(place / "one.moves", ["pass"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child,
    ):
        assert child.stdin is not None and child.stdout is not None
        poll, into, out = select.poll(), child.stdin.fileno(), child.stdout.fileno()
        poll.register(out, select.POLLIN)
        began = time.perf_counter()
        for _ in range(times):
            os.write(into, b"play b A1\n")
            poll.poll(1000)
            os.read(out, 65536)
        return (time.perf_counter() - began) / times * 1e6


def _additions() -> float:
    began, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number
    return (time.process_time() - began) * 1e3


def start(quick: bool = False) -> list[Row]:
    """Measure starts, from the process to its first answer or its end."""
    ways: dict[str, Callable[[], float]] = {
        f"ggp {' '.join(words)}: start to first answer": partial(_first_answer, words)
        for words in (["engine", "yugo"], ["engine", "openspiel", "connect_four"], ["bot", "random"], ["bot", "mcts"])
    }
    for words in (["match", "--help"], ["--version"]):
        ways[f"ggp {' '.join(words)}"] = partial(_whole, words)
    if not _has_openspiel():
        del ways["ggp engine openspiel connect_four: start to first answer"]
    return medians(ways, 2 if quick else 9, "ms")


def _whole(words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([*GGP, *words], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1e3


def _first_answer(words: list[str]) -> float:
    began = time.perf_counter()
    with piped(*GGP, *words) as (ask, _):
        ask(b"name\n")
        return (time.perf_counter() - began) * 1e3


def engine_plies(quick: bool = False) -> list[Row]:
    """Measure `ggp-legal_moves` and `ggp-play` in whole random games of every board, both sides on one core."""
    games = sorted(point.name for point in entry_points(group="ggp.games"))
    with pinned(min(os.sched_getaffinity(0))):
        return [row for game in games for row in _game(game, 300 if quick else 3000)]


def _game(game: str, plies: int) -> Iterator[Row]:
    chance, both, moves = random.Random(1), list[float](), 0
    with piped(*GGP, "engine", game) as (ask, _):

        def whole(line: str) -> str:
            answer = ask(line.encode())
            while not answer.endswith(b"\n\n"):
                answer += ask(b"")
            assert answer.startswith(b"="), (line, answer)
            return answer.decode()

        while len(both) < plies:
            answer = whole(f"ggp-new {game}\n")
            while (colour := answer.split("to_play=")[1].split()[0]) != "none":
                began = time.perf_counter()
                legal = whole("ggp-legal_moves\n").split()[1:]
                listed = time.perf_counter() - began
                line = f"ggp-play {colour} {chance.choice(legal)}\n"
                began = time.perf_counter()
                answer = whole(line)
                both.append(listed + time.perf_counter() - began)
                moves += len(legal)
    head = f"{game}: ggp-legal_moves + ggp-play"
    yield f"{head}, {moves / len(both):.0f} moves on average", statistics.median(both) * 1e6, "µs"
    yield f"{head}, the slowest hundredth", statistics.quantiles(both, n=100)[-1] * 1e6, "µs"


def series(quick: bool = False) -> list[Row]:
    """Measure series of `ggp match`: plies a second, processor time a ply, memory, new games, restarts."""
    share = 10 if quick else 1
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        place = Path(folder)
        bot = build(place)
        moves = script("go", {"size": "9"}, place / "go.moves")
        yugo = script("yugo", {}, place / "yugo.moves")
        two = write_moves(place / "two.moves", ["pass", "pass"])
        ten = write_moves(place / "ten.moves", [*moves.read_text(encoding="utf-8").split()[:8], "pass", "pass"])
        runs = in_turns(
            {
                (game, jobs): partial(run_match, place, options, f"{bot} {file}", 2000 * jobs // share, jobs)
                for game, options, file in (("go", "go,size=9", moves), ("yugo", "yugo", yugo))
                for jobs in (1, 2)
            },
            ROUNDS,
        )
        short = partial(run_match, place, "go,size=9", f"{bot} {two}", 20_000 // share, 1)
        fresh = partial(run_match, place, "go,size=9", f"{bot} {ten}", 1500 // share, 2, "--restart")
        games = in_turns({"short": short, "fresh": fresh}, ROUNDS)
    rows: list[Row] = []
    for (game, jobs), each in runs.items():
        head = f"match {game} 9x9, --jobs {jobs}"
        on_core = [jobs * run["seconds"] / run["plies"] * 1e6 for run in each]
        rows += [
            (f"{head}: plies a second", statistics.median(run["plies_per_second"] for run in each), "1/s"),
            (f"{head}: a ply, on its core", statistics.median(on_core), "µs"),
            (f"{head}: a ply, referee CPU", statistics.median(run["cpu_us_per_ply"] for run in each), "µs"),
            (f"{head}: resident memory of a worker", max(run["worker_rss_mb"] for run in each), "MB"),
        ]
    kept = [run["seconds"] / run["games"] * 1e6 for run in games["short"]]
    restarted = [run["games"] / run["seconds"] for run in games["fresh"]]
    return [
        *rows,
        ("a game of 2 plies, bots kept, --jobs 1", statistics.median(kept), "µs"),
        ("games of 10 plies, bots restarted for each, --jobs 2", statistics.median(restarted), "games/s"),
    ]


def adapters(quick: bool = False) -> list[Row]:
    """Measure a ply of `ggp match` through OpenSpiel's engine and through ours, in go games of as many plies."""
    share, ways, plies = (10 if quick else 1), dict[str, Callable[[], float]](), dict[str, int]()
    if not _has_openspiel():
        print("OpenSpiel is not installed: not measured", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        place = Path(folder)
        bot = build(place)
        ours = script("go", {"size": "11"}, place / "go.moves").read_text(encoding="utf-8").split()

        def ply(game: str, file: Path, games: int, length: int, *more: str) -> float:
            run = run_match(place, game, f"{bot} {file}", games, 1, *more)
            assert run["plies"] == length * games
            return float(run["seconds"] / run["plies"] * 1e6)

        for game, games in MATCHED.items():
            file = place / f"{game}.moves"
            plies[game] = length = _openspiel_script(game, file)
            same = write_moves(place / f"go-{game}.moves", [*ours[: length - 2], "pass", "pass"])
            engine = ("--engine", f"{GGP[0]} engine openspiel")
            each = games // share
            ways[f"{game} of OpenSpiel: a ply of ggp match"] = partial(ply, game, file, each, length, *engine)
            ways[f"our go, as long as {game}: a ply of ggp match"] = partial(ply, "go,size=11", same, each, length)
        return medians(ways, 1 if quick else 15, "µs")  # many short rounds: what slows the machine spoils few


def _has_openspiel() -> bool:
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        return False
    return True


def _openspiel_script(game: str, path: Path) -> int:
    """Write a random game, a move a line, as OpenSpiel writes them, and return its plies."""
    import pyspiel

    chance, state, moves = random.Random(1), pyspiel.load_game(game).new_initial_state(), list[str]()
    while not state.is_terminal():
        action = chance.choice(state.legal_actions())
        moves.append(state.action_to_string(state.current_player(), action))
        state.apply_action(action)
    write_moves(path, moves)
    return len(moves)


def tap(quick: bool = False) -> list[Row]:
    """Measure a round trip to a program, alone and through `ggp tap`."""
    trips = 500 if quick else 5000
    with tempfile.TemporaryDirectory(prefix="ggp-bench-") as folder:
        between = [*GGP, "tap", "-o", f"{folder}/x.log", "--"]
        ways = {
            "round trip to a program": partial(_echo, ECHO, trips),
            "the same through ggp tap": partial(_echo, [*between, *ECHO], trips),
        }
        return medians(ways, 5, "µs")


def _echo(words: list[str], trips: int) -> float:
    with piped(*words) as (ask, _):
        ask(b"warm\n")
        began = time.perf_counter()
        for _ in range(trips):
            ask(b"genmove b\n")
        return (time.perf_counter() - began) / trips * 1e6
